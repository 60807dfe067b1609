#include "pmpi_wrappers/backend/glue/stand_in.h"

#include <pthread.h>
#include <stdbool.h>
#include "pmpi_wrappers/backend/glue/type_parts.h"

static bool misreads_complex;

/* An error of the host MPI is nothing that another datatype would mend. */
static void probe(void)
{
    enum { BYTES = 16, DISTANCE = 24 };
    char apart[DISTANCE + BYTES] = {0}, packed[2 * BYTES] = {0};
    MPI_Datatype type;
    int position = 0;

    if (P(Type_create_hvector)(2, 1, DISTANCE, MPI_C_DOUBLE_COMPLEX, &type) != MPI_SUCCESS)
        return;
    apart[DISTANCE] = 1;
    int code = P(Type_commit)(&type);
    if (code == MPI_SUCCESS)
        code = P(Pack)(apart, 1, type, packed, sizeof packed, &position, MPI_COMM_SELF);
    misreads_complex = code == MPI_SUCCESS && packed[BYTES] != apart[DISTANCE];
    P(Type_free)(&type);
}

static int make_bytes(MPI_Datatype basic, MPI_Datatype *out)
{
    MPI_Count bytes;
    const int code = P(Type_size_x)(basic, &bytes);
    return code == MPI_SUCCESS ? P(Type_contiguous)((int)bytes, MPI_BYTE, out) : code;
}

/* Another datatype of the parts, made as theirs was. One that was made in a way that came later is left to the host MPI. */
static int assemble(const hp_type_parts_t *parts, MPI_Datatype *out)
{
    int *n = parts->integers; /* not const: SMPI wants it so */
    const MPI_Aint *at = parts->addresses;
    const MPI_Datatype part = parts->types[0];

    switch (parts->combiner) {
    case MPI_COMBINER_DUP:
        return P(Type_dup)(part, out);
    case MPI_COMBINER_RESIZED:
        return P(Type_create_resized)(part, at[0], at[1], out);
    case MPI_COMBINER_CONTIGUOUS:
        return P(Type_contiguous)(n[0], part, out);
    case MPI_COMBINER_VECTOR:
        return P(Type_vector)(n[0], n[1], n[2], part, out);
    case MPI_COMBINER_HVECTOR:
        return P(Type_create_hvector)(n[0], n[1], at[0], part, out);
    case MPI_COMBINER_INDEXED:
        return P(Type_indexed)(n[0], n + 1, n + 1 + n[0], part, out);
    case MPI_COMBINER_HINDEXED:
        return P(Type_create_hindexed)(n[0], n + 1, at, part, out);
    case MPI_COMBINER_INDEXED_BLOCK:
        return P(Type_create_indexed_block)(n[0], n[1], n + 2, part, out);
    case MPI_COMBINER_HINDEXED_BLOCK:
        return P(Type_create_hindexed_block)(n[0], n[1], at, part, out);
    case MPI_COMBINER_STRUCT:
        return P(Type_create_struct)(n[0], n + 1, at, parts->types, out);
    case MPI_COMBINER_SUBARRAY: {
        const int *lists = n + 1, dimensions = n[0];
        return P(Type_create_subarray)(dimensions, lists, lists + dimensions, lists + 2 * dimensions,
                                       lists[3 * dimensions], part, out);
    }
    case MPI_COMBINER_DARRAY: {
        int *lists = n + 3, dimensions = n[2];
        return P(Type_create_darray)(n[0], n[1], dimensions, lists, lists + dimensions,
                                     lists + 2 * dimensions, lists + 3 * dimensions, lists[4 * dimensions],
                                     part, out);
    }
    default:
        return MPI_SUCCESS;
    }
}

/* As hp_stand_in_make, but not committed. */
static int make(MPI_Datatype datatype, MPI_Datatype *out)
{
    hp_type_parts_t parts;
    bool differs = false;
    int code = MPI_SUCCESS;

    *out = MPI_DATATYPE_NULL;
    if (!hp_type_parts_read(datatype, &parts))
        return MPI_ERR_NO_MEM;
    if (hp_datatype_is_complex(datatype) || parts.combiner == MPI_COMBINER_F90_COMPLEX)
        code = make_bytes(datatype, out);
    for (MPI_Count i = 0; i < parts.type_count && code == MPI_SUCCESS; i++) {
        MPI_Datatype part;
        code = make(parts.types[i], &part);
        if (code == MPI_SUCCESS && part != MPI_DATATYPE_NULL) {
            hp_type_parts_replace(&parts, i, part);
            differs = true;
        }
    }
    if (differs && code == MPI_SUCCESS && parts.large_count == 0)
        code = assemble(&parts, out);
    hp_type_parts_free(&parts);
    return code;
}

int hp_stand_in_make(MPI_Datatype datatype, MPI_Datatype *out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    *out = MPI_DATATYPE_NULL;
    pthread_once(&once, probe);
    const int code = misreads_complex ? make(datatype, out) : MPI_SUCCESS;
    return code == MPI_SUCCESS && *out != MPI_DATATYPE_NULL ? P(Type_commit)(out) : code;
}
