#include "pmpi_wrappers/backend/glue/signature.h"

#include <stdbool.h>
#include "pmpi_wrappers/backend/glue/type_parts.h"

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

/* A struct counts its blocks behind their number. */
static sequence_t of_parts(MPI_Datatype datatype, const hp_type_parts_t *parts, int depth)
{
    sequence_t all = empty;

    for (MPI_Count i = 0; i < parts->type_count; i++) {
        const MPI_Count blocks = parts->combiner != MPI_COMBINER_STRUCT ? 0
                                 : parts->large_count                   ? parts->large[1 + i]
                                                                        : parts->integers[1 + i];
        all = join(all, parts->combiner == MPI_COMBINER_STRUCT
                            ? repeat(derived(parts->types[i], depth), (uint64_t)blocks)
                            : of_part(parts->types[i], datatype, depth));
    }
    return all;
}

static sequence_t derived(MPI_Datatype datatype, int depth)
{
    enum { DEPTH_MAX = 64 };
    hp_type_parts_t parts;

    if (depth == DEPTH_MAX || !hp_type_parts_read(datatype, &parts))
        return (sequence_t){.power = 1};
    /* Without parts: a basic type, one of Fortran's by precision and range among them. */
    const sequence_t all = parts.type_count == 0 ? named(datatype) : of_parts(datatype, &parts, depth + 1);
    hp_type_parts_free(&parts);
    return all;
}

uint64_t hp_signature(MPI_Datatype datatype, uint64_t count)
{
    const sequence_t all = repeat(derived(datatype, 0), count);
    return all.is_known ? all.value | 1 : 0; /* never 0 when it is known */
}
