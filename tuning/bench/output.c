#include "output.h"

#include <string.h>

#include "output_guidelines.h"
#include "output_json.h"
#include "output_overlap.h"

static bool opens(const char *name, FILE **file)
{
    *file = strcmp(name, "-") == 0 ? stdout : fopen(name, "w");
    if (!*file)
        perror(name);
    return *file;
}

static bool is_stdout(const char *name)
{
    return name && strcmp(name, "-") == 0;
}

/* ---- table ---- */

static void print_head(const bench_output_t *output)
{
    const bench_job_t *job = output->job;
    const bench_limits_t *limits = output->limits;
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    FILE *table = output->table;

    MPI_Get_library_version(version, &length);
    fprintf(table, "# hanpmpi_bench %s\n", HANPMPI_VERSION);
    fprintf(table, "# host MPI: %.*s\n", (int)strcspn(version, "\n"), version);
    if (output->options->guidelines)
        fprintf(table, "# guidelines: the host MPI's collectives against mock-ups made of its other ones\n");
    else if (!job->library_version)
        fprintf(
            table,
            "# library: not loaded: the host MPI alone is measured (LD_PRELOAD=libhanpmpi.so mpirun ...)\n");
    else if (job->side_count < BENCH_SIDES)
        fprintf(table,
                "# library: %s is loaded but not active: the host MPI alone is measured "
                "(HANPMPI_VERBOSE=2 tells why)\n",
                job->library_version);
    else
        fprintf(table, "# library: %s, backend %s\n", job->library_version, job->library_backend);
    for (int i = 0;
         i < output->options->hint_count && job->side_count == BENCH_SIDES && !output->options->guidelines;
         i++)
        fprintf(table, "# hint: %s\n", output->options->hints[i]);
    fprintf(table, "# ranks: %d on %d node%s, at most %d on one\n", job->size, job->node_count,
            job->node_count > 1 ? "s" : "", job->node_ranks_max);
    fprintf(table, "# machine: %s, %d cores, last-level cache %zu KiB, %s\n",
            *output->machine->processor ? output->machine->processor : "unknown processor",
            output->machine->cores, output->machine->cache_bytes >> 10, output->machine->kernel);
    if (limits->node_latency_us > 0)
        fprintf(table, "# intra-node latency: %.2f us\n", limits->node_latency_us);
    if (limits->link_latency_us > 0)
        fprintf(table, "# inter-node: %.2f us, %.1f MB/s\n", limits->link_latency_us,
                limits->link_bytes_per_second / 1e6);
    fflush(table);
}

static void print_columns(const bench_output_t *output, bool patterned)
{
    const bool both = output->job->side_count == BENCH_SIDES;
    FILE *table = output->table;

    fprintf(table, "# %-8s %6s", "", "");
    if (patterned)
        fprintf(table, " %10s", "");
    for (int side = 0; side < output->job->side_count; side++)
        fprintf(table, " | %-*s", patterned ? 43 : 32,
                both && side == 0 ? "library [usec]" : "host MPI [usec]");
    fprintf(table, " |%s %-21s | %-*s\n", both ? " host/library                          |" : "",
            "busbw [MB/s]", 26, "bound [usec], reached");
    fprintf(table, "# %-8s %6s", "bytes", "reps");
    if (patterned)
        fprintf(table, " %10s", "skew");
    for (int side = 0; side < output->job->side_count; side++) {
        fprintf(table, " | %10s %10s %10s", "t_min", "t_avg", "t_max");
        if (patterned)
            fprintf(table, " %10s", "first");
    }
    fprintf(table, " |");
    if (both)
        fprintf(table, " %6s %6s %6s %-16s |", "ratio", "q1", "q3", "taken");
    fprintf(table, both ? " %10s %10s | %10s %7s %7s\n" : " %10s %10s | %10s %7s %s\n",
            both ? "library" : "host", both ? "host" : "", "bound", both ? "library" : "host",
            both ? "host" : "");
}

