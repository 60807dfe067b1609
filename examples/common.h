/* common: what the examples share: options, the clock, MPI_Test calls while computing, the line that is
 * printed at the end. The examples themselves hold the algorithms.
 *
 * Threads: one. Ownership: nothing here keeps memory. */
#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXIT_RIGHT = 0, EXIT_WRONG = 1, EXIT_BAD_OPTION = 2 };

/* An option of one example: --name NUMBER, within limits; or, where there are letters, --name LETTER, and the value
 * is the letter's place among them. */
typedef struct {
    const char *name, *help;
    long *value, least, most;
    const char *letters;
} example_option_t;

typedef struct {
    const char *program;
    int rank, size;
    bool nonblocking, check, json;
    bool thread_multiple;
    long tests;   /* MPI_Test calls per iteration of the non-blocking form */
    long warm_up; /* blocking collectives before the clock starts: MPI opens its connections at first use */
    long seed;
    long late;     /* microseconds */
    long had_late; /* how often a rank came late */
    double in_mpi; /* seconds in MPI calls since example_start_clock, this rank's */
    double begin;
} example_t;

/* Parses the options, starts MPI, gives all ranks the options of rank 0. False: leave main with *exit_code,
 * MPI is finalized. about: one sentence for --help. */
bool example_init(example_t *example, const char *program, const char *about, int argc, char **argv,
                  const example_option_t *options, int option_count, int *exit_code);

/* Collective; a barrier. */
void example_start_clock(example_t *example);

/* Seconds since then. */
double example_stop_clock(const example_t *example);

/* Collective; rank 0 prints the line. sizes: members of a JSON object, such as "points": 1000, "clusters": 8.
 * checksum: the same for the same result. right: this rank's part of the check, where there was one.
 * Returns the exit code of the program. */
int example_report(const example_t *example, double total_seconds, uint64_t checksum, bool right,
                   const char *sizes, ...) __attribute__((format(printf, 5, 6)));

/* The ranks in turns sleep here, as long as --late says: like ranks whose cores others use for a while. */
void example_come_late(example_t *example);

/* An MPI call whose time counts as communication. */
#define TIMED(example, call)                                                                                 \
    do {                                                                                                     \
        const double timed_begin = MPI_Wtime();                                                              \
        call;                                                                                                \
        (example)->in_mpi += MPI_Wtime() - timed_begin;                                                      \
    } while (0)

/* MPI_Test calls spread evenly over the steps of a computation. Many MPIs move a non-blocking collective on
 * only while the program is inside some MPI call; there the number of calls decides how much of it overlaps. */
typedef struct {
    example_t *example;
    MPI_Request *requests;
    int request_count;
    long steps, steps_done, tests, tests_done;
} example_progress_t;

/* tests: how many, over so many steps. Without requests, or with 0 tests, example_step does nothing. */
example_progress_t example_progress(example_t *example, MPI_Request *requests, int request_count, long tests,
                                    long steps);

/* One step of the computation is done. */
void example_step(example_progress_t *progress);

/* The first of the items of part number `part` when `count` items are cut in `parts` parts as even as can be. */
static inline long example_first_of(long count, long parts, long part)
{
    return count / parts * part + (part < count % parts ? part : count % parts);
}

/* A number from numbers (splitmix64): every rank can make any part of the input by itself. */
static inline uint64_t example_hash(uint64_t seed, uint64_t a, uint64_t b)
{
    uint64_t x = seed * 0xd1342543de82ef95u + a * 0x9e3779b97f4a7c15u + b * 0xda942042e4dd58b5u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* The generator of the NAS Parallel Benchmarks, between 0 and 1: x, which begins with 314159265, is multiplied by
 * 5^13 modulo 2^46, a divisor of what 64 bits wrap around at. */
static inline double example_npb_next(uint64_t *x)
{
    *x = *x * 1220703125 & ((UINT64_C(1) << 46) - 1);
    return (double)*x * 0x1p-46;
}

/* Its x after so many numbers: any rank can begin anywhere in the sequence. */
uint64_t example_npb_at(uint64_t numbers);

/* Zeroed memory that must be there. */
void *example_allocate(size_t count, size_t bytes);

#endif
