#include "run.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/machine.h"
#include "fresh.h"

/* Long enough for the clock not to matter, short beside a gap that does. */
static const double chunk_us = 1;

static const bench_blocks_t *blocks_of(const replay_run_t *run, int call)
{
    const bench_collective_t *collective = run->collectives[call];
    return collective->has_blocks ? &collective->blocks : NULL;
}

static int position_of(const replay_run_t *run, int call)
{
    return run->part->position[run->part->calls[call].comm];
}

static int ranks_of(const replay_run_t *run, int call)
{
    return run->part->comm_sizes[run->part->calls[call].comm];
}

static size_t count_of(const replay_run_t *run, int call)
{
    return run->part->calls[call].count * run->substitutes[call].factor;
}

/* Of each of the call's two buffers. */
static size_t buffer_bytes(const replay_run_t *run, int call)
{
    const bench_blocks_t *blocks = blocks_of(run, call);
    const bench_layout_t *layout = &run->layouts[call];
    size_t elements = count_of(run, call);

    if (run->part->send_counts[call])
        elements =
            (size_t)(layout->send_total > layout->recv_total ? layout->send_total : layout->recv_total);
    else if (blocks)
        elements = bench_blocks_most(blocks, elements, ranks_of(run, call));
    return elements * run->substitutes[call].type->extent;
}

/* ---- one call ---- */

static bench_call_t make_call(const replay_run_t *run, int call, bench_side_t side, const replay_slot_t *slot,
                              const bench_values_t *values, const bench_layout_t *layout)
{
    const replay_part_call_t *what = &run->part->calls[call];
    return (bench_call_t){.send = slot->send,
                          .recv = slot->recv,
                          .count = count_of(run, call),
                          .values = values,
                          .op = run->substitutes[call].op,
                          .shift = bench_shift((uint64_t)call, what->root),
                          .root = what->root,
                          .rank = position_of(run, call),
                          .comm = run->comms[side][what->comm],
                          .blocks = blocks_of(run, call),
                          .layout = layout,
                          .ranks = ranks_of(run, call)};
}

static void check_code(const replay_run_t *run, int call, int code)
{
    if (code != MPI_SUCCESS)
        bench_abort("%s returned the error code %d", run->part->names[run->part->calls[call].name], code);
}

/* ---- the validated calls ---- */

static void values_init(const replay_run_t *run, int call, bench_values_t *values)
{
    const replay_substitute_t *as = &run->substitutes[call];
    const bench_collective_t *collective = run->collectives[call];
    const int ranks = ranks_of(run, call);

    bench_values_init(values, as->type, collective->reduces ? as->op : NULL, position_of(run, call),
                      bench_contributors(&collective->blocks, position_of(run, call), ranks));
}

/* The layout of the call's blocks; of blocks of one size a temporary one. */
static const bench_layout_t *layout_of(const replay_run_t *run, int call, bench_layout_t *equal)
{
    const bench_blocks_t *blocks = blocks_of(run, call);

    if (run->part->send_counts[call] || !blocks)
        return &run->layouts[call];
    bench_layout_init(equal, blocks, BENCH_EQUAL, (int)count_of(run, call), run->substitutes[call].type,
                      position_of(run, call), ranks_of(run, call));
    return equal;
}

static void check_call(replay_run_t *run, int call, bench_side_t side, const replay_slot_t *slot, bool fill)
{
    bench_values_t values;
    bench_layout_t equal = {0};
    size_t element;

    values_init(run, call, &values);
    const bench_call_t made = make_call(run, call, side, slot, &values, layout_of(run, call, &equal));
    if (fill) {
        run->collectives[call]->fill(&made);
    } else {
        const char *wrong = run->collectives[call]->validate(&made, &element);
        if (wrong)
            fprintf(stderr,
                    "hanpmpi_replay: wrong result: %s, communicator %d, root %d, on rank %d, %s: element %zu "
                    "%s\n",
                    run->part->names[run->part->calls[call].name], run->part->calls[call].comm, made.root,
                    run->job->rank, side == BENCH_LIBRARY ? "the library's side" : "the host MPI's side",
                    element, wrong);
        run->wrong |= wrong != NULL;
    }
    bench_layout_fini(&equal);
    bench_values_fini(&values);
}

/* ---- a pass ---- */

typedef struct {
    bench_side_t side;
    bool is_check; /* only the first of equal calls, and no gaps */
    double *by_name_s;
} playing_t;

/* A rank that computes keeps its core; one that was in another call of MPI may have left it to others. When that was
 * in a gap nobody knows: all gaps have the same share of it, at their end. */
