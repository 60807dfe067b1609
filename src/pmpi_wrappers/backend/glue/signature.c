#include "pmpi_wrappers/backend/glue/signature.h"

#include <stdbool.h>
#include <stdlib.h>

/* A sequence of basic types as a polynomial: of the sequence a b, a's value times the base to the length of b, plus b's. So it
 * does not matter how a sequence is divided, and n repetitions take log n steps. */
typedef struct {
    uint64_t value, power;
    bool is_known;
} sequence_t;

static const sequence_t empty = {0, 1, true};

static sequence_t join(sequence_t a, sequence_t b)
{
    return (sequence_t){a.value * b.power + b.value, a.power * b.power, a.is_known && b.is_known};
}

static sequence_t repeat(sequence_t one, uint64_t count)
{
    sequence_t all = empty;

    for (; count > 0; count >>= 1, one = join(one, one))
        if (count & 1)
            all = join(all, one);
    return all;
}

static sequence_t basic(uint64_t number)
{
    const uint64_t base = 0x9e3779b97f4a7c15u; /* any odd one */
    return (sequence_t){number, base, true};
}

/* Named types are told apart by their names: handles may differ between processes. */
static sequence_t named(MPI_Datatype datatype)
{
    const struct {
        MPI_Datatype pair, first, second;
    } pairs[] = {{MPI_FLOAT_INT, MPI_FLOAT, MPI_INT},
                 {MPI_DOUBLE_INT, MPI_DOUBLE, MPI_INT},
                 {MPI_LONG_INT, MPI_LONG, MPI_INT},
                 {MPI_SHORT_INT, MPI_SHORT, MPI_INT},
                 {MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE, MPI_INT},
                 {MPI_2INT, MPI_INT, MPI_INT},
                 {MPI_2INTEGER, MPI_INTEGER, MPI_INTEGER},
                 {MPI_2REAL, MPI_REAL, MPI_REAL},
                 {MPI_2DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION}};
    char name[MPI_MAX_OBJECT_NAME];
    int length = 0;
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (datatype == pairs[i].pair && datatype != MPI_DATATYPE_NULL)
            return join(named(pairs[i].first), named(pairs[i].second));
    if (datatype == MPI_PACKED || P(Type_get_name)(datatype, name, &length) != MPI_SUCCESS)
        return (sequence_t){.power = 1};
    for (int i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3u;
    return basic(hash);
}

/* How a type was made. */
typedef struct {
    int combiner;
    MPI_Count integer_count, address_count, large_count, type_count;
    MPI_Count *block_counts; /* of a struct, one for each type */
    MPI_Datatype *types;
} parts_t;

static int read_envelope(MPI_Datatype datatype, parts_t *out)
{
#if HP_HAS_LARGE_COUNT
    if (P_EXISTS(Type_get_envelope_c) && P_EXISTS(Type_get_contents_c))
        return P(Type_get_envelope_c)(datatype, &out->integer_count, &out->address_count, &out->large_count,
                                      &out->type_count, &out->combiner);
#endif
    int integers, addresses, types;
    const int code = P(Type_get_envelope)(datatype, &integers, &addresses, &types, &out->combiner);
    out->integer_count = integers;
    out->address_count = addresses;
    out->large_count = 0;
    out->type_count = types;
    return code;
}

/* The lists are out's, with room for all that is asked for. A struct counts its blocks behind their number. */
static int read_contents(MPI_Datatype datatype, parts_t *out, int *integers, MPI_Aint *addresses,
                         MPI_Count *large)
{
    int code;
#if HP_HAS_LARGE_COUNT
    if (P_EXISTS(Type_get_envelope_c) && P_EXISTS(Type_get_contents_c))
        code = P(Type_get_contents_c)(datatype, out->integer_count, out->address_count, out->large_count,
                                      out->type_count, integers, addresses, large, out->types);
    else
#endif
        code = P(Type_get_contents)(datatype, (int)out->integer_count, (int)out->address_count,
                                    (int)out->type_count, integers, addresses, out->types);
    for (MPI_Count i = 0; code == MPI_SUCCESS && out->combiner == MPI_COMBINER_STRUCT && i < out->type_count;
         i++)
        out->block_counts[i] = out->large_count ? large[1 + i] : integers[1 + i];
    return code;
}

static sequence_t derived(MPI_Datatype datatype, int depth);

/* Of a type with one part: as often as the sizes say. */
static sequence_t of_part(MPI_Datatype part, MPI_Datatype whole, int depth)
{
    MPI_Count part_bytes = 0, whole_bytes = 0;

    if (P(Type_size_x)(part, &part_bytes) != MPI_SUCCESS ||
        P(Type_size_x)(whole, &whole_bytes) != MPI_SUCCESS)
        return (sequence_t){.power = 1};
    return part_bytes <= 0 ? empty : repeat(derived(part, depth), (uint64_t)(whole_bytes / part_bytes));
}

static sequence_t of_parts(MPI_Datatype datatype, const parts_t *parts, int depth)
{
    sequence_t all = empty;
    parts_t inner;

    for (MPI_Count i = 0; i < parts->type_count; i++)
        all = join(all, parts->combiner == MPI_COMBINER_STRUCT
                            ? repeat(derived(parts->types[i], depth), (uint64_t)parts->block_counts[i])
                            : of_part(parts->types[i], datatype, depth));
    for (MPI_Count i = 0; i < parts->type_count; i++) /* handles of derived types are the caller's to free */
        if (read_envelope(parts->types[i], &inner) == MPI_SUCCESS && inner.combiner != MPI_COMBINER_NAMED)
            P(Type_free)(&parts->types[i]);
    return all;
}

static sequence_t derived(MPI_Datatype datatype, int depth)
{
    enum { DEPTH_MAX = 64 };
    parts_t parts = {0};
    sequence_t all = {.power = 1};

    if (depth == DEPTH_MAX || read_envelope(datatype, &parts) != MPI_SUCCESS)
        return all;
    if (parts.combiner == MPI_COMBINER_NAMED)
        return named(datatype);
    if (parts.type_count == 0) /* Fortran's types by precision and range */
        return named(datatype);
    int *integers = calloc((size_t)parts.integer_count + 1, sizeof *integers);
    MPI_Aint *addresses = calloc((size_t)parts.address_count + 1, sizeof *addresses);
    MPI_Count *large = calloc((size_t)parts.large_count + 1, sizeof *large);
    parts.block_counts = calloc((size_t)parts.type_count, sizeof *parts.block_counts);
    parts.types = calloc((size_t)parts.type_count, sizeof *parts.types);
    if (integers && addresses && large && parts.block_counts && parts.types &&
        read_contents(datatype, &parts, integers, addresses, large) == MPI_SUCCESS)
        all = of_parts(datatype, &parts, depth + 1);
    free(integers);
    free(addresses);
    free(large);
    free(parts.block_counts);
    free(parts.types);
    return all;
}

uint64_t hp_signature(MPI_Datatype datatype, uint64_t count)
{
    const sequence_t all = repeat(derived(datatype, 0), count);
    return all.is_known ? all.value | 1 : 0; /* never 0 when it is known */
}
