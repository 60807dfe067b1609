#include "output_overlap.h"

static bool both_sides(const bench_output_t *output)
{
    return output->job->side_count == BENCH_SIDES;
}

/* How many times as long the host takes, for a time that both sides' results have. */
static double ratio(const bench_quantiles_t *host, const bench_quantiles_t *library)
{
    return host->median / library->median;
}

/* ---- table ---- */

static void print_columns(const bench_output_t *output)
{
    FILE *table = output->table;

    fprintf(table, "# %-8s %6s %7s", "", "", "");
    for (int side = output->job->side_count - 1; side >= 0; side--)
        fprintf(table, " | %-63s", both_sides(output) && side > 0 ? "library [usec]" : "host MPI [usec]");
    fprintf(table, "%s\n", both_sides(output) ? " | host/library" : "");
    fprintf(table, "# %-8s %6s %7s", "bytes", "reps", "tests");
    for (int side = output->job->side_count - 1; side >= 0; side--)
        fprintf(table, " | %10s %10s %5s %10s %10s %6s %6s", "blocking", "pure", "p/b", "compute", "both",
                "IMB%", "OSU%");
    if (both_sides(output))
        fprintf(table, " | %8s %6s %6s %s", "blocking", "pure", "both", "taken");
    fprintf(table, "\n");
}

static void print_line(const bench_output_t *output, const bench_row_t *row, int t)
{
    const bench_nonblocking_result_t *result = row->nonblocking;
    const bench_nonblocking_side_t *host = &result->side[BENCH_HOST], *library = &result->side[BENCH_LIBRARY];
    FILE *table = output->table;

    fprintf(table, "%10zu %6d %7d", row->what->bytes, row->result->repetitions,
            output->options->plan.tests[t]);
    for (int s = output->job->side_count - 1; s >= 0; s--) {
        const bench_nonblocking_side_t *side = &result->side[s];
        fprintf(table, " | %10.2f %10.2f %5.2f %10.2f %10.2f %6.1f %6.1f", row->result->side[s].max.median,
                side->pure.median, side->pure_by_blocking, side->compute.median, side->with[t].both.median,
                side->with[t].imb.of_medians, side->with[t].osu.of_medians);
    }
    if (both_sides(output))
        fprintf(table, " | %8.2f %6.2f %6.2f %s", row->result->ratio, ratio(&host->pure, &library->pure),
                ratio(&host->with[t].both, &library->with[t].both),
                bench_taken_text(result->taken, result->reason));
    fprintf(table, "\n");
}

void bench_overlap_table(bench_output_t *output, const bench_row_t *row)
{
    if (bench_table_section(output, row))
        print_columns(output);
    for (int t = 0; t < output->options->plan.test_count; t++)
        print_line(output, row, t);
    fflush(output->table);
}

/* ---- CSV ---- */

void bench_overlap_csv_head(const bench_output_t *output)
{
    FILE *csv = output->csv;

    bench_csv_case_head(csv);
    fprintf(csv, ",persistent,compute_factor,tests");
    for (int s = output->job->side_count - 1; s >= 0; s--) {
        const bench_side_t side = (bench_side_t)s;
        const char *name = bench_side_name(side);
        bench_csv_quantiles_head(csv, side, "t_blocking");
        bench_csv_quantiles_head(csv, side, "t_pure");
        bench_csv_quantiles_head(csv, side, "t_compute");
        bench_csv_quantiles_head(csv, side, "t_both");
        fprintf(csv, ",%s_pure_by_blocking,%s_overlap_imb,%s_overlap_osu", name, name, name);
    }
    if (both_sides(output))
        fprintf(csv, ",blocking_ratio,pure_ratio,both_ratio,blocking_taken,taken,passed_because");
    fprintf(csv, "\n");
}

