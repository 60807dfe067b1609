#include "schedule/generators/parts/phase_steps.h"

#include <stdlib.h>
#include <string.h>
#include "base/grow.h"

enum { NOBODY = UINT32_MAX };

/* ---- messages by phase ---- */

typedef struct {
    uint32_t phase, from, to;
} message_t;

static int by_phase(const void *a, const void *b)
{
    const message_t *x = a, *y = b;

    if (x->phase != y->phase)
        return x->phase < y->phase ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

/* ---- pairwise ---- */

/* A link that carries several messages of a phase is as many lanes. What is known to be over: of each lane, the messages of
 * so many phases. The messages of a lane follow each other, so a number tells it all. */
typedef struct {
    const hp_paths_t *paths;
    hp_phase_syncs_t *syncs;
    uint32_t *first_lane; /* [link], and one more: all lanes */
    uint32_t *in_phase;   /* [link] messages of this phase so far */
    uint32_t *known;      /* [position * lanes + lane] */
    uint32_t *told;       /* the same of senders, before the messages of a phase: what goes with these */
    uint32_t *last;       /* [lane] the phase of its last message so far, counted from 1; 0: none */
    uint32_t *receiver;   /* [lane] of that message */
    uint32_t *path;
} pairwise_t;

static uint32_t lanes_of(const pairwise_t *w)
{
    return w->first_lane[w->paths->links];
}

static uint32_t *known_of(const pairwise_t *w, uint32_t position)
{
    return w->known + (size_t)position * lanes_of(w);
}

static void learn(const pairwise_t *w, uint32_t position, const uint32_t *told)
{
    uint32_t *known = known_of(w, position);

    for (uint32_t lane = 0; lane < lanes_of(w); lane++)
        known[lane] = told[lane] > known[lane] ? told[lane] : known[lane];
}

static bool add_sync(hp_phase_syncs_t *syncs, hp_phase_sync_t sync)
{
    if (!hp_grow(&syncs->entries, &syncs->room, syncs->count, sizeof *syncs->entries, 256))
        return false;
    syncs->entries[syncs->count++] = sync;
    return true;
}

/* The message's lanes, one of each of its links but for those inside machines, into path; the next message of the phase
 * gets others. */
static uint32_t take_lanes(const pairwise_t *w, const message_t *message)
{
    const uint32_t cables = 2 * w->paths->problem->placement->network->node_count;
    const uint32_t count = hp_paths_links(w->paths, message->from, message->to, w->path);
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++) {
        const uint32_t link = w->path[i];
        if (link < cables || link >= w->paths->links - 2 * w->paths->count)
            w->path[kept++] = w->first_lane[link] + w->in_phase[link]++;
    }
    return kept;
}

static void save_known(const pairwise_t *w, const message_t *message)
{
    memcpy(w->told + (size_t)message->from * lanes_of(w), known_of(w, message->from),
           lanes_of(w) * sizeof *w->told);
}

static void begin_phase(const pairwise_t *w)
{
    memset(w->in_phase, 0, w->paths->links * sizeof *w->in_phase);
}

/* Who sends the message asks, of each of its lanes, who received the last message on it. */
static bool wait_for_links(const pairwise_t *w, const message_t *message)
{
    const uint32_t count = take_lanes(w, message);
    const uint32_t *known = known_of(w, message->from);

    for (uint32_t i = 0; i < count; i++) {
        const uint32_t lane = w->path[i];
        if (known[lane] >= w->last[lane])
            continue;
        if (!add_sync(w->syncs, (hp_phase_sync_t){message->phase, w->receiver[lane], message->from}))
            return false;
        learn(w, message->from, known_of(w, w->receiver[lane]));
    }
    return true;
}

/* Both ends know that it is over, the receiver also what the sender knew. */
static void pass(const pairwise_t *w, const message_t *message)
{
    const uint32_t count = take_lanes(w, message);
    uint32_t *sender = known_of(w, message->from), *receiver = known_of(w, message->to);

    learn(w, message->to, w->told + (size_t)message->from * lanes_of(w));
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t lane = w->path[i];
        w->last[lane] = sender[lane] = receiver[lane] = message->phase + 1;
        w->receiver[lane] = message->to;
    }
}

