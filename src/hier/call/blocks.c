#include "hier/call/blocks.h"

#include <stdint.h>
#include <string.h>
#include "base/hash.h"

_Static_assert(sizeof(size_t) == sizeof(uint64_t) && sizeof(ptrdiff_t) == sizeof(uint64_t),
               "entries are words");

static uint64_t add_list(uint64_t hash, const hp_block_list_t *list, size_t entries)
{
    return list->counts
               ? hp_hash_add_words(hp_hash_add_words(hash, list->counts, entries), list->offsets, entries)
               : hash;
}

uint64_t hp_blocks_hash(const hp_blocks_t *blocks, hp_block_entries_t entries)
{
    return add_list(add_list(2 + blocks->in_place, &blocks->send, entries.send), &blocks->recv, entries.recv);
}

static bool same_words(const void *a, const void *b, size_t count)
{
    return a == b || (a && b && memcmp(a, b, count * sizeof(uint64_t)) == 0);
}

static bool same_list(const hp_block_list_t *a, const hp_block_list_t *b, size_t entries)
{
    return same_words(a->counts, b->counts, entries) && same_words(a->offsets, b->offsets, entries);
}

bool hp_blocks_same(const hp_blocks_t *a, const hp_blocks_t *b, hp_block_entries_t entries)
{
    return a->in_place == b->in_place && same_list(&a->send, &b->send, entries.send) &&
           same_list(&a->recv, &b->recv, entries.recv);
}

/* false: no memory. */
static bool copy_words(const void *from, const void **to, size_t count, hp_arena_t *arena)
{
    void *words = from ? hp_arena_get(arena, (count + 1) * sizeof(uint64_t)) : NULL;

    if (words)
        memcpy(words, from, count * sizeof(uint64_t));
    *to = words;
    return words || !from;
}

static bool copy_list(const hp_block_list_t *from, hp_block_list_t *to, size_t entries, hp_arena_t *arena)
{
    const void *counts, *offsets;
    const bool copied = copy_words(from->counts, &counts, entries, arena) &&
                        copy_words(from->offsets, &offsets, entries, arena);

    if (copied)
        *to = (hp_block_list_t){counts, offsets};
    return copied;
}

hp_blocks_t *hp_blocks_copy(const hp_blocks_t *blocks, hp_block_entries_t entries, hp_arena_t *arena)
{
    hp_blocks_t *copy = hp_arena_get(arena, sizeof *copy);

    if (!copy || !copy_list(&blocks->send, &copy->send, entries.send, arena) ||
        !copy_list(&blocks->recv, &copy->recv, entries.recv, arena))
        return NULL;
    copy->in_place = blocks->in_place;
    return copy;
}
