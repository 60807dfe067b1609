#include "schedule/cost/cost_walk.h"

#include <stdlib.h>
#include <string.h>
#include "base/least.h"

enum { NONE = -1 };

/* What is looked at is bounded by the steps allowed: so many blocks for each, so many steps for each position, or
 * more. */
enum { BLOCKS_OF_STEP = 16, STEPS_OF_POSITION = 16 };

/* Which positions are looked at. */
typedef struct {
    uint32_t ranks;     /* of a node */
    bool nodes, places; /* the first of them stands for all */
    uint32_t count;     /* that are looked at */
} fold_t;

/* A step of one of them. Needs: the last earlier step of it whose blocks it sends, or reduces into. */
typedef struct {
    int32_t to, from; /* those that are looked at; NONE: nothing is sent, or received */
    int32_t send_needs, recv_needs;
    int32_t turn;            /* before it the messages of that step are through */
    uint32_t sent, received; /* blocks */
    uint8_t stream;
    bool to_leaves, from_leaves; /* between nodes */
    bool packs, unpacks;         /* the blocks do not lie one behind the other */
    bool local, reduces;
} step_t;

/* On its way to a position. */
typedef struct {
    double there_us; /* its last byte is */
    int32_t from, next;
    uint32_t blocks;
    uint8_t stream;
    bool leaves;
} message_t;

/* What a step has done. */
typedef struct {
    double received_us, through_us; /* what it has received is there; and what it has sent is sent */
} done_t;

typedef struct {
    uint32_t first_step, end_step, step; /* in steps; at which it is */
    bool has_sent;                       /* in that step */
    bool waits;                          /* for a message */
    double now_us;                       /* what it did last is done */
    int32_t first_message, last_message; /* of those that have come */
    /* When its clocks are free: of messages inside the node, [1] between nodes; of copies. */
    double send_us[2], recv_us[2], copy_us;
} walker_t;

typedef struct {
    double out_us, in_us, memory_us; /* when they are free */
} node_t;

typedef struct {
    const hp_walk_machine_t *machine;
    fold_t fold;
    double block_bytes, reduce_us, copy_us; /* of a block: its bytes, and what they take */
    double weight, core_weight;             /* positions that one stands for: of its node, of its core */
    uint32_t cores;                         /* of a node */
    step_t *steps;
    done_t *done;        /* of each step */
    message_t *messages; /* at most one of each step */
    walker_t *walkers;
    uint32_t *queue; /* walkers that can go on: a heap, the earliest on top */
    node_t *nodes;
    double *core_us; /* of each core: its work so far is done */
    uint32_t step_count, step_room, message_count, met;
    uint32_t queued;
    double end_us;
} walk_t;

/* ---- which positions are looked at ---- */

static uint32_t places_of(const fold_t *fold)
{
    return fold->places ? 1 : fold->ranks;
}

/* The one that stands for the position; NONE for NONE. */
static int32_t stand_in(const fold_t *fold, int32_t position)
{
    if (position < 0)
        return NONE;
    const uint32_t node = (uint32_t)position / fold->ranks, place = (uint32_t)position % fold->ranks;
    return (int32_t)((fold->nodes ? 0 : node * places_of(fold)) + (fold->places ? 0 : place));
}

static uint32_t position_of(const fold_t *fold, uint32_t walker)
{
    return fold->places ? walker * fold->ranks : walker;
}

static uint32_t node_of(const fold_t *fold, uint32_t walker)
{
    return walker / places_of(fold);
}

/* ---- their steps ---- */

/* Of each block of a position, the step that last wrote to it. */
typedef struct {
    int32_t *step[HP_SPACE_COUNT];
    uint32_t room[HP_SPACE_COUNT];
    uint32_t looked_at; /* blocks */
} writers_t;

static bool clear_writers(writers_t *writers, const hp_schedule_t *schedule, const hp_problem_t *problem,
                          uint32_t position)
{
    for (unsigned space = 0; space < HP_SPACE_COUNT; space++) {
        const uint32_t blocks = space == HP_SPACE_SCRATCH
                                    ? schedule->scratch_blocks
                                    : hp_problem_blocks(problem, schedule->cut, (hp_space_t)space, position);
        if (blocks > writers->room[space]) {
            int32_t *more = realloc(writers->step[space], blocks * sizeof *more);
            if (!more)
                return false;
            writers->step[space] = more;
            writers->room[space] = blocks;
        }
        for (uint32_t i = 0; i < blocks; i++)
            writers->step[space][i] = NONE;
        writers->looked_at += blocks;
    }
    return true;
}

