#include "schedule/verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a block holds: block `what` of the message, with the contributions of a set of positions. */
enum { EMPTY = UINT32_MAX };

typedef struct {
    uint32_t what;            /* EMPTY: nothing */
    uint32_t lowest, highest; /* of the set */
    uint32_t in_order : 1;    /* the set is lowest to highest, combined in this order */
    uint32_t read_by : 31;    /* of a block: the last local step that read it, counted from 1 */
    uint64_t set[];
} content_t;

typedef struct {
    char *blocks[HP_SPACE_COUNT];
    uint32_t block_count[HP_SPACE_COUNT];
    uint32_t step;
    bool sent, received; /* the messages of this step */
    char *message;       /* what this step sends, as it was when the step began */
    uint32_t message_room;
    uint64_t blocks_in_all; /* of the spaces */
    uint64_t *knows;        /* positions from whose beginning a chain of messages has come here, */
    uint64_t *knew;         /* and had when the step began: its message says no more */
    bool queued;
} position_t;

typedef struct {
    const hp_problem_t *problem;
    const hp_schedule_t *schedules;
    hp_fault_t *fault;
    uint32_t words; /* of a set; 0: there are none, as labels alone are asked for */
    size_t content_bytes;
    position_t *positions;
    char *contents;  /* of all positions: their blocks and their messages */
    uint64_t *knows; /* of all positions */
    uint32_t *queue; /* positions to be looked at, a ring of `count` */
    uint32_t queue_first, queue_length;
    hp_labels_t *labels; /* NULL: nobody asks */
    hp_status_t status;
} run_t;

/* ---- faults ---- */

__attribute__((format(printf, 4, 5))) static bool wrong(run_t *run, uint32_t position, int32_t step,
                                                        const char *format, ...)
{
    va_list arguments;

    if (run->status != HP_OK)
        return false;
    run->status = HP_ERR_ARG;
    int used = step < 0
                   ? snprintf(run->fault->text, HP_FAULT_BYTES, "position %u: ", position)
                   : snprintf(run->fault->text, HP_FAULT_BYTES, "position %u, step %d: ", position, step);
    va_start(arguments, format);
    vsnprintf(run->fault->text + used, HP_FAULT_BYTES - (size_t)used, format, arguments);
    va_end(arguments);
    run->fault->position = (int32_t)position;
    run->fault->step = step;
    return false;
}

/* ---- contents ---- */

static content_t *content_at(const run_t *run, char *contents, uint32_t i)
{
    return (content_t *)(contents + i * run->content_bytes);
}

static void set_content(const run_t *run, content_t *content, uint32_t what, uint32_t contributor)
{
    content->what = what;
    content->lowest = content->highest = contributor;
    content->in_order = true;
    if (run->words > 0)
        content->set[contributor / 64] |= (uint64_t)1 << contributor % 64;
}

static bool has(const content_t *content, uint32_t contributor)
{
    return content->set[contributor / 64] >> contributor % 64 & 1;
}

/* into = left (op) right, where into is one of them. */
static bool combine(run_t *run, uint32_t p, content_t *into, const content_t *theirs, bool theirs_left)
{
    const int32_t step = (int32_t)run->positions[p].step;
    const content_t *left = theirs_left ? theirs : into, *right = theirs_left ? into : theirs;

    if (into->what == EMPTY)
        return wrong(run, p, step, "reduces into a block that holds nothing");
    if (into->what != theirs->what)
        return wrong(run, p, step, "reduces block %u of the message into block %u", theirs->what, into->what);
    for (uint32_t w = 0; w < run->words; w++)
        if (into->set[w] & theirs->set[w])
            return wrong(run, p, step, "the contribution of position %u to block %u comes in twice",
                         64 * w + (uint32_t)__builtin_ctzll(into->set[w] & theirs->set[w]), into->what);
    const bool in_order = left->in_order && right->in_order && left->highest + 1 == right->lowest;
    if (run->problem->ordered && !in_order)
        return wrong(run, p, step, "reduces %u to %u with %u to %u, which is not the order of the positions",
                     left->lowest, left->highest, right->lowest, right->highest);
    const uint32_t lowest = left->lowest < right->lowest ? left->lowest : right->lowest;
    const uint32_t highest = left->highest > right->highest ? left->highest : right->highest;
    into->in_order = in_order;
    into->lowest = lowest;
    into->highest = highest;
    for (uint32_t w = 0; w < run->words; w++)
        into->set[w] |= theirs->set[w];
    return true;
}

