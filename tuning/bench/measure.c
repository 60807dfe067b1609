#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 4096, WARMUP_ROUNDS_MAX = 20 };

typedef struct {
    const bench_job_t *job;
    const bench_case_t *what;
    bench_values_t values;
    size_t count;                          /* elements of a call */
    size_t stride;                         /* from one place of a buffer to the next */
    uint64_t places;                       /* 1: warm */
    char *send, *recv;                     /* `places` places each */
    uint64_t calls;                        /* made until now, on both sides */
    double skew_seconds;                   /* 0: all arrive at once */
    int wrong;                             /* this rank got a wrong result */
    uint64_t outcomes[BENCH_OUTCOMES_MAX]; /* of the library's side since they were cleared */
    const char *outcome_words[BENCH_OUTCOMES_MAX];
} runner_t;

/* A batch of repetitions as its ranks saw it. Seconds; index: repetition. */
typedef struct {
    int repetitions;
    double *arrived[BENCH_SIDES], *done[BENCH_SIDES]; /* after the barrier */
} batch_t;

/* The same over all ranks, on rank 0. */
typedef struct {
    double *min, *avg, *max, *from_first; /* microseconds */
} summary_t;

static size_t stride_of(const bench_case_t *what)
{
    const size_t bytes = what->bytes / what->type->bytes * what->type->extent;
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + (bytes == 0 ? ALIGNMENT : 0);
}

/* At least two places, so that the two sides never share one when cold. */
static uint64_t places_of(const bench_case_t *what)
{
    const uint64_t fit = what->region_bytes / stride_of(what);
    return !what->cold ? 1 : fit > 2 ? fit : 2;
}

size_t bench_buffer_bytes(const bench_case_t *what)
{
    return (what->collective->reduces ? 2 : 1) * places_of(what) * stride_of(what);
}

/* Call number `number` of the case: which place, values and root it has. Two calls make a repetition. */
static bench_call_t call_of(const runner_t *runner, uint64_t number)
{
    const bench_case_t *what = runner->what;
    const size_t at = (size_t)(number % runner->places) * runner->stride;
    const uint64_t repetition = number / (uint64_t)runner->job->side_count;
    const int root =
        what->root != BENCH_ROTATE ? what->root : (int)(repetition % (uint64_t)runner->job->size);

    return (bench_call_t){.send = runner->send ? runner->send + at : NULL,
                          .recv = runner->recv + at,
                          .count = runner->count,
                          .values = &runner->values,
                          .op = what->op,
                          .shift = bench_shift(number, root),
                          .root = root,
                          .rank = runner->job->rank};
}

static void fill(const runner_t *runner, uint64_t number)
{
    const bench_call_t call = call_of(runner, number);
    runner->what->collective->fill(&call);
}

static void runner_init(runner_t *runner, const bench_job_t *job, const bench_case_t *what)
{
    *runner = (runner_t){.job = job,
                         .what = what,
                         .count = what->bytes / what->type->bytes,
                         .stride = stride_of(what),
                         .places = places_of(what)};
    bench_values_init(&runner->values, what->type, what->collective->reduces ? what->op : NULL, job->rank,
                      job->size);
    if (what->collective->reduces)
        runner->send = bench_allocate(runner->places * runner->stride);
    runner->recv = bench_allocate(runner->places * runner->stride);
    for (uint64_t place = 0; place < runner->places; place++)
        fill(runner, place);
}

static void runner_fini(runner_t *runner)
{
    free(runner->send);
    free(runner->recv);
    bench_values_fini(&runner->values);
}

/* What became of a call. The host's side is looked at too: nothing there may be the library's. */
static void count_outcomes(runner_t *runner, bench_side_t side, const bench_outcomes_t *before)
{
    bench_outcomes_t after;

    bench_outcomes_get(runner->what->collective->name, &after);
    if (side == BENCH_HOST && after.count > 0 && after.calls[0] != before->calls[0])
        bench_abort("the library ran a call of the host MPI's side: its hint " HANPMPI_HINT_ENABLE
                    "=off had no effect");
    for (unsigned i = 0; i < after.count && side == BENCH_LIBRARY; i++) {
        runner->outcomes[i] += after.calls[i] - before->calls[i];
        runner->outcome_words[i] = after.word[i];
    }
}

