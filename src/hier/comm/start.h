/* start: what a collective is started with: its communicator, the request that will run it, and a place for what it
 * keeps until that is done.
 *
 * Threads: as comm.h. Ownership: plain data that borrows; whoever starts the collective (execution.h) owns request and
 * arena. */
#ifndef HP_HIER_COMM_START_H
#define HP_HIER_COMM_START_H

#include "base/arena.h"
#include "event_engine/request.h"
#include "hier/comm/comm.h"

typedef struct {
    hp_comm_t *comm;
    hp_request_t *request;
    hp_arena_t *arena;
    uint32_t number; /* of the collective on its communicator; the same on all ranks */
} hp_start_t;

/* Streams that one collective may have between two ranks; at most 8. */
enum { HP_STREAM_UP, HP_STREAM_DOWN, HP_STREAM_FORWARD };

/* The tag of a message of that stream. Fits the 32767 that MPI guarantees for tags. */
static inline uint32_t hp_start_tag(const hp_start_t *start, uint32_t stream)
{
    return start->number % 4096 * 8 + stream;
}

#endif
