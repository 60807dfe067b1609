/* front: the exported MPI_X and PMPI_X, and where each call goes.
 *
 * Every wrapped function has two targets: one for MPI_X, one for PMPI_X. Both start at a bootstrap that finds
 * the MPI, and from then on point straight at their destination, so a call costs one load and one jump:
 *
 *   program -> MPI_X  -> [profiler's MPI_X -> PMPI_X ->] backend's X, or PMPI_X of the host MPI
 *   Open MPI's Fortran, a profiler before us -> PMPI_X -> the same
 *
 * Arguments travel as uintptr_t (arguments.h). Threads: the bootstrap runs under a lock;
 * targets are plain pointers that change only before MPI_Init returns. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "pmpi_wrappers/front/exports.h"
#include "pmpi_wrappers/front/host_mpi.h"
#include "pmpi_wrappers/front/large_counts.h"
#include "pmpi_wrappers/front/start.h"

#define HP_WRAPPED(name, arguments)                                                                          \
    static int boot_MPI_##name(PARAMETERS_##arguments);                                                      \
    static int boot_PMPI_##name(PARAMETERS_##arguments);
#include "pmpi_wrappers/wrapped.def"
#undef HP_WRAPPED

static hp_function_t mpi_targets[HP_WRAPPED_COUNT] = {
#define HP_WRAPPED(name, arguments) [HP_WRAPPED_##name] = (hp_function_t)boot_MPI_##name,
#include "pmpi_wrappers/wrapped.def"
#undef HP_WRAPPED
};
static hp_function_t pmpi_targets[HP_WRAPPED_COUNT] = {
#define HP_WRAPPED(name, arguments) [HP_WRAPPED_##name] = (hp_function_t)boot_PMPI_##name,
#include "pmpi_wrappers/wrapped.def"
#undef HP_WRAPPED
};

static hp_host_mpi_t host;
static hp_function_t host_functions[HP_WRAPPED_COUNT]; /* the host MPI's */

static const char *const wrapped_names[HP_WRAPPED_COUNT] = {
#define HP_WRAPPED(name, arguments) [HP_WRAPPED_##name] = "PMPI_" #name,
#include "pmpi_wrappers/wrapped.def"
#undef HP_WRAPPED
};

/* ---- the exported functions ---- */

