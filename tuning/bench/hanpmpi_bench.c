/* hanpmpi_bench: measures the library against the host MPI's collectives, inside one run. --help tells
 * how to use it and what its columns mean, docs/hanpmpi_bench.1 too.
 *
 * The parts: options (what is asked for) · job (ranks, nodes, the communicators of both sides) · values (data
 * and what must come out of it) · collectives (the table of what can be measured) · blocks (those with a block a rank) · arrival (patterns) ·
 * calls (a case's calls, one by one) · times (of all ranks) · repeat (how often) · measure (one case, both sides in
 * turns) · mockups, guidelines (the host MPI against mock-ups) · compute, nonblocking, nonblocking_overlap (the same with a computation meanwhile) · limits (what the machine can do) · output (table, CSV, JSON). measure and what is below it know nothing of
 * options and output, so that other programs can use them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"

enum { EXIT_WRONG = 1, EXIT_BAD_OPTION = 2 };

/* Everything of a run, on every rank. */
typedef struct {
    bench_job_t job;
    bench_options_t options;
    bench_machine_t machine;
    bench_limits_t limits;
    bench_compute_t compute;         /* --overlap */
    bench_output_t output;           /* rank 0 */
    size_t region_bytes;             /* of a cold buffer of one rank */
    int row, rows;                   /* progress */
    double copy[2][BENCH_SIZES_MAX]; /* copy bandwidth for warm and cold buffers of each size; 0: not measured
                                        yet */
} bench_t;

/* A node's two buffers a rank go around in what the node has of last-level cache, twice. The smallest node's
 * share is the same for all ranks, because all must take the same turns. Collective. */
static void choose_region(bench_t *bench)
{
    unsigned long long mine =
        bench->options.cold_bytes ? bench->options.cold_bytes : 2 * bench->machine.cache_bytes;
    unsigned long long most;

    mine /= 2 * (unsigned long long)bench->job.node_ranks;
    BENCH_MPI(MPI_Allreduce(&mine, &most, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, bench->job.sync));
    bench->region_bytes = (size_t)most;
}

static bench_case_t make_case(const bench_t *bench, const bench_collective_t *collective, size_t bytes,
                              bool cold, bench_arrival_t arrival, double skew)
{
    const bench_options_t *options = &bench->options;
    return (bench_case_t){.collective = collective,
                          .type = options->type,
                          .op = options->op,
                          .bytes = bytes,
                          .pattern = options->pattern,
                          .ranks = bench->job.size,
                          .root = options->root,
                          .cold = cold,
                          .region_bytes = bench->region_bytes,
                          .arrival = arrival,
                          .skew = skew,
                          .seed = options->seed,
                          .warmup = options->warmup,
                          .repeat = options->repeat,
                          .seconds = options->seconds};
}

/* Whether the largest buffers of all ranks of each node fit into the memory that is free there. The factor 2
 * is for what the MPI and the library need for messages of that size. Collective. */
static bool fits_memory(const bench_t *bench)
{
    const bench_options_t *options = &bench->options;
    struct {
        double share;
        int rank;
    } mine = {0, bench->job.rank}, worst;
    size_t largest = 0, needed = 0;

    for (int i = 0; i < options->size_count; i++)
        largest = options->bytes[i] > largest ? options->bytes[i] : largest;
    for (int i = 0; i < options->collective_count; i++) {
        const bench_case_t what =
            make_case(bench, options->collectives[i], largest, options->cold, BENCH_ARRIVAL_NONE, 0);
        const size_t bytes = bench_buffer_bytes(&what) + 2 * largest +
                             (options->guidelines ? bench_mockup_memory_bytes(&what) : 0);
        needed = bytes > needed ? bytes : needed;
    }
    needed *= (size_t)bench->job.node_ranks;
    mine.share = (double)needed / (double)bench->machine.available_bytes;
    BENCH_MPI(MPI_Allreduce(&mine, &worst, 1, MPI_DOUBLE_INT, MPI_MAXLOC, bench->job.sync));
    if (worst.share > 1 && worst.rank == bench->job.rank)
        fprintf(stderr,
                "hanpmpi_bench: --bytes %zu: the %d ranks on this node would need about %zu MiB of memory, "
                "%zu MiB are "
                "available; take smaller sizes, fewer ranks%s\n",
                largest, bench->job.node_ranks, needed >> 20, bench->machine.available_bytes >> 20,
                options->cold ? ", a smaller --cold-bytes" : "");
    return worst.share <= 1;
}

static void show_progress(bench_t *bench, const bench_case_t *what)
{
    bench->row++;
    if (bench->job.rank == 0 && isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K[%d/%d] %s %zu bytes, %s, %s%s\r", bench->row, bench->rows,
                what->collective->name, what->bytes, what->cold ? "cold" : "warm",
                bench->options.overlap      ? "overlap"
                : bench->options.guidelines ? "guidelines"
                                            : "arrival ",
                bench->options.overlap || bench->options.guidelines ? "" : bench_arrival_name(what->arrival));
}

