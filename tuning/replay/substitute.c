#include "substitute.h"

#include <string.h>

/* Other names of what the benchmark has, by class; the size is looked at. */
static const struct {
    const char *name, *as[2];
} equals[] = {
    {"MPI_CHAR", {"MPI_BYTE"}},
    {"MPI_SIGNED_CHAR", {"MPI_BYTE"}},
    {"MPI_UNSIGNED_CHAR", {"MPI_BYTE"}},
    {"MPI_CHARACTER", {"MPI_BYTE"}},
    {"MPI_PACKED", {"MPI_BYTE"}},
    {"MPI_INT8_T", {"MPI_BYTE"}},
    {"MPI_UINT8_T", {"MPI_BYTE"}},
    {"MPI_INTEGER", {"MPI_INT", "MPI_LONG"}},
    {"MPI_LOGICAL", {"MPI_INT", "MPI_LONG"}},
    {"MPI_INTEGER4", {"MPI_INT"}},
    {"MPI_INT32_T", {"MPI_INT"}},
    {"MPI_UINT32_T", {"MPI_UNSIGNED"}},
    {"MPI_INTEGER8", {"MPI_LONG"}},
    {"MPI_INT64_T", {"MPI_LONG"}},
    {"MPI_LONG_LONG", {"MPI_LONG"}},
    {"MPI_LONG_LONG_INT", {"MPI_LONG"}},
    {"MPI_AINT", {"MPI_LONG"}},
    {"MPI_OFFSET", {"MPI_LONG"}},
    {"MPI_COUNT", {"MPI_LONG"}},
    {"MPI_UNSIGNED_LONG", {"MPI_UINT64_T"}},
    {"MPI_UNSIGNED_LONG_LONG", {"MPI_UINT64_T"}},
    {"MPI_REAL", {"MPI_FLOAT", "MPI_DOUBLE"}},
    {"MPI_REAL4", {"MPI_FLOAT"}},
    {"MPI_REAL8", {"MPI_DOUBLE"}},
    {"MPI_DOUBLE_PRECISION", {"MPI_DOUBLE"}},
    {"MPI_COMPLEX", {"MPI_C_FLOAT_COMPLEX", "MPI_C_DOUBLE_COMPLEX"}},
    {"MPI_C_COMPLEX", {"MPI_C_FLOAT_COMPLEX"}},
    {"MPI_CXX_FLOAT_COMPLEX", {"MPI_C_FLOAT_COMPLEX"}},
    {"MPI_DOUBLE_COMPLEX", {"MPI_C_DOUBLE_COMPLEX"}},
    {"MPI_CXX_DOUBLE_COMPLEX", {"MPI_C_DOUBLE_COMPLEX"}},
    {"MPI_2INTEGER", {"MPI_2INT"}},
};

/* Of the longest first. */
static const char *const by_size[] = {"MPI_DOUBLE", "MPI_INT", "MPI_BYTE"};

static const bench_type_t *of_size(const char *name, size_t bytes)
{
    const bench_type_t *type = name ? bench_type_find(name) : NULL;
    return type && type->bytes == bytes && type->extent == bytes ? type : NULL;
}

static const bench_type_t *find_type(const char *name, size_t bytes)
{
    const bench_type_t *type = strncmp(name, "MPI_", 4) == 0 ? of_size(name, bytes) : NULL;

    for (size_t i = 0; i < sizeof equals / sizeof *equals && !type; i++)
        for (int j = 0; j < 2 && strcmp(equals[i].name, name) == 0 && !type; j++)
            type = of_size(equals[i].as[j], bytes);
    return type;
}

replay_substitute_t replay_substitute(const char *type, size_t type_bytes, const char *op)
{
    replay_substitute_t found = {.type = find_type(type, type_bytes), .factor = 1};

    if (!found.type) {
        int i = 0;
        while (type_bytes % bench_type_find(by_size[i])->bytes != 0)
            i++;
        found.type = bench_type_find(by_size[i]);
        found.factor = type_bytes / found.type->bytes;
        found.is_like_type = type_bytes > 0; /* a barrier has none */
    }
    if (!*op)
        return found;
    found.op = bench_op_find(op);
    if (!found.op || strncmp(op, "MPI_", 4) != 0 || !bench_op_applies(found.op, found.type)) {
        found.op = bench_op_default(found.type);
        found.is_like_op = true;
    }
    return found;
}
