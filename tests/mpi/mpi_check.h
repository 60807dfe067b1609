/* mpi_check: what every program of this folder shares: checks that name rank, file and line; the library's
 * own figures, looked up at run time; communicators with hints; random numbers that are the same everywhere.
 *
 * A program passes by returning 0, is skipped with HP_SKIP, and fails through MPI_Abort, so that no rank
 * waits for a rank that has given up. Every program also runs without the library (hp_lib_loaded() tells): a
 * test that fails there is wrong, not the library.
 *
 * Threads: any, except where a function is collective. */
#ifndef HP_TESTS_MPI_CHECK_H
#define HP_TESTS_MPI_CHECK_H

#include <inttypes.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hanpmpi/hanpmpi.h"

enum { HP_SKIP = 77 };

/* Whether mpi.h has persistent collectives; those with large counts came in the same version of MPI. Open MPI 5 has
 * them, and says it were MPI 3.1. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HP_HAS_PERSISTENT 1
#else
#define HP_HAS_PERSISTENT 0
#endif

/* Prints one line with rank, place and message, and ends the job. */
__attribute__((noreturn, format(printf, 4, 5))) void
hp_check_fail(const char *file, int line, const char *condition, const char *format, ...);

/* CHECK(condition, format, ...): the message says what was expected of whom. */
#define CHECK(condition, ...)                                                                                \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            hp_check_fail(__FILE__, __LINE__, #condition, __VA_ARGS__);                                      \
    } while (0)

#define CHECK_EQUAL(got, expected, what)                                                                     \
    do {                                                                                                     \
        long long got_ = (long long)(got), expected_ = (long long)(expected);                                \
        if (got_ != expected_)                                                                               \
            hp_check_fail(__FILE__, __LINE__, #got " == " #expected, "%s: %lld, expected %lld", what, got_,  \
                          expected_);                                                                        \
    } while (0)

/* An MPI call that must succeed; the text of the error is printed when it does not. */
#define CHECK_MPI(call)                                                                                      \
    do {                                                                                                     \
        int code_ = (call);                                                                                  \
        if (code_ != MPI_SUCCESS)                                                                            \
            hp_check_fail(__FILE__, __LINE__, #call, "%s", hp_error_text(code_));                            \
    } while (0)

/* MPI_Init; with --thread-multiple as the first argument, which it takes away, MPI_Init_thread. An MPI without that level
 * ends the program with HP_SKIP. */
void hp_mpi_init(int *argc, char ***argv);

/* The text of an MPI error code, in a buffer that the next call on this thread overwrites. */
const char *hp_error_text(int code);
int hp_error_class(int code);

int hp_comm_rank(MPI_Comm comm);
int hp_comm_size(MPI_Comm comm);

/* Whether the library is in this process, and what it says. Without it the figures are zero. */
bool hp_lib_loaded(void);
const char *hp_lib_backend(void);
/* Whether the library counts that collective ("bcast"). */
bool hp_lib_knows(const char *collective);
hanpmpi_collective_stats_t hp_lib_stats(const char *collective);
hanpmpi_resources_t hp_lib_resources(void);

/* An info object from key, value, key, value, ..., NULL. The caller frees it. */
MPI_Info hp_info_create(const char *const *keys_and_values);
/* A duplicate of comm with these hints. Collective. */
MPI_Comm hp_comm_dup_hinted(MPI_Comm comm, const char *const *keys_and_values);
/* A duplicate on which the library stands aside: the host MPI's collectives. Collective. */
MPI_Comm hp_comm_dup_native(MPI_Comm comm);
/* One whose errors return; native: likewise. */
MPI_Comm hp_comm_dup_returning(MPI_Comm comm, bool native);

/* Spins for that long: tests create skew without sleeping. */
void hp_spin_us(double microseconds);

/* splitmix64 (Steele, Lea, Flood 2014): a stream, and a hash of up to three numbers. */
typedef struct {
    uint64_t state;
} hp_random_t;

static inline uint64_t hp_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* hp_hash(a, b, c) is hp_mix(hp_hash_of(a, b) ^ c). */
static inline uint64_t hp_hash_of(uint64_t a, uint64_t b)
{
    return hp_mix(hp_mix(a) ^ b);
}

static inline uint64_t hp_hash(uint64_t a, uint64_t b, uint64_t c)
{
    return hp_mix(hp_hash_of(a, b) ^ c);
}

static inline uint64_t hp_random_next(hp_random_t *random)
{
    return hp_mix(random->state++);
}

/* 0 .. bound-1. */
static inline uint32_t hp_random_below(hp_random_t *random, uint32_t bound)
{
    return (uint32_t)((hp_random_next(random) >> 32) * bound >> 32);
}

#endif
