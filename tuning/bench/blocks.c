#include "blocks.h"

#include <stdlib.h>
#include <string.h>

static const char *const patterns[] = {"equal", "ragged", "sparse", "hot"};

const char *bench_pattern_name(int pattern)
{
    _Static_assert(sizeof patterns / sizeof *patterns == BENCH_PATTERNS, "a name each");
    return pattern < BENCH_PATTERNS ? patterns[pattern] : NULL;
}

/* The same on all ranks and machines. */
static unsigned random_of(unsigned s, unsigned d)
{
    unsigned x = s * 0x9e3779b9u + d * 0x85ebca6bu + 1;
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

/* Who has one block only sends the same size to all, or receives the same from all. */
int bench_block_count(const bench_blocks_t *blocks, bench_pattern_t pattern, int count, int s, int d,
                      int ranks)
{
    const bool senders_differ = blocks->sends == BENCH_BLOCK_EACH && blocks->receives == BENCH_BLOCK_EACH;
    const int from = senders_differ || blocks->sends == BENCH_ONE_BLOCK ? s : 0;
    const int to = blocks->sends == BENCH_BLOCK_EACH ? d : 0;
    const int owner = blocks->sends == BENCH_BLOCK_EACH ? d : s;

    switch (pattern) {
    case BENCH_RAGGED:
        return (int)(random_of((unsigned)from, (unsigned)to) % (2 * (unsigned)count + 1));
    case BENCH_SPARSE: /* the last rank's own block keeps the smallest jobs from sending nothing at all */
        return random_of((unsigned)from, (unsigned)to) % 20 == 0 ||
                       (owner == ranks - 1 && s == (d + 1) % ranks) || (!senders_differ && owner == ranks - 1)
                   ? count
                   : 0;
    case BENCH_HOT:
        return owner == ranks / 2 ? count : count / ranks;
    case BENCH_EQUAL:
    case BENCH_PATTERNS:
        break;
    }
    return count;
}

/* Where the blocks lie, and how much they are. */
static int place(int *counts, int *places, int *bytes_places, size_t extent, int ranks)
{
    int total = 0;
    for (int r = 0; r < ranks; r++) {
        places[r] = total;
        bytes_places[r] = (int)((size_t)total * extent);
        total += counts[r];
    }
    return total;
}

static void allocate_layout(bench_layout_t *layout, int ranks)
{
    const size_t bytes = (size_t)ranks * sizeof(int);

    *layout = (bench_layout_t){.send_counts = bench_extend(NULL, bytes),
                               .send_places = bench_extend(NULL, bytes),
                               .recv_counts = bench_extend(NULL, bytes),
                               .recv_places = bench_extend(NULL, bytes),
                               .send_bytes_places = bench_extend(NULL, bytes),
                               .recv_bytes_places = bench_extend(NULL, bytes),
                               .types = bench_extend(NULL, (size_t)ranks * sizeof(MPI_Datatype))};
}

/* What follows from the counts. */
static void place_blocks(bench_layout_t *layout, const bench_blocks_t *blocks, const bench_type_t *type,
                         int rank, int ranks)
{
    for (int r = 0; r < ranks; r++)
        layout->types[r] = type->type;
    layout->send_total =
        place(layout->send_counts, layout->send_places, layout->send_bytes_places, type->extent, ranks);
    layout->recv_total =
        place(layout->recv_counts, layout->recv_places, layout->recv_bytes_places, type->extent, ranks);
    if (blocks->sends == BENCH_ONE_BLOCK)
        layout->send_total = layout->send_counts[rank];
    if (blocks->receives == BENCH_ONE_BLOCK)
        layout->recv_total = layout->recv_counts[rank];
}

void bench_layout_init(bench_layout_t *layout, const bench_blocks_t *blocks, bench_pattern_t pattern,
                       int count, const bench_type_t *type, int rank, int ranks)
{
    allocate_layout(layout, ranks);
    for (int r = 0; r < ranks; r++) {
        layout->send_counts[r] = bench_block_count(blocks, pattern, count, rank, r, ranks);
        layout->recv_counts[r] = bench_block_count(blocks, pattern, count, r, rank, ranks);
    }
    place_blocks(layout, blocks, type, rank, ranks);
}

void bench_layout_init_counts(bench_layout_t *layout, const bench_blocks_t *blocks, const int *send_counts,
                              const int *recv_counts, const bench_type_t *type, int rank, int ranks)
{
    allocate_layout(layout, ranks);
    memcpy(layout->send_counts, send_counts, (size_t)ranks * sizeof *send_counts);
    memcpy(layout->recv_counts, recv_counts, (size_t)ranks * sizeof *recv_counts);
    place_blocks(layout, blocks, type, rank, ranks);
}

void bench_layout_fini(bench_layout_t *layout)
{
    free(layout->send_counts);
    free(layout->send_places);
    free(layout->recv_counts);
    free(layout->recv_places);
    free(layout->send_bytes_places);
    free(layout->recv_bytes_places);
    free(layout->types);
}

size_t bench_blocks_most(const bench_blocks_t *blocks, size_t count, int ranks)
{
    const bool one = blocks->sends == BENCH_ONE_BLOCK && blocks->receives == BENCH_ONE_BLOCK;
    return count * (blocks->sizes_differ ? 2 : 1) * (one ? 1 : (size_t)ranks);
}

int bench_contributors(const bench_blocks_t *blocks, int rank, int ranks)
{
    switch (blocks->contributors) {
    case BENCH_UP_TO_RANK:
        return rank + 1;
    case BENCH_BELOW_RANK:
        return rank;
    case BENCH_ALL_RANKS:
    case BENCH_NOT_REDUCED:
        break;
    }
    return ranks;
}

/* ---- what is sent, and what must come ---- */

bool bench_block_exists(const bench_blocks_t *blocks, int s, int d, int root)
{
    if ((blocks->root_sends && s != root) || (blocks->root_receives && d != root))
        return false;
    switch (blocks->contributors) {
    case BENCH_UP_TO_RANK:
        return s <= d;
    case BENCH_BELOW_RANK:
        return s < d;
    case BENCH_ALL_RANKS:
    case BENCH_NOT_REDUCED:
        break;
    }
    return true;
}

/* ---- what has to be moved ---- */

typedef struct {
    double out, in, read, written;
    int first_rank;
} node_t;

/* A block that goes to several ranks of a node enters it once, one that goes to several nodes leaves once at least; what is
 * reduced leaves a node as one contribution. */
static void add_sender(const bench_job_t *job, const bench_blocks_t *blocks, bench_pattern_t pattern,
                       int count, int root, int s, node_t *nodes, bool *all_wait)
{
    const bool same = blocks->sends == BENCH_ONE_BLOCK, reduced = blocks->contributors != BENCH_NOT_REDUCED;
    node_t *from = &nodes[job->node_of[s]];
    bool read = false, left = reduced && from->first_rank != s;

    for (int d = blocks->root_receives ? root : 0; d < (blocks->root_receives ? root + 1 : job->size); d++) {
        node_t *to = &nodes[job->node_of[d]];
        if (!bench_block_exists(blocks, s, d, root))
            continue;
        const int size = bench_block_count(blocks, pattern, count, s, d, job->size);
        *all_wait &= size > 0;
        if (!same || !read)
            from->read += size;
        read = true;
        if (!reduced || s == 0)
            to->written += size;
        if (from == to)
            continue;
        if (same ? !left : !reduced || from->first_rank == s)
            from->out += size;
        left = true;
        if (!reduced && (!same || blocks->root_receives || to->first_rank == d))
            to->in += size;
    }
}

static bench_traffic_t traffic_of(const bench_job_t *job, const bench_blocks_t *blocks,
                                  bench_pattern_t pattern, int count, int root)
{
    node_t *nodes = bench_allocate((size_t)job->node_count * sizeof *nodes);
    bench_traffic_t traffic = {.all_wait = true};

    memset(nodes, 0, (size_t)job->node_count * sizeof *nodes);
    for (int r = job->size - 1; r >= 0; r--)
        nodes[job->node_of[r]].first_rank = r;
    for (int s = 0; s < job->size; s++)
        if (!blocks->root_sends || s == root)
            add_sender(job, blocks, pattern, count, root, s, nodes, &traffic.all_wait);
    for (int n = 0; n < job->node_count; n++) {
        const double link = nodes[n].out > nodes[n].in ? nodes[n].out : nodes[n].in;
        const double memory = nodes[n].read + nodes[n].written;
        traffic.link = link > traffic.link ? link : traffic.link;
        traffic.memory = memory > traffic.memory ? memory : traffic.memory;
    }
    free(nodes);
    return traffic;
}

bench_traffic_t bench_blocks_traffic(const bench_job_t *job, const bench_blocks_t *blocks,
                                     bench_pattern_t pattern, int count, size_t type_bytes, int root)
{
    const bool rotates = root < 0;
    bench_traffic_t least = traffic_of(job, blocks, pattern, count, rotates ? 0 : root);

    for (int r = 1; rotates && (blocks->root_sends || blocks->root_receives) && r < job->size; r++) {
        const bench_traffic_t now = traffic_of(job, blocks, pattern, count, r);
        least.link = now.link < least.link ? now.link : least.link;
        least.memory = now.memory < least.memory ? now.memory : least.memory;
    }
    least.link *= (double)type_bytes;
    least.memory *= (double)type_bytes;
    return least;
}
