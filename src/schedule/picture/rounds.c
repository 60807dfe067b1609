#include "schedule/picture/rounds.h"

#include <stdlib.h>
#include <string.h>

/* Rounds from which on something can happen. */
typedef struct {
    uint32_t filled;              /* what the block holds can be sent, or copied */
    uint32_t by_message, by_copy; /* it can be replaced by what comes in, or by a local copy */
} block_t;

typedef struct {
    block_t *blocks[HP_SPACE_COUNT];
    uint32_t step;
    bool sent, received; /* the messages of this step */
    uint64_t *busy[2];   /* a bit for each round in which it sends, or receives */
    uint32_t busy_words[2];
    uint32_t streams[HP_STREAMS_MAX]; /* the round after the last message that it sent in it */
    uint32_t begin;                   /* of this step, as far as steps must wait for those before them */
    uint32_t ready;                   /* what this step sends, as it was when the step began, is there */
    uint32_t done;                    /* the round after the last message so far */
    bool queued;
} position_t;

typedef struct {
    hp_rounds_t *rounds;
    const hp_schedule_t *schedules;
    uint32_t count;
    position_t *positions;
    uint32_t *queue; /* positions to be looked at, a ring of `count` */
    uint32_t queue_first, queue_length;
    bool has_memory;
} run_t;

enum { SENDS, RECEIVES };

static void raise(uint32_t *round, uint32_t least)
{
    if (*round < least)
        *round = least;
}

/* ---- before the first step ---- */

static uint32_t messages_of(const run_t *run)
{
    uint32_t messages = 0;

    for (uint32_t p = 0; p < run->count; p++)
        for (uint32_t i = 0; i < run->schedules[p].step_count; i++)
            messages += run->schedules[p].steps[i].to >= 0;
    return messages;
}

static bool start(run_t *run, const hp_problem_t *problem)
{
    const uint32_t messages = messages_of(run);

    run->positions = calloc(run->count, sizeof *run->positions);
    run->queue = calloc(run->count, sizeof *run->queue);
    run->rounds->messages = calloc(messages + 1, sizeof *run->rounds->messages);
    run->has_memory = run->positions && run->queue && run->rounds->messages;
    for (uint32_t p = 0; p < run->count && run->has_memory; p++)
        for (unsigned space = 0; space < HP_SPACE_COUNT; space++) {
            const hp_schedule_t *schedule = &run->schedules[p];
            const uint32_t blocks = space == HP_SPACE_SCRATCH
                                        ? schedule->scratch_blocks
                                        : hp_problem_blocks(problem, schedule->cut, (hp_space_t)space, p);
            run->positions[p].blocks[space] = calloc(blocks + 1, sizeof(block_t));
            run->has_memory = run->has_memory && run->positions[p].blocks[space];
        }
    return run->has_memory;
}

static void run_fini(run_t *run)
{
    for (uint32_t p = 0; run->positions && p < run->count; p++) {
        for (unsigned space = 0; space < HP_SPACE_COUNT; space++)
            free(run->positions[p].blocks[space]);
        free(run->positions[p].busy[SENDS]);
        free(run->positions[p].busy[RECEIVES]);
    }
    free(run->positions);
    free(run->queue);
}

/* ---- messages ---- */

static const hp_step_t *step_of(const run_t *run, uint32_t p)
{
    const hp_schedule_t *schedule = &run->schedules[p];
    return run->positions[p].step < schedule->step_count ? &schedule->steps[run->positions[p].step] : NULL;
}

typedef void (*each_block_fn_t)(block_t *block, uint32_t *round);

static void for_each_block(run_t *run, uint32_t p, const hp_list_t *list, uint32_t *round,
                           each_block_fn_t each)
{
    for (uint32_t r = 0; r < list->count; r++) {
        const hp_range_t *range = &run->schedules[p].ranges[list->first + r];
        for (uint32_t i = 0; i < range->count; i++)
            each(&run->positions[p].blocks[range->space][hp_range_block(range, i)], round);
    }
}

static void wait_to_send(block_t *block, uint32_t *round)
{
    raise(round, block->filled);
}

static void wait_to_receive(block_t *block, uint32_t *round)
{
    raise(round, block->filled);
    raise(round, block->by_message);
}

static void wait_to_be_copied_to(block_t *block, uint32_t *round)
{
    raise(round, block->filled);
    raise(round, block->by_copy);
}

/* What is sent in a round is read before what comes in it is stored; local copies come before both. */
static void has_been_sent(block_t *block, uint32_t *round)
{
    raise(&block->by_message, *round);
    raise(&block->by_copy, *round + 1);
}

static void has_been_copied(block_t *block, uint32_t *round)
{
    raise(&block->by_message, *round);
    raise(&block->by_copy, *round);
}

static void is_filled_after(block_t *block, uint32_t *round)
{
    block->filled = *round + 1;
}

static void is_filled_at_once(block_t *block, uint32_t *round)
{
    block->filled = *round;
}

static void add(run_t *run, uint32_t from, uint32_t to, uint32_t round)
{
    const hp_step_t *step = step_of(run, from);

    run->rounds->messages[run->rounds->message_count++] =
        (hp_message_t){.from = from,
                       .to = to,
                       .from_step = run->positions[from].step,
                       .to_step = run->positions[to].step,
                       .round = round,
                       .blocks = hp_schedule_blocks(&run->schedules[from], &step->send)};
}

