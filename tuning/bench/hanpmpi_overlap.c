/* hanpmpi_overlap: how much of the intra-node time hides behind the time between them, for each pair of
 * modules.
 *
 * The overlap rate of HAN (X. Luo 2020, equation 5.3):
 *
 *      max(0, min(1, (t_inter + t_intra - t_total) / min(t_inter, t_intra)))
 *
 *   t_inter   the collective among one rank of each node: ib, ir, or both
 *   t_intra   the collective on each node by itself, all nodes at the same time: sb, sr, or both
 *   t_total   the collective on all ranks: the levels in a pipeline
 *
 * 1: the shorter level costs nothing; 0: the levels come one after the other. A last table does the same for
 * ib and ir, which use opposite directions of the links: bcast and reduce of the leaders against their
 * allreduce.
 *
 * Every time is the slowest rank's, of repetitions that take the three in turns; the rate is that of the
 * medians, and, beside it, that of the fastest repetitions: what else runs on the machine disturbs those
 * least. Ranks that do not take part sleep, and look only now and then whether the others are done: spinning
 * they would take the others' core. */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hanpmpi/hanpmpi.h"
#include "job.h"
#include "quantiles.h"

enum { EXIT_WRONG = 1, EXIT_BAD_OPTION = 2, REPEAT_MAX = 10000, WARM_UPS = 3, HINT_TEXT = 128 };

typedef enum { BCAST, REDUCE, ALLREDUCE, COLLECTIVES } collective_t;
static const char *const collective_names[] = {"bcast", "reduce", "allreduce"};
static const char *const tasks[] = {"ib, sb", "ir, sr", "ir+ib, sr+sb"};
static const char *const inter_modules[] = {"p2p", "native"};
static const char *const intra_modules[] = {"p2p", "shm", "single_copy", "native"};
enum { INTERS = 2, INTRAS = 4 };

/* Who runs the collective. */
typedef enum { INTER, INTRA, TOTAL, PARTS } part_t;

typedef struct {
    size_t bytes;
    int segment_bytes, leaders, repeat;
} options_t;

typedef struct {
    bench_job_t job;
    options_t options;
    MPI_Comm leaders; /* MPI_COMM_NULL on the others */
    int count;
    double *send, *recv;
} overlap_t;

static MPI_Comm with_hints(const overlap_t *o, MPI_Comm comm, collective_t collective, const char *inter,
                           const char *intra)
{
    char modules[HINT_TEXT], number[16];
    MPI_Comm duplicate;
    MPI_Info info;

    if (comm == MPI_COMM_NULL)
        return comm;
    snprintf(modules, sizeof modules, "node:%s package:%s numa:%s l3:%s core:%s", inter, intra, intra, intra,
             intra);
    BENCH_MPI(MPI_Info_create(&info));
    BENCH_MPI(MPI_Info_set(info, HANPMPI_HINT_ENABLE, "on")); /* it may be a duplicate of one that is off */
    BENCH_MPI(MPI_Info_set(info,
                           collective == BCAST    ? HANPMPI_HINT_BCAST
                           : collective == REDUCE ? HANPMPI_HINT_REDUCE
                                                  : HANPMPI_HINT_ALLREDUCE,
                           "han"));
    BENCH_MPI(MPI_Info_set(info, HANPMPI_HINT_MODULES, modules));
    snprintf(number, sizeof number, "%d", o->options.segment_bytes);
    BENCH_MPI(MPI_Info_set(info, HANPMPI_HINT_SEGMENT_BYTES, number));
    snprintf(number, sizeof number, "%d", o->options.leaders);
    BENCH_MPI(MPI_Info_set(info, HANPMPI_HINT_LEADERS, number));
    BENCH_MPI(MPI_Comm_dup_with_info(comm, info, &duplicate));
    BENCH_MPI(MPI_Info_free(&info));
    return duplicate;
}

static void fill(const overlap_t *o, collective_t collective, int rank)
{
    for (int i = 0; i < o->count; i++) {
        o->send[i] = rank + i % 7;
        o->recv[i] = collective == BCAST && rank == 0 ? i % 11 : -1;
    }
}

static bool is_right(const overlap_t *o, collective_t collective, int rank, int size)
{
    for (int i = 0; i < o->count; i++) {
        const double sum = (double)size * (size - 1) / 2 + (double)size * (i % 7);
        const double expected = collective == BCAST ? i % 11 : collective == REDUCE && rank != 0 ? -1 : sum;
        if (o->recv[i] != expected)
            return false;
    }
    return true;
}

static void run(const overlap_t *o, collective_t collective, MPI_Comm comm)
{
    switch (collective) {
    case BCAST:
        BENCH_MPI(MPI_Bcast(o->recv, o->count, MPI_DOUBLE, 0, comm));
        break;
    case REDUCE:
        BENCH_MPI(MPI_Reduce(o->send, o->recv, o->count, MPI_DOUBLE, MPI_SUM, 0, comm));
        break;
    default:
        BENCH_MPI(MPI_Allreduce(o->send, o->recv, o->count, MPI_DOUBLE, MPI_SUM, comm));
    }
}

