/* values: what the benchmark sends and reduces, and what must come out.
 *
 * Every rank's contribution repeats with a period of a prime number of elements, so that the expected result
 * of a reduction is computed once, for one period and all ranks, whatever the message's size; no segment of a
 * power of two can take another's place unnoticed. Each call starts at another place of the period (the
 * shift), so that a result left over from an earlier call is found. Values are small enough that no order of
 * evaluation rounds or overflows: results are compared bit for bit. Receive buffers and the holes of
 * datatypes hold BENCH_POISON before a call.
 *
 * Threads: one. Ownership: bench_values_fini frees the tables; datatypes and operations live until
 * bench_types_fini. */
#ifndef HP_BENCH_VALUES_H
#define HP_BENCH_VALUES_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_PERIOD = 1021, BENCH_POISON = 0xe5 };

typedef struct {
    const char *name;    /* "MPI_DOUBLE" */
    const char *meaning; /* for --help */
    MPI_Datatype type;
    size_t bytes;  /* of data */
    size_t extent; /* in memory */
} bench_type_t;

typedef struct {
    const char *name, *meaning;
    MPI_Op op;
} bench_op_t;

/* After MPI_Init. */
void bench_types_init(void);
void bench_types_fini(void);

/* By name, in either case, with or without "MPI_". NULL: no such. */
const bench_type_t *bench_type_find(const char *name);
const bench_op_t *bench_op_find(const char *name);
bool bench_op_applies(const bench_op_t *op, const bench_type_t *type);
/* The first operation of the table that is defined on type. */
const bench_op_t *bench_op_default(const bench_type_t *type);

/* Lists of all names, and of the operations that are defined on a type, for messages. Static text. */
const char *bench_type_names(void);
const char *bench_op_names(const bench_type_t *type);

typedef struct {
    const bench_type_t *type;
    char *mine;     /* two periods of this rank's contribution */
    char *payload;  /* two periods of what a root broadcasts; each root starts at another place */
    char *expected; /* two periods of the reduction; NULL without op or ranks */
} bench_values_t;

/* op NULL: nothing is reduced. size: ranks whose contributions are in the result, 0 for none. */
void bench_values_init(bench_values_t *values, const bench_type_t *type, const bench_op_t *op, int rank,
                       int size);
void bench_values_fini(bench_values_t *values);

/* Where in the period a call starts: the same on all ranks. */
static inline size_t bench_shift(uint64_t call, int root)
{
    return (size_t)((call * 37 + (uint64_t)root * 101) % BENCH_PERIOD);
}

/* to[i] = table[shift + i] */
void bench_values_write(const bench_type_t *type, void *to, const char *table, size_t count, size_t shift);
/* The first element that differs from table[shift + i], holes included; count when none does. */
size_t bench_values_differ(const bench_type_t *type, const void *got, const char *table, size_t count,
                           size_t shift);
/* The first byte that is not BENCH_POISON; bytes when all are. */
size_t bench_poison_differs(const void *got, size_t bytes);

#endif