/* The last step that wrote to a block of the list. writes: unless NONE, the step that now does. */
static int32_t last_writer(writers_t *writers, const hp_schedule_t *schedule, const hp_list_t *list,
                           int32_t writes)
{
    int32_t last = NONE;

    for (uint32_t r = 0; r < list->count; r++) {
        const hp_range_t *range = &schedule->ranges[list->first + r];
        int32_t *steps = writers->step[range->space] + range->first;
        for (uint32_t left = range->count; left > 0; steps += range->stride) {
            const uint32_t run = left < range->run ? left : range->run;
            for (uint32_t b = 0; b < run; b++) {
                last = steps[b] > last ? steps[b] : last;
                if (writes != NONE)
                    steps[b] = writes;
            }
            left -= run;
        }
        writers->looked_at += range->count;
    }
    return last;
}

/* Do the blocks lie one behind the other? */
static bool is_one_run(const hp_schedule_t *schedule, const hp_list_t *list)
{
    bool is_one = true;

    for (uint32_t r = 0; r < list->count && is_one; r++) {
        const hp_range_t *range = &schedule->ranges[list->first + r];
        is_one = range->count <= range->run || range->run == range->stride;
        if (r > 0)
            is_one &= range->space == range[-1].space && range->first == range[-1].first + range[-1].count;
    }
    return is_one;
}

static step_t read_step(const fold_t *fold, writers_t *writers, const hp_schedule_t *schedule,
                        uint32_t number, uint32_t position)
{
    const hp_step_t *it = &schedule->steps[number];
    const uint32_t node = position / fold->ranks;
    step_t step = {.to = stand_in(fold, it->to),
                   .from = stand_in(fold, it->from),
                   .sent = hp_schedule_blocks(schedule, &it->send),
                   .received = hp_schedule_blocks(schedule, &it->recv),
                   .stream = it->stream,
                   .to_leaves = it->to >= 0 && (uint32_t)it->to / fold->ranks != node,
                   .from_leaves = it->from >= 0 && (uint32_t)it->from / fold->ranks != node,
                   .packs = !is_one_run(schedule, &it->send),
                   .unpacks = !is_one_run(schedule, &it->recv) && it->action == HP_ACTION_STORE,
                   .local = it->to == (int32_t)position,
                   .reduces = it->action != HP_ACTION_STORE};

    step.send_needs = last_writer(writers, schedule, &it->send, NONE);
    const int32_t before = last_writer(writers, schedule, &it->recv, (int32_t)number);
    step.recv_needs = step.reduces ? before : NONE;
    return step;
}

static bool make_room(walk_t *w, uint32_t more)
{
    uint32_t room = w->step_room ? w->step_room : 256;

    while (room < w->step_count + more)
        room *= 2;
    if (room == w->step_room)
        return true;
    step_t *steps = realloc(w->steps, room * sizeof *steps);
    if (!steps)
        return false;
    w->steps = steps;
    w->step_room = room;
    return true;
}

/* false: steps that only synchronize, or no memory. */
static bool read_steps(walk_t *w, writers_t *writers, const hp_schedule_t *schedule, uint32_t position)
{
    const uint32_t first = w->step_count;
    uint32_t in_flight = 0;
    int32_t turn = NONE;

    if (!make_room(w, schedule->step_count))
        return false;
    for (uint32_t i = 0; i < schedule->step_count; i++) {
        if (schedule->steps[i].sync)
            return false;
        step_t *step = &w->steps[w->step_count++];
        *step = read_step(&w->fold, writers, schedule, i, position);
        if (!step->local && in_flight++ >= w->machine->steps_in_flight)
            do
                turn++;
            while (w->steps[first + (uint32_t)turn].local);
        step->turn = turn;
    }
    return true;
}

/* false: too many steps or blocks, steps that only synchronize, or no memory. *cut: blocks of a vector. */
static bool read_all(walk_t *w, const hp_generator_t *generator, const hp_problem_t *problem,
                     uint32_t steps_max, uint32_t *cut)
{
    void *prepared = hp_generator_prepare(generator, problem);
    hp_problem_t asked = *problem;
    writers_t writers = {.looked_at = 0};
    bool fine = true;

    asked.prepared = prepared;
    for (uint32_t i = 0; i < w->fold.count && fine; i++) {
        const uint32_t position = position_of(&w->fold, i);
        hp_schedule_t schedule;
        hp_schedule_init(&schedule);
        w->walkers[i] = (walker_t){
            .first_step = w->step_count, .step = w->step_count, .first_message = NONE, .last_message = NONE};
        fine = hp_schedule_make(&schedule, generator, &asked, position) == HP_OK &&
               clear_writers(&writers, &schedule, problem, position) &&
               read_steps(w, &writers, &schedule, position) && w->step_count <= steps_max &&
               writers.looked_at / BLOCKS_OF_STEP <= steps_max;
        w->walkers[i].end_step = w->step_count;
        *cut = schedule.cut;
        hp_schedule_fini(&schedule);
    }
    for (unsigned space = 0; space < HP_SPACE_COUNT; space++)
        free(writers.step[space]);
    hp_generator_release(generator, prepared);
    return fine;
}

