#include "job.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 4096 };

void bench_abort(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    /* hanpmpi_bench.openmpi, as hanpmpi_bench */
    fprintf(stderr, "%.*s: ", (int)strcspn(program_invocation_short_name, "."),
            program_invocation_short_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    fflush(NULL);
    MPI_Abort(MPI_COMM_WORLD, 1);
    _Exit(1);
}

void *bench_allocate(size_t bytes)
{
    void *memory;
    if (posix_memalign(&memory, PAGE_BYTES, bytes + PAGE_BYTES) != 0)
        bench_abort("no memory for a buffer of %zu bytes: take a smaller --bytes or fewer ranks", bytes);
    return memory;
}

void *bench_extend(void *memory, size_t bytes)
{
    memory = realloc(memory, bytes);
    if (!memory)
        bench_abort("no memory for the times of the repetitions: take a smaller --repeat or --seconds");
    return memory;
}

/* dlsym's pointer becomes a function's: POSIX allows it, ISO C does not say so, hence the copy. */
static bool look_up(void *function, const char *name)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static void find_library(bench_job_t *job)
{
    const char *(*version)(void), *(*backend)(void);

    if (!look_up(&version, "hanpmpi_version") || !look_up(&backend, "hanpmpi_backend"))
        return;
    job->library_version = version();
    job->library_backend = backend();
}

void bench_outcomes_get(const char *collective, bench_outcomes_t *outcomes)
{
    static int (*get)(const char *, unsigned, const char **, uint64_t *);
    static bool looked_up;

    if (!looked_up)
        look_up(&get, "hanpmpi_get_outcome");
    looked_up = true;
    outcomes->count = 0;
    while (get && outcomes->count < BENCH_OUTCOMES_MAX &&
           get(collective, outcomes->count, &outcomes->word[outcomes->count],
               &outcomes->calls[outcomes->count]) == 0)
        outcomes->count++;
}

/* Ranks with the same processor name share a node. */
static void find_nodes(bench_job_t *job)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length;

    BENCH_MPI(MPI_Get_processor_name(name, &length));
    job->names = bench_allocate((size_t)job->size * sizeof name);
    job->node_of = bench_allocate((size_t)job->size * sizeof *job->node_of);
    int *ranks = bench_allocate((size_t)job->size * sizeof *ranks);
    BENCH_MPI(MPI_Allgather(name, sizeof name, MPI_CHAR, job->names, sizeof name, MPI_CHAR, job->sync));
    /* The names of the nodes move to the front of the names of the ranks. */
    for (int r = 0; r < job->size; r++) {
        const char *of_rank = job->names + (size_t)r * sizeof name;
        int node = 0;
        while (node < job->node_count && strcmp(job->names + (size_t)node * sizeof name, of_rank) != 0)
            node++;
        if (node == job->node_count) {
            memmove(job->names + (size_t)node * sizeof name, of_rank, sizeof name);
            ranks[node] = 0;
            job->node_count++;
        }
        job->node_of[r] = node;
        if (++ranks[node] > job->node_ranks_max)
            job->node_ranks_max = ranks[node];
    }
    job->node = job->node_of[job->rank];
    job->node_ranks = ranks[job->node];
    free(ranks);
    BENCH_MPI(MPI_Comm_split(job->sync, job->node, job->rank, &job->node_comm));
}

static MPI_Comm duplicate(MPI_Comm original, char *const *hints, int hint_count)
{
    MPI_Comm comm;
    MPI_Info info;

    BENCH_MPI(MPI_Info_create(&info));
    for (int i = 0; i < hint_count; i++) {
        char key[MPI_MAX_INFO_KEY + 1];
        const char *equals = strchr(hints[i], '=');
        snprintf(key, sizeof key, "%.*s", (int)(equals - hints[i]), hints[i]);
        BENCH_MPI(MPI_Info_set(info, key, equals + 1));
    }
    BENCH_MPI(MPI_Comm_dup_with_info(original, info, &comm));
    BENCH_MPI(MPI_Info_free(&info));
    return comm;
}

MPI_Comm bench_duplicate_host(MPI_Comm comm)
{
    char off[] = HANPMPI_HINT_ENABLE "=off", *const only_off[] = {off};
    return duplicate(comm, only_off, 1);
}

MPI_Comm bench_duplicate_library(MPI_Comm comm, char *const *hints, int hint_count)
{
    return duplicate(comm, hints, hint_count);
}

/* The library's helper thread needs an MPI that several threads may call, and only a program can ask for that. */
void bench_start_mpi(int *argc, char ***argv)
{
    const char *progress = getenv("HANPMPI_PROGRESS");
    int level = MPI_THREAD_SINGLE;

    if (progress && strcmp(progress, "thread") == 0)
        level = MPI_THREAD_MULTIPLE;
    MPI_Init_thread(argc, argv, level, &level);
}

void bench_set_up(MPI_Comm comm)
{
    enum { CALLS = 4, BYTES = 128 << 10 };
    unsigned char *data = bench_allocate(BYTES);

    memset(data, 0, BYTES);
    for (int i = 0; i < CALLS; i++) { /* two kinds: a hint or a knob may have one of them pass */
        BENCH_MPI(MPI_Bcast(data, BYTES, MPI_BYTE, 0, comm));
        BENCH_MPI(MPI_Allreduce(MPI_IN_PLACE, data, BYTES, MPI_BYTE, MPI_BOR, comm));
    }
    free(data);
}

void bench_job_init(bench_job_t *job, char *const *hints, int hint_count, bool sync_library)
{
    bench_job_init_on(job, MPI_COMM_WORLD, hints, hint_count, sync_library);
}

void bench_job_init_on(bench_job_t *job, MPI_Comm comm, char *const *hints, int hint_count, bool sync_library)
{
    memset(job, 0, sizeof *job);
    job->all = comm;
    BENCH_MPI(MPI_Comm_rank(comm, &job->rank));
    BENCH_MPI(MPI_Comm_size(comm, &job->size));
    find_library(job);
    const bool active = job->library_backend && strcmp(job->library_backend, "none") != 0;
    job->side_count = active ? BENCH_SIDES : 1;
    job->sync = sync_library && active ? bench_duplicate_library(comm, NULL, 0) : bench_duplicate_host(comm);
    job->side[BENCH_HOST] = bench_duplicate_host(comm);
    job->side[BENCH_LIBRARY] = active ? bench_duplicate_library(comm, hints, hint_count) : MPI_COMM_NULL;
    find_nodes(job);
    if (active)
        bench_set_up(job->side[BENCH_LIBRARY]);
}

void bench_job_fini(bench_job_t *job)
{
    BENCH_MPI(MPI_Comm_free(&job->node_comm));
    for (int side = 0; side < job->side_count; side++)
        BENCH_MPI(MPI_Comm_free(&job->side[side]));
    BENCH_MPI(MPI_Comm_free(&job->sync));
    free(job->node_of);
    free(job->names);
}
