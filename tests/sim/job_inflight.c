#include <stdlib.h>
#include <string.h>
#include "hier/executions/execution.h"
#include "sim/job_state.h"

typedef struct player player_t;

/* One collective on one rank. */
typedef struct {
    player_t *player;
    uint32_t index;
    hp_execution_t *execution; /* NULL: put back, or not called yet */
    bool done, keeps;          /* put back when it is looked at, and not when it is done */
    hp_status_t status;
} called_t;

/* One rank. */
struct player {
    job_t *job;
    const inflight_t *how;
    uint32_t rank;
    sim_random_t random;
    called_t *calls;
    uint32_t called, started, done;
    uint32_t waits_from, waits_to; /* until these are done; empty: it does not wait */
    hp_status_t failed;            /* the first error */
};

static void now_more(uint32_t *most, uint32_t now)
{
    if (now > *most)
        *most = now;
}

/* ---- one collective ---- */

static void on_start(hp_comm_t *comm, hp_execution_t *execution, const hp_call_t *call,
                     const hp_setting_t *setting)
{
    called_t *own = execution->owner;
    player_t *player = own->player;
    problem_t *problem = &player->job->problem;
    const hp_executions_t *all = comm->executions;
    const bool alone = execution->algorithm->runs_alone(comm, call, setting);
    uint32_t running = 0;

    for (const hp_execution_t *other = all->running; other; other = other->next)
        running++;
    if (own->index != player->started++)
        problem_report(problem, "rank %u: collective %u starts as number %u", player->rank, own->index,
                       player->started - 1);
    if (running && (alone || all->running_alone))
        problem_report(problem, "rank %u: collective %u starts beside others and must not", player->rank,
                       own->index);
    if (running >= HP_RUNNING_MAX || running != all->running_count)
        problem_report(problem, "rank %u: %u run, counted as %u", player->rank, running, all->running_count);
    if (call->collective != player->job->exchanges[own->index].collective->algorithm->collective)
        problem_report(problem, "rank %u: collective %u starts as another one", player->rank, own->index);
    now_more(&player->job->seen.running, running + 1);
    player->job->seen.alone += alone;
    player->job->seen.again += execution->plan->again.start != NULL;
}

static void put_back(player_t *player, called_t *own)
{
    hp_execution_put(player->job->comms[player->rank], own->execution);
    own->execution = NULL;
}

static void on_done(hp_comm_t *comm, hp_execution_t *execution)
{
    called_t *own = execution->owner;
    player_t *player = own->player;
    job_t *job = player->job;
    const exchange_t *x = &job->exchanges[own->index];

    (void)comm;
    if (own->done || execution->phase != HP_PHASE_DONE ||
        (execution->request && !hp_request_done(execution->request)))
        problem_report(&job->problem, "rank %u: collective %u is told to be done and is not", player->rank,
                       own->index);
    own->done = true;
    own->status = execution->status;
    player->done++;
    if (own->status != HP_OK) {
        job->seen.failed++;
        if (player->failed == HP_OK)
            player->failed = own->status;
    } else if (x->collective->algorithm->collective == HP_BARRIER && x->entered < job->rank_count) {
        problem_report(&job->problem, "rank %u left barrier %u that %u of %u ranks had entered", player->rank,
                       own->index, x->entered, job->rank_count);
    }
    if (!own->keeps)
        put_back(player, own);
}

static void collect(player_t *player)
{
    for (uint32_t i = 0; i < player->called; i++)
        if (player->calls[i].done && player->calls[i].execution)
            put_back(player, &player->calls[i]);
}

