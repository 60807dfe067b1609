#include "tune/tasks/hanpmpi_tasks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The front looks it up: backend_api.h, HP_BACKEND_KIND_SYMBOL. */
extern const char hanpmpi_backend_kind[];
__attribute__((visibility("default"))) const char hanpmpi_backend_kind[] = "tasks";

hanpmpi_run_tasks_fn_t hanpmpi_find_run_tasks(void)
{
    void *symbol = dlsym(RTLD_DEFAULT, "hanpmpi_backend");
    hanpmpi_run_tasks_fn_t run_tasks;
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
    symbol = dlsym(module, "hanpmpi_run_tasks");
    memcpy(&run_tasks, &symbol, sizeof symbol);
    dlclose(module); /* the front keeps it loaded */
    return run_tasks;
}
