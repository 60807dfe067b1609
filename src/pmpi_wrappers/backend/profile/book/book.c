#include "pmpi_wrappers/backend/profile/book/book.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS(type, member) (offsetof(type, member) / sizeof(uint64_t))

bool hp_book_init(hp_book_t *book)
{
    const hp_book_site_t nowhere = {.frame = {[0 ... HP_BOOK_FRAMES - 1] = HP_BOOK_NO_FRAME}};

    memset(book, 0, sizeof *book);
#define X(id, row, key, limit)                                                                               \
    _Static_assert((key) % sizeof(uint64_t) == 0 && sizeof(row) % sizeof(uint64_t) == 0, "whole words");     \
    hp_table_init(&book->id, sizeof(row), key, limit);
    HP_BOOK_TABLES(X)
#undef X
    hp_book_module(book, "", "", "");
    hp_book_site(book, &nowhere);
    hp_book_comm(book, "", 0);
    hp_book_name(&book->types, "");
    hp_book_name(&book->ops, "");
    if (book->sites.count && book->comms.count && book->types.count && book->ops.count)
        return true;
    hp_book_fini(book);
    return false;
}

void hp_book_fini(hp_book_t *book)
{
#define X(id, row, key, limit) hp_table_fini(&book->id);
    HP_BOOK_TABLES(X)
#undef X
}

static uint32_t known(uint32_t number)
{
    return number == HP_TABLE_FULL ? 0 : number;
}

uint32_t hp_book_name(hp_table_t *names, const char *text)
{
    hp_book_name_t row = {.text = ""};
    strncpy(row.text, text, sizeof row.text - 1); /* and zeros */
    return known(hp_table_add(names, &row, names->key_words));
}

uint32_t hp_book_comm(hp_book_t *book, const char *name, uint64_t size)
{
    hp_book_comm_t row = {.size = size};
    strncpy(row.name, name, sizeof row.name - 1);
    return known(hp_table_add(&book->comms, &row, book->comms.key_words));
}

uint32_t hp_book_module(hp_book_t *book, const char *path, const char *build_id, const char *function)
{
    static const hp_book_module_t unknown = {.path = "?", .function = "?"};
    hp_table_t *modules = &book->modules;
    hp_book_module_t row = {.path = ""};
    strncpy(row.path, path, sizeof row.path - 1);
    strncpy(row.build_id, build_id, sizeof row.build_id - 1);
    strncpy(row.function, function, sizeof row.function - 1);
    uint32_t number = hp_table_add(modules, &row, modules->key_words);
    if (number == HP_TABLE_FULL && function[0]) { /* the frame remains one of Python */
        const uint32_t limit = modules->limit;
        modules->limit = UINT32_MAX; /* there is one of these */
        number = hp_table_add(modules, &unknown, modules->key_words);
        modules->limit = limit;
    }
    return known(number);
}

uint32_t hp_book_site(hp_book_t *book, const hp_book_site_t *site)
{
    return known(hp_table_add(&book->sites, site, HP_BOOK_FRAMES));
}

hp_book_record_t *hp_book_record(hp_book_t *book, const hp_book_record_t *key)
{
    enum { WORDS_OF_KEY = WORDS(hp_book_record_t, count) };
    hp_table_t *records = &book->records;
    uint32_t number = hp_table_add(records, key, WORDS_OF_KEY);

    if (__builtin_expect(number == HP_TABLE_FULL, 0)) {
        const hp_book_record_t bare = {.call = key->call, .bin = key->bin};
        const uint32_t limit = records->limit;
        book->lost[HP_LOST_records] += key->count ? key->count : 1;
        records->limit = UINT32_MAX; /* there are no more of these than calls and bins */
        number = hp_table_add(records, &bare, WORDS_OF_KEY);
        records->limit = limit;
    }
    return number == HP_TABLE_FULL ? NULL : hp_table_row(records, number);
}

/* At the largest count it stays. */
static void count_calls(uint32_t *count, uint32_t calls)
{
    uint32_t sum;
    *count = __builtin_add_overflow(*count, calls, &sum) ? UINT32_MAX : sum;
}

