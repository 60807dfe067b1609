/* sparse: an exchange with a few neighbours by MPI_Alltoallv or MPI_Ialltoallv: most pairs of ranks have no message.
 *
 * Every rank draws some other ranks that it sends to, its neighbours, which stay; with --symmetric 1 these send back.
 * An iteration draws the size of every message, tells it the receiver (MPI_Alltoall), exchanges the messages, works on
 * the rank's own cells, and adds everything up to a sum (MPI_Allreduce). Messages and cells of the next iteration
 * are made of this sum, so no rank can run ahead. With --hot N, in every Nth iteration all ranks send to one and
 * to nobody else.
 *
 *      6 ranks, 2 neighbours          hot: rank 2
 *
 *            to  0 1 2 3 4 5             to  0 1 2 3 4 5
 *      from 0    . 7 . . 3 .       from 0    . . 5 . . .
 *           1    . . 9 2 . .            1    . . 8 . . .
 *           2    4 . . . . 6            2    . . 1 . . .
 *           3    . . 8 . 5 .            3    . . 9 . . .
 *           4    1 . . . . 2            4    . . 2 . . .
 *           5    . 3 . 7 . .            5    . . 4 . . .
 *
 * What can overlap: the cells need nothing of what is under way.
 *
 *      blocking      sizes | messages | cells | sum |
 *
 *      non-blocking  sizes | messages | sum |           in the network
 *                          | cells    |                 in the processor
 *
 * Threads: one. Ownership: sparse_t has its arrays until sparse_free. */
#include "common.h"

#include <limits.h>
#include <stdlib.h>

enum { STEP_CELLS = 1024 };

static struct {
    long neighbours, symmetric, items, hot, iterations, cells;
} options = {.neighbours = 0, .symmetric = 0, .items = 4096, .hot = 0, .iterations = 50, .cells = 100000};

/* What goes to, or comes from, each rank. */
typedef struct {
    int *counts, *offsets; /* [size] */
    long total, room;
    uint64_t *items; /* [room] */
} messages_t;

typedef struct {
    int rank, size;
    long seed, iteration;
    bool *sends; /* [size][size]: who sends to whom */
    messages_t sent, received;
    uint64_t *cells; /* [cells] */
    uint64_t sum;    /* of the iteration before, over all ranks */
    bool right;      /* what was received */
} sparse_t;

/* Every rank draws for all: it is as much for one rank as for another. */
static void draw_neighbours(sparse_t *s)
{
    const long wanted = options.neighbours ? options.neighbours : s->size / 20;
    const long count = wanted < 1 ? 1 : wanted;

    for (int from = 0; from < s->size; from++) {
        bool *sends = s->sends + (long)from * s->size;
        uint64_t draw = 0;
        for (long found = 0; found < count && found < s->size - 1;) {
            const int to = (int)(example_hash((uint64_t)s->seed, (uint64_t)from, ++draw) % (uint64_t)s->size);
            if (to != from && !sends[to]) {
                sends[to] = true;
                found++;
            }
        }
    }
    for (long from = 0; options.symmetric && from < s->size; from++) {
        for (long to = 0; to < from; to++)
            s->sends[from * s->size + to] = s->sends[to * s->size + from] =
                s->sends[from * s->size + to] || s->sends[to * s->size + from];
    }
}

static void make_messages(const sparse_t *s, messages_t *messages)
{
    messages->counts = example_allocate((size_t)s->size, sizeof(int));
    messages->offsets = example_allocate((size_t)s->size, sizeof(int));
}

static void sparse_make(sparse_t *s, const example_t *e)
{
    *s = (sparse_t){.rank = e->rank, .size = e->size, .seed = e->seed, .right = true};
    s->sends = example_allocate((size_t)s->size * (size_t)s->size, sizeof *s->sends);
    draw_neighbours(s);
    make_messages(s, &s->sent);
    make_messages(s, &s->received);
    s->cells = example_allocate((size_t)options.cells, sizeof *s->cells);
    s->sum = (uint64_t)e->seed;
}

static void sparse_free(sparse_t *s)
{
    free(s->sends);
    free(s->sent.counts);
    free(s->sent.offsets);
    free(s->sent.items);
    free(s->received.counts);
    free(s->received.offsets);
    free(s->received.items);
    free(s->cells);
}

/* How many items go from one rank to another in this iteration. */
static int count_of(const sparse_t *s, int from, int to)
{
    const bool hot = options.hot && (s->iteration + 1) % options.hot == 0;
    const uint64_t iteration = (uint64_t)s->seed << 32 ^ (uint64_t)s->iteration;
    const int receiver = (int)(example_hash(iteration, 0, 0) % (uint64_t)s->size);

    if (hot ? to != receiver : !s->sends[(long)from * s->size + to])
        return 0;
    return 1 + (int)(example_hash(iteration, 1 + (uint64_t)from, (uint64_t)to) % (uint64_t)options.items);
}

static uint64_t item_of(const sparse_t *s, int from, int to, int number)
{
    return example_hash(s->sum, (uint64_t)from * (uint64_t)s->size + (uint64_t)to, (uint64_t)number);
}

/* One message after the other; there is room for all. */
static void lay_out(const sparse_t *s, messages_t *messages)
{
    messages->total = 0;
    for (int rank = 0; rank < s->size; rank++) {
        messages->offsets[rank] = (int)messages->total;
        messages->total += messages->counts[rank];
    }
    if (messages->total > messages->room) {
        free(messages->items);
        messages->room = 2 * messages->total;
        messages->items = example_allocate((size_t)messages->room, sizeof *messages->items);
    }
}

