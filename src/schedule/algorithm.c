#include "schedule/algorithm.h"

/* ---- roots ---- */

static int32_t rotated(int32_t position, const hp_problem_t *problem)
{
    return position < 0 ? position : (int32_t)(((uint32_t)position + problem->root) % problem->count);
}

/* Is the space's block i the part of position i? Then it rotates with the positions. */
static bool rotates(const hp_problem_t *problem, hp_space_t space)
{
    return (problem->pattern == HP_PATTERN_GATHER && space == HP_SPACE_RECV) ||
           (problem->pattern == HP_PATTERN_SCATTER && space == HP_SPACE_SEND);
}

static void copy_list(hp_schedule_t *to, const hp_schedule_t *from, const hp_list_t *list,
                      const hp_problem_t *problem, bool receives)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const hp_range_t range = from->ranges[list->first + i];
        if (!rotates(problem, range.space)) {
            receives ? hp_schedule_receives(to, range) : hp_schedule_sends(to, range);
            continue;
        }
        for (uint32_t b = 0; b < range.count; b += range.run) {
            const uint32_t run = range.count - b < range.run ? range.count - b : range.run;
            const uint64_t first = (uint64_t)hp_range_block(&range, b) + problem->root;
            if (receives)
                hp_schedule_receives_around(to, range.space, first, run, problem->count);
            else
                hp_schedule_sends_around(to, range.space, first, run, problem->count);
        }
    }
}

/* Copies a schedule whose positions were counted from the problem's root; *schedule is empty. */
static void copy_rotated(hp_schedule_t *schedule, const hp_schedule_t *plain, const hp_problem_t *problem)
{
    *schedule =
        (hp_schedule_t){.cut = plain->cut, .scratch_blocks = plain->scratch_blocks, .status = plain->status};
    for (uint32_t i = 0; i < plain->step_count; i++) {
        const hp_step_t *step = &plain->steps[i];
        schedule->stream = step->stream;
        hp_schedule_step(schedule, rotated(step->to, problem), rotated(step->from, problem), step->action);
        if (schedule->status == HP_OK)
            schedule->steps[schedule->step_count - 1].sync = step->sync;
        copy_list(schedule, plain, &step->send, problem, false);
        copy_list(schedule, plain, &step->recv, problem, true);
    }
}

static void rotate_back(hp_schedule_t *schedule, const hp_problem_t *problem)
{
    if (rotates(problem, HP_SPACE_SEND) || rotates(problem, HP_SPACE_RECV)) {
        hp_schedule_t plain = *schedule;
        copy_rotated(schedule, &plain, problem);
        hp_schedule_fini(&plain);
        return;
    }
    for (uint32_t i = 0; i < schedule->step_count; i++) {
        hp_step_t *step = &schedule->steps[i];
        step->to = rotated(step->to, problem);
        step->from = rotated(step->from, problem);
    }
}

/* An ordered reduction ends at position 0, which has it in scratch instead and sends it to the root. */
static void forward(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t position)
{
    const uint32_t cut = schedule->cut;

    schedule->stream = HP_STREAMS_MAX - 1;
    if (position == problem->root)
        hp_schedule_receive(schedule, 0, hp_range(HP_SPACE_RECV, 0, cut), HP_ACTION_STORE);
    if (position != 0)
        return;
    for (uint32_t i = 0; i < schedule->range_count; i++)
        if (schedule->ranges[i].space == HP_SPACE_RECV) {
            schedule->ranges[i].space = HP_SPACE_SCRATCH;
            schedule->ranges[i].first += schedule->scratch_blocks;
        }
    hp_schedule_send(schedule, problem->root, hp_range(HP_SPACE_SCRATCH, schedule->scratch_blocks, cut));
    schedule->scratch_blocks += cut;
}

/* ---- making ---- */

/* One position alone: what it brings is the result, if there is one. */
static void generate_alone(hp_schedule_t *schedule, const hp_problem_t *problem)
{
    const hp_range_t from = hp_range(HP_SPACE_SEND, 0, 1), to = hp_range(HP_SPACE_RECV, 0, 1);

    if (problem->pattern != HP_PATTERN_BCAST && problem->pattern != HP_PATTERN_EXSCAN &&
        problem->pattern != HP_PATTERN_BARRIER)
        hp_schedule_local(schedule, 0, from, to, HP_ACTION_STORE);
}

hp_status_t hp_schedule_make_flat(hp_schedule_t *schedule, const hp_generator_t *generator,
                                  const hp_problem_t *problem, uint32_t position)
{
    const bool ordered = problem->ordered && problem->pattern == HP_PATTERN_REDUCE;
    hp_problem_t from_root = *problem;

    from_root.root = 0;
    from_root.rotated = ordered ? 0 : problem->root;
    schedule->cut = hp_pattern_is(problem->pattern, HP_PATTERN_CUT) ? 1 : 0;
    if (generator->schedules)
        copy_rotated(schedule, &generator->schedules[position], &from_root);
    else if (problem->count == 1)
        generate_alone(schedule, problem);
    else if (ordered)
        generator->generate(schedule, &from_root, position);
    else
        generator->generate(schedule, &from_root,
                            (position + problem->count - problem->root) % problem->count);
    if (generator->schedules || problem->root == 0)
        return schedule->status;
    if (ordered)
        forward(schedule, problem, position);
    else
        rotate_back(schedule, problem);
    return schedule->status;
}
