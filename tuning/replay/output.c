#include "output.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/quantiles.h"

/* ---- the figures ---- */

static int passes_of(const replay_output_t *output)
{
    return output->options->warmup + output->options->repeat;
}

static double pass_sum(const replay_output_t *output, const replay_pass_t *pass)
{
    double sum = 0;
    for (int name = 0; name < output->plan->name_count; name++)
        sum += pass->by_name_s[name];
    return sum;
}

static double pass_value(const replay_output_t *output, const replay_pass_t *pass, int name)
{
    return name < output->plan->name_count ? pass->by_name_s[name] : pass_sum(output, pass);
}

/* Of the passes that count. name: one behind the last: all. */
static double median_of(const replay_output_t *output, int side, int name)
{
    const int repeat = output->options->repeat;
    double values[repeat];

    for (int i = 0; i < repeat; i++)
        values[i] = pass_value(output, &output->passes[side][output->options->warmup + i], name);
    return bench_quantiles(values, repeat).median;
}

static double median_wall(const replay_output_t *output, int side)
{
    const int repeat = output->options->repeat;
    double values[repeat];

    for (int i = 0; i < repeat; i++)
        values[i] = output->passes[side][output->options->warmup + i].wall_s;
    return bench_quantiles(values, repeat).median;
}

/* Bytes of a vector or a block; of blocks that differ the mean. */
static double bytes_of(const replay_plan_t *plan, const replay_call_t *call)
{
    const int size = plan->recording->comms[call->comm].size;
    double sum = 0;

    for (int s = 0; s < size; s++)
        for (int d = 0; d < size && call->lengths; d++)
            sum += (double)replay_length(plan, call, s, d) / size / size;
    return (double)call->type_bytes * (call->lengths ? sum : (double)call->count);
}

static void add_tracks(const replay_output_t *output, replay_result_t *result)
{
    const replay_plan_t *plan = output->plan;
    double *bytes = replay_allocate((size_t)plan->call_count, sizeof *bytes);

    for (int call = 0; call < plan->call_count; call++)
        bytes[call] = bytes_of(plan, &plan->calls[call]);
    for (int rank = 0; rank < plan->recording->ranks; rank++) {
        double wall_s = 0;
        for (int i = 0; i < plan->tracks[rank].count; i++) {
            const replay_step_t *step = &plan->tracks[rank].steps[i];
            replay_row_t *row = &result->rows[plan->calls[step->call].name];
            const double share = 1.0 / plan->recording->ranks;
            row->recorded_s += step->took_s * share;
            wall_s += step->gap_s + step->took_s;
            if (step->started != REPLAY_NO_START)
                continue;
            row->calls += share;
            row->bytes += bytes[step->call] * share;
        }
        result->recorded_wall_s = fmax(result->recorded_wall_s, wall_s);
    }
    free(bytes);
}

/* The library counts by collective, whose calls may have several names (MPI_Bcast, MPI_Ibcast). */
static double taken_share(const replay_output_t *output, const replay_result_t *result, int name)
{
    const replay_plan_t *plan = output->plan;
    bool nonblocking;
    const bench_collective_t *mine = replay_collective(plan->names[name], &nonblocking);
    double calls = 0;

    for (int other = 0; other < plan->name_count; other++)
        if (replay_collective(plan->names[other], &nonblocking) == mine)
            calls += result->rows[other].calls * plan->recording->ranks * passes_of(output);
    return calls > 0 ? (double)output->taken[name] / calls : 0;
}

/* What is saved of the time from the first call to the last, as a share of the run. */
static double program_gain(const replay_output_t *output, const replay_result_t *result)
{
    const replay_recording_t *recording = output->plan->recording;
    const double collectives_s =
        recording->collectives_s > 0 ? recording->collectives_s : result->all.recorded_s;

    if (output->options->gaps == REPLAY_GAPS_NONE || recording->run_s <= 0 ||
        result->all.side_s[BENCH_HOST] <= 0)
        return -1;
    const double saved =
        (result->wall_s[BENCH_HOST] - result->wall_s[BENCH_LIBRARY]) / result->all.side_s[BENCH_HOST];
    return saved * collectives_s / recording->run_s;
}

