#include "operations.h"

#include <complex.h>

#include "typemap.h"

static hp_operation_info_t infos[HP_OPERATION_COUNT] = {
#define X(id, mpi_op, is_commutative) [HP_OPERATION_##id] = {.name = #id, .commutative = is_commutative},
    HP_OPERATION_TABLE(X)
#undef X
};

/* One MPI_User_function an operation: MPI hands over no context by which one could tell them apart. */
#define USER_FUNCTION(name, operation)                                                                       \
    static void name(void *in, void *inout, int *length, MPI_Datatype *type)                                 \
    {                                                                                                        \
        hp_typemap_combine(hp_typemap_find(*type), operation, in, inout, *length);                           \
    }
USER_FUNCTION(user_xor, HP_OPERATION_USER_XOR)
USER_FUNCTION(user_product, HP_OPERATION_USER_PRODUCT)
USER_FUNCTION(user_leftmost, HP_OPERATION_USER_LEFTMOST)
#undef USER_FUNCTION

static MPI_User_function *user_function(hp_operation_t operation)
{
    switch (operation) {
    case HP_OPERATION_USER_XOR:
        return user_xor;
    case HP_OPERATION_USER_PRODUCT:
        return user_product;
    case HP_OPERATION_USER_LEFTMOST:
        return user_leftmost;
    default:
        CHECK(false, "%s is not user-defined", infos[operation].name);
    }
}

MPI_Op hp_operation_create(hp_operation_t operation)
{
    MPI_Op op;
    CHECK_MPI(MPI_Op_create(user_function(operation), infos[operation].commutative, &op));
    return op;
}

static void make_user(hp_operation_t operation)
{
    infos[operation].user = true;
    infos[operation].op = hp_operation_create(operation);
}

void hp_operations_init(void)
{
#define X(id, mpi_op, ...) infos[HP_OPERATION_##id].op = mpi_op;
    HP_OPERATION_TABLE(X)
#undef X
    make_user(HP_OPERATION_USER_XOR);
    make_user(HP_OPERATION_USER_PRODUCT);
    make_user(HP_OPERATION_USER_LEFTMOST);
}

void hp_operations_fini(void)
{
    for (int operation = 0; operation < HP_OPERATION_COUNT; operation++)
        if (infos[operation].user)
            CHECK_MPI(MPI_Op_free(&infos[operation].op));
}

const hp_operation_info_t *hp_operation_info(hp_operation_t operation)
{
    return &infos[operation];
}

bool hp_operation_applies(hp_operation_t operation, hp_basic_t basic)
{
    hp_class_t class = hp_basic_info(basic)->class;
    switch (operation) {
    case HP_OPERATION_SUM:
    case HP_OPERATION_PROD:
        return class == HP_CLASS_INTEGER || class == HP_CLASS_FLOAT || class == HP_CLASS_COMPLEX;
    case HP_OPERATION_MAX:
    case HP_OPERATION_MIN:
        return class == HP_CLASS_INTEGER || class == HP_CLASS_FLOAT;
    case HP_OPERATION_LAND:
    case HP_OPERATION_LOR:
    case HP_OPERATION_LXOR:
        return class == HP_CLASS_INTEGER;
    case HP_OPERATION_BAND:
    case HP_OPERATION_BOR:
    case HP_OPERATION_BXOR:
        return class == HP_CLASS_INTEGER || class == HP_CLASS_BYTE;
    case HP_OPERATION_MAXLOC:
    case HP_OPERATION_MINLOC:
        return class == HP_CLASS_PAIR;
    case HP_OPERATION_USER_PRODUCT:
        return class == HP_CLASS_MATRIX;
    case HP_OPERATION_USER_XOR:
    case HP_OPERATION_USER_LEFTMOST:
        return true;
    case HP_OPERATION_COUNT:
        break;
    }
    return false;
}

hp_closeness_t hp_operation_closeness(hp_operation_t operation, hp_basic_t basic)
{
    hp_class_t class = hp_basic_info(basic)->class;
    if (class != HP_CLASS_FLOAT && class != HP_CLASS_COMPLEX)
        return HP_EXACT;
    if (operation == HP_OPERATION_SUM)
        return HP_ROUNDED_SUM;
    return operation == HP_OPERATION_PROD ? HP_ROUNDED_PRODUCT : HP_EXACT;
}

/* A sum's operand: -1 .. 1, or an integer of -8 .. 8. A product's: magnitude 1/2 .. 2, or one of 1, -1, 2. */
static inline double fill_number(hp_operation_t operation, hp_values_t values, uint64_t random)
{
    double fraction = (double)(random >> 11) * 0x1p-53;
    if (operation == HP_OPERATION_PROD) {
        if (values == HP_VALUES_SMALL)
            return (const double[]){1, -1, 2}[random % 3];
        return (random & 1 ? 1 : -1) * (0.5 + 1.5 * fraction);
    }
    return values == HP_VALUES_SMALL ? (double)(random % 17) - 8 : 2 * fraction - 1;
}

