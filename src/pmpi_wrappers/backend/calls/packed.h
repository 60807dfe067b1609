/* packed: the data of a bcast whose datatype is not plain bytes in memory: packed for the root, to be unpacked on the
 * others. Whatever the type is like, the call has to be taken: other ranks may have a plain one.
 *
 * What is packed goes segment by segment where the caller waits for the collective (the packed data is then the call's
 * source): the first segment leaves when it is packed, and each is unpacked while others come. Elsewhere all is
 * packed before, as the program may free its datatype, and unpacked behind.
 *
 * Threads: init where the program calls; fini on whatever thread completes the call. Ownership: the packed data is
 * the struct's, from init to drop or fini; buffer and datatype are borrowed. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_CALLS_PACKED_H
#define HP_PMPI_WRAPPERS_BACKEND_CALLS_PACKED_H

#include "event_engine/source.h"
#include "pmpi_wrappers/backend/calls/decision.h"
#include "pmpi_wrappers/backend/glue/pack.h"

typedef struct {
    hp_source_t source; /* the first member */
    char *bytes;        /* NULL: the buffer itself, or what stands for it, is used */
    void *buffer;
    hp_staging_t staging; /* of the buffer */
    int64_t count;
    hp_packer_t packer; /* where there are bytes */
    bool is_root;
    bool is_in_steps; /* packed or unpacked as the collective goes on, */
    int64_t done;     /* so many elements so far, */
    int code;         /* and what went wrong there */
    hp_transport_mpi_t *transport;
} hp_packed_t;

/* Plain bytes in memory of the processor, as most are: none of this is needed. */
static inline bool hp_packed_is_needless(const hp_ticket_t *ticket)
{
    return ticket->named && ticket->named->contiguous && !hp_device_is_possible();
}

/* waits: the caller does, for the collective. Returns an MPI error code, nothing reported yet. */
int hp_packed_init(hp_packed_t *packed, const hp_ticket_t *ticket, void *buffer, int64_t count,
                   MPI_Datatype datatype, int root, bool waits);
/* The collective of the ticket: what the engine broadcasts. packed stays where it is until that is done. */
hp_call_t hp_packed_call(hp_packed_t *packed, const hp_ticket_t *ticket, int root);
/* The collective was not started. */
void hp_packed_drop(hp_packed_t *packed);
/* code: of the collective. Unpacks when it is a success, frees. Returns an MPI error code. */
int hp_packed_fini(hp_packed_t *packed, const hp_comm_state_t *state, int code);

#endif
