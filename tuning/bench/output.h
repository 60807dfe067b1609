/* output: the table, the CSV rows and the JSON document. Rank 0 only.
 *
 * Threads: one. Ownership: a bench_output_t has the open files and the JSON rows until bench_output_end. */
#ifndef HP_BENCH_OUTPUT_H
#define HP_BENCH_OUTPUT_H

#include <jansson.h>
#include <stdio.h>

#include "limits.h"
#include "machine.h"
#include "measure.h"
#include "options.h"

/* One row with what belongs to it. */
typedef struct {
    const bench_case_t *what;
    const bench_result_t *result;
    bench_bound_t bound;
    double copy_bytes_per_second;
} bench_row_t;

typedef struct {
    const bench_job_t *job;
    const bench_options_t *options;
    const bench_limits_t *limits;
    const bench_machine_t *machine; /* rank 0's */
    char **argv;
    FILE *table, *csv; /* NULL: none */
    FILE *json;        /* opened at once, so that a wrong name is found before the measurement */
    json_t *rows;
    char section[256]; /* the heading above the table's last row */
} bench_output_t;

/* false, after a message, when a file cannot be opened. The other members are set. */
bool bench_output_begin(bench_output_t *output);
void bench_output_row(bench_output_t *output, const bench_row_t *row);
/* false, after a message, when something could not be written. */
bool bench_output_end(bench_output_t *output);

/* MB/s (10^6). */
double bench_bus_bandwidth(const bench_row_t *row, const bench_job_t *job, bench_side_t side);
/* "100%", "0% one-node" */
const char *bench_taken_text(const bench_result_t *result);

/* output_json.c */
json_t *bench_json_row(const bench_output_t *output, const bench_row_t *row);
json_t *bench_json_document(const bench_output_t *output);

#endif
