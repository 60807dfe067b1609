/* apsp: all-pairs shortest paths (Floyd and Warshall), each step's rows sent by MPI_Bcast or MPI_Ibcast.
 *
 * Row i of the matrix holds the distances from vertex i; the ranks have a row each in turn, over and over.
 * Step k asks of every row whether the way over vertex k is shorter, for which every rank needs row k: its owner
 * broadcasts it, so each rank in turn is the root. With --panel they have several rows each in turn, which
 * go together.
 *
 * What can overlap: the owner of the next panel brings that one up to date first; then it travels while all
 * ranks, the owner too, work on the rest of their rows:
 *
 *      blocking      | bcast k | rows, by k | bcast k+1 | rows, by k+1 |
 *
 *      non-blocking  | next panel, by k | rest of the rows, by k | next panel, by k+1 | rest ...
 *                                       | ibcast k+1 ...         |                    | ibcast k+2 ...
 *
 * --pivots M: only paths over the first M vertices, from these to all. This is a piece of a larger job: the
 * first M steps of it, with M rows spread over the ranks instead of all. Rows can then be as long, and
 * a rank's rows as few, as they are in a job of many ranks.
 *
 * As ASP this program is a usual measurement of broadcasts: the first steps of a large matrix (X. Luo et al.,
 * HAN, 2020, table III; it reports the time in MPI and the whole).
 *
 * Threads: one. Ownership: apsp_t has its arrays until apsp_free. */
#include "common.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { WEIGHT_MAX = 1000000 };

static struct {
    long vertices, pivots, panel;
} options = {.vertices = 1000, .pivots = 0, .panel = 1};

/* Consecutive rows of one owner that are broadcast together. */
typedef struct {
    int owner;
    long first, count;
    long place; /* of the first among the owner's rows */
} panel_t;

typedef struct {
    int rank, size;
    long count;       /* of this rank's rows */
    int *rows;        /* [count][vertices] */
    int *received[2]; /* [panel][vertices]: the panel in use, and the next */
    panel_t *panels;
    long panel_count;
} apsp_t;

/* Every vertex has an edge to every other one. */
static int weight(long seed, long from, long to)
{
    return from == to ? 0
                      : 1 + (int)(example_hash((uint64_t)seed, (uint64_t)from, (uint64_t)to) % WEIGHT_MAX);
}

static bool owns(const apsp_t *a, const panel_t *panel)
{
    return panel->owner == a->rank;
}

/* Whose distances one of this rank's rows holds. */
static long vertex_of(const apsp_t *a, long row)
{
    return (row / options.panel * a->size + a->rank) * options.panel + row % options.panel;
}

/* Deals the panels out to the ranks in turn. Returns how many rows this rank has. */
static long make_panels(apsp_t *a)
{
    long mine = 0;

    a->panel_count = (options.pivots + options.panel - 1) / options.panel;
    a->panels = example_allocate((size_t)a->panel_count, sizeof *a->panels);
    for (long p = 0; p < a->panel_count; p++) {
        const long first = p * options.panel, left = options.pivots - first;
        a->panels[p] = (panel_t){.owner = (int)(p % a->size),
                                 .first = first,
                                 .count = left < options.panel ? left : options.panel,
                                 .place = p / a->size * options.panel};
        if (owns(a, &a->panels[p]))
            mine += a->panels[p].count;
    }
    return mine;
}

static void apsp_make(apsp_t *a, const example_t *e)
{
    const size_t row_bytes = (size_t)options.vertices * sizeof(int);

    *a = (apsp_t){.rank = e->rank, .size = e->size};
    a->count = make_panels(a);
    a->rows = example_allocate((size_t)a->count, row_bytes);
    for (long i = 0; i < a->count; i++) {
        for (long j = 0; j < options.vertices; j++)
            a->rows[i * options.vertices + j] = weight(e->seed, vertex_of(a, i), j);
    }
    a->received[0] = example_allocate((size_t)options.panel, row_bytes);
    a->received[1] = example_allocate((size_t)options.panel, row_bytes);
}

