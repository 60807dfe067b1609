/* flight: a collective that is handed to the engine and completes later: what the non-blocking and the persistent
 * ones have in common.
 *
 * Threads: start where the program calls; on_complete runs on whatever thread moved the collective on, which has locked
 * the state, unless the collective failed. Ownership: the starter's, until on_complete. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_CALLS_FLIGHT_H
#define HP_PMPI_WRAPPERS_BACKEND_CALLS_FLIGHT_H

#include "pmpi_wrappers/backend/buffers/block_call.h"
#include "pmpi_wrappers/backend/calls/packed.h"
#include "pmpi_wrappers/backend/progress/deferred.h"

typedef struct hp_flight {
    hp_comm_state_t *state;  /* where it runs */
    MPI_Comm comm;           /* the program's, whose error handler is told what fails at the start */
    hp_packed_t packed;      /* of a bcast: filled in before the start; given back at the end */
    hp_staged_t staged;      /* of a reduction: while it runs */
    hp_block_call_t *blocks; /* NULL: none; begun before the start, ended at the end; the starter's */
    /* code: of the MPI. When it is an error the thread holds no lock of the library: the program may be told. */
    void (*on_complete)(struct hp_flight *flight, int code);
    int code;
    hp_deferred_t failed;
} hp_flight_t;

/* Submits the call. open: makes the program's request active, when nothing else can fail any more; returns an MPI code.
 * Returns an MPI code; when it is an error the error handler has run, on_complete will not, and every later collective of
 * the state fails: the other ranks have started this one. */
int hp_flight_start(hp_flight_t *flight, const hp_algorithm_t *algorithm, const hp_setting_t *setting,
                    const hp_call_t *call, int (*open)(hp_flight_t *flight));

/* The other ranks start a collective that does not come to its start here: every later one of the state fails. */
void hp_flight_count_missed(hp_comm_state_t *state);
/* The same, and code goes to the error handler. Returns it. */
int hp_flight_miss(hp_comm_state_t *state, MPI_Comm comm, int code);

#endif
