/* program: what a position does in a collective of blocks, as a list of operations and what each of them waits for:
 * made once of its schedule (schedule/schedule.h) for a call, so that starting it is only writing down.
 *
 * Blocks are where the call says: one run of them is sent from its place and received there; others are packed into, or come
 * in, memory of the collective's own, in which scratch blocks are, too. What is reduced comes in there.
 * An operation may not read a block before it was last written, nor write it before it was last read and written; no more
 * than so many steps have messages under way. A block that a step both sends and receives comes in aside, so no message
 * waits for the one that goes the other way.
 * A step that synchronizes is an empty message: it waits for all operations before it, and all after it for what it receives.
 * In place is free where a position brings one block (allgather, gather) or keeps one (scatter); elsewhere the caller hands
 * over a copy.
 *
 * Threads: pure. Ownership: the arena's. */
#ifndef HP_HIER_BLOCKS_PROGRAM_H
#define HP_HIER_BLOCKS_PROGRAM_H

#include "base/arena.h"
#include "hier/call/collective.h"
#include "hier/blocks/graph.h"
#include "schedule/schedule.h"

typedef struct {
    hp_block_operation_t *operations;
    uint32_t *after; /* operations */
    uint32_t operation_count, after_count;
    size_t work_elements; /* of the own memory */
} hp_block_program_t;

typedef struct {
    const hp_schedule_t *schedule;
    const hp_problem_t *problem;
    uint32_t position;
    const uint32_t *ranks; /* of the positions; NULL: they are the ranks */
    const hp_call_t *call;
    /* Blocks that go straight from rank to rank, beside the schedule: those with more elements than call->count. NULL: none. */
    const hp_blocks_t *longer;
    /* Elements from one equal block to the next; more than call->count: the program is of a slice of each. */
    size_t stride;
    bool in_place;            /* the own block lies where it belongs in the buffer that has all */
    uint32_t steps_in_flight; /* >= 1 */
} hp_block_problem_t;

/* HP_OK, HP_ERR_NO_MEM; HP_ERR_ARG: see hp_schedule_knows_sizes. */
hp_status_t hp_block_program_make(hp_arena_t *arena, const hp_block_problem_t *problem,
                                  hp_block_program_t *program);

/* Does the position know the size of all that it sends and receives, where blocks differ in size? Not if it keeps aside what
 * it has been sent. */
bool hp_schedule_knows_sizes(const hp_schedule_t *schedule, uint32_t position);

#endif
