#include "output_shared.h"

#include <string.h>

double bench_bus_bandwidth(const bench_row_t *row, const bench_job_t *job, bench_side_t side)
{
    return (double)row->what->bytes / row->result->side[side].max.median *
           row->what->collective->bus_factor(job->size);
}

const char *bench_taken_text(double taken, const char *reason)
{
    static char text[64];
    const double percent = 100 * taken;
    if (!reason)
        return "100%";
    snprintf(text, sizeof text, percent > 0 && percent < 1 ? "%.1f%% %s" : "%.0f%% %s", percent, reason);
    return text;
}

const char *bench_side_name(bench_side_t side)
{
    return side == BENCH_LIBRARY ? "library" : "host";
}

/* ---- table ---- */

bool bench_table_section(bench_output_t *output, const bench_row_t *row)
{
    const bench_case_t *what = row->what;
    const bool patterned = what->arrival != BENCH_ARRIVAL_NONE;
    char section[sizeof output->section], root[32] = "", skew[64] = "", pattern[32] = "";

    if (what->collective->has_root && what->root == BENCH_ROTATE)
        snprintf(root, sizeof root, ", root rotates");
    else if (what->collective->has_root)
        snprintf(root, sizeof root, ", root %d", what->root);
    if (what->collective->blocks.sizes_differ)
        snprintf(pattern, sizeof pattern, ", blocks %s", bench_pattern_name(what->pattern));
    if (patterned)
        snprintf(skew, sizeof skew, ", skew %g times the host's median", what->skew);
    const int length = snprintf(
        section, sizeof section, "# %s, %s%s%s%s%s, buffers %s, ", what->collective->name, what->type->name,
        what->collective->reduces ? ", " : "", what->collective->reduces ? what->op->name : "", root, pattern,
        what->cold ? "cold" : "warm");
    if (row->nonblocking)
        snprintf(section + length, sizeof section - (size_t)length,
                 "%soverlap with a computation of %g times its time",
                 output->options->plan.persistent ? "persistent, " : "",
                 output->options->plan.compute_factor);
    else
        snprintf(section + length, sizeof section - (size_t)length, "arrival %s%s",
                 bench_arrival_name(what->arrival), skew);
    if (strcmp(section, output->section) == 0)
        return false;
    strcpy(output->section, section);
    fprintf(output->table, "#\n%s\n", section);
    return true;
}

/* ---- CSV ---- */

void bench_csv_quantiles_head(FILE *csv, bench_side_t side, const char *name)
{
    const char *of = bench_side_name(side);
    fprintf(csv, ",%s_%s_q1_us,%s_%s_us,%s_%s_q3_us", of, name, of, name, of, name);
}

void bench_csv_case_head(FILE *csv)
{
    fprintf(csv, "collective,datatype,op,root,pattern,buffers,arrival,skew,skew_us,bytes,repetitions,warmup_"
                 "repetitions,stable");
}

void bench_csv_quantiles(FILE *csv, const bench_quantiles_t *q)
{
    fprintf(csv, ",%.3f,%.3f,%.3f", q->q1, q->median, q->q3);
}

void bench_csv_case(FILE *csv, const bench_row_t *row)
{
    const bench_case_t *what = row->what;
    const bench_result_t *result = row->result;
    char root[16] = "";

    if (what->collective->has_root)
        snprintf(root, sizeof root, what->root == BENCH_ROTATE ? "rotate" : "%d", what->root);
    fprintf(csv, "%s,%s,%s,%s,%s,%s,%s,%g,%.3f,%zu,%d,%d,%d", what->collective->name, what->type->name,
            what->collective->reduces ? what->op->name : "", root,
            what->collective->blocks.sizes_differ ? bench_pattern_name(what->pattern) : "",
            what->cold ? "cold" : "warm", bench_arrival_name(what->arrival),
            what->arrival == BENCH_ARRIVAL_NONE ? 0 : what->skew, result->skew_us, what->bytes,
            result->repetitions, result->warmup_repetitions, result->stable);
}

/* ---- JSON ---- */

json_t *bench_json_quantiles(const bench_quantiles_t *q)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:[f, f]}", "min", q->min, "q1", q->q1, "median", q->median,
                     "q3", q->q3, "max", q->max, "median_95", q->low95, q->high95);
}

void bench_json_case(const bench_case_t *what, json_t *object)
{
    if (what->collective->reduces)
        json_object_set_new(object, "op", json_string(what->op->name));
    if (what->collective->has_root)
        json_object_set_new(object, "root",
                            what->root == BENCH_ROTATE ? json_string("rotate") : json_integer(what->root));
    if (what->collective->blocks.sizes_differ)
        json_object_set_new(object, "pattern", json_string(bench_pattern_name(what->pattern)));
}

json_t *bench_json_times(const double *times_us, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, json_real(times_us[i]));
    return list;
}
