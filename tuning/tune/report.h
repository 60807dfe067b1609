/* report: what a run found: the table on standard output, and every figure in a file (FORMAT.md). Threads:
 * one, rank 0's. Ownership: borrows everything. */
#ifndef HP_TUNE_REPORT_H
#define HP_TUNE_REPORT_H

#include "work.h"

typedef struct {
    const char *mpi, *machine; /* names */
    tune_layout_t layout;
    tune_rates_t limits; /* what was measured of the machine; 0: not known */
    const tune_lab_t *lab;
    const tune_results_t *results;
} tune_report_t;

/* What was measured of a configuration at a size; < 0: nothing. */
double tune_report_measured_us(const tune_lab_t *lab, tune_collective_t collective, int config, size_t bytes);
void tune_report_table(const tune_report_t *report);
/* --routines: operation by size: tuned, each algorithm; chosen ranges; how long it took to find out. */
void tune_report_routines(const tune_report_t *report);
/* false: it cannot be written, and why was said. */
bool tune_report_write(const tune_report_t *report, const char *file);

#endif