static void sleep_until_all_are_here(const bench_job_t *job)
{
    enum { LOOK_EVERY_US = 500 };
    MPI_Request request;
    int complete = 0;

    BENCH_MPI(MPI_Ibarrier(job->sync, &request));
    BENCH_MPI(MPI_Test(&request, &complete, MPI_STATUS_IGNORE));
    while (!complete) {
        usleep(LOOK_EVERY_US);
        BENCH_MPI(MPI_Test(&request, &complete, MPI_STATUS_IGNORE));
    }
}

/* One call. Returns the slowest rank's time in microseconds. Collective over all ranks. */
static double measure(const overlap_t *o, collective_t collective, MPI_Comm comm)
{
    int rank = 0, size = 0, wrong = 0, any_wrong;
    double mine = 0, slowest;

    if (comm != MPI_COMM_NULL) {
        BENCH_MPI(MPI_Comm_rank(comm, &rank));
        BENCH_MPI(MPI_Comm_size(comm, &size));
        fill(o, collective, rank);
    }
    BENCH_MPI(MPI_Barrier(o->job.sync));
    if (comm != MPI_COMM_NULL) {
        const double start = MPI_Wtime();
        run(o, collective, comm);
        mine = 1e6 * (MPI_Wtime() - start);
    }
    sleep_until_all_are_here(&o->job);
    if (comm != MPI_COMM_NULL)
        wrong = !is_right(o, collective, rank, size);
    BENCH_MPI(MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, o->job.sync));
    BENCH_MPI(MPI_Allreduce(&wrong, &any_wrong, 1, MPI_INT, MPI_MAX, o->job.sync));
    if (any_wrong)
        bench_abort("%s of %zu bytes: a wrong result", collective_names[collective], o->options.bytes);
    return slowest;
}

static uint64_t calls_taken(collective_t collective)
{
    bench_outcomes_t outcomes;
    bench_outcomes_get(collective_names[collective], &outcomes);
    return outcomes.calls[0];
}

/* The times of the three parts. */
static void measure_pair(overlap_t *o, collective_t collective, const char *inter, const char *intra,
                         bench_quantiles_t us[PARTS])
{
    const int repeat = o->options.repeat;
    MPI_Comm comms[PARTS] = {with_hints(o, o->leaders, collective, inter, intra),
                             with_hints(o, o->job.node_comm, collective, inter, intra),
                             with_hints(o, MPI_COMM_WORLD, collective, inter, intra)};
    double *times[PARTS];
    int calls = 0, missed, any_missed;
    const uint64_t before = calls_taken(collective);

    for (int part = 0; part < PARTS; part++)
        times[part] = bench_allocate((size_t)repeat * sizeof *times[part]);
    for (int i = -WARM_UPS; i < repeat; i++)
        for (int part = 0; part < PARTS; part++) {
            const double time_us = measure(o, collective, comms[part]);
            calls += comms[part] != MPI_COMM_NULL;
            if (i >= 0)
                times[part][i] = time_us;
        }
    missed = calls_taken(collective) - before != (uint64_t)calls;
    BENCH_MPI(MPI_Allreduce(&missed, &any_missed, 1, MPI_INT, MPI_MAX, o->job.sync));
    if (any_missed)
        bench_abort("the library did not run every call: is each node's number of ranks above 1?");
    for (int part = 0; part < PARTS; part++) {
        us[part] = bench_quantiles(times[part], repeat);
        free(times[part]);
        if (comms[part] != MPI_COMM_NULL)
            BENCH_MPI(MPI_Comm_free(&comms[part]));
    }
}

static double overlap_rate(double inter, double intra, double total)
{
    return 100 * fmax(0, fmin(1, (inter + intra - total) / fmin(inter, intra)));
}

static void print_row(const char *what, const char *first, const char *second,
                      const bench_quantiles_t us[PARTS])
{
    const double inter = us[INTER].median, intra = us[INTRA].median, total = us[TOTAL].median;

    printf("%-10s %-8s %-12s %12.0f %12.0f %12.0f %9.2f %8.0f%% %8.0f%%\n", what, first, second, inter, intra,
           total, (inter + intra - total) / fmin(inter, intra), overlap_rate(inter, intra, total),
           overlap_rate(us[INTER].min, us[INTRA].min, us[TOTAL].min));
    fflush(stdout);
}

static void print_head(const char *title, const char *what, const char *inter, const char *intra)
{
    printf("#\n# %s: %s\n%-10s %-8s %-12s %12s %12s %12s %9s %9s %9s\n", title, what, "# call", "inter",
           "intra", inter, intra, "t_total us", "unclipped", "overlap", "fastest");
}

