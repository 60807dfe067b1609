#include "pmpi_wrappers/backend/start/job.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "hier/call/stats.h"
#include "hier/executions/execution.h"
#include "pmpi_wrappers/backend/glue/datatypes.h"
#include "pmpi_wrappers/backend/start/handshake.h"
#include "pmpi_wrappers/backend/glue/machine.h"

hp_job_t hp_job;

static void warn_once_per_job(void *context, const char *line)
{
    const int *rank = context;
    if (*rank == 0)
        hp_warn("%s", line);
}

/* A synthetic machine that is too small is filled a second time, which is seldom what was meant. */
static void warn_of_topology(void)
{
    char error[HP_KNOB_TEXT_BYTES];
    hp_synthetic_t machine;

    if (hp_job.rank != 0 || !hp_job.knobs.topology[0] ||
        hp_synthetic_parse(hp_job.knobs.topology, &machine, error, sizeof error) != HP_OK)
        return;
    const uint32_t cores = hp_synthetic_cores(&machine);
    if (cores < (uint32_t)hp_job.size)
        hp_warn("HANPMPI_TOPOLOGY=%s has %u cores for %d ranks: several ranks get the place of one core "
                "(accepted "
                "without a warning: a machine of at least %d cores)",
                hp_job.knobs.topology, cores, hp_job.size, hp_job.size);
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Collective: the line of HANPMPI_VERBOSE=2, by rank 0. The nodes are counted for it alone. */
static void introduce(void)
{
    char mpi[MPI_MAX_LIBRARY_VERSION_STRING] = "an unknown MPI";
    uint64_t *nodes = malloc((size_t)hp_job.size * sizeof *nodes);
    int length, count = 0;
    hp_locality_t here;
    Dl_info own;

    hp_job_locality(&here);
    if (hp_job_all(nodes != NULL) &&
        P(Allgather)(&here.id[HP_LEVEL_NODE], sizeof here.id[0], MPI_BYTE, nodes, sizeof here.id[0], MPI_BYTE,
                     MPI_COMM_WORLD) == MPI_SUCCESS &&
        hp_job.rank == 0) {
        qsort(nodes, (size_t)hp_job.size, sizeof *nodes, by_value);
        for (int i = 0; i < hp_job.size; i++)
            count += i == 0 || nodes[i] != nodes[i - 1];
        P(Get_library_version)(mpi, &length);
        mpi[strcspn(mpi, ",\n")] = '\0'; /* the name and the version stand in front */
        hp_info("version " HANPMPI_VERSION ", %s, backend %s, %d rank%s on %d node%s, %s", mpi, HP_ABI_NAME,
                hp_job.size, hp_job.size > 1 ? "s" : "", count, count > 1 ? "s" : "",
                dladdr((void *)(uintptr_t)hp_job_start, &own) ? own.dli_fname : "an unknown path");
    }
    free(nodes);
}

static uint64_t own_job_id(void)
{
    const uint64_t facts[] = {hp_machine_node_id(), (uint64_t)getpid(), hp_clock_ns()};
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return hp_hash_add(hp_hash_add(HP_HASH_BASIS, facts, sizeof facts), &now, sizeof now);
}

/* name.json becomes name.WORD.json. false: there is no room. */
static bool insert_word(char *path, size_t bytes, const char *word)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    const size_t length = strlen(path), more = strlen(word) + 1;
    const size_t at = dot && dot > path && (!slash || dot > slash + 1) ? (size_t)(dot - path) : length;

    if (length + more >= bytes)
        return false;
    memmove(path + at + more, path + at, length - at + 1);
    path[at] = '.';
    memcpy(path + at + 1, word, more - 1);
    return true;
}

/* A job that MPI_Comm_spawn has started has the settings of the one that started it, which writes its own files meanwhile. */
static void name_files_apart(uint64_t job)
{
    char *const files[] = {hp_job.knobs.trace, hp_job.knobs.profile, hp_job.knobs.explain_json,
                           hp_job.knobs.stall_json};
    char word[32];
    MPI_Comm parent;

    /* Ranks that take turns are simulated: there is no parent, and no such call. */
    if (hp_ranks_take_turns || P(Comm_get_parent)(&parent) != MPI_SUCCESS || parent == MPI_COMM_NULL)
        return;
    snprintf(word, sizeof word, "spawned-%08x", (unsigned)(job ^ job >> 32));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (!files[i][0] || insert_word(files[i], HP_KNOB_TEXT_BYTES, word))
            continue;
        if (hp_job.rank == 0)
            hp_warn("%s: too long a name for .%s to be added, which the files of a spawned job have: it "
                    "writes none",
                    files[i], word);
        files[i][0] = '\0';
    }
}

