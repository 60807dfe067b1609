#include "pmpi_wrappers/backend/glue/own_pack.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include "base/grow.h"
#include "pmpi_wrappers/backend/glue/type_parts.h"

/* ---- which basic types the host MPI gets wrong ---- */

enum { SUSPECTS_MAX = 16 };

static struct {
    MPI_Datatype types[SUSPECTS_MAX];
    unsigned count;
} misread;

/* Are numbers that are so many bytes apart packed as what they are? An error of the MPI says nothing against it. */
static bool is_packed_rightly(MPI_Datatype basic, size_t bytes, size_t distance)
{
    enum { NUMBERS = 3, BYTES_MAX = 32 };
    char apart[2 * NUMBERS * BYTES_MAX], packed[NUMBERS * BYTES_MAX];
    MPI_Datatype type;
    int position = 0;

    if (P(Type_create_hvector)(NUMBERS, 1, (MPI_Aint)distance, basic, &type) != MPI_SUCCESS)
        return true;
    for (size_t i = 0; i < sizeof apart; i++)
        apart[i] = (char)i;
    int code = P(Type_commit)(&type);
    if (code == MPI_SUCCESS)
        code = P(Pack)(apart, 1, type, packed, sizeof packed, &position, MPI_COMM_SELF);
    P(Type_free)(&type);
    bool is_right = true;
    for (size_t i = 0; i < NUMBERS && code == MPI_SUCCESS; i++)
        is_right = is_right && memcmp(packed + i * bytes, apart + i * distance, bytes) == 0;
    return is_right;
}

static void find_misread(void)
{
    const MPI_Datatype suspects[] = {MPI_LONG_DOUBLE,
                                     MPI_C_FLOAT_COMPLEX,
                                     MPI_C_DOUBLE_COMPLEX,
                                     MPI_C_LONG_DOUBLE_COMPLEX,
                                     MPI_CXX_FLOAT_COMPLEX,
                                     MPI_CXX_DOUBLE_COMPLEX,
                                     MPI_CXX_LONG_DOUBLE_COMPLEX,
                                     MPI_COMPLEX,
                                     MPI_DOUBLE_COMPLEX,
                                     MPI_COMPLEX8,
                                     MPI_COMPLEX16};
    _Static_assert(sizeof suspects / sizeof *suspects <= SUSPECTS_MAX, "all may be misread");

    for (size_t i = 0; i < sizeof suspects / sizeof *suspects; i++) {
        const hp_named_type_t *named = hp_datatype_named(suspects[i]); /* NULL: this MPI lacks it */
        const size_t bytes = named ? named->type.bytes : 0;
        if (named && (!is_packed_rightly(suspects[i], bytes, bytes + bytes / 2) ||
                      !is_packed_rightly(suspects[i], bytes, 2 * bytes)))
            misread.types[misread.count++] = suspects[i];
    }
}

static bool is_misread(MPI_Datatype basic)
{
    unsigned i = 0;

    while (i < misread.count && misread.types[i] != basic)
        i++;
    return i < misread.count;
}

/* ---- where the data of a type lies ---- */

/* In the order of the type signature. */
typedef struct {
    ptrdiff_t at;
    size_t bytes;
} piece_t;

typedef enum {
    READ,
    UNKNOWN, /* how it was made */
    NO_MEM
} outcome_t;

typedef struct {
    piece_t *pieces;
    uint32_t count, room;
    bool is_misread; /* a basic type of it is */
} typemap_t;

static outcome_t add(typemap_t *map, ptrdiff_t at, size_t bytes)
{
    enum { FIRST_ROOM = 16 };
    piece_t *last = map->count ? &map->pieces[map->count - 1] : NULL;

    if (last && last->at + (ptrdiff_t)last->bytes == at) {
        last->bytes += bytes;
        return READ;
    }
    if (map->count == UINT32_MAX / 2 ||
        !hp_grow(&map->pieces, &map->room, map->count, sizeof *map->pieces, FIRST_ROOM))
        return NO_MEM;
    map->pieces[map->count++] = (piece_t){at, bytes};
    return READ;
}

/* So many elements of a part, one behind the other. */
typedef struct {
    ptrdiff_t at;
    MPI_Count length;
} block_t;

static outcome_t add_block(typemap_t *map, block_t block, const typemap_t *part, MPI_Count extent)
{
    outcome_t outcome = READ;

    map->is_misread |= part->is_misread;
    for (MPI_Count i = 0; i < block.length; i++)
        for (uint32_t j = 0; j < part->count && outcome == READ; j++)
            outcome = add(map, block.at + (ptrdiff_t)(i * extent) + part->pieces[j].at, part->pieces[j].bytes);
    return outcome;
}

/* Of a subarray: its dimensions from the slowest to the fastest. */
typedef struct {
    int count;
    const int *size, *part, *start;
    bool is_fortran; /* the first is the fastest */
} dimensions_t;

static dimensions_t dimensions_of(const hp_type_parts_t *parts)
{
    const int count = parts->integers[0];
    const int *lists = parts->integers + 1;
    return (dimensions_t){count, lists, lists + count, lists + 2 * count,
                          lists[3 * count] == MPI_ORDER_FORTRAN};
}

/* Row i: of the fastest dimension. */
static block_t row_of(const dimensions_t *dimensions, MPI_Count i, MPI_Count extent)
{
    const int fastest = dimensions->is_fortran ? 0 : dimensions->count - 1;
    MPI_Count place = dimensions->start[fastest], weight = dimensions->size[fastest];

    for (int k = 1; k < dimensions->count; k++) {
        const int d = dimensions->is_fortran ? k : dimensions->count - 1 - k;
        place += weight * (dimensions->start[d] + i % dimensions->part[d]);
        weight *= dimensions->size[d];
        i /= dimensions->part[d];
    }
    return (block_t){(ptrdiff_t)(place * extent), dimensions->part[fastest]};
}

