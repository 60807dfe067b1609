#include "pmpi_wrappers/backend/profile/gather/gather.h"

#include <stdlib.h>
#include "base/log.h"
#include "pmpi_wrappers/backend/observe/rank_messages.h"
#include "pmpi_wrappers/backend/start/job.h"

static hp_trace_clock_t child_clocks[HP_GATHER_CHILDREN];

int hp_gather_tree(int *parent, int children[HP_GATHER_CHILDREN])
{
    int count = 0;

    *parent = -1;
    for (int64_t bit = 1; bit < hp_job.size; bit *= 2) {
        if (hp_job.rank & bit) {
            *parent = hp_job.rank - (int)bit;
            break;
        }
        if (hp_job.rank + bit < hp_job.size)
            children[count++] = hp_job.rank + (int)bit;
    }
    return count;
}

/* ---- clocks ---- */

bool hp_gather_clocks_begin(void)
{
    int parent, children[HP_GATHER_CHILDREN];
    const int count = hp_gather_tree(&parent, children);
    bool go = true;

    if (parent >= 0 && !hp_rank_answer_clock(parent, HP_PROFILE_TAG, &go))
        return false;
    for (int i = 0; i < count; i++)
        if (!hp_rank_ask_clock(children[i], HP_PROFILE_TAG, true, &child_clocks[i], HP_CLOCK_AT_START))
            return false;
    return true;
}

/* A child's clock against rank 0's, from what it is against this rank's, and this rank's. */
static hp_trace_clock_t compose(const hp_trace_clock_t *own, const hp_trace_clock_t *child)
{
    hp_trace_clock_t whole = *child;

    for (unsigned i = 0; i < 2; i++) {
        const uint64_t here = hp_trace_clock_correct(child, child->at_ns[i]);
        whole.ahead_ns[i] = (int64_t)(child->at_ns[i] - hp_trace_clock_correct(own, here));
        whole.error_ns[i] = child->error_ns[i] + own->error_ns[i];
    }
    return whole;
}

bool hp_gather_clocks_end(hp_trace_clock_t *clock)
{
    int parent, children[HP_GATHER_CHILDREN];
    const int count = hp_gather_tree(&parent, children);
    bool go = true;

    *clock = (hp_trace_clock_t){.at_ns = {0}};
    if (parent >= 0 && (!hp_rank_answer_clock(parent, HP_PROFILE_TAG, &go) ||
                        !hp_rank_receive(clock, sizeof *clock, parent, HP_PROFILE_TAG)))
        return false;
    for (int i = 0; i < count; i++) {
        if (!hp_rank_ask_clock(children[i], HP_PROFILE_TAG, true, &child_clocks[i], HP_CLOCK_AT_FINISH))
            return false;
        hp_trace_clock_settle(&child_clocks[i]);
        const hp_trace_clock_t whole = compose(clock, &child_clocks[i]);
        if (!hp_rank_send(&whole, sizeof whole, children[i], HP_PROFILE_TAG))
            return false;
    }
    return true;
}

/* ---- books ---- */

static bool receive_book(hp_book_t *book, int from)
{
    hp_book_t theirs;
    uint64_t bytes;

    if (!hp_rank_receive(&bytes, sizeof bytes, from, HP_PROFILE_TAG))
        return false;
    if (!bytes)
        return true;
    char *packed = malloc(bytes);
    if (!packed) {
        hp_warn(
            "HANPMPI_PROFILE: no memory for the recording of rank %d and those behind it: it is not gathered",
            from);
        return false;
    }
    const bool received = hp_rank_receive(packed, bytes, from, HP_PROFILE_TAG);
    if (received && hp_book_unpack(&theirs, packed, bytes)) {
        hp_book_merge(book, &theirs);
        hp_book_fini(&theirs);
    } else if (received) {
        hp_warn("HANPMPI_PROFILE: no memory for the recording of rank %d and those behind it", from);
    }
    free(packed);
    return received;
}

bool hp_gather_books(hp_book_t *book)
{
    int parent, children[HP_GATHER_CHILDREN];
    const int count = hp_gather_tree(&parent, children);
    size_t size = 0;

    for (int i = 0; i < count; i++)
        if (!receive_book(book, children[i]))
            return false;
    if (parent < 0)
        return true;
    char *packed = hp_book_pack(book, &size);
    if (!packed)
        hp_warn("HANPMPI_PROFILE: no memory to send what this rank recorded: it is left out");
    const uint64_t bytes = packed ? size : 0;
    const bool sent = hp_rank_send(&bytes, sizeof bytes, parent, HP_PROFILE_TAG) &&
                      (!bytes || hp_rank_send(packed, bytes, parent, HP_PROFILE_TAG));
    free(packed);
    return sent;
}
