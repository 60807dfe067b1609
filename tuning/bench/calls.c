#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 4096 };

size_t bench_place_bytes(const bench_case_t *what)
{
    const size_t count = what->bytes / what->type->bytes;
    const bench_collective_t *collective = what->collective;
    const size_t elements =
        collective->has_blocks ? bench_blocks_most(&collective->blocks, count, what->ranks) : count;
    const size_t bytes = elements * what->type->extent;
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + (bytes == 0 ? ALIGNMENT : 0);
}

/* At least two places, so that the two sides never share one when cold. */
static uint64_t places_of(const bench_case_t *what)
{
    const uint64_t fit = what->region_bytes / bench_place_bytes(what);
    return !what->cold ? 1 : fit > 2 ? fit : 2;
}

static bool has_send_buffer(const bench_case_t *what)
{
    return what->collective->reduces || what->collective->has_blocks;
}

size_t bench_buffer_bytes(const bench_case_t *what)
{
    return (has_send_buffer(what) ? 2 : 1) * places_of(what) * bench_place_bytes(what);
}

/* Call number `number` of the case: which place, values and root it has. */
static bench_call_t call_of(const bench_runner_t *runner, uint64_t number)
{
    const bench_case_t *what = runner->what;
    const size_t at = (size_t)(number % runner->places) * runner->stride;
    const uint64_t repetition = number / runner->calls_of_repetition;
    const int root =
        what->root != BENCH_ROTATE ? what->root : (int)(repetition % (uint64_t)runner->job->size);

    return (bench_call_t){.send = runner->send ? runner->send + at : NULL,
                          .recv = runner->recv + at,
                          .count = runner->count,
                          .values = &runner->values,
                          .op = what->op,
                          .shift = bench_shift(number, root),
                          .root = root,
                          .rank = runner->job->rank,
                          .blocks = what->collective->has_blocks ? &what->collective->blocks : NULL,
                          .layout = &runner->layout,
                          .ranks = runner->job->size};
}

static void fill(const bench_runner_t *runner, uint64_t number)
{
    const bench_call_t call = call_of(runner, number);
    runner->what->collective->fill(&call);
}

void bench_runner_init(bench_runner_t *runner, const bench_job_t *job, const bench_case_t *what,
                       int calls_of_repetition)
{
    *runner = (bench_runner_t){.job = job,
                               .what = what,
                               .count = what->bytes / what->type->bytes,
                               .stride = bench_place_bytes(what),
                               .places = places_of(what),
                               .calls_of_repetition = (uint64_t)calls_of_repetition};
    const bench_blocks_t *blocks = &what->collective->blocks;
    bench_values_init(&runner->values, what->type, what->collective->reduces ? what->op : NULL, job->rank,
                      bench_contributors(blocks, job->rank, job->size));
    if (what->collective->has_blocks)
        bench_layout_init(&runner->layout, blocks, bench_case_pattern(what), (int)runner->count, what->type,
                          job->rank, job->size);
    if (has_send_buffer(what))
        runner->send = bench_allocate(runner->places * runner->stride);
    runner->recv = bench_allocate(runner->places * runner->stride);
    for (uint64_t place = 0; place < runner->places; place++)
        fill(runner, place);
}

void bench_runner_fini(bench_runner_t *runner)
{
    free(runner->send);
    free(runner->recv);
    bench_layout_fini(&runner->layout);
    bench_values_fini(&runner->values);
}

/* What became of a call. The host's side is looked at too: nothing there may be the library's. */
static void count_outcomes(const bench_runner_t *runner, bench_side_t side, const bench_outcomes_t *before,
                           bench_tally_t *tally)
{
    bench_outcomes_t after;

    bench_outcomes_get(runner->what->collective->name, &after);
    if (side == BENCH_HOST && after.count > 0 && after.calls[0] != before->calls[0])
        bench_abort("the library ran a call of the host MPI's side");
    if (side == BENCH_LIBRARY)
        tally->calls++;
    for (unsigned i = 0; i < after.count && side == BENCH_LIBRARY; i++) {
        tally->outcomes[i] += after.calls[i] - before->calls[i];
        tally->words[i] = after.word[i];
    }
}