/* ---- messages ---- */

static bool is_before(const walk_t *w, uint32_t a, uint32_t b)
{
    const double a_us = w->walkers[a].now_us, b_us = w->walkers[b].now_us;
    return a_us < b_us || (a_us == b_us && a < b);
}

static void go_on(walk_t *w, uint32_t walker)
{
    uint32_t at = w->queued++;

    for (; at > 0 && is_before(w, walker, w->queue[(at - 1) / 2]); at = (at - 1) / 2)
        w->queue[at] = w->queue[(at - 1) / 2];
    w->queue[at] = walker;
}

static uint32_t earliest(walk_t *w)
{
    const uint32_t first = w->queue[0], last = w->queue[--w->queued];
    uint32_t at = 0;

    for (uint32_t child; (child = 2 * at + 1) < w->queued; at = child) {
        if (child + 1 < w->queued && is_before(w, w->queue[child + 1], w->queue[child]))
            child++;
        if (!is_before(w, w->queue[child], last))
            break;
        w->queue[at] = w->queue[child];
    }
    w->queue[at] = last;
    return first;
}

static void deliver(walk_t *w, uint32_t from, const step_t *step, double there_us)
{
    walker_t *to = &w->walkers[step->to];
    const int32_t number = (int32_t)w->message_count++;

    w->messages[number] = (message_t){.there_us = there_us,
                                      .from = (int32_t)from,
                                      .next = NONE,
                                      .blocks = step->sent,
                                      .stream = step->stream,
                                      .leaves = step->to_leaves};
    if (to->last_message == NONE)
        to->first_message = number;
    else
        w->messages[to->last_message].next = number;
    to->last_message = number;
    if (!to->waits)
        return;
    to->waits = false;
    to->now_us = hp_most_double(to->now_us, there_us);
    go_on(w, (uint32_t)step->to);
}

/* The first that has come for the step, taken out. NULL: none has. */
static const message_t *take(walk_t *w, walker_t *me, const step_t *step)
{
    int32_t before = NONE, number = me->first_message;

    while (number != NONE) {
        const message_t *it = &w->messages[number];
        if (it->from == step->from && it->leaves == step->from_leaves && it->stream == step->stream)
            break;
        before = number;
        number = it->next;
    }
    if (number == NONE)
        return NULL;
    const message_t *message = &w->messages[number];
    if (before == NONE)
        me->first_message = message->next;
    else
        w->messages[before].next = message->next;
    if (message->next == NONE)
        me->last_message = before;
    return message;
}

/* ---- time ---- */

/* So much work of a position, which may begin then: when its core is done with it. */
static double work(walk_t *w, uint32_t walker, double from_us, double us)
{
    const uint32_t place = walker % places_of(&w->fold);
    double *core = &w->core_us[node_of(&w->fold, walker) * w->cores + place % w->cores];

    *core = hp_most_double(*core, from_us) + us * w->core_weight;
    w->end_us = hp_most_double(w->end_us, *core);
    return *core;
}

static double after(const walk_t *w, const walker_t *me, int32_t step)
{
    return step == NONE ? 0 : w->done[me->first_step + (uint32_t)step].received_us;
}

/* Over the links of two nodes: the first byte goes on as soon as the second one is free. */
static double cross_links(walk_t *w, node_t *from, node_t *to, double sent_us, double bytes, double *left_us)
{
    const double busy_us = w->weight * bytes / w->machine->between.rate;
    const double latency_us = w->machine->between.latency_us;
    const double head_us = hp_most_double(sent_us, from->out_us) + latency_us;

    from->out_us = *left_us = hp_most_double(sent_us, from->out_us) + busy_us;
    to->in_us = hp_most_double(hp_most_double(head_us, to->in_us) + busy_us, *left_us + latency_us);
    return to->in_us;
}

