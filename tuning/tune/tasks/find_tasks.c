#include "tune/tasks/hanpmpi_tasks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The front looks it up: backend_api.h, HP_BACKEND_KIND_SYMBOL. */
extern const char hanpmpi_backend_kind[];
__attribute__((visibility("default"))) const char hanpmpi_backend_kind[] = "tasks";

/* A function of the backend; NULL: the library is not active. */
static void *find(const char *name)
{
    void *symbol = dlsym(RTLD_DEFAULT, "hanpmpi_backend");
    const char *(*backend)(void);
    char file[64];

    if (!symbol)
        return NULL;
    /* dlsym's pointer becomes a function's: POSIX allows it, ISO C does not say so, hence the copies. */
    memcpy(&backend, &symbol, sizeof symbol);
    snprintf(file, sizeof file, "%s-%s.so", hanpmpi_backend_kind, backend());
    void *module = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
    if (!module)
        return NULL;
    symbol = dlsym(module, name);
    dlclose(module); /* the front keeps it loaded */
    return symbol;
}

hanpmpi_run_tasks_fn_t hanpmpi_find_run_tasks(void)
{
    void *symbol = find("hanpmpi_run_tasks");
    hanpmpi_run_tasks_fn_t run_tasks;

    memcpy(&run_tasks, &symbol, sizeof symbol);
    return run_tasks;
}

hanpmpi_network_fingerprint_fn_t hanpmpi_find_network_fingerprint(void)
{
    void *symbol = find("hanpmpi_network_fingerprint");
    hanpmpi_network_fingerprint_fn_t fingerprint;

    memcpy(&fingerprint, &symbol, sizeof symbol);
    return fingerprint;
}

hanpmpi_make_routine_fn_t hanpmpi_find_make_routine(void)
{
    void *symbol = find("hanpmpi_make_routine");
    hanpmpi_make_routine_fn_t make_routine;

    memcpy(&make_routine, &symbol, sizeof symbol);
    return make_routine;
}
