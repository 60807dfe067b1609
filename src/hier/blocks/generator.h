/* generator: which schedule a collective of blocks follows, as its setting says: the way to join nodes
 * (call/inter_node.h) where it can do the collective among so many, else for gather and scatter the tree of the
 * level's shape, and for the others a usual one. What runs it asks (exchange.h), and what predicts how long it takes
 * (planning/model).
 *
 * Threads: any. Ownership: generators are static, or those of files (call/inter_node_files.h). */
#ifndef HP_HIER_BLOCKS_GENERATOR_H
#define HP_HIER_BLOCKS_GENERATOR_H

#include "hier/call/setting.h"

/* Completes a problem that names its nodes: who leads them, and the algorithm inside them. */
void hp_block_use_nodes(const hp_setting_t *setting, hp_problem_t *problem);

/* Can the generator do the problem for calls of the collective, with its parameters as usual, which are set? generator: NULL
 * cannot. The same on all ranks. */
bool hp_block_serves(const hp_generator_t *generator, hp_collective_t collective, hp_problem_t *problem);

/* What makes the schedules of the problem; its parameters are set. An intra-node algorithm, and several leaders
 * (nodes may differ in size), are done without where nothing serves with them: the problem is changed. NULL: nothing
 * does. The same on all ranks. */
const hp_generator_t *hp_block_generator(hp_collective_t collective, const hp_setting_t *setting,
                                         hp_problem_t *problem);

typedef struct {
    int64_t messages; /* the knob; 0: automatic */
    uint64_t bytes;   /* of a block, on average */
    double room;      /* hp_comm_network_t's; 0: not known */
} hp_block_load_t;

/* The messages of so many steps are under way at a time: as many as the knob says, or fewer where the schedule keeps messages off
 * each other's links. Automatic: 16; where long blocks of an alltoall go straight to whom they are for, as many as have
 * 256 KiB together, but 4 at least, unless the generator says how many; where more than two positions send to one and it is
 * known what the queues of the network hold, as many as they have room for. schedule: of the position. */
uint32_t hp_block_steps_in_flight(const hp_generator_t *generator, const hp_problem_t *problem,
                                  const hp_schedule_t *schedule, uint32_t position,
                                  const hp_block_load_t *load);

/* Does a position get all that is not from its own node from one neighbour, as in a ring? */
bool hp_block_passes_on(const hp_generator_t *generator, const hp_problem_t *problem);

#endif
