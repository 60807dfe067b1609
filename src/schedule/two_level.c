#include "schedule/two_level.h"

#include <stdlib.h>
#include "schedule/composition.h"
#include "schedule/inside.h"
#include "schedule/verify.h"

enum { NEVER = UINT32_MAX };

typedef struct {
    hp_member_t member;
    const hp_composition_t *composition;
    const hp_inside_t *inside; /* NULL: intra-node messages are direct */
    uint32_t inside_scratch;   /* first block of its own */
    hp_problem_t nodes;        /* what the algorithm among the nodes solves */
    hp_schedule_t inner;       /* the algorithm's for this node */
    uint32_t scratch;          /* first block of the algorithm's own */
    uint32_t slot;             /* as many blocks take one of those */
    hp_labels_t labels;        /* where these differ in size: whose they are */
    uint32_t sent, received;
    uint32_t *ready;    /* of each block of the algorithm's recv: the moment when it is passed on */
    uint32_t *order;    /* those blocks, as they are passed on; */
    uint32_t *first_at; /* from here on at each moment, and one more */
    uint32_t ready_count;
} level_t;

const char *hp_two_level_refusal(const hp_problem_t *problem)
{
    if (problem->leaders != 1 && problem->leaders != HP_LEADERS_ALL)
        return "leaders are one per node, or all";
    if (!hp_composition_of(problem))
        return "it takes one leader per node";
    if (problem->leaders == HP_LEADERS_ALL && !hp_problem_nodes_are_equal(problem))
        return "where all lead, all nodes have to have as many positions";
    if (problem->inside && !hp_inside_of(problem))
        return "its intra-node messages are direct";
    return NULL;
}

/* ---- the algorithm's schedule ---- */

static bool is_local(const level_t *level, const hp_step_t *step)
{
    return step->to == (int32_t)level->member.node;
}

/* Blocks of its own scratch differ in size where nodes do: of a vector they never do, and an alltoall asks for equal
 * nodes. */
static bool needs_labels(const level_t *level)
{
    return level->inner.scratch_blocks > 0 && !hp_pattern_is(level->nodes.pattern, HP_PATTERN_CUT) &&
           !hp_problem_nodes_are_equal(level->member.problem);
}

static hp_status_t find_labels(level_t *level, const hp_generator_t *generator)
{
    const uint32_t count = level->nodes.count;
    hp_schedule_t *schedules = calloc(count, sizeof *schedules);
    hp_status_t status = schedules ? HP_OK : HP_ERR_NO_MEM;

    for (uint32_t node = 0; node < count && status == HP_OK; node++)
        status = hp_schedule_make_flat(&schedules[node], generator, &level->nodes, node);
    if (status == HP_OK)
        status = hp_schedules_label(schedules, &level->nodes, level->member.node, &level->labels);
    for (uint32_t node = 0; node < count && schedules; node++)
        hp_schedule_fini(&schedules[node]);
    free(schedules);
    return status;
}

/* Blocks that take one of the algorithm's scratch, of a node of that size. */
static uint32_t slot_of(const level_t *level, uint32_t size)
{
    if (hp_pattern_is(level->nodes.pattern, HP_PATTERN_CUT))
        return 1;
    if (level->nodes.pattern == HP_PATTERN_ALLTOALL)
        return level->composition->leaders == HP_LEADERS_ALL ? size : size * size;
    return level->composition->leaders == HP_LEADERS_ALL ? 1 : size;
}

/* ---- when blocks are passed on ----
 * Behind each step there are two moments: for what was there before it, then for what it has brought. */

static uint32_t moment(uint32_t step, bool was_there)
{
    return 2 * step + !was_there;
}

static uint32_t moments(const level_t *level)
{
    return 2 * level->inner.step_count;
}

static void set_ready(level_t *level, const hp_list_t *list, hp_space_t space, uint32_t when)
{
    for (uint32_t r = 0; r < list->count; r++) {
        const hp_range_t *range = &level->inner.ranges[list->first + r];
        for (uint32_t k = 0; k < range->count && range->space == space; k++) {
            const uint32_t block = hp_range_block(range, k);
            if (level->ready[block] == NEVER || level->ready[block] < when)
                level->ready[block] = when;
        }
    }
}

