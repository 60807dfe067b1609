#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

struct hp_arena_block {
    hp_arena_block_t *next;
    size_t bytes;
    _Alignas(16) char memory[];
};
enum { ALIGN = 16, BLOCK_BYTES = 8192 };

void hp_arena_init(hp_arena_t *arena)
{
    *arena = (hp_arena_t){NULL, NULL, 0};
}

void hp_arena_fini(hp_arena_t *arena)
{
    while (arena->first) {
        hp_arena_block_t *block = arena->first;
        arena->first = block->next;
        free(block);
    }
}

void hp_arena_reset(hp_arena_t *arena)
{
    arena->current = arena->first;
    arena->used = 0;
}

/* The next block behind the current one that has room, made if need be. Smaller ones before it go: of rounds that ask for ever more
 * they would all stay. */
static hp_arena_block_t *next_block(hp_arena_t *arena, size_t bytes)
{
    hp_arena_block_t **link = arena->current ? &arena->current->next : &arena->first;
    while (*link && (*link)->bytes < bytes) {
        hp_arena_block_t *small = *link;
        *link = small->next;
        free(small);
    }
    if (!*link) {
        const size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        hp_arena_block_t *block = malloc(sizeof *block + size);
        if (!block)
            return NULL;
        block->next = NULL;
        block->bytes = size;
        *link = block;
    }
    return *link;
}

void *hp_arena_get(hp_arena_t *arena, size_t bytes)
{
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (!arena->current || arena->current->bytes - arena->used < bytes) {
        hp_arena_block_t *block = next_block(arena, bytes);
        if (!block)
            return NULL;
        arena->current = block;
        arena->used = 0;
    }
    void *piece = arena->current->memory + arena->used;
    arena->used += bytes;
    return memset(piece, 0, bytes);
}