static void hide_progress(const bench_t *bench)
{
    if (bench->job.rank == 0 && isatty(STDERR_FILENO))
        fputs("\033[K", stderr);
}

static void measure_guidelines(bench_t *bench, const bench_case_t *what)
{
    bench_guidelines_t result;

    show_progress(bench, what);
    bench_guidelines_measure(&bench->job, what, &result);
    hide_progress(bench);
    if (bench->job.rank == 0)
        bench_output_row(&bench->output,
                         &(bench_row_t){.what = what, .result = &result.collective, .guidelines = &result});
    bench_guidelines_fini(&result);
}

static void measure_row(bench_t *bench, const bench_case_t *what, int size_index)
{
    const bench_options_t *options = &bench->options;
    double *copy = &bench->copy[what->cold][size_index];
    bench_nonblocking_result_t result = {0};

    show_progress(bench, what);
    if (*copy <= 0)
        *copy = bench_copy_bandwidth(&bench->job, what->bytes, what->cold ? what->region_bytes : 0);
    if (options->overlap)
        bench_nonblocking_measure(&bench->job, what, &options->plan, &bench->compute, &result);
    else
        bench_measure(&bench->job, what, &result.blocking);
    hide_progress(bench);
    if (bench->job.rank == 0)
        bench_output_row(&bench->output,
                         &(bench_row_t){.what = what,
                                        .result = &result.blocking,
                                        .nonblocking = options->overlap ? &result : NULL,
                                        .bound = bench_bound(&bench->job, &bench->limits, what, *copy),
                                        .copy_bytes_per_second = *copy});
    bench_nonblocking_fini(&result);
}

static void measure_sizes(bench_t *bench, const bench_collective_t *collective, bool cold,
                          bench_arrival_t arrival, double skew)
{
    for (int i = 0; i < (collective->no_data ? 1 : bench->options.size_count); i++) {
        const size_t bytes = collective->no_data ? 0 : bench->options.bytes[i];
        const bench_case_t what = make_case(bench, collective, bytes, cold, arrival, skew);
        if (bench->options.guidelines)
            measure_guidelines(bench, &what);
        else
            measure_row(bench, &what, i);
    }
}

static void measure_arrivals(bench_t *bench, const bench_collective_t *collective, bool cold)
{
    const bench_options_t *options = &bench->options;
    for (int i = 0; i < options->arrival_count; i++) {
        const bench_arrival_t arrival = options->arrivals[i];
        for (int s = 0; s < (arrival == BENCH_ARRIVAL_NONE ? 1 : options->skew_count); s++)
            measure_sizes(bench, collective, cold, arrival, options->skews[s]);
    }
}

static int count_rows(const bench_options_t *options)
{
    int ways = 0, sizes = 0;
    for (int i = 0; i < options->arrival_count; i++)
        ways += options->arrivals[i] == BENCH_ARRIVAL_NONE ? 1 : options->skew_count;
    for (int i = 0; i < options->collective_count; i++)
        sizes += options->collectives[i]->no_data ? 1 : options->size_count;
    return sizes * (options->warm + options->cold) * ways;
}

/* What rank 0 found holds for all. Collective. */
static bool agree(const bench_job_t *job, bool good)
{
    int flag = good;
    BENCH_MPI(MPI_Bcast(&flag, 1, MPI_INT, 0, job->sync));
    return flag;
}

static int run(bench_t *bench, char **argv)
{
    const bench_options_t *options = &bench->options;

    bench_machine_read(&bench->machine);
    choose_region(bench);
    if (!fits_memory(bench))
        return EXIT_BAD_OPTION;
    bench_limits_measure(&bench->job, &bench->limits);
    if (options->overlap)
        bench_compute_init(&bench->compute);
    bench->rows = count_rows(options);
    bench->output = (bench_output_t){.job = &bench->job,
                                     .options = options,
                                     .limits = &bench->limits,
                                     .machine = &bench->machine,
                                     .argv = argv};
    if (!agree(&bench->job, bench->job.rank != 0 || bench_output_begin(&bench->output)))
        return EXIT_BAD_OPTION;
    for (int i = 0; i < options->collective_count; i++) {
        if (options->warm)
            measure_arrivals(bench, options->collectives[i], false);
        if (options->cold)
            measure_arrivals(bench, options->collectives[i], true);
    }
    return agree(&bench->job, bench->job.rank != 0 || bench_output_end(&bench->output)) ? 0 : EXIT_WRONG;
}

int main(int argc, char **argv)
{
    static bench_t bench;
    int rank, size, status = 0;

    bench_start_mpi(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    bench_types_init();
    const bench_options_result_t read = bench_options_read(&bench.options, argc, argv, size, rank == 0);
    if (read == BENCH_OPTIONS_RUN) {
        bench_job_init(&bench.job, bench.options.hints, bench.options.hint_count, bench.options.sync_library);
        status = run(&bench, argv);
        bench_job_fini(&bench.job);
    }
    bench_options_fini(&bench.options);
    bench_types_fini();
    MPI_Finalize();
    return read == BENCH_OPTIONS_BAD ? EXIT_BAD_OPTION : status;
}
