/* hanpmpi_teach.<mpi>: the MPI job of `hanpmpi_tune --teach`, which starts it: asks the host MPI what it is and
 * which control variables it has, or measures its collectives under some of them (trial.h). The library must not
 * be there.
 *
 *    mpirun ... hanpmpi_teach.<mpi> ask PREFIX...        lines of JSON: the job, the variables whose names begin so
 *    mpirun ... hanpmpi_teach.<mpi> measure < plan       lines of JSON: plan.h, trial.h
 *
 * Exit status: 0; 1: an MPI call failed; 2: bad words, a bad plan, or the library is there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/values.h"
#include "cvars.h"
#include "trial.h"

enum { EXIT_BAD = 2 };

/* The shared objects of an MPI in this process. */
static json_t *find_libraries(void)
{
    json_t *found = json_array();
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096], before[4096] = "";

    while (maps && fgets(line, sizeof line, maps)) {
        char *path = strchr(line, '/'), *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        if (!path || !strstr(path, "/libmp") || strcmp(path, before) == 0)
            continue;
        json_array_append_new(found, json_string(path));
        strcpy(before, path);
    }
    if (maps)
        fclose(maps);
    return found;
}

static void ask(const bench_job_t *job, char *const *prefixes, int count)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    if (job->rank != 0)
        return;
    BENCH_MPI(MPI_Get_library_version(version, &length));
    json_t *line =
        json_pack("{s:s, s:s, s:i, s:i, s:i, s:o, s:o}", "teach", "about", "version", version, "ranks",
                  job->size, "nodes", job->node_count, "ranks_per_node", job->node_ranks_max, "libraries",
                  find_libraries(), "cvars", teach_cvars_list(prefixes, count));
    char *text = json_dumps(line, JSON_COMPACT);
    puts(text);
    free(text);
    json_decref(line);
}

/* A line of rank 0's standard input, on all ranks. Not up to its end, of which some launchers do not tell. */
static char *read_plan(const bench_job_t *job)
{
    char *text = NULL;
    size_t room = 0;
    long bytes = 0;

    if (job->rank == 0)
        bytes = getline(&text, &room, stdin);
    BENCH_MPI(MPI_Bcast(&bytes, 1, MPI_LONG, 0, job->sync));
    if (bytes < 0)
        bytes = 0;
    text = bench_extend(text, (size_t)bytes + 1);
    BENCH_MPI(MPI_Bcast(text, (int)bytes, MPI_BYTE, 0, job->sync));
    text[bytes] = '\0';
    return text;
}

static int measure(const bench_job_t *job)
{
    teach_plan_t plan;
    char *text = read_plan(job);
    const char *wrong = teach_plan_init(&plan, text);

    if (!wrong)
        teach_trial_run(job, &plan);
    else if (job->rank == 0)
        fprintf(stderr, "hanpmpi_teach: the plan is wrong: %s\n", wrong);
    teach_plan_fini(&plan);
    free(text);
    return wrong ? EXIT_BAD : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    bench_job_t job;
    int status = EXIT_BAD;

    BENCH_MPI(MPI_Init(&argc, &argv));
    teach_cvars_init();
    bench_types_init();
    bench_job_init(&job, NULL, 0, false);
    if (job.side_count > 1) {
        if (job.rank == 0)
            fprintf(stderr, "hanpmpi_teach: libhanpmpi.so is loaded, but it is the MPI alone that is taught: "
                            "take the library "
                            "out of LD_PRELOAD\n");
    } else if (argc > 1 && strcmp(argv[1], "ask") == 0) {
        ask(&job, argv + 2, argc - 2);
        status = EXIT_SUCCESS;
    } else if (argc == 2 && strcmp(argv[1], "measure") == 0) {
        status = measure(&job);
    } else if (job.rank == 0) {
        fprintf(stderr,
                "hanpmpi_teach: hanpmpi_tune --teach starts this program: accepted words are ask, measure\n");
    }
    bench_job_fini(&job);
    bench_types_fini();
    teach_cvars_fini();
    MPI_Finalize();
    return status;
}
