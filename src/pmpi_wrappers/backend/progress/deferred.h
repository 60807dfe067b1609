/* deferred: what the library does only while the thread holds none of its locks: it calls the program, whose error handler
 * may call us.
 *
 * Whoever notices that something failed has locked a communicator, and perhaps the list of them. It defers the rest; each
 * thread runs what was deferred, by whomever, when it has given its locks back. With HANPMPI_PROGRESS=thread that may be the
 * helper thread.
 *
 * Threads: any. Ownership: the caller's, from the moment it runs. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROGRESS_DEFERRED_H
#define HP_PMPI_WRAPPERS_BACKEND_PROGRESS_DEFERRED_H

#include <stdatomic.h>
#include <stddef.h>

/* A member of what is deferred. */
typedef struct hp_deferred {
    struct hp_deferred *next;
    void (*run)(struct hp_deferred *deferred);
} hp_deferred_t;

extern hp_deferred_t *_Atomic hp_deferred_list;

/* run is called once, and may free it. */
void hp_defer(hp_deferred_t *deferred, void (*run)(hp_deferred_t *deferred));

/* Runs what there is, unless this thread holds a lock: then it comes here again. */
void hp_deferred_run_all(void);
static inline void hp_deferred_run(void)
{
    if (__builtin_expect(atomic_load_explicit(&hp_deferred_list, memory_order_relaxed) != NULL, 0))
        hp_deferred_run_all();
}

#endif