static void wait_gap(replay_run_t *run, double since, double gap_s)
{
    if (run->options->fill == REPLAY_FILL_SLEEP) {
        bench_arrival_wait(since, gap_s);
        return;
    }
    const uint64_t products = bench_compute_products(&run->compute, chunk_us);
    while (MPI_Wtime() - since < gap_s * (1 - run->part->others_share))
        bench_compute(&run->compute, products);
    while (MPI_Wtime() - since < gap_s)
        sched_yield();
}

static void complete(replay_run_t *run, const playing_t *playing, replay_slot_t *slot)
{
    if (slot->call < 0)
        return;
    BENCH_MPI(MPI_Wait(&slot->request, MPI_STATUS_IGNORE));
    if (slot->is_checked)
        check_call(run, slot->call, playing->side, slot, false);
    slot->call = -1;
}

static void start(replay_run_t *run, const playing_t *playing, int step)
{
    const int call = run->part->steps[step].call;
    const bool nonblocking = run->part->calls[call].nonblocking;
    replay_slot_t *slot = &run->slots[nonblocking ? run->slot_of[step] : 0];
    const bench_call_t made =
        make_call(run, call, playing->side, slot, &run->types[call], &run->layouts[call]);

    if (!nonblocking) {
        check_code(run, call, run->collectives[call]->run(&made));
        return;
    }
    check_code(run, call, run->collectives[call]->start(&made, &slot->request));
    slot->call = call;
    slot->is_checked = playing->is_check;
}

/* The timed part of a step. */
static void do_step(replay_run_t *run, const playing_t *playing, int step)
{
    const replay_part_step_t *what = &run->part->steps[step];

    if (what->started != REPLAY_NO_START)
        complete(run, playing, &run->slots[run->slot_of[what->started]]);
    else
        start(run, playing, step);
}

/* A check makes each call once, on all its ranks; a wait finds out for itself whether its call was made. */
static void check_step(replay_run_t *run, const playing_t *playing, int step)
{
    const replay_part_step_t *what = &run->part->steps[step];
    const bool nonblocking = run->part->calls[what->call].nonblocking;
    replay_slot_t *slot =
        &run->slots[nonblocking && what->started == REPLAY_NO_START ? run->slot_of[step] : 0];

    if (what->started != REPLAY_NO_START) {
        do_step(run, playing, step);
    } else if (what->is_first) {
        check_call(run, what->call, playing->side, slot, true);
        do_step(run, playing, step);
        if (!nonblocking)
            check_call(run, what->call, playing->side, slot, false);
    }
}

static uint64_t give_pages_back(const replay_run_t *run, const playing_t *playing, int step)
{
    const replay_part_step_t *what = &run->part->steps[step];
    const uint64_t own = run->own_faults[playing->side][step], all = (uint64_t)what->faults;
    const replay_slot_t *slot = &run->slots[0];

    if (run->part->calls[what->call].nonblocking || all <= own)
        return 0;
    const size_t bytes = buffer_bytes(run, what->call);
    return replay_fresh_make(slot->recv, slot->send, bytes, all - own);
}

static void time_step(replay_run_t *run, const playing_t *playing, int step, double *last)
{
    const replay_part_step_t *what = &run->part->steps[step];

    const uint64_t given_back = what->faults ? give_pages_back(run, playing, step) : 0;
    if (run->options->gaps == REPLAY_GAPS_RECORDED)
        wait_gap(run, *last, what->gap_s);
    const uint64_t faults = what->faults ? replay_fresh_faults() : 0;
    const double begin = MPI_Wtime();
    do_step(run, playing, step);
    *last = MPI_Wtime();
    if (what->faults) {
        const uint64_t in_call = replay_fresh_faults() - faults;
        run->own_faults[playing->side][step] = in_call > given_back ? in_call - given_back : 0;
    }
    playing->by_name_s[run->part->calls[what->call].name] += *last - begin;
}

static double play(replay_run_t *run, const playing_t *playing)
{
    BENCH_MPI(MPI_Barrier(run->job->sync));
    const double begin = MPI_Wtime();
    double last = begin;

    for (int step = 0; step < run->part->step_count; step++)
        if (playing->is_check)
            check_step(run, playing, step);
        else
            time_step(run, playing, step, &last);
    /* Those that the program did not wait for in what was recorded. */
    for (int slot = 1; slot < run->slot_count; slot++)
        complete(run, playing, &run->slots[slot]);
    return MPI_Wtime() - begin;
}

/* Not by MPI_Abort: a launcher may kill the ranks before it has passed on what they said. */
static void stop_if_wrong(const replay_run_t *run)
{
    int any;

    BENCH_MPI(MPI_Allreduce(&run->wrong, &any, 1, MPI_INT, MPI_MAX, run->job->sync));
    if (any) {
        fflush(NULL);
        MPI_Finalize();
        exit(EXIT_FAILURE);
    }
}

