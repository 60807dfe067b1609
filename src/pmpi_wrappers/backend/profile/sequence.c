#include "pmpi_wrappers/backend/profile/sequence.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Numbers in all lists: 8 MiB; of all ranks, where they are put together, 512. */
static const uint64_t NOWHERE = UINT64_MAX;
enum {
    KINDS_MAX = 65536,
    COMMS_MAX = 4096,
    LISTS_MAX = 65536,
    NUMBERS_MAX = 1 << 20,
    ALL_NUMBERS_MAX = 1 << 26
};

hp_sequence_t hp_sequence;

bool hp_sequence_init(uint32_t room, uint64_t now)
{
    hp_table_init(&hp_sequence.kinds, sizeof(hp_sequence_kind_t), sizeof(hp_sequence_kind_t), KINDS_MAX);
    hp_table_init(&hp_sequence.comms, sizeof(hp_sequence_comm_t), sizeof(uint64_t), COMMS_MAX);
    hp_table_init(&hp_sequence.lists, sizeof(hp_sequence_list_t), offsetof(hp_sequence_list_t, from),
                  LISTS_MAX);
    hp_sequence.last = now;
    hp_sequence.events = room ? malloc(room * sizeof *hp_sequence.events) : NULL;
    hp_sequence.room = hp_sequence.events ? room : 0;
    return hp_sequence.room == room;
}

void hp_sequence_fini(void)
{
    for (uint32_t i = 0; i < hp_sequence.comms.count; i++)
        free(((hp_sequence_comm_t *)hp_table_row(&hp_sequence.comms, i))->world_ranks);
    hp_table_fini(&hp_sequence.kinds);
    hp_table_fini(&hp_sequence.comms);
    hp_table_fini(&hp_sequence.lists);
    free(hp_sequence.events);
    free(hp_sequence.numbers);
    hp_sequence = (hp_sequence_t){.room = 0};
}

static bool has_room(uint64_t length)
{
    if (hp_sequence.number_count + length > (hp_sequence.has_all_ranks ? ALL_NUMBERS_MAX : NUMBERS_MAX))
        return false;
    while (hp_sequence.number_count + length > hp_sequence.number_room) {
        const uint64_t room = hp_sequence.number_room ? hp_sequence.number_room * 2 : 4096;
        int64_t *wider = realloc(hp_sequence.numbers, room * sizeof *wider);
        if (!wider)
            return false;
        hp_sequence.numbers = wider;
        hp_sequence.number_room = room;
    }
    return true;
}

uint32_t hp_sequence_list(const int64_t *numbers, uint64_t length)
{
    const hp_sequence_list_t key = {.hash = hp_table_hash((const uint64_t *)numbers, (unsigned)length),
                                    .length = length};
    const uint32_t known = hp_sequence.lists.count;

    const uint32_t number = hp_table_add(&hp_sequence.lists, &key, hp_sequence.lists.key_words);
    if (number == HP_TABLE_FULL)
        return HP_SEQUENCE_NO_COUNTS;
    hp_sequence_list_t *list = hp_table_row(&hp_sequence.lists, number);
    if (hp_sequence.lists.count == known)
        return list->from != NOWHERE &&
                       memcmp(hp_sequence.numbers + list->from, numbers, length * sizeof *numbers) == 0
                   ? number
                   : HP_SEQUENCE_NO_COUNTS; /* no room when it came, or another with the same hash */
    list->from = NOWHERE;
    if (!has_room(length))
        return HP_SEQUENCE_NO_COUNTS;
    list->from = hp_sequence.number_count;
    memcpy(hp_sequence.numbers + list->from, numbers, length * sizeof *numbers);
    hp_sequence.number_count += length;
    return number;
}

static uint32_t number_of_comm(const hp_seen_comm_t *comm)
{
    const uint32_t known = hp_sequence.comms.count;

    if (!comm || !comm->id)
        return HP_SEQUENCE_NO_COMM;
    const uint32_t number = hp_table_add(&hp_sequence.comms, &comm->id, 1);
    if (number == HP_TABLE_FULL || hp_sequence.comms.count == known)
        return number;
    hp_sequence_comm_t *row = hp_table_row(&hp_sequence.comms, number);
    row->world_ranks = malloc((size_t)comm->size * sizeof *row->world_ranks);
    row->size = row->world_ranks ? (uint64_t)comm->size : 0;
    if (row->world_ranks)
        memcpy(row->world_ranks, comm->world_ranks, (size_t)comm->size * sizeof *row->world_ranks);
    return number;
}

uint32_t hp_sequence_kind(hp_sequence_kind_t *kind, const hp_seen_comm_t *comm)
{
    kind->comm = number_of_comm(comm);
    if (kind->comm == HP_SEQUENCE_NO_COMM)
        return HP_SEQUENCE_NO_KIND;
    return hp_table_add(&hp_sequence.kinds, kind, hp_sequence.kinds.key_words);
}

static uint64_t add(const hp_sequence_event_t *event, uint64_t enter, uint64_t leave)
{
    const uint64_t number = hp_sequence.made++;
    hp_sequence_event_t *place = &hp_sequence.events[number % hp_sequence.room];

    *place = *event;
    place->gap = enter > hp_sequence.last ? enter - hp_sequence.last : 0;
    place->took = leave - enter;
    hp_sequence.last = leave;
    return number;
}

uint64_t hp_sequence_faults(void)
{
    struct rusage usage = {.ru_minflt = 0};

    getrusage(RUSAGE_THREAD, &usage);
    return (uint64_t)usage.ru_minflt;
}

uint64_t hp_sequence_add(uint32_t kind, uint64_t enter, uint64_t leave, uint64_t faults)
{
    return add(&(hp_sequence_event_t){.kind = kind, .faults = faults}, enter, leave);
}

void hp_sequence_add_wait(uint32_t call, uint32_t site, uint64_t started, uint64_t enter, uint64_t leave)
{
    const hp_sequence_kind_t kind = {.call = (uint16_t)call,
                                     .site = site,
                                     .comm = HP_SEQUENCE_NO_COMM,
                                     .root = -1,
                                     .counts = HP_SEQUENCE_NO_COUNTS,
                                     .recv_counts = HP_SEQUENCE_NO_COUNTS};
    const uint32_t number = hp_table_add(&hp_sequence.kinds, &kind, hp_sequence.kinds.key_words);

    if (number == HP_TABLE_FULL)
        return;
    if (hp_sequence.last > enter) /* another operation was complete in the same call */
        enter = leave;
    add(&(hp_sequence_event_t){.kind = number, .is_wait = 1, .started = started}, enter, leave);
}