void hp_book_record_add(hp_book_record_t *record, uint64_t calls, uint64_t bytes, uint64_t ns)
{
    const unsigned k = (unsigned)hp_book_bin(ns);

    record->least_ns = record->count == 0 || ns < record->least_ns ? ns : record->least_ns;
    record->most_ns = ns > record->most_ns ? ns : record->most_ns;
    record->count += calls;
    record->bytes += calls * bytes;
    record->ns += calls * ns;
    count_calls(&record->histogram[k < HP_BOOK_HISTOGRAM ? k : HP_BOOK_HISTOGRAM - 1], (uint32_t)calls);
}

hp_book_peer_t *hp_book_peer(hp_book_t *book, uint32_t source, uint32_t destination)
{
    const hp_book_peer_t key = {.source = source, .destination = destination};
    const uint32_t number = hp_table_add(&book->peers, &key, WORDS(hp_book_peer_t, messages));

    return number == HP_TABLE_FULL ? NULL : hp_table_row(&book->peers, number);
}

void hp_book_peer_add(hp_book_t *book, uint32_t source, uint32_t destination, uint64_t messages,
                      uint64_t bytes)
{
    hp_book_peer_count(book, hp_book_peer(book, source, destination), messages, bytes);
}

hp_book_wait_t *hp_book_wait(hp_book_t *book, const hp_book_wait_t *key)
{
    const uint32_t number = hp_table_add(&book->waits, key, WORDS(hp_book_wait_t, count));

    return number == HP_TABLE_FULL ? NULL : hp_table_row(&book->waits, number);
}

void hp_book_wait_add(hp_book_t *book, const hp_book_wait_t *wait)
{
    hp_book_wait_count(book, hp_book_wait(book, wait), wait);
}

/* Who was late most often stays; of a longer list the least goes. */
static void late_add(hp_book_arrival_t *arrival, const hp_book_late_t *late)
{
    hp_book_late_t *place = arrival->late;

    for (hp_book_late_t *at = arrival->late; at < arrival->late + HP_BOOK_LATE; at++) {
        if (at->times && at->rank == late->rank) {
            at->times += late->times;
            at->ns += late->ns;
            return;
        }
        if (at->times < place->times)
            place = at;
    }
    if (place->times < late->times)
        *place = *late;
}

void hp_book_arrival_add(hp_book_t *book, const hp_book_arrival_t *arrival)
{
    const uint32_t number = hp_table_add(&book->arrivals, arrival, WORDS(hp_book_arrival_t, samples));

    if (number == HP_TABLE_FULL) {
        book->lost[HP_LOST_arrivals] += arrival->samples;
        return;
    }
    hp_book_arrival_t *row = hp_table_row(&book->arrivals, number);
    row->samples += arrival->samples;
    row->waited_ns += arrival->waited_ns;
    row->transfer_ns += arrival->transfer_ns;
    row->skew_ns += arrival->skew_ns;
    for (unsigned i = 0; i < HP_BOOK_LATE; i++)
        if (arrival->late[i].times)
            late_add(row, &arrival->late[i]);
}

void hp_book_slack_add(hp_book_t *book, const hp_book_slack_t *slack)
{
    const uint32_t number = hp_table_add(&book->slacks, slack, WORDS(hp_book_slack_t, after));

    if (number == HP_TABLE_FULL) {
        book->lost[HP_LOST_slacks] += slack->after + slack->before;
        return;
    }
    hp_book_slack_t *row = hp_table_row(&book->slacks, number);
    row->after += slack->after;
    row->before += slack->before;
    row->after_ns += slack->after_ns;
    row->before_ns += slack->before_ns;
}

const char *hp_book_how_word(hp_book_how_t how)
{
    static const char *const words[] = {
#define X(id, word) word,
        HP_BOOK_HOW(X)
#undef X
    };
    return words[how];
}

void hp_book_close(hp_book_t *book)
{
    for (uint32_t i = 0; i < book->records.count; i++) {
        hp_book_record_t *record = hp_table_row(&book->records, i);
        record->ranks = 1;
        record->rank_least_ns = record->rank_most_ns = record->ns;
    }
}

/* ---- two books ---- */

/* What the rows of another book are called here. */
typedef struct {
    uint32_t *sites, *comms, *types, *ops, *nodes;
} names_t;
enum { NAMES = sizeof(names_t) / sizeof(uint32_t *) };