static void clear_buffers(replay_run_t *run)
{
    for (int slot = 0; slot < run->slot_count; slot++) {
        memset(run->slots[slot].send, 0, run->slots[slot].bytes);
        memset(run->slots[slot].recv, 0, run->slots[slot].bytes);
    }
}

void replay_run_check(replay_run_t *run)
{
    for (int side = 0; side < run->job->side_count; side++) {
        const playing_t playing = {.side = (bench_side_t)side, .is_check = true};
        play(run, &playing);
        stop_if_wrong(run);
    }
    clear_buffers(run);
}

void replay_run_pass(replay_run_t *run, bench_side_t side, replay_pass_t *pass)
{
    const int names = run->part->name_count;
    double *mine = replay_allocate((size_t)names, sizeof *mine);
    const playing_t playing = {.side = side, .by_name_s = mine};
    const double wall_s = play(run, &playing);

    BENCH_MPI(MPI_Reduce(&wall_s, &pass->wall_s, 1, MPI_DOUBLE, MPI_MAX, 0, run->job->sync));
    BENCH_MPI(MPI_Reduce(mine, pass->by_name_s, names, MPI_DOUBLE, MPI_SUM, 0, run->job->sync));
    for (int name = 0; name < names; name++)
        pass->by_name_s[name] /= run->job->size;
    free(mine);
}

uint64_t replay_run_taken(const replay_run_t *run, int name)
{
    bool nonblocking;
    bench_outcomes_t outcomes;
    uint64_t all = 0;

    bench_outcomes_get(replay_collective(run->part->names[name], &nonblocking)->name, &outcomes);
    const uint64_t mine = outcomes.count ? outcomes.calls[0] : 0;
    BENCH_MPI(MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, 0, run->job->sync));
    return all;
}

/* ---- before and after ---- */

static void make_comms(replay_run_t *run)
{
    const replay_part_t *part = run->part;
    MPI_Group world, group;
    MPI_Comm comm;

    BENCH_MPI(MPI_Comm_group(run->job->sync, &world));
    for (int side = 0; side < BENCH_SIDES; side++)
        run->comms[side] = replay_allocate((size_t)part->comm_count, sizeof(MPI_Comm));
    for (int i = 0; i < part->comm_count; i++) {
        for (int side = 0; side < BENCH_SIDES; side++)
            run->comms[side][i] = MPI_COMM_NULL;
        if (part->position[i] < 0)
            continue;
        BENCH_MPI(MPI_Group_incl(world, part->comm_sizes[i], part->comm_ranks[i], &group));
        BENCH_MPI(MPI_Comm_create_group(run->job->sync, group, 0, &comm));
        run->comms[BENCH_HOST][i] = bench_duplicate_host(comm);
        if (run->job->side_count == BENCH_SIDES)
            run->comms[BENCH_LIBRARY][i] =
                bench_duplicate_library(comm, run->options->hints, run->options->hint_count);
        BENCH_MPI(MPI_Comm_free(&comm));
        BENCH_MPI(MPI_Group_free(&group));
    }
    BENCH_MPI(MPI_Group_free(&world));
}

/* The counts of the recording's elements, in those of what stands for them. */
static void init_layout(replay_run_t *run, int call)
{
    const size_t factor = run->substitutes[call].factor;
    const int ranks = ranks_of(run, call);
    int *counts = run->part->send_counts[call]; /* what is received lies behind it */
    int64_t sums[2] = {0};

    for (int r = 0; r < 2 * ranks; r++) {
        sums[r / ranks] += counts[r] * (int64_t)factor;
        counts[r] *= (int)factor;
    }
    if (sums[0] > INT_MAX || sums[1] > INT_MAX)
        bench_abort("%s: its blocks are %lld elements of %s, more than %d, and cannot be replayed",
                    run->part->names[run->part->calls[call].name],
                    (long long)(sums[0] > sums[1] ? sums[0] : sums[1]), run->substitutes[call].type->name,
                    INT_MAX);
    bench_layout_init_counts(&run->layouts[call], blocks_of(run, call), counts, counts + ranks,
                             run->substitutes[call].type, position_of(run, call), ranks);
}

