/* sequence: the last collectives of this rank in the order of the calls (HANPMPI_PROFILE_SEQUENCE), for
 * hanpmpi_replay.
 *
 * A ring of events; what they are is in a table of kinds, so that an event is 32 bytes. Non-blocking and persistent
 * collectives have an event where they are started and one where they are waited for.
 *
 * Threads: one at a time. Ownership: kept until fini. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_SEQUENCE_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_SEQUENCE_H

#include "pmpi_wrappers/backend/profile/handles.h"

enum {
    HP_SEQUENCE_NO_COUNTS = UINT32_MAX,
    HP_SEQUENCE_NO_KIND = UINT32_MAX,
    HP_SEQUENCE_NO_COMM = UINT32_MAX
};

/* One key: no padding. */
typedef struct {
    uint16_t call, type, op, zero;
    uint32_t site, comm; /* comm: hp_sequence_comm_t, HP_SEQUENCE_NO_COMM: none (a wait) */
    int64_t root, type_bytes, count;
    uint32_t counts, recv_counts; /* numbers of lists; HP_SEQUENCE_NO_COUNTS: none */
} hp_sequence_kind_t;

typedef struct {
    uint64_t id;
    uint32_t *world_ranks; /* behind the key; size of them */
    uint64_t size;
} hp_sequence_comm_t;

/* A list of counts: where it stands in hp_sequence.numbers. */
typedef struct {
    uint64_t hash, length;
    uint64_t from; /* behind the key */
} hp_sequence_list_t;

typedef struct {
    uint32_t kind, is_wait;
    union {
        uint64_t started; /* of a wait: number of the event that started it */
        uint64_t faults;  /* else: of pages, in the call: where its buffers are used for the first time */
    };
    uint64_t gap, took; /* ticks */
} hp_sequence_event_t;

typedef struct {
    uint32_t room;
    uint64_t made; /* so many events were made; the last ones are in the ring, number n in n % room */
    uint64_t last; /* ticks: when the one before ended */
    hp_sequence_event_t *events;
    hp_table_t kinds, comms, lists;
    int64_t *numbers;
    uint64_t number_count, number_room;
    bool has_all_ranks; /* rank 0 puts together what the ranks have */
} hp_sequence_t;

extern hp_sequence_t hp_sequence;

/* room: events; 0: there is no sequence. False: no memory. */
bool hp_sequence_init(uint32_t room, uint64_t now);
void hp_sequence_fini(void);

static inline bool hp_sequence_is_on(void)
{
    return hp_sequence.room != 0;
}

/* The number of a list; HP_SEQUENCE_NO_COUNTS: no room. */
uint32_t hp_sequence_list(const int64_t *numbers, uint64_t length);
/* kind->comm is filled in from comm. HP_SEQUENCE_NO_KIND: no room. */
uint32_t hp_sequence_kind(hp_sequence_kind_t *kind, const hp_seen_comm_t *comm);
/* Page faults of this thread until now. */
uint64_t hp_sequence_faults(void);
/* Returns the event's number. */
uint64_t hp_sequence_add(uint32_t kind, uint64_t enter, uint64_t leave, uint64_t faults);
/* What event number started was complete in a call that waits or tests. */
void hp_sequence_add_wait(uint32_t call, uint32_t site, uint64_t started, uint64_t enter, uint64_t leave);

#endif
