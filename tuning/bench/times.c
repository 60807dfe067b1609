#include "times.h"

#include <stdlib.h>

void bench_times_extend(bench_times_t *times, int repetitions)
{
    times->arrived = bench_extend(times->arrived, (size_t)repetitions * sizeof(double));
    times->done = bench_extend(times->done, (size_t)repetitions * sizeof(double));
}

void bench_times_fini(bench_times_t *times)
{
    free(times->arrived);
    free(times->done);
}

static void reduce_to(const bench_job_t *job, const double *mine, double *all, int count, MPI_Op op)
{
    BENCH_MPI(MPI_Reduce(mine, all, count, MPI_DOUBLE, op, 0, job->sync));
}

bench_summary_t bench_times_summarise(const bench_job_t *job, const bench_times_t *times, int repetitions)
{
    const int n = repetitions;
    const size_t bytes = (size_t)n * sizeof(double);
    double *first = bench_allocate(bytes), *last = bench_allocate(bytes), *mine = bench_allocate(bytes);
    bench_summary_t all = {bench_allocate(bytes), bench_allocate(bytes), bench_allocate(bytes),
                           bench_allocate(bytes)};

    BENCH_MPI(MPI_Allreduce(times->arrived, first, n, MPI_DOUBLE, MPI_MIN, job->sync));
    BENCH_MPI(MPI_Allreduce(times->arrived, last, n, MPI_DOUBLE, MPI_MAX, job->sync));
    for (int i = 0; i < n; i++) {
        const double time = times->done[i] - last[i];
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

void bench_summary_fini(bench_summary_t *all)
{
    free(all->min);
    free(all->avg);
    free(all->max);
    free(all->from_first);
}

bench_side_result_t bench_times_result(const bench_job_t *job, const bench_times_t *times, int repetitions)
{
    bench_summary_t all = bench_times_summarise(job, times, repetitions);
    bench_side_result_t result = {.times_us = all.max};

    if (job->rank == 0) {
        result.min = bench_quantiles(all.min, repetitions);
        result.avg = bench_quantiles(all.avg, repetitions);
        result.max = bench_quantiles(all.max, repetitions);
        result.from_first = bench_quantiles(all.from_first, repetitions);
    }
    all.max = NULL;
    bench_summary_fini(&all);
    return result;
}
