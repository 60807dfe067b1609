#include "values.h"

#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "job.h"

/* Which operations are defined on a type. */
typedef enum {
    CLASS_INTEGER = 1,
    CLASS_FLOAT = 2,
    CLASS_COMPLEX = 4,
    CLASS_BYTE = 8,
    CLASS_PAIR = 16,
    CLASS_MATRIX = 32,
} class_t;

typedef enum {
    KIND_MATRIX,
    KIND_SUM,
    KIND_PROD,
    KIND_EXTREME,
    KIND_LOGICAL,
    KIND_BITS,
    KIND_LOCATION
} kind_t;

/* 2x2 matrices over the integers mod 2^32: a product that is exact, associative and not commutative.
 * In the derived type a row of two cells is followed by a hole of one. */
enum { CELL_BYTES = sizeof(uint32_t), ROW_CELLS = 3 };

static struct {
    bench_type_t type;
    class_t class;
} types[] = {
    {{"MPI_BYTE", "1 byte", MPI_DATATYPE_NULL, 0, 0}, CLASS_BYTE},
    {{"MPI_INT", "C int", MPI_DATATYPE_NULL, 0, 0}, CLASS_INTEGER},
    {{"MPI_UNSIGNED", "C unsigned", MPI_DATATYPE_NULL, 0, 0}, CLASS_INTEGER},
    {{"MPI_LONG", "C long", MPI_DATATYPE_NULL, 0, 0}, CLASS_INTEGER},
    {{"MPI_UINT64_T", "64 bits, unsigned", MPI_DATATYPE_NULL, 0, 0}, CLASS_INTEGER},
    {{"MPI_FLOAT", "4 bytes", MPI_DATATYPE_NULL, 0, 0}, CLASS_FLOAT},
    {{"MPI_DOUBLE", "8 bytes", MPI_DATATYPE_NULL, 0, 0}, CLASS_FLOAT},
    {{"MPI_C_FLOAT_COMPLEX", "two floats", MPI_DATATYPE_NULL, 0, 0}, CLASS_COMPLEX},
    {{"MPI_C_DOUBLE_COMPLEX", "two doubles", MPI_DATATYPE_NULL, 0, 0}, CLASS_COMPLEX},
    {{"MPI_2INT", "value and index", MPI_DATATYPE_NULL, 0, 0}, CLASS_PAIR},
    {{"vector", "MPI_Type_vector(2, 2, 3, MPI_UINT32_T): 16 bytes of data with a hole", MPI_DATATYPE_NULL, 0,
      0},
     CLASS_MATRIX},
};

static struct {
    bench_op_t op;
    unsigned classes;
    kind_t kind;
} operations[] = {
    {{"MPI_SUM", "", MPI_OP_NULL}, CLASS_INTEGER | CLASS_FLOAT | CLASS_COMPLEX, KIND_SUM},
    {{"MPI_PROD", "", MPI_OP_NULL}, CLASS_INTEGER | CLASS_FLOAT | CLASS_COMPLEX, KIND_PROD},
    {{"MPI_MAX", "", MPI_OP_NULL}, CLASS_INTEGER | CLASS_FLOAT, KIND_EXTREME},
    {{"MPI_MIN", "", MPI_OP_NULL}, CLASS_INTEGER | CLASS_FLOAT, KIND_EXTREME},
    {{"MPI_BXOR", "", MPI_OP_NULL}, CLASS_INTEGER | CLASS_BYTE, KIND_BITS},
    {{"MPI_BAND", "", MPI_OP_NULL}, CLASS_INTEGER | CLASS_BYTE, KIND_BITS},
    {{"MPI_BOR", "", MPI_OP_NULL}, CLASS_INTEGER | CLASS_BYTE, KIND_BITS},
    {{"MPI_LAND", "", MPI_OP_NULL}, CLASS_INTEGER, KIND_LOGICAL},
    {{"MPI_LOR", "", MPI_OP_NULL}, CLASS_INTEGER, KIND_LOGICAL},
    {{"MPI_LXOR", "", MPI_OP_NULL}, CLASS_INTEGER, KIND_LOGICAL},
    {{"MPI_MAXLOC", "", MPI_OP_NULL}, CLASS_PAIR, KIND_LOCATION},
    {{"MPI_MINLOC", "", MPI_OP_NULL}, CLASS_PAIR, KIND_LOCATION},
    {{"product", "user-defined, not commutative: product of 2x2 matrices", MPI_OP_NULL},
     CLASS_MATRIX,
     KIND_MATRIX},
};

enum { TYPE_COUNT = sizeof types / sizeof *types, OPERATION_COUNT = sizeof operations / sizeof *operations };

/* into = left x into, the order that MPI_Op_create defines. */
static void multiply(const uint32_t *left, uint32_t *into)
{
    for (int column = 0; column < 2; column++) {
        const uint32_t upper = into[column], lower = into[ROW_CELLS + column];
        into[column] = left[0] * upper + left[1] * lower;
        into[ROW_CELLS + column] = left[ROW_CELLS] * upper + left[ROW_CELLS + 1] * lower;
    }
}