void replay_result_init(replay_result_t *result, const replay_output_t *output)
{
    const int names = output->plan->name_count;

    *result = (replay_result_t){.rows = replay_allocate((size_t)names, sizeof *result->rows)};
    add_tracks(output, result);
    for (int name = 0; name < names; name++) {
        replay_row_t *row = &result->rows[name];
        row->bytes = row->calls > 0 ? row->bytes / row->calls : 0;
        row->taken = taken_share(output, result, name);
        result->all.calls += row->calls;
        result->all.recorded_s += row->recorded_s;
    }
    for (int side = 0; side < output->job->side_count; side++) {
        for (int name = 0; name < names; name++)
            result->rows[name].side_s[side] = median_of(output, side, name);
        result->all.side_s[side] = median_of(output, side, names);
        result->wall_s[side] = median_wall(output, side);
        result->first_s[side] = pass_sum(output, &output->passes[side][0]);
        result->first_wall_s[side] = output->passes[side][0].wall_s;
    }
    if (output->job->side_count < BENCH_SIDES)
        return;
    const double host_s = result->all.side_s[BENCH_HOST];
    result->gain_collectives = host_s > 0 ? 1 - result->all.side_s[BENCH_LIBRARY] / host_s : 0;
    result->gain_program = program_gain(output, result);
}

void replay_result_fini(replay_result_t *result)
{
    free(result->rows);
}

/* ---- the text ---- */

/* Each kind of substitute is said once. */
static bool printed_before(const replay_run_t *run, int call, bool type)
{
    const replay_part_call_t *calls = run->part->calls;

    for (int i = 0; i < call; i++) {
        const bool is_said = type ? run->substitutes[i].is_like_type : run->substitutes[i].is_like_op;
        if (is_said && strcmp(calls[i].type, calls[call].type) == 0 &&
            calls[i].type_bytes == calls[call].type_bytes &&
            (type || strcmp(calls[i].op, calls[call].op) == 0))
            return true;
    }
    return false;
}

static void print_substitutes(const replay_run_t *run, FILE *file)
{
    for (int call = 0; call < run->part->call_count; call++) {
        const replay_substitute_t *as = &run->substitutes[call];
        const replay_part_call_t *what = &run->part->calls[call];
        if (as->is_like_type && !printed_before(run, call, true))
            fprintf(file, "# %s of %zu bytes is replaced by %zu x %s\n",
                    *what->type ? what->type : "a datatype", what->type_bytes, as->factor, as->type->name);
        if (as->is_like_op && !printed_before(run, call, false))
            fprintf(file, "# %s on %s is replaced by %s\n", *what->op ? what->op : "an operation",
                    *what->type ? what->type : "a datatype", as->op->name);
    }
}

static void print_notes(const replay_output_t *output, FILE *file)
{
    const replay_plan_t *plan = output->plan;

    print_substitutes(output->run, file);
    if (plan->unknown > 0)
        fprintf(file, "# %llu events that cannot be replayed, such as %s, are gaps\n",
                (unsigned long long)plan->unknown, plan->unknown_name);
    if (plan->unmatched > 0)
        fprintf(file, "# %llu calls that not all ranks of their communicator have recorded are left out\n",
                (unsigned long long)plan->unmatched);
    if (plan->recording->accelerated > 0)
        fprintf(file,
                "# %llu calls of the recording were the library's: \"recorded\" is not the host MPI's time "
                "(HANPMPI_ENABLE=0 records that)\n",
                (unsigned long long)plan->recording->accelerated);
}

