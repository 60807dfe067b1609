#include "pmpi_wrappers/backend/profile/sequence_json.h"

#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "pmpi_wrappers/backend/observe/rank_messages.h"
#include "pmpi_wrappers/backend/profile/gather/gather.h"
#include "pmpi_wrappers/backend/profile/sequence.h"
#include "pmpi_wrappers/backend/profile/book/shapes.h"
#include "pmpi_wrappers/backend/profile/book/ticks.h"
#include "pmpi_wrappers/backend/start/job.h"

/* What a rank says before its tables. */
typedef struct {
    uint64_t book_bytes, kinds, comms, lists, numbers, events, made, slacks;
} head_t;

/* A rank's sequence on its way: tables as they are, events in their order, in nanoseconds. */
typedef struct {
    head_t head;
    hp_book_t names; /* of the kinds */
    hp_sequence_kind_t *kinds;
    hp_sequence_comm_t *comms;
    hp_sequence_list_t *lists;
    int64_t *numbers;
    hp_sequence_event_t *events;
    hp_book_slack_t *slacks;
} strip_t;

/* Of this rank alone; sites are those of its book. */
static struct {
    hp_book_slack_t *rows;
    uint64_t count;
} own_slacks;

static bool send(const void *message, size_t bytes, int to)
{
    return hp_rank_send(message, bytes, to, HP_PROFILE_TAG);
}

static bool receive(void *message, size_t bytes, int from)
{
    return hp_rank_receive(message, bytes, from, HP_PROFILE_TAG);
}

static const char *name_at(const hp_table_t *names, uint32_t number)
{
    return ((const hp_book_name_t *)hp_table_row(names, number))->text;
}

static void rename_kind(hp_sequence_kind_t *kind, hp_book_t *to, const hp_book_t *from)
{
    kind->type = (uint16_t)hp_book_name(&to->types, name_at(&from->types, kind->type));
    kind->op = (uint16_t)hp_book_name(&to->ops, name_at(&from->ops, kind->op));
    kind->site = hp_book_copy_site(to, from, kind->site);
}

static void *copy(const void *from, size_t bytes)
{
    void *to = malloc(bytes ? bytes : 1);
    if (to && bytes)
        memcpy(to, from, bytes);
    return to;
}

static uint64_t kept_events(void)
{
    return hp_sequence.made < hp_sequence.room ? hp_sequence.made : hp_sequence.room;
}

/* The ring from its oldest event on. */
static hp_sequence_event_t *straighten(void)
{
    const uint64_t kept = kept_events(), first = hp_sequence.made - kept;
    hp_sequence_event_t *events = malloc((kept ? kept : 1) * sizeof *events);

    for (uint64_t i = 0; events && i < kept; i++) {
        events[i] = hp_sequence.events[(first + i) % hp_sequence.room];
        events[i].gap = hp_ticks_ns(events[i].gap);
        events[i].took = hp_ticks_ns(events[i].took);
    }
    return events;
}

static void strip_fini(strip_t *strip)
{
    hp_book_fini(&strip->names);
    free(strip->kinds);
    free(strip->comms);
    free(strip->lists);
    free(strip->numbers);
    free(strip->events);
    free(strip->slacks);
}

static bool strip_is_whole(const strip_t *strip)
{
    return strip->kinds && strip->comms && strip->lists && strip->numbers && strip->events && strip->slacks;
}

void hp_sequence_keep_slacks(const hp_book_t *book)
{
    own_slacks.rows = copy(book->slacks.rows, book->slacks.count * sizeof *own_slacks.rows);
    own_slacks.count = own_slacks.rows ? book->slacks.count : 0;
}

void hp_sequence_forget_slacks(void)
{
    free(own_slacks.rows);
    own_slacks.rows = NULL;
    own_slacks.count = 0;
}

/* ---- a rank sends ---- */

static bool fill_own(strip_t *strip, const hp_book_t *book)
{
    *strip = (strip_t){.head = {.kinds = hp_sequence.kinds.count,
                                .comms = hp_sequence.comms.count,
                                .lists = hp_sequence.lists.count,
                                .numbers = hp_sequence.number_count,
                                .events = kept_events(),
                                .made = hp_sequence.made,
                                .slacks = own_slacks.count}};
    strip->kinds = copy(hp_sequence.kinds.rows, strip->head.kinds * sizeof *strip->kinds);
    strip->comms = copy(hp_sequence.comms.rows, strip->head.comms * sizeof *strip->comms);
    strip->lists = copy(hp_sequence.lists.rows, strip->head.lists * sizeof *strip->lists);
    strip->numbers = copy(hp_sequence.numbers, strip->head.numbers * sizeof *strip->numbers);
    strip->events = straighten();
    strip->slacks = copy(own_slacks.rows, own_slacks.count * sizeof *strip->slacks);
    const bool ready = hp_book_init(&strip->names) && strip_is_whole(strip);
    for (uint64_t i = 0; ready && i < strip->head.kinds; i++)
        rename_kind(&strip->kinds[i], &strip->names, book);
    for (uint64_t i = 0; ready && i < strip->head.slacks; i++)
        strip->slacks[i].site = hp_book_copy_site(&strip->names, book, strip->slacks[i].site);
    return ready;
}

