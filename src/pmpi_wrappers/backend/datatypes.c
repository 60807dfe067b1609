#include "pmpi_wrappers/backend/datatypes.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

bool hp_datatype_describe(MPI_Datatype datatype, hp_type_t *out)
{
    MPI_Count bytes, lb, extent, true_lb, true_extent;
    if (P(Type_size_x)(datatype, &bytes) != MPI_SUCCESS ||
        P(Type_get_extent_x)(datatype, &lb, &extent) != MPI_SUCCESS ||
        P(Type_get_true_extent_x)(datatype, &true_lb, &true_extent) != MPI_SUCCESS)
        return false;
    /* Elements that overlap or run backwards are legal to send, but not worth a pipeline of pieces. */
    if (bytes < 0 || extent < true_extent || true_extent < 0)
        return false;
    *out = (hp_type_t){.handle = HP_HANDLE(datatype),
                       .bytes = (size_t)bytes,
                       .extent = (size_t)extent,
                       .true_lb = (ptrdiff_t)true_lb,
                       .true_extent = (size_t)true_extent};
    return true;
}

/* How a type was made, as far as it matters here. */
typedef struct {
    int combiner;
    bool small; /* its arguments fit the arrays that hp_datatype_is_contiguous has for them */
    int integers, addresses;
} envelope_t;

enum { INTEGERS_MAX = 3, ADDRESSES_MAX = 2 };

static bool read_envelope(MPI_Datatype datatype, envelope_t *out)
{
    int integers, addresses, datatypes;
#if HP_HAS_LARGE_COUNT
    /* A type made with large counts may only be asked about with them: the plain call is an error, which
     * would reach the program's error handler. */
    if (P_EXISTS(Type_get_envelope_c)) {
        MPI_Count integers_c, addresses_c, large_c, datatypes_c;
        if (P(Type_get_envelope_c)(datatype, &integers_c, &addresses_c, &large_c, &datatypes_c,
                                   &out->combiner) != MPI_SUCCESS)
            return false;
        out->small =
            integers_c <= INTEGERS_MAX && addresses_c <= ADDRESSES_MAX && large_c == 0 && datatypes_c == 1;
        out->integers = (int)integers_c;
        out->addresses = (int)addresses_c;
        return true;
    }
#endif
    if (P(Type_get_envelope)(datatype, &integers, &addresses, &datatypes, &out->combiner) != MPI_SUCCESS)
        return false;
    out->small = integers <= INTEGERS_MAX && addresses <= ADDRESSES_MAX && datatypes == 1;
    out->integers = integers;
    out->addresses = addresses;
    return true;
}

/* Follows the constructors that keep the order of their base type; every other one is taken as not
 * contiguous. Sizes alone do not tell: an indexed type may list its blocks backwards. */
static bool keeps_order(MPI_Datatype datatype, int depth)
{
    enum { DEPTH_MAX = 16 };
    envelope_t envelope, base_envelope;
    int integers[INTEGERS_MAX];
    MPI_Aint addresses[ADDRESSES_MAX];
    MPI_Datatype base;

    if (!read_envelope(datatype, &envelope))
        return false;
    if (envelope.combiner == MPI_COMBINER_NAMED)
        return true;
    if (depth == DEPTH_MAX || !envelope.small ||
        (envelope.combiner != MPI_COMBINER_CONTIGUOUS && envelope.combiner != MPI_COMBINER_DUP))
        return false;
    if (P(Type_get_contents)(datatype, envelope.integers, envelope.addresses, 1, integers, addresses,
                             &base) != MPI_SUCCESS)
        return false;
    bool order = keeps_order(base, depth + 1);
    /* The base handles that MPI hands out for derived types are the caller's to free; named ones must not be.
     */
    if (read_envelope(base, &base_envelope) && base_envelope.combiner != MPI_COMBINER_NAMED)
        P(Type_free)(&base);
    return order;
}