static double cross_memory(walk_t *w, node_t *node, double sent_us, double bytes)
{
    const hp_walk_message_t *inside = &w->machine->inside;

    node->memory_us = hp_most_double(sent_us, node->memory_us) + w->weight * bytes / w->machine->memory_rate;
    return hp_most_double(sent_us + bytes / inside->rate, node->memory_us) + inside->latency_us;
}

static double turn_of(const walk_t *w, const walker_t *me, const step_t *step)
{
    return step->turn == NONE ? 0 : w->done[me->first_step + (uint32_t)step->turn].through_us;
}

static void send(walk_t *w, uint32_t walker, const step_t *step)
{
    walker_t *me = &w->walkers[walker];
    node_t *node = &w->nodes[node_of(&w->fold, walker)];
    const double bytes = step->sent * w->block_bytes;
    const double from_us = hp_most_double(after(w, me, step->send_needs), turn_of(w, me, step));
    const hp_walk_message_t *message = step->to_leaves ? &w->machine->between : &w->machine->inside;
    const double bytes_us = bytes / w->machine->copy_rate;
    const double pack_us = step->packs ? bytes_us : 0, copy_us = step->to_leaves ? 0 : bytes_us;
    const double ready_us =
        hp_most_double(from_us, me->send_us[step->to_leaves]) + pack_us + message->overhead_us;
    double there_us, left_us;

    work(w, walker, from_us, pack_us + message->overhead_us + copy_us);
    me->send_us[step->to_leaves] = left_us = ready_us + copy_us;
    if (step->to_leaves)
        there_us =
            cross_links(w, node, &w->nodes[node_of(&w->fold, (uint32_t)step->to)], ready_us, bytes, &left_us);
    else
        there_us = hp_most_double(cross_memory(w, node, ready_us, bytes), left_us + message->latency_us);
    w->done[me->step].through_us = left_us;
    me->now_us = hp_most_double(me->now_us, ready_us);
    w->end_us = hp_most_double(w->end_us, left_us);
    deliver(w, walker, step, there_us);
}

static void receive(walk_t *w, uint32_t walker, const step_t *step, const message_t *message)
{
    walker_t *me = &w->walkers[walker];
    done_t *done = &w->done[me->step];
    const hp_walk_message_t *kind = step->from_leaves ? &w->machine->between : &w->machine->inside;
    const double block_us = step->reduces ? w->reduce_us : step->unpacks ? w->copy_us : 0;
    const double us = kind->overhead_us + step->received * block_us;
    const double from_us = hp_most_double(message->there_us, after(w, me, step->recv_needs));

    double *clock_us = &me->recv_us[step->from_leaves];

    *clock_us = done->received_us =
        hp_most_double(hp_most_double(from_us, *clock_us) + us, work(w, walker, 0, us));
    done->through_us = hp_most_double(done->through_us, *clock_us);
    w->end_us = hp_most_double(w->end_us, *clock_us);
}

static void copy(walk_t *w, uint32_t walker, const step_t *step)
{
    walker_t *me = &w->walkers[walker];
    const double us = step->received * (step->reduces ? w->reduce_us : w->copy_us);
    const double from_us = hp_most_double(after(w, me, step->send_needs), after(w, me, step->recv_needs));

    me->copy_us = hp_most_double(from_us, me->copy_us) + us;
    work(w, walker, from_us, us);
    w->done[me->step] = (done_t){me->copy_us, me->copy_us};
    w->end_us = hp_most_double(w->end_us, me->copy_us);
}

/* ---- the walk ---- */

/* One step of a position, or a part of it. false: messages do not meet. */
static bool advance(walk_t *w, uint32_t walker)
{
    walker_t *me = &w->walkers[walker];
    const step_t *step = &w->steps[me->step];

    if (step->local) {
        copy(w, walker, step);
    } else {
        if (step->to != NONE && !me->has_sent) {
            me->has_sent = true;
            send(w, walker, step);
        }
        const message_t *message = step->from == NONE ? NULL : take(w, me, step);
        if (step->from != NONE && !message) {
            me->waits = true;
            return true;
        }
        if (message && message->blocks != step->received)
            return false;
        if (message)
            receive(w, walker, step, message);
        w->met += message != NULL;
    }
    me->has_sent = false;
    me->now_us = hp_most_double(me->now_us, w->done[me->step].received_us);
    if (++me->step < me->end_step)
        go_on(w, walker);
    return true;
}