/* Rank 0 says behind the head whether it has room for the rest. */
static bool send_strip(const strip_t *strip, const void *names)
{
    const head_t *head = &strip->head;
    uint64_t has_room = 0;

    return send(head, sizeof *head, 0) && receive(&has_room, sizeof has_room, 0) && has_room &&
           send(names, head->book_bytes, 0) && send(strip->kinds, head->kinds * sizeof *strip->kinds, 0) &&
           send(strip->comms, head->comms * sizeof *strip->comms, 0) &&
           send(strip->lists, head->lists * sizeof *strip->lists, 0) &&
           send(strip->numbers, head->numbers * sizeof *strip->numbers, 0) &&
           send(strip->events, head->events * sizeof *strip->events, 0) &&
           send(strip->slacks, head->slacks * sizeof *strip->slacks, 0);
}

/* Rank 0 asks for the ranks of the communicators that it does not know. */
static void send_comms(const strip_t *strip)
{
    uint64_t number;

    while (receive(&number, sizeof number, 0) && number < strip->head.comms)
        if (!send(strip->comms[number].world_ranks, strip->comms[number].size * sizeof(uint32_t), 0))
            return;
}

void hp_sequence_send(const hp_book_t *book)
{
    static const head_t nothing;
    uint64_t go = 0;
    strip_t strip;

    if (!receive(&go, sizeof go, 0) || !go)
        return;
    size_t bytes = 0;
    void *names = fill_own(&strip, book) ? hp_book_pack(&strip.names, &bytes) : NULL;
    strip.head.book_bytes = bytes;
    if (!names) {
        hp_warn("HANPMPI_PROFILE_SEQUENCE: no memory for what this rank recorded: it is left out");
        send(&nothing, sizeof nothing, 0);
    } else if (send_strip(&strip, names)) {
        send_comms(&strip);
    }
    free(names);
    strip_fini(&strip);
}

/* ---- rank 0 writes ---- */

/* Behind the numbers of communicators that rank 0 asks for. */
static const uint64_t no_more = UINT64_MAX;

void hp_sequence_refuse(void)
{
    const uint64_t go = 0;

    for (int rank = 1; hp_job.knobs.profile_sequence && rank < hp_job.size; rank++)
        send(&go, sizeof go, rank);
}

static void *room_for(uint64_t count, size_t bytes)
{
    return malloc(count > 0 ? count * bytes : 1);
}

/* Room for what the head says, and for the names. */
static void *make_room(strip_t *strip)
{
    const head_t *head = &strip->head;

    strip->kinds = room_for(head->kinds, sizeof *strip->kinds);
    strip->comms = room_for(head->comms, sizeof *strip->comms);
    strip->lists = room_for(head->lists, sizeof *strip->lists);
    strip->numbers = room_for(head->numbers, sizeof *strip->numbers);
    strip->events = room_for(head->events, sizeof *strip->events);
    strip->slacks = room_for(head->slacks, sizeof *strip->slacks);
    return strip_is_whole(strip) ? room_for(head->book_bytes, 1) : NULL;
}

static bool receive_tables(strip_t *strip, void *names, int rank)
{
    const head_t *head = &strip->head;

    return receive(names, head->book_bytes, rank) &&
           receive(strip->kinds, head->kinds * sizeof *strip->kinds, rank) &&
           receive(strip->comms, head->comms * sizeof *strip->comms, rank) &&
           receive(strip->lists, head->lists * sizeof *strip->lists, rank) &&
           receive(strip->numbers, head->numbers * sizeof *strip->numbers, rank) &&
           receive(strip->events, head->events * sizeof *strip->events, rank) &&
           receive(strip->slacks, head->slacks * sizeof *strip->slacks, rank);
}