static void print_row(bench_output_t *output, const bench_row_t *row)
{
    const bench_result_t *result = row->result;
    const int sides = output->job->side_count;
    const bool patterned = row->what->arrival != BENCH_ARRIVAL_NONE;
    FILE *table = output->table;

    if (bench_table_section(output, row))
        print_columns(output, patterned);
    fprintf(table, "%10zu %6d", row->what->bytes, result->repetitions);
    if (patterned)
        fprintf(table, " %10.2f", result->skew_us);
    for (int side = sides - 1; side >= 0; side--) {
        const bench_side_result_t *times = &result->side[side];
        fprintf(table, " | %10.2f %10.2f %10.2f", times->min.median, times->avg.median, times->max.median);
        if (patterned)
            fprintf(table, " %10.2f", times->from_first.median);
    }
    fprintf(table, " |");
    if (sides == BENCH_SIDES)
        fprintf(table, " %6.2f %6.2f %6.2f %-16s |", result->ratio, result->pair_ratios.q1,
                result->pair_ratios.q3, bench_taken_text(result->taken, result->reason));
    for (int side = sides - 1; side >= 0; side--)
        fprintf(table, " %10.2f", bench_bus_bandwidth(row, output->job, (bench_side_t)side));
    fprintf(table, "%s | %10.2f", sides == 1 ? "           " : "", row->bound.us);
    for (int side = sides - 1; side >= 0; side--)
        fprintf(table, " %7.2f", row->bound.us / result->side[side].max.median);
    fprintf(table, "\n");
    fflush(table);
}

/* ---- CSV ---- */

static void csv_head(const bench_output_t *output)
{
    FILE *csv = output->csv;

    bench_csv_case_head(csv);
    for (int s = output->job->side_count - 1; s >= 0; s--) {
        const bench_side_t side = (bench_side_t)s;
        bench_csv_quantiles_head(csv, side, "t_min");
        bench_csv_quantiles_head(csv, side, "t_avg");
        bench_csv_quantiles_head(csv, side, "t_max");
        bench_csv_quantiles_head(csv, side, "from_first");
        fprintf(csv, ",%s_busbw_mbps,%s_reached", bench_side_name(side), bench_side_name(side));
    }
    if (output->job->side_count == BENCH_SIDES)
        fprintf(csv, ",ratio,ratio_q1,ratio_q3,taken,passed_because");
    fprintf(csv, ",bound_us\n");
}

static void csv_row(const bench_output_t *output, const bench_row_t *row)
{
    const bench_result_t *result = row->result;
    FILE *csv = output->csv;

    bench_csv_case(csv, row);
    for (int side = output->job->side_count - 1; side >= 0; side--) {
        const bench_side_result_t *times = &result->side[side];
        bench_csv_quantiles(csv, &times->min);
        bench_csv_quantiles(csv, &times->avg);
        bench_csv_quantiles(csv, &times->max);
        bench_csv_quantiles(csv, &times->from_first);
        fprintf(csv, ",%.3f,%.4f", bench_bus_bandwidth(row, output->job, (bench_side_t)side),
                row->bound.us / times->max.median);
    }
    if (output->job->side_count == BENCH_SIDES)
        fprintf(csv, ",%.4f,%.4f,%.4f,%.4f,%s", result->ratio, result->pair_ratios.q1, result->pair_ratios.q3,
                result->taken, result->reason ? result->reason : "");
    fprintf(csv, ",%.3f\n", row->bound.us);
    fflush(csv);
}

/* ---- all three ---- */

bool bench_output_begin(bench_output_t *output)
{
    const bench_options_t *options = output->options;

    output->table = is_stdout(options->json) || is_stdout(options->csv) ? NULL : stdout;
    if ((options->json && !opens(options->json, &output->json)) ||
        (options->csv && !opens(options->csv, &output->csv)))
        return false;
    output->rows = json_array();
    if (output->table)
        print_head(output);
    if (output->csv && options->overlap)
        bench_overlap_csv_head(output);
    else if (output->csv && options->guidelines)
        bench_guidelines_csv_head(output);
    else if (output->csv)
        csv_head(output);
    return true;
}

void bench_output_row(bench_output_t *output, const bench_row_t *row)
{
    if (row->guidelines) {
        bench_guidelines_row(output, row);
        return;
    }
    if (output->table)
        (row->nonblocking ? bench_overlap_table : print_row)(output, row);
    if (output->csv)
        (row->nonblocking ? bench_overlap_csv : csv_row)(output, row);
    if (output->json)
        json_array_append_new(output->rows, bench_json_row(output, row));
}

static bool close_file(FILE *file, const char *name)
{
    if (file && (ferror(file) || (file == stdout ? fflush(file) : fclose(file)) != 0)) {
        perror(name);
        return false;
    }
    return true;
}

bool bench_output_end(bench_output_t *output)
{
    bool written = true;

    if (output->table && output->options->guidelines)
        bench_guidelines_summary(output);
    if (output->json) {
        json_t *document = bench_json_document(output);
        written = json_dumpf(document, output->json, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) == 0;
        written = fputc('\n', output->json) != EOF && written;
        json_decref(document);
        if (!written)
            fprintf(stderr, "hanpmpi_bench: could not write %s\n", output->options->json);
    }
    json_decref(output->rows);
    written = close_file(output->json, output->options->json) && written;
    return close_file(output->csv, output->options->csv) && written;
}
