#include "trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/collectives.h"
#include "bench/quantiles.h"
#include "cvars.h"

enum { CALLS_MAX = 200, CVARS_MAX = 64 };

/* One candidate of the collective in hand. */
typedef struct {
    MPI_Comm comm;
    int calls;           /* of a batch */
    bool refused, ahead; /* ahead: takes part in the next round */
    int rounds;
    double us[TEACH_ROUNDS_MAX]; /* rank 0's: of each round */
    double first_us;             /* rank 0's: of the second call */
    const char *why;             /* rank 0's: it is refused */
} entrant_t;

typedef struct {
    const bench_job_t *job;
    const teach_plan_t *plan;
    const teach_part_t *part;
    const bench_collective_t *collective;
    size_t bytes;
    bench_values_t values;
    bench_layout_t layout;
    char *send, *recv;
    uint64_t calls;
    teach_cvar_t cvars[CVARS_MAX]; /* that any candidate of this collective sets */
    int cvar_count;
    entrant_t *entrants;
} trial_t;

static void write_line(json_t *line)
{
    char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(8));
    puts(text);
    fflush(stdout);
    free(text);
    json_decref(line);
}

static void announce(const trial_t *trial, int index)
{
    if (trial->job->rank == 0)
        write_line(json_pack("{s:s, s:s, s:I, s:s}", "teach", "try", "collective", trial->part->collective,
                             "bytes", (json_int_t)trial->bytes, "candidate",
                             trial->part->candidates[index].name));
}

/* ---- settings ---- */

static void open_cvars(trial_t *trial)
{
    trial->cvar_count = 0;
    for (int i = 0; i < trial->part->candidate_count; i++) {
        const char *name;
        json_t *value;
        json_object_foreach(trial->part->candidates[i].set, name, value)
        {
            int at = 0;
            while (at < trial->cvar_count && strcmp(trial->cvars[at].name, name) != 0)
                at++;
            if (at < trial->cvar_count)
                continue;
            if (at == CVARS_MAX)
                bench_abort("the candidates of %s set more than %d variables", trial->part->collective,
                            CVARS_MAX);
            const char *wrong = teach_cvar_open(name, &trial->cvars[at]);
            if (wrong)
                bench_abort("%s: %s", name, wrong);
            trial->cvar_count++;
        }
    }
}

static void close_cvars(trial_t *trial)
{
    for (int i = 0; i < trial->cvar_count; i++) {
        teach_cvar_set(&trial->cvars[i], trial->cvars[i].original);
        teach_cvar_close(&trial->cvars[i]);
    }
}

/* What a candidate does not set has its original value. */
static bool set_cvars(trial_t *trial, int index)
{
    bool taken = true;

    for (int i = 0; i < trial->cvar_count; i++) {
        const json_t *value = json_object_get(trial->part->candidates[index].set, trial->cvars[i].name);
        taken &= teach_cvar_set(&trial->cvars[i],
                                value ? (int)json_integer_value(value) : trial->cvars[i].original);
    }
    return taken;
}

/* The largest of all ranks' numbers. */
static int of_all(const trial_t *trial, int mine)
{
    int all;
    BENCH_MPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, trial->job->sync));
    return all;
}

/* ---- calls ---- */

static bench_call_t make_call(trial_t *trial, int index)
{
    return (bench_call_t){.send = trial->send,
                          .recv = trial->recv,
                          .count = trial->bytes / trial->values.type->bytes,
                          .values = &trial->values,
                          .op = bench_op_default(trial->values.type),
                          .shift = bench_shift(trial->calls++, 0),
                          .root = 0,
                          .rank = trial->job->rank,
                          .comm = trial->entrants[index].comm,
                          .blocks = trial->collective->has_blocks ? &trial->collective->blocks : NULL,
                          .layout = &trial->layout,
                          .ranks = trial->job->size};
}

/* Dissemination, of messages of this program: the host MPI's barrier may be what is taught. */
static void wait_for_all(const bench_job_t *job)
{
    enum { TAG = 1 };

    for (int distance = 1; distance < job->size; distance *= 2)
        BENCH_MPI(MPI_Sendrecv(NULL, 0, MPI_BYTE, (job->rank + distance) % job->size, TAG, NULL, 0, MPI_BYTE,
                               (job->rank - distance + job->size) % job->size, TAG, job->sync,
                               MPI_STATUS_IGNORE));
}