/* A block that no message brings was there at first: it goes to the other nodes first. What comes before a node is
 * reduced into what the leader brought, so the algorithm must have read that. */
static void find_ready(level_t *level)
{
    const hp_schedule_t *inner = &level->inner;

    for (uint32_t i = 0; i < inner->step_count; i++)
        set_ready(level, &inner->steps[i].recv, HP_SPACE_RECV, moment(i, false));
    for (uint32_t i = 0; i < inner->step_count && level->nodes.pattern == HP_PATTERN_BCAST &&
                         level->member.node == level->nodes.root;
         i++)
        set_ready(level, &inner->steps[i].send, HP_SPACE_RECV, moment(i, true));
    for (uint32_t i = 0; i < inner->step_count && level->nodes.pattern == HP_PATTERN_EXSCAN; i++)
        set_ready(level, &inner->steps[i].send, HP_SPACE_SEND, moment(i, true));
}

/* The node's own: an allgather has it at first; an alltoall's is not the algorithm's; before the first node nothing
 * comes. */
static void find_own_ready(level_t *level)
{
    const uint32_t node = level->member.node;
    uint32_t first = 0;

    while (is_local(level, &level->inner.steps[first]))
        first++;
    if (level->nodes.pattern == HP_PATTERN_ALLGATHER)
        level->ready[node] = moment(first, true);
    else if (level->nodes.pattern == HP_PATTERN_ALLTOALL)
        level->ready[node] = NEVER;
    for (uint32_t b = 0; level->nodes.pattern == HP_PATTERN_EXSCAN && node == 0 && b < level->ready_count;
         b++)
        level->ready[b] = NEVER;
}

/* Sorts the blocks by their moments. */
static void find_order(level_t *level)
{
    const uint32_t end = moments(level);

    for (uint32_t b = 0; b < level->ready_count; b++)
        if (level->ready[b] != NEVER)
            level->first_at[level->ready[b]]++;
    for (uint32_t when = 1; when <= end; when++)
        level->first_at[when] += level->first_at[when - 1];
    for (uint32_t b = level->ready_count; b-- > 0;)
        if (level->ready[b] != NEVER)
            level->order[--level->first_at[level->ready[b]]] = b;
}

static hp_status_t plan_passing(level_t *level)
{
    const uint32_t blocks =
        hp_problem_blocks(&level->nodes, level->inner.cut, HP_SPACE_RECV, level->member.node);

    level->ready_count = blocks;
    level->ready = malloc((blocks + 1) * sizeof *level->ready);
    level->order = malloc((blocks + 1) * sizeof *level->order);
    level->first_at = calloc(moments(level) + 1, sizeof *level->first_at);
    if (!level->ready || !level->order || !level->first_at)
        return HP_ERR_NO_MEM;
    for (uint32_t b = 0; b < blocks; b++)
        level->ready[b] = NEVER;
    find_ready(level);
    if (blocks > 0)
        find_own_ready(level);
    find_order(level);
    return HP_OK;
}

/* ---- passing on ---- */

/* What leaders pass on at a moment, in a list of the last step. */
static void add_ready(const level_t *level, uint32_t when, uint32_t from, uint32_t to, bool receives)
{
    for (uint32_t i = level->first_at[when]; i < level->first_at[when + 1]; i++)
        level->composition->pass(&level->member, level->order[i], from, to, receives);
}

static void pass_to_members(const level_t *level, uint32_t when)
{
    const hp_member_t *member = &level->member;

    for (uint32_t i = 1 - hp_composition_keeps(member); i < member->size; i++) {
        const uint32_t to = member->first + (member->leader - member->first + i) % member->size;
        const bool is_own = to == member->me;
        hp_schedule_step(member->schedule, (int32_t)to, is_own ? (int32_t)to : HP_NO_POSITION,
                         is_own ? hp_composition_action(member, to) : HP_ACTION_STORE);
        add_ready(level, when, member->me, to, false);
        if (is_own)
            add_ready(level, when, to, to, true);
    }
}

