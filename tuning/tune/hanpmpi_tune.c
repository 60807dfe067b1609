/* hanpmpi_tune: finds the best configuration of the library for each collective and size on the nodes and
 * ranks it runs on, and writes rules. --help tells how to use it, docs/hanpmpi_tune.1 too.
 *
 * The parts: options (what is asked for) · layout, space (what could run) · heuristics (what is worth a try) ·
 * patterns, cells (what a recording calls) · model (from short messages to long ones) · lab, book (measurements,
 * made once) · search (the four searches), search_patterns · crossing, rules (from choices to ranges) · work (all
 * of these in order) · runner (measures; the only one that calls MPI's collectives) · estimate (a clock for plans)
 * · journal, progress, table, report_json, schedules (what is written). Rank 0 does all of it; the others do what its runner
 * orders. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/arrival.h"
#include "bench/limits.h"
#include "bench/machine.h"
#include "cells.h"
#include "journal.h"
#include "progress.h"
#include "report.h"
#include "runner.h"
#include "schedules.h"
#include "tasks/hanpmpi_tasks.h"

enum { EXIT_WRONG = 1, EXIT_BAD_OPTION = 2, NETWORK_BYTES = 128 };

static volatile sig_atomic_t interrupted;

/* Everything of a run, on every rank. */
typedef struct {
    tune_options_t options;
    bench_job_t job;
    bench_machine_t machine;
    tune_layout_t layout;
    tune_rates_t limits; /* as measured */
    tune_list_t lists[TUNE_COLLECTIVES];
    tune_knowledge_t knowledge;
    json_t *rules;               /* rank 0: of all layouts until now */
    char network[NETWORK_BYTES]; /* fingerprint; "": none is known */
} tune_t;

/* What stands behind a lab that measures: rank 0. */
typedef struct {
    tune_progress_t progress;
    tune_journal_t journal;
    tune_estimator_t plan;
    double ends, pauses; /* the clock's seconds: all of it, and a collective's share; 0: no limit */
} watcher_t;

static double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A second one ends the program: SA_RESETHAND. */
static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static bool may_go_on(void *context)
{
    const watcher_t *watcher = context;
    return !interrupted && (watcher->ends <= 0 || clock_seconds() < watcher->pauses);
}

static void share(void *context, int parts)
{
    watcher_t *watcher = context;
    const double now = clock_seconds();
    watcher->pauses = watcher->ends <= 0 ? 0 : now + (watcher->ends - now) / parts;
}

static void measured(void *context, const tune_record_t *record, bool is_new)
{
    watcher_t *watcher = context;

    if (is_new)
        tune_journal_add(&watcher->journal, record);
    tune_progress_step(&watcher->progress, record->key.collective,
                       tune_key_bytes(watcher->plan.options, &record->key),
                       tune_estimator_seconds(&watcher->plan, &record->key), is_new, clock_seconds());
}

/* ---- before ---- */

/* The node of each rank, to be freed. Rank 0's answer, for the environment may differ. */
static int *find_nodes(const tune_t *tune)
{
    const char *topology = getenv("HANPMPI_TOPOLOGY");
    int *node_of = bench_allocate((size_t)tune->job.size * sizeof *node_of);

    if (!topology || !tune_layout_synthetic(topology, node_of, tune->job.size))
        memcpy(node_of, tune->job.node_of, (size_t)tune->job.size * sizeof *node_of);
    BENCH_MPI(MPI_Bcast(node_of, tune->job.size, MPI_INT, 0, tune->job.sync));
    return node_of;
}

/* What nothing is known of keeps the default. */
static double known(double measured, double by_default)
{
    return measured > 0 ? measured : by_default;
}