static void measure_all(overlap_t *o)
{
    const bool speaks = o->job.rank == 0;
    bench_quantiles_t leaders[COLLECTIVES][INTERS], us[PARTS];

    for (int c = 0; c < COLLECTIVES; c++) {
        if (speaks)
            print_head(collective_names[c], tasks[c], "t_inter us", "t_intra us");
        for (int inter = 0; inter < INTERS; inter++)
            for (int intra = 0; intra < INTRAS; intra++) {
                measure_pair(o, (collective_t)c, inter_modules[inter], intra_modules[intra], us);
                leaders[c][inter] = us[INTER];
                if (speaks)
                    print_row(collective_names[c], inter_modules[inter], intra_modules[intra], us);
            }
    }
    if (!speaks)
        return;
    print_head("leaders alone", "ib and ir", "t_ib us", "t_ir us");
    for (int inter = 0; inter < INTERS; inter++) {
        us[INTER] = leaders[BCAST][inter];
        us[INTRA] = leaders[REDUCE][inter];
        us[TOTAL] = leaders[ALLREDUCE][inter];
        print_row("allreduce", inter_modules[inter], "-", us);
    }
}

static const char usage[] = "usage: LD_PRELOAD=libhanpmpi.so mpirun ... hanpmpi_overlap [--bytes N] "
                            "[--segment N] [--leaders N] [--repeat N]\n"
                            "Measures the overlap rate of each pair of modules, as HAN defines it. Needs "
                            "several nodes of several ranks.\n"
                            "  --bytes N     message size, a multiple of 8 (default 4194304)\n"
                            "  --segment N   bytes of a segment (default 32768)\n"
                            "  --leaders N   ranks of each node that take turns to lead it (default 1)\n"
                            "  --repeat N    repetitions (default 10)\n";

static bool read_number(const char *text, long least, long most, long *out)
{
    char *end;
    *out = strtol(text, &end, 10);
    return end != text && !*end && *out >= least && *out <= most;
}

/* 0, or an exit code; *help: it was asked for. */
static int read_options(options_t *options, int argc, char **argv, bool *help)
{
    static const struct option known[] = {{"bytes", 1, NULL, 'b'},   {"segment", 1, NULL, 's'},
                                          {"leaders", 1, NULL, 'l'}, {"repeat", 1, NULL, 'n'},
                                          {"help", 0, NULL, 'h'},    {0}};
    int letter;
    long bytes = 4194304, segment = 32768, leaders = 1, repeat = 10;
    bool good = true;

    opterr = 0;
    while (good && (letter = getopt_long(argc, argv, "b:s:l:n:h", known, NULL)) != -1)
        switch (letter) {
        case 'b':
            good = read_number(optarg, 8, 1 << 30, &bytes) && bytes % 8 == 0;
            break;
        case 's':
            good = read_number(optarg, 8, 1 << 30, &segment);
            break;
        case 'l':
            good = read_number(optarg, 1, 16, &leaders);
            break;
        case 'n':
            good = read_number(optarg, 1, REPEAT_MAX, &repeat);
            break;
        case 'h':
            *help = true;
            break;
        default:
            good = false;
        }
    *options = (options_t){.bytes = (size_t)bytes,
                           .segment_bytes = (int)segment,
                           .leaders = (int)leaders,
                           .repeat = (int)repeat};
    return good && optind == argc ? 0 : EXIT_BAD_OPTION;
}

int main(int argc, char **argv)
{
    static overlap_t o;
    bool help = false;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int status = read_options(&o.options, argc, argv, &help);
    if (status || help) {
        if (rank == 0)
            fputs(usage, status ? stderr : stdout);
        MPI_Finalize();
        return status;
    }
    bench_job_init(&o.job, NULL, 0, false);
    if (o.job.side_count < BENCH_SIDES || o.job.node_count < 2 || o.job.node_ranks_max < 2) {
        if (rank == 0)
            fprintf(
                stderr,
                "hanpmpi_overlap: needs the library (LD_PRELOAD=libhanpmpi.so), two nodes and two ranks on "
                "one of them\n");
        status = EXIT_BAD_OPTION;
    } else {
        int node_rank;
        BENCH_MPI(MPI_Comm_rank(o.job.node_comm, &node_rank));
        BENCH_MPI(MPI_Comm_split(o.job.sync, node_rank == 0 ? 0 : MPI_UNDEFINED, rank, &o.leaders));
        o.count = (int)(o.options.bytes / sizeof(double));
        o.send = bench_allocate(o.options.bytes);
        o.recv = bench_allocate(o.options.bytes);
        if (rank == 0)
            printf("# hanpmpi_overlap " HANPMPI_VERSION
                   ": %zu bytes, segments of %d, leaders %d, %d ranks on %d nodes, "
                   "medians of %d\n",
                   o.options.bytes, o.options.segment_bytes, o.options.leaders, o.job.size, o.job.node_count,
                   o.options.repeat);
        measure_all(&o);
        free(o.send);
        free(o.recv);
        if (o.leaders != MPI_COMM_NULL)
            BENCH_MPI(MPI_Comm_free(&o.leaders));
    }
    bench_job_fini(&o.job);
    MPI_Finalize();
    return status;
}
