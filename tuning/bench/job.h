/* job: where the ranks are, the communicators of both sides, and what the library says of itself.
 *
 * A benchmark job has two sides that run the same collective on duplicates of MPI_COMM_WORLD: on the
 * library's duplicate the hints of the command line hold, on the host's the hint hanpmpi=off. A third
 * duplicate, also off, carries barriers and results. Without the library there is the host's side only.
 *
 * Threads: one. Ownership: bench_job_fini gives everything back. */
#ifndef HP_BENCH_JOB_H
#define HP_BENCH_JOB_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include "hanpmpi/hanpmpi.h"

/* The library comes last: without it the sides are 0 .. job.side_count - 1. */
typedef enum { BENCH_HOST, BENCH_LIBRARY, BENCH_SIDES } bench_side_t;

enum { BENCH_OUTCOMES_MAX = 32 };

/* How many calls had which outcome; outcome 0 is "taken". */
typedef struct {
    unsigned count;
    const char *word[BENCH_OUTCOMES_MAX];
    uint64_t calls[BENCH_OUTCOMES_MAX];
} bench_outcomes_t;

typedef struct {
    int rank, size;
    int node;           /* this rank's, in the order of the nodes' first ranks */
    int node_count;     /* N */
    int node_ranks_max; /* c: ranks on the fullest node */
    int node_ranks;     /* on this rank's node */
    int *node_of;       /* of every rank */
    char *names;        /* node n's name at names + n * MPI_MAX_PROCESSOR_NAME */
    MPI_Comm side[BENCH_SIDES];
    MPI_Comm all;                                  /* what the sides are duplicates of; the caller's */
    MPI_Comm sync;                                 /* barriers, results */
    MPI_Comm node_comm;                            /* the ranks of this node */
    int side_count;                                /* 1: host only */
    const char *library_version, *library_backend; /* NULL: not loaded; "none": loaded, not active */
} bench_job_t;

/* After MPI_Init. hints: KEY=VALUE texts for the library's side. sync_library: the barriers between
 * repetitions are the library's, for both sides; else the host MPI's. Collective. */
void bench_job_init(bench_job_t *job, char *const *hints, int hint_count, bool sync_library);
/* The same on a communicator, by its ranks alone. */
void bench_job_init_on(bench_job_t *job, MPI_Comm comm, char *const *hints, int hint_count,
                       bool sync_library);
void bench_job_fini(bench_job_t *job);

/* MPI_Init, with the thread level that the library's helper thread needs where it is asked for (HANPMPI_PROGRESS). */
void bench_start_mpi(int *argc, char ***argv);

/* A duplicate for each side: with the library switched off, or with hints. Collective. */
MPI_Comm bench_duplicate_host(MPI_Comm comm);
MPI_Comm bench_duplicate_library(MPI_Comm comm, char *const *hints, int hint_count);

/* As much use of a communicator of the library's as makes it set that up (HANPMPI_SETUP_CALLS, HANPMPI_SETUP_BYTES), so that what is
 * measured is what the library does then. Collective. */
void bench_set_up(MPI_Comm comm);

/* The library's count for a collective on this rank until now. */
void bench_outcomes_get(const char *collective, bench_outcomes_t *outcomes);

/* Ends all ranks with a message. */
__attribute__((noreturn, format(printf, 1, 2))) void bench_abort(const char *format, ...);

/* An MPI call that must succeed. Errors of collectives are fatal by MPI's default handler; this is for
 * the sake of readers and of -Wunused-result. */
#define BENCH_MPI(call)                                                                                      \
    do {                                                                                                     \
        if ((call) != MPI_SUCCESS)                                                                           \
            bench_abort("%s failed", #call);                                                                 \
    } while (0)

/* Memory that must be there, page aligned. */
void *bench_allocate(size_t bytes);
/* realloc, likewise, without the alignment. */
void *bench_extend(void *memory, size_t bytes);

#endif