static uint32_t end_of_phase(const message_t *messages, uint32_t count, uint32_t from)
{
    uint32_t end = from;
    while (end < count && messages[end].phase == messages[from].phase)
        end++;
    return end;
}

/* As many lanes of each link as it has messages in a phase. */
static void count_lanes(const pairwise_t *w, const message_t *messages, uint32_t count)
{
    uint32_t *most = w->first_lane + 1;

    for (uint32_t from = 0, end; from < count; from = end) {
        end = end_of_phase(messages, count, from);
        begin_phase(w);
        for (uint32_t i = from; i < end; i++) {
            const uint32_t links = hp_paths_links(w->paths, messages[i].from, messages[i].to, w->path);
            for (uint32_t k = 0; k < links; k++) {
                const uint32_t used = ++w->in_phase[w->path[k]];
                most[w->path[k]] = used > most[w->path[k]] ? used : most[w->path[k]];
            }
        }
    }
    for (uint32_t link = 0; link < w->paths->links; link++)
        w->first_lane[link + 1] += w->first_lane[link];
}

static bool go_through(const pairwise_t *w, const message_t *messages, uint32_t count)
{
    for (uint32_t from = 0, end; from < count; from = end) {
        end = end_of_phase(messages, count, from);
        begin_phase(w);
        for (uint32_t i = from; i < end; i++)
            if (!wait_for_links(w, &messages[i]))
                return false;
        begin_phase(w);
        for (uint32_t i = from; i < end; i++)
            save_known(w, &messages[i]);
        for (uint32_t i = from; i < end; i++)
            pass(w, &messages[i]);
    }
    return true;
}

/* All messages, by phase. NULL: no memory. */
static message_t *list_messages(const hp_phases_t *phases)
{
    const uint32_t count = phases->count;
    message_t *messages = malloc((size_t)count * count * sizeof *messages), *next = messages;

    for (uint32_t from = 0; from < count && messages; from++)
        for (uint32_t to = 0; to < count; to++)
            if (from != to)
                *next++ = (message_t){hp_phases_at(phases, from, to), from, to};
    if (messages)
        qsort(messages, (size_t)count * (count - 1), sizeof *messages, by_phase);
    return messages;
}

hp_status_t hp_phase_syncs_init(hp_phase_syncs_t *syncs, const hp_phases_t *phases, const hp_paths_t *paths)
{
    const uint32_t count = paths->count, messages_count = count * (count - 1);
    message_t *messages = list_messages(phases);
    pairwise_t w = {.paths = paths,
                    .syncs = syncs,
                    .first_lane = calloc(paths->links + (size_t)1, sizeof *w.first_lane),
                    .in_phase = calloc(paths->links, sizeof *w.in_phase),
                    .path = malloc(paths->path_most * sizeof *w.path)};
    bool done = w.first_lane && w.in_phase && w.path && messages;

    *syncs = (hp_phase_syncs_t){.count = 0};
    if (done) {
        count_lanes(&w, messages, messages_count);
        w.known = calloc((size_t)count * lanes_of(&w), sizeof *w.known);
        w.told = calloc((size_t)count * lanes_of(&w), sizeof *w.told);
        w.last = calloc(lanes_of(&w), sizeof *w.last);
        w.receiver = calloc(lanes_of(&w), sizeof *w.receiver);
        done = w.known && w.told && w.last && w.receiver && go_through(&w, messages, messages_count);
    }
    free(w.first_lane);
    free(w.in_phase);
    free(w.known);
    free(w.told);
    free(w.last);
    free(w.receiver);
    free(w.path);
    free(messages);
    return done ? HP_OK : HP_ERR_NO_MEM;
}

void hp_phase_syncs_fini(hp_phase_syncs_t *syncs)
{
    free(syncs->entries);
    *syncs = (hp_phase_syncs_t){.count = 0};
}

/* ---- the steps ---- */

typedef struct {
    hp_schedule_t *schedule;
    const hp_phases_t *phases;
    const hp_phase_syncs_t *syncs;
    uint32_t barriers, me;
    uint32_t next_sync;    /* in syncs */
    uint32_t next_barrier; /* of those there are */
    bool has_fence;        /* a sync step came after the last message */
} writer_t;