/* false: messages do not meet. */
static bool walk(walk_t *w)
{
    for (uint32_t i = 0; i < w->fold.count; i++)
        if (w->walkers[i].step < w->walkers[i].end_step)
            go_on(w, i);
    while (w->queued > 0) {
        if (!advance(w, earliest(w)))
            return false;
    }
    for (uint32_t i = 0; i < w->fold.count; i++)
        if (w->walkers[i].step < w->walkers[i].end_step)
            return false;
    return w->met == w->message_count;
}

typedef enum { WALKED, APART, TOO_MUCH } outcome_t;

static outcome_t walk_steps(walk_t *w)
{
    const uint32_t nodes = w->fold.count / places_of(&w->fold);
    outcome_t outcome = TOO_MUCH;

    w->done = calloc(w->step_count + 1, sizeof *w->done);
    w->messages = malloc((w->step_count + (size_t)1) * sizeof *w->messages);
    w->queue = malloc(w->fold.count * sizeof *w->queue);
    w->nodes = calloc(nodes, sizeof *w->nodes);
    w->core_us = calloc((size_t)nodes * w->cores, sizeof *w->core_us);
    if (w->done && w->messages && w->queue && w->nodes && w->core_us)
        outcome = walk(w) ? WALKED : APART;
    free(w->done);
    free(w->messages);
    free(w->queue);
    free(w->nodes);
    free(w->core_us);
    return outcome;
}

/* A machine of less than a core is one of several that share a core; so many of its time. */
static void find_cores(walk_t *w)
{
    const double cores = w->machine->cores;
    const uint32_t ranks = w->fold.ranks;

    w->cores = cores < 1 ? 1 : cores < ranks ? (uint32_t)cores : ranks;
    w->weight = w->fold.places ? ranks : 1;
    w->core_weight = w->fold.places ? (ranks + w->cores - 1) / w->cores : 1; /* NOLINT: whole ranks */
    if (cores < 1)
        w->core_weight /= cores;
}

/* Seen before schedules are made: where each position has a block for each, it sends or receives them all. */
static bool may_look_at(const fold_t *fold, const hp_problem_t *problem, uint32_t steps_max)
{
    const bool of_all = problem->pattern == HP_PATTERN_ALLGATHER || problem->pattern == HP_PATTERN_ALLTOALL ||
                        problem->pattern == HP_PATTERN_REDUCE_SCATTER;
    const uint64_t blocks = of_all ? (uint64_t)2 * fold->count * problem->count : 0;

    return fold->count <= steps_max / STEPS_OF_POSITION && blocks / BLOCKS_OF_STEP < steps_max;
}

static outcome_t walk_folded(const hp_generator_t *generator, const hp_problem_t *problem, fold_t fold,
                             const hp_walk_machine_t *machine, double bytes, uint32_t steps_max, double *us)
{
    walk_t w = {.machine = machine, .fold = fold};
    outcome_t outcome = TOO_MUCH;
    uint32_t cut = 1;

    w.fold.count = (fold.nodes ? 1 : problem->count / fold.ranks) * places_of(&fold);
    find_cores(&w);
    w.walkers = malloc(w.fold.count * sizeof *w.walkers);
    if (w.walkers && may_look_at(&w.fold, problem, steps_max) &&
        read_all(&w, generator, problem, steps_max, &cut)) {
        w.block_bytes = bytes / (cut ? cut : 1);
        w.reduce_us = w.block_bytes / machine->reduce_rate;
        w.copy_us = w.block_bytes / machine->copy_rate;
        outcome = walk_steps(&w);
    }
    *us = w.end_us;
    free(w.walkers);
    free(w.steps);
    return outcome;
}

double hp_walk_us(const hp_generator_t *generator, const hp_problem_t *problem, uint32_t ranks,
                  const hp_walk_machine_t *machine, double bytes, uint32_t steps_max)
{
    const bool differ = hp_pattern_is(problem->pattern, HP_PATTERN_ROOTED) ||
                        problem->pattern == HP_PATTERN_SCAN || problem->pattern == HP_PATTERN_EXSCAN;
    const bool all_lead = hp_problem_has_nodes(problem) && problem->leaders == HP_LEADERS_ALL;
    const bool places = all_lead || problem->count == ranks;
    const fold_t folds[] = {{.ranks = ranks, .nodes = true, .places = true},
                            {.ranks = ranks, .nodes = true},
                            {.ranks = ranks, .places = true},
                            {.ranks = ranks}};
    outcome_t outcome = APART;
    double us = -1;

    for (unsigned i = differ ? 3 : 0; i < 4 && outcome == APART; i++)
        if (!folds[i].places || places)
            outcome = walk_folded(generator, problem, folds[i], machine, bytes, steps_max, &us);
    return outcome == WALKED ? us : -1;
}
