/* device: memory that is an accelerator's and that the processor must not touch: is an address there, and copying.
 *
 * The accelerator's driver library (CUDA's libcuda.so.1) is never loaded here, only found where the program, or a library
 * of its, has loaded it, early or late. While none is loaded a question costs two loads: the loader appends what it
 * loads to a list, and as long as nothing stands behind a library of ours that was the last one, nothing was loaded.
 *
 * Threads: init and fini inside MPI_Init and MPI_Finalize; the others any. Ownership: a driver that was found stays
 * loaded until fini. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_GLUE_DEVICE_H
#define HP_PMPI_WRAPPERS_BACKEND_GLUE_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* has_threads: several threads of the program may ask at the same time. */
void hp_device_init(bool has_threads);
void hp_device_fini(void);

/* Not NULL there: a library was loaded since somebody looked, or a driver is. */
extern void *const volatile *_Atomic hp_device_news;
bool hp_device_find_driver(void);

/* Is a driver loaded, so that there may be device memory? */
static inline bool hp_device_is_possible(void)
{
    void *const volatile *news = atomic_load_explicit(&hp_device_news, memory_order_relaxed);
    return __builtin_expect(*news != NULL, 0) && hp_device_find_driver();
}

/* Is the runtime of another vendor's devices loaded? Their memory is not recognized. */
bool hp_device_has_other_runtime(void);

/* Is the address in device memory? Memory that the driver moves between device and host (managed) counts: the processor may
 * touch it, but process_vm_readv by another process may not. */
bool hp_device_holds(const void *address);

/* Copies between this device's memory and the host's, in either direction: begun, given out, waited for. */
typedef struct {
    void *context, *stream;
    int device; /* whose primary context was retained; -1: none was */
} hp_device_copies_t;

/* address: in device memory. false: the driver reports an error; end must not be called then. */
bool hp_device_copies_begin(hp_device_copies_t *copies, const void *address);
bool hp_device_copy(hp_device_copies_t *copies, void *to, const void *from, size_t bytes);
/* When it returns nothing is under way any more. */
bool hp_device_copies_end(hp_device_copies_t *copies);

#endif
