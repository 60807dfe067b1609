#include "pmpi_wrappers/backend/glue/pack.h"

#include <limits.h>
#include <stdatomic.h>
#include "pmpi_wrappers/backend/glue/stand_in.h"

/* A committed type of so many bytes, more than an int counts. */
static int make_large_bytes(size_t bytes, MPI_Datatype *out)
{
    enum { CHUNK = 1 << 20 };
    MPI_Datatype chunk;
    int code = P(Type_contiguous)(CHUNK, MPI_BYTE, &chunk);
    if (code != MPI_SUCCESS)
        return code;
    int lengths[2] = {(int)(bytes / CHUNK), (int)(bytes % CHUNK)};
    MPI_Aint places[2] = {0, (MPI_Aint)(bytes - bytes % CHUNK)};
    MPI_Datatype types[2] = {chunk, MPI_BYTE};
    code = P(Type_create_struct)(2, lengths, places, types, out);
    P(Type_free)(&chunk);
    return code == MPI_SUCCESS ? P(Type_commit)(out) : code;
}

/* What MPI_Pack refuses: one element of more than 2 GiB, whose bytes it counts in an int; MPICH's also MPI_BOTTOM with
 * a type of absolute addresses. So the element is sent to ourselves, as bytes; by a tag of its own, since other threads may do the same. */
static int pack_by_message(bool pack, void *element, const hp_type_t *type, char *packed,
                           const hp_route_t *route)
{
    static atomic_uint messages;
    const int self = route->self.rank,
              number = (int)(atomic_fetch_add_explicit(&messages, 1, memory_order_relaxed) % HP_ROUTE_TAGS);
    const int tag = hp_route_recv_tag(route, number);
    const MPI_Datatype datatype = HP_UNHANDLE(MPI_Datatype, type->handle);
    MPI_Datatype bytes;
    int code = make_large_bytes(type->bytes, &bytes);
    if (code != MPI_SUCCESS)
        return code;
    code = pack ? P(Sendrecv)(element, 1, datatype, self, tag, packed, 1, bytes, self, tag, route->comm,
                              MPI_STATUS_IGNORE)
                : P(Sendrecv)(packed, 1, bytes, self, tag, element, 1, datatype, self, tag, route->comm,
                              MPI_STATUS_IGNORE);
    P(Type_free)(&bytes);
    return code;
}

int hp_packer_init(hp_packer_t *packer, const hp_type_t *type)
{
    MPI_Datatype stand_in;

    *packer = (hp_packer_t){.type = *type};
    const int code = hp_stand_in_make(HP_UNHANDLE(MPI_Datatype, type->handle), &stand_in);
    if (code == MPI_SUCCESS && stand_in != MPI_DATATYPE_NULL)
        packer->type.handle = packer->stand_in = HP_HANDLE(stand_in);
    return code;
}

void hp_packer_fini(hp_packer_t *packer)
{
    MPI_Datatype stand_in = HP_UNHANDLE(MPI_Datatype, packer->stand_in);

    if (packer->stand_in)
        P(Type_free)(&stand_in);
    packer->stand_in = 0;
}

bool hp_packer_moves_in_place(const hp_packer_t *packer, const void *buffer)
{
    return packer->type.bytes <= INT_MAX && buffer != MPI_BOTTOM;
}

int hp_packer_move(const hp_packer_t *packer, bool pack, void *buffer, int64_t count, char *packed,
                   const hp_route_t *route)
{
    const hp_type_t *type = &packer->type;
    const MPI_Datatype datatype = HP_UNHANDLE(MPI_Datatype, type->handle);
    const bool by_message = !hp_packer_moves_in_place(packer, buffer);
    const int64_t piece = by_message ? 1 : INT_MAX / (int64_t)type->bytes;
    int code = MPI_SUCCESS;

    for (int64_t done = 0; done < count && code == MPI_SUCCESS;) {
        const int n = (int)(count - done < piece ? count - done : piece);
        const size_t bytes = (size_t)n * type->bytes;
        int position = 0;
        char *at = (char *)buffer + done * (int64_t)type->extent;
        if (by_message)
            code = pack_by_message(pack, at, type, packed, route);
        else
            code = pack ? P(Pack)(at, n, datatype, packed, (int)bytes, &position, route->comm)
                        : P(Unpack)(packed, (int)bytes, &position, at, n, datatype, route->comm);
        packed += bytes;
        done += n;
    }
    return code;
}

int hp_datatype_pack(bool pack, void *buffer, int64_t count, const hp_type_t *type, char *packed,
                     const hp_route_t *route)
{
    hp_packer_t packer;

    int code = hp_packer_init(&packer, type);
    if (code == MPI_SUCCESS)
        code = hp_packer_move(&packer, pack, buffer, count, packed, route);
    hp_packer_fini(&packer);
    return code;
}
