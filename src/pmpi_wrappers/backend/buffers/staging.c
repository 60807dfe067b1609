#include "pmpi_wrappers/backend/buffers/staging.h"

#include <stdint.h>
#include <stdlib.h>
#include "base/log.h"
#include "pmpi_wrappers/backend/glue/pack.h"

/* A copy has the alignment of what it stands for, up to this: a user's operation may rely on it. */
enum { ALIGNMENT = 64 };

/* What the data of a datatype occupies. */
typedef struct {
    MPI_Count bytes, extent, true_lb, true_extent;
} shape_t;

static int read_shape(MPI_Datatype datatype, shape_t *out)
{
    MPI_Count lb;

    int code = P(Type_size_x)(datatype, &out->bytes);
    if (code == MPI_SUCCESS)
        code = P(Type_get_extent_x)(datatype, &lb, &out->extent);
    return code == MPI_SUCCESS ? P(Type_get_true_extent_x)(datatype, &out->true_lb, &out->true_extent) : code;
}

/* mask: bytes of one element, not 0 where there is data. Counts its pieces; lists them, unless list is NULL. */
static size_t list_pieces(const char *mask, size_t bytes, ptrdiff_t first, hp_staging_piece_t *list)
{
    size_t count = 0;

    for (size_t i = 0; i < bytes;) {
        const size_t begin = i;
        while (i < bytes && mask[i])
            i++;
        if (i > begin) {
            if (list)
                list[count] = (hp_staging_piece_t){first + (ptrdiff_t)begin, i - begin};
            count++;
        }
        while (i < bytes && !mask[i])
            i++;
    }
    return count;
}

/* Which bytes of an element are data the host MPI knows: ones are unpacked into zeros. */
static int find_pieces(hp_staging_t *staging, MPI_Datatype datatype, const shape_t *shape,
                       const hp_comm_state_t *state)
{
    const size_t span = (size_t)shape->true_extent, bytes = (size_t)shape->bytes;
    const hp_type_t type = {.handle = HP_HANDLE(datatype), .bytes = bytes, .extent = (size_t)shape->extent};
    char *mask = calloc(1, span), *ones = malloc(bytes);
    int code = MPI_ERR_NO_MEM;

    if (mask && ones) {
        memset(ones, 0xff, bytes);
        code = hp_datatype_pack(false, (void *)((uintptr_t)mask - (uintptr_t)shape->true_lb), 1, &type, ones,
                                &state->transport.route);
    }
    if (code == MPI_SUCCESS) {
        staging->piece_count = list_pieces(mask, span, shape->true_lb, NULL);
        staging->pieces = malloc(staging->piece_count * sizeof *staging->pieces);
        if (staging->pieces)
            list_pieces(mask, span, shape->true_lb, staging->pieces);
        else
            code = MPI_ERR_NO_MEM;
    }
    free(ones);
    free(mask);
    return code;
}

static int describe(hp_staging_t *staging, MPI_Datatype datatype, const shape_t *shape,
                    const hp_comm_state_t *state)
{
    const hp_named_type_t *named = hp_datatype_named(datatype);

    staging->extent = (ptrdiff_t)shape->extent;
    staging->pieces = &staging->one;
    staging->piece_count = 1;
    staging->one = (hp_staging_piece_t){shape->true_lb, (size_t)shape->true_extent};
    if (!named || !named->contiguous) {
        const int code = find_pieces(staging, datatype, shape, state);
        if (code != MPI_SUCCESS)
            return code;
    }
    if (staging->piece_count == 1 && (ptrdiff_t)staging->pieces->bytes == staging->extent) {
        staging->pieces->bytes *= (size_t)staging->count;
        staging->count = 1;
    }
    return MPI_SUCCESS;
}

static bool copy_pieces(const hp_staging_t *staging, bool to_host, hp_device_copies_t *copies)
{
    for (int64_t i = 0; i < staging->count; i++)
        for (size_t j = 0; j < staging->piece_count; j++) {
            const ptrdiff_t offset = i * staging->extent + staging->pieces[j].offset;
            char *host = staging->host + offset, *program = staging->program + offset;
            if (!hp_device_copy(copies, to_host ? host : program, to_host ? program : host,
                                staging->pieces[j].bytes))
                return false;
        }
    return true;
}