static void call_next(player_t *player)
{
    job_t *job = player->job;
    hp_comm_t *comm = job->comms[player->rank];
    called_t *own = &player->calls[player->called];
    exchange_t *x = &job->exchanges[player->called];
    hp_execution_t *execution = hp_execution_get(comm);

    if (!execution) {
        player->failed = HP_ERR_NO_MEM;
        return;
    }
    *own = (called_t){.player = player,
                      .index = player->called,
                      .execution = execution,
                      .keeps = sim_random_below(&player->random, 2) != 0};
    player->called++;
    x->entered++;
    execution->owner = own;
    execution->on_start = on_start;
    execution->on_done = on_done;
    hp_call_t call = exchange_call(x, player->rank);
    hp_setting_t setting = job_setting(job, x->collective);
    const uint64_t sets_before = job_sets();
    hp_execution_submit(comm, execution, x->collective->algorithm, &call, &setting);
    job_wake_node(job, player->rank, sets_before);
    memset(&call, 0xa5, sizeof call); /* they were the caller's */
    memset(&setting, 0xa5, sizeof setting);
    job->seen.queued += !own->done && own->execution->phase == HP_PHASE_QUEUED;
    now_more(&job->seen.in_flight, player->called - player->done);
    if (x->collective->blocking) {
        player->waits_from = own->index;
        player->waits_to = own->index + 1;
    }
}

/* ---- the program of a rank ---- */

static bool progress(player_t *player)
{
    const uint64_t sets_before = job_sets();
    const bool moved = hp_executions_progress(player->job->comms[player->rank]);
    job_wake_node(player->job, player->rank, sets_before);
    return moved;
}

static bool waits(const player_t *player)
{
    for (uint32_t i = player->waits_from; i < player->waits_to; i++)
        if (!player->calls[i].done)
            return true;
    return false;
}

/* For all of them, the oldest, the newest, any one. */
static void choose_wait(player_t *player)
{
    player->waits_from = 0;
    player->waits_to = player->called;
    if (!player->called || sim_random_below(&player->random, 4) == 0)
        return;
    player->waits_from = (uint32_t)sim_random_below(&player->random, player->called);
    player->waits_to = player->waits_from + 1;
}

static bool is_through(const player_t *player)
{
    return player->failed != HP_OK || player->called == player->job->exchange_count;
}

static bool inflight_done(void *context, uint32_t rank)
{
    const player_t *player = &((const player_t *)context)[rank];
    return player->failed == HP_OK && is_through(player) && player->done == player->called;
}

static hp_status_t inflight_start(void *context, uint32_t rank)
{
    (void)context;
    (void)rank;
    return HP_OK;
}

static hp_status_t inflight_progress(void *context, uint32_t rank, bool *moved)
{
    player_t *player = &((player_t *)context)[rank];
    const bool waited = waits(player), at_the_end = player->how->waits_at_the_end;
    const bool full = player->called - player->done >= player->how->most_in_flight;

    *moved = true;
    if (is_through(player) || waited || (full && at_the_end)) {
        *moved = progress(player);
        *moved = *moved || (waited && !waits(player));
        return player->failed != HP_OK && player->done == player->called ? player->failed : HP_OK;
    }
    switch (at_the_end ? 0 : sim_random_below(&player->random, 8)) {
    case 0:
    case 1:
    case 2:
    case 3:
        if (!full) {
            call_next(player);
            break;
        } /* fall through */
    case 4:
        progress(player);
        break;
    case 5:
        collect(player);
        break;
    case 6:
        choose_wait(player);
        break;
    default:
        sim_compute(player->job->sim, rank, sim_random_below(&player->random, player->how->pause_ns + 1));
        *moved = false;
    }
    return HP_OK;
}

/* ---- a run ---- */

static player_t *make_players(job_t *job, uint32_t count, const inflight_t *how)
{
    player_t *players = sim_alloc(job->rank_count, sizeof *players);
    for (uint32_t rank = 0; rank < job->rank_count; rank++) {
        players[rank] = (player_t){.job = job,
                                   .how = how,
                                   .rank = rank,
                                   .random = {sim_random_mix(how->seed) + rank},
                                   .calls = sim_alloc(count, sizeof(called_t))};
        sim_expect(job->sim, rank, SIM_EITHER);
    }
    return players;
}

