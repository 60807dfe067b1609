/* staging: buffers of a call that lie in device memory are replaced by copies in host memory while it runs.
 *
 * Where a rank's buffers lie only that rank knows, so it changes nothing that the other ranks see: not whether the call is
 * taken, nor how it runs. Only data that the datatype describes is copied, so what lies in its gaps may be in use by
 * others. A datatype's data is expected to be in device memory as a whole, or not at all: its first byte decides.
 *
 * Threads: begin where the program calls; end on whatever thread completes the call. Ownership: the copies are the
 * staging's, from begin to end. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_BUFFERS_STAGING_H
#define HP_PMPI_WRAPPERS_BACKEND_BUFFERS_STAGING_H

#include "pmpi_wrappers/backend/comms/comm_state.h"
#include "pmpi_wrappers/backend/glue/device.h"
#include "pmpi_wrappers/backend/glue/mpi_glue.h"

/* Data of one element, relative to its address. */
typedef struct {
    ptrdiff_t offset;
    size_t bytes;
} hp_staging_piece_t;

/* Of one buffer. */
typedef struct {
    char *program; /* the program's buffer */
    char *host;    /* stands for it; NULL: the buffer itself is used, and the rest is not set */
    void *memory;  /* in which the copy is */
    int64_t count;
    ptrdiff_t extent;
    hp_staging_piece_t *pieces, one; /* pieces: allocated, or &one */
    size_t piece_count;
} hp_staging_t;

/* Replaces a buffer that is in device memory; reads: its data is needed. Returns an MPI code, nothing reported; on an error
 * nothing is kept. */
int hp_staging_begin_slowly(hp_staging_t *staging, void *buffer, int64_t count, MPI_Datatype datatype,
                            bool reads, const hp_comm_state_t *state);
static inline int hp_staging_begin(hp_staging_t *staging, void *buffer, int64_t count, MPI_Datatype datatype,
                                   bool reads, const hp_comm_state_t *state)
{
    staging->host = NULL;
    return hp_device_is_possible() ? hp_staging_begin_slowly(staging, buffer, count, datatype, reads, state)
                                   : MPI_SUCCESS;
}

/* The host MPI still uses the copy, so it is not freed. */
static inline void hp_staging_leave(hp_staging_t *staging)
{
    staging->memory = NULL;
}
/* writes: the data goes to the program's buffer. Frees the copy. Returns an MPI code. */
int hp_staging_end_slowly(hp_staging_t *staging, bool writes);
static inline int hp_staging_end(hp_staging_t *staging, bool writes)
{
    return __builtin_expect(staging->host != NULL, 0) ? hp_staging_end_slowly(staging, writes) : MPI_SUCCESS;
}

/* Of the buffers of a reduction. */
typedef struct {
    hp_staging_t send, recv; /* in place: recv alone */
    bool has_result;
} hp_staged_t;

/* Lets the call, if it is a reduction, use copies. Returns an MPI code, nothing reported; on an error nothing is kept. */
int hp_staged_begin_slowly(hp_staged_t *staged, hp_call_t *call, const hp_comm_state_t *state);
static inline int hp_staged_begin(hp_staged_t *staged, hp_call_t *call, const hp_comm_state_t *state)
{
    staged->send.host = staged->recv.host = NULL;
    return hp_device_is_possible() ? hp_staged_begin_slowly(staged, call, state) : MPI_SUCCESS;
}

/* code: of the call on state. Returns it, or what failed here. */
int hp_staged_end_slowly(hp_staged_t *staged, const hp_comm_state_t *state, int code);
static inline int hp_staged_end(hp_staged_t *staged, const hp_comm_state_t *state, int code)
{
    return __builtin_expect(staged->send.host || staged->recv.host, 0)
               ? hp_staged_end_slowly(staged, state, code)
               : code;
}

#endif