bool hp_datatype_is_contiguous(MPI_Datatype datatype, const hp_type_t *type)
{
    return hp_type_is_dense(type) && keeps_order(datatype, 0);
}

bool hp_datatype_is_committed(MPI_Datatype datatype, MPI_Comm comm)
{
    envelope_t envelope;
    char nothing = 0;

    if (!read_envelope(datatype, &envelope))
        return false;
    /* A send to nobody checks its arguments and does nothing. */
    return envelope.combiner == MPI_COMBINER_NAMED ||
           P(Send)(&nothing, 1, datatype, MPI_PROC_NULL, 0, comm) == MPI_SUCCESS;
}

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

/* One element of more than 2 GiB: MPI_Pack counts its bytes in an int, so the element is sent to ourselves,
 * as bytes. */
static int pack_large_element(bool pack, void *element, const hp_type_t *type, char *packed, MPI_Comm comm,
                              int self)
{
    const MPI_Datatype datatype = HP_UNHANDLE(MPI_Datatype, type->handle);
    MPI_Datatype bytes;
    int code = make_large_bytes(type->bytes, &bytes);
    if (code != MPI_SUCCESS)
        return code;
    code =
        pack ? P(Sendrecv)(element, 1, datatype, self, 0, packed, 1, bytes, self, 0, comm, MPI_STATUS_IGNORE)
             : P(Sendrecv)(packed, 1, bytes, self, 0, element, 1, datatype, self, 0, comm, MPI_STATUS_IGNORE);
    P(Type_free)(&bytes);
    return code;
}

int hp_datatype_pack(bool pack, void *buffer, int64_t count, const hp_type_t *type, char *packed,
                     MPI_Comm comm, int self)
{
    const MPI_Datatype datatype = HP_UNHANDLE(MPI_Datatype, type->handle);
    const bool large = type->bytes > INT_MAX;
    const int64_t piece = large ? 1 : INT_MAX / (int64_t)type->bytes;
    int code = MPI_SUCCESS;

    for (int64_t done = 0; done < count && code == MPI_SUCCESS;) {
        const int n = (int)(count - done < piece ? count - done : piece);
        const size_t bytes = (size_t)n * type->bytes;
        int position = 0;
        char *at = (char *)buffer + done * (int64_t)type->extent;
        if (large)
            code = pack_large_element(pack, at, type, packed, comm, self);
        else
            code = pack ? P(Pack)(at, n, datatype, packed, (int)bytes, &position, comm)
                        : P(Unpack)(packed, (int)bytes, &position, at, n, datatype, comm);
        packed += bytes;
        done += n;
    }
    return code;
}

/* Classes of predefined types, MPI 4.1 section 6.9.2. */
enum {
    C_INTEGER = 1,
    FORTRAN_INTEGER = 2,
    FLOATING = 4,
    LOGICAL = 8,
    COMPLEX = 16,
    BYTE = 32,
    MULTI_LANGUAGE = 64,
    PAIR = 128,
    ANY_INTEGER = C_INTEGER | FORTRAN_INTEGER | MULTI_LANGUAGE,
};

typedef struct {
    MPI_Datatype datatype;
    unsigned class;
} class_row_t;

