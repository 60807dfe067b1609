/* output: the table, the CSV rows and the JSON document. Rank 0 only.
 *
 * Threads: one. Ownership: a bench_output_t has the open files and the JSON rows until bench_output_end. */
#ifndef HP_BENCH_OUTPUT_H
#define HP_BENCH_OUTPUT_H

#include "output_shared.h"

/* false, after a message, when a file cannot be opened. The other members are set. */
bool bench_output_begin(bench_output_t *output);
void bench_output_row(bench_output_t *output, const bench_row_t *row);
/* false, after a message, when something could not be written. */
bool bench_output_end(bench_output_t *output);

#endif
