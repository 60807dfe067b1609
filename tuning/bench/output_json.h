/* output_json: the JSON document of a run, and its rows.
 *
 * Threads: one. Ownership: the caller gets new references. */
#ifndef HP_BENCH_OUTPUT_JSON_H
#define HP_BENCH_OUTPUT_JSON_H

#include "output_shared.h"

json_t *bench_json_row(const bench_output_t *output, const bench_row_t *row);
json_t *bench_json_document(const bench_output_t *output);

#endif