static int copy(const hp_staging_t *staging, bool to_host)
{
    hp_device_copies_t copies;

    bool done = hp_device_copies_begin(&copies, staging->program + staging->pieces->offset);
    if (done) {
        done = copy_pieces(staging, to_host, &copies);
        done = hp_device_copies_end(&copies) && done;
    }
    if (!done)
        hp_error("a buffer at %p in device memory could not be copied %s the host", (void *)staging->program,
                 to_host ? "to" : "from");
    return done ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static void drop(hp_staging_t *staging)
{
    if (staging->pieces != &staging->one)
        free(staging->pieces);
    free(staging->memory);
    staging->host = NULL;
}

/* Memory for the bytes from lowest to highest, seen from the buffer. */
static bool allocate(hp_staging_t *staging, ptrdiff_t lowest, ptrdiff_t highest)
{
    const size_t bytes = (size_t)(highest - lowest);
    const uintptr_t begin = (uintptr_t)staging->program + (uintptr_t)lowest;

    if (posix_memalign(&staging->memory, ALIGNMENT, bytes + ALIGNMENT) != 0)
        staging->memory = NULL;
    if (!staging->memory)
        return false;
    staging->host = (char *)((uintptr_t)staging->memory + begin % ALIGNMENT - (uintptr_t)lowest);
    return true;
}

int hp_staging_begin_slowly(hp_staging_t *staging, void *buffer, int64_t count, MPI_Datatype datatype,
                            bool reads, const hp_comm_state_t *state)
{
    shape_t shape;

    *staging = (hp_staging_t){.program = buffer, .count = count};
    int code = read_shape(datatype, &shape);
    if (code != MPI_SUCCESS || shape.bytes <= 0 || !hp_device_holds(staging->program + shape.true_lb))
        return code;
    const ptrdiff_t last = (count - 1) * (ptrdiff_t)shape.extent; /* negative: the elements run backwards */
    const ptrdiff_t lowest = shape.true_lb + (last < 0 ? last : 0);
    const ptrdiff_t highest = shape.true_lb + shape.true_extent + (last > 0 ? last : 0);
    staging->pieces = &staging->one;
    code = allocate(staging, lowest, highest) ? describe(staging, datatype, &shape, state) : MPI_ERR_NO_MEM;
    if (code == MPI_SUCCESS && reads)
        code = copy(staging, true);
    if (code != MPI_SUCCESS)
        drop(staging);
    return code;
}

int hp_staging_end_slowly(hp_staging_t *staging, bool writes)
{
    const int code = writes ? copy(staging, false) : MPI_SUCCESS;
    drop(staging);
    return code;
}

int hp_staged_begin_slowly(hp_staged_t *staged, hp_call_t *call, const hp_comm_state_t *state)
{
    const MPI_Datatype datatype = HP_UNHANDLE(MPI_Datatype, call->type.handle);
    int code = MPI_SUCCESS;

    if (call->collective != HP_REDUCE && call->collective != HP_ALLREDUCE)
        return code;
    staged->has_result = call->collective == HP_ALLREDUCE || (int)call->root == state->rank;
    const bool in_place = staged->has_result && call->send == call->recv;
    if (!in_place)
        code = hp_staging_begin_slowly(&staged->send, (void *)(uintptr_t)call->send, (int64_t)call->count,
                                       datatype, true, state);
    if (code == MPI_SUCCESS && staged->has_result)
        code = hp_staging_begin_slowly(&staged->recv, call->recv, (int64_t)call->count, datatype, in_place,
                                       state);
    if (code != MPI_SUCCESS) {
        hp_staging_end(&staged->send, false);
        return code;
    }
    if (staged->send.host)
        call->send = staged->send.host;
    if (staged->recv.host)
        call->recv = staged->recv.host;
    if (in_place)
        call->send = call->recv;
    return code;
}

int hp_staged_end_slowly(hp_staged_t *staged, const hp_comm_state_t *state, int code)
{
    if (code != MPI_SUCCESS && !hp_transport_ended(state->comm->transport)) {
        hp_staging_leave(&staged->send);
        hp_staging_leave(&staged->recv);
    }
    hp_staging_end(&staged->send, false);
    const int written = hp_staging_end(&staged->recv, staged->has_result && code == MPI_SUCCESS);
    return code == MPI_SUCCESS ? written : code;
}