/* ---- before the first step ---- */

/* The position's contribution in block i of a space; EMPTY: none. */
static uint32_t contribution_of(const hp_problem_t *problem, hp_space_t space, uint32_t position, uint32_t i)
{
    if (space == HP_SPACE_RECV)
        return problem->pattern == HP_PATTERN_BCAST && position == problem->root ? i : (uint32_t)EMPTY;
    if (space == HP_SPACE_SCRATCH)
        return EMPTY;
    const bool own = problem->pattern == HP_PATTERN_ALLGATHER || problem->pattern == HP_PATTERN_GATHER;
    return own ? position : i;
}

/* Counts the blocks of the position's spaces and of its largest message; returns the sum. No message needs more than all
 * blocks there are. */
static size_t count_blocks(run_t *run, uint32_t p)
{
    const hp_schedule_t *schedule = &run->schedules[p];
    position_t *position = &run->positions[p];
    const uint32_t message = hp_schedule_largest_message(schedule, false);
    size_t all = 0;

    for (unsigned space = 0; space < HP_SPACE_COUNT; space++)
        all += position->block_count[space] =
            space == HP_SPACE_SCRATCH ? schedule->scratch_blocks
                                      : hp_problem_blocks(run->problem, schedule->cut, (hp_space_t)space, p);
    position->blocks_in_all = all;
    position->message_room = message < all ? message : (uint32_t)all;
    return all + position->message_room;
}

/* Gives the position its part of the contents, from *at on, and its contributions. */
static void fill(run_t *run, uint32_t p, char **at)
{
    position_t *position = &run->positions[p];

    for (unsigned space = 0; space < HP_SPACE_COUNT; space++) {
        position->blocks[space] = *at;
        for (uint32_t i = 0; i < position->block_count[space]; i++, *at += run->content_bytes) {
            content_t *content = content_at(run, position->blocks[space], i);
            content->what = EMPTY;
            const uint32_t what = contribution_of(run->problem, (hp_space_t)space, p, i);
            if (what != EMPTY)
                set_content(run, content, what, p);
        }
    }
    position->message = *at;
    *at += position->message_room * run->content_bytes;
    position->knows = run->knows + (size_t)p * 2 * run->words;
    position->knew = position->knows + run->words;
    if (run->words > 0)
        position->knows[p / 64] |= (uint64_t)1 << p % 64;
}

static bool start(run_t *run)
{
    const uint32_t count = run->problem->count, cut = run->schedules[0].cut;
    size_t blocks = 0;

    for (uint32_t p = 0; p < count; p++) {
        if (run->schedules[p].cut != cut)
            return wrong(run, p, -1, "cuts the message into %u blocks, position 0 into %u",
                         run->schedules[p].cut, cut);
        blocks += count_blocks(run, p);
    }
    run->contents = calloc(blocks + 1, run->content_bytes);
    run->knows = calloc((size_t)count * 2 * run->words + 1, sizeof *run->knows);
    if (!run->contents || !run->knows) {
        run->status = HP_ERR_NO_MEM;
        return false;
    }
    char *at = run->contents;
    for (uint32_t p = 0; p < count; p++)
        fill(run, p, &at);
    return true;
}

/* ---- steps ---- */

static const hp_step_t *step_of(const run_t *run, uint32_t p)
{
    const hp_schedule_t *schedule = &run->schedules[p];
    const uint32_t i = run->positions[p].step;
    return i < schedule->step_count ? &schedule->steps[i] : NULL;
}

static void enqueue(run_t *run, uint32_t p)
{
    const uint32_t count = run->problem->count, end = run->queue_first + run->queue_length;

    if (run->positions[p].queued)
        return;
    run->positions[p].queued = true;
    run->queue[end < count ? end : end - count] = p;
    run->queue_length++;
}