/* False: the rank has left itself out, or there is no memory for it. */
static bool receive_strip(strip_t *strip, int rank)
{
    *strip = (strip_t){.kinds = NULL};
    head_t *head = &strip->head;

    if (!receive(head, sizeof *head, rank) || !head->book_bytes)
        return false;
    void *names = make_room(strip);
    const uint64_t has_room = names != NULL;
    bool whole = send(&has_room, sizeof has_room, rank) && has_room && receive_tables(strip, names, rank);
    if (whole && !hp_book_unpack(&strip->names, names, head->book_bytes)) {
        send(&no_more, sizeof no_more, rank);
        whole = false;
    }
    free(names);
    if (!whole) {
        hp_warn("HANPMPI_PROFILE_SEQUENCE: no memory for the sequence of rank %d", rank);
        hp_book_init(&strip->names);
        strip_fini(strip);
    }
    return whole;
}

/* The number of a rank's communicator among those of rank 0's sequence. */
static uint32_t take_comm(const strip_t *strip, uint64_t number, int rank)
{
    const uint32_t known = hp_sequence.comms.count;
    const uint32_t found = hp_table_add(&hp_sequence.comms, &strip->comms[number].id, 1);

    if (found == HP_TABLE_FULL || hp_sequence.comms.count == known)
        return found;
    hp_sequence_comm_t *row = hp_table_row(&hp_sequence.comms, found);
    const size_t bytes = strip->comms[number].size * sizeof *row->world_ranks;
    row->world_ranks = room_for(bytes, 1);
    if (row->world_ranks && send(&number, sizeof number, rank) && receive(row->world_ranks, bytes, rank))
        row->size = strip->comms[number].size;
    return found;
}

static uint32_t take_list(const strip_t *strip, uint32_t number, uint64_t *lost)
{
    if (number == HP_SEQUENCE_NO_COUNTS)
        return number;
    const uint32_t taken =
        hp_sequence_list(strip->numbers + strip->lists[number].from, strip->lists[number].length);
    *lost += taken == HP_SEQUENCE_NO_COUNTS;
    return taken;
}

/* Turns the kinds of a rank into those of rank 0, and says which ones they are there. */
static uint32_t *take_kinds(strip_t *strip, hp_book_t *book, int rank, uint64_t *lost)
{
    uint32_t *numbers = malloc((strip->head.kinds + 1) * sizeof *numbers);
    uint32_t *comms = malloc((strip->head.comms + 1) * sizeof *comms);

    for (uint64_t i = 0; comms && i < strip->head.comms; i++)
        comms[i] = take_comm(strip, i, rank);
    send(&no_more, sizeof no_more, rank);
    for (uint64_t i = 0; numbers && comms && i < strip->head.kinds; i++) {
        hp_sequence_kind_t kind = strip->kinds[i];
        rename_kind(&kind, book, &strip->names);
        kind.counts = take_list(strip, kind.counts, lost);
        kind.recv_counts = take_list(strip, kind.recv_counts, lost);
        numbers[i] = HP_SEQUENCE_NO_KIND;
        if (kind.comm == HP_SEQUENCE_NO_COMM || (kind.comm = comms[kind.comm]) != HP_SEQUENCE_NO_COMM)
            numbers[i] = hp_table_add(&hp_sequence.kinds, &kind, hp_sequence.kinds.key_words);
    }
    if (!comms) {
        free(numbers);
        numbers = NULL;
    }
    free(comms);
    return numbers;
}

/* With a point, whatever the program's locale puts there. */
static void write_seconds(FILE *out, uint64_t ns, const char *behind)
{
    fprintf(out, "%llu.%09llu%s", (unsigned long long)(ns / 1000000000),
            (unsigned long long)(ns % 1000000000), behind);
}

/* kinds: numbers of the file; NULL: they are. Events of a kind that has no number are time between others. */
static bool write_rank(FILE *out, int rank, const strip_t *strip, const uint32_t *kinds, bool is_first)
{
    const uint64_t first = strip->head.made - strip->head.events;
    int64_t *index = malloc((strip->head.events + 1) * sizeof *index), written = 0;
    uint64_t gap = 0;

    if (!index)
        return false;
    fprintf(out, "%s\n{\"rank\":%d,\"skipped\":%llu,\"events\":[", is_first ? "" : ",", rank,
            (unsigned long long)first);
    for (uint64_t i = 0; i < strip->head.events; i++) {
        const hp_sequence_event_t *event = &strip->events[i];
        const uint32_t kind = kinds ? kinds[event->kind] : event->kind;
        gap += event->gap;
        index[i] = -1;
        if (kind == HP_SEQUENCE_NO_KIND) {
            gap += event->took;
            continue;
        }
        fprintf(out, "%s[%u,", written ? "," : "", kind);
        write_seconds(out, gap, ",");
        write_seconds(out, event->took, "");
        if (event->is_wait)
            fprintf(out, ",%lld", (long long)(event->started >= first ? index[event->started - first] : -1));
        else if (event->faults)
            fprintf(out, ",-1,%llu", (unsigned long long)event->faults);
        putc(']', out);
        index[i] = written++;
        gap = 0;
    }
    free(index);
    fputs("],\"slack\":[", out);
    for (uint64_t i = 0; i < strip->head.slacks; i++) {
        const hp_book_slack_t *row = &strip->slacks[i];
        fprintf(out, "%s[%u,%u,\"%s\",%llu,", i ? "," : "", row->call, row->site,
                hp_book_how_word((hp_book_how_t)row->how), (unsigned long long)row->after);
        write_seconds(out, row->after_ns, ",");
        fprintf(out, "%llu,", (unsigned long long)row->before);
        write_seconds(out, row->before_ns, "]");
    }
    return fputs("]}", out) >= 0;
}

