/* routine: what hanpmpi_tune tries beside the algorithms as they usually are, as the text of a file of schedules
 * (schedule/file.h). Its words are
 *
 *   an algorithm, and one of its parameters       "bruck radix=4", "contention_free_barriers barriers=8", "ring"
 *   one that is direct, and its window             "pairwise window=4": so many messages of a position are under way
 *   two algorithms of an allreduce                 "contention_free + depth_first_ring"
 *
 * The first of two reduces each block to the position of its number, the second is an allgather, which gives it to all (A.
 * Faraj, X. Yuan, ICS 2005: Rab-1 and Rab-2). The first is
 *
 *   an allreduce algorithm       the steps of it that reduce (rabenseifner: recursive halving)
 *   a direct alltoall            each block straight to its position, which reduces it as it comes
 *
 * Rounds, bytes: those of the one and of the other.  Constraints: the operation must commute; neither needs scratch, or
 * keeps its phases apart by messages without data.
 *
 * Threads: pure. Ownership: the caller frees the text. */
#ifndef HANPMPI_TUNE_TASKS_ROUTINE_H
#define HANPMPI_TUNE_TASKS_ROUTINE_H

#include "schedule/generator.h"

/* The text, of *length bytes. HP_OK; HP_ERR_ARG: there are no such algorithms, they do not solve the problem, or not
 * together (what comes out is verified); HP_ERR_NO_MEM. */
hp_status_t hp_routine_write(const char *words, const hp_problem_t *problem, char **text, size_t *length);

#endif
