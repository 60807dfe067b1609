/* output_overlap: the table, CSV and JSON of --overlap. A row of the table and of CSV is for one number of tests; the
 * library's side comes first, as in the other mode.
 *
 * Threads: one. Ownership: nothing is kept. */
#ifndef HP_BENCH_OUTPUT_OVERLAP_H
#define HP_BENCH_OUTPUT_OVERLAP_H

#include "output_shared.h"

void bench_overlap_table(bench_output_t *output, const bench_row_t *row);
void bench_overlap_csv_head(const bench_output_t *output);
void bench_overlap_csv(const bench_output_t *output, const bench_row_t *row);
/* Adds to the object of a row. */
void bench_overlap_json(const bench_output_t *output, const bench_row_t *row, json_t *object);

#endif
