/* front: the exported MPI_X of a program that is linked with this library, its backend and SimGrid's SMPI.
 *
 * The preloaded front looks for an MPI in the process. Here there is nothing to look for: SMPI is linked,
 * every rank is a copy of the whole program with its own globals (SMPI's privatization by dlopen), and PMPI_X
 * is SMPI's own. What SMPI lacks is a weak symbol that stays NULL; its mpi.h declares no such function, so no
 * program calls it. Link with -Wl,-Bsymbolic, or the program's calls go to SMPI's MPI_X.
 * Threads: a rank is a coroutine; all ranks share one thread. Ownership: static. */
#include "pmpi_wrappers/front/exports.h"

const hp_backend_t *hanpmpi_backend_open(const hp_function_t *mpi_calls, hp_find_fn_t find);

#define HP_MPI_CALL(name)           __attribute__((weak)) void PMPI_##name(void);
#define HP_WRAPPED(name, arguments) HP_MPI_CALL(name)
#include "pmpi_wrappers/mpi_calls.def"
#include "pmpi_wrappers/wrapped.def"
#undef HP_MPI_CALL
#undef HP_WRAPPED

#define HP_WRAPPED(name, arguments) [HP_WRAPPED_##name] = PMPI_##name,
static const hp_function_t smpi_functions[HP_WRAPPED_COUNT] = {
#include "pmpi_wrappers/wrapped.def"
};
static hp_function_t targets[HP_WRAPPED_COUNT] = {
#include "pmpi_wrappers/wrapped.def"
};
#undef HP_WRAPPED

#define HP_WRAPPED(name, arguments)                                                                          \
    EXPORT int MPI_##name(PARAMETERS_##arguments);                                                           \
    EXPORT int MPI_##name(PARAMETERS_##arguments)                                                            \
    {                                                                                                        \
        return ((int (*)(PARAMETERS_##arguments))targets[HP_WRAPPED_##name])(ARGUMENTS_##arguments);         \
    }
#include "pmpi_wrappers/wrapped.def"
#undef HP_WRAPPED

/* SMPI has nothing beside the standard that we use. */
static hp_function_t find(const char *symbol)
{
    (void)symbol;
    return NULL;
}

static void start_backend(void)
{
    static const hp_function_t calls[HP_MPI_CALL_COUNT] = {
#define HP_MPI_CALL(name) [HP_MPI_CALL_##name] = PMPI_##name,
#include "pmpi_wrappers/mpi_calls.def"
#undef HP_MPI_CALL
    };
    const hp_backend_t *backend = hanpmpi_backend_open(calls, find);
    if (!backend)
        return;
    for (unsigned i = 0; i < HP_WRAPPED_COUNT; i++)
        if (backend->wrapped[i])
            targets[i] = backend->wrapped[i];
    hp_front.backend = backend;
    hp_front.active = backend->after_init();
    for (unsigned i = 0; i < HP_WRAPPED_COUNT; i++)
        targets[i] = backend->record((hp_wrapped_t)i, targets[i]);
}

static int front_Init(int *argc, char ***argv)
{
    int code = ((int (*)(int *, char ***))smpi_functions[HP_WRAPPED_Init])(argc, argv);
    if (code == 0)
        start_backend();
    return code;
}

static int front_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int code = ((int (*)(int *, char ***, int, int *))smpi_functions[HP_WRAPPED_Init_thread])(
        argc, argv, required, provided);
    if (code == 0)
        start_backend();
    return code;
}

static int front_Finalize(void)
{
    hp_front.active = false;
    if (hp_front.backend)
        hp_front.backend->before_finalize();
    return ((int (*)(void))smpi_functions[HP_WRAPPED_Finalize])();
}

__attribute__((constructor)) static void wrap_begin_and_end(void)
{
    targets[HP_WRAPPED_Init] = (hp_function_t)front_Init;
    targets[HP_WRAPPED_Init_thread] = (hp_function_t)front_Init_thread;
    targets[HP_WRAPPED_Finalize] = (hp_function_t)front_Finalize;
}