static void measure_limits(tune_t *tune)
{
    enum { COPY_BYTES = 1 << 20 };
    const tune_rates_t guess = tune_rates_default(&tune->layout);
    bench_limits_t limits;

    bench_limits_measure(&tune->job, &limits);
    tune->limits =
        (tune_rates_t){.layout = tune->layout,
                       .between_us = limits.link_latency_us,
                       .inside_us = limits.node_latency_us,
                       .link_bytes_per_us = 1e-6 * limits.link_bytes_per_second,
                       .copy_bytes_per_us = 1e-6 * bench_copy_bandwidth(&tune->job, COPY_BYTES, 0)};
    const bool one_node = tune->layout.nodes == 1;
    tune->knowledge = (tune_knowledge_t){
        .layout = tune->layout,
        .latency_us = one_node ? known(tune->limits.inside_us, guess.inside_us)
                               : known(tune->limits.between_us, guess.between_us),
        .bytes_per_us = one_node ? known(tune->limits.copy_bytes_per_us, guess.copy_bytes_per_us)
                                 : known(tune->limits.link_bytes_per_us, guess.link_bytes_per_us),
        .choices = &tune->options.choices};
}

static tune_estimator_t make_estimator(const tune_t *tune)
{
    const tune_rates_t guess = tune_rates_default(&tune->layout);
    return (tune_estimator_t){
        .options = &tune->options,
        .lists = tune->lists,
        .rates = {.layout = tune->layout,
                  .between_us = known(tune->limits.between_us, guess.between_us),
                  .inside_us = known(tune->limits.inside_us, guess.inside_us),
                  .link_bytes_per_us = known(tune->limits.link_bytes_per_us, guess.link_bytes_per_us),
                  .copy_bytes_per_us = known(tune->limits.copy_bytes_per_us, guess.copy_bytes_per_us)}};
}

/* The searches on paper: what they would measure, and how long it would take. */
static void make_plan(const tune_t *tune, tune_estimator_t *plan, tune_results_t *results)
{
    tune_lab_t lab;

    *plan = make_estimator(tune);
    tune_lab_init(&lab, &tune->options, tune->lists, &tune->knowledge);
    lab.measure = tune_estimator_measure;
    lab.meter = plan;
    tune_work(&lab, tune_runner_has_lockstep(), results);
    tune_lab_fini(&lab);
}

/* Configurations that differ in the segment's size alone on one line. */
static void print_space(const tune_t *tune, tune_collective_t collective)
{
    const tune_list_t *list = &tune->lists[collective];
    char segment[32];

    printf("%s, %d configurations:", tune_collective_name(collective), list->count);
    for (int i = 0; i < list->count; i++) {
        const tune_config_t *config = &list->configs[i];
        if (i > 0 && tune_has_segments(config) && tune_space_same_base(config, config - 1)) {
            tune_bytes_word(config->segment_bytes, segment);
            printf(" %s", segment);
        } else {
            printf("\n  %s", config->id);
        }
    }
    putchar('\n');
}

static void print_sizes(const char *of, const tune_sizes_t *sizes)
{
    char size[32];

    printf("%d sizes%s:", sizes->count, of);
    for (int i = 0; i < sizes->count; i++) {
        tune_bytes_word(sizes->bytes[i], size);
        printf(" %s", size);
    }
    putchar('\n');
}

/* Of each collective, where a recording has them. */
static void print_own_sizes(const tune_options_t *options)
{
    char of[64];

    for (unsigned c = 0; c < TUNE_COLLECTIVES; c++) {
        snprintf(of, sizeof of, " of %s", tune_collective_name((tune_collective_t)c));
        if (tune_is_searched(options, c))
            print_sizes(of, &options->own[c]);
    }
    printf("%d patterns\n", options->patterns->count);
}

static void print_plan(const tune_t *tune, const tune_estimator_t *plan, const tune_results_t *results)
{
    const tune_options_t *options = &tune->options;
    char duration[32];

    printf("%d nodes, %d to %d ranks each\n", tune->layout.nodes, tune->layout.least_ranks,
           tune->layout.most_ranks);
    if (options->patterns) {
        print_own_sizes(options);
    } else {
        print_sizes("", &options->messages);
        print_sizes(" of a block", &options->blocks);
    }
    for (int collective = 0; collective < TUNE_COLLECTIVES; collective++)
        if (options->collectives[collective])
            print_space(tune, (tune_collective_t)collective);
    puts("Heuristics:");
    for (int i = 0; tune_heuristics_text(i); i++)
        printf("  %s\n", tune_heuristics_text(i));
    for (int id = 0; id < TUNE_SEARCHES; id++)
        if (options->searches[id]) {
            tune_duration_text(duration, results->searches[id].cost.seconds);
            printf("%-16s %6d measurements, %s\n", tune_search_name((tune_search_id_t)id),
                   results->searches[id].cost.measurements, duration);
        }
    tune_duration_text(duration, plan->seconds);
    printf("With the host's times, crossing points%s: %d measurements, about %s\n",
           options->compare ? ", lock-step tasks, evaluation" : "", plan->measurements, duration);
}