static void copy(run_t *run, uint32_t p)
{
    position_t *position = &run->positions[p];
    const hp_step_t *step = step_of(run, p);
    uint32_t round = position->begin;

    for_each_block(run, p, &step->send, &round, wait_to_send);
    for_each_block(run, p, &step->recv, &round, wait_to_be_copied_to);
    for_each_block(run, p, &step->send, &round, has_been_copied);
    for_each_block(run, p, &step->recv, &round, is_filled_at_once);
    add(run, p, p, round);
    run->rounds->local_count++;
}

static bool is_busy(const position_t *position, unsigned way, uint32_t round)
{
    return round / 64 < position->busy_words[way] && (position->busy[way][round / 64] >> round % 64 & 1);
}

static void keep_busy(run_t *run, position_t *position, unsigned way, uint32_t round)
{
    const uint32_t words = position->busy_words[way];

    if (round / 64 >= words) {
        const uint32_t wanted = 2 * (round / 64 + 1);
        uint64_t *more = realloc(position->busy[way], wanted * sizeof *more);
        run->has_memory = run->has_memory && more;
        if (!more)
            return;
        memset(more + words, 0, (wanted - words) * sizeof *more);
        position->busy[way] = more;
        position->busy_words[way] = wanted;
    }
    position->busy[way][round / 64] |= (uint64_t)1 << round % 64;
}

static void pass(run_t *run, uint32_t from, uint32_t to)
{
    position_t *sender = &run->positions[from], *receiver = &run->positions[to];
    const hp_step_t *send = step_of(run, from), *receive = step_of(run, to);
    uint32_t round = sender->begin;

    raise(&round, receiver->begin);
    raise(&round, sender->streams[send->stream]);
    raise(&round, sender->ready);
    for_each_block(run, to, &receive->recv, &round, wait_to_receive);
    while (is_busy(sender, SENDS, round) || is_busy(receiver, RECEIVES, round))
        round++;
    for_each_block(run, from, &send->send, &round, has_been_sent);
    for_each_block(run, to, &receive->recv, &round, is_filled_after);
    keep_busy(run, sender, SENDS, round);
    keep_busy(run, receiver, RECEIVES, round);
    sender->streams[send->stream] = round + 1;
    raise(&sender->done, round + 1);
    raise(&receiver->done, round + 1);
    raise(&run->rounds->rounds, round + 1);
    add(run, from, to, round);
}

/* ---- steps ---- */

static void enqueue(run_t *run, uint32_t p)
{
    if (run->positions[p].queued)
        return;
    run->positions[p].queued = true;
    run->queue[(run->queue_first + run->queue_length++) % run->count] = p;
}

/* The step that the position comes to. */
static void begin(run_t *run, uint32_t p)
{
    position_t *position = &run->positions[p];
    const hp_step_t *step = step_of(run, p);

    if (!step)
        return;
    position->sent = step->to < 0;
    position->received = step->from < 0;
    if (step->sync)
        position->begin = position->done;
    position->ready = 0;
    for_each_block(run, p, &step->send, &position->ready, wait_to_send);
    enqueue(run, p);
    if (step->from >= 0)
        enqueue(run, (uint32_t)step->from);
}

/* As verify.c does it, so that what is right there gets through here. */
static void advance(run_t *run, uint32_t p)
{
    position_t *position = &run->positions[p];
    const hp_step_t *step = step_of(run, p);

    if (!step)
        return;
    if (step->to == (int32_t)p) {
        copy(run, p);
        position->sent = position->received = true;
    } else if (!position->sent) {
        const uint32_t to = (uint32_t)step->to;
        const hp_step_t *other = step_of(run, to);
        if (other && other->from == (int32_t)p && other->stream == step->stream &&
            !run->positions[to].received) {
            pass(run, p, to);
            position->sent = run->positions[to].received = true;
            enqueue(run, to);
        }
    }
    if (!position->sent || !position->received)
        return;
    if (step->sync)
        position->begin = position->done;
    position->step++;
    begin(run, p);
}

hp_status_t hp_rounds_init(hp_rounds_t *rounds, const hp_schedule_t *schedules, const hp_problem_t *problem)
{
    run_t run = {.rounds = rounds, .schedules = schedules, .count = problem->count};

    *rounds = (hp_rounds_t){0};
    hp_status_t status = start(&run, problem) ? HP_OK : HP_ERR_NO_MEM;
    for (uint32_t p = 0; p < run.count && status == HP_OK; p++)
        begin(&run, p);
    while (run.queue_length > 0 && run.has_memory) {
        const uint32_t p = run.queue[run.queue_first];
        run.queue_first = (run.queue_first + 1) % run.count;
        run.queue_length--;
        run.positions[p].queued = false;
        advance(&run, p);
    }
    if (!run.has_memory)
        status = HP_ERR_NO_MEM;
    for (uint32_t p = 0; p < run.count && status == HP_OK; p++)
        status = step_of(&run, p) ? HP_ERR_ARG : HP_OK;
    run_fini(&run);
    if (status != HP_OK)
        hp_rounds_fini(rounds);
    return status;
}

void hp_rounds_fini(hp_rounds_t *rounds)
{
    free(rounds->messages);
    *rounds = (hp_rounds_t){0};
}
