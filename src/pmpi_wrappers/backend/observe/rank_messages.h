/* rank_messages: messages between two ranks of MPI_COMM_WORLD at MPI_Init and MPI_Finalize, and comparing their clocks.
 *
 * Threads: one, inside MPI_Init or MPI_Finalize. Ownership: the caller's. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_OBSERVE_RANK_MESSAGES_H
#define HP_PMPI_WRAPPERS_BACKEND_OBSERVE_RANK_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include "event_engine/trace_json.h"

/* False: the MPI reports an error. A message of any length; both sides give the same. */
bool hp_rank_send(const void *message, size_t bytes, int to, int tag);
/* Whoever waits here leaves its core to others. */
bool hp_rank_receive(void *message, size_t bytes, int from, int tag);

/* Which of the two comparisons of a clock. */
enum { HP_CLOCK_AT_START, HP_CLOCK_AT_FINISH };

/* Asks a rank for its time, again and again; the fastest answer tells how far its clock is ahead of the own one. go:
 * whether there is anything to compare clocks for, which the other is told; without it nobody answers. */
bool hp_rank_ask_clock(int rank, int tag, bool go, hp_trace_clock_t *clock, unsigned when);
/* The other side. *go: what the one that asks has said. */
bool hp_rank_answer_clock(int from, int tag, bool *go);

#endif