#define HP_WRAPPED(name, arguments)                                                                          \
    EXPORT int MPI_##name(PARAMETERS_##arguments);                                                           \
    EXPORT int MPI_##name(PARAMETERS_##arguments)                                                            \
    {                                                                                                        \
        return ((int (*)(PARAMETERS_##arguments))mpi_targets[HP_WRAPPED_##name])(ARGUMENTS_##arguments);     \
    }                                                                                                        \
    EXPORT int PMPI_##name(PARAMETERS_##arguments);                                                          \
    EXPORT int PMPI_##name(PARAMETERS_##arguments)                                                           \
    {                                                                                                        \
        return ((int (*)(PARAMETERS_##arguments))pmpi_targets[HP_WRAPPED_##name])(ARGUMENTS_##arguments);    \
    }
#include "pmpi_wrappers/wrapped.def"
#undef HP_WRAPPED

/* ---- MPI_Init and MPI_Finalize ---- */

static hp_function_t find(const char *symbol)
{
    return hp_host_mpi_function(&host, symbol);
}

static void start_backend(void)
{
    hp_function_t calls[HP_MPI_CALL_COUNT] = {
#define HP_MPI_CALL(name) [HP_MPI_CALL_##name] = hp_host_mpi_function(&host, "PMPI_" #name),
#include "pmpi_wrappers/mpi_calls.def"
#undef HP_MPI_CALL
    };
    const bool is_enabled = hp_start_is_enabled();

    if (hp_front.backend || (!is_enabled && !hp_start_records()))
        return;
    const hp_backend_t *found = hp_start_open_backend(&host, calls, find);
    if (!found)
        return;
    for (unsigned i = 0; i < HP_WRAPPED_COUNT; i++) {
        if (!is_enabled || !found->wrapped[i] || !host_functions[i])
            continue;
        if (mpi_targets[i] == pmpi_targets[i]) /* no profiler in between */
            mpi_targets[i] = found->wrapped[i];
        pmpi_targets[i] = found->wrapped[i];
    }
    hp_front.backend = found;
    hp_front.active = found->after_init();
    for (unsigned i = 0; i < HP_WRAPPED_COUNT;
         i++) { /* above a profiler, whose own calls are not the program's */
        const bool is_one = mpi_targets[i] == pmpi_targets[i];
        mpi_targets[i] = found->record((hp_wrapped_t)i, mpi_targets[i]);
        if (is_one)
            pmpi_targets[i] = mpi_targets[i];
    }
}

static bool has_begun, is_bypassed;

static void begin(void)
{
    has_begun = true;
    start_backend();
    hp_start_require(hp_front.active);
}

static void end(void)
{
    static bool has_ended;

    if (has_ended)
        return;
    has_ended = true;
    hp_front.active = false;
    if (hp_front.backend)
        hp_front.backend->before_finalize();
}

static int host_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    return ((int (*)(int *, char ***, int, int *))host_functions[HP_WRAPPED_Init_thread])(argc, argv,
                                                                                          required, provided);
}

static int front_Init(int *argc, char ***argv)
{
    const int level = hp_start_thread_level(&host);
    int provided;

    int code = level >= 0 ? host_Init_thread(argc, argv, level, &provided)
                          : ((int (*)(int *, char ***))host_functions[HP_WRAPPED_Init])(argc, argv);
    if (code == 0)
        begin();
    return code;
}

static int front_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    const int level = hp_start_thread_level(&host);

    int code = host_Init_thread(argc, argv, level > required ? level : required, provided);
    if (code == 0)
        begin();
    return code;
}

static int front_Session_init(uintptr_t info, uintptr_t handler, uintptr_t session)
{
    static atomic_flag explained = ATOMIC_FLAG_INIT;

    if (!hp_front.backend && !atomic_flag_test_and_set(&explained))
        hp_start_explain_session();
    return ((int (*)(uintptr_t, uintptr_t, uintptr_t))host_functions[HP_WRAPPED_Session_init])(info, handler,
                                                                                               session);
}

static int front_Finalize(void)
{
    end();
    return ((int (*)(void))host_functions[HP_WRAPPED_Finalize])();
}

/* ---- profilers behind the library that find the MPI's functions themselves, past ours ---- */

static hp_function_t profilers[HP_WRAPPED_COUNT];

static int begin_if_bypassed(int code)
{
    if (code == 0 && !has_begun) {
        is_bypassed = true;
        begin();
    }
    return code;
}

static int outer_Init(int *argc, char ***argv)
{
    return begin_if_bypassed(((int (*)(int *, char ***))profilers[HP_WRAPPED_Init])(argc, argv));
}

static int outer_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    return begin_if_bypassed(((int (*)(int *, char ***, int, int *))profilers[HP_WRAPPED_Init_thread])(
        argc, argv, required, provided));
}

static int outer_Finalize(void)
{
    if (is_bypassed)
        end();
    return ((int (*)(void))profilers[HP_WRAPPED_Finalize])();
}

static hp_function_t outer_of(unsigned which)
{
    return which == HP_WRAPPED_Init          ? (hp_function_t)outer_Init
           : which == HP_WRAPPED_Init_thread ? (hp_function_t)outer_Init_thread
           : which == HP_WRAPPED_Finalize    ? (hp_function_t)outer_Finalize
                                             : profilers[which];
}

/* ---- bootstrap ---- */

/* A program that is linked with this MPI does not call them; one that looks for a symbol may find ours. */
#define HP_WRAPPED(name, arguments)
#define HP_WRAPPED_LARGE(name, arguments, counts)
#define HP_WRAPPED_NEW(name, arguments)                                                                      \
    static int absent_##name(PARAMETERS_##arguments)                                                         \
    {                                                                                                        \
        (void)(const uintptr_t[]){ARGUMENTS_##arguments};                                                    \
        hp_error("MPI_" #name " was called, but %s has no such function", host.path);                        \
        abort();                                                                                             \
    }
#include "pmpi_wrappers/wrapped.def"
#undef HP_WRAPPED

static hp_function_t absent(unsigned which)
{
    static const hp_function_t functions[HP_WRAPPED_COUNT] = {
#define HP_WRAPPED(name, arguments)
#define HP_WRAPPED_LARGE(name, arguments, counts)
#define HP_WRAPPED_NEW(name, arguments) [HP_WRAPPED_##name] = (hp_function_t)absent_##name,
#include "pmpi_wrappers/wrapped.def"
#undef HP_WRAPPED
    };
    return functions[which];
}

static void bootstrap(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool booted;

    pthread_mutex_lock(&lock);
    if (!booted) {
        if (!hp_host_mpi_find(&host)) {
            hp_error("an MPI function was called, but no MPI library is loaded in this process: "
                     "link the program with an MPI, and put -lhanpmpi before -lmpi");
            abort();
        }
        for (unsigned i = 0; i < HP_WRAPPED_COUNT; i++) {
            host_functions[i] = hp_host_mpi_function(&host, wrapped_names[i]);
            pmpi_targets[i] = host_functions[i];
            if (!pmpi_targets[i])
                pmpi_targets[i] = hp_large_counts_function((hp_wrapped_t)i, &host);
            if (!pmpi_targets[i])
                pmpi_targets[i] = absent(i);
        }
        pmpi_targets[HP_WRAPPED_Init] = (hp_function_t)front_Init;
        pmpi_targets[HP_WRAPPED_Init_thread] = (hp_function_t)front_Init_thread;
        pmpi_targets[HP_WRAPPED_Finalize] = (hp_function_t)front_Finalize;
        if (host_functions[HP_WRAPPED_Session_init])
            pmpi_targets[HP_WRAPPED_Session_init] = (hp_function_t)front_Session_init;
        for (unsigned i = 0; i < HP_WRAPPED_COUNT; i++) {
            profilers[i] = hp_host_mpi_profiler(&host, wrapped_names[i] + 1); /* MPI_X */
            mpi_targets[i] = profilers[i] ? outer_of(i) : pmpi_targets[i];
        }
        booted = true;
    }
    pthread_mutex_unlock(&lock);
}

/* Not by the exported functions: those of a profiler in front of the library may have their names. */
#define HP_WRAPPED(name, arguments)                                                                          \
    static int boot_MPI_##name(PARAMETERS_##arguments)                                                       \
    {                                                                                                        \
        bootstrap();                                                                                         \
        return ((int (*)(PARAMETERS_##arguments))mpi_targets[HP_WRAPPED_##name])(ARGUMENTS_##arguments);     \
    }                                                                                                        \
    static int boot_PMPI_##name(PARAMETERS_##arguments)                                                      \
    {                                                                                                        \
        bootstrap();                                                                                         \
        return ((int (*)(PARAMETERS_##arguments))pmpi_targets[HP_WRAPPED_##name])(ARGUMENTS_##arguments);    \
    }
#include "pmpi_wrappers/wrapped.def"
#undef HP_WRAPPED
