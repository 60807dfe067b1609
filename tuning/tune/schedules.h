/* schedules: algorithms that were found, as files of schedules for HANPMPI_SCHEDULES (hanpmpi-schedules(5)).
 *
 * Threads: one, rank 0's. Ownership: nothing is kept. */
#ifndef HP_TUNE_SCHEDULES_H
#define HP_TUNE_SCHEDULES_H

#include <mpi.h>

#include "report.h"

/* Writes them into a directory, which is made if it is not there: what the rules name and, of each size, the fastest of the
 * library, whether the host MPI was faster or not; as far as it goes among all ranks, or of vectors among the nodes. comm: one
 * of the layout, set up. Returns how many there are; -1: one cannot be written, and that was said. */
int tune_schedules_write(const tune_report_t *report, MPI_Comm comm, const char *directory);

#endif
