#include "base/pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

/* The header sits in front of the buffer; its size is the alignment, so the buffer is aligned too. */
struct hp_pool_block {
    hp_pool_block_t *next;
    size_t bytes;
};
enum { POOL_ALIGN = 64 };
/* Shorter buffers are not looked for in the store: with these malloc is as fast, and the store's blocks are long. */
enum { POOL_STORED_MIN = 1024 };
/* Free memory a pool, or the store, keeps: a window of a few dozen segments of the usual 32 KiB. */
enum { POOL_KEEP_BYTES = 4 << 20 };
_Static_assert(sizeof(hp_pool_block_t) <= POOL_ALIGN, "the header must fit in front of the buffer");

static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static hp_pool_block_t *store;
static size_t store_bytes;
static uint32_t pools;

void hp_pool_init(hp_pool_t *pool)
{
    *pool = (hp_pool_t){0};
    pthread_mutex_lock(&store_lock);
    pools++;
    pthread_mutex_unlock(&store_lock);
}

static void free_blocks(hp_pool_block_t *block)
{
    while (block) {
        hp_pool_block_t *next = block->next;
        free(block);
        block = next;
    }
}

void hp_pool_fini(hp_pool_t *pool)
{
    assert(pool->live == 0);
    free_blocks(pool->free);
    pthread_mutex_lock(&store_lock);
    if (--pools == 0) {
        free_blocks(store);
        store = NULL;
        store_bytes = 0;
    }
    pthread_mutex_unlock(&store_lock);
}

static void put_first(hp_pool_t *pool, hp_pool_block_t *block)
{
    if (!pool->free)
        pool->last = block;
    block->next = pool->free;
    pool->free = block;
    pool->free_bytes += block->bytes;
}

static hp_pool_block_t *take_first(hp_pool_t *pool)
{
    hp_pool_block_t *block = pool->free;
    if (block) {
        pool->free = block->next;
        pool->free_bytes -= block->bytes;
    }
    return block;
}

void hp_pool_share(hp_pool_t *pool)
{
    hp_pool_block_t *surplus = NULL;

    if (!pool->free)
        return;
    pthread_mutex_lock(&store_lock);
    if (store_bytes + pool->free_bytes <= POOL_KEEP_BYTES) { /* what was used last is used first */
        pool->last->next = store;
        store = pool->free;
        store_bytes += pool->free_bytes;
    } else {
        surplus = pool->free;
    }
    pthread_mutex_unlock(&store_lock);
    pool->free = NULL;
    pool->free_bytes = 0;
    free_blocks(surplus);
}

/* One block of the store; those that are too small for this pool's messages leave it. */
static hp_pool_block_t *take_stored(size_t bytes)
{
    hp_pool_block_t *small = NULL;

    pthread_mutex_lock(&store_lock);
    hp_pool_block_t *block = store;
    while (block && block->bytes < bytes) {
        hp_pool_block_t *next = block->next;
        store_bytes -= block->bytes;
        block->next = small;
        small = block;
        block = next;
    }
    store = block ? block->next : NULL;
    store_bytes -= block ? block->bytes : 0;
    pthread_mutex_unlock(&store_lock);
    free_blocks(small);
    return block;
}

size_t hp_pool_stored(void)
{
    pthread_mutex_lock(&store_lock);
    const size_t bytes = store_bytes;
    pthread_mutex_unlock(&store_lock);
    return bytes;
}

void *hp_pool_get(hp_pool_t *pool, size_t bytes)
{
    hp_pool_block_t *block = take_first(pool);
    if (block &&
        block->bytes < bytes) { /* a call with larger segments than before: small blocks leave the pool */
        free(block);
        block = NULL;
    }
    if (!block && bytes > POOL_STORED_MIN)
        block = take_stored(bytes);
    if (!block) {
        size_t room = (bytes + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN;
        if (room < bytes || room > SIZE_MAX - POOL_ALIGN)
            return NULL;
        block = aligned_alloc(POOL_ALIGN, POOL_ALIGN + room);
        if (!block)
            return NULL;
        block->bytes = room;
    }
    pool->live++;
    return (char *)block + POOL_ALIGN;
}

static hp_pool_block_t *block_of(void *buffer)
{
    return (hp_pool_block_t *)((char *)buffer - POOL_ALIGN);
}

static void keep(hp_pool_t *pool, hp_pool_block_t *block)
{
    if (pool->free_bytes + block->bytes > POOL_KEEP_BYTES) {
        free(block);
        return;
    }
    put_first(pool, block);
}

void hp_pool_put(hp_pool_t *pool, void *buffer)
{
    if (!buffer)
        return;
    pool->live--;
    keep(pool, block_of(buffer));
}

void hp_pool_retire(hp_pool_t *pool, void *buffer)
{
    hp_pool_block_t *block = block_of(buffer);

    pool->live--;
    block->next = pool->retired;
    pool->retired = block;
}

void hp_pool_reclaim(hp_pool_t *pool)
{
    while (pool->retired) {
        hp_pool_block_t *block = pool->retired;
        pool->retired = block->next;
        keep(pool, block);
    }
}
