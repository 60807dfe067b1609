/* nbody STEPS BODIES: what the ranks of an n-body program with a tree exchange, without its forces: for recordings.
 *
 * Bodies lie along a curve through space, cut into a piece for each rank; where they are dense a rank has up to four times
 * BODIES of them. In each step
 *
 *      Allgatherv   the top of every rank's tree, the longer the more bodies it has
 *      Alltoallv    the bodies that others need for their forces: of near pieces many, of far ones few
 *      Alltoallv    every fourth step: bodies that have moved to the next piece, on either side
 *
 * Each body that comes is looked at. Plain MPI. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { REBALANCE_EVERY = 4, TOP_SHARE = 16, DOUBLES = 4 /* of a body */ };

typedef struct {
    double place[3], mass;
} body_t;

typedef struct {
    int *counts, *offsets; /* in doubles, of each rank */
    body_t *bodies;
} messages_t;

static int ranks, self, bodies;

static int bodies_of(int rank)
{
    return bodies * (1 + 3 * (rank % 5 == 2)) + bodies * (rank % 3) / 4;
}

/* So many of one rank's bodies go to the other. */
typedef int (*share_fn_t)(int from, int to);

static int needed(int from, int to)
{
    const int apart = abs(from - to);
    return apart ? 1 + bodies_of(from) / (1 + apart * apart) : 0;
}

static int moved(int from, int to)
{
    return abs(from - to) == 1 ? bodies_of(from) / 32 : 0;
}

static int top(int from, int to)
{
    (void)to;
    return 1 + bodies_of(from) / TOP_SHARE;
}

static body_t body_from(int rank, int step)
{
    return (body_t){{rank, step, rank + step}, 1.0 / (1 + rank)};
}

static void *allocate(size_t count, size_t bytes)
{
    void *made = calloc(count ? count : 1, bytes);
    if (!made)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return made;
}

/* Of what this rank has from the others, or for them. */
static messages_t make_messages(share_fn_t share, int comes)
{
    messages_t made = {allocate((size_t)ranks, sizeof(int)), allocate((size_t)ranks, sizeof(int)), NULL};
    int total = 0;

    for (int i = 0; i < ranks; i++) {
        made.counts[i] = DOUBLES * (comes ? share(i, self) : share(self, i));
        made.offsets[i] = total;
        total += made.counts[i];
    }
    made.bodies = allocate((size_t)(total / DOUBLES), sizeof(body_t));
    return made;
}

static void free_messages(messages_t *messages)
{
    free(messages->counts);
    free(messages->offsets);
    free(messages->bodies);
}

static void fill(body_t *list, int doubles, int rank, int step)
{
    for (int i = 0; i < doubles / DOUBLES; i++)
        list[i] = body_from(rank, step);
}

static void check_bodies(const messages_t *came, int step)
{
    for (int rank = 0; rank < ranks; rank++)
        for (int i = 0; i < came->counts[rank] / DOUBLES; i++) {
            const body_t expected = body_from(rank, step),
                         *body = &came->bodies[came->offsets[rank] / DOUBLES + i];
            if (body->mass != expected.mass || body->place[2] != expected.place[2]) {
                fprintf(stderr, "nbody: rank %d, step %d: a wrong body of rank %d\n", self, step, rank);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        }
}

static void gather_tops(int step)
{
    messages_t came = make_messages(top, 1);
    body_t *mine = allocate((size_t)top(self, 0), sizeof *mine);

    fill(mine, came.counts[self], self, step);
    MPI_Allgatherv(mine, came.counts[self], MPI_DOUBLE, came.bodies, came.counts, came.offsets, MPI_DOUBLE,
                   MPI_COMM_WORLD);
    check_bodies(&came, step);
    free(mine);
    free_messages(&came);
}

static void fill_all(messages_t *messages, int step)
{
    for (int i = 0; i < ranks; i++)
        fill(messages->bodies + messages->offsets[i] / DOUBLES, messages->counts[i], self, step);
}

/* Inlined, so that each place that calls it has a call site of its own. */
static inline __attribute__((always_inline)) void exchange(share_fn_t share, int step)
{
    messages_t goes = make_messages(share, 0), came = make_messages(share, 1);

    fill_all(&goes, step);
    MPI_Alltoallv(goes.bodies, goes.counts, goes.offsets, MPI_DOUBLE, came.bodies, came.counts, came.offsets,
                  MPI_DOUBLE, MPI_COMM_WORLD);
    check_bodies(&came, step);
    free_messages(&goes);
    free_messages(&came);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &self);
    const int steps = argc > 2 ? atoi(argv[1]) : 0;
    bodies = argc > 2 ? atoi(argv[2]) : 0;
    if (steps < 1 || bodies < 1) {
        fputs("usage: nbody STEPS BODIES\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int step = 0; step < steps; step++) {
        gather_tops(step);
        exchange(needed, step);
        if (step % REBALANCE_EVERY == REBALANCE_EVERY - 1)
            exchange(moved, step);
    }
    MPI_Finalize();
    return 0;
}
