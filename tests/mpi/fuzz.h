/* fuzz: the differential fuzzer's pieces. Every random collective runs twice, on the same values: on a
 * communicator that the library works on, and on its twin where the host MPI's collectives run. The
 * results are compared bit for bit, except for floating-point sums and products, which may be evaluated in
 * another order.
 *
 * After a barrier everybody must have entered it: each rank says so, before it calls, in memory that the
 * ranks of the machine share (MPI_Win_allocate_shared).
 *
 * A sequence is several collectives in flight at a time, on one or several pairs, completed in an order that
 * every rank draws for itself, with blocking collectives and point-to-point messages between them.
 *
 *   fuzz.c           options, the loop, progress, the summary
 *   fuzz_comms.c     pairs of communicators, and who has entered
 *   fuzz_case.c      one random collective: drawing it, printing it
 *   fuzz_run.c       running it in any of its forms, comparing
 *   fuzz_blocks.c    what is particular to those with a block for each rank, and to scans
 *   fuzz_side.c      their buffers
 *   fuzz_sequence.c  many in flight: the steps and their order
 *   fuzz_flight.c    what is in flight, and the functions that complete it
 *   fuzz_known.c     what a recording has to say of it
 *
 * All decisions come from one stream of random numbers, the same on all ranks. An object takes one number off
 * it and derives everything else from that, so that no rank can get ahead of another. What a rank decides for
 * itself comes from a stream made of such a number and its rank.
 *
 * Threads: one. */
#ifndef HP_TESTS_MPI_FUZZ_H
#define HP_TESTS_MPI_FUZZ_H

#include "typemap.h"

/* id, MPI's name, the library's, how often, whether the library takes some by itself (--expect-taken) */
#define HP_FUZZ_TABLE(X)                                                                                     \
    X(BCAST, Bcast, bcast, 4, true)                                                                          \
    X(REDUCE, Reduce, reduce, 4, true)                                                                       \
    X(ALLREDUCE, Allreduce, allreduce, 4, true)                                                              \
    X(BARRIER, Barrier, barrier, 2, true)                                                                    \
    X(ALLGATHER, Allgather, allgather, 1, HP_FUZZ_BLOCKS_TAKEN)                                              \
    X(ALLGATHERV, Allgatherv, allgatherv, 1, HP_FUZZ_BLOCKS_TAKEN)                                           \
    X(ALLTOALL, Alltoall, alltoall, 1, HP_FUZZ_BLOCKS_TAKEN)                                                 \
    X(ALLTOALLV, Alltoallv, alltoallv, 1, HP_FUZZ_BLOCKS_TAKEN)                                              \
    X(ALLTOALLW, Alltoallw, alltoallw, 1, HP_FUZZ_BLOCKS_TAKEN)                                              \
    X(REDUCE_SCATTER, Reduce_scatter, reduce_scatter, 1, HP_FUZZ_BLOCKS_TAKEN)                               \
    X(REDUCE_SCATTER_BLOCK, Reduce_scatter_block, reduce_scatter_block, 1, HP_FUZZ_BLOCKS_TAKEN)             \
    X(GATHER, Gather, gather, 1, HP_FUZZ_BLOCKS_TAKEN)                                                       \
    X(GATHERV, Gatherv, gatherv, 1, HP_FUZZ_BLOCKS_TAKEN)                                                    \
    X(SCATTER, Scatter, scatter, 1, HP_FUZZ_BLOCKS_TAKEN)                                                    \
    X(SCATTERV, Scatterv, scatterv, 1, HP_FUZZ_BLOCKS_TAKEN)                                                 \
    X(SCAN, Scan, scan, 1, HP_FUZZ_BLOCKS_TAKEN)                                                             \
    X(EXSCAN, Exscan, exscan, 1, HP_FUZZ_BLOCKS_TAKEN)
#define HP_FUZZ_BLOCKS_TAKEN true

typedef enum {
#define X(id, ...) HP_FUZZ_##id,
    HP_FUZZ_TABLE(X)
#undef X
        HP_FUZZ_COLLECTIVES
} hp_fuzz_collective_t;

