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
#include "nonblocking.h"
#include "options.h"

/* One row with what belongs to it. */
typedef struct {
    const bench_case_t *what;
    const bench_result_t *result;                  /* of blocking calls */
    const bench_nonblocking_result_t *nonblocking; /* --overlap, else NULL */
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

/* What the tables of the two modes share. */

/* MB/s (10^6). */
double bench_bus_bandwidth(const bench_row_t *row, const bench_job_t *job, bench_side_t side);
/* "100%", "0% one-node" */
const char *bench_taken_text(double taken, const char *reason);
const char *bench_side_name(bench_side_t side);
/* Prints the heading above rows like this one, unless it is there; true: the columns' names must follow. */
bool bench_table_section(bench_output_t *output, const bench_row_t *row);
/* The columns that say which case a row is of, and the three of a time. */
void bench_csv_case_head(FILE *csv);
void bench_csv_case(FILE *csv, const bench_row_t *row);
void bench_csv_quantiles_head(FILE *csv, bench_side_t side, const char *name);
void bench_csv_quantiles(FILE *csv, const bench_quantiles_t *q);

/* output_overlap.c: --overlap. A row of the table and of CSV is for one number of tests. */
void bench_overlap_table(bench_output_t *output, const bench_row_t *row);
void bench_overlap_csv_head(const bench_output_t *output);
void bench_overlap_csv(const bench_output_t *output, const bench_row_t *row);
/* Adds to the object of a row. */
void bench_overlap_json(const bench_output_t *output, const bench_row_t *row, json_t *object);

/* output_json.c */
json_t *bench_json_row(const bench_output_t *output, const bench_row_t *row);
json_t *bench_json_document(const bench_output_t *output);
json_t *bench_json_quantiles(const bench_quantiles_t *q);
json_t *bench_json_times(const double *times_us, int count);

#endif