static void csv_line(const bench_output_t *output, const bench_row_t *row, int t)
{
    const bench_nonblocking_result_t *result = row->nonblocking;
    const bench_nonblocking_side_t *host = &result->side[BENCH_HOST], *library = &result->side[BENCH_LIBRARY];
    const bench_nonblocking_plan_t *plan = &output->options->plan;
    FILE *csv = output->csv;

    bench_csv_case(csv, row);
    fprintf(csv, ",%d,%g,%d", plan->persistent, plan->compute_factor, plan->tests[t]);
    for (int s = output->job->side_count - 1; s >= 0; s--) {
        const bench_nonblocking_side_t *side = &result->side[s];
        bench_csv_quantiles(csv, &row->result->side[s].max);
        bench_csv_quantiles(csv, &side->pure);
        bench_csv_quantiles(csv, &side->compute);
        bench_csv_quantiles(csv, &side->with[t].both);
        fprintf(csv, ",%.4f,%.2f,%.2f", side->pure_by_blocking, side->with[t].imb.of_medians,
                side->with[t].osu.of_medians);
    }
    if (both_sides(output))
        fprintf(csv, ",%.4f,%.4f,%.4f,%.4f,%.4f,%s", row->result->ratio, ratio(&host->pure, &library->pure),
                ratio(&host->with[t].both, &library->with[t].both), row->result->taken, result->taken,
                result->reason ? result->reason : "");
    fprintf(csv, "\n");
}

void bench_overlap_csv(const bench_output_t *output, const bench_row_t *row)
{
    for (int t = 0; t < output->options->plan.test_count; t++)
        csv_line(output, row, t);
    fflush(output->csv);
}

/* ---- JSON ---- */

static json_t *with_tests(const bench_output_t *output, const bench_both_t *with, int tests, int repetitions)
{
    json_t *object = json_pack(
        "{s:i, s:o, s:f, s:o, s:f, s:o}", "tests", tests, "t_both_us", bench_json_quantiles(&with->both),
        "overlap_imb", with->imb.of_medians, "repetitions_imb", bench_json_quantiles(&with->imb.repetitions),
        "overlap_osu", with->osu.of_medians, "repetitions_osu", bench_json_quantiles(&with->osu.repetitions));
    if (output->options->raw)
        json_object_set_new(object, "raw_t_both_us", bench_json_times(with->both_us, repetitions));
    return object;
}

static json_t *side_object(const bench_output_t *output, const bench_row_t *row, bench_side_t which)
{
    const bench_nonblocking_side_t *side = &row->nonblocking->side[which];
    const bench_nonblocking_plan_t *plan = &output->options->plan;
    const int repetitions = row->result->repetitions;
    json_t *with = json_array();

    for (int t = 0; t < plan->test_count; t++)
        json_array_append_new(with, with_tests(output, &side->with[t], plan->tests[t], repetitions));
    json_t *object = json_pack("{s:o, s:o, s:f, s:o}", "t_pure_us", bench_json_quantiles(&side->pure),
                               "t_compute_us", bench_json_quantiles(&side->compute), "pure_by_blocking",
                               side->pure_by_blocking, "with_tests", with);
    if (output->options->raw) {
        json_object_set_new(object, "raw_t_pure_us", bench_json_times(side->pure_us, repetitions));
        json_object_set_new(object, "raw_t_compute_us", bench_json_times(side->compute_us, repetitions));
    }
    return object;
}

void bench_overlap_json(const bench_output_t *output, const bench_row_t *row, json_t *object)
{
    const bench_nonblocking_result_t *result = row->nonblocking;
    const bench_nonblocking_plan_t *plan = &output->options->plan;
    json_t *overlap = json_pack("{s:b, s:f, s:o}", "persistent", plan->persistent, "compute_factor",
                                plan->compute_factor, "host", side_object(output, row, BENCH_HOST));

    if (both_sides(output)) {
        const bench_nonblocking_side_t *host = &result->side[BENCH_HOST],
                                       *library = &result->side[BENCH_LIBRARY];
        json_object_set_new(overlap, "library", side_object(output, row, BENCH_LIBRARY));
        json_object_set_new(overlap, "pure_ratio", json_real(ratio(&host->pure, &library->pure)));
        json_object_set_new(overlap, "taken", json_real(result->taken));
        json_object_set_new(overlap, "passed_because",
                            result->reason ? json_string(result->reason) : json_null());
    }
    json_object_set_new(object, "overlap", overlap);
}
