/* bfs: breadth-first search, level by level, the frontier merged by MPI_Allreduce or MPI_Iallreduce.
 *
 * A bitmap has a bit for each vertex. In a level every rank sets the bits of the neighbours of those of its own
 * vertices that were new in the level before; the bitmaps of all ranks are merged (MPI_BOR); then every rank
 * looks up which of its own vertices are new. The search ends when no rank has found any: an allreduce of
 * their number.
 *
 * What can overlap: the bitmap is merged in chunks, and every rank owns a part of every chunk. What is new in
 * a chunk that has come in can be expanded while the others travel; and what is new in the last one while the
 * numbers are added up that tell whether there is a next level at all. Here for 4 chunks:
 *
 *      blocking      | merge of all                          | new 0 1 2 3 | end? | expand 0 1 2 3 |
 *
 *      non-blocking  | chunk 0 | chunk 1 | chunk 2 | chunk 3 | end? |                       in the network
 *                              | new 0, expand 0 | new 1, expand 1 | ... | expand 3 |       in the processor
 *
 * The graph: the vertices lie on a ring; each has --edges edges to vertices less than 2^REACH places away, and
 * every rank finds those of its own vertices by itself. A small reach makes many levels of about the same work;
 * one as large as the ring two or three levels that hold nearly everything. Labels are scrambled, so every rank
 * has its share of the work in every level.
 *
 * Threads: one. Ownership: bfs_t has its arrays until bfs_free. */
#include "common.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BITS = 64, UNREACHED = -1 };

static struct {
    long scale, edges, reach, chunks, searches;
} options = {.scale = 16, .edges = 8, .reach = 12, .chunks = 8, .searches = 2};

/* The part of a chunk that this rank owns: words of the bitmap. */
typedef struct {
    long first, end;
} part_t;

typedef struct {
    long vertices, words;
    part_t *parts;     /* [chunks] */
    long *local_words; /* [words]: the local number of a word's first vertex, -1: of another rank */
    long local_count;
    int *levels;       /* [local_count] */
    int *neighbours;   /* [local_count][edges] */
    uint64_t *found;   /* [words]: set in this level, own and then merged */
    uint64_t *next;    /* [words]: being set for the next level */
    uint64_t expanded; /* edges looked at */
} bfs_t;

static long first_word_of(const bfs_t *b, long chunk)
{
    return example_first_of(b->words, options.chunks, chunk);
}

/* Position on the ring to label: one to one, as an odd factor and a shift can be undone. */
static long scrambled(long position, long seed)
{
    const uint64_t mask = (UINT64_C(1) << options.scale) - 1;
    uint64_t x = (uint64_t)position;
    for (int round = 0; round < 2; round++) {
        x = (x * 0x9e3779b97f4a7c15u + (uint64_t)seed) & mask;
        x ^= x >> (options.scale / 2);
    }
    return (long)x;
}

static long local_of(const bfs_t *b, long vertex)
{
    const long word = b->local_words[vertex / WORD_BITS];
    return word < 0 ? -1 : word + vertex % WORD_BITS;
}

/* The other end of a vertex's edge number i, by places on the ring. An edge leads both ways: inside blocks of
 * 2^reach places the ends are found from each other by the same exclusive or; every i has its own blocks. */
static long other_end(long position, long i, long seed)
{
    const uint64_t ring = (UINT64_C(1) << options.scale) - 1, block = (UINT64_C(1) << options.reach) - 1;
    const uint64_t shift = example_hash((uint64_t)seed, (uint64_t)i, 0);
    const uint64_t place = ((uint64_t)position + shift) & ring;
    const uint64_t across = 1 | example_hash((uint64_t)seed, (uint64_t)i, 1 + (place >> options.reach));
    return (long)(((place ^ (across & block)) - shift) & ring);
}

static void bfs_make(bfs_t *b, const example_t *e)
{
    *b = (bfs_t){.vertices = 1L << options.scale};
    b->words = b->vertices / WORD_BITS;
    b->parts = example_allocate((size_t)options.chunks, sizeof *b->parts);
    b->local_words = example_allocate((size_t)b->words, sizeof *b->local_words);
    for (long word = 0; word < b->words; word++)
        b->local_words[word] = -1;
    for (long chunk = 0; chunk < options.chunks; chunk++) {
        const long first = first_word_of(b, chunk), count = first_word_of(b, chunk + 1) - first;
        part_t *part = &b->parts[chunk];
        part->first = first + example_first_of(count, e->size, e->rank);
        part->end = first + example_first_of(count, e->size, e->rank + 1);
        for (long word = part->first; word < part->end; word++, b->local_count += WORD_BITS)
            b->local_words[word] = b->local_count;
    }
    b->levels = example_allocate((size_t)b->local_count, sizeof *b->levels);
    b->found = example_allocate((size_t)b->words, sizeof *b->found);
    b->next = example_allocate((size_t)b->words, sizeof *b->next);

    b->neighbours = example_allocate((size_t)(b->local_count * options.edges), sizeof *b->neighbours);
    for (long position = 0; position < b->vertices; position++) {
        const long local = local_of(b, scrambled(position, e->seed));
        for (long i = 0; local >= 0 && i < options.edges; i++)
            b->neighbours[local * options.edges + i] =
                (int)scrambled(other_end(position, i, e->seed), e->seed);
    }
}

