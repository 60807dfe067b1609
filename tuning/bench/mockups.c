#include "mockups.h"

#include <stdlib.h>
#include <string.h>

typedef const bench_mockup_memory_t memory_t;

#define TYPE  c->values->type->type
#define OP    c->op->op
#define BLOCK (int)c->count

/* ---- helpers ---- */

static char *at(const bench_call_t *c, const void *buffer, size_t element)
{
    return (char *)buffer + element * c->values->type->extent;
}

static void copy(const bench_call_t *c, void *to, const void *from, size_t elements)
{
    memcpy(to, from, elements * c->values->type->extent);
}

static int all_blocks(const bench_call_t *c)
{
    return BLOCK * c->ranks;
}

/* A message in equal shares, the last ones of which may be padding. */
static int padded_share(const bench_call_t *c)
{
    return (int)((c->count + (size_t)c->ranks - 1) / (size_t)c->ranks);
}

static bool needs_padding(const bench_call_t *c)
{
    return c->count % (size_t)c->ranks != 0;
}

/* The message, with defined bytes behind it. */
static void *padded(const bench_call_t *c, const void *message, char *scratch)
{
    const size_t elements = (size_t)padded_share(c) * (size_t)c->ranks;

    if (!needs_padding(c))
        return (void *)message;
    copy(c, scratch, message, c->count);
    memset(at(c, scratch, c->count), BENCH_POISON, (elements - c->count) * c->values->type->extent);
    return scratch;
}

/* A message in shares that differ by one element at most. */
static void share(memory_t *m, const bench_call_t *c)
{
    const int least = (int)(c->count / (size_t)c->ranks), more = (int)(c->count % (size_t)c->ranks);

    for (int r = 0; r < c->ranks; r++) {
        m->counts[r] = least + (r < more);
        m->places[r] = r ? m->places[r - 1] + m->counts[r - 1] : 0;
    }
}

/* The own block among zeros, as bytes: what the bitwise or of all ranks makes the blocks of all ranks. */
static int block_among_zeros(const bench_call_t *c, void *all)
{
    const size_t bytes = (size_t)all_blocks(c) * c->values->type->extent;

    memset(all, 0, bytes);
    copy(c, at(c, all, c->count * (size_t)c->rank), c->send, c->count);
    return (int)bytes;
}

/* ---- bcast ---- */

static int bcast_by_scatter_allgather(memory_t *m, const bench_call_t *c)
{
    const int part = padded_share(c);
    const bool is_root = c->rank == c->root;
    char *work = !needs_padding(c) ? c->recv : is_root ? padded(c, c->recv, m->scratch[0]) : m->scratch[0];
    char *mine = at(c, work, (size_t)part * (size_t)c->rank);

    BENCH_MPI(PMPI_Scatter(work, part, TYPE, is_root ? MPI_IN_PLACE : mine, part, TYPE, c->root, c->comm));
    BENCH_MPI(PMPI_Allgather(MPI_IN_PLACE, part, TYPE, work, part, TYPE, c->comm));
    if (work != c->recv && !is_root)
        copy(c, c->recv, work, c->count);
    return MPI_SUCCESS;
}

static int bcast_by_allgatherv(memory_t *m, const bench_call_t *c)
{
    for (int r = 0; r < c->ranks; r++) {
        m->counts[r] = r == c->root ? BLOCK : 0;
        m->places[r] = 0;
    }
    return PMPI_Allgatherv(MPI_IN_PLACE, 0, TYPE, c->recv, m->counts, m->places, TYPE, c->comm);
}

/* ---- reduce, allreduce ---- */

static int reduce_by_allreduce(memory_t *m, const bench_call_t *c)
{
    void *result = c->rank == c->root ? c->recv : m->scratch[0];
    return PMPI_Allreduce(c->send, result, BLOCK, TYPE, OP, c->comm);
}

static int reduce_by_reduce_scatter_block_gather(memory_t *m, const bench_call_t *c)
{
    const int part = padded_share(c);
    void *whole = needs_padding(c) ? m->scratch[0] : c->recv;

    BENCH_MPI(
        PMPI_Reduce_scatter_block(padded(c, c->send, m->scratch[0]), m->scratch[1], part, TYPE, OP, c->comm));
    BENCH_MPI(PMPI_Gather(m->scratch[1], part, TYPE, whole, part, TYPE, c->root, c->comm));
    if (whole != c->recv && c->rank == c->root)
        copy(c, c->recv, whole, c->count);
    return MPI_SUCCESS;
}

static int reduce_by_reduce_scatter_gatherv(memory_t *m, const bench_call_t *c)
{
    share(m, c);
    BENCH_MPI(PMPI_Reduce_scatter(c->send, m->scratch[0], m->counts, TYPE, OP, c->comm));
    return PMPI_Gatherv(m->scratch[0], m->counts[c->rank], TYPE, c->recv, m->counts, m->places, TYPE, c->root,
                        c->comm);
}

static int allreduce_by_reduce_bcast(memory_t *m, const bench_call_t *c)
{
    (void)m;
    BENCH_MPI(PMPI_Reduce(c->send, c->recv, BLOCK, TYPE, OP, 0, c->comm));
    return PMPI_Bcast(c->recv, BLOCK, TYPE, 0, c->comm);
}

