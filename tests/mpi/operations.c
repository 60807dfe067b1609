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
static double fill_number(hp_operation_t operation, hp_values_t values, uint64_t random)
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
static void fill_pair(hp_basic_t basic, uint64_t random, void *place)
{
    int value = (int)(random % 5) - 2, index = (int)(random >> 32) % 1000;
    const hp_basic_info_t *info = hp_basic_info(basic);
    char *at = place;

    switch (basic) {
    case HP_BASIC_SHORT_INT: {
        short narrow = (short)value;
        memcpy(at + info->piece[0].at, &narrow, sizeof narrow);
        break;
    }
    case HP_BASIC_DOUBLE_INT: {
        double wide = value / 2.0;
        memcpy(at + info->piece[0].at, &wide, sizeof wide);
        break;
    }
    default:
        memcpy(at + info->piece[0].at, &value, sizeof value);
        break;
    }
    memcpy(at + info->piece[1].at, &index, sizeof index);
}

/* What the hosts get wrong stays out of the data. Sums of 8 and 16 bits do not overflow: Open MPI 4.1's SIMD
 * ones saturate instead of wrapping (ompi #8045). Maxima of unsigned integers have a clear top bit: MPICH 4.0
 * compares MPI_UINT8_T and MPI_UINT64_T as if they were signed. */
static bool must_stay_small(hp_basic_t basic, hp_operation_t operation)
{
    return (basic == HP_BASIC_UINT8 || basic == HP_BASIC_INT16) && operation <= HP_OPERATION_MIN;
}

static void fill_narrow(hp_basic_t basic, hp_operation_t operation, uint64_t random, void *place)
{
    int16_t value = operation == HP_OPERATION_PROD ? random % 16 != 0 : random % 16;
    uint8_t byte = (uint8_t)value;
    if (basic == HP_BASIC_INT16)
        memcpy(place, &value, sizeof value);
    else
        memcpy(place, &byte, sizeof byte);
}

void hp_basic_fill(hp_basic_t basic, hp_operation_t operation, hp_values_t values, uint64_t random,
                   void *place)
{
    const hp_basic_info_t *info = hp_basic_info(basic);
    bool logical =
        operation == HP_OPERATION_LAND || operation == HP_OPERATION_LOR || operation == HP_OPERATION_LXOR;

    switch (info->class) {
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
    if (must_stay_small(basic, operation)) {
        fill_narrow(basic, operation, random, place);
        return;
    }
    if (logical && random % 4 == 0)
        random = 0;
    if (operation == HP_OPERATION_MAX || operation == HP_OPERATION_MIN)
        random >>= 1;
    for (int i = 0; i < info->pieces; i++) {
        char *at = (char *)place + info->piece[i].at;
        for (size_t done = 0; done < info->piece[i].bytes; done += sizeof random) {
            size_t left = info->piece[i].bytes - done;
            memcpy(at + done, &random, left < sizeof random ? left : sizeof random);
            random = logical ? random : hp_mix(random);
        }
    }
}

/* Arithmetic as C has it; integers wrap (computed unsigned). */
#define COMBINE_INTEGER(signed_type, unsigned_type)                                                          \
    do {                                                                                                     \
        signed_type a, b;                                                                                    \
        memcpy(&a, left, sizeof a);                                                                          \
        memcpy(&b, into, sizeof b);                                                                          \
        switch (operation) {                                                                                 \
        case HP_OPERATION_SUM:                                                                               \
            b = (signed_type)((unsigned_type)a + (unsigned_type)b);                                          \
            break;                                                                                           \
        case HP_OPERATION_PROD:                                                                              \
            b = (signed_type)((uint64_t)(unsigned_type)a * (unsigned_type)b);                                \
            break;                                                                                           \
        case HP_OPERATION_MAX:                                                                               \
            b = a > b ? a : b;                                                                               \
            break;                                                                                           \
        case HP_OPERATION_MIN:                                                                               \
            b = a < b ? a : b;                                                                               \
            break;                                                                                           \
        case HP_OPERATION_LAND:                                                                              \
            b = a && b;                                                                                      \
            break;                                                                                           \
        case HP_OPERATION_LOR:                                                                               \
            b = a || b;                                                                                      \
            break;                                                                                           \
        case HP_OPERATION_LXOR:                                                                              \
            b = !a != !b;                                                                                    \
            break;                                                                                           \
        case HP_OPERATION_BAND:                                                                              \
            b = (signed_type)(a & b);                                                                        \
            break;                                                                                           \
        case HP_OPERATION_BOR:                                                                               \
            b = (signed_type)(a | b);                                                                        \
            break;                                                                                           \
        case HP_OPERATION_BXOR:                                                                              \
            b = (signed_type)(a ^ b);                                                                        \
            break;                                                                                           \
        default:                                                                                             \
            CHECK(false, "%s on an integer", infos[operation].name);                                         \
        }                                                                                                    \
        memcpy(into, &b, sizeof b);                                                                          \
    } while (0)

#define COMBINE_REAL(type)                                                                                   \
    do {                                                                                                     \
        type a, b;                                                                                           \
        memcpy(&a, left, sizeof a);                                                                          \
        memcpy(&b, into, sizeof b);                                                                          \
        switch (operation) {                                                                                 \
        case HP_OPERATION_SUM:                                                                               \
            b = a + b;                                                                                       \
            break;                                                                                           \
        case HP_OPERATION_PROD:                                                                              \
            b = a * b;                                                                                       \
            break;                                                                                           \
        case HP_OPERATION_MAX:                                                                               \
            b = a > b ? a : b;                                                                               \
            break;                                                                                           \
        case HP_OPERATION_MIN:                                                                               \
            b = a < b ? a : b;                                                                               \
            break;                                                                                           \
        default:                                                                                             \
            CHECK(false, "%s on a floating-point number", infos[operation].name);                            \
        }                                                                                                    \
        memcpy(into, &b, sizeof b);                                                                          \
    } while (0)

/* MAXLOC and MINLOC: the extreme value; of equal ones the smaller index. */
#define COMBINE_PAIR(type)                                                                                   \
    do {                                                                                                     \
        type a, b;                                                                                           \
        memcpy(&a, left, sizeof a);                                                                          \
        memcpy(&b, into, sizeof b);                                                                          \
        bool better = operation == HP_OPERATION_MAXLOC ? a.value > b.value : a.value < b.value;              \
        if (better || (a.value == b.value && a.index < b.index)) {                                           \
            b.value = a.value;                                                                               \
            b.index = a.index;                                                                               \
        }                                                                                                    \
        memcpy(into, &b, sizeof b);                                                                          \
    } while (0)

static void combine_complex(hp_operation_t operation, const void *left, void *into)
{
    double _Complex a, b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, into, sizeof b);
    b = operation == HP_OPERATION_SUM ? a + b : a * b;
    memcpy(into, &b, sizeof b);
}

