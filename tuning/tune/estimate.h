/* estimate: roughly how long a measurement will take, before anything was measured: for the plan of a dry
 * run and for the time that is left. From bytes, and the machine's latency and bandwidths. Threads: pure.
 * Ownership: plain data. */
#ifndef HP_TUNE_ESTIMATE_H
#define HP_TUNE_ESTIMATE_H

#include "book.h"

typedef struct {
    tune_layout_t layout;
    double between_us, inside_us;                /* a message */
    double link_bytes_per_us, copy_bytes_per_us; /* 0 between_us, link: one node */
} tune_rates_t;

/* Of a machine that nothing is known of: 10 Gbit/s. */
tune_rates_t tune_rates_default(const tune_layout_t *layout);

double tune_estimate_us(const tune_rates_t *rates, tune_collective_t collective, const tune_config_t *config,
                        size_t bytes);
/* Of `calls` calls with what is between them. */
double tune_estimate_seconds(const tune_rates_t *rates, double us, int calls);

#endif