static bool not_there(run_t *run, uint32_t p, const hp_range_t *range, uint32_t block)
{
    return wrong(run, p, (int32_t)run->positions[p].step, "block %u of %s is not there: %s has %u blocks",
                 block, hp_space_name(range->space), hp_space_name(range->space),
                 run->positions[p].block_count[range->space]);
}

/* Blocks of a vector differ in size, so each has its place: of scratch, which is as many vectors, block i is for block
 * i mod cut. So both ends of a message name the same blocks. */
static bool check_place(run_t *run, uint32_t p, hp_space_t space, uint32_t block, uint32_t what)
{
    const uint32_t cut = run->schedules[p].cut;

    if (!hp_pattern_is(run->problem->pattern, HP_PATTERN_CUT) || (cut ? block % cut : block) == what)
        return true;
    return wrong(run, p, (int32_t)run->positions[p].step,
                 "stores block %u of the message in block %u of %s, which may have another size", what, block,
                 hp_space_name(space));
}

/* With MPI_IN_PLACE the own block is in send and in recv at once (hier/blocks/program.c, item_of): no other may take its
 * place there. */
static bool check_own(run_t *run, uint32_t p, hp_space_t space, uint32_t block, uint32_t what)
{
    const hp_pattern_t pattern = run->problem->pattern;
    const bool has_all = pattern == HP_PATTERN_ALLGATHER || pattern == HP_PATTERN_GATHER,
               is_own = has_all ? block == p : pattern == HP_PATTERN_SCATTER && p == run->problem->root;

    if (space != HP_SPACE_RECV || !is_own || what == p)
        return true;
    return wrong(run, p, (int32_t)run->positions[p].step,
                 "stores block %u in block %u of recv, where with MPI_IN_PLACE its own lies", what, block);
}

/* Goes through the blocks of a range; what is walked is one of those that hp_range_block counts. */
typedef struct {
    uint32_t block, in_run;
} walk_t;

static void walk_on(walk_t *walk, const hp_range_t *range)
{
    walk->block++;
    if (++walk->in_run == range->run)
        *walk = (walk_t){.block = walk->block + range->stride - range->run};
}

/* Copies what the step sends, as it is now. */
static bool pack(run_t *run, uint32_t p, const hp_step_t *step)
{
    position_t *position = &run->positions[p];
    const hp_schedule_t *schedule = &run->schedules[p];
    uint32_t at = 0;

    for (uint32_t r = 0; r < step->send.count; r++) {
        const hp_range_t *range = &schedule->ranges[step->send.first + r];
        walk_t walk = {.block = range->first};
        for (uint32_t i = 0; i < range->count; i++, walk_on(&walk, range)) {
            if (walk.block >= position->block_count[range->space])
                return not_there(run, p, range, walk.block);
            content_t *content = content_at(run, position->blocks[range->space], walk.block),
                      *sent = content_at(run, position->message, at++);
            if (content->what == EMPTY)
                return wrong(run, p, (int32_t)position->step, "sends block %u of %s, which holds nothing",
                             walk.block, hp_space_name(range->space));
            memcpy(sent, content, run->content_bytes);
            sent->read_by = 0;
            if (step->to == (int32_t)p)
                content->read_by = (position->step + 1) & INT32_MAX;
            if (run->labels && run->labels->position == p)
                run->labels->sent[run->labels->sent_count++] = content->what;
        }
    }
    return true;
}

static bool check_list(run_t *run, uint32_t p, const hp_list_t *list, bool sends)
{
    const position_t *position = &run->positions[p];
    uint64_t blocks = 0;

    for (uint32_t r = 0; r < list->count; r++) {
        const hp_range_t *range = &run->schedules[p].ranges[list->first + r];
        if ((unsigned)range->space >= HP_SPACE_COUNT || range->count == 0 || range->run == 0)
            return wrong(run, p, (int32_t)position->step, "a range of no blocks");
        if (!sends && range->space == HP_SPACE_SEND)
            return wrong(run, p, (int32_t)position->step, "writes to send, which is the program's to read");
        if (!sends && range->space == HP_SPACE_RECV && run->problem->pattern == HP_PATTERN_EXSCAN && p == 0)
            return wrong(run, p, (int32_t)position->step, "writes to recv, where an exscan has no result");
        blocks += range->count;
    }
    if (blocks > (sends ? position->message_room : position->blocks_in_all))
        return wrong(run, p, (int32_t)position->step, "%s %llu blocks, more than it has",
                     sends ? "sends" : "receives", (unsigned long long)blocks);
    return true;
}