/* ---- the run ---- */

static void library_version(char text[MPI_MAX_LIBRARY_VERSION_STRING])
{
    int length;
    BENCH_MPI(MPI_Get_library_version(text, &length));
    text[strcspn(text, ",\n")] = '\0'; /* "Open MPI v4.1.4, package: ..." */
    for (char *c = strpbrk(text, "\t\"\\"); c; c = strpbrk(c, "\t\"\\"))
        *c = ' '; /* "MPICH Version:\t4.0.2": it goes into a line of JSON */
}

static void first_line(const tune_t *tune, char *text, size_t room)
{
    char mpi[MPI_MAX_LIBRARY_VERSION_STRING], patterns[64] = "", network[NETWORK_BYTES + 32] = "";

    library_version(mpi);
    if (tune->options.patterns)
        snprintf(patterns, sizeof patterns, ",\"patterns\":\"%llx\"",
                 tune_patterns_hash(tune->options.patterns));
    if (tune->network[0])
        snprintf(network, sizeof network, ",\"network\":\"%s\"", tune->network);
    snprintf(
        text, room,
        "{\"program\":\"hanpmpi_tune %s\",\"mpi\":\"%s\",\"nodes\":%d,\"ranks\":[%d,%d],\"repeat\":%d%s%s}",
        HANPMPI_VERSION, mpi, tune->layout.nodes, tune->layout.least_ranks, tune->layout.most_ranks,
        tune->options.repeat, patterns, network);
}

/* --routines. comm: one that is set up. */
static bool write_routines(const tune_t *tune, const tune_report_t *report, MPI_Comm comm)
{
    tune_report_routines(report);
    const int count = tune_schedules_write(report, comm, tune->options.schedules);
    if (count >= 0)
        printf("\n%d algorithms as files, for HANPMPI_SCHEDULES: %s\n", count, tune->options.schedules);
    return count >= 0;
}

/* comm: one that is set up. */
static bool write_all(const tune_t *tune, const tune_lab_t *lab, const tune_results_t *results, MPI_Comm comm)
{
    char mpi[MPI_MAX_LIBRARY_VERSION_STRING], machine[sizeof tune->machine.processor + 32];
    const tune_report_t report = {mpi, machine, tune->layout, tune->limits, lab, results};

    library_version(mpi);
    snprintf(machine, sizeof machine, "%s, %d cores", tune->machine.processor, tune->machine.cores);
    /* The files first: a launcher that was interrupted gives little time. */
    bool written = tune_rules_write(&results->rules, tune->lists, &tune->layout, tune->network, tune->rules,
                                    tune->options.rules);
    written = tune_report_write(&report, tune->options.results) && written;
    tune_report_table(&report);
    if (tune->options.routines)
        written = write_routines(tune, &report, comm) && written;
    printf("\n%zu rules: %s; every figure: %s\n", json_array_size(tune->rules), tune->options.rules,
           tune->options.results);
    return written;
}

static void print_end_reason(const tune_t *tune)
{
    fprintf(stderr,
            "hanpmpi_tune: %s; what was measured is in %s: start again with the same options to go on\n",
            interrupted ? "ended by a signal" : "the time is up", tune->options.journal);
}

