/* noise_calls: the functions by which a program switches its noise: those of libhanpmpi-noise.so, found in
 * the process, or in a simulation those of noise_simulated.c.
 *
 * Threads: main thread. Ownership: none. */
#ifndef HP_TESTS_NOISE_CALLS_H
#define HP_TESTS_NOISE_CALLS_H

#include <stdbool.h>
#include "hanpmpi/noise.h"

typedef struct {
    __typeof__(hanpmpi_noise_set) *set;
    __typeof__(hanpmpi_noise_start) *start;
    __typeof__(hanpmpi_noise_stop) *stop;
    __typeof__(hanpmpi_noise_totals) *totals;
} noise_calls_t;

extern noise_calls_t noise_calls;

/* Fills noise_calls. false: the injector is not in this process. */
bool noise_calls_find(void);

#endif
