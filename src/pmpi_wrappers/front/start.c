#include "pmpi_wrappers/front/start.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/log.h"
#include "base/words.h"

bool hp_start_is_enabled(void)
{
    const char *value = getenv("HANPMPI_ENABLE");
    bool enabled;
    return !value || !hp_word_boolean(value, &enabled) || enabled; /* the backend reports a bad value */
}

bool hp_start_records(void)
{
    const char *value = getenv("HANPMPI_PROFILE");
    return value && value[0];
}

/* Whoever is asked for this is not there to be asked: read here, not from the knobs. */
static bool is_on(const char *variable)
{
    const char *value = getenv(variable);
    bool on;
    return value && hp_word_boolean(value, &on) && on;
}

void hp_start_require(bool active)
{
    if (active || !is_on("HANPMPI_REQUIRE"))
        return;
    hp_error("HANPMPI_REQUIRE=1, but the library is not active%s: the job ends here",
             hp_start_is_enabled() ? "" : " (HANPMPI_ENABLE=0)");
    fflush(NULL);
    /* The first to leave makes the launcher end the others: who speaks for the job says why before that. */
    if (!hp_start_speaks_for_job())
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    _exit(EXIT_FAILURE); /* no MPI_COMM_WORLD is known here to abort; the launcher ends the other ranks */
}

/* The backend reads HANPMPI_VERBOSE with its checks; the few warnings that come before it heed it too. 101:
 * before the constructors that may warn. */
__attribute__((constructor(101))) static void read_verbosity(void)
{
    const char *value = getenv("HANPMPI_VERBOSE");
    if (value && value[0] >= '0' && value[0] <= '3' && !value[1])
        hp_log_set_level(value[0] - '0');
}

int hp_start_thread_level(const hp_host_mpi_t *host)
{
    const int multiple = 3, multiple_of_standard_abi = 4096; /* MPI_THREAD_MULTIPLE */
    const char *progress = getenv("HANPMPI_PROGRESS"), *stall = getenv("HANPMPI_STALL_SECONDS");
    const bool wanted = (progress && strcmp(progress, "thread") == 0) || (stall && atoll(stall) > 0);

    if (!wanted || !hp_start_is_enabled() || !host->abi)
        return -1;
    return strcmp(host->abi, "mpiabi") == 0 ? multiple_of_standard_abi : multiple;
}

/* The rank as the launcher tells it in the environment, NULL when this is no rank of a job. */
static const char *rank_text(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    const char *text = NULL;
    for (size_t i = 0; i < sizeof variables / sizeof *variables && !text; i++)
        text = getenv(variables[i]);
    return text;
}

bool hp_start_is_rank(void)
{
    return rank_text() != NULL;
}

bool hp_start_speaks_for_job(void)
{
    const char *rank = rank_text();
    return !rank || strcmp(rank, "0") == 0;
}

static bool own_directory(char *directory, size_t room)
{
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)hp_start_is_enabled, &info))
        return false;
    char *resolved = realpath(info.dli_fname, NULL);
    if (!resolved)
        return false;
    char *slash = strrchr(resolved, '/');
    if (slash)
        *slash = '\0';
    bool fits = snprintf(directory, room, "%s/hanpmpi", resolved) < (int)room;
    free(resolved);
    return fits;
}

static void list_installed(const char *directory, char *text, size_t room)
{
    size_t used = 0;
    DIR *dir = opendir(directory);

    snprintf(text, room, "none");
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir)) && used < room;) {
        char abi[64] = "";
        if (sscanf(entry->d_name, "libhanpmpi-%63[^.].so", abi) == 1)
            used += (size_t)snprintf(text + used, room - used, "%s%s", used ? ", " : "", abi);
    }
    closedir(dir);
}

static void warn_no_backend(const hp_host_mpi_t *host, const char *directory, const char *reason)
{
    char installed[256];
    if (!hp_start_speaks_for_job())
        return;
    list_installed(directory, installed, sizeof installed);
    hp_warn(
        "no backend for this MPI, so it runs without the library: detected %s (%s); installed in %s: %s; %s",
        host->abi ? host->abi : "an unknown ABI", host->path, directory, installed, reason);
}

static const char *backend_kind(void)
{
    const char *wanted = dlsym(RTLD_DEFAULT, HP_BACKEND_KIND_SYMBOL);
    return wanted ? wanted : "libhanpmpi";
}

const hp_backend_t *hp_start_open_backend(const hp_host_mpi_t *host, const hp_function_t *mpi_calls,
                                          hp_find_fn_t find)
{
    char directory[PATH_MAX], file[PATH_MAX + 64];

    if (!own_directory(directory, sizeof directory)) {
        warn_no_backend(host, "?", "the library cannot find its own directory");
        return NULL;
    }
    if (!host->abi) {
        warn_no_backend(host, directory, "known ABIs: openmpi, mpich, mpiabi");
        return NULL;
    }
    snprintf(file, sizeof file, "%s/%s-%s.so", directory, backend_kind(), host->abi);
    hp_host_mpi_make_global(host);
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        warn_no_backend(host, directory, dlerror());
        return NULL;
    }
    hp_backend_open_fn_t open_backend =
        (hp_backend_open_fn_t)(uintptr_t)dlsym(handle, HP_BACKEND_OPEN_SYMBOL);
    const hp_backend_t *backend = open_backend ? open_backend(mpi_calls, find) : NULL;
    if (!backend || strcmp(backend->version, HANPMPI_VERSION) != 0) {
        warn_no_backend(host, directory, "the one found does not fit: install the library again");
        return NULL;
    }
    return backend;
}

/* Between sessions there is no communicator of all ranks on which they could agree that all have the library. */
void hp_start_explain_session(void)
{
    static const char text[] = "MPI_Session_init without MPI_Init: collectives on communicators of sessions "
                               "alone pass through to the "
                               "host MPI; the library becomes active in MPI_Init or MPI_Init_thread%s";

    if (!hp_start_is_enabled() || !hp_start_speaks_for_job())
        return;
    if (is_on("HANPMPI_STATS") || is_on("HANPMPI_REQUIRE"))
        hp_warn(text, ", so there are no statistics yet");
    else
        hp_info(text, "");
}