/* Rank 0. Returns the exit code. */
static int tune_and_write(tune_t *tune, tune_runner_t *runner, tune_results_t *results)
{
    char line[MPI_MAX_LIBRARY_VERSION_STRING + 256];
    watcher_t watcher = {.ends = tune->options.seconds > 0 ? clock_seconds() + tune->options.seconds : 0};
    tune_lab_t lab;

    share(&watcher, 1);
    make_plan(tune, &watcher.plan, results);
    tune_results_fini(results);
    tune_lab_init(&lab, &tune->options, tune->lists, &tune->knowledge);
    lab.measure = tune_runner_measure;
    lab.meter = runner;
    lab.may_go_on = may_go_on;
    lab.share = share;
    lab.measured = measured;
    lab.watcher = &watcher;
    first_line(tune, line, sizeof line);
    const tune_journal_result_t opened = tune_journal_open(&watcher.journal, tune->options.journal, line,
                                                           tune->options.restart, tune->lists, &lab.book);
    int code = opened == TUNE_JOURNAL_OTHER ? EXIT_BAD_OPTION : EXIT_WRONG;
    if (opened == TUNE_JOURNAL_OPEN) {
        tune_results_init(results, tune->lists);
        tune_progress_init(&watcher.progress, watcher.plan.measurements, watcher.plan.seconds,
                           clock_seconds());
        tune_work(&lab, tune_runner_has_lockstep(), results);
        tune_progress_end(&watcher.progress);
        const bool ended = !may_go_on(&watcher),
                   written = write_all(tune, &lab, results, runner->sides[0].comm);
        tune_journal_close(&watcher.journal, written && !ended);
        if (ended)
            print_end_reason(tune);
        tune_results_fini(results);
        code = written ? 0 : EXIT_WRONG;
    }
    tune_lab_fini(&lab);
    return code;
}

static int run(tune_t *tune)
{
    static tune_results_t results;
    tune_runner_t runner;
    int code = 0;

    measure_limits(tune);
    tune_space_init(tune->lists, &tune->options.choices, &tune->layout);
    if (tune->options.dry_run) {
        if (tune->job.rank == 0) {
            tune_estimator_t plan;
            tune_results_init(&results, tune->lists);
            make_plan(tune, &plan, &results);
            print_plan(tune, &plan, &results);
            tune_results_fini(&results);
        }
    } else {
        tune_runner_init(&runner, &tune->job, &tune->options, tune->lists);
        if (tune->job.rank == 0) {
            tune_results_init(&results, tune->lists);
            code = tune_and_write(tune, &runner, &results);
            tune_runner_dismiss(&runner);
        } else {
            tune_runner_follow(&runner);
        }
        tune_runner_fini(&runner);
    }
    tune_space_fini(tune->lists);
    BENCH_MPI(MPI_Bcast(&code, 1, MPI_INT, 0, tune->job.sync));
    return code;
}

/* ---- of all ranks, or of a recording's communicators ---- */

static int run_on_all(tune_t *tune, const int *node_of)
{
    tune_layout_init(&tune->layout, node_of, tune->job.size);
    return tune_options_fit(&tune->options, &tune->layout, tune->job.rank == 0) ? run(tune) : EXIT_BAD_OPTION;
}

/* By the ranks of the communicator. */
static int run_on(tune_t *all, const tune_cells_class_t *class, int number, double seconds, MPI_Comm comm)
{
    static tune_t tune;

    tune = *all;
    tune_options_narrow(&tune.options, &all->options, number, class->collectives, class->on_patterns,
                        class->sizes, &class->patterns);
    tune.options.seconds = seconds;
    tune.layout = class->layout;
    tune_options_fit(&tune.options, &tune.layout, true);
    bench_job_init_on(&tune.job, comm, NULL, 0, false);
    if (tune.job.rank == 0)
        printf("%s%d ranks on %d nodes: %.0f%% of the recorded time in collectives\n", number ? "\n" : "",
               class->layout.ranks, class->layout.nodes, 100 * class->share);
    const int code = run(&tune);
    bench_job_fini(&tune.job);
    tune_options_fini(&tune.options);
    return code;
}

/* Ranks that do not take part leave the cores to those that do. */
static void wait_asleep(const tune_t *tune)
{
    const double look_every_s = 1e-3;
    MPI_Request request;
    int complete = 0;

    BENCH_MPI(MPI_Ibarrier(tune->job.sync, &request));
    BENCH_MPI(MPI_Test(&request, &complete, MPI_STATUS_IGNORE));
    while (!complete) {
        bench_arrival_wait(MPI_Wtime(), look_every_s);
        BENCH_MPI(MPI_Test(&request, &complete, MPI_STATUS_IGNORE));
    }
}

