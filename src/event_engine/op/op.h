/* op: the reduction kernels: result = left (op) right, element by element, for the built-in operations and
 * types of the MPI standard.
 *
 * The kernels are one source, kernels.c, compiled once per instruction set; hp_kernels chooses the best set
 * that this processor and its operating system support. All sets give the same bits: no kernel changes the
 * order of operations inside an element. Integers wrap around as unsigned ones do in C. Threads: any.
 * Ownership: constants. */
#ifndef HP_EVENT_ENGINE_OP_OP_H
#define HP_EVENT_ENGINE_OP_OP_H

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(id, operation of the MPI standard): operations */
#define HP_OP_TABLE(X)                                                                                       \
    X(SUM)                                                                                                   \
    X(PROD)                                                                                                  \
    X(MIN)                                                                                                   \
    X(MAX)                                                                                                   \
    X(LAND)                                                                                                  \
    X(LOR)                                                                                                   \
    X(LXOR)                                                                                                  \
    X(BAND)                                                                                                  \
    X(BOR)                                                                                                   \
    X(BXOR)                                                                                                  \
    X(MINLOC)                                                                                                \
    X(MAXLOC)

/* X(id, C type, type to calculate in): wide enough that C's promotion to int cannot overflow */
#define HP_NUMBER_INTEGERS(X)                                                                                \
    X(INT8, int8_t, uint32_t)                                                                                \
    X(UINT8, uint8_t, uint32_t)                                                                              \
    X(INT16, int16_t, uint32_t)                                                                              \
    X(UINT16, uint16_t, uint32_t)                                                                            \
    X(INT32, int32_t, uint32_t)                                                                              \
    X(UINT32, uint32_t, uint32_t)                                                                            \
    X(INT64, int64_t, uint64_t)                                                                              \
    X(UINT64, uint64_t, uint64_t)
/* X(id, C type) */
#define HP_NUMBER_FLOATS(X)                                                                                  \
    X(FLOAT, float)                                                                                          \
    X(DOUBLE, double)                                                                                        \
    X(LONG_DOUBLE, long double)
/* X(id, C type of one part) */
#define HP_NUMBER_COMPLEX(X)                                                                                 \
    X(FLOAT_COMPLEX, float)                                                                                  \
    X(DOUBLE_COMPLEX, double)                                                                                \
    X(LONG_DOUBLE_COMPLEX, long double)
/* X(id, C type of the value, C type of the index) */
#define HP_NUMBER_PAIRS(X)                                                                                   \
    X(FLOAT_INT, float, int)                                                                                 \
    X(DOUBLE_INT, double, int)                                                                               \
    X(LONG_INT, long, int)                                                                                   \
    X(INT_INT, int, int)                                                                                     \
    X(SHORT_INT, short, int)                                                                                 \
    X(LONG_DOUBLE_INT, long double, int)                                                                     \
    X(FLOAT_FLOAT, float, float)                                                                             \
    X(DOUBLE_DOUBLE, double, double)

typedef enum {
#define X(id, ...) HP_OP_##id,
    HP_OP_TABLE(X)
#undef X
        HP_OP_COUNT
} hp_op_t;

/* How an element is represented, whatever the language that sends it calls it. */
typedef enum {
#define X(id, ...) HP_NUMBER_##id,
    HP_NUMBER_INTEGERS(X) HP_NUMBER_FLOATS(X) HP_NUMBER_COMPLEX(X) HP_NUMBER_PAIRS(X)
#undef X
        HP_NUMBER_BOOL, /* C's _Bool, C++'s bool */
    HP_NUMBER_COUNT
} hp_number_t;

/* result = left (op) right for count elements. result may be left or right; other overlap is not allowed. Any
 * alignment. */
typedef void (*hp_kernel_fn_t)(const void *left, const void *right, void *result, size_t count);

typedef struct {
    const char *name;
    hp_kernel_fn_t kernels[HP_NUMBER_COUNT]
                          [HP_OP_COUNT]; /* NULL: MPI does not define the operation for this type */
} hp_kernel_set_t;

/* The i-th set that this program was built with, the best first; NULL past the last. */
const hp_kernel_set_t *hp_kernel_set(unsigned i);
/* Does this machine run it? */
bool hp_kernel_set_runs(const hp_kernel_set_t *set);
/* The best set that this machine runs. */
const hp_kernel_set_t *hp_kernels(void);
/* What the word of HANPMPI_KERNELS asks for: NULL for native; the best set for auto, and for a set that this
 * machine does not run. */
const hp_kernel_set_t *hp_kernels_of_word(unsigned word);

/* Bytes from one element to the next. */
size_t hp_number_bytes(hp_number_t number);
const char *hp_number_name(hp_number_t number);
const char *hp_op_name(hp_op_t op);

#endif
