/* basics: the basic elements that the tests send and reduce.
 *
 * A basic is what a datatype repeats: an int, a complex number, a (value, index) pair, a 2x2 matrix, a struct
 * with holes. It knows where the bytes of its value are, and how to be compared and printed.
 *
 * Threads: any, after hp_basics_init. Ownership: this file owns the MPI datatypes that it creates. */
#ifndef HP_TESTS_MPI_BASICS_H
#define HP_TESTS_MPI_BASICS_H

#include "mpi_check.h"

typedef struct {
    double value;
    int index;
} hp_double_int_t;
typedef struct {
    short value;
    int index;
} hp_short_int_t;
typedef struct {
    int value;
    int index;
} hp_int_int_t;
/* a 2x2 matrix over the integers mod 2^32: its product is exact, associative and not commutative. */
typedef struct {
    uint32_t cell[4];
} hp_matrix_t;
/* Holes between and after its members. */
typedef struct {
    double number;
    int integer;
    char letter;
} hp_record_t;

typedef enum {
    HP_CLASS_INTEGER,
    HP_CLASS_FLOAT,
    HP_CLASS_COMPLEX,
    HP_CLASS_BYTE,
    HP_CLASS_PAIR,
    HP_CLASS_MATRIX,
    HP_CLASS_RECORD,
} hp_class_t;

/* id, C type, predefined MPI datatype (MPI_DATATYPE_NULL: built by hp_basics_init), class */
#define HP_BASIC_TABLE(X)                                                                                    \
    X(INT, int, MPI_INT, HP_CLASS_INTEGER)                                                                   \
    X(UINT8, uint8_t, MPI_UINT8_T, HP_CLASS_INTEGER)                                                         \
    X(INT16, int16_t, MPI_INT16_T, HP_CLASS_INTEGER)                                                         \
    X(INT64, int64_t, MPI_INT64_T, HP_CLASS_INTEGER)                                                         \
    X(UINT64, uint64_t, MPI_UINT64_T, HP_CLASS_INTEGER)                                                      \
    X(FLOAT, float, MPI_FLOAT, HP_CLASS_FLOAT)                                                               \
    X(DOUBLE, double, MPI_DOUBLE, HP_CLASS_FLOAT)                                                            \
    X(DOUBLE_COMPLEX, double _Complex, MPI_C_DOUBLE_COMPLEX, HP_CLASS_COMPLEX)                               \
    X(BYTE, unsigned char, MPI_BYTE, HP_CLASS_BYTE)                                                          \
    X(INT_INT, hp_int_int_t, MPI_2INT, HP_CLASS_PAIR)                                                        \
    X(SHORT_INT, hp_short_int_t, MPI_SHORT_INT, HP_CLASS_PAIR)                                               \
    X(DOUBLE_INT, hp_double_int_t, MPI_DOUBLE_INT, HP_CLASS_PAIR)                                            \
    X(MATRIX, hp_matrix_t, MPI_DATATYPE_NULL, HP_CLASS_MATRIX)                                               \
    X(RECORD, hp_record_t, MPI_DATATYPE_NULL, HP_CLASS_RECORD)

typedef enum {
#define X(id, ...) HP_BASIC_##id,
    HP_BASIC_TABLE(X)
#undef X
        HP_BASIC_COUNT
} hp_basic_t;

typedef struct {
    const char *name;
    MPI_Datatype type;
    size_t bytes; /* sizeof, holes included: the extent */
    hp_class_t class;
    int pieces; /* runs of bytes that carry the value */
    struct {
        size_t at, bytes;
    } piece[3];
} hp_basic_info_t;

/* After MPI_Init, before MPI_Finalize; not collective. */
void hp_basics_init(void);
void hp_basics_fini(void);

const hp_basic_info_t *hp_basic_info(hp_basic_t basic);
/* Whether the two have the same bits; holes do not count. */
bool hp_basic_same_bits(hp_basic_t basic, const void *a, const void *b);
/* Whether the two have the same value; holes do not count. Places need no alignment, here and below. */
bool hp_basic_equal(hp_basic_t basic, const void *a, const void *b);
/* |a - b|, |a| and the unit roundoff, for classes float and complex. */
double hp_basic_distance(hp_basic_t basic, const void *a, const void *b);
double hp_basic_magnitude(hp_basic_t basic, const void *a);
double hp_basic_epsilon(hp_basic_t basic);
/* "17", "(1.5, 3)"; returns buffer. */
const char *hp_basic_format(hp_basic_t basic, const void *place, char *buffer, size_t buffer_bytes);

#endif