/* Says what is wrong; the job ends at the next stop_if_wrong, when all ranks know. */
static void validate(runner_t *runner, const bench_call_t *call, bench_side_t side)
{
    size_t element;
    const char *wrong = runner->what->collective->validate(call, &element);

    if (wrong && !runner->wrong)
        fprintf(stderr,
                "hanpmpi_bench: wrong result: %s of %zu bytes of %s on rank %d, root %d, call %llu, %s: "
                "element %zu %s\n",
                runner->what->collective->name, runner->what->bytes, runner->what->type->name, call->rank,
                call->root, (unsigned long long)runner->calls,
                side == BENCH_LIBRARY ? "the library's side" : "the host MPI's side", element, wrong);
    runner->wrong |= wrong != NULL;
}

/* A barrier that also ends all ranks when one of them got a wrong result. Not by MPI_Abort: a launcher may
 * kill the ranks before it has passed on what they said. */
static void stop_if_wrong(const runner_t *runner)
{
    int any;

    BENCH_MPI(MPI_Allreduce(&runner->wrong, &any, 1, MPI_INT, MPI_MAX, runner->job->sync));
    if (any) {
        fflush(NULL);
        MPI_Finalize();
        exit(EXIT_FAILURE);
    }
}

static void one_call(runner_t *runner, bench_side_t side, double delay, double *arrived, double *done)
{
    const bench_job_t *job = runner->job;
    const bench_collective_t *collective = runner->what->collective;
    bench_call_t call = call_of(runner, runner->calls);
    bench_outcomes_t before;

    call.comm = job->side[side];
    /* The first barrier ends the unequal work of filling and validating; the second one starts from there. */
    stop_if_wrong(runner);
    bench_outcomes_get(collective->name, &before);
    BENCH_MPI(MPI_Barrier(job->sync));
    if (collective->no_data) /* the barrier before was one of its calls */
        bench_outcomes_get(collective->name, &before);
    const double start = MPI_Wtime();
    *arrived = delay > 0 ? bench_arrival_wait(start, delay) : 0;
    const int code = collective->run(&call);
    *done = MPI_Wtime() - start;
    if (code != MPI_SUCCESS)
        bench_abort("%s returned the error code %d", collective->name, code);
    count_outcomes(runner, side, &before);
    validate(runner, &call, side);
    fill(runner, runner->calls + runner->places);
    runner->calls++;
}

/* Adds repetitions to a batch, which begins as {0}. */
static void batch_extend(runner_t *runner, batch_t *batch, int repetitions)
{
    const bench_job_t *job = runner->job;
    const bench_case_t *what = runner->what;
    const int sides = job->side_count, first = batch->repetitions;

    batch->repetitions += repetitions;
    for (int side = 0; side < sides; side++) {
        batch->arrived[side] =
            bench_extend(batch->arrived[side], (size_t)batch->repetitions * sizeof(double));
        batch->done[side] = bench_extend(batch->done[side], (size_t)batch->repetitions * sizeof(double));
    }
    for (int i = first; i < batch->repetitions; i++) {
        double delay = 0;
        if (runner->skew_seconds > 0)
            delay = runner->skew_seconds *
                    bench_arrival_delay(what->arrival, what->seed, (uint64_t)i, job->rank, job->size);
        for (int turn = 0; turn < sides; turn++) {
            const int side = i % 2 ? sides - 1 - turn : turn; /* neither side always comes second */
            one_call(runner, (bench_side_t)side, delay, &batch->arrived[side][i], &batch->done[side][i]);
        }
    }
    stop_if_wrong(runner);
}

