/* noise.h: what a program may ask libhanpmpi-noise.so, the injector of noise, if it wants to steer its own
 * study.
 *
 * Preloaded, the injector works by its HANPMPI_NOISE variables alone (manual page hanpmpi-noise(7)). A
 * program that measures with and without noise in one run looks these up with dlsym(RTLD_DEFAULT,
 * "hanpmpi_noise_start").
 *
 * Threads: to be called from the main thread. No function blocks or communicates. */
#ifndef HANPMPI_NOISE_H
#define HANPMPI_NOISE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How much, in the words of HANPMPI_NOISE: "5%", "uniform:10", ... Holds from the next start on. Returns 0;
 * -1 after a message when amount is not accepted. */
int hanpmpi_noise_set(const char *amount);

/* Starts the noise of stream number `stream` of this rank: with one seed the same stream always brings the
 * same durations at the same distances from the start. Starts nothing where no noise is set or the rank is
 * not one of HANPMPI_NOISE_RANKS. Returns 0; -1 after a message when there is no timer. */
int hanpmpi_noise_start(uint64_t stream);

/* No noise any more, until the next start. */
void hanpmpi_noise_stop(void);

/* What this rank has had since it was started: how many times, and seconds as measured around each. */
void hanpmpi_noise_totals(uint64_t *count, double *seconds);

#ifdef __cplusplus
}
#endif

#endif
