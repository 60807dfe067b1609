#include "pmpi_wrappers/backend/calls/packed.h"

#include <stdlib.h>

/* Where the program's data is for the processor. */
static void *host_buffer(const hp_packed_t *packed)
{
    return packed->staging.host ? packed->staging.host : packed->buffer;
}

hp_call_t hp_packed_call(hp_packed_t *packed, const hp_ticket_t *ticket, int root)
{
    hp_call_t call = hp_call_bcast(ticket, packed->bytes ? packed->bytes : host_buffer(packed), root);
    call.source = packed->is_in_steps ? &packed->source : NULL;
    return call;
}

void hp_packed_drop(hp_packed_t *packed)
{
    free(packed->bytes);
    packed->bytes = NULL;
    hp_packer_fini(&packed->packer);
    hp_staging_end(&packed->staging, false);
}

/* Packs or unpacks the elements up to `end`. */
static int move_elements(hp_packed_t *packed, int64_t end)
{
    const int64_t first = packed->done;
    const hp_type_t *type = &packed->packer.type;

    if (end <= first)
        return MPI_SUCCESS;
    packed->done = end;
    return hp_packer_move(&packed->packer, packed->is_root,
                          (char *)host_buffer(packed) + first * (int64_t)type->extent, end - first,
                          packed->bytes + (size_t)first * type->bytes, &packed->transport->route);
}

/* The root packs the element in which the segment ends, too; the others leave it until the next one has come. */
static hp_status_t advance(hp_source_t *source, uint64_t bytes)
{
    hp_packed_t *packed = (hp_packed_t *)source;
    const uint64_t element = packed->packer.type.bytes;
    const int code =
        move_elements(packed, (int64_t)((bytes + (packed->is_root ? element - 1 : 0)) / element));

    if (packed->code == MPI_SUCCESS)
        packed->code = code;
    if (!packed->is_root || code == MPI_SUCCESS)
        return HP_OK;
    packed->transport->mpi_error = code;
    return HP_ERR_TRANSPORT;
}

/* Packs what is not plain bytes; the root's data. */
static int pack(hp_packed_t *packed, const hp_ticket_t *ticket, MPI_Datatype datatype, bool waits)
{
    const bool plain = ticket->named && ticket->named->contiguous;
    hp_type_t type;

    if (plain)
        return MPI_SUCCESS;
    if (!hp_datatype_measure(datatype, &type))
        return MPI_ERR_TYPE;
    if (hp_datatype_is_contiguous(datatype, &type))
        return MPI_SUCCESS;
    const int code = hp_packer_init(&packed->packer, &type);
    if (code != MPI_SUCCESS)
        return code;
    packed->bytes = malloc(ticket->bytes);
    if (!packed->bytes)
        return MPI_ERR_NO_MEM;
    packed->is_in_steps = waits && hp_packer_moves_in_place(&packed->packer, host_buffer(packed));
    return packed->is_root && !packed->is_in_steps ? move_elements(packed, packed->count) : MPI_SUCCESS;
}

int hp_packed_init(hp_packed_t *packed, const hp_ticket_t *ticket, void *buffer, int64_t count,
                   MPI_Datatype datatype, int root, bool waits)
{
    hp_comm_state_t *state = ticket->state;

    *packed = (hp_packed_t){.source = {advance},
                            .buffer = buffer,
                            .count = count,
                            .is_root = root == state->rank,
                            .code = MPI_SUCCESS,
                            .transport = &state->transport};
    int code = hp_staging_begin(&packed->staging, buffer, count, datatype, packed->is_root, state);
    if (code == MPI_SUCCESS)
        code = pack(packed, ticket, datatype, waits);
    if (code != MPI_SUCCESS)
        hp_packed_drop(packed);
    return code;
}

int hp_packed_fini(hp_packed_t *packed, const hp_comm_state_t *state, int code)
{
    const bool writes = !packed->is_root && code == MPI_SUCCESS;

    if (packed->bytes && writes && !packed->is_in_steps)
        code = move_elements(packed, packed->count);
    else if (code == MPI_SUCCESS)
        code = packed->code;
    if (code != MPI_SUCCESS &&
        !hp_transport_ended(state->comm->transport)) { /* the host MPI still uses them */
        packed->bytes = NULL;
        hp_staging_leave(&packed->staging);
    }
    free(packed->bytes);
    hp_packer_fini(&packed->packer);
    const int written = hp_staging_end(&packed->staging, writes && code == MPI_SUCCESS);
    return code == MPI_SUCCESS ? written : code;
}
