/* job_trace: HANPMPI_TRACE: recording on every rank, and at MPI_Finalize one file of all of it, written by
 * rank 0.
 *
 * Clocks: rank 0 exchanges a few messages with each rank, at MPI_Init and at MPI_Finalize; the fastest of
 * them tells how far that rank's clock is ahead. Gathering: rank after rank sends its events in pieces when
 * rank 0 asks for them, so no rank needs memory for what the others recorded.
 *
 * Threads: start inside MPI_Init, finish inside MPI_Finalize, begin and end of a call any. Ownership: static.
 */
#ifndef HP_PMPI_WRAPPERS_BACKEND_OBSERVE_JOB_TRACE_H
#define HP_PMPI_WRAPPERS_BACKEND_OBSERVE_JOB_TRACE_H

#include "event_engine/trace.h"
#include "hier/executions/execution.h"
#include "pmpi_wrappers/backend/comms/comm_state.h"

/* What calls are recorded in; NULL: nothing is to be recorded. */
extern hp_trace_t *hp_job_trace;

/* Both are collective over MPI_COMM_WORLD and do nothing unless HANPMPI_TRACE is set. */
void hp_job_trace_start(void);
void hp_job_trace_finish(void);

/* For execution->on_start: records the call from here on, in execution->traced; comm->owner is its state. */
void hp_job_trace_begin(hp_comm_t *comm, hp_execution_t *execution, const hp_call_t *call,
                        const hp_setting_t *setting);
/* When it is done. */
void hp_job_trace_end(hp_execution_t *execution);

#endif
