/* leader_rounds: a barrier of nodes that all their ranks lead: rounds of inter-node messages, each behind a barrier
 * inside every node (n-way dissemination: T. Hoefler et al., Fast Barrier Synchronization for InfiniBand, 2006; the ranks
 * of a node share its messages, as in A. Bienz et al., Node-Aware Improvements to Allreduce, 2019).
 *
 *      each node    barrier             barrier             barrier
 *      its ranks             messages            messages
 *
 * With L leaders per node, in round k leader j of node n tells leader j of node n + (j + 1) (L + 1)^k around the circle, and
 * hears from leader j of node n - (j + 1) (L + 1)^k: behind its next barrier a node has heard of the (L + 1)^(k + 1) - 1 nodes
 * before it. One leader per node would take ceil(log2 N) rounds, without an intra-node barrier between them.
 * Rounds: ceil(log_(L+1) N).  Bytes: none; at most one message a leader and round.
 * Constraints: at least 2 ranks on every node; nodes are joined by messages, not by the host MPI's collectives.
 *
 * Threads: as comm.h. Ownership: lanes lie in start->arena until the collective is done. */
#ifndef HP_HIER_MODULES_LEADER_ROUNDS_H
#define HP_HIER_MODULES_LEADER_ROUNDS_H

#include "hier/modules/module.h"

typedef struct {
    uint32_t count;   /* 0: one rank of each node leads alone */
    uint32_t leaders; /* ranks of each node that have messages: the fewest for so many rounds */
} hp_leader_rounds_t;

/* ranks: on the smallest node. No rounds where more than one leader would save none. */
hp_leader_rounds_t hp_leader_rounds(uint32_t nodes, uint32_t ranks);
/* The same where the setting asks for more than one leader and leaves the nodes to messages, else none. */
hp_leader_rounds_t hp_leader_rounds_of(uint32_t nodes, uint32_t ranks, const hp_setting_t *setting);
/* How many nodes further a leader's message of a round goes; 0: it has none. */
uint32_t hp_leader_rounds_distance(const hp_leader_rounds_t *rounds, uint32_t nodes, uint32_t round,
                                   uint32_t leader);

/* This rank's messages of each round; -1: it has none. */
typedef struct {
    int32_t send, recv;
} hp_leader_lanes_t;

/* The lanes of all rounds, of a communicator whose nodes the hierarchy tells apart. NULL: no memory. */
hp_leader_lanes_t *hp_leader_rounds_prepare(const hp_leader_rounds_t *rounds, const hp_start_t *start,
                                            const hp_hierarchy_t *h, const hp_setting_t *setting);
/* The messages of a round, behind flow->ready. The round is over when the segment is. */
void hp_leader_rounds_emit(const hp_leader_lanes_t *lanes, hp_segment_t *segment, const hp_flow_t *flow);
/* What the latter emits at most. */
enum { HP_LEADER_ROUNDS_TASKS = 2, HP_LEADER_ROUNDS_EDGES = 1 };

#endif