static void exchange_with_members(const level_t *level, uint32_t when)
{
    const hp_member_t *member = &level->member;

    for (uint32_t i = 1; i < member->size; i++) {
        const uint32_t index = member->me - member->first;
        const uint32_t to = member->first + (index + i) % member->size;
        const uint32_t from = member->first + (index + member->size - i) % member->size;
        hp_schedule_step(member->schedule, (int32_t)to, (int32_t)from, HP_ACTION_STORE);
        add_ready(level, when, member->me, to, false);
        add_ready(level, when, from, member->me, true);
    }
}

static void pass_on(const level_t *level, uint32_t when)
{
    const hp_member_t *member = &level->member;

    if (!level->composition->pass || level->first_at[when] == level->first_at[when + 1])
        return;
    if (level->composition->leaders == HP_LEADERS_ALL) {
        exchange_with_members(level, when);
    } else if (hp_member_leads(member)) {
        pass_to_members(level, when);
    } else {
        hp_schedule_step(member->schedule, HP_NO_POSITION, (int32_t)member->leader,
                         hp_composition_action(member, member->me));
        add_ready(level, when, member->leader, member->me, true);
    }
}

/* ---- the algorithm's steps ---- */

/* The position that stands for a node. */
static int32_t position_of(const level_t *level, int32_t node)
{
    const hp_member_t *member = &level->member;

    if (node < 0)
        return node;
    if (level->composition->leaders == HP_LEADERS_ALL)
        return (int32_t)(member->problem->node_first[node] + (member->me - member->first));
    return (int32_t)hp_composition_leader(member->problem, (uint32_t)node);
}

/* labels: of the list's blocks, from its first one on; NULL: they are of one size. */
static void copy_list(const level_t *level, const hp_list_t *list, bool receives, const uint32_t *labels)
{
    for (uint32_t r = 0; r < list->count; r++) {
        const hp_range_t *range = &level->inner.ranges[list->first + r];
        for (uint32_t k = 0; k < range->count; k++) {
            const uint32_t block = hp_range_block(range, k);
            const uint32_t blocks =
                labels ? hp_problem_node_size(level->member.problem, *labels++) : level->slot;
            if (range->space != HP_SPACE_SCRATCH)
                level->composition->place(&level->member, range->space, block, receives);
            else
                hp_member_add(&level->member,
                              hp_range(HP_SPACE_SCRATCH, level->scratch + block * level->slot, blocks),
                              receives);
        }
    }
}

/* Does the last step copy blocks to where they are? Then there is nothing to be done. */
static void drop_if_idle(hp_schedule_t *schedule)
{
    if (schedule->status != HP_OK)
        return;
    const hp_step_t *step = &schedule->steps[schedule->step_count - 1];
    bool is_idle = step->send.count == step->recv.count;
    for (uint32_t r = 0; r < step->send.count && is_idle; r++) {
        const hp_range_t *from = &schedule->ranges[step->send.first + r],
                         *to = &schedule->ranges[step->recv.first + r];
        is_idle = from->space == to->space && from->first == to->first && from->count == to->count &&
                  from->stride == to->stride;
    }
    if (!is_idle)
        return;
    schedule->range_count -= step->send.count + step->recv.count;
    schedule->step_count--;
}

static void copy_step(level_t *level, const hp_step_t *step)
{
    hp_schedule_t *schedule = level->member.schedule;
    const int32_t to = position_of(level, step->to), from = position_of(level, step->from);
    const bool has_labels = level->labels.sent;

    schedule->stream = step->stream;
    if (step->sync) {
        hp_schedule_sync(schedule, to, from);
        return;
    }
    hp_schedule_step(schedule, to, from, step->action);
    copy_list(level, &step->send, false, has_labels ? level->labels.sent + level->sent : NULL);
    copy_list(level, &step->recv, true, has_labels ? level->labels.received + level->received : NULL);
    level->sent += hp_schedule_blocks(&level->inner, &step->send);
    level->received += hp_schedule_blocks(&level->inner, &step->recv);
    if (is_local(level, step))
        drop_if_idle(schedule);
    schedule->stream = 0;
}

static void write_between(level_t *level)
{
    for (uint32_t i = 0; i < level->inner.step_count; i++) {
        if (hp_member_leads(&level->member))
            copy_step(level, &level->inner.steps[i]);
        if (level->inside)
            continue;
        pass_on(level, moment(i, true));
        pass_on(level, moment(i, false));
    }
}

