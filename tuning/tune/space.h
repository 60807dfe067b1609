/* space: every configuration that may be the best for a collective on a layout.
 *
 * A configuration is an algorithm with its settings, as hints on a communicator. Those that are the same
 * for a size have one representative: a message of one segment knows neither the segment's size nor turns.
 * Threads: pure. Ownership: tune_space_fini frees the lists. */
#ifndef HP_TUNE_SPACE_H
#define HP_TUNE_SPACE_H

#include <stddef.h>

#include "between_nodes.h" /* generated */
#include "layout.h"

#define TUNE_COLLECTIVE_TABLE(X)                                                                             \
    X(BCAST, bcast)                                                                                          \
    X(REDUCE, reduce)                                                                                        \
    X(ALLREDUCE, allreduce)

typedef enum {
#define X(id, name) TUNE_##id,
    TUNE_COLLECTIVE_TABLE(X)
#undef X
        TUNE_COLLECTIVES
} tune_collective_t;

const char *tune_collective_name(tune_collective_t collective);

/* How segments go between nodes: along a tree of a shape: X(shape, the least number of nodes on which it differs from the
 * rows above); then all that the library has beside them (BETWEEN_NODES_TABLE). */
#define TUNE_SHAPE_TABLE(X)                                                                                  \
    X(chain, 1)                                                                                              \
    X(linear, 3)                                                                                             \
    X(binary, 4)                                                                                             \
    X(binomial, 4)                                                                                           \
    X(knomial4, 5)                                                                                           \
    X(knomial8, 9)

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

/* What moves data inside a node: the words of hanpmpi_modules. */
#define TUNE_INSIDE_TABLE(X)                                                                                 \
    X(SHM, shm)                                                                                              \
    X(SINGLE_COPY, single_copy)                                                                              \
    X(P2P, p2p)

typedef enum {
#define X(id, name) TUNE_INSIDE_##id,
    TUNE_INSIDE_TABLE(X)
#undef X
        TUNE_INSIDES
} tune_inside_t;

const char *tune_inside_name(unsigned inside);

typedef enum { TUNE_NATIVE, TUNE_FLAGS, TUNE_HAN } tune_algorithm_t;

enum { TUNE_ID_BYTES = 128, TUNE_TEXT_BYTES = 96, TUNE_CHOICES_MAX = 16 };

typedef struct {
    char id[TUNE_ID_BYTES]; /* unique in the list */
    tune_algorithm_t algorithm;
    /* HAN: */
    size_t segment_bytes;
    tune_way_t way;
    tune_inside_t inside;
    int trees, leaders;
} tune_config_t;

/* What the space is made of. In ascending order where there is one. */
typedef struct {
    size_t segments[TUNE_CHOICES_MAX];
    int segment_count;
    bool ways[TUNE_WAYS], insides[TUNE_INSIDES];
    int trees[TUNE_CHOICES_MAX], tree_count; /* of an allreduce over chains and binary trees */
    int leaders[TUNE_CHOICES_MAX], leader_count;
} tune_choices_t;

typedef struct {
    tune_config_t *configs;
    int count;
} tune_list_t;

/* The lists of all collectives; configuration 0 of each is the MPI's own. */
void tune_space_init(tune_list_t lists[TUNE_COLLECTIVES], const tune_choices_t *choices,
                     const tune_layout_t *layout);
void tune_space_fini(tune_list_t lists[TUNE_COLLECTIVES]);

/* The configuration that stands for `config` at that size: itself, or an equal one. */
int tune_space_representative(const tune_list_t *list, int config, size_t bytes);
/* Do they differ in the segment's size alone? */
bool tune_space_same_base(const tune_config_t *a, const tune_config_t *b);
/* By id; -1: no such. */
int tune_space_find(const tune_list_t *list, const char *id);

/* The words of the hints, and of the rules file. */
const char *tune_config_algorithm(const tune_config_t *config);
const char *tune_config_between(const tune_config_t *config);
void tune_config_shapes(const tune_config_t *config, char text[TUNE_TEXT_BYTES]);
void tune_config_modules(const tune_config_t *config, char text[TUNE_TEXT_BYTES]);

/* "64 KiB"; "64K" in ids and hints. */
void tune_bytes_text(size_t bytes, char text[32]);
void tune_bytes_word(size_t bytes, char text[32]);

#endif
