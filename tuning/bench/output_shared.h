/* output_shared: what is printed, and what the table, the CSV rows and the JSON document of both modes share.
 *
 * output.c opens and closes the files and calls output_json.c and output_overlap.c, which stand on this.
 * Threads: one. Ownership: a bench_output_t has the open files and the JSON rows; the rows borrow what they show. */
#ifndef HP_BENCH_OUTPUT_SHARED_H
#define HP_BENCH_OUTPUT_SHARED_H

#include <jansson.h>
#include <stdio.h>

#include "guidelines.h"
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
    const bench_guidelines_t *guidelines;          /* --guidelines, else NULL; without bound */
    bench_bound_t bound;
    double copy_bytes_per_second;
} bench_row_t;

/* Of all rows of --guidelines. */
typedef struct {
    int compared, broken;
    double worst; /* ratio; of which: */
    const bench_mockup_t *mockup;
    size_t bytes;
} bench_guideline_tally_t;

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
    bench_guideline_tally_t guidelines;
} bench_output_t;

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

/* Adds the members that only some collectives have: op, root, pattern. */
void bench_json_case(const bench_case_t *what, json_t *object);
json_t *bench_json_quantiles(const bench_quantiles_t *q);
json_t *bench_json_times(const double *times_us, int count);

#endif
