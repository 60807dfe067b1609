/* operations: the reduction operations of the tests, predefined and user-defined, and what they must give.
 *
 * hp_basic_combine computes an operation without MPI: the expected result of a collective is a loop over it.
 * The user-defined operations are called by MPI with the datatype of the call, and find its layout in the
 * registry of typemap.h: a library that hands them another datatype than the user's fails there.
 *
 * Threads: any, after hp_operations_init. Ownership: this file owns the MPI operations that it creates. */
#ifndef HP_TESTS_MPI_OPERATIONS_H
#define HP_TESTS_MPI_OPERATIONS_H

#include "basics.h"

/* id, predefined MPI operation (MPI_OP_NULL: user-defined), commutative */
#define HP_OPERATION_TABLE(X)                                                                                \
    X(SUM, MPI_SUM, true)                                                                                    \
    X(PROD, MPI_PROD, true)                                                                                  \
    X(MAX, MPI_MAX, true)                                                                                    \
    X(MIN, MPI_MIN, true)                                                                                    \
    X(LAND, MPI_LAND, true)                                                                                  \
    X(LOR, MPI_LOR, true)                                                                                    \
    X(LXOR, MPI_LXOR, true)                                                                                  \
    X(BAND, MPI_BAND, true)                                                                                  \
    X(BOR, MPI_BOR, true)                                                                                    \
    X(BXOR, MPI_BXOR, true)                                                                                  \
    X(MAXLOC, MPI_MAXLOC, true)                                                                              \
    X(MINLOC, MPI_MINLOC, true)                                                                              \
    X(USER_XOR, MPI_OP_NULL, true)                                                                           \
    X(USER_PRODUCT, MPI_OP_NULL, false)                                                                      \
    X(USER_LEFTMOST, MPI_OP_NULL, false)

typedef enum {
#define X(id, ...) HP_OPERATION_##id,
    HP_OPERATION_TABLE(X)
#undef X
        HP_OPERATION_COUNT
} hp_operation_t;

typedef struct {
    const char *name;
    MPI_Op op;
    bool commutative;
    bool user; /* also defined on derived datatypes */
} hp_operation_info_t;

/* How close two orders of evaluation must come. */
typedef enum { HP_EXACT, HP_ROUNDED_SUM, HP_ROUNDED_PRODUCT } hp_closeness_t;

/* What floating-point values look like. HP_VALUES_SMALL: small integers, so that every order of a sum or of a
 * product over up to 16 ranks is exact. HP_VALUES_ANY: fractions. */
typedef enum { HP_VALUES_SMALL, HP_VALUES_ANY } hp_values_t;

/* After MPI_Init, before MPI_Finalize; not collective. */
void hp_operations_init(void);
void hp_operations_fini(void);

const hp_operation_info_t *hp_operation_info(hp_operation_t operation);
/* Another handle of a user-defined operation; the caller frees it. */
MPI_Op hp_operation_create(hp_operation_t operation);
bool hp_operation_applies(hp_operation_t operation, hp_basic_t basic);
hp_closeness_t hp_operation_closeness(hp_operation_t operation, hp_basic_t basic);

/* Writes the value that random stands for, as an operand of operation, to the pieces of the basic at place.
 */
void hp_basic_fill(hp_basic_t basic, hp_operation_t operation, hp_values_t values, uint64_t random,
                   void *place);
/* The same for a row of them, one behind the other: the k-th is that of hp_hash(salt, comm_rank, first + k). */
void hp_basic_fill_row(hp_basic_t basic, hp_operation_t operation, hp_values_t values, uint64_t salt,
                       int comm_rank, int64_t first, int64_t count, void *place);
/* into = left op into, for count basics that begin stride bytes apart. */
void hp_basic_combine_row(hp_basic_t basic, hp_operation_t operation, const void *left, void *into,
                          int64_t count, ptrdiff_t stride);

#endif
