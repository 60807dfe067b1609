/* depth_first: algorithms made for a network: a position does what it would do in another algorithm if it had the number of
 * its place in a depth-first walk over the machines of the tree of switches, around from the root on.
 *
 * ring, chain     a step crosses each direction of a link once at most (A. Faraj, P. Patarasuk, X. Yuan, Bandwidth Efficient
 *                 All-to-all Broadcast on Switched Clusters, 2005; the chain: Pipelined Broadcast on Ethernet Switched
 *                 Clusters, 2006)
 * rabenseifner    what exchanges most is on one switch
 * mesh            allgather: the farthest exchange first, and so the least; alltoall: lines on one switch
 *
 * Rounds, bytes: as those.
 * Constraints: a network, and theirs. The operation must commute. */
#include <stdlib.h>
#include "schedule/generator.h"
#include "schedule/generators/generators.h"
#include "schedule/generators/parts/mesh.h"
#include "topo_tree/network/placement.h"

/* The positions in the order of the walk, from position 0 on around; those of one machine in their own order. NULL: no
 * memory. */
static uint32_t *walk(const hp_problem_t *problem)
{
    const hp_network_t *network = problem->placement->network;
    const uint32_t count = problem->count;
    uint32_t *numbers = malloc(network->node_count * sizeof *numbers);
    uint32_t *places = calloc(network->node_count + (size_t)1, sizeof *places); /* [number]: the next one */
    uint32_t *order = malloc(count * sizeof *order);

    if (!numbers || !places || !order || hp_network_walk(network, numbers) != HP_OK) {
        free(order);
        order = NULL;
    }
    for (uint32_t p = 0; p < count && order; p++)
        places[numbers[network->machines[hp_problem_machine(problem, p)]] + 1]++;
    for (uint32_t number = 0; number < network->node_count && order; number++)
        places[number + 1] += places[number];
    for (uint32_t p = 0, first = 0; p < count && order; p++) {
        const uint32_t place = places[numbers[network->machines[hp_problem_machine(problem, p)]]]++;
        if (p == 0)
            first = place;
        order[place < first ? place + count - first : place - first] = p;
    }
    free(numbers);
    free(places);
    return order;
}

/* Is block i of the space the part of position i? */
static bool is_by_position(hp_pattern_t pattern, hp_space_t space)
{
    return (pattern == HP_PATTERN_ALLGATHER && space == HP_SPACE_RECV) ||
           (pattern == HP_PATTERN_REDUCE_SCATTER && space == HP_SPACE_SEND) ||
           (pattern == HP_PATTERN_ALLTOALL && space != HP_SPACE_SCRATCH);
}

static void copy_list(hp_schedule_t *schedule, const hp_schedule_t *plain, const hp_list_t *list,
                      hp_pattern_t pattern, const uint32_t *order, bool receives)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const hp_range_t range = plain->ranges[list->first + i];
        if (is_by_position(pattern, range.space))
            hp_schedule_renumbered(schedule, range, order, receives);
        else
            (receives ? hp_schedule_receives : hp_schedule_sends)(schedule, range);
    }
}

/* The steps of who has that place in the walk. */
static void copy_steps(hp_schedule_t *schedule, const hp_schedule_t *plain, hp_pattern_t pattern,
                       const uint32_t *order)
{
    schedule->cut = plain->cut;
    schedule->scratch_blocks = plain->scratch_blocks;
    if (plain->status != HP_OK)
        schedule->status = plain->status;
    for (uint32_t i = 0; i < plain->step_count; i++) {
        const hp_step_t *step = &plain->steps[i];
        schedule->stream = step->stream;
        hp_schedule_step(schedule, step->to < 0 ? step->to : (int32_t)order[step->to],
                         step->from < 0 ? step->from : (int32_t)order[step->from], step->action);
        copy_list(schedule, plain, &step->send, pattern, order, false);
        copy_list(schedule, plain, &step->recv, pattern, order, true);
    }
}

static void generate(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me,
                     void (*plain_generate)(hp_schedule_t *, const hp_problem_t *, uint32_t))
{
    uint32_t *order = walk(problem), place = 0;
    hp_schedule_t plain;

    if (!order) {
        schedule->status = HP_ERR_NO_MEM;
        return;
    }
    while (order[place] != me)
        place++;
    hp_schedule_init(&plain);
    plain.cut = schedule->cut;
    plain_generate(&plain, problem, place);
    copy_steps(schedule, &plain, problem->pattern, order);
    hp_schedule_fini(&plain);
    free(order);
}

static void generate_ring(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    generate(schedule, problem, me, hp_generator_ring.generate);
}

static void generate_rabenseifner(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    generate(schedule, problem, me, hp_generator_rabenseifner.generate);
}

static void generate_chain(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    generate(schedule, problem, me, hp_generator_chain.generate);
}

static void generate_mesh2d(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    generate(schedule, problem, me, hp_generate_mesh2d_far_first);
}

static void generate_mesh3d(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    generate(schedule, problem, me, hp_generate_mesh3d_far_first);
}

enum { BLOCKS, BLOCKS_MAX = 4096 };
enum { HALVING = HP_SERVES(BCAST) | HP_SERVES(REDUCE) | HP_SERVES(ALLREDUCE) };
enum { MESH = HP_SERVES(ALLGATHER) | HP_SERVES(ALLTOALL) };
enum { RING = HP_SERVES(ALLGATHER) | HP_SERVES(REDUCE_SCATTER) | HP_SERVES(ALLREDUCE) };

const hp_generator_t hp_generator_depth_first_ring = {
    .name = "depth_first_ring",
    .text = "made for a network: the ring through its machines in depth-first order, which crosses each link "
            "once",
    .patterns = RING,
    .placed = RING,
    .generate = generate_ring};

const hp_generator_t hp_generator_depth_first_rabenseifner = {
    .name = "depth_first_rabenseifner",
    .text = "made for a network: rabenseifner in depth-first order: neighbours exchange half of the vector",
    .patterns = HALVING,
    .placed = HALVING,
    .generate = generate_rabenseifner};

const hp_generator_t hp_generator_depth_first_mesh2d = {
    .name = "depth_first_mesh2d",
    .text = "made for a network: mesh2d in depth-first order, of allgathers the farthest first",
    .patterns = MESH,
    .placed = MESH,
    .equal = HP_SERVES(ALLTOALL),
    .generate = generate_mesh2d};

const hp_generator_t hp_generator_depth_first_mesh3d = {
    .name = "depth_first_mesh3d",
    .text = "made for a network: mesh3d in depth-first order, of allgathers the farthest first",
    .patterns = MESH,
    .placed = MESH,
    .equal = HP_SERVES(ALLTOALL),
    .generate = generate_mesh3d};

const hp_generator_t hp_generator_depth_first_chain = {
    .name = "depth_first_chain",
    .text = "made for a network: the chain through its machines in depth-first order, from the root on",
    .patterns = HP_SERVES(BCAST),
    .placed = HP_SERVES(BCAST),
    .parameters = {[BLOCKS] = {"blocks", 1, BLOCKS_MAX, 1, "into so many the vector is cut"}},
    .generate = generate_chain};
