/* fold_memory: preloaded into the simulator, makes all large temporary buffers share one piece of memory.
 *
 * SMPI's own algorithms allocate buffers as large as the message on every rank: a reduction of 16 MiB on
 * 1,024 ranks takes more than 16 GiB. Where the data is garbage anyway (simulated --fold) they may as well be
 * the same pages. They are told from what the simulator keeps for itself by being made with C++'s new[],
 * which its containers do not use: folding every large malloc breaks it.
 *
 * Threads: one, as the simulator. Ownership: a table of the folded buffers, static. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* operator new[] and delete[], by their names in the C++ ABI. */
void *_Znam(size_t bytes);
void _ZdaPv(void *memory);
void _ZdaPvm(void *memory, size_t bytes);

enum { FOLD_BYTES = 1 << 20, FOLDED_MAX = 1 << 16, PAGE_BYTES = 4096 };

/* Open addressing by page number; a slot that was given back keeps REMOVED, so that searches go on past it.
 */
static struct {
    void *memory;
    size_t bytes;
} folded[FOLDED_MAX];
static char removed;
static int file = -1;
static size_t file_bytes;

static size_t slot_of(const void *memory)
{
    return (size_t)(((uintptr_t)memory / PAGE_BYTES * UINT64_C(0x9e3779b97f4a7c15)) >> 48);
}

static void *fold(size_t bytes)
{
    if (file < 0)
        file = memfd_create("folded", MFD_CLOEXEC);
    if (file < 0)
        return NULL;
    if (bytes > file_bytes) {
        if (ftruncate(file, (off_t)bytes) != 0)
            return NULL;
        file_bytes = bytes;
    }
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        return NULL;
    for (size_t i = slot_of(memory), tries = 0; tries < FOLDED_MAX; tries++, i = (i + 1) % FOLDED_MAX) {
        if (folded[i].memory && folded[i].memory != &removed)
            continue;
        folded[i].memory = memory;
        folded[i].bytes = bytes;
        return memory;
    }
    munmap(memory, bytes);
    return NULL;
}

/* The slot of a folded buffer, or -1. */
static ptrdiff_t find(const void *memory)
{
    if (!memory || (uintptr_t)memory % PAGE_BYTES != 0)
        return -1;
    for (size_t i = slot_of(memory), tries = 0; folded[i].memory && tries < FOLDED_MAX;
         tries++, i = (i + 1) % FOLDED_MAX)
        if (folded[i].memory == memory)
            return (ptrdiff_t)i;
    return -1;
}

EXPORT void *_Znam(size_t bytes)
{
    void *memory = bytes >= FOLD_BYTES ? fold(bytes) : NULL;
    if (!memory)
        memory = malloc(bytes ? bytes : 1);
    if (!memory)
        abort(); /* nobody here catches std::bad_alloc */
    return memory;
}

EXPORT void _ZdaPv(void *memory)
{
    const ptrdiff_t i = find(memory);
    if (i < 0) {
        free(memory);
        return;
    }
    munmap(memory, folded[i].bytes);
    folded[i].memory = &removed;
}

EXPORT void _ZdaPvm(void *memory, size_t bytes)
{
    (void)bytes;
    _ZdaPv(memory);
}