/* Nobody waits for messages that were given up. */
static void check_waits(job_t *job, uint32_t rank)
{
    const uint64_t posted = sim_left_over_of(job->sim, rank);
    uint64_t awaited = 0;

    for (const hp_execution_t *e = job->comms[rank]->executions->running; e; e = e->next)
        awaited += hp_request_counters(e->request)->in_flight;
    if (awaited != posted)
        problem_report(&job->problem, "rank %u waits for %llu messages, %llu are in flight", rank,
                       (unsigned long long)awaited, (unsigned long long)posted);
}

/* With an error somewhere: what is done without one is right, and nothing else was touched. */
static void check_done(job_t *job, const player_t *players)
{
    for (uint32_t rank = 0; rank < job->rank_count; rank++) {
        check_waits(job, rank);
        for (uint32_t i = 0; i < players[rank].called; i++) {
            const called_t *own = &players[rank].calls[i];
            if (own->done && own->status == HP_OK)
                exchange_check(&job->exchanges[i], rank, &job->problem);
            else
                exchange_check_frame(&job->exchanges[i], rank, &job->problem);
        }
    }
}

static void report_deadlock(job_t *job, const player_t *player)
{
    uint32_t oldest = 0;
    while (oldest < player->called && player->calls[oldest].done)
        oldest++;
    problem_report(&job->problem,
                   "deadlock: rank %u has called %u, %u are done, %u is the oldest that is not", player->rank,
                   player->called, player->done, oldest);
}

/* What a failed run has left, for job_abandon: the callbacks must not find the players any more. */
static void forget_players(job_t *job, player_t *players)
{
    for (uint32_t rank = 0; rank < job->rank_count; rank++) {
        player_t *player = &players[rank];
        collect(player);
        for (uint32_t i = 0; i < player->called; i++)
            if (player->calls[i].execution) {
                player->calls[i].execution->on_start = NULL;
                player->calls[i].execution->on_done = hp_execution_put;
            }
        free(player->calls);
    }
    free(players);
}

bool job_run_inflight(job_t *job, const collective_t *collectives, uint32_t count, const inflight_t *how,
                      sim_outcome_t *outcomes)
{
    static const sim_program_t program = {inflight_start, inflight_progress, inflight_done};
    sim_outcome_t *own = sim_alloc(job->rank_count, sizeof *own);
    player_t *players = make_players(job, count, how);
    bool failed = false;

    job_begin(job, collectives, count);
    job->seen = (inflight_seen_t){0};
    const bool finished = sim_run(job->sim, &program, players, own);
    for (uint32_t rank = 0; rank < job->rank_count; rank++) {
        own[rank].status = players[rank].failed; /* also when it waits for what never comes */
        failed = failed || players[rank].failed != HP_OK;
    }
    if (failed)
        check_done(job, players);
    job->seen.sound = !job->problem.text[0] && !sim_problem(job->sim);
    for (uint32_t rank = 0; rank < job->rank_count && !finished && !failed; rank++)
        if (!own[rank].finished)
            report_deadlock(job, &players[rank]);
    forget_players(job, players);
    job_collect(job, own);
    if (outcomes)
        memcpy(outcomes, own, job->rank_count * sizeof *own);
    free(own);
    return job_finish(job);
}

void job_abandon_executions(job_t *job, uint32_t rank, void *rubbish)
{
    hp_comm_t *comm = job->comms[rank];

    while (hp_executions_any(comm)) { /* each of the queued ones starts, and fails */
        job_release_from_waits(comm, rubbish);
        sim_fail_call(job->sim, rank, SIM_POLL, 0);
        hp_executions_progress(comm);
        sim_fail_call(job->sim, rank, SIM_POLL, UINT32_MAX); /* there may have been no poll */
    }
}

const inflight_seen_t *job_inflight_seen(const job_t *job)
{
    return &job->seen;
}