static int allreduce_by_reduce_scatter_block_allgather(memory_t *m, const bench_call_t *c)
{
    const int part = padded_share(c);
    char *whole = needs_padding(c) ? m->scratch[1] : c->recv;
    char *mine = at(c, whole, (size_t)part * (size_t)c->rank);

    BENCH_MPI(PMPI_Reduce_scatter_block(padded(c, c->send, m->scratch[0]), mine, part, TYPE, OP, c->comm));
    BENCH_MPI(PMPI_Allgather(MPI_IN_PLACE, part, TYPE, whole, part, TYPE, c->comm));
    if (whole != c->recv)
        copy(c, c->recv, whole, c->count);
    return MPI_SUCCESS;
}

static int allreduce_by_reduce_scatter_allgatherv(memory_t *m, const bench_call_t *c)
{
    share(m, c);
    BENCH_MPI(PMPI_Reduce_scatter(c->send, at(c, c->recv, (size_t)m->places[c->rank]), m->counts, TYPE, OP,
                                  c->comm));
    return PMPI_Allgatherv(MPI_IN_PLACE, 0, TYPE, c->recv, m->counts, m->places, TYPE, c->comm);
}

/* ---- barrier ---- */

static int barrier_by_allreduce(memory_t *m, const bench_call_t *c)
{
    return PMPI_Allreduce(m->scratch[0], m->scratch[1], 1, MPI_BYTE, MPI_BOR, c->comm);
}

/* ---- allgather, allgatherv ---- */

static int allgather_by_gather_bcast(memory_t *m, const bench_call_t *c)
{
    (void)m;
    BENCH_MPI(PMPI_Gather(c->send, BLOCK, TYPE, c->recv, BLOCK, TYPE, 0, c->comm));
    return PMPI_Bcast(c->recv, all_blocks(c), TYPE, 0, c->comm);
}

static int allgather_by_alltoall(memory_t *m, const bench_call_t *c)
{
    for (int r = 0; r < c->ranks; r++)
        copy(c, at(c, m->scratch[0], c->count * (size_t)r), c->send, c->count);
    return PMPI_Alltoall(m->scratch[0], BLOCK, TYPE, c->recv, BLOCK, TYPE, c->comm);
}

static int allgather_by_allreduce(memory_t *m, const bench_call_t *c)
{
    (void)m;
    return PMPI_Allreduce(MPI_IN_PLACE, c->recv, block_among_zeros(c, c->recv), MPI_BYTE, MPI_BOR, c->comm);
}

static int allgather_by_allgatherv(memory_t *m, const bench_call_t *c)
{
    (void)m;
    return PMPI_Allgatherv(c->send, BLOCK, TYPE, c->recv, c->layout->recv_counts, c->layout->recv_places,
                           TYPE, c->comm);
}

static int allgatherv_by_gatherv_bcast(memory_t *m, const bench_call_t *c)
{
    (void)m;
    BENCH_MPI(PMPI_Gatherv(c->send, c->layout->send_counts[c->rank], TYPE, c->recv, c->layout->recv_counts,
                           c->layout->recv_places, TYPE, 0, c->comm));
    return PMPI_Bcast(c->recv, c->layout->recv_total, TYPE, 0, c->comm);
}

static int allgatherv_by_allgather(memory_t *m, const bench_call_t *c)
{
    const bench_layout_t *layout = c->layout;
    int most = 0;

    for (int r = 0; r < c->ranks; r++)
        most = layout->recv_counts[r] > most ? layout->recv_counts[r] : most;
    copy(c, m->scratch[0], c->send, (size_t)layout->send_counts[c->rank]);
    BENCH_MPI(PMPI_Allgather(m->scratch[0], most, TYPE, m->scratch[1], most, TYPE, c->comm));
    for (int r = 0; r < c->ranks; r++)
        copy(c, at(c, c->recv, (size_t)layout->recv_places[r]),
             at(c, m->scratch[1], (size_t)most * (size_t)r), (size_t)layout->recv_counts[r]);
    return MPI_SUCCESS;
}

/* ---- alltoall, alltoallv ---- */

static int alltoall_by_alltoallv(memory_t *m, const bench_call_t *c)
{
    const bench_layout_t *layout = c->layout;
    (void)m;
    return PMPI_Alltoallv(c->send, layout->send_counts, layout->send_places, TYPE, c->recv,
                          layout->recv_counts, layout->recv_places, TYPE, c->comm);
}

static int alltoallv_by_alltoallw(memory_t *m, const bench_call_t *c)
{
    const bench_layout_t *layout = c->layout;
    (void)m;
    return PMPI_Alltoallw(c->send, layout->send_counts, layout->send_bytes_places, layout->types, c->recv,
                          layout->recv_counts, layout->recv_bytes_places, layout->types, c->comm);
}

/* ---- reduce_scatter_block, reduce_scatter ---- */