static void batch_fini(const runner_t *runner, batch_t *batch)
{
    for (int side = 0; side < runner->job->side_count; side++) {
        free(batch->arrived[side]);
        free(batch->done[side]);
    }
}

static void reduce_to(const bench_job_t *job, const double *mine, double *all, int count, MPI_Op op)
{
    BENCH_MPI(MPI_Reduce(mine, all, count, MPI_DOUBLE, op, 0, job->sync));
}

/* Collective. The arrays are scratch on ranks other than 0. */
static summary_t summarise(const runner_t *runner, const batch_t *batch, int side)
{
    const bench_job_t *job = runner->job;
    const int n = batch->repetitions;
    const size_t bytes = (size_t)n * sizeof(double);
    double *first = bench_allocate(bytes), *last = bench_allocate(bytes), *mine = bench_allocate(bytes);
    summary_t all = {bench_allocate(bytes), bench_allocate(bytes), bench_allocate(bytes),
                     bench_allocate(bytes)};

    BENCH_MPI(MPI_Allreduce(batch->arrived[side], first, n, MPI_DOUBLE, MPI_MIN, job->sync));
    BENCH_MPI(MPI_Allreduce(batch->arrived[side], last, n, MPI_DOUBLE, MPI_MAX, job->sync));
    for (int i = 0; i < n; i++) {
        const double time = batch->done[side][i] - last[i];
        mine[i] = time > 0 ? 1e6 * time : 0;
    }
    reduce_to(job, mine, all.min, n, MPI_MIN);
    reduce_to(job, mine, all.avg, n, MPI_SUM);
    reduce_to(job, mine, all.max, n, MPI_MAX);
    for (int i = 0; i < n; i++) {
        all.avg[i] /= job->size;
        all.from_first[i] = all.max[i] + 1e6 * (last[i] - first[i]);
    }
    free(first);
    free(last);
    free(mine);
    return all;
}

static void summary_fini(summary_t *all)
{
    free(all->min);
    free(all->avg);
    free(all->max);
    free(all->from_first);
}

/* How many repetitions fit; an even number, so that both orders come equally often. */
static int repetitions_in(double seconds, double seconds_each)
{
    const double fit = seconds / seconds_each;
    return fit <= 0 ? 0 : fit > BENCH_REPEAT_MAX ? BENCH_REPEAT_MAX : (int)fit / 2 * 2;
}

/* Warms up and sets what follows from it: the skew, and on rank 0 the seconds of one repetition. */
static void warm_up(runner_t *runner, bench_result_t *result, double *seconds_each)
{
    const bench_job_t *job = runner->job;
    const bench_case_t *what = runner->what;
    double before[BENCH_SIDES] = {0}, used = 0;
    /* What rank 0 decides. */
    struct {
        int go_on, stable;
        double host_us;
    } order = {.go_on = 1};

    for (int round = 0; order.go_on; round++) {
        batch_t batch = {0};
        const double start = MPI_Wtime();
        batch_extend(runner, &batch, what->warmup);
        *seconds_each = (MPI_Wtime() - start) / what->warmup;
        order.stable = round > 0;
        for (int side = 0; side < job->side_count; side++) {
            summary_t all = summarise(runner, &batch, side);
            const double now = job->rank == 0 ? bench_quantiles(all.max, what->warmup).median : 0;
            summary_fini(&all);
            if (now < 0.9 * before[side] || now > 1.1 * before[side])
                order.stable = 0;
            before[side] = now;
        }
        batch_fini(runner, &batch);
        used += MPI_Wtime() - start;
        result->warmup_repetitions += what->warmup;
        order.host_us = before[BENCH_HOST];
        /* A number of repetitions that was asked for bounds the time by itself. */
        order.go_on = !order.stable && round + 1 < WARMUP_ROUNDS_MAX &&
                      (what->repeat ? result->warmup_repetitions < what->repeat : used < what->seconds / 2);
        BENCH_MPI(MPI_Bcast(&order, sizeof order, MPI_BYTE, 0, job->sync));
    }
    result->stable = order.stable;
    if (what->arrival != BENCH_ARRIVAL_NONE)
        runner->skew_seconds = 1e-6 * what->skew * order.host_us;
    result->skew_us = 1e6 * runner->skew_seconds;
}

