/* hanpmpi_replay: runs the collectives of a recording again, with the library and without it in turns. --help tells
 * how to use it, docs/hanpmpi_replay.1 too.
 *
 * The parts: options · recording (reads the file) · match (which calls of the ranks belong together) · part (hands each
 * rank its own) · substitute (datatypes and operations) · fresh (memory used for the first time) · run (plays) · output · smpi_trace (--smpi). What is
 * measured and validated with is hanpmpi_bench's. Rank 0 reads, matches and writes. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "smpi_trace.h"

enum { EXIT_WRONG = 1, EXIT_BAD_OPTION = 2 };

/* Everything of a run, on every rank. */
typedef struct {
    replay_options_t options;
    bench_job_t job;
    replay_recording_t recording; /* rank 0's */
    replay_plan_t plan;           /* likewise */
    replay_part_t part;
    replay_run_t run;
    replay_pass_t *passes[BENCH_SIDES];
    uint64_t *taken; /* by name: calls of its collective that the library ran, in all passes */
} replay_t;

/* Rank 0. Says what is wrong. */
static bool read_recording(replay_t *replay, int ranks)
{
    char error[REPLAY_ERROR_BYTES];

    if (!replay_recording_read(&replay->recording, replay->options.recording, error)) {
        fprintf(stderr, "hanpmpi_replay: %s\n", error);
        return false;
    }
    if (ranks > 0 && ranks != replay->recording.ranks) {
        fprintf(stderr,
                "hanpmpi_replay: %s is of %d ranks, and this job has %d: start it with mpirun -np %d\n",
                replay->options.recording, replay->recording.ranks, ranks, replay->recording.ranks);
        return false;
    }
    if (!replay_match(&replay->plan, &replay->recording, error)) {
        fprintf(stderr, "hanpmpi_replay: %s: %s\n", replay->options.recording, error);
        return false;
    }
    return true;
}

static void show_progress(const replay_t *replay, int pass, int passes)
{
    if (replay->job.rank == 0 && isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[Kpass %d of %d%s", pass + 1, passes, pass + 1 < passes ? "" : "\r\033[K");
}

/* The passes of both sides in turns; neither side always comes second. */
static void make_passes(replay_t *replay)
{
    const int passes = replay->options.warmup + replay->options.repeat, sides = replay->job.side_count;

    for (int side = 0; side < sides; side++) {
        replay->passes[side] = replay_allocate((size_t)passes, sizeof(replay_pass_t));
        for (int i = 0; i < passes; i++)
            replay->passes[side][i].by_name_s =
                replay_allocate((size_t)replay->part.name_count, sizeof(double));
    }
    for (int i = 0; i < passes; i++) {
        for (int turn = 0; turn < sides; turn++) {
            const int side = i % 2 ? sides - 1 - turn : turn;
            replay_run_pass(&replay->run, (bench_side_t)side, &replay->passes[side][i]);
        }
        show_progress(replay, i, passes);
    }
}

/* The library counts by collective; the calls of one may have several names. */
static void measure(replay_t *replay)
{
    const int names = replay->part.name_count;

    replay->taken = replay_allocate((size_t)names, sizeof *replay->taken);
    replay_run_check(&replay->run);
    for (int name = 0; name < names; name++)
        replay->taken[name] -= replay_run_taken(&replay->run, name);
    make_passes(replay);
    for (int name = 0; name < names; name++)
        replay->taken[name] += replay_run_taken(&replay->run, name);
}

/* Rank 0. */
static bool write_all(const replay_t *replay, char **argv)
{
    const replay_output_t output = {.job = &replay->job,
                                    .options = &replay->options,
                                    .plan = &replay->plan,
                                    .run = &replay->run,
                                    .passes = {replay->passes[BENCH_HOST], replay->passes[BENCH_LIBRARY]},
                                    .taken = replay->taken,
                                    .argv = argv};
    replay_result_t result;

    replay_result_init(&result, &output);
    const bool json_alone = replay->options.json && strcmp(replay->options.json, "-") == 0;
    replay_output_text(&output, &result, json_alone ? stderr : stdout);
    const bool written = !replay->options.json || replay_output_json(&output, &result, replay->options.json);
    replay_result_fini(&result);
    return written;
}

static int run(replay_t *replay, char **argv)
{
    int good = replay->job.rank != 0 || read_recording(replay, replay->job.size), code = EXIT_BAD_OPTION;

    BENCH_MPI(MPI_Bcast(&good, 1, MPI_INT, 0, replay->job.sync));
    if (!good)
        return code;
    replay_part_share(&replay->part, replay->job.rank == 0 ? &replay->plan : NULL, replay->job.sync);
    if (replay_run_init(&replay->run, &replay->job, &replay->options, &replay->part)) {
        measure(replay);
        good = replay->job.rank != 0 || write_all(replay, argv);
        BENCH_MPI(MPI_Bcast(&good, 1, MPI_INT, 0, replay->job.sync));
        code = good ? 0 : EXIT_WRONG;
    }
    for (int side = 0; side < replay->job.side_count && replay->passes[side]; side++) {
        for (int i = 0; i < replay->options.warmup + replay->options.repeat; i++)
            free(replay->passes[side][i].by_name_s);
        free(replay->passes[side]);
    }
    free(replay->taken);
    replay_run_fini(&replay->run);
    replay_part_fini(&replay->part);
    return code;
}

/* Rank 0. */
static int write_trace(replay_t *replay)
{
    return !read_recording(replay, 0)                                                      ? EXIT_BAD_OPTION
           : replay_smpi_write(&replay->plan, replay->options.smpi, replay->options.flops) ? 0
                                                                                           : EXIT_WRONG;
}

int main(int argc, char **argv)
{
    static replay_t replay;
    int rank, code = 0;

    bench_start_mpi(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bench_types_init();
    const replay_options_result_t read = replay_options_read(&replay.options, argc, argv, rank == 0);
    if (read == REPLAY_OPTIONS_BAD) {
        code = EXIT_BAD_OPTION;
    } else if (read == REPLAY_OPTIONS_RUN && replay.options.smpi) {
        code = rank == 0 ? write_trace(&replay) : 0;
        MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
    } else if (read == REPLAY_OPTIONS_RUN) {
        bench_job_init(&replay.job, replay.options.hints, replay.options.hint_count, false);
        code = run(&replay, argv);
        bench_job_fini(&replay.job);
    }
    replay_plan_fini(&replay.plan);
    replay_recording_fini(&replay.recording);
    replay_options_fini(&replay.options);
    bench_types_fini();
    MPI_Finalize();
    return code;
}
