#include "pmpi_wrappers/backend/profile/book/requests.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 1024 };

static hp_seen_request_t *slots; /* open addressing; row is EMPTY where there is none */
static uint32_t mask, count, most;
uint32_t hp_requests_active;
enum { EMPTY = UINT16_MAX };

static uint32_t place_of(uint64_t handle)
{
    return (uint32_t)((handle * 0x9e3779b97f4a7c15u) >> 32) & mask;
}

static void put(const hp_seen_request_t *request)
{
    uint32_t at = place_of(request->handle);
    while (slots[at].row != EMPTY)
        at = (at + 1) & mask;
    slots[at] = *request;
}

static bool grow(void)
{
    const uint32_t before = slots ? mask + 1 : 0, after = before ? before * 2 : FIRST_SLOTS;
    hp_seen_request_t *old = slots, *wider = malloc(after * sizeof *wider);

    if (!wider)
        return false;
    for (uint32_t i = 0; i < after; i++)
        wider[i].row = EMPTY;
    slots = wider;
    mask = after - 1;
    for (uint32_t i = 0; i < before; i++)
        if (old[i].row != EMPTY)
            put(&old[i]);
    free(old);
    return true;
}

void hp_requests_init(uint32_t limit)
{
    most = limit;
}

void hp_requests_fini(void)
{
    free(slots);
    slots = NULL;
    mask = count = hp_requests_active = 0;
}

bool hp_requests_add(const hp_seen_request_t *request)
{
    if (count >= most || ((!slots || 2 * count > mask) && !grow()))
        return false;
    put(request);
    count++;
    hp_requests_active += request->is_active;
    return true;
}

hp_seen_request_t *hp_requests_find(uint64_t handle)
{
    if (count == 0)
        return NULL;
    for (uint32_t at = place_of(handle); slots[at].row != EMPTY; at = (at + 1) & mask)
        if (slots[at].handle == handle)
            return &slots[at];
    return NULL;
}

void hp_requests_remove(hp_seen_request_t *request)
{
    uint32_t hole = (uint32_t)(request - slots);

    hp_requests_active -= request->is_active;
    count--;
    for (uint32_t at = (hole + 1) & mask; slots[at].row != EMPTY; at = (at + 1) & mask)
        if (((at - place_of(slots[at].handle)) & mask) >= ((at - hole) & mask)) {
            slots[hole] = slots[at];
            hole = at;
        }
    slots[hole].row = EMPTY;
}

void hp_requests_set_active(hp_seen_request_t *request, bool is_active)
{
    hp_requests_active += is_active;
    hp_requests_active -= request->is_active;
    request->is_active = is_active;
}
