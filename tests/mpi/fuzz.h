/* fuzz: the differential fuzzer's pieces. Every random collective runs twice, on the same values: on a
 * communicator that the library works on, and on its twin where the host MPI's own collectives run. The
 * results are compared bit for bit, except for floating-point sums and products, which may be evaluated in
 * another order.
 *
 * After a barrier everybody must have entered it: each rank says so, before it calls, in memory that the
 * ranks of the machine share (MPI_Win_allocate_shared).
 *
 *   fuzz.c        options, the loop, progress, the summary
 *   fuzz_comms.c  pairs of communicators, and who has entered
 *   fuzz_case.c   one random collective: drawing, running, comparing
 *
 * All decisions come from one stream of random numbers, the same on all ranks. An object takes one number off
 * it and derives everything else from that, so that no rank can get ahead of another.
 *
 * Threads: one. */
#ifndef HP_TESTS_MPI_FUZZ_H
#define HP_TESTS_MPI_FUZZ_H

#include "typemap.h"

typedef enum {
    HP_FUZZ_BCAST,
    HP_FUZZ_REDUCE,
    HP_FUZZ_ALLREDUCE,
    HP_FUZZ_BARRIER,
    HP_FUZZ_COLLECTIVES
} hp_fuzz_collective_t;

typedef struct {
    uint64_t seed;
    int64_t count;     /* collectives */
    double seconds;    /* stop earlier; 0: do not */
    int64_t max_bytes; /* of one message */
    int stuck_seconds; /* a collective that takes longer is called stuck */
    bool expect_taken;
    const char *algorithms[HP_FUZZ_COLLECTIVES]; /* comma-separated: values of the hint */
    const char *modules;                         /* likewise: names, and "rules" for no hint */
} hp_fuzz_options_t;

/* A communicator for the library and its twin for the host; MPI_COMM_NULL on ranks that are not in it. */
typedef struct {
    MPI_Comm library, native;
    int rank, size;
    int64_t segment_bytes; /* the hint */
    int *world_ranks;      /* by rank in the communicators */
    char text[600];
} hp_pair_t;

/* Collective over MPI_COMM_WORLD. */
void hp_pair_create(hp_pair_t *pair, hp_random_t *random, const hp_fuzz_options_t *options);
void hp_pair_free(hp_pair_t *pair);

/* Collective over MPI_COMM_WORLD. */
void hp_entered_init(void);
void hp_entered_fini(void);
/* This rank enters the barrier of that number; numbers grow. */
void hp_entered_say(uint64_t number);
/* A rank of the communicator that has not entered it, -1 when all have. Ranks of other machines are not seen.
 */
int hp_entered_missing(const hp_pair_t *pair, uint64_t number);

/* The datatypes in use: every bare basic, and derived ones that are replaced now and then. */
enum { HP_FUZZ_DERIVED = 40, HP_FUZZ_MAPS = HP_BASIC_COUNT + HP_FUZZ_DERIVED };

typedef struct {
    hp_typemap_t *map[HP_FUZZ_MAPS];
} hp_fuzz_maps_t;

void hp_fuzz_maps_create(hp_fuzz_maps_t *maps, hp_random_t *random);
void hp_fuzz_maps_renew(hp_fuzz_maps_t *maps, hp_random_t *random);
void hp_fuzz_maps_free(hp_fuzz_maps_t *maps);

typedef struct {
    const hp_pair_t *pair;
    hp_fuzz_collective_t collective;
    const hp_typemap_t *map; /* Bcast: this rank's own */
    int64_t count;
    int root;
    hp_operation_t operation;
    bool in_place;
    bool count_form;     /* this rank calls MPI_X_c */
    bool null_elsewhere; /* Reduce: the receive buffer of the others is NULL */
    uint64_t salt;
    uint64_t number; /* the same on all ranks, growing */
} hp_fuzz_case_t;

/* Draws a collective on pair; on a rank outside of the pair the case is empty. */
void hp_fuzz_case_draw(hp_fuzz_case_t *test, hp_random_t *random, const hp_pair_t *pair,
                       const hp_fuzz_maps_t *maps, const hp_fuzz_options_t *options);
/* Runs it both ways. Returns true, or false with the first difference in difference. */
bool hp_fuzz_case_run(const hp_fuzz_case_t *test, char *difference, size_t difference_bytes);
/* The case as this rank sees it, in full. Returns buffer. */
const char *hp_fuzz_case_format(const hp_fuzz_case_t *test, char *buffer, size_t buffer_bytes);

#endif