static void apsp_free(apsp_t *a)
{
    free(a->rows);
    free(a->received[0]);
    free(a->received[1]);
    free(a->panels);
}

/* Where a panel is on this rank: with its owner among the rows, elsewhere where it was received. */
static int *panel_rows(const apsp_t *a, long panel)
{
    const panel_t *p = &a->panels[panel];
    return owns(a, p) ? a->rows + p->place * options.vertices : a->received[panel % 2];
}

static bool in_panel(long vertex, const panel_t *panel)
{
    return vertex >= panel->first && vertex < panel->first + panel->count;
}

/* Is the way over the pivot shorter? */
static void relax(int *restrict row, const int *restrict pivot_row, long pivot)
{
    const int to_pivot = row[pivot];
    for (long j = 0; j < options.vertices; j++) {
        const int over_pivot = to_pivot + pivot_row[j];
        row[j] = over_pivot < row[j] ? over_pivot : row[j];
    }
}

/* One row, by all rows of a panel that it is not part of. */
static void relax_by_panel(int *row, const panel_t *panel, const int *rows_of_panel)
{
    for (long k = 0; k < panel->count; k++)
        relax(row, rows_of_panel + k * options.vertices, panel->first + k);
}

/* The rows of a panel, by each other: then they are ready for the others. */
static void close_panel(const panel_t *panel, int *rows)
{
    for (long k = 0; k < panel->count; k++) {
        for (long i = 0; i < panel->count; i++) {
            if (i != k)
                relax(rows + i * options.vertices, rows + k * options.vertices, panel->first + k);
        }
    }
}

static void run_blocking(example_t *e, apsp_t *a)
{
    for (long p = 0; p < a->panel_count; p++) {
        const panel_t *panel = &a->panels[p];
        int *rows = panel_rows(a, p);
        if (owns(a, panel))
            close_panel(panel, rows);
        example_come_late(e);
        TIMED(e,
              MPI_Bcast(rows, (int)(panel->count * options.vertices), MPI_INT, panel->owner, MPI_COMM_WORLD));
        for (long i = 0; i < a->count; i++) {
            if (!in_panel(vertex_of(a, i), panel))
                relax_by_panel(a->rows + i * options.vertices, panel, rows);
        }
    }
}

static void start_bcast(example_t *e, const apsp_t *a, long panel, MPI_Request *request)
{
    const panel_t *p = &a->panels[panel];
    TIMED(e, MPI_Ibcast(panel_rows(a, panel), (int)(p->count * options.vertices), MPI_INT, p->owner,
                        MPI_COMM_WORLD, request));
}

static void run_nonblocking(example_t *e, apsp_t *a)
{
    MPI_Request request;

    if (owns(a, &a->panels[0]))
        close_panel(&a->panels[0], panel_rows(a, 0));
    start_bcast(e, a, 0, &request);
    for (long p = 0; p < a->panel_count; p++) {
        const panel_t *panel = &a->panels[p], *next = p + 1 < a->panel_count ? panel + 1 : NULL;
        const int *rows = panel_rows(a, p);
        TIMED(e, MPI_Wait(&request, MPI_STATUS_IGNORE));
        example_come_late(e);
        if (next) {
            if (owns(a, next)) {
                for (long k = 0; k < next->count; k++)
                    relax_by_panel(panel_rows(a, p + 1) + k * options.vertices, panel, rows);
                close_panel(next, panel_rows(a, p + 1));
            }
            start_bcast(e, a, p + 1, &request);
        }
        example_progress_t progress = example_progress(e, &request, 1, e->tests, a->count);
        for (long i = 0; i < a->count; i++) {
            const long vertex = vertex_of(a, i);
            /* The next panel is up to date already, and must not change while it travels. */
            if (!in_panel(vertex, panel) && !(next && in_panel(vertex, next)))
                relax_by_panel(a->rows + i * options.vertices, panel, rows);
            example_step(&progress);
        }
    }
}

