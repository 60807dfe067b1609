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

/* The MPI's function of that name, or the host MPI's, behind whatever is preloaded. */
#define CALL(name) (c->is_direct ? PMPI_##name : MPI_##name)

/* ---- bcast ---- */

static int run_bcast(const bench_call_t *c)
{
#if MPI_VERSION >= 4
    if (c->count > INT_MAX)
        return CALL(Bcast_c)(c->recv, (MPI_Count)c->count, c->values->type->type, c->root, c->comm);
#endif
    return CALL(Bcast)(c->recv, (int)c->count, c->values->type->type, c->root, c->comm);
}

static int start_bcast(const bench_call_t *c, MPI_Request *request)
{
#if MPI_VERSION >= 4
    if (c->count > INT_MAX)
        return CALL(Ibcast_c)(c->recv, (MPI_Count)c->count, c->values->type->type, c->root, c->comm, request);
#endif
    return CALL(Ibcast)(c->recv, (int)c->count, c->values->type->type, c->root, c->comm, request);
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
        return CALL(Reduce_c)(c->send, c->recv, (MPI_Count)c->count, c->values->type->type, c->op->op, c->root,
                            c->comm);
#endif
    return CALL(Reduce)(c->send, c->recv, (int)c->count, c->values->type->type, c->op->op, c->root, c->comm);
}