static void bfs_free(bfs_t *b)
{
    free(b->parts);
    free(b->local_words);
    free(b->levels);
    free(b->neighbours);
    free(b->found);
    free(b->next);
}

/* Which of this rank's vertices of a chunk are new in this level: only their bits stay. Returns their number. */
static long mark_new(bfs_t *b, long chunk, int level)
{
    const part_t *part = &b->parts[chunk];
    long count = 0;
    for (long word = part->first; word < part->end; word++) {
        int *levels = b->levels + b->local_words[word];
        uint64_t new = 0;
        for (uint64_t bits = b->found[word]; bits; bits &= bits - 1) {
            const int bit = __builtin_ctzll(bits);
            if (levels[bit] == UNREACHED) {
                levels[bit] = level;
                new |= bits & -bits;
                count++;
            }
        }
        b->found[word] = new;
    }
    return count;
}

/* Sets the bits of the neighbours of what is new in a chunk. */
static void expand(bfs_t *b, long chunk, example_progress_t *progress)
{
    const part_t *part = &b->parts[chunk];
    for (long word = part->first; word < part->end; word++) {
        for (uint64_t bits = b->found[word]; bits; bits &= bits - 1) {
            const int *neighbours =
                b->neighbours + (b->local_words[word] + __builtin_ctzll(bits)) * options.edges;
            for (long edge = 0; edge < options.edges; edge++)
                b->next[neighbours[edge] / WORD_BITS] |= UINT64_C(1) << neighbours[edge] % WORD_BITS;
            b->expanded += (uint64_t)options.edges;
        }
        example_step(progress);
    }
}

/* What was set becomes what is to be merged. */
static void next_level(bfs_t *b)
{
    uint64_t *swap = b->found;
    b->found = b->next;
    b->next = swap;
    memset(b->next, 0, (size_t)b->words * sizeof *b->next);
}

/* Nothing is reached but the root. Only its owner has set its bit: level 0 is merged like every other one. */
static void begin_search(bfs_t *b, long root)
{
    for (long i = 0; i < b->local_count; i++)
        b->levels[i] = UNREACHED;
    memset(b->next, 0, (size_t)b->words * sizeof *b->next);
    if (local_of(b, root) >= 0)
        b->next[root / WORD_BITS] = UINT64_C(1) << root % WORD_BITS;
}