/* The measured repetitions: as many as asked for, or until the time is used up. A few rounds to warm up are a
 * poor guess of how long a repetition takes, so the first part is small. */
static void batch_measure(runner_t *runner, batch_t *batch, double seconds_each)
{
    const bench_case_t *what = runner->what;
    const double start = MPI_Wtime();
    int next = repetitions_in(what->seconds / 8, seconds_each);

    if (next < BENCH_REPEAT_MIN)
        next = BENCH_REPEAT_MIN;
    if (what->repeat)
        next = what->repeat;
    for (;;) {
        BENCH_MPI(MPI_Bcast(&next, 1, MPI_INT, 0, runner->job->sync));
        if (next == 0)
            return;
        batch_extend(runner, batch, next);
        const double used = MPI_Wtime() - start;
        next = repetitions_in(what->seconds - used, used / batch->repetitions);
        /* Another small part is not worth a round of messages. */
        if (what->repeat || next < batch->repetitions / 16 || batch->repetitions + next > BENCH_REPEAT_MAX)
            next = 0;
    }
}

static void report_outcomes(const runner_t *runner, bench_result_t *result)
{
    const bench_job_t *job = runner->job;
    uint64_t all[BENCH_OUTCOMES_MAX] = {0}, calls = 0, most = 0;

    BENCH_MPI(MPI_Reduce(runner->outcomes, all, BENCH_OUTCOMES_MAX, MPI_UINT64_T, MPI_SUM, 0, job->sync));
    for (int i = 0; i < BENCH_OUTCOMES_MAX; i++) {
        calls += all[i];
        if (i > 0 && all[i] > most) {
            most = all[i];
            result->reason = runner->outcome_words[i];
        }
    }
    result->taken = calls ? (double)all[0] / (double)calls : 0;
}

void bench_measure(const bench_job_t *job, const bench_case_t *what, bench_result_t *result)
{
    runner_t runner;
    batch_t batch = {0};
    double seconds_each;

    memset(result, 0, sizeof *result);
    runner_init(&runner, job, what);
    warm_up(&runner, result, &seconds_each);
    memset(runner.outcomes, 0, sizeof runner.outcomes);
    batch_measure(&runner, &batch, seconds_each);
    result->repetitions = batch.repetitions;
    for (int side = 0; side < job->side_count; side++) {
        summary_t all = summarise(&runner, &batch, side);
        if (job->rank == 0)
            result->side[side] =
                (bench_side_result_t){.min = bench_quantiles(all.min, result->repetitions),
                                      .avg = bench_quantiles(all.avg, result->repetitions),
                                      .max = bench_quantiles(all.max, result->repetitions),
                                      .from_first = bench_quantiles(all.from_first, result->repetitions)};
        result->side[side].times_us = all.max;
        all.max = NULL;
        summary_fini(&all);
    }
    if (job->side_count == BENCH_SIDES) {
        const bench_side_result_t *host = &result->side[BENCH_HOST], *library = &result->side[BENCH_LIBRARY];
        double *ratios = bench_allocate((size_t)result->repetitions * sizeof *ratios);
        for (int i = 0; i < result->repetitions; i++)
            ratios[i] = host->times_us[i] / library->times_us[i];
        if (job->rank == 0) {
            result->pair_ratios = bench_quantiles(ratios, result->repetitions);
            result->ratio = host->max.median / library->max.median;
        }
        free(ratios);
        report_outcomes(&runner, result);
    }
    batch_fini(&runner, &batch);
    runner_fini(&runner);
}

void bench_result_fini(bench_result_t *result)
{
    for (int side = 0; side < BENCH_SIDES; side++)
        free(result->side[side].times_us);
}