/* Rank 0 finds all distances by itself, row by row as in the books; every rank compares its own. */
static bool is_right(const example_t *e, const apsp_t *a)
{
    const size_t row = (size_t)options.vertices;
    int *all = example_allocate((e->rank == 0 ? (size_t)options.pivots : 1) * row, sizeof *all);
    bool right = true;

    for (long i = 0; e->rank == 0 && i < options.pivots; i++) {
        for (long j = 0; j < options.vertices; j++)
            all[i * options.vertices + j] = weight(e->seed, i, j);
    }
    for (long k = 0; e->rank == 0 && k < options.pivots; k++) {
        for (long i = 0; i < options.pivots; i++) {
            for (long j = 0; j < options.vertices; j++) {
                const int over = all[i * options.vertices + k] + all[k * options.vertices + j];
                if (over < all[i * options.vertices + j])
                    all[i * options.vertices + j] = over;
            }
        }
    }
    for (long i = 0, mine = 0; i < options.pivots; i++) {
        int *expected = e->rank == 0 ? all + i * options.vertices : all;
        MPI_Bcast(expected, (int)options.vertices, MPI_INT, 0, MPI_COMM_WORLD);
        if (mine < a->count && vertex_of(a, mine) == i) {
            right = right && memcmp(expected, a->rows + mine * options.vertices, row * sizeof *all) == 0;
            mine++;
        }
    }
    free(all);
    return right;
}

static uint64_t checksum_of(const apsp_t *a)
{
    uint64_t sum = 0;
    for (long i = 0; i < a->count; i++) {
        for (long j = 0; j < options.vertices; j++)
            sum += example_hash((uint64_t)a->rows[i * options.vertices + j], (uint64_t)vertex_of(a, i),
                                (uint64_t)j);
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

int main(int argc, char **argv)
{
    const example_option_t own[] = {
        {"vertices", "vertices: the length of a row", &options.vertices, 1, 100000000},
        {"pivots", "paths over the first N vertices only, and from these; 0: all", &options.pivots, 0,
         100000000},
        {"panel", "rows that are broadcast together", &options.panel, 1, 10000},
    };
    example_t e;
    apsp_t a;
    int exit_code;

    if (!example_init(&e, "apsp",
                      "All-pairs shortest paths: rows by MPI_Bcast or, one step ahead, by MPI_Ibcast.", argc,
                      argv, own, sizeof own / sizeof own[0], &exit_code))
        return exit_code;
    if (options.pivots == 0 || options.pivots > options.vertices)
        options.pivots = options.vertices;
    if (options.panel > options.pivots)
        options.panel = options.pivots;
    if (options.panel > INT_MAX / options.vertices) /* a count of MPI_Bcast is an int */
        options.panel = INT_MAX / options.vertices;

    apsp_make(&a, &e);
    for (long i = 0; i < e.warm_up; i++)
        MPI_Bcast(a.received[0], (int)(options.panel * options.vertices), MPI_INT, (int)(i % e.size),
                  MPI_COMM_WORLD);

    example_start_clock(&e);
    if (e.nonblocking)
        run_nonblocking(&e, &a);
    else
        run_blocking(&e, &a);
    const double total = example_stop_clock(&e);

    const uint64_t checksum = checksum_of(&a);
    exit_code = example_report(&e, total, checksum, !e.check || is_right(&e, &a),
                               "\"vertices\": %ld, \"pivots\": %ld, \"panel\": %ld, \"message_bytes\": %ld",
                               options.vertices, options.pivots, options.panel,
                               options.panel * options.vertices * (long)sizeof(int));
    apsp_free(&a);
    MPI_Finalize();
    return exit_code;
}
