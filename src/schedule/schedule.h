/* schedule: the steps of one position in a collective algorithm: which blocks it sends to whom, which it receives from
 * whom, and what becomes of those.
 *
 * An algorithm is a generator (generator.h) that writes the schedule of any position of any problem. All else is made
 * of schedules: verify.h runs those of all positions symbolically, cost.h times them on a network, the engine makes
 * tasks of them, file.h reads and writes them, draw.h draws them.
 *
 * Meaning of a step: it sends the blocks of its send list, in this order, as one message, and receives one message into
 * the blocks of its receive list, in that order; either may be missing. Blocks that are sent are read before the
 * message that comes is stored. A message to oneself is a local copy (or reduction), whose two lists share no block.
 * Order: steps of a position are in order as far as they touch the same blocks; otherwise only a sync step is: it waits
 * for all before it, and all after it wait for it. The k-th message from a to b in a stream is received by b's k-th
 * receive from a in that stream. Steps one after the other, each message waiting for its receiver, must get through:
 * so whatever runs in a looser order does.
 *
 * Threads: pure. Ownership: a schedule owns its lists; fini frees them. The first failure of memory is kept in
 * status, and everything after it does nothing: generators need not look. */
#ifndef HP_SCHEDULE_SCHEDULE_H
#define HP_SCHEDULE_SCHEDULE_H

#include "base/status.h"
#include "schedule/problem.h"

enum { HP_NO_POSITION = -1, HP_STREAMS_MAX = 4 };

/* What becomes of a message. */
#define HP_ACTION_TABLE(X)                                                                                   \
    X(STORE, store)               /* it replaces the blocks */                                               \
    X(REDUCE_LEFT, reduce_left)   /* theirs (op) mine */                                                     \
    X(REDUCE_RIGHT, reduce_right) /* mine (op) theirs */

typedef enum {
#define X(id, name) HP_ACTION_##id,
    HP_ACTION_TABLE(X)
#undef X
        HP_ACTION_COUNT
} hp_action_t;

const char *hp_action_name(hp_action_t action);
/* HP_ACTION_COUNT: there is none of that name. */
hp_action_t hp_action_find(const char *name);

/* count blocks of a space: runs of run blocks that begin at first, first + stride, ...; the last run may be shorter. */
typedef struct {
    hp_space_t space;
    uint32_t first, count, run, stride;
} hp_range_t;

/* Blocks first to first + count - 1. */
static inline hp_range_t hp_range(hp_space_t space, uint32_t first, uint32_t count)
{
    return (hp_range_t){.space = space, .first = first, .count = count, .run = count, .stride = count};
}

/* The blocks below end whose digit of that weight, in that radix, has the value: Bruck's. */
hp_range_t hp_range_digit(hp_space_t space, uint32_t end, uint32_t radix, uint32_t weight, uint32_t value);

/* The i-th block of a range. */
static inline uint32_t hp_range_block(const hp_range_t *range, uint32_t i)
{
    return range->first + i / range->run * range->stride + i % range->run;
}

/* Ranges of a step's list: those from first on in schedule->ranges. */
typedef struct {
    uint32_t first, count;
} hp_list_t;

typedef struct {
    int32_t to, from; /* HP_NO_POSITION: nothing is sent, or received */
    hp_list_t send, recv;
    hp_action_t action;
    uint8_t stream; /* < HP_STREAMS_MAX */
    bool sync;      /* its messages carry no blocks */
} hp_step_t;

typedef struct {
    hp_step_t *steps;
    uint32_t step_count, step_room;
    hp_range_t *ranges;
    uint32_t range_count, range_room;
    uint32_t cut;            /* blocks that the vector is cut into, of patterns that have one */
    uint32_t scratch_blocks; /* each as large as the largest block */
    uint8_t stream;          /* of the steps that are added next */
    hp_status_t status;
} hp_schedule_t;

void hp_schedule_init(hp_schedule_t *schedule);
void hp_schedule_fini(hp_schedule_t *schedule);

/* ---- for generators ---- */

/* Adds a step; its lists are filled by the functions below before the next step is added. */
void hp_schedule_step(hp_schedule_t *schedule, int32_t to, int32_t from, hp_action_t action);
/* Adds blocks to the send or receive list of the last step. A range of no blocks adds nothing. */
void hp_schedule_sends(hp_schedule_t *schedule, hp_range_t range);
void hp_schedule_receives(hp_schedule_t *schedule, hp_range_t range);
/* Either, of a range of which block b is called numbers[b]. */
void hp_schedule_renumbered(hp_schedule_t *schedule, hp_range_t range, const uint32_t *numbers,
                            bool receives);
/* The same for count blocks from first on around a circle of so many: first may be any number. */
void hp_schedule_sends_around(hp_schedule_t *schedule, hp_space_t space, uint64_t first, uint32_t count,
                              uint32_t circle);
void hp_schedule_receives_around(hp_schedule_t *schedule, hp_space_t space, uint64_t first, uint32_t count,
                                 uint32_t circle);
/* Whole steps: one message, or a local copy; and messages without data, which everything before and after waits for. */
void hp_schedule_send(hp_schedule_t *schedule, uint32_t to, hp_range_t range);
void hp_schedule_receive(hp_schedule_t *schedule, uint32_t from, hp_range_t range, hp_action_t action);
void hp_schedule_local(hp_schedule_t *schedule, uint32_t me, hp_range_t from, hp_range_t to,
                       hp_action_t action);
void hp_schedule_sync(hp_schedule_t *schedule, int32_t to, int32_t from);

/* ---- for readers ---- */

/* Blocks of a list. */
uint32_t hp_schedule_blocks(const hp_schedule_t *schedule, const hp_list_t *list);
/* Of the largest message that it sends, or receives. */
uint32_t hp_schedule_largest_message(const hp_schedule_t *schedule, bool received);
/* Does every block that the position sends go straight from what it brings, and every one that it receives straight to its
 * place in the result? If so on all positions, each needs to know the sizes of nobody's blocks but its own. Of patterns
 * that move blocks; others are not. */
bool hp_schedule_is_direct(const hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t position);

#endif