static int start_reduce(const bench_call_t *c, MPI_Request *request)
{
#if MPI_VERSION >= 4
    if (c->count > INT_MAX)
        return CALL(Ireduce_c)(c->send, c->recv, (MPI_Count)c->count, c->values->type->type, c->op->op, c->root,
                             c->comm, request);
#endif
    return CALL(Ireduce)(c->send, c->recv, (int)c->count, c->values->type->type, c->op->op, c->root, c->comm,
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
        return CALL(Allreduce_c)(c->send, c->recv, (MPI_Count)c->count, c->values->type->type, c->op->op,
                               c->comm);
#endif
    return CALL(Allreduce)(c->send, c->recv, (int)c->count, c->values->type->type, c->op->op, c->comm);
}

static int start_allreduce(const bench_call_t *c, MPI_Request *request)
{
#if MPI_VERSION >= 4
    if (c->count > INT_MAX)
        return CALL(Iallreduce_c)(c->send, c->recv, (MPI_Count)c->count, c->values->type->type, c->op->op,
                                c->comm, request);
#endif
    return CALL(Iallreduce)(c->send, c->recv, (int)c->count, c->values->type->type, c->op->op, c->comm,
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
    return CALL(Barrier)(c->comm);
}

static int start_barrier(const bench_call_t *c, MPI_Request *request)
{
    return CALL(Ibarrier)(c->comm, request);
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

/* ---- blocks ---- */

/* The payload's place where the block from rank s to rank d starts: neighbours in either direction are far apart. */
static size_t block_shift(const bench_call_t *c, int s, int d)
{
    const int to = c->blocks->sends == BENCH_BLOCK_EACH ? d : 0;
    return (c->shift + (size_t)s * 101 + (size_t)to * 211) % BENCH_PERIOD;
}

static bool is_reduced(const bench_call_t *c)
{
    return c->blocks->contributors != BENCH_NOT_REDUCED;
}

/* Blocks in a buffer: of how many ranks. The only one has the own rank. */
static int first_block(const bench_call_t *c, bench_extent_t extent)
{
    return extent == BENCH_ONE_BLOCK ? c->rank : 0;
}

static int end_of_blocks(const bench_call_t *c, bench_extent_t extent)
{
    return extent == BENCH_ONE_BLOCK ? c->rank + 1 : c->ranks;
}

static char *block_at(const bench_call_t *c, void *buffer, bench_extent_t extent, const int *places, int r)
{
    return (char *)buffer + (extent == BENCH_ONE_BLOCK ? 0 : (size_t)places[r] * c->values->type->extent);
}

static void fill_blocks(const bench_call_t *c)
{
    const bench_type_t *type = c->values->type;
    const bench_layout_t *layout = c->layout;
    const bench_extent_t sends = c->blocks->sends;

    memset(c->recv, BENCH_POISON, (size_t)layout->recv_total * type->extent);
    if (is_reduced(c))
        bench_values_write(type, c->send, c->values->mine, (size_t)layout->send_total, c->shift);
    for (int d = first_block(c, sends); d < end_of_blocks(c, sends) && !is_reduced(c); d++)
        bench_values_write(type, block_at(c, c->send, sends, layout->send_places, d), c->values->payload,
                           (size_t)layout->send_counts[d], block_shift(c, c->rank, d));
}

static const char *validate_block(const bench_call_t *c, const char *block, const char *table, int count,
                                  size_t shift, size_t *element)
{
    *element = bench_values_differ(c->values->type, block, table, (size_t)count, shift);
    return *element < (size_t)count ? "is not what it must be" : NULL;
}

/* The received blocks: *element counts from the beginning of the buffer. */
static const char *validate_received(const bench_call_t *c, size_t *element)
{
    const bench_extent_t receives = c->blocks->receives;
    const bench_layout_t *layout = c->layout;
    const char *wrong = NULL;

    for (int r = first_block(c, receives); r < end_of_blocks(c, receives) && !wrong; r++) {
        const int s = c->blocks->root_sends ? c->root : r;
        const char *block = block_at(c, c->recv, receives, layout->recv_places, r);
        wrong = validate_block(c, block, c->values->payload, layout->recv_counts[r],
                               block_shift(c, s, c->rank), element);
        *element += receives == BENCH_ONE_BLOCK ? 0 : (size_t)layout->recv_places[r];
    }
    return wrong;
}

static const char *validate_reduced(const bench_call_t *c, size_t *element)
{
    const bool part = c->blocks->sends == BENCH_BLOCK_EACH;
    const size_t skipped = part ? (size_t)c->layout->send_places[c->rank] : 0;
    return validate_block(c, c->recv, c->values->expected, c->layout->recv_total,
                          (c->shift + skipped) % BENCH_PERIOD, element);
}

static const char *validate_sent(const bench_call_t *c, size_t *element)
{
    const bench_extent_t sends = c->blocks->sends;
    const bench_layout_t *layout = c->layout;
    const char *wrong = NULL;

    if (is_reduced(c))
        wrong = validate_block(c, c->send, c->values->mine, layout->send_total, c->shift, element);
    for (int d = first_block(c, sends); d < end_of_blocks(c, sends) && !is_reduced(c) && !wrong; d++)
        wrong = validate_block(c, block_at(c, c->send, sends, layout->send_places, d), c->values->payload,
                               layout->send_counts[d], block_shift(c, c->rank, d), element);
    return wrong ? "of the send buffer was changed" : NULL;
}

static const char *validate_blocks(const bench_call_t *c, size_t *element)
{
    const bool receives = (!c->blocks->root_receives || c->rank == c->root) &&
                          bench_contributors(c->blocks, c->rank, c->ranks) > 0;
    const size_t extent = c->values->type->extent, total = (size_t)c->layout->recv_total;
    const char *wrong;

    if (!receives) {
        *element = bench_poison_differs(c->recv, total * extent) / extent;
        wrong = *element < total ? "was written on a rank that receives nothing" : NULL;
    } else
        wrong = is_reduced(c) ? validate_reduced(c, element) : validate_received(c, element);
    return wrong ? wrong : validate_sent(c, element);
}

/* bytes are a block's; NCCL-tests counts those of the others. */
static double others(int ranks)
{
    return ranks > 1 ? ranks - 1 : 1;
}

/* The arguments of MPI's functions, from a bench_call_t. */
#define TYPE       c->values->type->type
#define ONE(which) c->which, (int)c->count, TYPE
#define MINE       c->send, c->layout->send_counts[c->rank], TYPE
#define OWN        c->recv, c->layout->recv_counts[c->rank], TYPE
#define SENT       c->send, c->layout->send_counts, c->layout->send_places, TYPE
#define RECEIVED   c->recv, c->layout->recv_counts, c->layout->recv_places, TYPE
#define SENT_W     c->send, c->layout->send_counts, c->layout->send_bytes_places, c->layout->types
#define RECEIVED_W c->recv, c->layout->recv_counts, c->layout->recv_bytes_places, c->layout->types

#if MPI_VERSION >= 4
#define PERSISTENT(name, Name, ...)                                                                          \
    static int make_##name(const bench_call_t *c, MPI_Request *request)                                      \
    {                                                                                                        \
        return MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, request);                                       \
    }
#else
#define PERSISTENT(name, Name, ...)
#endif

/* All ways to call one: of MPI_Allgather run_allgather, start_allgather, make_allgather. */
#define CALLS(name, Name, ...)                                                                               \
    static int run_##name(const bench_call_t *c)                                                             \
    {                                                                                                        \
        return CALL(Name)(__VA_ARGS__);                                                                      \
    }                                                                                                        \
    static int start_##name(const bench_call_t *c, MPI_Request *request)                                     \
    {                                                                                                        \
        return CALL(I##name)(__VA_ARGS__, request);                                                            \
    }                                                                                                        \
    PERSISTENT(name, Name, __VA_ARGS__)

CALLS(allgather, Allgather, ONE(send), ONE(recv), c->comm)
CALLS(allgatherv, Allgatherv, MINE, RECEIVED, c->comm)
CALLS(alltoall, Alltoall, ONE(send), ONE(recv), c->comm)
CALLS(alltoallv, Alltoallv, SENT, RECEIVED, c->comm)
CALLS(alltoallw, Alltoallw, SENT_W, RECEIVED_W, c->comm)
CALLS(reduce_scatter, Reduce_scatter, c->send, c->recv, c->layout->send_counts, TYPE, c->op->op, c->comm)
CALLS(reduce_scatter_block, Reduce_scatter_block, c->send, ONE(recv), c->op->op, c->comm)
CALLS(gather, Gather, ONE(send), ONE(recv), c->root, c->comm)
CALLS(gatherv, Gatherv, MINE, RECEIVED, c->root, c->comm)
CALLS(scatter, Scatter, ONE(send), ONE(recv), c->root, c->comm)
CALLS(scatterv, Scatterv, SENT, OWN, c->root, c->comm)
CALLS(scan, Scan, c->send, ONE(recv), c->op->op, c->comm)
CALLS(exscan, Exscan, c->send, ONE(recv), c->op->op, c->comm)

/* name, has a root, is reduced, busbw's factor; then the roles: sent, received, the root alone sends, receives,
 * sizes may differ, who contributes */
#define BLOCKS(name, rooted, reduced, factor, ...)                                                           \
    {                                                                                                        \
#name, NULL, NULL, rooted, reduced, false, run_##name, start_##name, MAKE(name), fill_blocks,        \
            validate_blocks, NULL, NULL, factor, {__VA_ARGS__ }, true                                        \
    }

static const bench_collective_t collectives[] = {
    {"bcast",
     HANPMPI_HINT_BCAST,
     "han",
     true,
     false,
     false,
     run_bcast,
     start_bcast,
     MAKE(bcast),
     fill_bcast,
     validate_bcast,
     message,
     copies_to_the_others,
     one,
     {0},
     false},
    {"reduce",
     HANPMPI_HINT_REDUCE,
     "han",
     true,
     true,
     false,
     run_reduce,
     start_reduce,
     MAKE(reduce),
     fill_reduction,
     validate_reduce,
     message,
     contributions_and_result,
     one,
     {0},
     false},
    {"allreduce",
     HANPMPI_HINT_ALLREDUCE,
     "han",
     false,
     true,
     false,
     run_allreduce,
     start_allreduce,
     MAKE(allreduce),
     fill_reduction,
     validate_allreduce,
     shares_twice,
     contributions_and_results,
     ring_twice,
     {0},
     false},
    {"barrier",
     HANPMPI_HINT_BARRIER,
     "han",
     false,
     false,
     true,
     run_barrier,
     start_barrier,
     MAKE(barrier),
     fill_nothing,
     validate_nothing,
     no_bytes,
     no_bytes,
     one,
     {0},
     false},
    BLOCKS(allgather, false, false, others, BENCH_ONE_BLOCK, BENCH_BLOCK_EACH, false, false, false,
           BENCH_NOT_REDUCED),
    BLOCKS(allgatherv, false, false, others, BENCH_ONE_BLOCK, BENCH_BLOCK_EACH, false, false, true,
           BENCH_NOT_REDUCED),
    BLOCKS(alltoall, false, false, others, BENCH_BLOCK_EACH, BENCH_BLOCK_EACH, false, false, false,
           BENCH_NOT_REDUCED),
    BLOCKS(alltoallv, false, false, others, BENCH_BLOCK_EACH, BENCH_BLOCK_EACH, false, false, true,
           BENCH_NOT_REDUCED),
    BLOCKS(alltoallw, false, false, others, BENCH_BLOCK_EACH, BENCH_BLOCK_EACH, false, false, true,
           BENCH_NOT_REDUCED),
    BLOCKS(reduce_scatter, false, true, others, BENCH_BLOCK_EACH, BENCH_ONE_BLOCK, false, false, true,
           BENCH_ALL_RANKS),
    BLOCKS(reduce_scatter_block, false, true, others, BENCH_BLOCK_EACH, BENCH_ONE_BLOCK, false, false, false,
           BENCH_ALL_RANKS),
    BLOCKS(gather, true, false, others, BENCH_ONE_BLOCK, BENCH_BLOCK_EACH, false, true, false,
           BENCH_NOT_REDUCED),
    BLOCKS(gatherv, true, false, others, BENCH_ONE_BLOCK, BENCH_BLOCK_EACH, false, true, true,
           BENCH_NOT_REDUCED),
    BLOCKS(scatter, true, false, others, BENCH_BLOCK_EACH, BENCH_ONE_BLOCK, true, false, false,
           BENCH_NOT_REDUCED),
    BLOCKS(scatterv, true, false, others, BENCH_BLOCK_EACH, BENCH_ONE_BLOCK, true, false, true,
           BENCH_NOT_REDUCED),
    BLOCKS(scan, false, true, one, BENCH_ONE_BLOCK, BENCH_ONE_BLOCK, false, false, false, BENCH_UP_TO_RANK),
    BLOCKS(exscan, false, true, one, BENCH_ONE_BLOCK, BENCH_ONE_BLOCK, false, false, false, BENCH_BELOW_RANK),
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
