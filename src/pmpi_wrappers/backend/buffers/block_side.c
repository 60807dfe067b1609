#include "pmpi_wrappers/backend/buffers/block_side.h"

#include <string.h>

static int64_t array_entry(const void *array, bool is_wide, uint32_t i)
{
    return is_wide ? ((const int64_t *)array)[i] : ((const int *)array)[i];
}

_Static_assert(sizeof(MPI_Aint) == sizeof(int64_t), "displacements of functions with large counts");

int64_t hp_block_side_count(const hp_block_side_t *side, uint32_t i)
{
    return side->counts ? array_entry(side->counts, side->is_wide, i) : side->count;
}

MPI_Datatype hp_block_side_type(const hp_block_side_t *side, uint32_t i)
{
    return side->types ? side->types[i] : side->type;
}

bool hp_block_side_is_valid(const hp_block_side_t *side, uint32_t blocks)
{
    const uint32_t counts = side->counts ? blocks : blocks > 0, types = side->types ? blocks : blocks > 0;
    bool valid = true;

    for (uint32_t i = 0; i < counts && valid; i++)
        valid = hp_block_side_count(side, i) >= 0;
    for (uint32_t i = 0; i < types && valid; i++)
        valid = hp_block_side_type(side, i) != MPI_DATATYPE_NULL ||
                (side->types && hp_block_side_count(side, i) == 0);
    return valid;
}

/* Displacements from MPI_BOTTOM are addresses. */
static bool is_absolute(const hp_block_side_t *side, uint32_t i)
{
    return side->displs && array_entry(side->displs, side->is_wide, i) != 0;
}

bool hp_block_side_lacks_buffer(const hp_block_side_t *side, uint32_t first, uint32_t blocks)
{
    bool lacks = false;

    for (uint32_t i = first; i < first + blocks && !side->buffer && !lacks; i++)
        lacks = hp_block_side_count(side, i) > 0 && hp_datatype_named(hp_block_side_type(side, i)) &&
                !is_absolute(side, i);
    return lacks;
}

bool hp_block_type_bytes(MPI_Datatype type, uint64_t *bytes)
{
    const hp_named_type_t *named = hp_datatype_named(type);
    MPI_Count counted = 0;

    if (!named && (P(Type_size_x)(type, &counted) != MPI_SUCCESS || counted < 0))
        return false;
    *bytes = named ? named->type.bytes : (uint64_t)counted;
    return true;
}

bool hp_block_side_average(const hp_block_side_t *side, uint32_t ranks, uint64_t *bytes)
{
    uint64_t elements = side->counts ? 0 : (uint64_t)side->count, each;

    for (uint32_t i = 0; i < ranks && side->counts; i++)
        elements += (uint64_t)hp_block_side_count(side, i);
    if (!hp_block_type_bytes(side->type, &each) || __builtin_mul_overflow(elements, each, bytes))
        return false;
    if (side->counts && *bytes > 0)
        *bytes = *bytes / ranks > 0 ? *bytes / ranks : 1;
    return true;
}

void hp_block_side_see(const hp_block_side_t *side, uint32_t blocks, uint64_t *longest, uint64_t *peers)
{
    uint64_t filled = 0, each = 0;

    for (uint32_t i = 0; i < blocks; i++) {
        if (hp_block_side_count(side, i) == 0 || !hp_block_type_bytes(hp_block_side_type(side, i), &each))
            continue;
        const uint64_t bytes = (uint64_t)hp_block_side_count(side, i) * each;
        filled += bytes > 0;
        *longest = bytes > *longest ? bytes : *longest;
    }
    *peers = filled > *peers ? filled : *peers;
}

/* Nobody notices: where it mattered the host has let it pass. */
static bool commit(MPI_Datatype type, hp_collective_t collective, hp_mistake_t mistake)
{
    return !hp_self_refuses(collective, mistake) && P(Type_commit)(&type) == MPI_SUCCESS;
}

bool hp_block_side_is_committed(const hp_block_side_t *side, uint32_t blocks, hp_collective_t collective,
                                hp_mistake_t mistake)
{
    for (uint32_t i = 0; i < (side->types ? blocks : 1); i++)
        if ((!side->types || hp_block_side_count(side, i) > 0) &&
            !hp_datatype_named(hp_block_side_type(side, i)) &&
            !hp_self_is_committed(hp_block_side_type(side, i)) &&
            !commit(hp_block_side_type(side, i), collective, mistake))
            return false;
    return true;
}

static bool describe(MPI_Datatype datatype, hp_type_t *type, bool *is_dense)
{
    const hp_named_type_t *named = hp_datatype_named(datatype);

    if (named) {
        *type = named->type;
        *is_dense = named->contiguous;
        return true;
    }
    if (!hp_datatype_measure(datatype, type))
        return false;
    *is_dense = hp_datatype_is_contiguous(datatype, type);
    return true;
}

bool hp_block_at(const hp_block_side_t *side, uint32_t i, hp_block_t *block, bool *is_dense)
{
    *block = (hp_block_t){.address = (char *)(uintptr_t)side->buffer, .count = hp_block_side_count(side, i)};
    *is_dense = true;
    if (block->count == 0)
        return true;
    if (!describe(hp_block_side_type(side, i), &block->type, is_dense))
        return false;
    *is_dense |= block->type.bytes == 0;
    const int64_t place =
        side->displs ? array_entry(side->displs, side->is_wide, i) : (int64_t)i * block->count;
    block->address += place * (side->types ? 1 : (int64_t)block->type.extent);
    return true;
}

size_t hp_block_bytes(const hp_block_t *block)
{
    return (size_t)block->count * block->type.bytes;
}

/* Copies an array behind *end, which moves on; a place to start with may be NULL: then it only moves. */
static void keep_array(const void **array, size_t bytes, char *memory, size_t *end)
{
    if (!*array)
        return;
    if (memory)
        *array = memcpy(memory + *end, *array, bytes);
    *end += (bytes + 7) / 8 * 8;
}

void hp_block_side_keep_arrays(hp_block_side_t *side, uint32_t entries, char *memory, size_t *end)
{
    const size_t width = side->is_wide ? sizeof(int64_t) : sizeof(int);
    const void *types = side->types;

    keep_array(&side->counts, entries * width, memory, end);
    keep_array(&side->displs, entries * width, memory, end);
    keep_array(&types, entries * sizeof(MPI_Datatype), memory, end);
    side->types = types;
}

static int keep_type(MPI_Datatype *type)
{
    return *type == MPI_DATATYPE_NULL || hp_datatype_named(*type) ? MPI_SUCCESS
                                                                  : hp_datatype_keep(*type, type);
}

static void drop_type(MPI_Datatype *type)
{
    if (*type != MPI_DATATYPE_NULL && !hp_datatype_named(*type))
        P(Type_free)(type);
}

int hp_block_side_keep_types(hp_block_side_t *side, uint32_t entries, uint32_t *kept)
{
    MPI_Datatype *const types = side->types ? (MPI_Datatype *)(uintptr_t)side->types : &side->type;
    const uint32_t count = side->types ? entries : entries > 0;
    int code = MPI_SUCCESS;

    for (*kept = 0; *kept < count && code == MPI_SUCCESS; *kept += code == MPI_SUCCESS)
        code = keep_type(&types[*kept]);
    return code;
}

void hp_block_side_drop_types(hp_block_side_t *side, uint32_t kept)
{
    MPI_Datatype *const types = side->types ? (MPI_Datatype *)(uintptr_t)side->types : &side->type;
    for (uint32_t i = 0; i < kept; i++)
        drop_type(&types[i]);
}