/* Both return the number of levels. */
static int search_blocking(example_t *e, bfs_t *b, long root)
{
    example_progress_t none = {0};

    begin_search(b, root);
    for (int level = 0;; level++) {
        long new = 0;
        next_level(b);
        example_come_late(e);
        TIMED(e, MPI_Allreduce(MPI_IN_PLACE, b->found, (int)b->words, MPI_UINT64_T, MPI_BOR, MPI_COMM_WORLD));
        for (long chunk = 0; chunk < options.chunks; chunk++)
            new += mark_new(b, chunk, level);
        TIMED(e, MPI_Allreduce(MPI_IN_PLACE, &new, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
        if (new == 0)
            return level;
        for (long chunk = 0; chunk < options.chunks; chunk++)
            expand(b, chunk, &none);
    }
}

static int search_nonblocking(example_t *e, bfs_t *b, long root)
{
    MPI_Request *requests = example_allocate((size_t)options.chunks + 1, sizeof *requests);
    MPI_Request *end = &requests[options.chunks];

    begin_search(b, root);
    for (int level = 0;; level++) {
        long new = 0;
        next_level(b);
        example_come_late(e);
        for (long chunk = 0; chunk < options.chunks; chunk++) {
            const long first = first_word_of(b, chunk);
            TIMED(e,
                  MPI_Iallreduce(MPI_IN_PLACE, b->found + first, (int)(first_word_of(b, chunk + 1) - first),
                                 MPI_UINT64_T, MPI_BOR, MPI_COMM_WORLD, &requests[chunk]));
        }
        *end = MPI_REQUEST_NULL;
        example_progress_t progress =
            example_progress(e, requests, (int)options.chunks + 1, e->tests, b->local_count / WORD_BITS);
        for (long chunk = 0; chunk < options.chunks; chunk++) {
            TIMED(e, MPI_Wait(&requests[chunk], MPI_STATUS_IGNORE));
            new += mark_new(b, chunk, level);
            if (chunk == options.chunks - 1)
                TIMED(e, MPI_Iallreduce(MPI_IN_PLACE, &new, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, end));
            expand(b, chunk, &progress);
        }
        TIMED(e, MPI_Wait(end, MPI_STATUS_IGNORE));
        if (new == 0) {
            free(requests);
            return level;
        }
    }
}

/* Levels are right when the root alone has level 0, every other vertex that was reached has a neighbour one
 * level below, and no edge leads further than one level, nor to what was not reached: all edges are looked at. */
static bool is_right(const bfs_t *b, long root)
{
    int *all = example_allocate((size_t)b->vertices, sizeof *all);
    bool right = true;

    for (long vertex = 0; vertex < b->vertices; vertex++)
        all[vertex] = local_of(b, vertex) < 0 ? INT_MIN : b->levels[local_of(b, vertex)];
    MPI_Allreduce(MPI_IN_PLACE, all, (int)b->vertices, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    for (long vertex = 0; vertex < b->vertices; vertex++) {
        const long local = local_of(b, vertex);
        const int level = all[vertex];
        bool has_parent = level == UNREACHED || vertex == root;
        if (local < 0)
            continue;
        right = right && level >= UNREACHED && (level == 0) == (vertex == root);
        for (long edge = local * options.edges; edge < (local + 1) * options.edges; edge++) {
            const int other = all[b->neighbours[edge]];
            has_parent = has_parent || other == level - 1;
            right = right &&
                    (level == UNREACHED ? other == UNREACHED
                                        : other != UNREACHED && other - level <= 1 && level - other <= 1);
        }
        right = right && has_parent;
    }
    free(all);
    return right;
}

/* Of all levels: the same on any number of ranks. */
static uint64_t checksum_of(const bfs_t *b)
{
    uint64_t sum = 0;
    for (long word = 0; word < b->words; word++) {
        for (long bit = 0; b->local_words[word] >= 0 && bit < WORD_BITS; bit++)
            sum += example_hash((uint64_t)(b->levels[b->local_words[word] + bit] + 1), (uint64_t)word,
                                (uint64_t)bit);
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

int main(int argc, char **argv)
{
    const example_option_t own[] = {
        {"scale", "2^N vertices", &options.scale, 6, 30},
        {"edges", "edges of each vertex", &options.edges, 1, 1000},
        {"reach", "edges lead less than 2^N places along the ring", &options.reach, 1, 30},
        {"chunks", "pieces that the bitmap is merged in (--nonblocking)", &options.chunks, 1, 10000},
        {"searches", "searches, each from another root", &options.searches, 1, 1000000},
    };
    example_t e;
    bfs_t b;
    int exit_code, levels = 0;
    uint64_t checksum = 0;
    bool right = true;
    double total = 0, in_mpi = 0;

    if (!example_init(
            &e, "bfs",
            "Breadth-first search: bitmaps merged by MPI_Allreduce or, in chunks, by MPI_Iallreduce.", argc,
            argv, own, sizeof own / sizeof own[0], &exit_code))
        return exit_code;
    if (options.reach > options.scale)
        options.reach = options.scale;
    if (options.chunks > (1L << options.scale) / WORD_BITS)
        options.chunks = (1L << options.scale) / WORD_BITS;

    bfs_make(&b, &e);
    for (long i = 0; i < e.warm_up; i++)
        MPI_Allreduce(MPI_IN_PLACE, b.found, (int)b.words, MPI_UINT64_T, MPI_BOR, MPI_COMM_WORLD);

    for (long search = 0; search < options.searches; search++) {
        const long root = (long)(example_hash((uint64_t)e.seed, (uint64_t)search, 0) % (uint64_t)b.vertices);
        example_start_clock(&e);
        levels += e.nonblocking ? search_nonblocking(&e, &b, root) : search_blocking(&e, &b, root);
        total += example_stop_clock(&e);
        in_mpi += e.in_mpi;
        checksum += checksum_of(&b);
        right = right && (!e.check || is_right(&b, root));
    }
    e.in_mpi = in_mpi;
    MPI_Allreduce(MPI_IN_PLACE, &b.expanded, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    exit_code = example_report(
        &e, total, checksum, right,
        "\"vertices\": %ld, \"edges_each\": %ld, \"reach\": %ld, \"searches\": %ld, \"chunks\": %ld, "
        "\"levels\": %d, \"edges_expanded\": %llu, \"message_bytes\": %ld",
        b.vertices, options.edges, options.reach, options.searches, options.chunks, levels,
        (unsigned long long)b.expanded, b.words * (long)sizeof *b.found);
    bfs_free(&b);
    MPI_Finalize();
    return exit_code;
}