/* ---- an intra-node algorithm ---- */

static void copy_inside(const level_t *level, const hp_schedule_t *steps, const hp_list_t *list,
                        bool receives)
{
    const hp_member_t *member = &level->member;
    const uint32_t slot = hp_inside_slot(member->problem);

    for (uint32_t r = 0; r < list->count; r++) {
        const hp_range_t *range = &steps->ranges[list->first + r];
        for (uint32_t k = 0; k < range->count; k++) {
            const uint32_t block = hp_range_block(range, k);
            if (range->space != HP_SPACE_SCRATCH)
                level->inside->place(member, range->space, block, receives);
            else
                hp_member_add(member, hp_range(HP_SPACE_SCRATCH, level->inside_scratch + block * slot, slot),
                              receives);
        }
    }
}

static void write_inside(level_t *level)
{
    const hp_member_t *member = &level->member;
    hp_schedule_t *schedule = member->schedule, steps;
    const int32_t first = (int32_t)member->first;

    hp_schedule_init(&steps);
    if (hp_inside_make(&steps, member) != HP_OK)
        schedule->status = HP_ERR_NO_MEM;
    level->inside_scratch = schedule->scratch_blocks;
    schedule->scratch_blocks += steps.scratch_blocks * hp_inside_slot(member->problem);
    for (uint32_t i = 0; i < steps.step_count; i++) {
        const hp_step_t *step = &steps.steps[i];
        const int32_t to = step->to < 0 ? step->to : step->to + first,
                      from = step->from < 0 ? step->from : step->from + first;
        schedule->stream = step->stream;
        hp_schedule_step(schedule, to, from, step->action);
        copy_inside(level, &steps, &step->send, false);
        copy_inside(level, &steps, &step->recv, true);
        if (to == (int32_t)member->me)
            drop_if_idle(schedule);
        schedule->stream = 0;
    }
    hp_schedule_fini(&steps);
}

static void write_steps(level_t *level)
{
    hp_schedule_t *schedule = level->member.schedule;

    schedule->cut = level->inner.cut;
    level->scratch = level->composition->scratch(&level->member);
    schedule->scratch_blocks = level->scratch;
    if (hp_member_leads(&level->member))
        schedule->scratch_blocks += level->inner.scratch_blocks * level->slot;
    if (level->inside && level->inside->before)
        write_inside(level);
    else if (!level->inside && level->composition->before)
        level->composition->before(&level->member);
    write_between(level);
    if (level->inside && !level->inside->before)
        write_inside(level);
    hp_composition_end(&level->member);
}

/* ---- all of it ---- */

static hp_member_t member_of(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t position)
{
    const uint32_t node = hp_problem_node(problem, position);
    const bool all_lead = problem->leaders == HP_LEADERS_ALL;

    return (hp_member_t){.schedule = schedule,
                         .problem = problem,
                         .me = position,
                         .node = node,
                         .first = problem->node_first[node],
                         .size = hp_problem_node_size(problem, node),
                         .leader = all_lead ? position : hp_composition_leader(problem, node)};
}

hp_status_t hp_two_level_make(hp_schedule_t *schedule, const hp_generator_t *generator,
                              const hp_problem_t *problem, uint32_t position)
{
    level_t level = {.member = member_of(schedule, problem, position),
                     .composition = hp_composition_of(problem),
                     .inside = hp_inside_of(problem),
                     .nodes = hp_problem_of_nodes(problem)};

    hp_schedule_init(&level.inner);
    hp_status_t status = hp_schedule_make_flat(&level.inner, generator, &level.nodes, level.member.node);
    level.slot = slot_of(&level, hp_problem_node_most(problem));
    if (status == HP_OK && needs_labels(&level))
        status = find_labels(&level, generator);
    if (status == HP_OK)
        status = plan_passing(&level);
    if (status == HP_OK)
        write_steps(&level);
    else
        schedule->status = status;
    free(level.ready);
    free(level.order);
    free(level.first_at);
    hp_labels_fini(&level.labels);
    hp_schedule_fini(&level.inner);
    return schedule->status;
}