static void product(void *left, void *into, int *count, MPI_Datatype *type)
{
    MPI_Aint lower_bound, extent;

    MPI_Type_get_extent(*type, &lower_bound, &extent);
    for (int i = 0; i < *count; i++)
        multiply((const uint32_t *)((const char *)left + i * extent),
                 (uint32_t *)((char *)into + i * extent));
}

/* MPI's handles are not constants in every mpi.h, so the tables get them here. */
void bench_types_init(void)
{
    const MPI_Datatype handles[] = {MPI_BYTE,
                                    MPI_INT,
                                    MPI_UNSIGNED,
                                    MPI_LONG,
                                    MPI_UINT64_T,
                                    MPI_FLOAT,
                                    MPI_DOUBLE,
                                    MPI_C_FLOAT_COMPLEX,
                                    MPI_C_DOUBLE_COMPLEX,
                                    MPI_2INT};
    const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN,  MPI_BXOR,   MPI_BAND,
                          MPI_BOR, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_MAXLOC, MPI_MINLOC};
    MPI_Datatype vector;
    MPI_Op user;

    _Static_assert(sizeof handles / sizeof *handles == TYPE_COUNT - 1, "the last type is the derived one");
    _Static_assert(sizeof ops / sizeof *ops == OPERATION_COUNT - 1, "the last operation is the user's");
    BENCH_MPI(MPI_Type_vector(2, 2, ROW_CELLS, MPI_UINT32_T, &vector));
    BENCH_MPI(MPI_Type_commit(&vector));
    BENCH_MPI(MPI_Op_create(product, 0, &user));
    for (int i = 0; i < TYPE_COUNT; i++) {
        bench_type_t *type = &types[i].type;
        MPI_Aint lower_bound, extent;
        int bytes;
        type->type = i < TYPE_COUNT - 1 ? handles[i] : vector;
        BENCH_MPI(MPI_Type_size(type->type, &bytes));
        BENCH_MPI(MPI_Type_get_extent(type->type, &lower_bound, &extent));
        type->bytes = (size_t)bytes;
        type->extent = (size_t)extent;
    }
    for (int i = 0; i < OPERATION_COUNT; i++)
        operations[i].op.op = i < OPERATION_COUNT - 1 ? ops[i] : user;
}

void bench_types_fini(void)
{
    BENCH_MPI(MPI_Type_free(&types[TYPE_COUNT - 1].type.type));
    BENCH_MPI(MPI_Op_free(&operations[OPERATION_COUNT - 1].op.op));
}

static bool same_name(const char *name, const char *asked)
{
    return strcasecmp(name, asked) == 0 ||
           (strncmp(name, "MPI_", 4) == 0 && strcasecmp(name + 4, asked) == 0);
}

const bench_type_t *bench_type_find(const char *name)
{
    /* Fortran users and other benchmarks call them so. */
    if (strcasecmp(name, "complex") == 0)
        name = "MPI_C_FLOAT_COMPLEX";
    if (strcasecmp(name, "double_complex") == 0)
        name = "MPI_C_DOUBLE_COMPLEX";
    for (int i = 0; i < TYPE_COUNT; i++)
        if (same_name(types[i].type.name, name))
            return &types[i].type;
    return NULL;
}

const bench_op_t *bench_op_find(const char *name)
{
    for (int i = 0; i < OPERATION_COUNT; i++)
        if (same_name(operations[i].op.name, name))
            return &operations[i].op;
    return NULL;
}

static int type_index(const bench_type_t *type)
{
    int i = 0;
    while (&types[i].type != type)
        i++;
    return i;
}

bool bench_op_applies(const bench_op_t *op, const bench_type_t *type)
{
    int i = 0;
    while (&operations[i].op != op)
        i++;
    return operations[i].classes & types[type_index(type)].class;
}

const bench_op_t *bench_op_default(const bench_type_t *type)
{
    for (int i = 0; i < OPERATION_COUNT; i++)
        if (bench_op_applies(&operations[i].op, type))
            return &operations[i].op;
    return NULL;
}

const char *bench_type_names(void)
{
    static char list[1024];
    list[0] = '\0';
    for (int i = 0; i < TYPE_COUNT; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", types[i].type.name);
    return list;
}

const char *bench_op_names(const bench_type_t *type)
{
    static char list[1024];
    list[0] = '\0';
    for (int i = 0; i < OPERATION_COUNT; i++)
        if (!type || bench_op_applies(&operations[i].op, type))
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? ", " : "",
                     operations[i].op.name);
    return list;
}

static uint32_t mix(uint64_t element, uint64_t rank)
{
    uint64_t x = element * 0x9e3779b97f4a7c15u + rank * 0xbf58476d1ce4e5b9u + 1;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)(x >> 33);
}

/* An operand whose result no order of evaluation rounds or overflows, on any number of ranks that there is.
 */