static bool check_step(run_t *run, uint32_t p, const hp_step_t *step)
{
    const int32_t count = (int32_t)run->problem->count, i = (int32_t)run->positions[p].step;

    if (step->to >= count || step->from >= count || step->to < HP_NO_POSITION || step->from < HP_NO_POSITION)
        return wrong(run, p, i, "there is no position %d",
                     step->to >= count || step->to < 0 ? step->to : step->from);
    if (step->to < 0 && step->from < 0)
        return wrong(run, p, i, "neither sends nor receives");
    if ((step->to == (int32_t)p) != (step->from == (int32_t)p))
        return wrong(run, p, i, "a local copy that is not from and to the position itself");
    if ((step->to < 0 && step->send.count > 0) || (step->from < 0 && step->recv.count > 0))
        return wrong(run, p, i, "has blocks for a message that it does not have");
    if (step->sync ? step->send.count + step->recv.count > 0
                   : (step->to >= 0 && step->send.count == 0) || (step->from >= 0 && step->recv.count == 0))
        return wrong(run, p, i, step->sync ? "a sync step with blocks" : "a message without blocks");
    return check_list(run, p, &step->send, true) && check_list(run, p, &step->recv, false);
}

/* The step that the position comes to. */
static bool begin(run_t *run, uint32_t p)
{
    position_t *position = &run->positions[p];
    const hp_step_t *step = step_of(run, p);

    if (!step)
        return true;
    position->sent = step->to < 0;
    position->received = step->from < 0;
    memcpy(position->knew, position->knows, run->words * sizeof *position->knew);
    if (!check_step(run, p, step) || !pack(run, p, step))
        return false;
    enqueue(run, p);
    if (step->from >= 0)
        enqueue(run, (uint32_t)step->from); /* whose message may be waiting */
    return true;
}

/* The message of `from`'s step becomes part of what `p` has. */
static bool take(run_t *run, uint32_t p, uint32_t from)
{
    position_t *position = &run->positions[p];
    const hp_step_t *step = step_of(run, p);
    const hp_schedule_t *schedule = &run->schedules[p];
    const uint32_t sent = hp_schedule_blocks(&run->schedules[from], &step_of(run, from)->send);
    const uint32_t wanted = hp_schedule_blocks(schedule, &step->recv);
    uint32_t at = 0;

    if (sent != wanted || step->sync != step_of(run, from)->sync)
        return wrong(run, p, (int32_t)position->step,
                     "receives %u blocks from %u, which sends %u in its step %u", wanted, from, sent,
                     run->positions[from].step);
    for (uint32_t r = 0; r < step->recv.count; r++) {
        const hp_range_t *range = &schedule->ranges[step->recv.first + r];
        walk_t walk = {.block = range->first};
        for (uint32_t i = 0; i < range->count; i++, walk_on(&walk, range)) {
            if (walk.block >= position->block_count[range->space])
                return not_there(run, p, range, walk.block);
            content_t *mine = content_at(run, position->blocks[range->space], walk.block),
                      *theirs = content_at(run, run->positions[from].message, at++);
            if (p == from && mine->read_by == ((position->step + 1) & INT32_MAX))
                return wrong(run, p, (int32_t)position->step, "reads block %u of %s and writes it, too",
                             walk.block, hp_space_name(range->space));
            if (run->labels && run->labels->position == p)
                run->labels->received[run->labels->received_count++] = theirs->what;
            if (step->action == HP_ACTION_STORE) {
                if (!check_place(run, p, range->space, walk.block, theirs->what) ||
                    !check_own(run, p, range->space, walk.block, theirs->what))
                    return false;
                memcpy(mine, theirs, run->content_bytes);
            } else if (!combine(run, p, mine, theirs, step->action == HP_ACTION_REDUCE_LEFT)) {
                return false;
            }
        }
    }
    for (uint32_t w = 0; w < run->words; w++)
        position->knows[w] |= run->positions[from].knew[w];
    return true;
}

