/* explain: what ran and why, for people and for programs: what HANPMPI_EXPLAIN prints at MPI_Finalize,
 * HANPMPI_EXPLAIN_JSON writes there, and hanpmpi_info --explain shows before a run.
 *
 * A communicator's bins (select.h) are kept when it goes or gets other knobs; those of communicators of one kind
 * (nodes and ranks on them) are put together where the same was chosen.
 * Threads: keep from any thread; print and write when no communicator is left. Ownership: one static list a
 * process; hp_explain_fini frees it. */
#ifndef HP_HIER_PLANNING_EXPLAIN_H
#define HP_HIER_PLANNING_EXPLAIN_H

#include <stdio.h>
#include "hier/planning/select.h"

/* What a candidate does on communicators of a layout, in a few words: "han, chain, shm, 32 KiB". Returns text. */
const char *hp_explain_candidate(const hp_candidate_t *candidate, hp_collective_t collective,
                                 const hp_layout_t *layout, char *text, size_t room);

/* Remembers what the communicator's selection came to. Without memory: says so at the end. */
void hp_explain_keep(const hp_comm_t *comm);

/* The table, with the reasons for which calls passed through. rank: whose figures these are. run_seconds: since
 * MPI_Init. */
void hp_explain_print(FILE *out, unsigned rank, double run_seconds);

/* The same as JSON. false: no memory, or it could not be written. */
bool hp_explain_write(FILE *out, unsigned rank, double run_seconds);

void hp_explain_fini(void);

/* Before a run: what may run such a call, in which order, and what it is expected to take. */
void hp_explain_ahead(FILE *out, const hp_situation_t *situation, hp_collective_t collective, uint64_t bytes);

#endif
