#include "base/pool.h"

#include <assert.h>
#include <stdlib.h>

/* The header sits in front of the buffer; its size is the alignment, so the buffer is aligned too. */
struct hp_pool_block {
    hp_pool_block_t *next;
    size_t bytes;
};
enum { POOL_ALIGN = 64 };
/* Free memory a pool keeps: a window of a few dozen segments of the usual 32 KiB. */
enum { POOL_KEEP_BYTES = 4 << 20 };
_Static_assert(sizeof(hp_pool_block_t) <= POOL_ALIGN, "the header must fit in front of the buffer");

void hp_pool_init(hp_pool_t *pool)
{
    pool->free = NULL;
    pool->free_bytes = 0;
    pool->live = 0;
    pool->retired = NULL;
}

void hp_pool_fini(hp_pool_t *pool)
{
    assert(pool->live == 0);
    while (pool->free) {
        hp_pool_block_t *block = pool->free;
        pool->free = block->next;
        free(block);
    }
}

void *hp_pool_get(hp_pool_t *pool, size_t bytes)
{
    hp_pool_block_t *block = pool->free;
    if (block) {
        pool->free = block->next;
        pool->free_bytes -= block->bytes;
        if (block->bytes < bytes) { /* a call with larger segments than before: small blocks leave the pool */
            free(block);
            block = NULL;
        }
    }
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
    block->next = pool->free;
    pool->free = block;
    pool->free_bytes += block->bytes;
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