typedef struct {
    const char *name, *word; /* "Bcast", "bcast": the library's name, the end of its hint's */
    unsigned weight;
    bool taken;
} hp_fuzz_collective_info_t;

const hp_fuzz_collective_info_t *hp_fuzz_collective_info(hp_fuzz_collective_t collective);

typedef struct {
    uint64_t seed;
    int64_t count;     /* collectives */
    double seconds;    /* stop earlier; 0: do not */
    int64_t max_bytes; /* of one message */
    int stuck_seconds; /* a collective that takes longer is called stuck */
    bool expect_taken;
    int nonblocking;         /* of 100 cases, so many are sequences */
    int persistent;          /* of 100 collectives in flight, so many are persistent */
    bool free_communicators; /* with collectives in flight */
    bool thread_multiple;
    bool complex_gaps;                           /* also where the host packs them wrongly */
    const char *algorithms[HP_FUZZ_COLLECTIVES]; /* comma-separated: values of the hint */
    const char *modules;                         /* likewise: names, and "rules" for no hint */
    const char *only;                            /* likewise: collectives' words; NULL: all */
    bool drawn[HP_FUZZ_COLLECTIVES];             /* by only */
} hp_fuzz_options_t;

/* A communicator for the library and its twin for the host; MPI_COMM_NULL on ranks that are not in it. */
typedef struct {
    MPI_Comm library, native;
    int rank, size;
    int64_t segment_bytes; /* the hint */
    int64_t piece_bytes;   /* the shortest message that a segment is sent in */
    int *world_ranks;      /* by rank in the communicators */
    char text[1200];
} hp_pair_t;

/* Collective over MPI_COMM_WORLD. */
void hp_pair_create(hp_pair_t *pair, hp_random_t *random, const hp_fuzz_options_t *options);
void hp_pair_free(hp_pair_t *pair);

/* Collective over MPI_COMM_WORLD. */
void hp_entered_init(void);
void hp_entered_fini(void);
/* This rank enters the barrier of that number; numbers grow. */
void hp_entered_publish(uint64_t number);
/* A rank of the communicator that has not entered it, -1 when all have. Ranks of other machines are not seen.
 */
int hp_entered_missing(const hp_pair_t *pair, uint64_t number);

/* The datatypes in use: every bare basic, and derived ones that are replaced now and then. */
enum { HP_FUZZ_DERIVED = 40, HP_FUZZ_MAPS = HP_BASIC_COUNT + HP_FUZZ_DERIVED };

typedef struct {
    hp_typemap_t *map[HP_FUZZ_MAPS];
    bool complex_gaps; /* as of the options */
} hp_fuzz_maps_t;

void hp_fuzz_maps_create(hp_fuzz_maps_t *maps, hp_random_t *random, bool complex_gaps);
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
    /* Collectives of blocks: count is that of a block, or of an average one. */
    const hp_fuzz_maps_t *maps;
    uint64_t shape; /* decides what a salt does not: sizes, datatypes, places */
    int spread;     /* of the sizes */
    bool unlike;    /* each side of each rank has a datatype of its own */
    bool overlap;   /* what is sent may be the same places */
    uint64_t salt;
    uint64_t number; /* the same on all ranks, growing */
} hp_fuzz_case_t;

/* Draws a collective on pair; on a rank outside of the pair the case is empty. */
void hp_fuzz_case_draw(hp_fuzz_case_t *test, hp_random_t *random, const hp_pair_t *pair,
                       const hp_fuzz_maps_t *maps, const hp_fuzz_options_t *options);
/* Runs it both ways, blocking. Returns true, or false with the first difference in difference. */
bool hp_fuzz_case_run(const hp_fuzz_case_t *test, char *difference, size_t difference_bytes);
/* The case as this rank sees it, without its communicator. Returns buffer. */
const char *hp_fuzz_case_format(const hp_fuzz_case_t *test, char *buffer, size_t buffer_bytes);

/* Whether the library's value is the host's, up to what another order of evaluation may change. index: of the basic among
 * the operands. */
bool hp_fuzz_values_agree(const hp_fuzz_case_t *test, hp_basic_t basic, int64_t index, const char *library,
                          const char *native);