static void print_row(const replay_output_t *output, const char *name, const replay_row_t *row, FILE *file)
{
    fprintf(file, "%-26s %9.6g %12.0f %12.3f %12.3f", name, row->calls, row->bytes, 1e3 * row->recorded_s,
            1e3 * row->side_s[BENCH_HOST]);
    if (output->job->side_count == BENCH_SIDES)
        fprintf(file, " %12.3f %7.2f %6.0f%%", 1e3 * row->side_s[BENCH_LIBRARY],
                row->side_s[BENCH_HOST] / row->side_s[BENCH_LIBRARY], 100 * row->taken);
    fputc('\n', file);
}

static void print_table(const replay_output_t *output, const replay_result_t *result, FILE *file)
{
    fprintf(file, "%-26s %9s %12s %12s %12s", "# call", "calls", "bytes", "recorded ms", "host ms");
    if (output->job->side_count == BENCH_SIDES)
        fprintf(file, " %12s %7s %7s", "library ms", "ratio", "taken");
    fputc('\n', file);
    for (int name = 0; name < output->plan->name_count; name++)
        print_row(output, output->plan->names[name], &result->rows[name], file);
}

static void print_result(const replay_output_t *output, const replay_result_t *result, FILE *file)
{
    const double recorded_s = result->all.recorded_s, host_s = result->all.side_s[BENCH_HOST];
    const double run_s = output->plan->recording->run_s;

    fprintf(file, "collectives: recorded %.3f ms, host MPI %.3f ms (%+.1f%%)", 1e3 * recorded_s, 1e3 * host_s,
            recorded_s > 0 ? 100 * (host_s / recorded_s - 1) : 0);
    if (output->job->side_count == BENCH_SIDES) {
        fprintf(file, ", library %.3f ms; predicted gain: %.1f%% of the time in collectives",
                1e3 * result->all.side_s[BENCH_LIBRARY], 100 * result->gain_collectives);
        if (result->gain_program > -1)
            fprintf(file, ", %.1f%% of the program (%.4g s -> %.4g s)", 100 * result->gain_program, run_s,
                    run_s * (1 - result->gain_program));
    }
    fputc('\n', file);
}

void replay_output_text(const replay_output_t *output, const replay_result_t *result, FILE *file)
{
    const replay_recording_t *recording = output->plan->recording;

    fprintf(file, "# hanpmpi_replay %s: %s, %d ranks, recorded with %s; gaps %s%s%s, medians of %d passes\n",
            HANPMPI_VERSION, recording->command, recording->ranks,
            *recording->mpi ? recording->mpi : "an MPI that is not named",
            replay_gaps_name(output->options->gaps),
            output->options->gaps == REPLAY_GAPS_RECORDED ? ", filled by " : "",
            output->options->gaps == REPLAY_GAPS_RECORDED ? replay_fill_name(output->options->fill) : "",
            output->options->repeat);
    print_notes(output, file);
    if (output->job->side_count < BENCH_SIDES)
        fputs("# the library is not there: the host MPI alone (LD_PRELOAD=libhanpmpi.so)\n", file);
    print_table(output, result, file);
    print_result(output, result, file);
}

/* ---- JSON ---- */

/* Names of files need not be UTF-8. */
static json_t *text_json(const char *text)
{
    json_t *value = json_string(text);
    char *plain = value ? NULL : strdup(text);

    for (char *at = plain; at && *at; at++)
        *at = (unsigned char)*at < 0x80 ? *at : '?';
    if (plain)
        value = json_string(plain);
    free(plain);
    return value;
}

static json_t *row_json(const replay_output_t *output, const char *name, const replay_row_t *row)
{
    json_t *object = json_pack("{s:s, s:f, s:f, s:f, s:f}", "call", name, "calls", row->calls, "bytes",
                               row->bytes, "recorded_s", row->recorded_s, "host_s", row->side_s[BENCH_HOST]);
    if (output->job->side_count == BENCH_SIDES) {
        json_object_set_new(object, "library_s", json_real(row->side_s[BENCH_LIBRARY]));
        json_object_set_new(object, "taken", json_real(row->taken));
    }
    return object;
}

