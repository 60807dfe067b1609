/* pool: scratch buffers of about one size, reused last-in-first-out so that they stay in the cache.
 *
 * Threads: one user at a time (each communicator has its own pool); the store behind the pools has a lock.
 * Memory: what a pool keeps while it is in use, others need while it is idle. So then it hands all but a little to
 * the store of the process, which all pools get from. Pools and the store keep a few MiB each and give the rest back to
 * the system; the store ends with the last pool.
 * Ownership: the pool owns all blocks; hp_pool_fini frees the ones given back and checks that all were. Retired blocks
 * that were not reclaimed it leaves alone: somebody may still write to them. */
#ifndef HP_BASE_POOL_H
#define HP_BASE_POOL_H

#include <stddef.h>
#include <stdint.h>

typedef struct hp_pool_block hp_pool_block_t;

typedef struct {
    hp_pool_block_t *free;
    size_t free_bytes;     /* of these */
    hp_pool_block_t *last; /* of these, while there are any */
    uint32_t live;         /* blocks handed out and not yet given back */
    hp_pool_block_t *retired;
} hp_pool_t;

void hp_pool_init(hp_pool_t *pool);
/* Frees all blocks that were given back. live must be 0 (asserted). */
void hp_pool_fini(hp_pool_t *pool);
/* A buffer of at least bytes, aligned to 64; NULL when memory is exhausted. */
void *hp_pool_get(hp_pool_t *pool, size_t bytes);
/* Gives back a buffer got from this pool. NULL is allowed. */
void hp_pool_put(hp_pool_t *pool, void *buffer);
/* Gives back a buffer that others may still use: it is kept aside until hp_pool_reclaim. */
void hp_pool_retire(hp_pool_t *pool, void *buffer);
/* Free memory that an idle pool keeps: short messages never take the store's lock. */
enum { HP_POOL_IDLE_BYTES = 16 << 10 };
void hp_pool_share(hp_pool_t *pool);
/* The pool's user has finished something: its free blocks go to the store unless they are few. */
static inline void hp_pool_rest(hp_pool_t *pool)
{
    if (pool->free_bytes > HP_POOL_IDLE_BYTES)
        hp_pool_share(pool);
}
/* Bytes in the store. */
size_t hp_pool_stored(void);
/* Nobody uses the retired buffers any more: they are as any others that were given back. */
void hp_pool_reclaim(hp_pool_t *pool);

#endif
