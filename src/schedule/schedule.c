#include "schedule/schedule.h"

#include <stdlib.h>
#include <string.h>
#include "base/grow.h"

static const char *const action_names[] = {
#define X(id, name) #name,
    HP_ACTION_TABLE(X)
#undef X
};

const char *hp_action_name(hp_action_t action)
{
    return action_names[action];
}

hp_action_t hp_action_find(const char *name)
{
    unsigned i = 0;
    while (i < HP_ACTION_COUNT && strcmp(name, action_names[i]) != 0)
        i++;
    return (hp_action_t)i;
}

hp_range_t hp_range_digit(hp_space_t space, uint32_t end, uint32_t radix, uint32_t weight, uint32_t value)
{
    const uint64_t first = (uint64_t)weight * value, stride = (uint64_t)weight * radix;

    if (first >= end)
        return hp_range(space, 0, 0);
    const uint64_t whole = (end - first) / stride, rest = (end - first) % stride;
    const uint64_t count = whole * weight + (rest < weight ? rest : weight);
    /* Where there is one run its stride does not matter, and may not fit. */
    return (hp_range_t){.space = space,
                        .first = (uint32_t)first,
                        .count = (uint32_t)count,
                        .run = weight,
                        .stride = stride < end ? (uint32_t)stride : end};
}

void hp_schedule_init(hp_schedule_t *schedule)
{
    *schedule = (hp_schedule_t){.status = HP_OK};
}

void hp_schedule_fini(hp_schedule_t *schedule)
{
    free(schedule->steps);
    free(schedule->ranges);
    hp_schedule_init(schedule);
}

/* Room for one more entry. */
static bool grow(hp_schedule_t *schedule, void *entries, uint32_t count, uint32_t *room, size_t bytes)
{
    if (schedule->status == HP_OK && !hp_grow(entries, room, count, bytes, 16))
        schedule->status = HP_ERR_NO_MEM;
    return schedule->status == HP_OK;
}

void hp_schedule_step(hp_schedule_t *schedule, int32_t to, int32_t from, hp_action_t action)
{
    const hp_list_t empty = {.first = schedule->range_count};

    if (grow(schedule, &schedule->steps, schedule->step_count, &schedule->step_room, sizeof *schedule->steps))
        schedule->steps[schedule->step_count++] = (hp_step_t){.to = to,
                                                              .from = from,
                                                              .send = empty,
                                                              .recv = empty,
                                                              .action = action,
                                                              .stream = schedule->stream};
}

/* A list's ranges follow each other: what the other list has added since then stands between them, so both of a step
 * are kept together, sends before receives. */
static void add(hp_schedule_t *schedule, hp_range_t range, bool receives)
{
    if (range.count == 0 ||
        !grow(schedule, &schedule->ranges, schedule->range_count, &schedule->range_room, sizeof range))
        return;
    hp_step_t *step = &schedule->steps[schedule->step_count - 1];
    uint32_t at = schedule->range_count++;
    if (!receives) {
        hp_range_t *const first_received = &schedule->ranges[step->recv.first];
        memmove(first_received + 1, first_received, step->recv.count * sizeof range);
        at = step->recv.first++;
    }
    schedule->ranges[at] = range;
    (receives ? &step->recv : &step->send)->count++;
}

void hp_schedule_sends(hp_schedule_t *schedule, hp_range_t range)
{
    add(schedule, range, false);
}

void hp_schedule_receives(hp_schedule_t *schedule, hp_range_t range)
{
    add(schedule, range, true);
}

void hp_schedule_renumbered(hp_schedule_t *schedule, hp_range_t range, const uint32_t *numbers, bool receives)
{
    for (uint32_t b = 0; b < range.count; b++)
        add(schedule, hp_range(range.space, numbers[hp_range_block(&range, b)], 1), receives);
}

static void add_around(hp_schedule_t *schedule, hp_space_t space, uint64_t first, uint32_t count,
                       uint32_t circle, bool receives)
{
    const uint32_t start = (uint32_t)(first % circle);
    const uint32_t before_end = count < circle - start ? count : circle - start;

    add(schedule, hp_range(space, start, before_end), receives);
    add(schedule, hp_range(space, 0, count - before_end), receives);
}

void hp_schedule_sends_around(hp_schedule_t *schedule, hp_space_t space, uint64_t first, uint32_t count,
                              uint32_t circle)
{
    add_around(schedule, space, first, count, circle, false);
}

void hp_schedule_receives_around(hp_schedule_t *schedule, hp_space_t space, uint64_t first, uint32_t count,
                                 uint32_t circle)
{
    add_around(schedule, space, first, count, circle, true);
}

void hp_schedule_send(hp_schedule_t *schedule, uint32_t to, hp_range_t range)
{
    hp_schedule_step(schedule, (int32_t)to, HP_NO_POSITION, HP_ACTION_STORE);
    hp_schedule_sends(schedule, range);
}

void hp_schedule_receive(hp_schedule_t *schedule, uint32_t from, hp_range_t range, hp_action_t action)
{
    hp_schedule_step(schedule, HP_NO_POSITION, (int32_t)from, action);
    hp_schedule_receives(schedule, range);
}

void hp_schedule_local(hp_schedule_t *schedule, uint32_t me, hp_range_t from, hp_range_t to,
                       hp_action_t action)
{
    hp_schedule_step(schedule, (int32_t)me, (int32_t)me, action);
    hp_schedule_sends(schedule, from);
    hp_schedule_receives(schedule, to);
}

void hp_schedule_sync(hp_schedule_t *schedule, int32_t to, int32_t from)
{
    hp_schedule_step(schedule, to, from, HP_ACTION_STORE);
    if (schedule->status == HP_OK)
        schedule->steps[schedule->step_count - 1].sync = true;
}

uint32_t hp_schedule_blocks(const hp_schedule_t *schedule, const hp_list_t *list)
{
    uint32_t blocks = 0;
    for (uint32_t i = 0; i < list->count; i++)
        blocks += schedule->ranges[list->first + i].count;
    return blocks;
}

uint32_t hp_schedule_largest_message(const hp_schedule_t *schedule, bool received)
{
    uint32_t largest = 0;

    for (uint32_t i = 0; i < schedule->step_count; i++) {
        const hp_step_t *step = &schedule->steps[i];
        const uint32_t blocks = hp_schedule_blocks(schedule, received ? &step->recv : &step->send);
        largest = blocks > largest ? blocks : largest;
    }
    return largest;
}

static bool is_all_of(const hp_schedule_t *schedule, const hp_list_t *list, hp_space_t space)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (schedule->ranges[list->first + i].space != space)
            return false;
    return true;
}

bool hp_schedule_is_direct(const hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t position)
{
    uint64_t received = 0;

    if (hp_pattern_is(problem->pattern, HP_PATTERN_CUT) ||
        hp_pattern_is(problem->pattern, HP_PATTERN_REDUCES) || problem->pattern == HP_PATTERN_BARRIER)
        return false;
    for (uint32_t i = 0; i < schedule->step_count; i++) {
        const hp_step_t *step = &schedule->steps[i];
        if (!is_all_of(schedule, &step->send, HP_SPACE_SEND) ||
            !is_all_of(schedule, &step->recv, HP_SPACE_RECV))
            return false;
        received += hp_schedule_blocks(schedule, &step->recv);
    }
    /* Right as it is, it gets each block at least once: so none that is replaced later. */
    return received == hp_problem_blocks(problem, schedule->cut, HP_SPACE_RECV, position);
}