/* The messages to send, and the sizes of those to receive. */
static void prepare(example_t *e, sparse_t *s)
{
    for (int to = 0; to < s->size; to++)
        s->sent.counts[to] = count_of(s, s->rank, to);
    TIMED(e, MPI_Alltoall(s->sent.counts, 1, MPI_INT, s->received.counts, 1, MPI_INT, MPI_COMM_WORLD));
    lay_out(s, &s->sent);
    lay_out(s, &s->received);
    for (int to = 0; to < s->size; to++) {
        for (int i = 0; i < s->sent.counts[to]; i++)
            s->sent.items[s->sent.offsets[to] + i] = item_of(s, s->rank, to, i);
    }
    example_come_late(e);
}

static void compute_cells(sparse_t *s, example_progress_t *progress)
{
    for (long i = 0; i < options.cells; i++) {
        s->cells[i] = example_hash(s->sum, s->cells[i], (uint64_t)i);
        if (i % STEP_CELLS == 0)
            example_step(progress);
    }
}

/* Every item, from the rank that has to send it and in its place; no item more. */
static bool is_received(const sparse_t *s)
{
    bool right = true;
    for (int from = 0; from < s->size; from++) {
        right = right && s->received.counts[from] == count_of(s, from, s->rank);
        for (int i = 0; right && i < s->received.counts[from]; i++)
            right = s->received.items[s->received.offsets[from] + i] == item_of(s, from, s->rank, i);
    }
    return right;
}

/* The end of an iteration: what was received and the cells, added up over all ranks. */
static void add_up(example_t *e, sparse_t *s)
{
    uint64_t sum = 0;

    if (e->check)
        s->right = is_received(s) && s->right;
    for (long i = 0; i < s->received.total; i++)
        sum += example_hash((uint64_t)s->rank, s->received.items[i], (uint64_t)i);
    for (long i = 0; i < options.cells; i++)
        sum += s->cells[i];
    TIMED(e, MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD));
    s->sum = sum;
}

static void run_blocking(example_t *e, sparse_t *s)
{
    example_progress_t none = {0};

    for (s->iteration = 0; s->iteration < options.iterations; s->iteration++) {
        prepare(e, s);
        TIMED(e,
              MPI_Alltoallv(s->sent.items, s->sent.counts, s->sent.offsets, MPI_UINT64_T, s->received.items,
                            s->received.counts, s->received.offsets, MPI_UINT64_T, MPI_COMM_WORLD));
        example_come_late(e);
        compute_cells(s, &none);
        add_up(e, s);
    }
}

static void run_nonblocking(example_t *e, sparse_t *s)
{
    MPI_Request request;

    for (s->iteration = 0; s->iteration < options.iterations; s->iteration++) {
        prepare(e, s);
        TIMED(e, MPI_Ialltoallv(s->sent.items, s->sent.counts, s->sent.offsets, MPI_UINT64_T,
                                s->received.items, s->received.counts, s->received.offsets, MPI_UINT64_T,
                                MPI_COMM_WORLD, &request));
        example_progress_t progress =
            example_progress(e, &request, 1, e->tests, 1 + options.cells / STEP_CELLS);
        example_come_late(e);
        compute_cells(s, &progress);
        TIMED(e, MPI_Wait(&request, MPI_STATUS_IGNORE));
        add_up(e, s);
    }
}

int main(int argc, char **argv)
{
    const example_option_t own[] = {
        {"neighbours", "ranks that a rank sends to; 0: 5% of the ranks, at least 1", &options.neighbours, 0,
         1000000},
        {"symmetric", "1: these send back", &options.symmetric, 0, 1},
        {"items", "largest message, in items of 8 bytes", &options.items, 1, 10000000},
        {"hot", "in every Nth iteration all ranks send to one; 0: never", &options.hot, 0, 1000000},
        {"iterations", "iterations", &options.iterations, 1, 1000000},
        {"cells", "of each rank, worked on in each iteration", &options.cells, 0, 100000000},
    };
    example_t e;
    sparse_t s;
    int exit_code;

    if (!example_init(&e, "sparse",
                      "Sparse exchange: messages to a few ranks by MPI_Alltoallv or MPI_Ialltoallv.", argc,
                      argv, own, sizeof own / sizeof own[0], &exit_code))
        return exit_code;
    if (options.items > INT_MAX / e.size) /* an offset of MPI_Alltoallv is an int */
        options.items = INT_MAX / e.size;

    sparse_make(&s, &e);
    for (long i = 0; i < e.warm_up; i++)
        MPI_Alltoall(s.sent.counts, 1, MPI_INT, s.received.counts, 1, MPI_INT, MPI_COMM_WORLD);

    example_start_clock(&e);
    if (e.nonblocking)
        run_nonblocking(&e, &s);
    else
        run_blocking(&e, &s);
    const double total = example_stop_clock(&e);

    exit_code = example_report(&e, total, s.sum, s.right,
                               "\"neighbours\": %ld, \"symmetric\": %ld, \"hot\": %ld, \"iterations\": %ld, "
                               "\"cells\": %ld, \"message_bytes\": %ld",
                               options.neighbours, options.symmetric, options.hot, options.iterations,
                               options.cells, options.items * (long)sizeof(uint64_t));
    sparse_free(&s);
    MPI_Finalize();
    return exit_code;
}
