/* table: rows of one size that are found by their key, which is the beginning of the row: whole words, without gaps.
 *
 * Open addressing over an array of row numbers. A row keeps its number, and there are at most `limit` of them: what
 * does not fit is for the caller to count. Memory grows by doubling, so that a call that finds its row allocates
 * nothing.
 *
 * Threads: one at a time. Ownership: the table owns its rows; fini gives them back. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_BOOK_TABLE_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_BOOK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HP_TABLE_FULL = UINT32_MAX };
/* Where the first row begins: of the cache. */
enum { HP_TABLE_LINE = 64 };

/* A word of a key, whatever its members are. */
typedef uint64_t __attribute__((may_alias)) hp_table_word_t;

typedef struct {
    char *rows;
    uint32_t *slots; /* number of a row + 1; 0: none */
    uint32_t count, room, limit, mask;
    uint16_t row_bytes, key_words;
} hp_table_t;

void hp_table_init(hp_table_t *table, size_t row_bytes, size_t key_bytes, uint32_t limit);
void hp_table_fini(hp_table_t *table);

/* The number of the row with this key, which is added (zero behind the key) where there is none. HP_TABLE_FULL:
 * there is none and no room for it. */
uint32_t hp_table_add_slow(hp_table_t *table, const void *key, uint64_t hash);

static inline void *hp_table_row(const hp_table_t *table, uint32_t number)
{
    return table->rows + (size_t)number * table->row_bytes;
}

static inline uint32_t hp_table_number(const hp_table_t *table, const void *row)
{
    return (uint32_t)((size_t)((const char *)row - table->rows) / table->row_bytes);
}

static inline uint64_t hp_table_hash(const void *key, unsigned words)
{
    const hp_table_word_t *word = key;
    uint64_t hash = 0;

    for (unsigned i = 0; i < words; i++)
        hash = (hash ^ word[i] ^ (hash >> 29)) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 32);
}

static inline bool hp_table_equal(const void *a, const void *b, unsigned words)
{
    const hp_table_word_t *one = a, *other = b;
    uint64_t difference = 0;

    for (unsigned i = 0; i < words; i++)
        difference |= one[i] ^ other[i];
    return difference == 0;
}

/* words: table->key_words, where the caller knows it when it is compiled. */
static inline uint32_t hp_table_add(hp_table_t *table, const void *key, unsigned words)
{
    const uint64_t hash = hp_table_hash(key, words);

    for (uint32_t at = (uint32_t)hash & table->mask; table->slots[at]; at = (at + 1) & table->mask)
        if (hp_table_equal(hp_table_row(table, table->slots[at] - 1), key, words))
            return table->slots[at] - 1;
    return hp_table_add_slow(table, key, hash);
}

#endif
