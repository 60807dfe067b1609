/* A libcuda.so.1 without a device: fake_cuda.h. Its functions are those of cuda.h that the library uses. */
#include "fake_cuda.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, INVALID_CONTEXT = 201, RANGES = 64, PENDING = 1 << 16 };
enum { ATTRIBUTE_CONTEXT = 1, ATTRIBUTE_MEMORY_TYPE = 2, ATTRIBUTE_ORDINAL = 9 };

typedef struct {
    char *begin;
    size_t bytes, room;
    fake_kind_t kind;
} range_t;

typedef struct {
    uintptr_t to, from;
    size_t bytes;
} pending_t;

typedef struct {
    pending_t pending[PENDING];
    int count;
} stream_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static range_t ranges[RANGES];
static long copies, retained, pushed, streams, works = -1;
static bool is_misused;
static char context_of_memory, primary_context;
static _Thread_local void *current;

/* ---- memory ---- */

static range_t *range_of(uintptr_t address)
{
    for (int i = 0; i < RANGES; i++)
        if (ranges[i].begin && address - (uintptr_t)ranges[i].begin < ranges[i].bytes)
            return &ranges[i];
    return NULL;
}

static bool is_hidden(const range_t *range)
{
    return range && (range->kind == FAKE_DEVICE || range->kind == FAKE_POOL);
}

static void *allocate(size_t bytes, fake_kind_t kind)
{
    const size_t room = (bytes + 4095) / 4096 * 4096;
    char *begin = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (begin == MAP_FAILED)
        abort();
    pthread_mutex_lock(&lock);
    range_t *range = ranges;
    while (range->begin) /* a test has few */
        range++;
    *range = (range_t){begin, bytes, room, kind};
    if (is_hidden(range))
        mprotect(begin, room, PROT_NONE);
    pthread_mutex_unlock(&lock);
    return begin;
}

static void release(void *address)
{
    pthread_mutex_lock(&lock);
    range_t *range = range_of((uintptr_t)address);
    if (!range || range->begin != address)
        abort();
    munmap(range->begin, range->room);
    *range = (range_t){0};
    pthread_mutex_unlock(&lock);
}

/* The lock is held. */
static void copy_now(uintptr_t to, uintptr_t from, size_t bytes)
{
    const range_t *ends[] = {range_of(to), range_of(from)};

    for (int i = 0; i < 2; i++)
        if (is_hidden(ends[i]))
            mprotect(ends[i]->begin, ends[i]->room, PROT_READ | PROT_WRITE);
    memmove((void *)to, (const void *)from, bytes);
    for (int i = 0; i < 2; i++)
        if (is_hidden(ends[i]))
            mprotect(ends[i]->begin, ends[i]->room, PROT_NONE);
}

static void copy(void *to, const void *from, size_t bytes)
{
    pthread_mutex_lock(&lock);
    copy_now((uintptr_t)to, (uintptr_t)from, bytes);
    pthread_mutex_unlock(&lock);
}

static long copies_so_far(void)
{
    return copies;
}

static long left_over(void)
{
    return is_misused ? -1 : retained + pushed + streams;
}

static void fail_after(long count)
{
    works = count;
}

/* ---- the driver ---- */

#define EXPORT __attribute__((visibility("default")))

EXPORT const fake_cuda_t hp_fake_cuda = {allocate, release, copy, copies_so_far, left_over, fail_after};

EXPORT int cuPointerGetAttributes(unsigned count, int *attributes, void **values, uintptr_t address);
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device);
EXPORT int cuDevicePrimaryCtxRelease_v2(int device);
EXPORT int cuCtxPushCurrent_v2(void *context);
EXPORT int cuCtxPopCurrent_v2(void **context);
EXPORT int cuStreamCreate(void **stream, unsigned flags);
EXPORT int cuStreamDestroy_v2(void *stream);
EXPORT int cuMemcpyAsync(uintptr_t to, uintptr_t from, size_t bytes, void *stream);
EXPORT int cuStreamSynchronize(void *stream);

static int misused(int code)
{
    is_misused = true;
    return code;
}

int cuPointerGetAttributes(unsigned count, int *attributes, void **values, uintptr_t address)
{
    pthread_mutex_lock(&lock);
    const range_t *range = range_of(address);
    for (unsigned i = 0; i < count; i++)
        if (attributes[i] == ATTRIBUTE_CONTEXT)
            *(void **)values[i] = range && range->kind != FAKE_POOL ? &context_of_memory : NULL;
        else if (attributes[i] == ATTRIBUTE_MEMORY_TYPE)
            *(unsigned *)values[i] = !range ? 0 : range->kind == FAKE_PINNED ? 1 : 2;
        else if (attributes[i] == ATTRIBUTE_ORDINAL)
            *(int *)values[i] = range ? 0 : -2;
        else
            misused(INVALID_VALUE);
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    if (device != 0)
        return misused(INVALID_VALUE);
    retained++;
    *context = &primary_context;
    return SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    if (device != 0 || retained-- == 0)
        return misused(INVALID_VALUE);
    return SUCCESS;
}

int cuCtxPushCurrent_v2(void *context)
{
    if (current || (context != &context_of_memory && context != &primary_context))
        return misused(INVALID_CONTEXT);
    current = context;
    pushed++;
    return SUCCESS;
}

int cuCtxPopCurrent_v2(void **context)
{
    if (!current)
        return misused(INVALID_CONTEXT);
    *context = current;
    current = NULL;
    pushed--;
    return SUCCESS;
}

int cuStreamCreate(void **stream, unsigned flags)
{
    if (!current || flags != 1)
        return misused(INVALID_CONTEXT);
    *stream = calloc(1, sizeof(stream_t));
    streams++;
    return SUCCESS;
}

int cuStreamDestroy_v2(void *stream)
{
    if (((stream_t *)stream)->count)
        return misused(INVALID_VALUE);
    free(stream);
    streams--;
    return SUCCESS;
}

/* Done when somebody waits for it, as late as it can be. */
int cuMemcpyAsync(uintptr_t to, uintptr_t from, size_t bytes, void *stream)
{
    stream_t *queue = stream;

    if (!current || queue->count == PENDING)
        return misused(INVALID_CONTEXT);
    if (works == 0)
        return INVALID_VALUE;
    works -= works > 0;
    queue->pending[queue->count++] = (pending_t){to, from, bytes};
    return SUCCESS;
}

int cuStreamSynchronize(void *stream)
{
    stream_t *queue = stream;

    if (!current)
        return misused(INVALID_CONTEXT);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < queue->count; i++, copies++)
        copy_now(queue->pending[i].to, queue->pending[i].from, queue->pending[i].bytes);
    queue->count = 0;
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}