static double timed_call(trial_t *trial, int index, int *code)
{
    const bench_call_t call = make_call(trial, index);
    const double start = MPI_Wtime();

    wait_for_all(trial->job);
    *code = trial->collective->run(&call);
    return 1e6 * (MPI_Wtime() - start);
}

/* NULL, or why the candidate is refused, the same on all ranks. */
static const char *try_out(trial_t *trial, int index)
{
    enum { FINE, WRONG, ERROR, UNKNOWN };
    static const char *const words[] = {NULL, "a wrong result", "it returns an error",
                                        "the MPI does not accept the setting"};
    entrant_t *entrant = &trial->entrants[index];
    size_t element;
    int code, outcome = FINE;

    announce(trial, index);
    if (of_all(trial, set_cvars(trial, index) ? FINE : UNKNOWN) != FINE)
        return words[UNKNOWN];
    const bench_call_t call = make_call(trial, index);
    trial->collective->fill(&call);
    if (trial->collective->run(&call) != MPI_SUCCESS)
        outcome = ERROR;
    else if (trial->collective->validate(&call, &element))
        outcome = WRONG;
    outcome = of_all(trial, outcome);
    if (outcome != FINE)
        return words[outcome];
    double mine = timed_call(trial, index, &code), slowest;
    if (of_all(trial, code == MPI_SUCCESS ? FINE : ERROR) != FINE)
        return words[ERROR];
    BENCH_MPI(MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, trial->job->sync));
    const double calls = trial->plan->batch_us / (slowest + 1);
    entrant->calls = calls < 1 ? 1 : calls > CALLS_MAX ? CALLS_MAX : (int)calls;
    entrant->first_us = slowest;
    return NULL;
}

static void run_batch(trial_t *trial, int index)
{
    entrant_t *entrant = &trial->entrants[index];
    double mine[CALLS_MAX], slowest[CALLS_MAX];
    int code = MPI_SUCCESS, failed = 0;

    announce(trial, index);
    set_cvars(trial, index);
    for (int i = 0; i < entrant->calls; i++) {
        mine[i] = timed_call(trial, index, &code);
        failed |= code != MPI_SUCCESS;
    }
    BENCH_MPI(MPI_Reduce(mine, slowest, entrant->calls, MPI_DOUBLE, MPI_MAX, 0, trial->job->sync));
    if (of_all(trial, failed)) {
        entrant->refused = true;
        entrant->why = "it returns an error";
    } else if (trial->job->rank == 0) {
        entrant->us[entrant->rounds] = bench_quantiles(slowest, entrant->calls).median;
    }
    entrant->rounds++;
}

/* ---- a cell ---- */

static double median_us(const entrant_t *entrant)
{
    return bench_quantiles(entrant->us, entrant->rounds).median;
}

/* Rank 0's decision, known to all: who takes part in the next round, and whether there is one. */
static bool go_on(trial_t *trial, int round, double started)
{
    /* After the first round a disturbance may have hit anybody; later the medians can be trusted more. */
    const double far_behind = round == 0 ? 3 : round == 1 ? 1.7 : 1.35;
    unsigned char orders[TEACH_CANDIDATES_MAX + 1] = {0};
    const int count = trial->part->candidate_count;
    double best = 0;

    for (int i = 0; i < count && trial->job->rank == 0; i++)
        if (trial->entrants[i].ahead && (best <= 0 || median_us(&trial->entrants[i]) < best))
            best = median_us(&trial->entrants[i]);
    for (int i = 0; i < count && trial->job->rank == 0; i++) {
        const entrant_t *entrant = &trial->entrants[i];
        orders[i] = entrant->ahead && !entrant->refused &&
                    (i == 0 || bench_quantiles(entrant->us, entrant->rounds).min <= far_behind * best);
    }
    orders[count] = round + 1 < trial->plan->rounds &&
                    (round + 1 < TEACH_ROUNDS_MIN || MPI_Wtime() - started < trial->plan->cell_seconds);
    BENCH_MPI(MPI_Bcast(orders, count + 1, MPI_BYTE, 0, trial->job->sync));
    for (int i = 0; i < count; i++)
        trial->entrants[i].ahead = orders[i];
    return orders[count];
}

static void write_cell(const trial_t *trial)
{
    json_t *times = json_object(), *refused = json_object();

    for (int i = 0; i < trial->part->candidate_count; i++) {
        const entrant_t *entrant = &trial->entrants[i];
        const char *name = trial->part->candidates[i].name;
        if (entrant->refused) {
            json_object_set_new(refused, name, json_string(entrant->why));
            continue;
        }
        json_t *rounds = json_array();
        for (int round = 0; round < entrant->rounds; round++)
            json_array_append_new(rounds, json_real(entrant->us[round]));
        json_object_set_new(times, name, rounds);
    }
    write_line(json_pack("{s:s, s:s, s:I, s:o, s:o}", "teach", "cell", "collective", trial->part->collective,
                         "bytes", (json_int_t)trial->bytes, "us", times, "refused", refused));
}