static unsigned class_of(MPI_Datatype datatype)
{
    /* Not static: Open MPI's handles are addresses of another library, no constants. */
    const class_row_t rows[] = {
        {MPI_DOUBLE, FLOATING},
        {MPI_FLOAT, FLOATING},
        {MPI_INT, C_INTEGER},
        {MPI_LONG, C_INTEGER},
        {MPI_LONG_LONG_INT, C_INTEGER},
        {MPI_UNSIGNED, C_INTEGER},
        {MPI_UNSIGNED_LONG, C_INTEGER},
        {MPI_UNSIGNED_LONG_LONG, C_INTEGER},
        {MPI_SHORT, C_INTEGER},
        {MPI_UNSIGNED_SHORT, C_INTEGER},
        {MPI_SIGNED_CHAR, C_INTEGER},
        {MPI_UNSIGNED_CHAR, C_INTEGER},
        {MPI_INT8_T, C_INTEGER},
        {MPI_INT16_T, C_INTEGER},
        {MPI_INT32_T, C_INTEGER},
        {MPI_INT64_T, C_INTEGER},
        {MPI_UINT8_T, C_INTEGER},
        {MPI_UINT16_T, C_INTEGER},
        {MPI_UINT32_T, C_INTEGER},
        {MPI_UINT64_T, C_INTEGER},
        {MPI_LONG_DOUBLE, FLOATING},
        {MPI_DOUBLE_PRECISION, FLOATING},
        {MPI_REAL, FLOATING},
        {MPI_REAL4, FLOATING},
        {MPI_REAL8, FLOATING},
        {MPI_INTEGER, FORTRAN_INTEGER},
        {MPI_INTEGER1, FORTRAN_INTEGER},
        {MPI_INTEGER2, FORTRAN_INTEGER},
        {MPI_INTEGER4, FORTRAN_INTEGER},
        {MPI_INTEGER8, FORTRAN_INTEGER},
        {MPI_LOGICAL, LOGICAL},
        {MPI_C_BOOL, LOGICAL},
        {MPI_CXX_BOOL, LOGICAL},
        {MPI_COMPLEX, COMPLEX},
        {MPI_DOUBLE_COMPLEX, COMPLEX},
        {MPI_COMPLEX8, COMPLEX},
        {MPI_COMPLEX16, COMPLEX},
        {MPI_C_FLOAT_COMPLEX, COMPLEX},
        {MPI_C_DOUBLE_COMPLEX, COMPLEX},
        {MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX},
        {MPI_CXX_FLOAT_COMPLEX, COMPLEX},
        {MPI_CXX_DOUBLE_COMPLEX, COMPLEX},
        {MPI_CXX_LONG_DOUBLE_COMPLEX, COMPLEX},
        {MPI_BYTE, BYTE},
        {MPI_AINT, MULTI_LANGUAGE},
        {MPI_OFFSET, MULTI_LANGUAGE},
        {MPI_COUNT, MULTI_LANGUAGE},
        {MPI_FLOAT_INT, PAIR},
        {MPI_DOUBLE_INT, PAIR},
        {MPI_LONG_INT, PAIR},
        {MPI_2INT, PAIR},
        {MPI_SHORT_INT, PAIR},
        {MPI_LONG_DOUBLE_INT, PAIR},
        {MPI_2REAL, PAIR},
        {MPI_2DOUBLE_PRECISION, PAIR},
        {MPI_2INTEGER, PAIR},
    };
    if (datatype == MPI_DATATYPE_NULL) /* also what an MPI calls a type it lacks */
        return 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].datatype == datatype)
            return rows[i].class;
    return 0;
}

bool hp_reduction_is_known(MPI_Op op, MPI_Datatype datatype, bool *commutative)
{
    unsigned accepted;
    int answer;

    if (op == MPI_SUM || op == MPI_PROD)
        accepted = ANY_INTEGER | FLOATING | COMPLEX;
    else if (op == MPI_MAX || op == MPI_MIN)
        accepted = ANY_INTEGER | FLOATING;
    else if (op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR)
        accepted = C_INTEGER | LOGICAL;
    else if (op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR)
        accepted = ANY_INTEGER | BYTE;
    else if (op == MPI_MAXLOC || op == MPI_MINLOC)
        accepted = PAIR;
    else if (op == MPI_OP_NULL || op == MPI_REPLACE || op == MPI_NO_OP)
        return false;
    else
        accepted = 0; /* user-defined: any type */

    if (accepted) {
        *commutative = true;
        return (class_of(datatype) & accepted) != 0;
    }
    if (P(Op_commutative)(op, &answer) != MPI_SUCCESS)
        return false;
    *commutative = answer != 0;
    return true;
}
