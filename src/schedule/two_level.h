/* two_level: schedules of problems that name the nodes of their positions: an algorithm goes among the nodes, and inside
 * them messages are direct.
 *
 * One leader per node: the members hand it what they bring, the leaders run the algorithm, and what comes to a leader is
 * passed on behind the step that brings it, so that the levels overlap. The root leads its node; of a scan the last
 * position does, the node's total being there. Where all lead, the positions that have the same place in their nodes run
 * the algorithm among them, side by side: an allgather's blocks are passed on as they come, an alltoall's are first
 * collected by the member that is to send them, a reduce_scatter's first reduced by it (the first: A. Bienz et al., A
 * Locality-Aware Bruck Allgather, arXiv 2206.03564; the second: node-aware alltoall, arXiv 2601.17606).
 *
 *      pattern          before: to the leader             among leaders      behind: to the members
 *      bcast            -                                 bcast              all blocks
 *      reduce           reduced in the order              reduce             -
 *      allreduce        reduced in the order              allreduce          all blocks
 *      allgather        their blocks                      allgather          all blocks
 *      reduce_scatter   reduced in the order              reduce_scatter     their blocks
 *      alltoall         what goes off the node            alltoall           what comes from off the node
 *      gather           their blocks                      gather             -
 *      scatter          -                                 scatter            their blocks
 *      scan, exscan     a chain                           exscan             what comes before the node, in front
 *      barrier          a message                         barrier            a message
 *
 * With problem->inside there is a second, intra-node algorithm (inside.h) in place of those messages.
 *
 * Messages of the algorithm: as it sends among so many positions as there are nodes, its block a node's blocks (of an
 * alltoall a node's blocks for a node). Within a node: at most one from and one to each member for each step of the
 * algorithm; where all lead, one between any two members.
 * Constraints: those of the algorithm, among nodes; one that does alltoalls copies its own block straight to its place. Blocks of one size: nodes of one size, as where all lead.
 *
 * Threads: pure. Ownership: the schedule's. */
#ifndef HP_SCHEDULE_TWO_LEVEL_H
#define HP_SCHEDULE_TWO_LEVEL_H

#include "schedule/algorithm.h"

/* Why no algorithm solves such a problem. NULL: one may. */
const char *hp_two_level_refusal(const hp_problem_t *problem);
/* The schedule of a position, of a problem with nodes, as hp_schedule_make (generator.h). */
hp_status_t hp_two_level_make(hp_schedule_t *schedule, const hp_generator_t *generator,
                              const hp_problem_t *problem, uint32_t position);

#endif
