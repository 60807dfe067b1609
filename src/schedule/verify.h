/* verify: proves that schedules solve their problem, by running all positions symbolically.
 *
 * A block's content is known by what it is: which block of the message, with whose contributions. Each position takes
 * its steps one after the other; a message passes only when both ends are at it, so that what gets through does so
 * with every message waiting for its receiver. Shown is that
 *   - each send meets its receive, of as many blocks, and nobody waits for ever;
 *   - in patterns that cut a vector both ends of a message name the same blocks of it, so that they agree on its size;
 *   - blocks that are read hold something, and no step touches a block that is not there, or writes to send;
 *   - nothing but a position's own block is stored where MPI_IN_PLACE has it: in block p of recv, of a scatter's root in
 *     its only one; and position 0 of an exscan, which is owed nothing, leaves recv alone;
 *   - no local step reads a block and writes it, too;
 *   - what is reduced is one block of the message, each contribution once, and in the order of the positions where the
 *     problem is ordered;
 *   - at the end every position has what the collective owes it; in a barrier: a chain of messages from
 *     every position, each of them sent by a step that began after the one before had come.
 * Time and memory: (positions x blocks) contents of positions / 8 bytes each.
 *
 * Threads: pure. Ownership: the caller's. */
#ifndef HP_SCHEDULE_VERIFY_H
#define HP_SCHEDULE_VERIFY_H

#include "schedule/schedule.h"

enum { HP_FAULT_BYTES = 256 };

/* Where schedules are wrong, and a sentence that says how. */
typedef struct {
    int32_t position, step; /* -1: none in particular */
    char text[HP_FAULT_BYTES];
} hp_fault_t;

/* schedules: of all positions. HP_OK; HP_ERR_ARG: *fault says why; HP_ERR_NO_MEM. */
hp_status_t hp_schedules_verify(const hp_schedule_t *schedules, const hp_problem_t *problem,
                                hp_fault_t *fault);

/* What each block is that a position sends and receives: which block of the message, or whose; in the order of its steps
 * and of their lists. */
typedef struct {
    uint32_t position;
    uint32_t *sent, *received;
    uint32_t sent_count, received_count;
} hp_labels_t;

/* Of one of the schedules, as a run of them meets them. HP_OK; HP_ERR_ARG: they do not get through; HP_ERR_NO_MEM. Fini in
 * any case. Memory: (positions x blocks) contents of 16 bytes. */
hp_status_t hp_schedules_label(const hp_schedule_t *schedules, const hp_problem_t *problem, uint32_t position,
                               hp_labels_t *labels);
void hp_labels_fini(hp_labels_t *labels);

#endif
