#include "output_guidelines.h"

static const char *verdict(const bench_guideline_t *guideline)
{
    return guideline->broken ? "broken" : "kept";
}

static void count(bench_guideline_tally_t *tally, const bench_guideline_t *guideline, size_t bytes)
{
    tally->compared++;
    tally->broken += guideline->broken;
    if (guideline->broken && guideline->ratio > tally->worst) {
        tally->worst = guideline->ratio;
        tally->mockup = guideline->mockup;
        tally->bytes = bytes;
    }
}

/* ---- table ---- */

static void print_line(const bench_output_t *output, const bench_row_t *row,
                       const bench_guideline_t *guideline)
{
    fprintf(output->table, "%10zu %6d | %10.2f | %-32s %10.2f | %6.2f %6.2f %6.2f | %s\n", row->what->bytes,
            row->result->repetitions, row->result->side[BENCH_HOST].max.median, guideline->mockup->made_of,
            guideline->times.max.median, guideline->ratio, guideline->pair_ratios.q1,
            guideline->pair_ratios.q3, verdict(guideline));
}

static void print(bench_output_t *output, const bench_row_t *row)
{
    if (bench_table_section(output, row))
        fprintf(output->table, "# %-8s %6s | %10s | %-32s %10s | %6s %6s %6s | %s\n", "bytes", "reps",
                "collective", "mock-up", "[usec]", "ratio", "q1", "q3", "guideline");
    for (int i = 0; i < row->guidelines->count; i++)
        print_line(output, row, &row->guidelines->guideline[i]);
    fflush(output->table);
}

void bench_guidelines_summary(const bench_output_t *output)
{
    const bench_guideline_tally_t *tally = &output->guidelines;

    fprintf(output->table, "#\n# %d of %d rows break a guideline", tally->broken, tally->compared);
    if (tally->mockup)
        fprintf(output->table, "; the worst: %s = %s, %.2f times as fast at %zu bytes",
                tally->mockup->collective, tally->mockup->made_of, tally->worst, tally->bytes);
    fprintf(output->table, "\n");
}

/* ---- CSV ---- */

void bench_guidelines_csv_head(const bench_output_t *output)
{
    bench_csv_case_head(output->csv);
    bench_csv_quantiles_head(output->csv, BENCH_HOST, "t_max");
    fprintf(output->csv,
            ",mockup,mockup_t_max_q1_us,mockup_t_max_us,mockup_t_max_q3_us,ratio,ratio_q1,ratio_q3,"
            "guideline\n");
}

static void csv_line(const bench_output_t *output, const bench_row_t *row, const bench_guideline_t *guideline)
{
    FILE *csv = output->csv;

    bench_csv_case(csv, row);
    bench_csv_quantiles(csv, &row->result->side[BENCH_HOST].max);
    fprintf(csv, ",%s", guideline->mockup->made_of);
    bench_csv_quantiles(csv, &guideline->times.max);
    fprintf(csv, ",%.4f,%.4f,%.4f,%s\n", guideline->ratio, guideline->pair_ratios.q1,
            guideline->pair_ratios.q3, verdict(guideline));
    fflush(csv);
}

/* ---- JSON ---- */

static json_t *json_line(const bench_output_t *output, const bench_row_t *row,
                         const bench_guideline_t *guideline)
{
    const bench_case_t *what = row->what;
    const bench_side_result_t *own = &row->result->side[BENCH_HOST];
    const int repetitions = row->result->repetitions;
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:I, s:i, s:i, s:b, s:o, s:o, s:f, s:o, s:b}", "collective", what->collective->name,
        "mockup", guideline->mockup->made_of, "datatype", what->type->name, "bytes", (json_int_t)what->bytes,
        "repetitions", repetitions, "warmup_repetitions", row->result->warmup_repetitions, "stable",
        (int)row->result->stable, "t_max_us", bench_json_quantiles(&own->max), "mockup_t_max_us",
        bench_json_quantiles(&guideline->times.max), "ratio", guideline->ratio, "pair_ratios",
        bench_json_quantiles(&guideline->pair_ratios), "broken", (int)guideline->broken);

    bench_json_case(what, object);
    if (output->options->raw) {
        json_object_set_new(object, "raw_t_max_us", bench_json_times(own->times_us, repetitions));
        json_object_set_new(object, "raw_mockup_t_max_us",
                            bench_json_times(guideline->times.times_us, repetitions));
    }
    return object;
}

void bench_guidelines_json(const bench_output_t *output, json_t *document)
{
    json_object_set_new(document, "rows", json_array());
    json_object_set_new(document, "guidelines",
                        json_pack("{s:i, s:i, s:O}", "compared", output->guidelines.compared, "broken",
                                  output->guidelines.broken, "rows", output->rows));
}

/* ---- all three ---- */

void bench_guidelines_row(bench_output_t *output, const bench_row_t *row)
{
    if (output->table)
        print(output, row);
    for (int i = 0; i < row->guidelines->count; i++) {
        const bench_guideline_t *guideline = &row->guidelines->guideline[i];
        count(&output->guidelines, guideline, row->what->bytes);
        if (output->csv)
            csv_line(output, row, guideline);
        if (output->json)
            json_array_append_new(output->rows, json_line(output, row, guideline));
    }
}