typedef enum { HP_FUZZ_BLOCKING, HP_FUZZ_NONBLOCKING, HP_FUZZ_PERSISTENT } hp_fuzz_way_t;

/* A case under way: its buffers on both sides, and its request. The way is that of the library's side; the
 * host's side always blocks. free_early: of HP_FUZZ_NONBLOCKING, the derived datatype and the user-defined
 * operation are freed as soon as the call is made. On a rank outside of the pair all of this does nothing.
 *
 * create, start, [complete,] check, free; persistent ones again from renew, start. complete says that the
 * request was found completed; a blocking run says it itself. check runs the host's side, so it is collective
 * over the pair and comes in the order of the starts. */
typedef struct hp_fuzz_run hp_fuzz_run_t;

hp_fuzz_run_t *hp_fuzz_run_create(const hp_fuzz_case_t *test, hp_fuzz_way_t way, bool free_early);
MPI_Request *hp_fuzz_run_request(hp_fuzz_run_t *run);
bool hp_fuzz_run_is_persistent(const hp_fuzz_run_t *run);
void hp_fuzz_run_start(hp_fuzz_run_t *run);
void hp_fuzz_run_complete(hp_fuzz_run_t *run);
bool hp_fuzz_run_check(hp_fuzz_run_t *run, char *difference, size_t difference_bytes);
/* Other values in the same buffers; numbers grow. */
void hp_fuzz_run_renew(hp_fuzz_run_t *run, uint64_t number);
void hp_fuzz_run_free(hp_fuzz_run_t *run);

/* What one rank has in flight: requests of collectives and of messages. */
enum { HP_FUZZ_MOST_IN_FLIGHT = 64 };

typedef struct {
    MPI_Request request;
    hp_fuzz_run_t *run; /* NULL: a message */
    unsigned char *message;
    int bytes, peer, tag; /* peer: from whom; -1 for a message sent */
    uint64_t salt;
    bool pending;
} hp_fuzz_slot_t;

typedef struct {
    hp_fuzz_slot_t slot[HP_FUZZ_MOST_IN_FLIGHT];
    int count;          /* slots in use; completed ones stay until hp_fuzz_flight_clear */
    const char *method; /* what is being called, for a report of a hang */
} hp_fuzz_flight_t;

/* A collective that has been started. */
void hp_fuzz_flight_add_run(hp_fuzz_flight_t *flight, hp_fuzz_run_t *run);
/* Isend to, or Irecv from, the peer; the message is drawn from the salt. */
void hp_fuzz_flight_send(hp_fuzz_flight_t *flight, MPI_Comm comm, int to, int tag, int bytes, uint64_t salt);
void hp_fuzz_flight_receive(hp_fuzz_flight_t *flight, MPI_Comm comm, int from, int tag, int bytes,
                            uint64_t salt);
/* Some of the pending ones, by a random member of MPI_Wait's and MPI_Test's family. to_completion: at least
 * one will be complete; else this only looks. */
void hp_fuzz_flight_poke(hp_fuzz_flight_t *flight, hp_random_t *own, bool to_completion);
int hp_fuzz_flight_pending(const hp_fuzz_flight_t *flight);
void hp_fuzz_flight_clear(hp_fuzz_flight_t *flight);

/* The bytes of a message. */
void hp_fuzz_message_fill(unsigned char *message, int bytes, uint64_t salt);
void hp_fuzz_message_check(const unsigned char *message, int bytes, uint64_t salt);

/* Draws and runs a sequence on some of the pairs; a pair whose communicator it frees is replaced. Collective
 * over MPI_COMM_WORLD. number: of its first step; it takes HP_FUZZ_STEP_NUMBERS. Returns true, or false with
 * the first difference. */
enum { HP_FUZZ_STEP_NUMBERS = 256 };
bool hp_fuzz_sequence_run(hp_random_t *random, hp_pair_t *pairs, int pair_count, const hp_fuzz_maps_t *maps,
                          const hp_fuzz_options_t *options, uint64_t number, char *difference,
                          size_t difference_bytes);
/* The sequence that is running, as this rank sees it. Returns buffer. */
const char *hp_fuzz_sequence_format(char *buffer, size_t buffer_bytes);

#endif