/* Says what is wrong; the job ends at the next bench_runner_stop_if_wrong, when all ranks know. */
static void validate(bench_runner_t *runner, const bench_call_t *call, bench_side_t side)
{
    size_t element;
    const char *wrong = runner->what->collective->validate(call, &element);

    if (wrong && !runner->wrong)
        fprintf(stderr,
                "hanpmpi_bench: wrong result: %s of %zu bytes of %s on rank %d, root %d, call %llu, %s%s: "
                "element %zu %s\n",
                runner->what->collective->name, runner->what->bytes, runner->what->type->name, call->rank,
                call->root, (unsigned long long)runner->calls,
                side == BENCH_LIBRARY ? "the library's side"
                : runner->mockup      ? "the mock-up "
                                      : "the host MPI's side",
                runner->mockup ? runner->mockup : "", element, wrong);
    runner->wrong |= wrong != NULL;
}

/* Not by MPI_Abort: a launcher may kill the ranks before it has passed on what they said. */
void bench_runner_stop_if_wrong(const bench_runner_t *runner)
{
    int any;

    BENCH_MPI(MPI_Allreduce(&runner->wrong, &any, 1, MPI_INT, MPI_MAX, runner->job->sync));
    if (any) {
        fflush(NULL);
        MPI_Finalize();
        exit(EXIT_FAILURE);
    }
}

int bench_run_blocking(void *context, const bench_call_t *call)
{
    const bench_runner_t *runner = context;
    return runner->what->collective->run(call);
}

/* The next call of a side. */
static bench_call_t next_call(const bench_runner_t *runner, bench_side_t side)
{
    bench_call_t call = call_of(runner, runner->calls);
    call.comm = runner->job->side[side];
    call.is_direct = side == BENCH_HOST;
    return call;
}

void bench_runner_make(const bench_runner_t *runner, bench_side_t side, bench_tally_t *tally,
                       MPI_Request *request)
{
    const bench_collective_t *collective = runner->what->collective;
    const bench_call_t call = next_call(runner, side);
    bench_outcomes_t before;

    bench_outcomes_get(collective->name, &before);
    BENCH_MPI(collective->make(&call, request));
    count_outcomes(runner, side, &before, tally);
}

void bench_runner_call(bench_runner_t *runner, bench_side_t side, double delay, bench_timed_fn_t timed,
                       void *context, bench_tally_t *tally, double *arrived, double *done)
{
    const bench_job_t *job = runner->job;
    const bench_collective_t *collective = runner->what->collective;
    const bench_call_t call = next_call(runner, side);
    bench_outcomes_t before;

    /* The first barrier ends the unequal work of filling and validating; the second one starts from there. */
    bench_runner_stop_if_wrong(runner);
    bench_outcomes_get(collective->name, &before);
    BENCH_MPI(MPI_Barrier(job->sync));
    if (collective->no_data) /* the barrier before was one of its calls */
        bench_outcomes_get(collective->name, &before);
    const double start = MPI_Wtime();
    *arrived = delay > 0 ? bench_arrival_wait(start, delay) : 0;
    const int code = timed(context, &call);
    *done = MPI_Wtime() - start;
    if (code != MPI_SUCCESS)
        bench_abort("%s returned the error code %d", collective->name, code);
    count_outcomes(runner, side, &before, tally);
    validate(runner, &call, side);
    fill(runner, runner->calls + runner->places);
    runner->calls++;
}

double bench_tally_taken(const bench_job_t *job, const bench_tally_t *tally, const char **reason)
{
    uint64_t mine[BENCH_OUTCOMES_MAX + 1], all[BENCH_OUTCOMES_MAX + 1] = {0}, counted = 0, most = 0;

    memcpy(mine, tally->outcomes, sizeof tally->outcomes);
    mine[BENCH_OUTCOMES_MAX] = tally->calls;
    BENCH_MPI(MPI_Reduce(mine, all, BENCH_OUTCOMES_MAX + 1, MPI_UINT64_T, MPI_SUM, 0, job->sync));
    *reason = NULL;
    for (int i = 0; i < BENCH_OUTCOMES_MAX; i++) {
        counted += all[i];
        if (i > 0 && all[i] > most) {
            most = all[i];
            *reason = tally->words[i];
        }
    }
    /* A version of the library that does not know a function does not count its calls either. */
    const uint64_t calls = all[BENCH_OUTCOMES_MAX];
    if (calls > counted && calls - counted > most)
        *reason = "not-intercepted";
    return calls ? (double)all[0] / (double)(calls > counted ? calls : counted) : 0;
}