static void translate_names(uint32_t *map, hp_table_t *to, const hp_table_t *from)
{
    for (uint32_t i = 0; i < from->count; i++)
        map[i] = known(hp_table_add(to, hp_table_row(from, i), to->key_words));
}

uint32_t hp_book_copy_site(hp_book_t *to, const hp_book_t *from, uint32_t number)
{
    hp_book_site_t site = *(const hp_book_site_t *)hp_table_row(&from->sites, number);

    for (unsigned i = 0; i < HP_BOOK_FRAMES && site.frame[i] != HP_BOOK_NO_FRAME; i++) {
        const hp_book_module_t *module = hp_table_row(&from->modules, (uint32_t)(site.frame[i] >> 48));
        const uint64_t own = hp_book_module(to, module->path, module->build_id, module->function);
        site.frame[i] = own << 48 | (site.frame[i] << 16 >> 16);
    }
    return hp_book_site(to, &site);
}

static void merge_records(const names_t *names, hp_book_t *to, const hp_book_t *from)
{
    for (uint32_t i = 0; i < from->records.count; i++) {
        hp_book_record_t row = *(const hp_book_record_t *)hp_table_row(&from->records, i);
        const bool was_placed = row.site != 0;
        row.comm = (uint16_t)names->comms[row.comm];
        row.type = (uint16_t)names->types[row.type];
        row.op = (uint16_t)names->ops[row.op];
        row.site = names->sites[row.site];
        if (was_placed && row.site == 0)
            to->lost[HP_LOST_sites] += row.count;
        hp_book_record_t *sum = hp_book_record(to, &row);
        if (!sum)
            continue;
        sum->least_ns = sum->count == 0 || row.least_ns < sum->least_ns ? row.least_ns : sum->least_ns;
        sum->most_ns = row.most_ns > sum->most_ns ? row.most_ns : sum->most_ns;
        if (sum->ranks == 0 || row.rank_least_ns < sum->rank_least_ns)
            sum->rank_least_ns = row.rank_least_ns;
        if (row.rank_most_ns > sum->rank_most_ns)
            sum->rank_most_ns = row.rank_most_ns;
        sum->ranks += row.ranks;
        sum->count += row.count;
        sum->bytes += row.bytes;
        sum->accelerated += row.accelerated;
        sum->ns += row.ns;
        for (unsigned k = 0; k < HP_BOOK_HISTOGRAM; k++)
            count_calls(&sum->histogram[k], row.histogram[k]);
    }
}

static void add_unexpected(hp_book_unexpected_t *to, const hp_book_unexpected_t *from)
{
    to->samples += from->samples;
    to->with_any += from->with_any;
    to->messages += from->messages;
    to->most = from->most > to->most ? from->most : to->most;
}

static void merge_rest(const names_t *names, hp_book_t *to, const hp_book_t *from)
{
    for (uint32_t i = 0; i < from->comms.count; i++) {
        const hp_book_comm_t *row = hp_table_row(&from->comms, i);
        ((hp_book_comm_t *)hp_table_row(&to->comms, names->comms[i]))->made += row->made;
    }
    for (uint32_t i = 0; i < from->peers.count; i++) {
        const hp_book_peer_t *row = hp_table_row(&from->peers, i);
        hp_book_peer_add(to, row->source, row->destination, row->messages, row->bytes);
    }
    for (uint32_t i = 0; i < from->waits.count; i++) {
        hp_book_wait_t row = *(const hp_book_wait_t *)hp_table_row(&from->waits, i);
        row.post_site = names->sites[row.post_site];
        row.wait_site = names->sites[row.wait_site];
        hp_book_wait_add(to, &row);
    }
    for (uint32_t i = 0; i < from->arrivals.count; i++) {
        hp_book_arrival_t row = *(const hp_book_arrival_t *)hp_table_row(&from->arrivals, i);
        row.site = names->sites[row.site];
        row.comm = (uint16_t)names->comms[row.comm];
        hp_book_arrival_add(to, &row);
    }
    for (uint32_t i = 0; i < from->slacks.count; i++) {
        hp_book_slack_t row = *(const hp_book_slack_t *)hp_table_row(&from->slacks, i);
        row.site = names->sites[row.site];
        hp_book_slack_add(to, &row);
    }
    for (uint32_t i = 0; i < from->ranks.count; i++) {
        hp_book_rank_t row = *(const hp_book_rank_t *)hp_table_row(&from->ranks, i);
        row.node = names->nodes[row.node];
        const uint32_t number = hp_table_add(&to->ranks, &row, to->ranks.key_words);
        if (number != HP_TABLE_FULL)
            *(hp_book_rank_t *)hp_table_row(&to->ranks, number) = row;
    }
    for (unsigned i = 0; i < HP_LOST_COUNT; i++)
        to->lost[i] += from->lost[i];
    for (unsigned i = 0; i < HP_BOOK_SIMULTANEOUS; i++)
        to->simultaneous[i] += from->simultaneous[i];
    add_unexpected(&to->unexpected, &from->unexpected);
}

