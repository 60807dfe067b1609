/* start: what a collective is started with: its communicator, the request that will run it, and a place for what it
 * keeps until that is done.
 *
 * Threads: as comm.h. Ownership: plain data that borrows; whoever starts the collective (execution.h) owns request and
 * arena. */
#ifndef HP_HIER_COMM_START_H
#define HP_HIER_COMM_START_H

#include "base/arena.h"
#include "event_engine/request.h"
#include "hier/call/collective.h"
#include "hier/comm/comm.h"

typedef struct hp_start hp_start_t;

/* How to start a prepared collective once more, for a call that differs in its buffers alone. HP_OK, or an error with
 * nothing in flight. */
typedef struct {
    hp_status_t (*start)(void *plan, const hp_start_t *start, const hp_call_t *call); /* NULL: it cannot be */
    void *plan;                                                                       /* in the arena */
} hp_again_t;

struct hp_start {
    hp_comm_t *comm;
    hp_request_t *request;
    hp_arena_t *arena;
    uint32_t number;   /* of the collective on its communicator; the same on all ranks */
    hp_again_t *again; /* to be filled in by algorithms that can; NULL: nobody asks */
};

/* Streams that one collective may have between two ranks: those of schedules (schedule_steps.c), and the pipeline's. */
enum { HP_STREAM_FORWARD = 2, HP_START_STREAMS = 8 };

/* What is added to a stream to make the tag of its messages. Fits the 32767 that MPI guarantees for tags. */
static inline uint32_t hp_start_tag(const hp_start_t *start)
{
    return start->number % 4096 * HP_START_STREAMS;
}

#endif