/* A barrier stands before this phase: b of n before phase (b + 1) * phases / (n + 1), rounded up. */
static uint32_t phase_of_barrier(const writer_t *w, uint32_t barrier)
{
    const uint64_t parts = (uint64_t)w->barriers + 1;
    return (uint32_t)(((uint64_t)(barrier + 1) * w->phases->phases + parts - 1) / parts);
}

static void add_barrier(const writer_t *w)
{
    const uint32_t count = w->phases->count;

    for (uint32_t reach = 1; reach < count; reach *= 2)
        hp_schedule_sync(w->schedule, (int32_t)((w->me + reach) % count),
                         (int32_t)((w->me + count - reach) % count));
}

/* All that stands before the phase. */
static void keep_apart(writer_t *w, uint32_t phase)
{
    for (; w->next_barrier < w->barriers && phase_of_barrier(w, w->next_barrier) <= phase; w->next_barrier++)
        add_barrier(w);
    for (; w->syncs && w->next_sync < w->syncs->count && w->syncs->entries[w->next_sync].phase <= phase;
         w->next_sync++) {
        const hp_phase_sync_t *sync = &w->syncs->entries[w->next_sync];
        if (sync->from == w->me)
            hp_schedule_sync(w->schedule, (int32_t)sync->to, HP_NO_POSITION);
        else if (sync->to == w->me)
            hp_schedule_sync(w->schedule, HP_NO_POSITION, (int32_t)sync->from);
        w->has_fence = w->has_fence || sync->from == w->me || sync->to == w->me;
    }
}

static void add_message(writer_t *w, uint32_t to, uint32_t from)
{
    hp_schedule_step(w->schedule, to == NOBODY ? HP_NO_POSITION : (int32_t)to,
                     from == NOBODY ? HP_NO_POSITION : (int32_t)from, HP_ACTION_STORE);
    if (to != NOBODY)
        hp_schedule_sends(w->schedule, hp_range(HP_SPACE_SEND, to, 1));
    if (from != NOBODY)
        hp_schedule_receives(w->schedule, hp_range(HP_SPACE_RECV, from, 1));
}

/* Its messages of a phase: where it has one of each direction, one step. */
static void add_phase(writer_t *w, const message_t *messages, uint32_t count)
{
    keep_apart(w, messages->phase);
    if (w->syncs && !w->has_fence) /* the messages before are over */
        hp_schedule_sync(w->schedule, (int32_t)w->me, (int32_t)w->me);
    w->has_fence = false;
    if (count == 2 && w->phases->one_each) {
        const bool sends_first = messages[0].from == w->me;
        add_message(w, messages[!sends_first].to, messages[sends_first].from);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        add_message(w, messages[i].from == w->me ? messages[i].to : NOBODY,
                    messages[i].to == w->me ? messages[i].from : NOBODY);
}

void hp_phase_steps(hp_schedule_t *schedule, const hp_phases_t *phases, const hp_phase_syncs_t *syncs,
                    uint32_t barriers, uint32_t me)
{
    const uint32_t count = phases->count, gaps = phases->phases - 1;
    writer_t w = {.schedule = schedule,
                  .phases = phases,
                  .syncs = syncs,
                  .barriers = barriers < gaps ? barriers : gaps,
                  .me = me,
                  .has_fence = true};
    message_t *own = malloc(2 * (size_t)count * sizeof *own), *next = own;

    if (!own) {
        schedule->status = HP_ERR_NO_MEM;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (i == me)
            continue;
        *next++ = (message_t){hp_phases_at(phases, me, i), me, i};
        *next++ = (message_t){hp_phases_at(phases, i, me), i, me};
    }
    qsort(own, 2 * (size_t)(count - 1), sizeof *own, by_phase);
    for (uint32_t from = 0, end; from < 2 * (count - 1); from = end) {
        end = end_of_phase(own, 2 * (count - 1), from);
        add_phase(&w, own + from, end - from);
    }
    keep_apart(&w, phases->phases - 1);
    free(own);
}
