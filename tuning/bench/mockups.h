/* mockups: the performance guidelines: what a collective can be made of by the MPI's other collectives, and so must not be
 * slower than (J. L. Träff, W. D. Gropp, R. Thakur, Self-consistent MPI performance guidelines, IEEE TPDS 2010; S. Hunold,
 * A. Carpen-Amarie, Autotuning MPI collectives using performance guidelines, HPC Asia 2018).
 *
 * A mock-up gets a call of the collective (bench_call_t) and has to leave the same in the receive buffer, the same send
 * buffer, and nothing on ranks that receive nothing. It uses only what the caller of the collective knows.
 *
 * Threads: one. Ownership: bench_mockup_memory_fini frees the memory. */
#ifndef HP_BENCH_MOCKUPS_H
#define HP_BENCH_MOCKUPS_H

#include "calls.h"

/* What the mock-ups of a case work with. It is there before they are timed. */
typedef struct {
    char *scratch[2];     /* room for a rank's largest buffer and an element a rank more */
    int *counts, *places; /* one a rank, elements */
} bench_mockup_memory_t;

typedef struct {
    const char *collective, *made_of; /* "allgather", "gather + bcast" */
    /* Returns MPI's code. */
    int (*run)(const bench_mockup_memory_t *memory, const bench_call_t *call);
} bench_mockup_t;

enum { BENCH_MOCKUPS_MAX = 4 }; /* of one collective */

/* The mock-ups of a collective, by number; NULL behind the last one. */
const bench_mockup_t *bench_mockup(const char *collective, int number);

void bench_mockup_memory_init(bench_mockup_memory_t *memory, const bench_case_t *what);
void bench_mockup_memory_fini(bench_mockup_memory_t *memory);
/* How much memory that is on a rank, in bytes. */
size_t bench_mockup_memory_bytes(const bench_case_t *what);

#endif