static uint32_t operand(kind_t kind, uint32_t random, int rank)
{
    switch (kind) {
    case KIND_SUM:
        return random % 10;
    case KIND_PROD: /* at most 2^16, from the ranks that come first */
        return rank < 16 && random & 1 ? 2 : 1;
    case KIND_EXTREME:
    case KIND_LOCATION:
        return random % 1000;
    case KIND_LOGICAL:
        return random & 1;
    case KIND_BITS:
    case KIND_MATRIX:
        break;
    }
    return random & 0xff;
}

static void write_element(class_t class, const bench_type_t *type, kind_t kind, uint32_t random, int rank,
                          char *to)
{
    const uint32_t value = operand(kind, random, rank);

    switch (class) {
    case CLASS_BYTE:
        *(unsigned char *)to = (unsigned char)value;
        break;
    case CLASS_INTEGER:
        if (type->bytes == sizeof(uint32_t))
            memcpy(to, &value, sizeof value);
        else
            memcpy(to, &(uint64_t){value}, sizeof(uint64_t));
        break;
    case CLASS_FLOAT:
        if (type->bytes == sizeof(float))
            memcpy(to, &(float){(float)value}, sizeof(float));
        else
            memcpy(to, &(double){value}, sizeof(double));
        break;
    case CLASS_COMPLEX: /* the imaginary part of a factor stays 0: powers of two only */
        if (type->bytes == sizeof(float complex))
            memcpy(to, (float[2]){(float)value, kind == KIND_PROD ? 0 : (float)(value + 1)}, type->bytes);
        else
            memcpy(to, (double[2]){value, kind == KIND_PROD ? 0 : value + 1}, type->bytes);
        break;
    case CLASS_PAIR:
        memcpy(to, (int[2]){(int)value, rank}, type->bytes);
        break;
    case CLASS_MATRIX:
        memcpy(to, (uint32_t[2]){random, random >> 3}, 2 * CELL_BYTES);
        memcpy(to + ROW_CELLS * CELL_BYTES, (uint32_t[2]){random >> 5, random + 1}, 2 * CELL_BYTES);
        break;
    }
}

/* One period at the beginning of table, with poison in the holes. */
static void write_period(const bench_type_t *type, kind_t kind, int rank, char *table)
{
    memset(table, BENCH_POISON, BENCH_PERIOD * type->extent);
    for (size_t i = 0; i < BENCH_PERIOD; i++)
        write_element(types[type_index(type)].class, type, kind, mix(i, (uint64_t)rank), rank,
                      table + i * type->extent);
}

static void double_period(const bench_type_t *type, char *table)
{
    memcpy(table + BENCH_PERIOD * type->extent, table, BENCH_PERIOD * type->extent);
}

void bench_values_init(bench_values_t *values, const bench_type_t *type, const bench_op_t *op, int rank,
                       int size)
{
    const size_t bytes = BENCH_PERIOD * type->extent;
    kind_t kind = KIND_BITS;

    for (int i = 0; i < OPERATION_COUNT; i++)
        if (&operations[i].op == op)
            kind = operations[i].kind;
    *values = (bench_values_t){
        .type = type, .mine = bench_allocate(2 * bytes), .payload = bench_allocate(2 * bytes)};
    write_period(type, kind, rank, values->mine);
    write_period(type, kind, 0, values->payload);
    double_period(type, values->mine);
    double_period(type, values->payload);
    if (!op || size == 0)
        return;
    char *left = bench_allocate(bytes);
    values->expected = bench_allocate(2 * bytes);
    write_period(type, kind, size - 1, values->expected);
    for (int r = size - 2; r >= 0; r--) { /* into = left op into: from the last rank to the first */
        write_period(type, kind, r, left);
        BENCH_MPI(MPI_Reduce_local(left, values->expected, BENCH_PERIOD, type->type, op->op));
    }
    double_period(type, values->expected);
    free(left);
}

void bench_values_fini(bench_values_t *values)
{
    free(values->mine);
    free(values->payload);
    free(values->expected);
}

void bench_values_write(const bench_type_t *type, void *to, const char *table, size_t count, size_t shift)
{
    for (size_t done = 0; done < count; done += BENCH_PERIOD) {
        const size_t now = count - done < BENCH_PERIOD ? count - done : BENCH_PERIOD;
        memcpy((char *)to + done * type->extent, table + shift * type->extent, now * type->extent);
    }
}

size_t bench_values_differ(const bench_type_t *type, const void *got, const char *table, size_t count,
                           size_t shift)
{
    const char *from = table + shift * type->extent;
    for (size_t done = 0; done < count; done += BENCH_PERIOD) {
        const char *at = (const char *)got + done * type->extent;
        const size_t now = count - done < BENCH_PERIOD ? count - done : BENCH_PERIOD;
        if (memcmp(at, from, now * type->extent) == 0)
            continue;
        for (size_t i = 0; i < now; i++)
            if (memcmp(at + i * type->extent, from + i * type->extent, type->extent) != 0)
                return done + i;
    }
    return count;
}

size_t bench_poison_differs(const void *got, size_t bytes)
{
    const unsigned char *at = got;
    if (bytes && at[0] == BENCH_POISON && memcmp(at, at + 1, bytes - 1) == 0)
        return bytes;
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != BENCH_POISON)
            return i;
    return bytes;
}