/* Lets the position's message of this step pass if its receiver is at it, and goes on to the next step when both that
 * and what the position receives have passed. */
static bool advance(run_t *run, uint32_t p)
{
    position_t *position = &run->positions[p];
    const hp_step_t *step = step_of(run, p);

    if (!step)
        return true;
    if (!position->sent) {
        const uint32_t to = (uint32_t)step->to;
        const hp_step_t *other = step_of(run, to);
        if (other && other->from == (int32_t)p && other->stream == step->stream &&
            !run->positions[to].received) {
            if (!take(run, to, p))
                return false;
            position->sent = run->positions[to].received = true;
            enqueue(run, to);
        }
    }
    if (!position->sent || !position->received)
        return true;
    position->step++;
    return begin(run, p);
}

/* ---- after the last step ---- */

/* The contributions that a position ends with are those of the positions from 0 on, so many of them. */
static uint32_t contributions_owed(const hp_problem_t *problem, uint32_t position)
{
    return problem->pattern == HP_PATTERN_SCAN     ? position + 1
           : problem->pattern == HP_PATTERN_EXSCAN ? position
                                                   : problem->count;
}

/* Word w of the set of the positions below `end`. */
static uint64_t set_below(uint32_t end, uint32_t w)
{
    const uint32_t before = 64 * w;
    return end >= before + 64 ? ~(uint64_t)0 : end <= before ? 0 : ((uint64_t)1 << (end - before)) - 1;
}

static bool check_reduced(run_t *run, uint32_t p, const content_t *content, uint32_t what)
{
    const uint32_t owed = contributions_owed(run->problem, p);

    if (content->what != what)
        return wrong(run, p, -1, "ends with block %u of the message in the place of block %u", content->what,
                     what);
    for (uint32_t w = 0; w < run->words; w++) {
        const uint64_t others = content->set[w] ^ set_below(owed, w);
        if (others == 0)
            continue;
        const uint32_t i = 64 * w + (uint32_t)__builtin_ctzll(others);
        return wrong(run, p, -1, "ends with block %u %s the contribution of position %u", what,
                     has(content, i) ? "with" : "without", i);
    }
    return true;
}

static bool check_moved(run_t *run, uint32_t p, const content_t *content, uint32_t what, uint32_t from)
{
    if (content->what == what && has(content, from))
        return true;
    return wrong(run, p, -1, "ends with block %u of position %u in the place of block %u of position %u",
                 content->what, content->lowest, what, from);
}

static bool check_result(run_t *run, uint32_t p)
{
    const hp_problem_t *problem = run->problem;
    position_t *position = &run->positions[p];

    for (uint32_t i = 0; i < position->block_count[HP_SPACE_RECV]; i++) {
        const content_t *content = content_at(run, position->blocks[HP_SPACE_RECV], i);
        if (problem->pattern == HP_PATTERN_EXSCAN && p == 0)
            return true;
        if (content->what == EMPTY)
            return wrong(run, p, -1, "ends without block %u", i);
        const bool whole = hp_pattern_is(problem->pattern, HP_PATTERN_CUT);
        const bool right =
            hp_pattern_is(problem->pattern, HP_PATTERN_REDUCES)
                ? check_reduced(run, p, content, whole ? i : p)
            : problem->pattern == HP_PATTERN_BCAST    ? check_moved(run, p, content, i, problem->root)
            : problem->pattern == HP_PATTERN_SCATTER  ? check_moved(run, p, content, p, problem->root)
            : problem->pattern == HP_PATTERN_ALLTOALL ? check_moved(run, p, content, p, i)
                                                      : check_moved(run, p, content, i, i);
        if (!right)
            return false;
    }
    for (uint32_t w = 0; problem->pattern == HP_PATTERN_BARRIER && w < run->words; w++) {
        const uint64_t missing = set_below(problem->count, w) & ~position->knows[w];
        if (missing)
            return wrong(run, p, -1, "leaves the barrier without having heard of position %u",
                         64 * w + (uint32_t)__builtin_ctzll(missing));
    }
    return true;
}

