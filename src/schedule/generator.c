#include "schedule/generator.h"

#include <stdio.h>
#include <stdlib.h>
#include "schedule/inside.h"
#include "schedule/two_level.h"
#include "topo_tree/network/placement.h"

uint32_t hp_parameter_most(const hp_parameter_t *parameter, const hp_problem_t *problem)
{
    const uint32_t count = hp_problem_has_nodes(problem) ? problem->node_count : problem->count;

    if (parameter->most != 0)
        return parameter->most;
    return count > parameter->least ? count : parameter->least;
}

void hp_generator_usual(const hp_generator_t *generator, hp_problem_t *problem)
{
    for (unsigned i = 0; i < HP_PARAMETERS_MAX && generator->parameters[i].name; i++) {
        const hp_parameter_t *p = &generator->parameters[i];
        const uint32_t most = hp_parameter_most(p, problem);
        problem->parameter[i] = p->usual < most ? p->usual : most;
    }
}

/* ---- what it serves ---- */

static bool same_problem(const hp_problem_t *a, const hp_problem_t *b)
{
    return a->pattern == b->pattern && a->count == b->count && a->root == b->root;
}

/* What the number of those that the algorithm is among has to be; NULL: it is. */
static const char *count_refusal(const hp_generator_t *generator, const hp_problem_t *solved, bool of_nodes)
{
    const uint32_t count = solved->count, asked = 1u << solved->pattern;

    if ((generator->power_of_two & asked) && (count & (count - 1)) != 0)
        return of_nodes ? "the number of nodes has to be a power of two"
                        : "the number of positions has to be a power of two";
    if ((generator->even & asked) && count % 2 != 0)
        return of_nodes ? "the number of nodes has to be even" : "the number of positions has to be even";
    return NULL;
}

/* Can the intra-node algorithm that is asked for do its part? */
static bool serves_inside(const hp_problem_t *problem)
{
    bool serves = true;

    for (uint32_t node = 0; node < problem->node_count && problem->inside && serves; node++) {
        const hp_problem_t solved = hp_inside_problem(problem, node);
        serves = hp_generator_serves(problem->inside, &solved, NULL, 0);
    }
    return serves;
}

/* NULL: it serves. */
static const char *refusal(const hp_generator_t *generator, const hp_problem_t *problem)
{
    const hp_problem_t solved = hp_problem_of_nodes(problem);
    const bool has_nodes = hp_problem_has_nodes(problem);
    const uint32_t asked = 1u << solved.pattern;

    if (!(generator->patterns & asked))
        return "it does not do this collective";
    if ((generator->placed & asked) && !problem->placement)
        return "it needs a network";
    if (has_nodes && generator->problem)
        return "it was written for all positions, not for nodes";
    if (generator->problem && !same_problem(generator->problem, problem))
        return "it was written for another number of positions or another root";
    if (problem->ordered && hp_pattern_is(problem->pattern, HP_PATTERN_REDUCES) &&
        !(generator->ordered & asked))
        return "the operation has to commute";
    if (has_nodes && hp_two_level_refusal(problem))
        return hp_two_level_refusal(problem);
    if (has_nodes && !serves_inside(problem))
        return "the intra-node algorithm cannot do its part";
    if (has_nodes && (generator->equal & asked) && !hp_problem_nodes_are_equal(problem))
        return "it needs blocks of one size, so all nodes have to have as many positions";
    return count_refusal(generator, &solved, has_nodes);
}

bool hp_generator_serves(const hp_generator_t *generator, const hp_problem_t *problem, char *why,
                         size_t why_bytes)
{
    const char *text = refusal(generator, problem);

    if (text && why)
        snprintf(why, why_bytes, "%s", text);
    if (!text && generator->positions_max > 0 &&
        hp_problem_of_nodes(problem).count > generator->positions_max) {
        text = generator->name;
        if (why)
            snprintf(why, why_bytes, "it is for %u positions at most", generator->positions_max);
    }
    for (unsigned i = 0; !text && i < HP_PARAMETERS_MAX && generator->parameters[i].name; i++) {
        const hp_parameter_t *p = &generator->parameters[i];
        const uint32_t value = problem->parameter[i], most = hp_parameter_most(p, problem);
        if (value >= p->least && value <= most)
            continue;
        text = p->name;
        if (why)
            snprintf(why, why_bytes, "%s is %u, not from %u to %u", text, value, p->least, most);
    }
    return !text;
}

/* ---- making ---- */

