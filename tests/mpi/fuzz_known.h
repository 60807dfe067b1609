/* fuzz_known: what a recording of the fuzzer (HANPMPI_PROFILE) has to say of its collectives: how often each function was
 * called on the communicators of pairs, and with how many bytes, as hanpmpi-profile(5) counts them.
 *
 * Threads: one. */
#ifndef HP_TESTS_MPI_FUZZ_KNOWN_H
#define HP_TESTS_MPI_FUZZ_KNOWN_H

#include "fuzz.h"

/* The name of the communicators of pairs. */
#define HP_FUZZ_KNOWN_COMM "fuzz"

/* This rank calls a collective's function of that way. */
void hp_fuzz_known_call(hp_fuzz_collective_t collective, hp_fuzz_way_t way, bool count_form, uint64_t bytes);
/* It starts a persistent one. */
void hp_fuzz_known_start(uint64_t bytes);
/* Into NAME.RANK, as profile.c does. */
void hp_fuzz_known_write(const char *name);

#endif