static bool check_end(run_t *run)
{
    const uint32_t count = run->problem->count;

    for (uint32_t p = 0; p < count; p++) {
        const hp_step_t *step = step_of(run, p);
        if (!step)
            continue;
        const position_t *position = &run->positions[p];
        const uint32_t other = (uint32_t)(position->sent ? step->from : step->to);
        const hp_step_t *theirs = step_of(run, other);
        char at[64];
        if (theirs)
            snprintf(at, sizeof at, "is at its step %u (to %d, from %d)", run->positions[other].step,
                     theirs->to, theirs->from);
        else
            snprintf(at, sizeof at, "has finished");
        return wrong(run, p, (int32_t)position->step, "waits for ever to %s %u, which %s",
                     position->sent ? "receive from" : "send to", other, at);
    }
    for (uint32_t p = 0; p < count; p++)
        if (!check_result(run, p))
            return false;
    return true;
}

/* ---- all of it ---- */

static void run_fini(run_t *run)
{
    free(run->contents);
    free(run->knows);
    free(run->positions);
    free(run->queue);
}

static hp_status_t verify(const hp_schedule_t *schedules, const hp_problem_t *problem, hp_fault_t *fault,
                          hp_labels_t *labels)
{
    const uint32_t count = problem->count;
    run_t run = {.problem = problem,
                 .schedules = schedules,
                 .fault = fault,
                 .words = labels ? 0 : (count + 63) / 64,
                 .labels = labels};

    *fault = (hp_fault_t){.position = -1, .step = -1};
    run.content_bytes = sizeof(content_t) + run.words * sizeof(uint64_t);
    run.positions = calloc(count, sizeof *run.positions);
    run.queue = calloc(count, sizeof *run.queue);
    if (!run.positions || !run.queue)
        run.status = HP_ERR_NO_MEM;
    bool right = run.status == HP_OK && start(&run);
    for (uint32_t p = 0; p < count && right; p++)
        right = begin(&run, p);
    while (right && run.queue_length > 0) {
        const uint32_t p = run.queue[run.queue_first];
        run.queue_first = run.queue_first + 1 < count ? run.queue_first + 1 : 0;
        run.queue_length--;
        run.positions[p].queued = false;
        right = advance(&run, p);
    }
    if (right && !labels)
        check_end(&run);
    run_fini(&run);
    return run.status;
}

hp_status_t hp_schedules_verify(const hp_schedule_t *schedules, const hp_problem_t *problem,
                                hp_fault_t *fault)
{
    return verify(schedules, problem, fault, NULL);
}

hp_status_t hp_schedules_label(const hp_schedule_t *schedules, const hp_problem_t *problem, uint32_t position,
                               hp_labels_t *labels)
{
    const hp_schedule_t *schedule = &schedules[position];
    uint64_t sent = 0, received = 0;
    hp_fault_t fault;

    for (uint32_t i = 0; i < schedule->step_count; i++) {
        sent += hp_schedule_blocks(schedule, &schedule->steps[i].send);
        received += hp_schedule_blocks(schedule, &schedule->steps[i].recv);
    }
    *labels = (hp_labels_t){.position = position,
                            .sent = malloc((sent + 1) * sizeof *labels->sent),
                            .received = malloc((received + 1) * sizeof *labels->received)};
    if (!labels->sent || !labels->received)
        return HP_ERR_NO_MEM;
    const hp_status_t status = verify(schedules, problem, &fault, labels);
    return status == HP_OK && (labels->sent_count != sent || labels->received_count != received) ? HP_ERR_ARG
                                                                                                 : status;
}

void hp_labels_fini(hp_labels_t *labels)
{
    free(labels->sent);
    free(labels->received);
    *labels = (hp_labels_t){0};
}