void hp_book_merge(hp_book_t *to, const hp_book_t *from)
{
    const hp_table_t *tables[NAMES] = {&from->sites, &from->comms, &from->types, &from->ops, &from->nodes};
    uint32_t *maps[NAMES], total = 0;

    for (unsigned i = 0; i < NAMES; i++)
        total += tables[i]->count;
    uint32_t *memory = malloc((total + 1) * sizeof *memory);
    if (!memory) {
        for (uint32_t i = 0; i < from->records.count; i++)
            to->lost[HP_LOST_records] += ((const hp_book_record_t *)hp_table_row(&from->records, i))->count;
        return;
    }
    total = 0;
    for (unsigned i = 0; i < NAMES; i++) {
        maps[i] = memory + total;
        total += tables[i]->count;
    }
    const names_t names = {maps[0], maps[1], maps[2], maps[3], maps[4]};
    for (uint32_t i = 0; i < from->sites.count; i++)
        names.sites[i] = hp_book_copy_site(to, from, i);
    translate_names(names.comms, &to->comms, &from->comms);
    translate_names(names.types, &to->types, &from->types);
    translate_names(names.ops, &to->ops, &from->ops);
    translate_names(names.nodes, &to->nodes, &from->nodes);
    merge_records(&names, to, from);
    merge_rest(&names, to, from);
    free(memory);
}

/* ---- as bytes ---- */

/* What goes before the rows: the book itself, whose pointers mean nothing elsewhere. */
void *hp_book_pack(const hp_book_t *book, size_t *bytes)
{
    *bytes = sizeof *book;
#define X(id, row, key, limit) *bytes += (size_t)book->id.count * sizeof(row);
    HP_BOOK_TABLES(X)
#undef X
    char *packed = malloc(*bytes), *at = packed;
    if (!packed)
        return NULL;
    memcpy(at, book, sizeof *book);
    at += sizeof *book;
#define X(id, row, key, limit)                                                                               \
    if (book->id.count)                                                                                      \
        memcpy(at, book->id.rows, (size_t)book->id.count * sizeof(row));                                     \
    at += (size_t)book->id.count * sizeof(row);
    HP_BOOK_TABLES(X)
#undef X
    return packed;
}

static bool unpack_table(hp_table_t *table, const char **at, const char *end, uint32_t count)
{
    if ((size_t)(end - *at) < (size_t)count * table->row_bytes)
        return false;
    const uint32_t limit = table->limit;
    table->limit = UINT32_MAX; /* it was kept where it came from */
    for (uint32_t i = 0; i < count; i++, *at += table->row_bytes) {
        const uint32_t number = hp_table_add(table, *at, table->key_words);
        if (number != i)
            return false;
        memcpy(hp_table_row(table, number), *at, table->row_bytes);
    }
    table->limit = limit;
    return true;
}

bool hp_book_unpack(hp_book_t *book, const void *packed, size_t bytes)
{
    hp_book_t head;
    const char *at = (const char *)packed + sizeof head, *end = (const char *)packed + bytes;
    bool fits = bytes >= sizeof head && hp_book_init(book);

    if (!fits)
        return false;
    memcpy(&head, packed, sizeof head);
    memcpy(book->lost, head.lost, sizeof head.lost);
    memcpy(book->simultaneous, head.simultaneous, sizeof head.simultaneous);
    book->unexpected = head.unexpected;
#define X(id, row, key, limit) fits = fits && unpack_table(&book->id, &at, end, head.id.count);
    HP_BOOK_TABLES(X)
#undef X
    if (!fits)
        hp_book_fini(book);
    return fits;
}
