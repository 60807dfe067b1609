/* blocks: where the blocks of a call lie that differ in size, or do not lie one behind the other.
 *
 * Threads: plain data. Ownership: the lists are borrowed until the collective is done. */
#ifndef HP_HIER_CALL_BLOCKS_H
#define HP_HIER_CALL_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
