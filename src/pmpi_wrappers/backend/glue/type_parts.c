#include "pmpi_wrappers/backend/glue/type_parts.h"

#include <stdlib.h>

#if HP_HAS_LARGE_COUNT
/* A type that was made with large counts may only be asked about with them. */
static bool has_large_forms(void)
{
    return P_EXISTS(Type_get_envelope_c) && P_EXISTS(Type_get_contents_c);
}
#endif

static int read_envelope(MPI_Datatype datatype, hp_type_parts_t *out)
{
#if HP_HAS_LARGE_COUNT
    if (has_large_forms())
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

static int read_contents(MPI_Datatype datatype, hp_type_parts_t *out)
{
#if HP_HAS_LARGE_COUNT
    if (has_large_forms())
        return P(Type_get_contents_c)(datatype, out->integer_count, out->address_count, out->large_count,
                                      out->type_count, out->integers, out->addresses, out->large, out->types);
#endif
    return P(Type_get_contents)(datatype, (int)out->integer_count, (int)out->address_count,
                                (int)out->type_count, out->integers, out->addresses, out->types);
}

static void free_lists(hp_type_parts_t *parts)
{
    free(parts->integers);
    free(parts->addresses);
    free(parts->large);
    free(parts->types);
}

/* Nobody may free it. */
static bool is_basic(int combiner)
{
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

bool hp_type_parts_read(MPI_Datatype datatype, hp_type_parts_t *out)
{
    *out = (hp_type_parts_t){0};
    if (read_envelope(datatype, out) != MPI_SUCCESS)
        return false;
    if (out->type_count == 0 || is_basic(out->combiner)) {
        out->type_count = 0;
        return true;
    }
    out->integers = calloc((size_t)out->integer_count + 1, sizeof *out->integers);
    out->addresses = calloc((size_t)out->address_count + 1, sizeof *out->addresses);
    out->large = calloc((size_t)out->large_count + 1, sizeof *out->large);
    out->types = calloc((size_t)out->type_count, sizeof *out->types);
    if (out->integers && out->addresses && out->large && out->types &&
        read_contents(datatype, out) == MPI_SUCCESS)
        return true;
    free_lists(out);
    return false;
}

/* Handles of derived types are the caller's to free. */
static void free_part(const hp_type_parts_t *parts, MPI_Count i)
{
    hp_type_parts_t inner;

    if (read_envelope(parts->types[i], &inner) == MPI_SUCCESS && !is_basic(inner.combiner))
        P(Type_free)(&parts->types[i]);
}

void hp_type_parts_replace(hp_type_parts_t *parts, MPI_Count i, MPI_Datatype type)
{
    free_part(parts, i);
    parts->types[i] = type;
}

void hp_type_parts_free(hp_type_parts_t *parts)
{
    for (MPI_Count i = 0; i < parts->type_count; i++)
        free_part(parts, i);
    free_lists(parts);
}
