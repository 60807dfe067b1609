/* arena: memory that is asked for piece by piece and given back all at once.
 *
 * Pieces stay where they are until the reset. Blocks are kept for the next round, so that a repeated
 * collective allocates nothing. Threads: one user at a time. Ownership: the arena owns all pieces. */
#ifndef HP_BASE_ARENA_H
#define HP_BASE_ARENA_H

#include <stddef.h>

typedef struct hp_arena_block hp_arena_block_t;

typedef struct {
    hp_arena_block_t *first, *current;
    size_t used; /* of current */
} hp_arena_t;

void hp_arena_init(hp_arena_t *arena);
void hp_arena_fini(hp_arena_t *arena);
/* Forgets all pieces. */
void hp_arena_reset(hp_arena_t *arena);
/* Zeroed memory, aligned to 16; NULL when memory is exhausted. */
void *hp_arena_get(hp_arena_t *arena, size_t bytes);

#endif