static void measure_cell(trial_t *trial)
{
    const double started = MPI_Wtime();
    const int count = trial->part->candidate_count;
    int round = 0;

    for (int i = 0; i < count; i++) {
        entrant_t *entrant = &trial->entrants[i];
        entrant->rounds = 0;
        entrant->why = try_out(trial, i);
        entrant->refused = entrant->why != NULL;
        entrant->ahead = !entrant->refused;
    }
    do {
        for (int turn = 0; turn < count; turn++) {
            const int i = round % 2 ? count - 1 - turn : turn;
            if (trial->entrants[i].ahead)
                run_batch(trial, i);
        }
    } while (go_on(trial, round++, started));
    if (trial->job->rank == 0)
        write_cell(trial);
}

/* ---- a collective ---- */

static void begin_part(trial_t *trial)
{
    const bench_collective_t *collective = trial->collective;
    const bench_type_t *type = bench_type_find("MPI_DOUBLE");

    bench_values_init(
        &trial->values, type, collective->reduces ? bench_op_default(type) : NULL, trial->job->rank,
        !collective->reduces     ? 0
        : collective->has_blocks ? bench_contributors(&collective->blocks, trial->job->rank, trial->job->size)
                                 : trial->job->size);
    open_cvars(trial);
    trial->entrants = bench_allocate((size_t)trial->part->candidate_count * sizeof *trial->entrants);
    memset(trial->entrants, 0, (size_t)trial->part->candidate_count * sizeof *trial->entrants);
    for (int i = 0; i < trial->part->candidate_count; i++) {
        set_cvars(trial, i); /* try_out asks whether the MPI took it */
        BENCH_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &trial->entrants[i].comm));
        BENCH_MPI(MPI_Comm_set_errhandler(trial->entrants[i].comm, MPI_ERRORS_RETURN));
    }
}

static void end_part(trial_t *trial)
{
    close_cvars(trial);
    for (int i = 0; i < trial->part->candidate_count; i++)
        BENCH_MPI(MPI_Comm_free(&trial->entrants[i].comm));
    free(trial->entrants);
    bench_values_fini(&trial->values);
}

static void begin_cell(trial_t *trial)
{
    const bench_collective_t *collective = trial->collective;
    const size_t count = trial->bytes / trial->values.type->bytes;
    const size_t elements =
        collective->has_blocks ? bench_blocks_most(&collective->blocks, count, trial->job->size) : count;

    if (collective->has_blocks)
        bench_layout_init(&trial->layout, &collective->blocks, BENCH_EQUAL, (int)count, trial->values.type,
                          trial->job->rank, trial->job->size);
    trial->send = bench_allocate(elements * trial->values.type->extent);
    trial->recv = bench_allocate(elements * trial->values.type->extent);
    const bench_call_t call = make_call(trial, 0);
    collective->fill(&call);
}

static void end_cell(trial_t *trial)
{
    free(trial->send);
    free(trial->recv);
    bench_layout_fini(&trial->layout);
    trial->layout = (bench_layout_t){0};
}

static bool has_time(const trial_t *trial, double started)
{
    int yes = MPI_Wtime() - started < trial->plan->seconds;
    BENCH_MPI(MPI_Bcast(&yes, 1, MPI_INT, 0, trial->job->sync));
    return yes;
}

void teach_trial_run(const bench_job_t *job, const teach_plan_t *plan)
{
    const double started = MPI_Wtime();
    static trial_t trial;

    trial = (trial_t){.job = job, .plan = plan};
    for (int p = 0; p < plan->part_count; p++) {
        trial.part = &plan->parts[p];
        trial.collective = bench_collective_find(trial.part->collective);
        if (!trial.collective)
            bench_abort("%s: accepted are %s", trial.part->collective, bench_collective_names());
        if (!has_time(&trial, started))
            break;
        begin_part(&trial);
        for (int i = 0; i < trial.part->byte_count && has_time(&trial, started); i++) {
            trial.bytes = trial.part->bytes[i];
            begin_cell(&trial);
            measure_cell(&trial);
            end_cell(&trial);
        }
        end_part(&trial);
    }
}