hp_status_t hp_schedule_make(hp_schedule_t *schedule, const hp_generator_t *generator,
                             const hp_problem_t *problem, uint32_t position)
{
    return hp_problem_has_nodes(problem) ? hp_two_level_make(schedule, generator, problem, position)
                                         : hp_schedule_make_flat(schedule, generator, problem, position);
}

bool hp_generator_holds(const hp_generator_t *generator, hp_problem_t problem, hp_schedule_fn_t holds)
{
    bool held = true;

    hp_generator_usual(generator, &problem);
    for (uint32_t me = 0; me < problem.count && held && hp_generator_serves(generator, &problem, NULL, 0);
         me++) {
        hp_schedule_t schedule;
        hp_schedule_init(&schedule);
        held = hp_schedule_make(&schedule, generator, &problem, me) == HP_OK && holds(&schedule, me);
        hp_schedule_fini(&schedule);
    }
    return held;
}

bool hp_generator_sample_network(hp_network_t *network, uint32_t machines)
{
    const hp_network_speed_t speed = {HP_NETWORK_RATE, 0};
    uint32_t node;

    hp_network_init(network);
    const int32_t switches[2] = {hp_network_add(network, "s0", 0), hp_network_add(network, "s1", 0)};
    bool made =
        switches[0] >= 0 && switches[1] >= 0 &&
        hp_network_connect(network, (uint32_t)switches[0], (uint32_t)switches[1], speed, speed) == HP_OK;
    for (uint32_t i = 0; i < machines && made; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%u", i);
        const int32_t machine = hp_network_add(network, name, 1);
        made = machine >= 0 && hp_network_connect(network, (uint32_t)machine, (uint32_t)switches[i % 2],
                                                  speed, speed) == HP_OK;
    }
    return made && hp_network_finish(network, &node) == HP_NETWORK_WHOLE;
}

bool hp_generator_holds_for_few(const hp_generator_t *generator, hp_pattern_t pattern, hp_schedule_fn_t holds)
{
    enum { POSITIONS = 9 };
    static const uint32_t machines[POSITIONS] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    bool held = generator->patterns & ~generator->equal & 1u << pattern;
    hp_network_t network;

    hp_network_init(&network);
    if (generator->placed & 1u << pattern)
        held = held && hp_generator_sample_network(&network, POSITIONS);
    for (uint32_t count = 2; count <= POSITIONS && held; count++) {
        const hp_placement_t placement = {&network, machines, count};
        const hp_problem_t problem = {.pattern = pattern, .count = count, .placement = &placement};
        held = hp_generator_holds(generator, problem, holds);
    }
    hp_network_fini(&network);
    return held;
}

void *hp_generator_prepare(const hp_generator_t *generator, const hp_problem_t *problem)
{
    const hp_problem_t solved = hp_problem_of_nodes(problem);
    return generator->prepare && solved.count > 1 ? generator->prepare(&solved) : NULL;
}

void hp_generator_release(const hp_generator_t *generator, void *prepared)
{
    if (prepared)
        generator->release(prepared);
}

hp_schedule_t *hp_schedules_make(const hp_generator_t *generator, const hp_problem_t *problem)
{
    hp_problem_t asked = *problem;
    hp_status_t status = HP_OK;
    hp_schedule_t *schedules = calloc(problem->count, sizeof *schedules);
    void *prepared = schedules ? hp_generator_prepare(generator, problem) : NULL;

    asked.prepared = prepared;
    for (uint32_t i = 0; schedules && i < problem->count && status == HP_OK; i++)
        status = hp_schedule_make(&schedules[i], generator, &asked, i);
    hp_generator_release(generator, prepared);
    if (schedules && status != HP_OK) {
        hp_schedules_free(schedules, problem->count);
        return NULL;
    }
    return schedules;
}

void hp_schedules_free(hp_schedule_t *schedules, uint32_t count)
{
    for (uint32_t i = 0; schedules && i < count; i++)
        hp_schedule_fini(&schedules[i]);
    free(schedules);
}

hp_status_t hp_generator_verify(const hp_generator_t *generator, const hp_problem_t *problem,
                                hp_fault_t *fault)
{
    hp_schedule_t *schedules = hp_schedules_make(generator, problem);

    if (!schedules)
        return HP_ERR_NO_MEM;
    const hp_status_t status = hp_schedules_verify(schedules, problem, fault);
    hp_schedules_free(schedules, problem->count);
    return status;
}
