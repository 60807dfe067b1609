#include "collectives.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "hanpmpi/hanpmpi.h"

/* MPI 4 has functions for counts beyond an int. They are called for such counts only: the others are what
 * programs call. */
size_t bench_count_max(void)
{
#if MPI_VERSION >= 4
    return (size_t)1 << 62;
#else
    return INT_MAX;
#endif
}

/* ---- bcast ---- */

static int run_bcast(const bench_call_t *c)
{
#if MPI_VERSION >= 4
    if (c->count > INT_MAX)
        return MPI_Bcast_c(c->recv, (MPI_Count)c->count, c->values->type->type, c->root, c->comm);
#endif
    return MPI_Bcast(c->recv, (int)c->count, c->values->type->type, c->root, c->comm);
}

static int start_bcast(const bench_call_t *c, MPI_Request *request)
{
#if MPI_VERSION >= 4
    if (c->count > INT_MAX)
        return MPI_Ibcast_c(c->recv, (MPI_Count)c->count, c->values->type->type, c->root, c->comm, request);
#endif
    return MPI_Ibcast(c->recv, (int)c->count, c->values->type->type, c->root, c->comm, request);
}

static void poison(const bench_call_t *c)
{
    memset(c->recv, BENCH_POISON, c->count * c->values->type->extent);
}

static void fill_bcast(const bench_call_t *c)
{
    if (c->rank == c->root)
        bench_values_write(c->values->type, c->recv, c->values->payload, c->count, c->shift);
    else
        poison(c);
}

static const char *differs(const bench_call_t *c, const char *table, size_t *element)
{
    *element = bench_values_differ(c->values->type, c->recv, table, c->count, c->shift);
    return *element < c->count ? "is not what it must be" : NULL;
}

static const char *validate_bcast(const bench_call_t *c, size_t *element)
{
    return differs(c, c->values->payload, element);
}

static double message(double bytes, int nodes)
{
    return nodes > 1 ? bytes : 0;
}

static double copies_to_the_others(double bytes, int ranks)
{
    return 2.0 * (ranks - 1) * bytes;
}

static double one(int ranks)
{
    (void)ranks;
    return 1;
}

/* ---- reductions ---- */

static void fill_reduction(const bench_call_t *c)
{
    bench_values_write(c->values->type, c->send, c->values->mine, c->count, c->shift);
    poison(c);
}

static const char *validate_send(const bench_call_t *c, size_t *element)
{
    *element = bench_values_differ(c->values->type, c->send, c->values->mine, c->count, c->shift);
    return *element < c->count ? "of the send buffer was changed" : NULL;
}

static int run_reduce(const bench_call_t *c)
{
#if MPI_VERSION >= 4
    if (c->count > INT_MAX)
        return MPI_Reduce_c(c->send, c->recv, (MPI_Count)c->count, c->values->type->type, c->op->op, c->root,
                            c->comm);
#endif
    return MPI_Reduce(c->send, c->recv, (int)c->count, c->values->type->type, c->op->op, c->root, c->comm);
}

static int start_reduce(const bench_call_t *c, MPI_Request *request)
{
#if MPI_VERSION >= 4
    if (c->count > INT_MAX)
        return MPI_Ireduce_c(c->send, c->recv, (MPI_Count)c->count, c->values->type->type, c->op->op, c->root,
                             c->comm, request);
#endif
    return MPI_Ireduce(c->send, c->recv, (int)c->count, c->values->type->type, c->op->op, c->root, c->comm,
                       request);
}

static const char *validate_reduce(const bench_call_t *c, size_t *element)
{
    if (c->rank == c->root) {
        const char *wrong = differs(c, c->values->expected, element);
        return wrong ? wrong : validate_send(c, element);
    }
    const size_t extent = c->values->type->extent;
    *element = bench_poison_differs(c->recv, c->count * extent) / extent;
    return *element < c->count ? "was written on a rank that is not the root" : validate_send(c, element);
}

/* Every contribution is read, the result is written. */
static double contributions_and_result(double bytes, int ranks)
{
    return (ranks > 1 ? ranks + 1 : 0) * bytes;
}

static int run_allreduce(const bench_call_t *c)
{
#if MPI_VERSION >= 4
    if (c->count > INT_MAX)
        return MPI_Allreduce_c(c->send, c->recv, (MPI_Count)c->count, c->values->type->type, c->op->op,
                               c->comm);
#endif
    return MPI_Allreduce(c->send, c->recv, (int)c->count, c->values->type->type, c->op->op, c->comm);
}