/* Few values, so that MAXLOC and MINLOC meet ties. */
static inline void fill_pair(hp_basic_t basic, uint64_t random, char *at)
{
    int value = (int)(random % 5) - 2, index = (int)(random >> 32) % 1000;
    short narrow = (short)value;
    double wide = value / 2.0;

    switch (basic) {
    case HP_BASIC_SHORT_INT:
        memcpy(at + offsetof(hp_short_int_t, value), &narrow, sizeof narrow);
        memcpy(at + offsetof(hp_short_int_t, index), &index, sizeof index);
        break;
    case HP_BASIC_DOUBLE_INT:
        memcpy(at + offsetof(hp_double_int_t, value), &wide, sizeof wide);
        memcpy(at + offsetof(hp_double_int_t, index), &index, sizeof index);
        break;
    default:
        memcpy(at + offsetof(hp_int_int_t, value), &value, sizeof value);
        memcpy(at + offsetof(hp_int_int_t, index), &index, sizeof index);
        break;
    }
}

/* What the hosts get wrong stays out of the data. Sums of 8 and 16 bits do not overflow: Open MPI 4.1's SIMD
 * ones saturate instead of wrapping (ompi #8045). Maxima of unsigned integers have a clear top bit: MPICH 4.0
 * compares MPI_UINT8_T and MPI_UINT64_T as if they were signed. */
static inline bool must_stay_small(hp_basic_t basic, hp_operation_t operation)
{
    return (basic == HP_BASIC_UINT8 || basic == HP_BASIC_INT16) && operation <= HP_OPERATION_MIN;
}

static inline void fill_narrow(hp_basic_t basic, hp_operation_t operation, uint64_t random, void *place)
{
    int16_t value = operation == HP_OPERATION_PROD ? random % 16 != 0 : random % 16;
    uint8_t byte = (uint8_t)value;
    if (basic == HP_BASIC_INT16)
        memcpy(place, &value, sizeof value);
    else
        memcpy(place, &byte, sizeof byte);
}

/* Bits as they come, the same for all of a piece where they say true or false. */
static inline void fill_bits(hp_basic_t basic, size_t bytes, hp_operation_t operation, uint64_t random,
                             char *place)
{
    const hp_basic_info_t *info = hp_basic_info(basic);
    const bool record = basic == HP_BASIC_RECORD, logical = operation == HP_OPERATION_LAND ||
                                                            operation == HP_OPERATION_LOR ||
                                                            operation == HP_OPERATION_LXOR;

    if (logical && random % 4 == 0)
        random = 0;
    if (operation == HP_OPERATION_MAX || operation == HP_OPERATION_MIN)
        random >>= 1;
    for (int i = 0; i < (record ? info->pieces : 1); i++) {
        char *at = place + (record ? info->piece[i].at : 0);
        const size_t piece_bytes = record ? info->piece[i].bytes : bytes;
        for (size_t done = 0; done < piece_bytes; done += sizeof random) {
            size_t left = piece_bytes - done;
            memcpy(at + done, &random, left < sizeof random ? left : sizeof random);
            random = logical ? random : hp_mix(random);
        }
    }
}

/* basic, bytes and class are constants wherever this is inlined. */
__attribute__((always_inline)) static inline void fill_one(hp_basic_t basic, size_t bytes, hp_class_t class,
                                                           hp_operation_t operation, hp_values_t values,
                                                           uint64_t random, char *place)
{
    switch (class) {
    case HP_CLASS_FLOAT:
        if (basic == HP_BASIC_FLOAT) {
            float single = (float)fill_number(operation, values, random);
            memcpy(place, &single, sizeof single);
        } else {
            double number = fill_number(operation, values, random);
            memcpy(place, &number, sizeof number);
        }
        return;
    case HP_CLASS_COMPLEX: {
        double number[2] = {fill_number(operation, values, random),
                            fill_number(operation, values, hp_mix(random))};
        if (operation == HP_OPERATION_PROD && values == HP_VALUES_SMALL)
            number[random % 2] = 0; /* a power of i, times 1 or 2: products stay exact */
        memcpy(place, number, sizeof number);
        return;
    }
    case HP_CLASS_PAIR:
        fill_pair(basic, random, place);
        return;
    default:
        break;
    }
    if (must_stay_small(basic, operation))
        fill_narrow(basic, operation, random, place);
    else
        fill_bits(basic, bytes, operation, random, place);
}

