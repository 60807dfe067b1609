#include "repeat.h"

#include <string.h>

enum { WARMUP_ROUNDS_MAX = 20 };

void bench_warm_up(const bench_job_t *job, const bench_case_t *what, int kinds, bench_round_fn_t round,
                   void *context, bench_warm_t *warm)
{
    double used = 0;
    /* What rank 0 decides. */
    struct {
        int go_on, stable;
        double medians_us[BENCH_MEDIANS_MAX];
    } order = {.go_on = 1};

    memset(warm, 0, sizeof *warm);
    for (int number = 0; order.go_on; number++) {
        double now[BENCH_MEDIANS_MAX] = {0};
        const double start = MPI_Wtime();
        round(context, what->warmup, now);
        const double seconds = MPI_Wtime() - start;
        warm->seconds_each = seconds / what->warmup;
        order.stable = number > 0;
        for (int kind = 0; kind < kinds; kind++) {
            const double before = order.medians_us[kind];
            if (now[kind] < 0.9 * before || now[kind] > 1.1 * before)
                order.stable = 0;
            order.medians_us[kind] = now[kind];
        }
        used += seconds;
        warm->repetitions += what->warmup;
        /* A number of repetitions that was asked for bounds the time by itself. */
        order.go_on = !order.stable && number + 1 < WARMUP_ROUNDS_MAX &&
                      (what->repeat ? warm->repetitions < what->repeat : used < what->seconds / 2);
        BENCH_MPI(MPI_Bcast(&order, sizeof order, MPI_BYTE, 0, job->sync));
    }
    warm->stable = order.stable;
    memcpy(warm->medians_us, order.medians_us, sizeof warm->medians_us);
}

/* How many repetitions fit; an even number, so that both orders come equally often. */
static int repetitions_in(double seconds, double seconds_each)
{
    const double fit = seconds / seconds_each;
    return fit <= 0 ? 0 : fit > BENCH_REPEAT_MAX ? BENCH_REPEAT_MAX : (int)fit / 2 * 2;
}

/* A few rounds to warm up are a poor guess of how long a repetition takes, so the first part is small. */
int bench_repeat(const bench_job_t *job, const bench_case_t *what, double seconds_each,
                 bench_extend_fn_t extend, void *context)
{
    const double start = MPI_Wtime();
    int made = 0, next = repetitions_in(what->seconds / 8, seconds_each);

    if (next < BENCH_REPEAT_MIN)
        next = BENCH_REPEAT_MIN;
    if (what->repeat)
        next = what->repeat;
    for (;;) {
        BENCH_MPI(MPI_Bcast(&next, 1, MPI_INT, 0, job->sync));
        if (next == 0)
            return made;
        extend(context, next);
        made += next;
        const double used = MPI_Wtime() - start;
        next = repetitions_in(what->seconds - used, used / made);
        /* Another small part is not worth a round of messages. */
        if (what->repeat || next < made / 16 || made + next > BENCH_REPEAT_MAX)
            next = 0;
    }
}
