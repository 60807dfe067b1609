/* collectives: the wrapped collectives, MPI_X and MPI_X_c.
 *
 * Threads: any, as the MPI's thread level allows. Ownership: the program's buffers are borrowed until the
 * call returns. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_CALLS_COLLECTIVES_H
#define HP_PMPI_WRAPPERS_BACKEND_CALLS_COLLECTIVES_H

#include "pmpi_wrappers/backend/calls/decision.h"

#define HP_COUNT                                         int
#define HP_COLLECTIVE(name, host, parameters, arguments) int hp_mpi_##name parameters;
#include "pmpi_wrappers/backend/calls/collectives.def"
#undef HP_COLLECTIVE
#undef HP_COUNT
#if HP_HAS_LARGE_COUNT
#define HP_COUNT                                         MPI_Count
#define HP_COLLECTIVE(name, host, parameters, arguments) int hp_mpi_##name##_c parameters;
#include "pmpi_wrappers/backend/calls/collectives.def"
#undef HP_COLLECTIVE
#undef HP_COUNT
#endif

int hp_mpi_barrier(MPI_Comm comm);

/* ---- parts of a wrapped collective, for calls/blocks.c ---- */

/* Runs one that is taken. Returns the MPI's code; the error handler has run when it is an error. */
int hp_collective_run(hp_ticket_t *ticket, const hp_call_t *call, MPI_Comm comm);
/* end: what failed behind the run alone, which has not been reported yet. Returns the code of both. */
int hp_collective_report_end(MPI_Comm comm, int code, int end);
/* Before the host MPI's collective, which is called only if this is a success. Returns as run. */
int hp_collective_begin_passed(const hp_ticket_t *ticket, MPI_Comm comm);
/* Behind every call: counts it, and hands its time to whom it is for. Returns code, or what went wrong here. */
int hp_collective_finish(hp_ticket_t *ticket, int code, MPI_Comm comm);

#endif