static MPI_Count rows_of(const dimensions_t *dimensions)
{
    const int fastest = dimensions->is_fortran ? 0 : dimensions->count - 1;
    MPI_Count rows = 1;

    for (int d = 0; d < dimensions->count; d++)
        rows *= d == fastest ? 1 : dimensions->part[d];
    return rows;
}

/* How many blocks; < 0: nobody can tell. */
static MPI_Count blocks_of(const hp_type_parts_t *parts)
{
    if (parts->large_count > 0)
        return -1;
    switch (parts->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
    case MPI_COMBINER_CONTIGUOUS:
        return 1;
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_STRUCT:
        return parts->integers[0];
    case MPI_COMBINER_SUBARRAY: {
        const dimensions_t dimensions = dimensions_of(parts);
        return rows_of(&dimensions);
    }
    default:
        return -1;
    }
}

/* Block i of those. extent: of the part. */
static block_t block_of(const hp_type_parts_t *parts, MPI_Count i, MPI_Count extent)
{
    const int *integers = parts->integers;

    switch (parts->combiner) {
    case MPI_COMBINER_CONTIGUOUS:
        return (block_t){0, integers[0]};
    case MPI_COMBINER_VECTOR:
        return (block_t){(ptrdiff_t)(i * integers[2] * extent), integers[1]};
    case MPI_COMBINER_HVECTOR:
        return (block_t){(ptrdiff_t)(i * parts->addresses[0]), integers[1]};
    case MPI_COMBINER_INDEXED:
        return (block_t){(ptrdiff_t)(integers[1 + integers[0] + i] * extent), integers[1 + i]};
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_STRUCT:
        return (block_t){(ptrdiff_t)parts->addresses[i], integers[1 + i]};
    case MPI_COMBINER_INDEXED_BLOCK:
        return (block_t){(ptrdiff_t)(integers[2 + i] * extent), integers[1]};
    case MPI_COMBINER_HINDEXED_BLOCK:
        return (block_t){(ptrdiff_t)parts->addresses[i], integers[1]};
    case MPI_COMBINER_SUBARRAY: {
        const dimensions_t dimensions = dimensions_of(parts);
        return row_of(&dimensions, i, extent);
    }
    default:
        return (block_t){0, 1};
    }
}

static outcome_t read_typemap(MPI_Datatype datatype, int depth, typemap_t *map);

/* The blocks from first to end, all of the same part. */
static outcome_t add_blocks(typemap_t *map, const hp_type_parts_t *parts, MPI_Datatype type, MPI_Count first,
                            MPI_Count end, int depth)
{
    typemap_t part = {0};
    MPI_Count lb, extent = 0;

    outcome_t outcome = P(Type_get_extent_x)(type, &lb, &extent) == MPI_SUCCESS
                            ? read_typemap(type, depth, &part)
                            : UNKNOWN;
    for (MPI_Count i = first; i < end && outcome == READ; i++)
        outcome = add_block(map, block_of(parts, i, extent), &part, extent);
    free(part.pieces);
    return outcome;
}

static outcome_t read_basic(MPI_Datatype datatype, typemap_t *map)
{
    const hp_named_type_t *named = hp_datatype_named(datatype);

    if (!named || !named->contiguous)
        return UNKNOWN;
    map->is_misread = is_misread(datatype);
    return named->type.bytes ? add(map, 0, named->type.bytes) : READ;
}

static outcome_t read_typemap(MPI_Datatype datatype, int depth, typemap_t *map)
{
    enum { DEPTH_MAX = 64 };
    hp_type_parts_t parts;
    outcome_t outcome = READ;

    if (depth == DEPTH_MAX || !hp_type_parts_read(datatype, &parts))
        return UNKNOWN;
    const MPI_Count blocks = parts.type_count == 0 ? 0 : blocks_of(&parts);
    if (parts.type_count == 0)
        outcome = read_basic(datatype, map);
    else if (blocks < 0)
        outcome = UNKNOWN;
    else if (parts.combiner != MPI_COMBINER_STRUCT)
        outcome = add_blocks(map, &parts, parts.types[0], 0, blocks, depth + 1);
    else
        for (MPI_Count i = 0; i < blocks && outcome == READ; i++)
            outcome = add_blocks(map, &parts, parts.types[i], i, i + 1, depth + 1);
    hp_type_parts_free(&parts);
    return outcome;
}

/* ---- packing ---- */

static void move_data(bool pack, char *buffer, int64_t count, const hp_type_t *type, const typemap_t *map,
                      char *packed)
{
    for (int64_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < map->count; j++) {
            const piece_t *piece = &map->pieces[j];
            /* A type of absolute addresses has MPI_BOTTOM as its buffer. */
            char *data = (char *)((uintptr_t)buffer + (uintptr_t)(i * (int64_t)type->extent + piece->at));
            memcpy(pack ? packed : data, pack ? data : packed, piece->bytes);
            packed += piece->bytes;
        }
}

bool hp_own_pack(bool pack, void *buffer, int64_t count, const hp_type_t *type, char *packed, int *code)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    typemap_t map = {0};

    pthread_once(&once, find_misread);
    if (misread.count == 0)
        return false;
    const outcome_t outcome = read_typemap(HP_UNHANDLE(MPI_Datatype, type->handle), 0, &map);
    const bool is_mine = outcome == NO_MEM || (outcome == READ && map.is_misread);
    *code = outcome == NO_MEM ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    if (is_mine && outcome == READ)
        move_data(pack, buffer, count, type, &map, packed);
    free(map.pieces);
    return is_mine;
}