static bool has_threads(void)
{
    int level;
    return P(Query_thread)(&level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE;
}

void hp_job_start(bool (*has_files)(void))
{
    char who[32];
    hp_agreed_t agreed;

    if (P(Comm_rank)(MPI_COMM_WORLD, &hp_job.rank) != MPI_SUCCESS ||
        P(Comm_size)(MPI_COMM_WORLD, &hp_job.size) != MPI_SUCCESS)
        return;
    snprintf(who, sizeof who, "rank %d", hp_job.rank);
    hp_log_set_who(who);
    hp_knobs_read(&hp_job.knobs, NULL, NULL, NULL); /* how much to say first, then say it */
    hp_log_set_level((int)hp_job.knobs.verbose);
    hp_knobs_read(&hp_job.knobs, NULL, warn_once_per_job, &hp_job.rank);
    hp_job.kernels = hp_kernels_of_word((unsigned)hp_job.knobs.kernels);
    hp_reductions_init(hp_job.kernels);
    hp_job.has_threads = hp_stats_threads = has_threads();
    hp_machine_cores(&hp_job.cores);
    const hp_own_facts_t own = {.node_id = hp_machine_node_id(),
                                .mask_id = hp_job.cores.mask_id,
                                .threads = hp_job.has_threads,
                                .is_alone =
                                    !hp_job.has_threads || hp_job.knobs.progress != HP_PROGRESS_THREAD,
                                .has_files = hp_job.rank == 0 && has_files(),
                                .job_id = own_job_id()};
    hp_job.is_whole = hp_handshake(hp_job.rank, hp_job.size, &own, &hp_job.knobs, &agreed);
    hp_job.active = hp_job.is_whole && !agreed.any_off;
    if (hp_job.is_whole)
        name_files_apart(agreed.job);
    hp_job.nodes = agreed.nodes;
    hp_job.cores.beside = agreed.beside;
    hp_job.cores.sharers = agreed.sharers;
    hp_job.any_threads = agreed.any_threads;
    hp_job.any_alone = agreed.any_alone;
    hp_job.has_files = agreed.has_files;
    if (hp_job.knobs.topology[0])
        hp_job.nodes = HP_NODES_MANY; /* the synthetic machine has its own nodes */
    hp_job.is_timed = hp_job.knobs.stats || hp_job.knobs.record[0] ||
                      (hp_job.rank == 0 && (hp_job.knobs.explain || hp_job.knobs.explain_json[0]));
    hp_job.watches = !hp_ranks_take_turns &&
                     (hp_job.knobs.stall_seconds > 0 || hp_word_signal(hp_job.knobs.stats_signal) > 0);
    if (hp_ranks_take_turns) /* the simulated time is not this process's clock */
        hp_job.knobs.guard = 0;
    hp_job.start_ns = hp_clock_ns();
    if (hp_job.active)
        warn_of_topology();
    if (hp_job.active && agreed.verbose >= HP_LOG_INFO)
        introduce();
}

bool hp_job_all(bool mine)
{
    int one = mine, all = 0;
    return P(Allreduce)(&one, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) == MPI_SUCCESS && all;
}

bool hp_job_share(void *data, size_t bytes)
{
    return hp_handshake_share(hp_job.rank, hp_job.size, data, bytes);
}

static hp_locality_t locality;

/* The program may have bound itself since MPI_Init: then others may have done so, too. */
static void find_cores(hp_cores_t *out)
{
    hp_machine_cores(out);
    if (out->mask_id == hp_job.cores.mask_id)
        out->sharers = hp_job.cores.sharers;
    out->beside = hp_job.cores.beside;
}

static void find_locality(void)
{
    char error[HP_KNOB_TEXT_BYTES];
    hp_synthetic_t machine;

    if (hp_job.knobs.topology[0] &&
        hp_synthetic_parse(hp_job.knobs.topology, &machine, error, sizeof error) == HP_OK) {
        hp_synthetic_locate(&machine, (uint32_t)hp_job.rank, &locality);
        find_cores(&locality.cores);
        return;
    }
    hp_status_t status = hp_machine_locality(&locality);
    find_cores(&locality.cores);
    if (status != HP_OK)
        hp_info("%s: only the node of this rank is known", hp_status_text(status));
}

hp_wait_policy_t hp_job_wait_policy(void)
{
    return hp_wait_policy(&hp_job.knobs, hp_cores_are_crowded(&hp_job.cores), hp_host_yields());
}

void hp_job_locality(hp_locality_t *out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT; /* threads may set communicators up at the same time */
    pthread_once(&once, find_locality);
    *out = locality;
}