/* Time is shared out by what the classes' calls took in the recording. */
static double seconds_for(const tune_t *tune, const tune_cells_t *cells, int number, double began)
{
    double left = 0;

    for (int i = number; i < cells->count; i++)
        left += cells->classes[i].share;
    const double seconds = tune->options.seconds - (clock_seconds() - began);
    /* What is left after the end is so little that nothing is measured. */
    return tune->options.seconds <= 0 ? 0
           : seconds <= 0             ? 1e-6
                                      : seconds * cells->classes[number].share / left;
}

static int run_on_classes(tune_t *tune, const int *node_of)
{
    const double began = clock_seconds();
    tune_cells_t cells;
    MPI_Group world, group;
    MPI_Comm comm;
    int code = 0;

    if (!tune_cells_read(&cells, &tune->options, node_of, tune->job.sync)) {
        tune_cells_fini(&cells);
        return EXIT_BAD_OPTION;
    }
    BENCH_MPI(MPI_Comm_group(tune->job.sync, &world));
    for (int i = 0; i < cells.count && code == 0; i++) {
        const tune_cells_class_t *class = &cells.classes[i];
        int self;
        BENCH_MPI(MPI_Group_incl(world, class->layout.ranks, class->world_ranks, &group));
        BENCH_MPI(MPI_Group_rank(group, &self));
        if (self != MPI_UNDEFINED) {
            BENCH_MPI(MPI_Comm_create_group(tune->job.sync, group, 0, &comm));
            code = run_on(tune, class, i, seconds_for(tune, &cells, i, began), comm);
            BENCH_MPI(MPI_Comm_free(&comm));
        }
        BENCH_MPI(MPI_Group_free(&group));
        wait_asleep(tune);
        BENCH_MPI(MPI_Bcast(&code, 1, MPI_INT, 0, tune->job.sync)); /* which is in all of them */
    }
    BENCH_MPI(MPI_Group_free(&world));
    tune_cells_fini(&cells);
    return code;
}

/* The same on all ranks. false: --routines has none to tune for, and that was said. */
static bool find_network(tune_t *tune)
{
    const hanpmpi_network_fingerprint_fn_t fingerprint = hanpmpi_find_network_fingerprint();

    tune->options.choices.network = fingerprint && fingerprint(tune->network, sizeof tune->network) == 0;
    if (!tune->options.choices.network && tune->options.routines && tune->job.rank == 0)
        fputs("hanpmpi_tune: --routines: no network is known: accepted with HANPMPI_NETWORK=FILE, a "
              "network (man 5 "
              "hanpmpi-network) with all hosts of the job\n",
              stderr);
    return tune->options.choices.network || !tune->options.routines;
}

/* Rank 0's answer. */
static int run_all(tune_t *tune)
{
    if (!find_network(tune))
        return EXIT_BAD_OPTION;
    int *node_of = find_nodes(tune);

    tune->rules = json_array();
    const int code = tune->options.pattern ? run_on_classes(tune, node_of) : run_on_all(tune, node_of);
    json_decref(tune->rules);
    free(node_of);
    return code;
}

int main(int argc, char **argv)
{
    static tune_t tune;
    int rank, code = EXIT_BAD_OPTION;

    MPI_Init(&argc, &argv);
    catch_signals();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bench_types_init();
    const tune_options_result_t read = tune_options_read(&tune.options, argc, argv, rank == 0);
    if (read == TUNE_OPTIONS_RUN) {
        bench_job_init(&tune.job, NULL, 0, false);
        bench_machine_read(&tune.machine);
        if (tune.job.side_count == BENCH_SIDES)
            code = run_all(&tune);
        else if (rank == 0)
            fputs("hanpmpi_tune: the library is not there: run it with LD_PRELOAD=libhanpmpi.so (on every "
                  "host), "
                  "without HANPMPI_ENABLE=0\n",
                  stderr);
        bench_job_fini(&tune.job);
    }
    tune_options_fini(&tune.options);
    bench_types_fini();
    MPI_Finalize();
    return read == TUNE_OPTIONS_DONE ? 0 : code;
}