static int start_allreduce(const bench_call_t *c, MPI_Request *request)
{
#if MPI_VERSION >= 4
    if (c->count > INT_MAX)
        return MPI_Iallreduce_c(c->send, c->recv, (MPI_Count)c->count, c->values->type->type, c->op->op,
                                c->comm, request);
#endif
    return MPI_Iallreduce(c->send, c->recv, (int)c->count, c->values->type->type, c->op->op, c->comm,
                          request);
}

static const char *validate_allreduce(const bench_call_t *c, size_t *element)
{
    const char *wrong = differs(c, c->values->expected, element);
    return wrong ? wrong : validate_send(c, element);
}

/* Every node receives and sends all but its own share, twice. */
static double shares_twice(double bytes, int nodes)
{
    return 2.0 * (nodes - 1) / nodes * bytes;
}

static double contributions_and_results(double bytes, int ranks)
{
    return (ranks > 1 ? 2.0 * ranks : 0) * bytes;
}

static double ring_twice(int ranks)
{
    return ranks > 1 ? 2.0 * (ranks - 1) / ranks : 1;
}

/* ---- barrier ---- */

static int run_barrier(const bench_call_t *c)
{
    return MPI_Barrier(c->comm);
}

static int start_barrier(const bench_call_t *c, MPI_Request *request)
{
    return MPI_Ibarrier(c->comm, request);
}

static void fill_nothing(const bench_call_t *c)
{
    (void)c;
}

static const char *validate_nothing(const bench_call_t *c, size_t *element)
{
    (void)c;
    (void)element;
    return NULL;
}

static double no_bytes(double bytes, int count)
{
    (void)bytes;
    (void)count;
    return 0;
}

/* ---- the persistent ones ---- */

bool bench_has_persistent(void)
{
    return MPI_VERSION >= 4;
}

#if MPI_VERSION >= 4
static int make_bcast(const bench_call_t *c, MPI_Request *request)
{
    return MPI_Bcast_init_c(c->recv, (MPI_Count)c->count, c->values->type->type, c->root, c->comm,
                            MPI_INFO_NULL, request);
}

static int make_reduce(const bench_call_t *c, MPI_Request *request)
{
    return MPI_Reduce_init_c(c->send, c->recv, (MPI_Count)c->count, c->values->type->type, c->op->op, c->root,
                             c->comm, MPI_INFO_NULL, request);
}

static int make_allreduce(const bench_call_t *c, MPI_Request *request)
{
    return MPI_Allreduce_init_c(c->send, c->recv, (MPI_Count)c->count, c->values->type->type, c->op->op,
                                c->comm, MPI_INFO_NULL, request);
}

static int make_barrier(const bench_call_t *c, MPI_Request *request)
{
    return MPI_Barrier_init(c->comm, MPI_INFO_NULL, request);
}
#define MAKE(name) make_##name
#else
#define MAKE(name) NULL
#endif

static const bench_collective_t collectives[] = {
    {"bcast", HANPMPI_HINT_BCAST, "han", true, false, false, run_bcast, start_bcast, MAKE(bcast), fill_bcast,
     validate_bcast, message, copies_to_the_others, one},
    {"reduce", HANPMPI_HINT_REDUCE, "han", true, true, false, run_reduce, start_reduce, MAKE(reduce),
     fill_reduction, validate_reduce, message, contributions_and_result, one},
    {"allreduce", HANPMPI_HINT_ALLREDUCE, "han", false, true, false, run_allreduce, start_allreduce,
     MAKE(allreduce), fill_reduction, validate_allreduce, shares_twice, contributions_and_results,
     ring_twice},
    {"barrier", HANPMPI_HINT_BARRIER, "han", false, false, true, run_barrier, start_barrier, MAKE(barrier),
     fill_nothing, validate_nothing, no_bytes, no_bytes, one},
};

enum { COLLECTIVE_COUNT = sizeof collectives / sizeof *collectives };

const bench_collective_t *bench_collective(int index)
{
    return index < COLLECTIVE_COUNT ? &collectives[index] : NULL;
}

const bench_collective_t *bench_collective_find(const char *name)
{
    for (int i = 0; i < COLLECTIVE_COUNT; i++)
        if (strcmp(collectives[i].name, name) == 0)
            return &collectives[i];
    return NULL;
}

const char *bench_collective_names(void)
{
    static char list[512];
    list[0] = '\0';
    for (int i = 0; i < COLLECTIVE_COUNT; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", collectives[i].name);
    return list;
}
