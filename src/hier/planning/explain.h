/* explain: what ran and why, for people and for programs: what HANPMPI_EXPLAIN prints at MPI_Finalize,
 * HANPMPI_EXPLAIN_JSON writes there, and hanpmpi_info --explain shows before a run.
 *
 * What it tells of a run are the rows of kept.h.
 * Threads: print and write when no communicator is left. Ownership: none. */
#ifndef HP_HIER_PLANNING_EXPLAIN_H
#define HP_HIER_PLANNING_EXPLAIN_H

#include <jansson.h>
#include <stdio.h>
#include "hier/planning/savings.h"
#include "hier/planning/select.h"

/* What a candidate does on communicators of a layout, in a few words: "han, chain, shm, 32 KiB". Returns text. */
const char *hp_explain_candidate(const hp_candidate_t *candidate, hp_collective_t collective,
                                 const hp_layout_t *layout, char *text, size_t room);

/* The table, with the reasons for which calls passed through. rank: whose figures these are. */
void hp_explain_print(FILE *out, unsigned rank);

/* The same as JSON, with what was saved. false: no memory, or it could not be written. */
bool hp_explain_write(FILE *out, unsigned rank, const hp_savings_t *savings);

/* Before a run: what may run such a call, in which order, and what it is expected to take. */
void hp_explain_ahead(FILE *out, const hp_situation_t *situation, hp_collective_t collective, uint64_t bytes);
json_t *hp_explain_ahead_json(const hp_situation_t *situation, hp_collective_t collective, uint64_t bytes);

#endif
