/* problem: what a collective asks for, before anybody says how: which blocks each position holds at first and owes at
 * the end.
 *
 * Positions 0 .. count - 1 are the ranks that take part. Data is counted in blocks, whose sizes nobody here knows. The
 * patterns are MPI's collectives without their forms: an Allgatherv is an allgather whose blocks differ in size. Where
 * the message is one vector (bcast, reduce, ...) the algorithm says into how many blocks it is cut; where each position
 * has its own part there are as many blocks as positions.
 *
 *      pattern          send: what a position brings    recv: what it gets
 *      bcast            -                               all blocks (the root has them there at first)
 *      reduce           all blocks                      at the root: all blocks, reduced over all positions
 *      allreduce        all blocks                      all blocks, reduced over all positions
 *      allgather        its block                       block i: that of position i
 *      reduce_scatter   block i for position i          its block, reduced over all positions
 *      alltoall         block i for position i          block i: the one that position i had for it
 *      gather           its block                       at the root: block i: that of position i
 *      scatter          at the root: block i for i      its block
 *      scan             all blocks                      all blocks, reduced over positions 0 to itself
 *      exscan           all blocks                      the same without itself; position 0: nothing
 *      barrier          -                               -
 *
 * Where the problem names the nodes that the positions are on, schedules are of two levels (two_level.h). Where it says on
 * which machines of a network the positions are, algorithms that are made for a network can solve it.
 *
 * Threads: pure. Ownership: plain data. */
#ifndef HP_SCHEDULE_PROBLEM_H
#define HP_SCHEDULE_PROBLEM_H

#include <stdbool.h>
#include <stdint.h>

enum { HP_PATTERN_ROOTED = 1 << 0, HP_PATTERN_REDUCES = 1 << 1, HP_PATTERN_CUT = 1 << 2 };

/* id, name, what it is like: has a root; reduces; moves one vector, which is cut into any number of blocks. */
#define HP_PATTERN_TABLE(X)                                                                                  \
    X(BCAST, bcast, HP_PATTERN_ROOTED | HP_PATTERN_CUT)                                                      \
    X(REDUCE, reduce, HP_PATTERN_ROOTED | HP_PATTERN_REDUCES | HP_PATTERN_CUT)                               \
    X(ALLREDUCE, allreduce, HP_PATTERN_REDUCES | HP_PATTERN_CUT)                                             \
    X(ALLGATHER, allgather, 0)                                                                               \
    X(REDUCE_SCATTER, reduce_scatter, HP_PATTERN_REDUCES)                                                    \
    X(ALLTOALL, alltoall, 0)                                                                                 \
    X(GATHER, gather, HP_PATTERN_ROOTED)                                                                     \
    X(SCATTER, scatter, HP_PATTERN_ROOTED)                                                                   \
    X(SCAN, scan, HP_PATTERN_REDUCES | HP_PATTERN_CUT)                                                       \
    X(EXSCAN, exscan, HP_PATTERN_REDUCES | HP_PATTERN_CUT)                                                   \
    X(BARRIER, barrier, 0)

typedef enum {
#define X(id, name, traits) HP_PATTERN_##id,
    HP_PATTERN_TABLE(X)
#undef X
        HP_PATTERN_COUNT
} hp_pattern_t;

/* A set of patterns: HP_SERVES(BCAST) | HP_SERVES(REDUCE). */
#define HP_SERVES(id) (1u << HP_PATTERN_##id)

/* "bcast", ... */
const char *hp_pattern_name(hp_pattern_t pattern);
/* The pattern of that name, or HP_PATTERN_COUNT. */
hp_pattern_t hp_pattern_find(const char *name);
/* Has it all of the traits? */
bool hp_pattern_is(hp_pattern_t pattern, unsigned traits);

/* Where blocks lie on a position. Scratch is memory of the algorithm's own. */
#define HP_SPACE_TABLE(X)                                                                                    \
    X(SEND, send)                                                                                            \
    X(RECV, recv)                                                                                            \
    X(SCRATCH, scratch)

typedef enum {
#define X(id, name) HP_SPACE_##id,
    HP_SPACE_TABLE(X)
#undef X
        HP_SPACE_COUNT
} hp_space_t;

const char *hp_space_name(hp_space_t space);
/* HP_SPACE_COUNT: there is none of that name. */
hp_space_t hp_space_find(const char *name);

enum { HP_PARAMETERS_MAX = 2, HP_LEADERS_ALL = 0 };

typedef struct {
    hp_pattern_t pattern;
    uint32_t count; /* positions, >= 1 */
    uint32_t root;  /* of the rooted patterns; else 0 */
    bool ordered;   /* the operation does not commute: operands stay in the order of the positions */
    /* What the algorithm lets one choose, in the order of its table: a radix, a number of blocks, ... */
    uint32_t parameter[HP_PARAMETERS_MAX];
    /* Positions of a node follow each other: node n has node_first[n] to node_first[n + 1] - 1; count is the last entry.
     * Borrowed. node_count 0 or 1: nodes are not told apart. */
    const uint32_t *node_first;
    uint32_t node_count;
    uint32_t
        per_node; /* nodes are not told apart, but so many positions that follow each other are on each; 0: not known */
    uint32_t
        leaders; /* per node: 1, or HP_LEADERS_ALL: each position for its own blocks, in nodes of one size */
    /* The intra-node algorithm (inside.h), borrowed, and its first parameter. NULL: direct messages. */
    const struct hp_generator *inside;
    uint32_t inside_parameter;
    /* The network and the machines of the positions, borrowed; NULL: no network is known. Position i is rank
     * placed[i + rotated] of the placement, around the circle; placed NULL: rank i + rotated. */
    const struct hp_placement *placement;
    const uint32_t *placed;
    uint32_t rotated;
    /* Of an alltoall: bytes that position i has for position j, at i * count + j, borrowed. NULL: blocks of one size. */
    const uint64_t *sizes;
    /* What the algorithm has made once for all positions (algorithm.h); NULL: nothing. */
    const void *prepared;
} hp_problem_t;

/* How many blocks the position has in a space other than scratch. cut: blocks that the vector is cut into. */
uint32_t hp_problem_blocks(const hp_problem_t *problem, uint32_t cut, hp_space_t space, uint32_t position);

/* ---- the network ---- */

/* The machine of a position. There is a placement. */
uint32_t hp_problem_machine(const hp_problem_t *problem, uint32_t position);

/* ---- nodes ---- */

static inline bool hp_problem_has_nodes(const hp_problem_t *problem)
{
    return problem->node_count > 1;
}

static inline uint32_t hp_problem_node_size(const hp_problem_t *problem, uint32_t node)
{
    return problem->node_first[node + 1] - problem->node_first[node];
}

/* The node of a position. */
uint32_t hp_problem_node(const hp_problem_t *problem, uint32_t position);
/* Positions of the largest node, and whether all have as many. */
uint32_t hp_problem_node_most(const hp_problem_t *problem);
bool hp_problem_nodes_are_equal(const hp_problem_t *problem);
/* What the algorithm solves: the problem, or that of its nodes. */
hp_problem_t hp_problem_of_nodes(const hp_problem_t *problem);

#endif
