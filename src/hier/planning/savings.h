/* savings: what the library has saved a run, and what it took to find that out: the last lines of HANPMPI_STATS and
 * HANPMPI_EXPLAIN, and an object of HANPMPI_EXPLAIN_JSON.
 *
 * An estimate, from the guards' own trials. There a call took so long with what was chosen and so long with the host MPI's
 * collective, by the slowest rank's medians; the difference times the calls is what was saved. The least and the most that
 * the trials' times allow (fastest against slowest) stand beside it. What ran without a trial, as with HANPMPI_GUARD=0, says nothing.
 *
 * Threads: when no communicator is left. Ownership: plain data. */
#ifndef HP_HIER_PLANNING_SAVINGS_H
#define HP_HIER_PLANNING_SAVINGS_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

typedef struct {
    /* Of this rank. */
    double run_seconds;        /* since MPI_Init */
    double collective_seconds; /* in collectives that the library intercepts */
    double taken_seconds;      /* in those that it ran */
    /* Of the slowest rank, as estimated. */
    double seconds, least_seconds, most_seconds;
    uint64_t calls;         /* that these are of */
    uint64_t unknown_calls; /* that the library ran and nobody compared with the host MPI */
    /* Of this rank: spent on finding out. */
    double setup_seconds;                  /* setting communicators up */
    double trial_seconds;                  /* calls of what was not chosen, as far as they took longer */
    double agreement_seconds;              /* agreeing on times, probes that were taken then included */
    uint64_t trial_calls, agreement_count; /* how many */
} hp_savings_t;

/* Of what was kept (kept.h) and counted (hier/call/stats.h). */
hp_savings_t hp_savings(double run_seconds);

void hp_savings_print(FILE *out, const hp_savings_t *savings, unsigned rank);
json_t *hp_savings_json(const hp_savings_t *savings);

#endif