static void combine_matrix(const void *left, void *into)
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

static void combine_pieces(hp_basic_t basic, hp_operation_t operation, const void *left, void *into)
{
    const hp_basic_info_t *info = hp_basic_info(basic);
    for (int i = 0; i < info->pieces; i++)
        for (size_t at = info->piece[i].at; at < info->piece[i].at + info->piece[i].bytes; at++) {
            unsigned char byte = ((const unsigned char *)left)[at];
            if (operation == HP_OPERATION_USER_XOR)
                byte ^= ((unsigned char *)into)[at];
            ((unsigned char *)into)[at] = byte;
        }
}

void hp_basic_combine(hp_basic_t basic, hp_operation_t operation, const void *left, void *into)
{
    if (operation == HP_OPERATION_USER_XOR || operation == HP_OPERATION_USER_LEFTMOST) {
        combine_pieces(basic, operation, left, into);
        return;
    }
    switch (basic) {
    case HP_BASIC_INT:
        COMBINE_INTEGER(int, unsigned);
        break;
    case HP_BASIC_UINT8:
    case HP_BASIC_BYTE:
        COMBINE_INTEGER(uint8_t, uint8_t);
        break;
    case HP_BASIC_INT16:
        COMBINE_INTEGER(int16_t, uint16_t);
        break;
    case HP_BASIC_INT64:
        COMBINE_INTEGER(int64_t, uint64_t);
        break;
    case HP_BASIC_UINT64:
        COMBINE_INTEGER(uint64_t, uint64_t);
        break;
    case HP_BASIC_FLOAT:
        COMBINE_REAL(float);
        break;
    case HP_BASIC_DOUBLE:
        COMBINE_REAL(double);
        break;
    case HP_BASIC_DOUBLE_COMPLEX:
        combine_complex(operation, left, into);
        break;
    case HP_BASIC_INT_INT:
        COMBINE_PAIR(hp_int_int_t);
        break;
    case HP_BASIC_SHORT_INT:
        COMBINE_PAIR(hp_short_int_t);
        break;
    case HP_BASIC_DOUBLE_INT:
        COMBINE_PAIR(hp_double_int_t);
        break;
    case HP_BASIC_MATRIX:
        combine_matrix(left, into);
        break;
    case HP_BASIC_RECORD:
    case HP_BASIC_COUNT:
        CHECK(false, "%s on %s", infos[operation].name, hp_basic_info(basic)->name);
    }
}
