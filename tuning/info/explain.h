/* explain: what hanpmpi_info --explain answers: what would run such a call here, and why.
 *
 * Threads: one. Ownership: nothing is kept. */
#ifndef HANPMPI_INFO_EXPLAIN_H
#define HANPMPI_INFO_EXPLAIN_H

#include <stdbool.h>

/* question: "allreduce nodes=4 ppn=4 bytes=1M". Settings and the rules' file come from the environment, probes
 * from what earlier runs left. Returns the exit status: 1 where the question is not understood. json: as
 * JSON. */
int info_explain(const char *question, bool json);

#endif