void hp_basic_fill(hp_basic_t basic, hp_operation_t operation, hp_values_t values, uint64_t random,
                   void *place)
{
    switch (basic) {
#define X(id, c_type, mpi_type, basic_class)                                                                 \
    case HP_BASIC_##id:                                                                                      \
        fill_one(HP_BASIC_##id, sizeof(c_type), basic_class, operation, values, random, place);              \
        break;
        HP_BASIC_TABLE(X)
#undef X
    case HP_BASIC_COUNT:
        break;
    }
}

/* The loop is inside of the switch: it is most of what the programs of this folder compute. */
void hp_basic_fill_row(hp_basic_t basic, hp_operation_t operation, hp_values_t values, uint64_t salt,
                       int comm_rank, int64_t first, int64_t count, void *place)
{
    const uint64_t hash = hp_hash_of(salt, (uint64_t)comm_rank);

    switch (basic) {
#define X(id, c_type, mpi_type, basic_class)                                                                 \
    case HP_BASIC_##id:                                                                                      \
        for (int64_t k = 0; k < count; k++)                                                                  \
            fill_one(HP_BASIC_##id, sizeof(c_type), basic_class, operation, values,                          \
                     hp_mix(hash ^ (uint64_t)(first + k)), (char *)place + k * (int64_t)sizeof(c_type));     \
        break;
        HP_BASIC_TABLE(X)
#undef X
    case HP_BASIC_COUNT:
        break;
    }
}

/* What the rows of the functions below have in common. */
typedef struct {
    const char *left;
    char *into;
    int64_t count;
    ptrdiff_t stride;
} rows_t;

#define EACH(type, combined)                                                                                 \
    for (int64_t k = 0; k < rows->count; k++) {                                                              \
        type a, b;                                                                                           \
        memcpy(&a, rows->left + k * rows->stride, sizeof a);                                                 \
        memcpy(&b, rows->into + k * rows->stride, sizeof b);                                                 \
        combined;                                                                                            \
        memcpy(rows->into + k * rows->stride, &b, sizeof b);                                                 \
    }                                                                                                        \
    break

/* Arithmetic as C has it; integers wrap (computed unsigned). */
#define COMBINE_INTEGER(word, signed_type, unsigned_type)                                                    \
    static void combine_##word(hp_operation_t operation, const rows_t *rows)                                 \
    {                                                                                                        \
        switch (operation) {                                                                                 \
        case HP_OPERATION_SUM:                                                                               \
            EACH(signed_type, b = (signed_type)((unsigned_type)a + (unsigned_type)b));                       \
        case HP_OPERATION_PROD:                                                                              \
            EACH(signed_type, b = (signed_type)((uint64_t)(unsigned_type)a * (unsigned_type)b));             \
        case HP_OPERATION_MAX:                                                                               \
            EACH(signed_type, b = a > b ? a : b);                                                            \
        case HP_OPERATION_MIN:                                                                               \
            EACH(signed_type, b = a < b ? a : b);                                                            \
        case HP_OPERATION_LAND:                                                                              \
            EACH(signed_type, b = a && b);                                                                   \
        case HP_OPERATION_LOR:                                                                               \
            EACH(signed_type, b = a || b);                                                                   \
        case HP_OPERATION_LXOR:                                                                              \
            EACH(signed_type, b = !a != !b);                                                                 \
        case HP_OPERATION_BAND:                                                                              \
            EACH(signed_type, b = (signed_type)(a & b));                                                     \
        case HP_OPERATION_BOR:                                                                               \
            EACH(signed_type, b = (signed_type)(a | b));                                                     \
        case HP_OPERATION_BXOR:                                                                              \
            EACH(signed_type, b = (signed_type)(a ^ b));                                                     \
        default:                                                                                             \
            CHECK(false, "%s on an integer", infos[operation].name);                                         \
        }                                                                                                    \
    }
COMBINE_INTEGER(int, int, unsigned)
COMBINE_INTEGER(uint8, uint8_t, uint8_t)
COMBINE_INTEGER(int16, int16_t, uint16_t)
COMBINE_INTEGER(int64, int64_t, uint64_t)
COMBINE_INTEGER(uint64, uint64_t, uint64_t)

#define COMBINE_REAL(word, type)                                                                             \
    static void combine_##word(hp_operation_t operation, const rows_t *rows)                                 \
    {                                                                                                        \
        switch (operation) {                                                                                 \
        case HP_OPERATION_SUM:                                                                               \
            EACH(type, b = a + b);                                                                           \
        case HP_OPERATION_PROD:                                                                              \
            EACH(type, b = a * b);                                                                           \
        case HP_OPERATION_MAX:                                                                               \
            EACH(type, b = a > b ? a : b);                                                                   \
        case HP_OPERATION_MIN:                                                                               \
            EACH(type, b = a < b ? a : b);                                                                   \
        default:                                                                                             \
            CHECK(false, "%s on a floating-point number", infos[operation].name);                            \
        }                                                                                                    \
    }
COMBINE_REAL(float, float)
COMBINE_REAL(double, double)

/* MAXLOC and MINLOC: the extreme value; of equal ones the smaller index. */
#define COMBINE_PAIR(word, type)                                                                             \
    static void combine_##word(hp_operation_t operation, const rows_t *rows)                                 \
    {                                                                                                        \
        switch (operation) {                                                                                 \
        case HP_OPERATION_MAXLOC:                                                                            \
            EACH(                                                                                            \
                type, if (a.value > b.value || (a.value == b.value && a.index < b.index)) {                  \
                    b.value = a.value;                                                                       \
                    b.index = a.index;                                                                       \
                });                                                                                          \
        default:                                                                                             \
            EACH(                                                                                            \
                type, if (a.value < b.value || (a.value == b.value && a.index < b.index)) {                  \
                    b.value = a.value;                                                                       \
                    b.index = a.index;                                                                       \
                });                                                                                          \
        }                                                                                                    \
    }
COMBINE_PAIR(int_int, hp_int_int_t)
COMBINE_PAIR(short_int, hp_short_int_t)
COMBINE_PAIR(double_int, hp_double_int_t)

static void combine_complex(hp_operation_t operation, const rows_t *rows)
{
    switch (operation) {
    case HP_OPERATION_SUM:
        EACH(double _Complex, b = a + b);
    default:
        EACH(double _Complex, b = a * b);
    }
}

static void combine_matrix(const char *left, char *into)
{
    hp_matrix_t a, b, product;
    memcpy(&a, left, sizeof a);
    memcpy(&b, into, sizeof b);
    for (int row = 0; row < 2; row++)
        for (int column = 0; column < 2; column++)
            product.cell[2 * row + column] =
                a.cell[2 * row] * b.cell[column] + a.cell[2 * row + 1] * b.cell[2 + column];
    memcpy(into, &product, sizeof product);
}

static void combine_pieces(hp_basic_t basic, hp_operation_t operation, const char *left, char *into)
{
    const hp_basic_info_t *info = hp_basic_info(basic);
    for (int i = 0; i < info->pieces; i++)
        for (size_t at = info->piece[i].at; at < info->piece[i].at + info->piece[i].bytes; at++)
            into[at] = operation == HP_OPERATION_USER_XOR ? (char)(into[at] ^ left[at]) : left[at];
}

void hp_basic_combine_row(hp_basic_t basic, hp_operation_t operation, const void *left, void *into,
                          int64_t count, ptrdiff_t stride)
{
    const rows_t row = {.left = left, .into = into, .count = count, .stride = stride};

    if (operation == HP_OPERATION_USER_XOR || operation == HP_OPERATION_USER_LEFTMOST) {
        for (int64_t k = 0; k < count; k++)
            combine_pieces(basic, operation, row.left + k * stride, row.into + k * stride);
        return;
    }
    switch (basic) {
    case HP_BASIC_INT:
        combine_int(operation, &row);
        break;
    case HP_BASIC_UINT8:
    case HP_BASIC_BYTE:
        combine_uint8(operation, &row);
        break;
    case HP_BASIC_INT16:
        combine_int16(operation, &row);
        break;
    case HP_BASIC_INT64:
        combine_int64(operation, &row);
        break;
    case HP_BASIC_UINT64:
        combine_uint64(operation, &row);
        break;
    case HP_BASIC_FLOAT:
        combine_float(operation, &row);
        break;
    case HP_BASIC_DOUBLE:
        combine_double(operation, &row);
        break;
    case HP_BASIC_DOUBLE_COMPLEX:
        combine_complex(operation, &row);
        break;
    case HP_BASIC_INT_INT:
        combine_int_int(operation, &row);
        break;
    case HP_BASIC_SHORT_INT:
        combine_short_int(operation, &row);
        break;
    case HP_BASIC_DOUBLE_INT:
        combine_double_int(operation, &row);
        break;
    case HP_BASIC_MATRIX:
        for (int64_t k = 0; k < count; k++)
            combine_matrix(row.left + k * stride, row.into + k * stride);
        break;
    case HP_BASIC_RECORD:
    case HP_BASIC_COUNT:
        CHECK(false, "%s on %s", infos[operation].name, hp_basic_info(basic)->name);
    }
}
