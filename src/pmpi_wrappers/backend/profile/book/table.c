#include "pmpi_wrappers/backend/profile/book/table.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROWS = 64 };

static uint32_t no_slot; /* what a table without memory looks at */

void hp_table_init(hp_table_t *table, size_t row_bytes, size_t key_bytes, uint32_t limit)
{
    *table = (hp_table_t){.slots = &no_slot,
                          .limit = limit,
                          .row_bytes = (uint16_t)row_bytes,
                          .key_words = (uint16_t)(key_bytes / sizeof(uint64_t))};
}

void hp_table_fini(hp_table_t *table)
{
    if (table->slots != &no_slot)
        free(table->slots);
    free(table->rows);
    hp_table_init(table, table->row_bytes, table->key_words * sizeof(uint64_t), table->limit);
}

static void file(hp_table_t *table, uint32_t number, uint64_t hash)
{
    uint32_t at = (uint32_t)hash & table->mask;
    while (table->slots[at])
        at = (at + 1) & table->mask;
    table->slots[at] = number + 1;
}

static char *longer_rows(const hp_table_t *table, uint32_t room)
{
    const size_t bytes = (size_t)room * table->row_bytes;
    char *rows = aligned_alloc(HP_TABLE_LINE, (bytes + HP_TABLE_LINE - 1) / HP_TABLE_LINE * HP_TABLE_LINE);

    if (rows && table->count)
        memcpy(rows, table->rows, (size_t)table->count * table->row_bytes);
    return rows;
}

/* At most half of the slots are in use. */
static bool grow(hp_table_t *table)
{
    const uint32_t room = table->room ? table->room * 2 : FIRST_ROWS, slots = room * 2;
    uint32_t *wider = calloc(slots, sizeof *wider);
    char *rows = wider ? longer_rows(table, room) : NULL;

    if (!rows) {
        free(wider);
        return false;
    }
    if (table->slots != &no_slot)
        free(table->slots);
    free(table->rows);
    table->slots = wider;
    table->rows = rows;
    table->room = room;
    table->mask = slots - 1;
    for (uint32_t i = 0; i < table->count; i++)
        file(table, i, hp_table_hash(hp_table_row(table, i), table->key_words));
    return true;
}

uint32_t hp_table_add_slow(hp_table_t *table, const void *key, uint64_t hash)
{
    if (table->count >= table->limit || (table->count == table->room && !grow(table)))
        return HP_TABLE_FULL;
    const uint32_t number = table->count++;
    void *row = hp_table_row(table, number);
    memset(row, 0, table->row_bytes);
    memcpy(row, key, table->key_words * sizeof(uint64_t));
    file(table, number, hash);
    return number;
}
