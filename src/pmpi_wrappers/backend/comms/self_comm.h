/* self_comm: a communicator of this rank alone, whose errors return: for messages to itself, and to hear what the host MPI says of
 * a mistake before anybody else is involved.
 *
 * The standard forbids some things that a host lets pass. One rank's mistake must be refused, before the call is counted, where
 * the host refuses it: the program gets its error, and may call again. Where it does not, the other ranks may be in the
 * library's collective, and the rank must come there.
 *
 * Threads: any. Ownership: made when it is asked for first, freed by hp_self_comm_free. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_COMMS_SELF_COMM_H
#define HP_PMPI_WRAPPERS_BACKEND_COMMS_SELF_COMM_H

#include <stdbool.h>
#include "hier/call/collective.h"
#include "pmpi_wrappers/backend/glue/datatypes.h"

/* MPI_COMM_NULL: it could not be made. */
MPI_Comm hp_self_comm(void);
/* Before MPI_Finalize. */
void hp_self_comm_free(void);

/* Is the datatype committed, or is nothing known against it? Costs a call of the MPI. */
bool hp_self_is_committed(MPI_Datatype datatype);

/* Can there be data of that datatype, and some of it at that address? Only a datatype of absolute addresses is used with none.
 * named: what is known of the datatype (hp_datatype_named). */
static inline bool hp_self_is_usable(const hp_named_type_t *named, const void *buffer, MPI_Datatype datatype)
{
    return named ? buffer != NULL : hp_self_is_committed(datatype);
}

/* Are the buffers of a reduction where MPI allows them to be? The same one twice is an error that most MPIs report; in place on a
 * rank without result is another. */
static inline bool hp_self_reduces_there(const void *send, const void *recv, bool has_result)
{
    return has_result ? recv != MPI_IN_PLACE && (send != recv || send == MPI_BOTTOM) : send != MPI_IN_PLACE;
}

typedef enum {
    HP_ONE_BUFFER,       /* what is sent and what is received have the same address */
    HP_UNCOMMITTED_SEND, /* the datatype of what is sent was not committed, */
    HP_UNCOMMITTED_RECV, /* or that of what is received */
    HP_MISTAKE_COUNT
} hp_mistake_t;
/* Does the host MPI refuse it in a blocking call of the collective, which is one that moves blocks? Asked once. */
bool hp_self_refuses(hp_collective_t collective, hp_mistake_t mistake);

#endif
