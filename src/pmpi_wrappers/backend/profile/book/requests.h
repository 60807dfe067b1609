/* requests: the program's operations that are under way, from where they were posted to where they are waited for.
 *
 * A handle may stand for several at a time (an MPI may have one for all that were complete at once): then any of
 * them is found.
 *
 * Threads: one at a time. Ownership: kept until fini. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_BOOK_REQUESTS_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_BOOK_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#define HP_NO_EVENT UINT64_MAX
enum { HP_NO_PEER = UINT32_MAX, HP_UNKNOWN_PEER = UINT32_MAX - 1 };

typedef struct {
    uint64_t handle;
    uint64_t posted;       /* when the post returned, in ticks */
    uint64_t bytes, event; /* event: its start in the sequence, HP_NO_EVENT: it has none */
    /* Of a persistent send: who gets it, in MPI_COMM_WORLD. Its communicator may be freed before it is started. */
    uint32_t peer;
    uint32_t site, kind; /* kind: in the sequence, of a persistent collective */
    uint16_t row, comm, type, op;
    int8_t bin;
    bool on_device, is_persistent, is_active, is_accelerated;
} hp_seen_request_t;

/* limit: of so many at a time. */
void hp_requests_init(uint32_t limit);
void hp_requests_fini(void);

/* False: no room. */
bool hp_requests_add(const hp_seen_request_t *request);
/* NULL: not known. Until the next add or remove. */
hp_seen_request_t *hp_requests_find(uint64_t handle);
void hp_requests_remove(hp_seen_request_t *request);
extern uint32_t hp_requests_active; /* how many are under way */
void hp_requests_set_active(hp_seen_request_t *request, bool active);

#endif
