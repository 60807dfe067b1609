/* options_text: the options of hanpmpi_bench as --help shows them, and what its columns mean. Threads: any. Ownership:
 * static. */
#ifndef HP_BENCH_OPTIONS_TEXT_H
#define HP_BENCH_OPTIONS_TEXT_H

#include <argp.h>

#include "command_line.h"

enum {
    KEY_FACTOR = BENCH_KEY_OWN,
    KEY_PATTERN,
    KEY_WARMUP,
    KEY_COLD_BYTES,
    KEY_SKEW,
    KEY_SEED,
    KEY_FORCE,
    KEY_SYNC,
    KEY_OVERLAP,
    KEY_PERSISTENT,
    KEY_TESTS,
    KEY_COMPUTE,
    KEY_GUIDELINES,
    KEY_RAW,
    KEY_JSON,
    KEY_CSV
};

/* Of --collective, --datatype and --op the text has a %s, for the names. */
extern const struct argp_option bench_option_descriptions[];
/* Before and after the options. */
extern const char bench_options_doc[];

#endif
