/* blocks: where the blocks of a call lie that differ in size, or do not lie one behind the other.
 *
 * Threads: plain data. Ownership: the lists are borrowed until the collective is done. */
#ifndef HP_HIER_CALL_BLOCKS_H
#define HP_HIER_CALL_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"

/* Of a buffer: by rank where it has a block for each, one entry where it has its own alone. */
typedef struct {
    const size_t *counts;     /* elements */
    const ptrdiff_t *offsets; /* where it begins, in bytes from the buffer */
} hp_block_list_t;

/* A buffer that the call does not use on this rank has no list. */
typedef struct {
    hp_block_list_t send, recv;
    bool
        in_place; /* the own block lies in the buffer that has all; where there are no lists: send equals recv */
} hp_blocks_t;

/* How many entries the lists have, which they do not say themselves. */
typedef struct {
    uint32_t send, recv;
} hp_block_entries_t;

/* Do both say the same of so many blocks? */
bool hp_blocks_same(const hp_blocks_t *a, const hp_blocks_t *b, hp_block_entries_t entries);
/* Of what they say; not 0. */
uint64_t hp_blocks_hash(const hp_blocks_t *blocks, hp_block_entries_t entries);
/* With lists of its own, in the arena. NULL: no memory. */
hp_blocks_t *hp_blocks_copy(const hp_blocks_t *blocks, hp_block_entries_t entries, hp_arena_t *arena);

#endif
