/* cost_walk: how long a schedule among the ranks of nodes of one size takes, for who has to choose among many: no
 * events, no graph, and positions that do the same are looked at once. Beside the run of cost.h it takes a half
 * (trees) to a thirtieth of the time, and is wrong by 0 to 5% on average with a rank a node, by 1 to 8% with several
 * (tests/unit/test_cost_walk.c).
 *
 * The schedules of cost.h, on machines that are simpler: each node has one link to a network that is never full, and
 * one memory that the messages inside it cross. The steps of a position are walked in their order, of all positions
 * the earliest first. A position has clocks for what it sends and for what it receives, inside its node and between
 * nodes, and one for its copies, so that what waits for a message does not hold up the rest; all of its work
 * together takes a core's time, which ranks share where they outnumber the cores. Links and memory serve messages in
 * the order of the walk. Blocks that do not lie one behind the other are packed and unpacked by the processors.
 *
 * Folding. Where the nodes do the same at the same time, one stands for all: what its positions send to other nodes,
 * others send to them. Likewise the places of a node where every position leads; a message then takes the link or
 * the memory as long as those of all places. A fold is tried, and holds if all messages meet with equal numbers of
 * blocks; else less is folded.
 *
 * Plain +, -, *, / in one order: ranks that ask the same get the same answer. Threads: pure. Ownership: the
 * caller's. */
#ifndef HP_SCHEDULE_COST_COST_WALK_H
#define HP_SCHEDULE_COST_COST_WALK_H

#include "schedule/generator.h"

/* A message: its processors' time at each end, the time that it is on its way, bytes of it per us. */
typedef struct {
    double overhead_us, latency_us, rate;
} hp_walk_message_t;

/* Rates in bytes per us, which are MB/s. */
typedef struct {
    hp_walk_message_t between, inside; /* nodes; rate of between: of a node's link, either direction */
    double memory_rate;                /* of all messages inside a node, together */
    double copy_rate;                  /* of one rank: of what it packs, and sends inside its node */
    double reduce_rate;                /* of one rank, bytes of one operand */
    double cores;                      /* of a node */
    uint32_t steps_in_flight;          /* of a position, >= 1 */
} hp_walk_machine_t;

/* Microseconds from a common start to the last position's end. problem: one that the generator serves; ranks: of
 * each node, a divisor of its count, whether it names nodes or not. bytes: of a block, where the pattern moves one
 * vector, of that. steps_max: of all positions that are looked at; 32,768 take about 2 ms, and where steps have many
 * blocks, or positions few steps, fewer are allowed. < 0: there are more, or steps that only synchronize, or no
 * memory. */
double hp_walk_us(const hp_generator_t *generator, const hp_problem_t *problem, uint32_t ranks,
                  const hp_walk_machine_t *machine, double bytes, uint32_t steps_max);

#endif
