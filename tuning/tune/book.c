#include "book.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 4096 };

const char *tune_kind_name(unsigned kind)
{
    static const char *const names[] = {
#define X(id, name) #name,
        TUNE_KIND_TABLE(X)
#undef X
    };
    return kind < TUNE_KINDS ? names[kind] : NULL;
}

static void *resize(void *memory, size_t bytes)
{
    memory = realloc(memory, bytes);
    if (!memory) {
        fputs("hanpmpi_tune: no memory for the measurements: take fewer sizes or configurations\n", stderr);
        exit(EXIT_FAILURE);
    }
    return memory;
}

void tune_book_init(tune_book_t *book)
{
    *book = (tune_book_t){.first = resize(NULL, SLOTS * sizeof(int))};
    memset(book->first, 0, SLOTS * sizeof(int));
}

void tune_book_fini(tune_book_t *book)
{
    for (int i = 0; i < book->count; i++)
        free(book->records[i].us);
    free(book->records);
    free(book->first);
    free(book->next);
}

static unsigned slot_of(const tune_key_t *key)
{
    size_t hash = key->bytes;
    hash = hash * 31 + (size_t)key->kind;
    hash = hash * 31 + (size_t)key->collective;
    hash = hash * 1021 + (size_t)key->config;
    hash = hash * 1021 + (size_t)(key->other + 1);
    return (unsigned)((hash ^ hash >> 20) % SLOTS);
}

static bool same(const tune_key_t *a, const tune_key_t *b)
{
    return a->kind == b->kind && a->collective == b->collective && a->config == b->config &&
           a->other == b->other && a->bytes == b->bytes;
}

const tune_record_t *tune_book_find(const tune_book_t *book, const tune_key_t *key)
{
    for (int i = book->first[slot_of(key)]; i; i = book->next[i - 1])
        if (same(&book->records[i - 1].key, key))
            return &book->records[i - 1];
    return NULL;
}

const tune_record_t *tune_book_add(tune_book_t *book, const tune_record_t *record)
{
    const unsigned slot = slot_of(&record->key);

    if (book->count == book->room) {
        book->room = book->room ? 2 * book->room : 256;
        book->records = resize(book->records, (size_t)book->room * sizeof *book->records);
        book->next = resize(book->next, (size_t)book->room * sizeof *book->next);
    }
    book->records[book->count] = *record;
    book->next[book->count] = book->first[slot];
    book->first[slot] = ++book->count;
    return &book->records[book->count - 1];
}