static int reduce_scatter_block_by_reduce_scatter(memory_t *m, const bench_call_t *c)
{
    (void)m;
    return PMPI_Reduce_scatter(c->send, c->recv, c->layout->send_counts, TYPE, OP, c->comm);
}

static int reduce_scatter_block_by_reduce_then_scatter(memory_t *m, const bench_call_t *c)
{
    BENCH_MPI(PMPI_Reduce(c->send, m->scratch[0], all_blocks(c), TYPE, OP, 0, c->comm));
    return PMPI_Scatter(m->scratch[0], BLOCK, TYPE, c->recv, BLOCK, TYPE, 0, c->comm);
}

static int reduce_scatter_by_reduce_then_scatterv(memory_t *m, const bench_call_t *c)
{
    const bench_layout_t *layout = c->layout;

    BENCH_MPI(PMPI_Reduce(c->send, m->scratch[0], layout->send_total, TYPE, OP, 0, c->comm));
    return PMPI_Scatterv(m->scratch[0], layout->send_counts, layout->send_places, TYPE, c->recv,
                         layout->recv_total, TYPE, 0, c->comm);
}

/* Of both. */
static int reduce_scatter_by_allreduce(memory_t *m, const bench_call_t *c)
{
    const bench_layout_t *layout = c->layout;

    BENCH_MPI(PMPI_Allreduce(c->send, m->scratch[0], layout->send_total, TYPE, OP, c->comm));
    copy(c, c->recv, at(c, m->scratch[0], (size_t)layout->send_places[c->rank]), (size_t)layout->recv_total);
    return MPI_SUCCESS;
}

/* ---- gather, scatter ---- */

static int gather_by_allgather(memory_t *m, const bench_call_t *c)
{
    void *all = c->rank == c->root ? c->recv : m->scratch[0];
    return PMPI_Allgather(c->send, BLOCK, TYPE, all, BLOCK, TYPE, c->comm);
}

static int gather_by_gatherv(memory_t *m, const bench_call_t *c)
{
    (void)m;
    return PMPI_Gatherv(c->send, BLOCK, TYPE, c->recv, c->layout->recv_counts, c->layout->recv_places, TYPE,
                        c->root, c->comm);
}

static int gather_by_reduce(memory_t *m, const bench_call_t *c)
{
    const int bytes = block_among_zeros(c, m->scratch[0]);
    return PMPI_Reduce(m->scratch[0], c->recv, bytes, MPI_BYTE, MPI_BOR, c->root, c->comm);
}

static int scatter_by_bcast(memory_t *m, const bench_call_t *c)
{
    char *all = c->rank == c->root ? c->send : m->scratch[0];

    BENCH_MPI(PMPI_Bcast(all, all_blocks(c), TYPE, c->root, c->comm));
    copy(c, c->recv, at(c, all, c->count * (size_t)c->rank), c->count);
    return MPI_SUCCESS;
}

static int scatter_by_scatterv(memory_t *m, const bench_call_t *c)
{
    (void)m;
    return PMPI_Scatterv(c->send, c->layout->send_counts, c->layout->send_places, TYPE, c->recv, BLOCK, TYPE,
                         c->root, c->comm);
}

/* ---- scan ---- */

static int scan_by_exscan_reduce_local(memory_t *m, const bench_call_t *c)
{
    BENCH_MPI(PMPI_Exscan(c->send, m->scratch[0], BLOCK, TYPE, OP, c->comm));
    copy(c, c->recv, c->send, c->count);
    return c->rank ? MPI_Reduce_local(m->scratch[0], c->recv, BLOCK, TYPE, OP) : MPI_SUCCESS;
}

/* ---- the table ---- */

static const bench_mockup_t mockups[] = {
#define HP_MOCKUP(id, collective, made_of, run, offered) {#collective, made_of, run},
#include "../mockups.def"
#undef HP_MOCKUP
};

const bench_mockup_t *bench_mockup(const char *collective, int number)
{
    for (size_t i = 0; i < sizeof mockups / sizeof *mockups; i++)
        if (strcmp(mockups[i].collective, collective) == 0 && number-- == 0)
            return &mockups[i];
    return NULL;
}

/* ---- memory ---- */

static size_t scratch_bytes(const bench_case_t *what)
{
    return bench_place_bytes(what) + (size_t)what->ranks * what->type->extent;
}

size_t bench_mockup_memory_bytes(const bench_case_t *what)
{
    return 2 * scratch_bytes(what);
}

/* Holes of datatypes hold poison here too: a mock-up copies them. */
void bench_mockup_memory_init(bench_mockup_memory_t *memory, const bench_case_t *what)
{
    const size_t bytes = scratch_bytes(what);

    for (int i = 0; i < 2; i++) {
        memory->scratch[i] = bench_allocate(bytes);
        memset(memory->scratch[i], BENCH_POISON, bytes);
    }
    memory->counts = bench_allocate((size_t)what->ranks * sizeof(int));
    memory->places = bench_allocate((size_t)what->ranks * sizeof(int));
}

void bench_mockup_memory_fini(bench_mockup_memory_t *memory)
{
    for (int i = 0; i < 2; i++)
        free(memory->scratch[i]);
    free(memory->counts);
    free(memory->places);
}
