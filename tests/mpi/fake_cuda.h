/* fake_cuda: what the fake libcuda.so.1 has for tests beyond the functions of CUDA's driver. Found by dlsym.
 *
 * Its device memory is mapped without access: whoever touches it other than by a copy of the driver ends with SIGSEGV, and
 * process_vm_readv fails. Threads: any. */
#ifndef HP_TESTS_FAKE_CUDA_H
#define HP_TESTS_FAKE_CUDA_H

#include <stddef.h>

/* FAKE_POOL: belongs to no context, as what cuMemAllocAsync gives. FAKE_MANAGED: the processor may touch it, but counts as
 * device memory. FAKE_PINNED: host memory that the driver knows. */
typedef enum { FAKE_DEVICE, FAKE_POOL, FAKE_MANAGED, FAKE_PINNED } fake_kind_t;

typedef struct {
    void *(*allocate)(size_t bytes, fake_kind_t kind);
    void (*release)(void *address);
    /* At once, without a stream, from anywhere to anywhere. */
    void (*copy)(void *to, const void *from, size_t bytes);
    /* Copies on streams so far; contexts, streams and copies that are left over now; -1 with CUDA used wrongly. */
    long (*copies)(void);
    long (*left_over)(void);
    /* From now on so many copies on streams work, then they fail; -1: all work. */
    void (*fail_after)(long copies);
} fake_cuda_t;

#define FAKE_CUDA_SYMBOL "hp_fake_cuda"

#endif
