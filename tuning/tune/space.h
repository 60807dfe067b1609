/* space: every configuration that may be the best for a collective on a layout.
 *
 * A configuration is an algorithm with its settings, as hints on a communicator. Those that are the same
 * for a size have one representative: a message of one segment knows neither the segment's size nor rotations.
 *
 * What there is:
 *
 *   vectors    native, flags (one node), han: an inter-node way, an intra-node module, rotations, a segment's size; of an
 *              allreduce on several nodes flat: a way among the ranks that does not cut the vector
 *   barrier    native, flags (one node), han: one leader or all
 *   blocks     native, flags and single_copy (one node), flat: a way among the ranks, han: a way among the nodes, one
 *              leader or all, and inside direct messages or an algorithm of few rounds
 *   routines   (--routines) of blocks, each way among the ranks also with other parameters: powers of two up to the number of ranks, 64 at most; of an
 *              allreduce on several nodes, each way to reduce blocks with each way to gather them (tasks/routine.h)
 *   own sizes  native, single_copy (one node), flat and han with direct messages. No rank knows the others' sizes, so no rule
 *              by sizes holds: they are tuned on patterns alone (patterns.h), and get one rule for all calls
 *
 * Threads: pure. Ownership: tune_space_fini frees the lists. */
#ifndef HP_TUNE_SPACE_H
#define HP_TUNE_SPACE_H

#include <stddef.h>

#include "between_nodes.h" /* generated */
#include "layout.h"

/* What a collective moves, and whose bytes its size is: one vector in segments; nothing; a block for each rank; a block
 * alone; blocks whose sizes each rank knows for itself. */
typedef enum {
    TUNE_OF_SEGMENTS,
    TUNE_OF_NOTHING,
    TUNE_OF_BLOCKS,
    TUNE_OF_ONE_BLOCK,
    TUNE_OF_OWN_SIZES
} tune_family_t;

/* id, name, family, has it a root? */
#define TUNE_COLLECTIVE_TABLE(X)                                                                             \
    X(BCAST, bcast, SEGMENTS, true)                                                                          \
    X(REDUCE, reduce, SEGMENTS, true)                                                                        \
    X(ALLREDUCE, allreduce, SEGMENTS, false)                                                                 \
    X(BARRIER, barrier, NOTHING, false)                                                                      \
    X(ALLGATHER, allgather, BLOCKS, false)                                                                   \
    X(ALLGATHERV, allgatherv, BLOCKS, false)                                                                 \
    X(ALLTOALL, alltoall, BLOCKS, false)                                                                     \
    X(REDUCE_SCATTER, reduce_scatter, BLOCKS, false)                                                         \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_block, BLOCKS, false)                                             \
    X(GATHER, gather, BLOCKS, true)                                                                          \
    X(SCATTER, scatter, BLOCKS, true)                                                                        \
    X(SCAN, scan, ONE_BLOCK, false)                                                                          \
    X(EXSCAN, exscan, ONE_BLOCK, false)                                                                      \
    X(ALLTOALLV, alltoallv, OWN_SIZES, false)                                                                \
    X(ALLTOALLW, alltoallw, OWN_SIZES, false)                                                                \
    X(GATHERV, gatherv, OWN_SIZES, true)                                                                     \
    X(SCATTERV, scatterv, OWN_SIZES, true)

typedef enum {
#define X(id, ...) TUNE_##id,
    TUNE_COLLECTIVE_TABLE(X)
#undef X
        TUNE_COLLECTIVES
} tune_collective_t;

const char *tune_collective_name(tune_collective_t collective);
/* By name; TUNE_COLLECTIVES: no such. */
tune_collective_t tune_collective_find(const char *name);
tune_family_t tune_collective_family(tune_collective_t collective);

/* How segments go between nodes, and the blocks of gather and scatter: along a tree of a shape: X(shape, the least
 * number of nodes on which it differs from the rows above); then all that the library has beside them
 * (BETWEEN_NODES_TABLE). */
#define TUNE_SHAPE_TABLE(X)                                                                                  \
    X(chain, 1)                                                                                              \
    X(linear, 3)                                                                                             \
    X(binary, 4)                                                                                             \
    X(binomial, 4)                                                                                           \
    X(knomial4, 5)                                                                                           \
    X(knomial8, 9)                                                                                           \
    X(postal, 6)

typedef enum {
#define X(name, ...) TUNE_WAY_##name,
    TUNE_SHAPE_TABLE(X) BETWEEN_NODES_TABLE(X)
#undef X
        TUNE_WAYS
} tune_way_t;

