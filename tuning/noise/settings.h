/* settings: the HANPMPI_NOISE variables, and the random durations that they describe.
 *
 * Threads: plain data; each call is self-contained. noise_draw is safe in a signal handler. Ownership:
 * nothing is allocated. */
#ifndef HANPMPI_NOISE_SETTINGS_H
#define HANPMPI_NOISE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum { NOISE_OFF, NOISE_SHARE, NOISE_UNIFORM, NOISE_CONSTANT, NOISE_EXPONENTIAL } noise_kind_t;

/* How long one interruption is. */
typedef struct {
    noise_kind_t kind;
    double size; /* SHARE: of the time; else seconds: the maximum, the duration, the mean */
    double cap;  /* EXPONENTIAL: seconds, 0: 0.9 of the period */
} noise_amount_t;

typedef struct {
    noise_amount_t amount;
    double hz; /* interruptions a second */
    char ranks[256];
    uint64_t seed;
    double delay_seconds; /* from the start of the process to the first period */
    bool burns;           /* the core is kept busy; otherwise the rank sleeps */
    bool reports;
    int signal;
} noise_settings_t;

/* Reads the environment. false: a value is not accepted; error then names variable, value and what is
 * accepted. */
bool noise_settings_read(noise_settings_t *out, char *error, size_t error_bytes);

/* The words of HANPMPI_NOISE. hz: the longest interruption must fit into the period. Same error. */
bool noise_amount_parse(const char *text, double hz, noise_amount_t *out, char *error, size_t error_bytes);

/* Is the rank one of those that text names? text was accepted. */
bool noise_is_chosen(const char *text, uint32_t rank);

/* A stream of random numbers: splitmix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014). */
typedef struct {
    uint64_t state;
} noise_random_t;

/* Streams of different seeds, ranks and numbers have nothing to do with each other. */
noise_random_t noise_random_start(uint64_t seed, uint32_t rank, uint64_t stream);
double noise_random_unit(noise_random_t *random); /* 0 <= x < 1 */

/* The duration of the next interruption, in seconds. */
double noise_draw(const noise_amount_t *amount, double hz, noise_random_t *random);

#endif