static bool write_list(FILE *out, const char *key, uint32_t number)
{
    if (number == HP_SEQUENCE_NO_COUNTS)
        return true;
    const hp_sequence_list_t *list = hp_table_row(&hp_sequence.lists, number);
    fprintf(out, ",\"%s\":[", key);
    for (uint64_t i = 0; i < list->length; i++)
        fprintf(out, "%s%lld", i ? "," : "", (long long)hp_sequence.numbers[list->from + i]);
    return putc(']', out) != EOF;
}

/* Names of types may be the program's. */
static void write_text(FILE *out, const char *key, const char *text)
{
    fprintf(out, ",\"%s\":\"", key);
    for (; *text; text++)
        if (*text >= 0x20 && *text < 0x7f && *text != '"' && *text != '\\')
            putc(*text, out);
        else
            fprintf(out, "\\u%04x", (unsigned char)*text);
    putc('"', out);
}

static bool write_kinds(FILE *out, const hp_book_t *book)
{
    for (uint32_t i = 0; i < hp_sequence.kinds.count; i++) {
        const hp_sequence_kind_t *kind = hp_table_row(&hp_sequence.kinds, i);
        fprintf(out,
                "%s\n{\"call\":%u,\"comm\":%d,\"root\":%lld,\"type_bytes\":%lld,\"count\":%lld,\"site\":%u",
                i ? "," : "", kind->call, kind->comm == HP_SEQUENCE_NO_COMM ? -1 : (int)kind->comm,
                (long long)kind->root, (long long)kind->type_bytes, (long long)kind->count, kind->site);
        write_text(out, "op", name_at(&book->ops, kind->op));
        write_text(out, "type", name_at(&book->types, kind->type));
        write_list(out, "counts", kind->counts);
        write_list(out, "receive_counts", kind->recv_counts);
        putc('}', out);
    }
    return !ferror(out);
}

static bool write_comms(FILE *out)
{
    for (uint32_t i = 0; i < hp_sequence.comms.count; i++) {
        const hp_sequence_comm_t *comm = hp_table_row(&hp_sequence.comms, i);
        fprintf(out, "%s\n{\"world_ranks\":[", i ? "," : "");
        for (uint64_t k = 0; k < comm->size; k++)
            fprintf(out, "%s%u", k ? "," : "", comm->world_ranks[k]);
        fputs("]}", out);
    }
    return !ferror(out);
}

static bool write_own(FILE *out)
{
    const strip_t own = {
        .head = {.events = kept_events(), .made = hp_sequence.made, .slacks = own_slacks.count},
        .events = straighten(),
        .slacks = own_slacks.rows};
    const bool written = own.events && write_rank(out, 0, &own, NULL, true);
    free(own.events);
    return written;
}

bool hp_sequence_write(FILE *out, hp_book_t *book)
{
    const uint64_t go = 1;
    uint64_t lost = 0; /* lists */

    hp_sequence.has_all_ranks = true;
    fputs("{\"ranks\":[", out);
    bool written = write_own(out);
    for (int rank = 1; rank < hp_job.size; rank++) { /* all of them, whatever becomes of the file */
        strip_t strip;
        if (!send(&go, sizeof go, rank) || !receive_strip(&strip, rank))
            continue;
        uint32_t *kinds = take_kinds(&strip, book, rank, &lost);
        for (uint64_t i = 0; i < strip.head.slacks; i++)
            strip.slacks[i].site = hp_book_copy_site(book, &strip.names, strip.slacks[i].site);
        written = kinds && written && write_rank(out, rank, &strip, kinds, false);
        free(kinds);
        strip_fini(&strip);
    }
    if (lost)
        hp_warn("HANPMPI_PROFILE_SEQUENCE: no room for %llu lists of counts: these calls cannot be replayed",
                (unsigned long long)lost);
    fputs("],\n\"kinds\":[", out);
    write_kinds(out, book);
    fputs("],\n\"communicators\":[", out);
    write_comms(out);
    return fputs("]}", out) >= 0 && written;
}
