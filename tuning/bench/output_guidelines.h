/* output_guidelines: the table, CSV rows and JSON document of --guidelines. Rank 0 only.
 *
 * Threads: one. Ownership: as output_shared. */
#ifndef HP_BENCH_OUTPUT_GUIDELINES_H
#define HP_BENCH_OUTPUT_GUIDELINES_H

#include "output_shared.h"

void bench_guidelines_csv_head(const bench_output_t *output);
/* A line for each mock-up, wherever rows are wanted. */
void bench_guidelines_row(bench_output_t *output, const bench_row_t *row);
/* The last line of the table: how often the MPI breaks a guideline. */
void bench_guidelines_summary(const bench_output_t *output);
/* Adds the same, and the rows. */
void bench_guidelines_json(const bench_output_t *output, json_t *document);

#endif