static void read_calls(replay_run_t *run)
{
    const replay_part_t *part = run->part;

    run->collectives = replay_allocate((size_t)part->call_count, sizeof *run->collectives);
    run->substitutes = replay_allocate((size_t)part->call_count, sizeof *run->substitutes);
    run->types = replay_allocate((size_t)part->call_count, sizeof *run->types);
    run->layouts = replay_allocate((size_t)part->call_count, sizeof *run->layouts);
    for (int call = 0; call < part->call_count; call++) {
        const replay_part_call_t *what = &part->calls[call];
        run->collectives[call] = bench_collective_find(what->collective);
        run->substitutes[call] =
            replay_substitute(what->type, what->type_bytes, run->collectives[call]->reduces ? what->op : "");
        if (run->collectives[call]->reduces && !run->substitutes[call].op) {
            run->substitutes[call].op = bench_op_default(run->substitutes[call].type);
            run->substitutes[call].is_like_op = true;
        }
        run->types[call].type = run->substitutes[call].type;
        if (part->send_counts[call])
            init_layout(run, call);
        else if (count_of(run, call) > (blocks_of(run, call) ? INT_MAX : bench_count_max()))
            bench_abort("%s of %zu elements of %s is too long to be replayed", part->names[what->name],
                        count_of(run, call), run->substitutes[call].type->name);
    }
}

/* The slots of the non-blocking calls that are under way at a time. */
static void choose_slots(replay_run_t *run)
{
    const int steps = run->part->step_count;
    int *free_slots = replay_allocate((size_t)steps, sizeof *free_slots), free_count = 0;

    run->slots = replay_allocate((size_t)steps + 1, sizeof *run->slots);
    run->slot_of = replay_allocate((size_t)steps, sizeof *run->slot_of);
    run->slot_count = 1;
    for (int step = 0; step < steps; step++) {
        const replay_part_step_t *what = &run->part->steps[step];
        replay_slot_t *slot = &run->slots[0];
        if (what->started != REPLAY_NO_START) {
            free_slots[free_count++] = run->slot_of[what->started];
            continue;
        }
        if (run->part->calls[what->call].nonblocking) {
            run->slot_of[step] = free_count > 0 ? free_slots[--free_count] : run->slot_count++;
            slot = &run->slots[run->slot_of[step]];
        }
        const size_t bytes = buffer_bytes(run, what->call);
        slot->bytes = bytes > slot->bytes ? bytes : slot->bytes;
    }
    free(free_slots);
}

/* Rank 0 need not know: each node speaks for itself. The factor 2 is for what the MPI and the library need. */
static bool allocate_slots(replay_run_t *run)
{
    bench_machine_t machine;
    size_t needed = 0;
    int fits, all_fit;

    bench_machine_read(&machine);
    for (int slot = 0; slot < run->slot_count; slot++)
        needed += 2 * run->slots[slot].bytes;
    fits = 2 * needed * (size_t)run->job->node_ranks <= machine.available_bytes;
    BENCH_MPI(MPI_Allreduce(&fits, &all_fit, 1, MPI_INT, MPI_MIN, run->job->sync));
    if (!fits)
        fprintf(stderr,
                "hanpmpi_replay: rank %d's buffers are %zu MiB, and with the other %d ranks' of its node "
                "they do not fit into the "
                "%zu MiB that are available: use more nodes\n",
                run->job->rank, needed >> 20, run->job->node_ranks - 1, machine.available_bytes >> 20);
    if (!all_fit)
        return false;
    for (int slot = 0; slot < run->slot_count; slot++) {
        run->slots[slot].send = bench_allocate(run->slots[slot].bytes);
        run->slots[slot].recv = bench_allocate(run->slots[slot].bytes);
        run->slots[slot].call = -1;
    }
    clear_buffers(run);
    return true;
}

bool replay_run_init(replay_run_t *run, const bench_job_t *job, const replay_options_t *options,
                     const replay_part_t *part)
{
    *run = (replay_run_t){.job = job, .options = options, .part = part};
    if (options->fill == REPLAY_FILL_COMPUTE && options->gaps == REPLAY_GAPS_RECORDED)
        bench_compute_init(&run->compute);
    for (int side = 0; side < BENCH_SIDES; side++)
        run->own_faults[side] = replay_allocate((size_t)part->step_count, sizeof *run->own_faults[side]);
    make_comms(run);
    read_calls(run);
    choose_slots(run);
    return allocate_slots(run);
}

void replay_run_fini(replay_run_t *run)
{
    for (int side = 0; side < BENCH_SIDES; side++) {
        for (int i = 0; i < run->part->comm_count; i++)
            if (run->comms[side][i] != MPI_COMM_NULL)
                BENCH_MPI(MPI_Comm_free(&run->comms[side][i]));
        free(run->comms[side]);
        free(run->own_faults[side]);
    }
    for (int call = 0; call < run->part->call_count; call++)
        bench_layout_fini(&run->layouts[call]);
    for (int slot = 0; slot < run->slot_count; slot++) {
        free(run->slots[slot].send);
        free(run->slots[slot].recv);
    }
    free(run->collectives);
    free(run->substitutes);
    free(run->types);
    free(run->layouts);
    free(run->slots);
    free(run->slot_of);
}
