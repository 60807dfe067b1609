/* hash: FNV-1a (G. Fowler, L. C. Noll, K.-P. Vo), 64 bits. Threads: pure. Ownership: none. */
#ifndef HP_BASE_HASH_H
#define HP_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HP_HASH_BASIS UINT64_C(0xcbf29ce484222325)

/* The hash of what came before and these bytes; HP_HASH_BASIS: of nothing. */
static inline uint64_t hp_hash_add(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *letters = bytes;

    for (size_t i = 0; i < count; i++)
        hash = (hash ^ letters[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* The same by whole words, for much of it: not FNV's values. */
static inline uint64_t hp_hash_add_words(uint64_t hash, const void *words, size_t count)
{
    const uint64_t *word = words;

    for (size_t i = 0; i < count; i++)
        hash = (hash ^ word[i]) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 32);
    return hash;
}

#endif
