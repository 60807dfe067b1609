/* contention_free: alltoalls made for a network: each block straight to its place, in phases whose messages share no link
 * (A. Faraj, X. Yuan, Automatic Generation and Tuning of MPI Collective Communication Routines, ICS 2005; how the phases
 * are found: parts/phases.h).
 *
 * Where all links that messages cross are as fast, there are as many phases as the busiest link has messages: none can do
 * with fewer. Where some are faster they carry several messages of a phase. What keeps the phases apart
 * (parts/phase_steps.h) is nothing, messages between pairs, or barriers. Without it positions may run ahead, which costs
 * nothing where links share fairly and queues are deep.
 * Where the sizes of the blocks are known the phases are cut down to what has bytes, like sizes together; greedy places
 * the messages one by one instead, the largest first.
 * Rounds: p - 1 to the number of phases.  Bytes: p - 1 blocks.
 * Constraints: a network. At most 4,096 positions; of pairwise and greedy 256. Of more than 256 positions the phases are
 * neither cut down nor do they profit from links that are faster. */
#include <stdlib.h>
#include "schedule/generator.h"
#include "schedule/generators/parts/phase_steps.h"

/* The phases of so many positions are 64 MiB. */
enum { BARRIERS, BARRIERS_MAX = 1 << 20, POSITIONS_MAX = 4096 };

/* What is under way of several phases shares links after all. */
enum { IN_FLIGHT = 1 };

typedef enum { PLAIN, PAIRWISE, GREEDY } kind_t;

/* For all positions. */
typedef struct {
    hp_phases_t phases;
    hp_phase_syncs_t syncs;
} plan_t;

static void release(void *prepared)
{
    plan_t *plan = prepared;

    hp_phases_fini(&plan->phases);
    hp_phase_syncs_fini(&plan->syncs);
    free(plan);
}

static hp_status_t make_phases(hp_phases_t *phases, const hp_paths_t *paths, kind_t kind)
{
    hp_status_t status = hp_phases_init(phases, paths);

    if (status != HP_OK)
        return status;
    if (kind == GREEDY)
        return hp_phases_greedy(phases, paths);
    status = (paths->is_equal ? hp_phases_exact : hp_phases_fit)(phases, paths);
    if (status == HP_OK && paths->problem->sizes && paths->count <= HP_PHASES_PLACED_MAX)
        status = hp_phases_cut_down(phases, paths);
    return status;
}

static plan_t *make_plan(const hp_problem_t *problem, kind_t kind)
{
    plan_t *plan = calloc(1, sizeof *plan);
    hp_paths_t paths;

    if (!plan)
        return NULL;
    hp_status_t status = hp_paths_init(&paths, problem);
    if (status == HP_OK)
        status = make_phases(&plan->phases, &paths, kind);
    if (status == HP_OK && kind == PAIRWISE)
        status = hp_phase_syncs_init(&plan->syncs, &plan->phases, &paths);
    hp_paths_fini(&paths);
    if (status == HP_OK)
        return plan;
    release(plan);
    return NULL;
}

static void write_steps(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me, kind_t kind,
                        uint32_t barriers)
{
    plan_t *own = problem->prepared ? NULL : make_plan(problem, kind);
    const plan_t *plan = own ? own : problem->prepared;

    if (!plan) {
        schedule->status = HP_ERR_NO_MEM;
        return;
    }
    hp_schedule_local(schedule, me, hp_range(HP_SPACE_SEND, me, 1), hp_range(HP_SPACE_RECV, me, 1),
                      HP_ACTION_STORE);
    hp_phase_steps(schedule, &plan->phases, kind == PAIRWISE ? &plan->syncs : NULL, barriers, me);
    if (own)
        release(own);
}

static void *prepare(const hp_problem_t *problem)
{
    return make_plan(problem, PLAIN);
}

static void generate(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    write_steps(schedule, problem, me, PLAIN, 0);
}

const hp_generator_t hp_generator_contention_free = {
    .name = "contention_free",
    .text = "made for a network: each block straight to its place, in phases whose messages share no link",
    .patterns = HP_SERVES(ALLTOALL),
    .direct = HP_SERVES(ALLTOALL),
    .placed = HP_SERVES(ALLTOALL),
    .positions_max = POSITIONS_MAX,
    .in_flight = IN_FLIGHT,
    .generate = generate,
    .prepare = prepare,
    .release = release};

static void *prepare_pairwise(const hp_problem_t *problem)
{
    return make_plan(problem, PAIRWISE);
}

static void generate_pairwise(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    write_steps(schedule, problem, me, PAIRWISE, 0);
}

const hp_generator_t hp_generator_contention_free_pairwise = {
    .name = "contention_free_pairwise",
    .text = "the same; a message waits until those before it on its links have arrived",
    .patterns = HP_SERVES(ALLTOALL),
    .direct = HP_SERVES(ALLTOALL),
    .placed = HP_SERVES(ALLTOALL),
    .positions_max = HP_PHASES_PLACED_MAX,
    .in_flight = IN_FLIGHT,
    .generate = generate_pairwise,
    .prepare = prepare_pairwise,
    .release = release};

static void generate_barriers(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    write_steps(schedule, problem, me, PLAIN, problem->parameter[BARRIERS]);
}

const hp_generator_t hp_generator_contention_free_barriers = {
    .name = "contention_free_barriers",
    .text = "the same, with barriers between the phases",
    .patterns = HP_SERVES(ALLTOALL),
    .direct = HP_SERVES(ALLTOALL),
    .placed = HP_SERVES(ALLTOALL),
    .positions_max = POSITIONS_MAX,
    .in_flight = IN_FLIGHT,
    .parameters = {[BARRIERS] = {"barriers", 1, BARRIERS_MAX, BARRIERS_MAX,
                                 "barriers, at most one between two phases"}},
    .generate = generate_barriers,
    .prepare = prepare,
    .release = release};

static void *prepare_greedy(const hp_problem_t *problem)
{
    return make_plan(problem, GREEDY);
}

static void generate_greedy(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    write_steps(schedule, problem, me, GREEDY, 0);
}

const hp_generator_t hp_generator_greedy = {.name = "greedy",
                                            .text = "made for a network and blocks of any sizes: the largest "
                                                    "first, each in the first phase with room on its way",
                                            .patterns = HP_SERVES(ALLTOALL),
                                            .direct = HP_SERVES(ALLTOALL),
                                            .placed = HP_SERVES(ALLTOALL),
                                            .positions_max = HP_PHASES_PLACED_MAX,
                                            .in_flight = IN_FLIGHT,
                                            .generate = generate_greedy,
                                            .prepare = prepare_greedy,
                                            .release = release};