static json_t *passes_json(const replay_output_t *output, int side)
{
    json_t *list = json_array();

    for (int i = 0; i < passes_of(output); i++)
        json_array_append_new(list, json_pack("{s:f, s:f, s:b}", "wall_s", output->passes[side][i].wall_s,
                                              "collectives_s", pass_sum(output, &output->passes[side][i]),
                                              "warmup", i < output->options->warmup));
    return list;
}

static json_t *substitutes_json(const replay_run_t *run)
{
    json_t *list = json_array();

    for (int call = 0; call < run->part->call_count; call++) {
        const replay_substitute_t *as = &run->substitutes[call];
        const replay_part_call_t *what = &run->part->calls[call];
        if (as->is_like_type && !printed_before(run, call, true))
            json_array_append_new(list, json_pack("{s:s, s:I, s:s, s:I}", "type", what->type, "type_bytes",
                                                  (json_int_t)what->type_bytes, "by", as->type->name,
                                                  "elements", (json_int_t)as->factor));
        if (as->is_like_op && !printed_before(run, call, false))
            json_array_append_new(
                list, json_pack("{s:s, s:s, s:s}", "op", what->op, "type", what->type, "by", as->op->name));
    }
    return list;
}

static json_t *document(const replay_output_t *output, const replay_result_t *result)
{
    const replay_plan_t *plan = output->plan;
    const bool both = output->job->side_count == BENCH_SIDES;
    json_t *rows = json_array(), *command = json_array();

    for (int name = 0; name < plan->name_count; name++)
        json_array_append_new(rows, row_json(output, plan->names[name], &result->rows[name]));
    for (char **word = output->argv; *word; word++)
        json_array_append_new(command, text_json(*word));
    json_t *root =
        json_pack("{s:s, s:s, s:o, s:o, s:i, s:s, s:s, s:i, s:I, s:I, s:o, s:o, s:f, s:f, s:f, s:f, s:o}",
                  "program", "hanpmpi_replay", "version", HANPMPI_VERSION, "command", command, "recording",
                  text_json(output->options->recording), "ranks", plan->recording->ranks, "gaps",
                  replay_gaps_name(output->options->gaps), "fill", replay_fill_name(output->options->fill),
                  "repeat", output->options->repeat, "unknown_events", (json_int_t)plan->unknown,
                  "unmatched_calls", (json_int_t)plan->unmatched, "substitutes",
                  substitutes_json(output->run), "rows", rows, "recorded_s", result->all.recorded_s,
                  "recorded_wall_s", result->recorded_wall_s, "host_s", result->all.side_s[BENCH_HOST],
                  "host_wall_s", result->wall_s[BENCH_HOST], "host_passes", passes_json(output, BENCH_HOST));
    json_object_set_new(root, "run_s",
                        plan->recording->run_s > 0 ? json_real(plan->recording->run_s) : json_null());
    if (!both)
        return root;
    json_object_set_new(root, "library_s", json_real(result->all.side_s[BENCH_LIBRARY]));
    json_object_set_new(root, "library_wall_s", json_real(result->wall_s[BENCH_LIBRARY]));
    json_object_set_new(root, "library_first_s", json_real(result->first_s[BENCH_LIBRARY]));
    json_object_set_new(root, "library_passes", passes_json(output, BENCH_LIBRARY));
    json_object_set_new(root, "gain_collectives", json_real(result->gain_collectives));
    json_object_set_new(root, "gain_program",
                        result->gain_program > -1 ? json_real(result->gain_program) : json_null());
    return root;
}

bool replay_output_json(const replay_output_t *output, const replay_result_t *result, const char *name)
{
    json_t *root = document(output, result);
    const bool is_standard = strcmp(name, "-") == 0;
    const size_t flags = JSON_INDENT(1) | JSON_REAL_PRECISION(9);
    const bool written =
        (is_standard ? json_dumpf(root, stdout, flags) : json_dump_file(root, name, flags)) == 0;

    if (is_standard)
        putchar('\n');
    if (!written)
        fprintf(stderr, "hanpmpi_replay: --json %s: cannot be written: %s\n", name, strerror(errno));
    json_decref(root);
    return written;
}