/* NULL past the last. */
const char *tune_way_name(unsigned way);
/* Is a segment cut into parts between the nodes? */
bool tune_way_splits(tune_way_t way, tune_collective_t collective);
/* Is it a tree, or two of them? */
bool tune_way_is_tree(tune_way_t way);
/* Does each block go straight from rank to rank? */
bool tune_way_is_direct(tune_way_t way, tune_collective_t collective);
/* Is it made for a network, of collectives of blocks? */
bool tune_way_is_placed(tune_way_t way, tune_collective_t collective);
/* Can it be a part of an allreduce of two algorithms? */
bool tune_way_is_part(tune_way_t way, tune_collective_t collective);

/* What moves data within a node: the words of hanpmpi_modules. */
#define TUNE_INSIDE_TABLE(X)                                                                                 \
    X(SHM, shm)                                                                                              \
    X(SINGLE_COPY, single_copy)                                                                              \
    X(P2P, p2p)

typedef enum {
#define X(id, name) TUNE_INSIDE_##id,
    TUNE_INSIDE_TABLE(X)
#undef X
        TUNE_INSIDES,
    TUNE_INSIDE_MESSAGES = TUNE_INSIDES /* of blocks: no module is asked */
} tune_inside_t;

const char *tune_inside_name(unsigned inside);

typedef enum { TUNE_NATIVE, TUNE_FLAGS, TUNE_COPIES, TUNE_FLAT, TUNE_HAN } tune_algorithm_t;

enum { TUNE_ID_BYTES = 192, TUNE_TEXT_BYTES = 96, TUNE_ROUTINE_BYTES = 64, TUNE_CHOICES_MAX = 16 };

typedef struct {
    char id[TUNE_ID_BYTES]; /* unique in the list */
    tune_algorithm_t algorithm;
    /* FLAT, HAN: */
    tune_way_t way; /* TUNE_WAYS: there is no choice */
    tune_inside_t inside;
    const char *core_shape; /* intra-node; of blocks, "linear": direct messages. Static text */
    int trees, leaders;     /* leaders of a barrier and of blocks: more than one is all ranks of a node */
    size_t segment_bytes;   /* 0: it has no segments */
    /* An algorithm that is made while the tuner runs, of these words (tasks/routine.h), and its name from then on;
     * "": the library has it. */
    char words[TUNE_TEXT_BYTES], routine[TUNE_ROUTINE_BYTES];
    bool is_joined;     /* an allreduce of two algorithms: `way` gathers, and */
    tune_way_t reduces; /* this one reduces */
} tune_config_t;

static inline bool tune_has_segments(const tune_config_t *config)
{
    return config->segment_bytes > 0;
}

/* What the space is made of. In ascending order where there is one. */
typedef struct {
    size_t segments[TUNE_CHOICES_MAX];
    int segment_count;
    bool ways[TUNE_WAYS], insides[TUNE_INSIDES];
    int trees[TUNE_CHOICES_MAX], tree_count; /* of an allreduce over chains and binary trees */
    int leaders[TUNE_CHOICES_MAX], leader_count;
    bool one_leads, all_lead; /* of a barrier and of blocks */
    bool network;             /* one is known: also the ways that are made for it */
    bool routines;            /* also parameters, and allreduces of two algorithms */
} tune_choices_t;

typedef struct {
    tune_config_t *configs;
    int count;
} tune_list_t;

/* The lists of all collectives; configuration 0 of each is the host MPI's. */
void tune_space_init(tune_list_t lists[TUNE_COLLECTIVES], const tune_choices_t *choices,
                     const tune_layout_t *layout);
void tune_space_fini(tune_list_t lists[TUNE_COLLECTIVES]);

/* The configuration that stands for `config` at that size: itself, or an equal one. */
int tune_space_representative(const tune_list_t *list, int config, size_t bytes);
/* Do they differ in the segment's size alone? */
bool tune_space_same_base(const tune_config_t *a, const tune_config_t *b);
/* By id; -1: no such. */
int tune_space_find(const tune_list_t *list, const char *id);

/* Its algorithm and settings, in the words of the hints and of the rules file. */
const char *tune_config_algorithm(const tune_config_t *config);

typedef struct {
    const char *key;            /* of a rule; of a hint behind "hanpmpi_" */
    bool is_number;             /* the text is one */
    char text[TUNE_TEXT_BYTES]; /* the value */
} tune_setting_t;

enum { TUNE_SETTINGS_MAX = 6 };

/* Those that the algorithm looks at. Returns how many. */
int tune_config_settings(const tune_config_t *config, tune_setting_t settings[TUNE_SETTINGS_MAX]);

/* "64 KiB"; "64K" in ids and hints. */
void tune_bytes_text(size_t bytes, char text[32]);
void tune_bytes_word(size_t bytes, char text[32]);

#endif
