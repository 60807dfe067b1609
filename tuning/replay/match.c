#include "match.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 64 };

/* What an event is. */
typedef enum { ROLE_CALL, ROLE_WAIT, ROLE_OTHER } role_t;

/* A rank as a member of a communicator. */
typedef struct {
    int comm, position;
} membership_t;

typedef struct {
    replay_plan_t *plan;
    const replay_recording_t *recording;
    char *error;
    struct {
        const bench_collective_t *collective;
        bool nonblocking;
        int name;
    } * kinds;
    bool from_front;
    membership_t **members; /* by world rank */
    int *member_counts;
    int *matched;    /* by communicator: calls that all members have */
    int **tuples;    /* by communicator: matched * size kinds */
    int **call_of;   /* by communicator and number: the plan's call */
    bool **is_first; /* likewise */
    int *table;      /* hash: 1 + the plan's call; 0: free */
    size_t table_size;
    const int **tuple_of; /* by call of the plan */
} matcher_t;

__attribute__((format(printf, 2, 3))) static bool refuse(const matcher_t *m, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(m->error, REPLAY_ERROR_BYTES, format, values);
    va_end(values);
    return false;
}

static int comm_size(const matcher_t *m, int comm)
{
    return m->recording->comms[comm].size;
}

/* ---- names ---- */

/* "allreduce" of "MPI_Allreduce_init". */
static bool plain_name(const char *call, char name[NAME_BYTES])
{
    static const char *const endings[] = {"_c", "_init"};

    if (strncmp(call, "MPI_", 4) != 0 || strlen(call) >= NAME_BYTES)
        return false;
    strcpy(name, call + 4);
    for (char *c = name; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    for (unsigned i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t length = strlen(name), ending = strlen(endings[i]);
        if (length > ending && strcmp(name + length - ending, endings[i]) == 0)
            name[length - ending] = '\0';
    }
    return true;
}

const bench_collective_t *replay_collective(const char *call, bool *nonblocking)
{
    char name[NAME_BYTES];

    *nonblocking = false;
    if (!plain_name(call, name))
        return NULL;
    const bench_collective_t *collective = bench_collective_find(name);
    *nonblocking = collective && strstr(call, "_init");
    if (!collective && name[0] == 'i' && (collective = bench_collective_find(name + 1)))
        *nonblocking = true;
    return collective;
}

static int name_index(replay_plan_t *plan, const char *name)
{
    int i = 0;
    while (i < plan->name_count && strcmp(plan->names[i], name) != 0)
        i++;
    if (i == plan->name_count)
        plan->names[plan->name_count++] = name;
    return i;
}

static void read_names(matcher_t *m)
{
    m->plan->names = replay_allocate((size_t)m->recording->kind_count, sizeof *m->plan->names);
    m->kinds = replay_allocate((size_t)m->recording->kind_count, sizeof *m->kinds);
    for (int i = 0; i < m->recording->kind_count; i++) {
        const replay_kind_t *kind = &m->recording->kinds[i];
        m->kinds[i].collective =
            kind->comm < 0 ? NULL : replay_collective(kind->call, &m->kinds[i].nonblocking);
        if (m->kinds[i].collective)
            m->kinds[i].name = name_index(m->plan, kind->call);
    }
}

static role_t role_of(const matcher_t *m, const replay_event_t *event)
{
    return m->kinds[event->kind].collective    ? ROLE_CALL
           : event->started != REPLAY_NO_START ? ROLE_WAIT
                                               : ROLE_OTHER;
}

/* ---- who has which calls ---- */

static void find_members(matcher_t *m)
{
    const replay_recording_t *recording = m->recording;

    m->members = replay_allocate((size_t)recording->ranks, sizeof *m->members);
    m->member_counts = replay_allocate((size_t)recording->ranks, sizeof *m->member_counts);
    for (int comm = 0; comm < recording->comm_count; comm++)
        for (int i = 0; i < recording->comms[comm].size; i++)
            m->member_counts[recording->comms[comm].world_ranks[i]]++;
    for (int rank = 0; rank < recording->ranks; rank++) {
        m->members[rank] = replay_allocate((size_t)m->member_counts[rank], sizeof **m->members);
        m->member_counts[rank] = 0;
    }
    for (int comm = 0; comm < recording->comm_count; comm++)
        for (int i = 0; i < recording->comms[comm].size; i++) {
            const int rank = recording->comms[comm].world_ranks[i];
            m->members[rank][m->member_counts[rank]++] = (membership_t){comm, i};
        }
}

/* The calls of a rank on each of its communicators. */
static void count_calls(const matcher_t *m, int rank, int *counts)
{
    const replay_rank_t *track = &m->recording->rank[rank];

    for (int i = 0; i < m->member_counts[rank]; i++)
        counts[m->members[rank][i].comm] = 0;
    for (int i = 0; i < track->count; i++)
        if (role_of(m, &track->events[i]) == ROLE_CALL)
            counts[m->recording->kinds[track->events[i].kind].comm]++;
}

/* Is the rank a member of every communicator that its events name? */
static bool check_members(const matcher_t *m, int rank, int *positions)
{
    const replay_rank_t *track = &m->recording->rank[rank];

    for (int comm = 0; comm < m->recording->comm_count; comm++)
        positions[comm] = -1;
    for (int i = 0; i < m->member_counts[rank]; i++)
        positions[m->members[rank][i].comm] = m->members[rank][i].position;
    for (int i = 0; i < track->count; i++) {
        const int comm = m->recording->kinds[track->events[i].kind].comm;
        if (role_of(m, &track->events[i]) == ROLE_CALL && positions[comm] < 0)
            return refuse(m, "rank %d's event %d is on communicator %d, of which it is no member", rank, i,
                          comm);
    }
    return true;
}

static bool count_matched(matcher_t *m, int *counts, int *positions)
{
    m->from_front = true;
    m->matched = replay_allocate((size_t)m->recording->comm_count, sizeof *m->matched);
    for (int comm = 0; comm < m->recording->comm_count; comm++)
        m->matched[comm] = INT_MAX;
    for (int rank = 0; rank < m->recording->ranks; rank++) {
        m->from_front &= m->recording->rank[rank].skipped == 0;
        if (!check_members(m, rank, positions))
            return false;
        count_calls(m, rank, counts);
        for (int i = 0; i < m->member_counts[rank]; i++) {
            const int comm = m->members[rank][i].comm;
            m->matched[comm] = counts[comm] < m->matched[comm] ? counts[comm] : m->matched[comm];
        }
    }
    return true;
}

/* The first call of a rank's `count` on the communicator that is matched. */
static int first_matched(const matcher_t *m, int comm, int count)
{
    return m->from_front ? 0 : count - m->matched[comm];
}

static void fill_tuples(matcher_t *m, int *counts, int *positions)
{
    int *made = replay_allocate((size_t)m->recording->comm_count, sizeof *made);

    m->tuples = replay_allocate((size_t)m->recording->comm_count, sizeof *m->tuples);
    for (int comm = 0; comm < m->recording->comm_count; comm++)
        m->tuples[comm] =
            replay_allocate((size_t)m->matched[comm] * (size_t)comm_size(m, comm), sizeof **m->tuples);
    for (int rank = 0; rank < m->recording->ranks; rank++) {
        const replay_rank_t *track = &m->recording->rank[rank];
        check_members(m, rank, positions);
        count_calls(m, rank, counts);
        for (int i = 0; i < m->member_counts[rank]; i++)
            made[m->members[rank][i].comm] = 0;
        for (int i = 0; i < track->count; i++) {
            if (role_of(m, &track->events[i]) != ROLE_CALL)
                continue;
            const int kind = track->events[i].kind, comm = m->recording->kinds[kind].comm;
            const int number = made[comm]++ - first_matched(m, comm, counts[comm]);
            if (number >= 0 && number < m->matched[comm])
                m->tuples[comm][(size_t)number * (size_t)comm_size(m, comm) + (size_t)positions[comm]] = kind;
        }
    }
    free(made);
}

/* ---- what all members say of a call ---- */

static const replay_kind_t *kind_of(const matcher_t *m, const int *tuple, int member)
{
    return &m->recording->kinds[tuple[member]];
}

static bool check_call(const matcher_t *m, int comm, int number, const int *tuple)
{
    const replay_kind_t *first = kind_of(m, tuple, 0);

    for (int i = 1; i < comm_size(m, comm); i++) {
        const replay_kind_t *kind = kind_of(m, tuple, i);
        const int *ranks = m->recording->comms[comm].world_ranks;
        if (m->kinds[tuple[i]].collective != m->kinds[tuple[0]].collective || kind->root != first->root)
            return refuse(m,
                          "the ranks do not agree on call %d of communicator %d: %s, root %d, on rank %d; "
                          "%s, root %d, on "
                          "rank %d. Was the recording cut off?",
                          number, comm, first->call, first->root, ranks[0], kind->call, kind->root, ranks[i]);
    }
    return m->kinds[tuple[0]].collective->has_root && first->root < 0
               ? refuse(m, "call %d of communicator %d: %s without a root", number, comm, first->call)
               : true;
}

/* The member whose vector or block is the longest: in place there is none. */
static void read_vector(const matcher_t *m, const int *tuple, replay_call_t *call)
{
    int64_t most = -1;

    for (int i = 0; i < comm_size(m, call->comm); i++) {
        const replay_kind_t *kind = kind_of(m, tuple, i);
        if (kind->count * kind->type_bytes <= most)
            continue;
        most = kind->count * kind->type_bytes;
        call->type = kind->type;
        call->type_bytes = (size_t)kind->type_bytes;
        call->count = (size_t)kind->count;
    }
}

/* Elements of the type that all members have, or else bytes. */
static void read_unit(const matcher_t *m, const int *tuple, replay_call_t *call)
{
    const replay_kind_t *first = kind_of(m, tuple, 0);

    call->type = first->type;
    call->type_bytes = (size_t)first->type_bytes;
    for (int i = 1; i < comm_size(m, call->comm); i++)
        if (kind_of(m, tuple, i)->type_bytes != first->type_bytes)
            call->type_bytes = 0;
    if (call->type_bytes == 0) {
        call->type = "MPI_BYTE";
        call->type_bytes = 1;
    }
}

static bool by_both(const bench_collective_t *collective)
{
    return collective->blocks.sends == BENCH_BLOCK_EACH && collective->blocks.receives == BENCH_BLOCK_EACH;
}

size_t replay_length(const replay_plan_t *plan, const replay_call_t *call, int s, int d)
{
    const size_t size = (size_t)plan->recording->comms[call->comm].size;

    if (!call->lengths)
        return call->count;
    if (by_both(call->collective))
        return (size_t)call->lengths[(size_t)s * size + (size_t)d];
    return (size_t)call->lengths[call->collective->blocks.sends == BENCH_ONE_BLOCK ? s : d];
}

/* So many of the kind's elements, in the call's. */
static bool set_length(const matcher_t *m, const replay_kind_t *kind, int64_t elements,
                       const replay_call_t *call, int *length)
{
    const int64_t units = kind->type_bytes ? elements * kind->type_bytes / (int64_t)call->type_bytes : 0;

    *length = (int)units;
    return units <= INT_MAX ? true
                            : refuse(m, "%s: a block of %lld elements is too long to be replayed", kind->call,
                                     (long long)units);
}

/* One list for all: the root's, or where there is no root anybody's; without one each member's own count. */
static bool read_list(const matcher_t *m, const int *tuple, replay_call_t *call)
{
    const bench_collective_t *collective = call->collective;
    const int size = comm_size(m, call->comm);
    const replay_kind_t *speaks = kind_of(m, tuple, collective->has_root ? call->root : 0);
    bool good = true;

    for (int i = 0; i < size && good; i++) {
        const replay_kind_t *own = kind_of(m, tuple, i);
        good = speaks->counts ? set_length(m, speaks, speaks->counts[i], call, &call->lengths[i])
                              : set_length(m, own, own->count, call, &call->lengths[i]);
    }
    return good;
}

static bool read_matrix(const matcher_t *m, const int *tuple, replay_call_t *call)
{
    const size_t size = (size_t)comm_size(m, call->comm);

    for (size_t s = 0; s < size; s++) {
        const replay_kind_t *kind = kind_of(m, tuple, (int)s);
        for (size_t d = 0; d < size; d++) {
            const replay_kind_t *other = kind_of(m, tuple, (int)d);
            const int64_t *received = other->receive_counts ? other->receive_counts : other->counts;
            int *length = &call->lengths[s * size + d], comes = 0;
            if (!kind->counts && !received)
                return refuse(m, "%s on communicator %d: neither rank %zu nor rank %zu has \"counts\"",
                              kind->call, call->comm, s, d);
            /* In place there are no counts of what is sent. */
            if (kind->counts ? !set_length(m, kind, kind->counts[d], call, length)
                             : !set_length(m, other, received[s], call, length))
                return false;
            if (received && !set_length(m, other, received[s], call, &comes))
                return false;
            if (received && comes != *length)
                return refuse(m,
                              "%s on communicator %d: rank %zu sends %d elements to rank %zu, which expects "
                              "%d. Was the "
                              "recording cut off?",
                              kind->call, call->comm, s, *length, d, comes);
        }
    }
    return true;
}

/* The places of blocks are ints. */
static bool check_places(const matcher_t *m, const replay_call_t *call)
{
    const int size = comm_size(m, call->comm);

    for (int i = 0; i < size; i++) {
        int64_t out = 0, in = 0;
        for (int j = 0; j < size; j++) {
            out += (int64_t)replay_length(m->plan, call, i, j);
            in += (int64_t)replay_length(m->plan, call, j, i);
        }
        if (out > INT_MAX || in > INT_MAX)
            return refuse(
                m,
                "%s on communicator %d: the blocks of one rank are more than %d elements, too many to be "
                "replayed",
                m->plan->names[call->name], call->comm, INT_MAX);
        if (!by_both(call->collective)) /* the sums of all ranks are the same */
            break;
    }
    return true;
}

static bool read_call(const matcher_t *m, int comm, int number, const int *tuple, replay_call_t *call)
{
    const bench_collective_t *collective = m->kinds[tuple[0]].collective;
    const size_t size = (size_t)comm_size(m, comm);

    *call = (replay_call_t){.collective = collective,
                            .op = "",
                            .name = m->kinds[tuple[0]].name,
                            .comm = comm,
                            .site = kind_of(m, tuple, 0)->site,
                            .root = kind_of(m, tuple, 0)->root,
                            .nonblocking = m->kinds[tuple[0]].nonblocking};
    if (!check_call(m, comm, number, tuple))
        return false;
    call->root = collective->has_root ? call->root : 0;
    for (size_t i = 0; i < size && !*call->op; i++)
        call->op = kind_of(m, tuple, (int)i)->op;
    if (!collective->blocks.sizes_differ) {
        read_vector(m, tuple, call);
        return call->count <= (collective->has_blocks ? INT_MAX : bench_count_max())
                   ? true
                   : refuse(m, "%s of %zu elements is too long to be replayed", m->plan->names[call->name],
                            call->count);
    }
    read_unit(m, tuple, call);
    call->lengths = replay_allocate(by_both(collective) ? size * size : size, sizeof *call->lengths);
    return (by_both(collective) ? read_matrix : read_list)(m, tuple, call) && check_places(m, call);
}

/* ---- equal calls are one ---- */

static uint64_t hash(int comm, const int *tuple, int size)
{
    uint64_t x = (uint64_t)comm * 0x9e3779b97f4a7c15u + 1;
    for (int i = 0; i < size; i++) {
        x = (x ^ (uint64_t)tuple[i]) * 0xbf58476d1ce4e5b9u;
        x ^= x >> 29;
    }
    return x;
}

/* The place of the tuple's call in the table, or of a free one. */
static int *find(const matcher_t *m, int comm, const int *tuple)
{
    const int size = comm_size(m, comm);
    size_t at = hash(comm, tuple, size) % m->table_size;

    for (; m->table[at]; at = (at + 1) % m->table_size)
        if (m->plan->calls[m->table[at] - 1].comm == comm &&
            memcmp(m->tuple_of[m->table[at] - 1], tuple, (size_t)size * sizeof *tuple) == 0)
            break;
    return &m->table[at];
}

static bool find_calls(matcher_t *m)
{
    const int comms = m->recording->comm_count;
    size_t all = 0;

    m->call_of = replay_allocate((size_t)comms, sizeof *m->call_of);
    m->is_first = replay_allocate((size_t)comms, sizeof *m->is_first);
    for (int comm = 0; comm < comms; comm++)
        all += (size_t)m->matched[comm];
    m->table_size = 2 * all + 1;
    m->table = replay_allocate(m->table_size, sizeof *m->table);
    m->tuple_of = replay_allocate(all, sizeof *m->tuple_of);
    m->plan->calls = replay_allocate(all, sizeof *m->plan->calls);
    for (int comm = 0; comm < comms; comm++) {
        m->call_of[comm] = replay_allocate((size_t)m->matched[comm], sizeof **m->call_of);
        m->is_first[comm] = replay_allocate((size_t)m->matched[comm], sizeof **m->is_first);
        for (int number = 0; number < m->matched[comm]; number++) {
            const int *tuple = m->tuples[comm] + (size_t)number * (size_t)comm_size(m, comm);
            int *place = find(m, comm, tuple);
            if (!*place) {
                replay_call_t *call = &m->plan->calls[m->plan->call_count];
                m->tuple_of[m->plan->call_count++] = tuple;
                *place = m->plan->call_count;
                m->is_first[comm][number] = true;
                if (!read_call(m, comm, number, tuple, call))
                    return false;
            }
            m->call_of[comm][number] = *place - 1;
        }
    }
    return true;
}

/* ---- the tracks ---- */

static void make_track(matcher_t *m, int rank, int *counts)
{
    const replay_rank_t *events = &m->recording->rank[rank];
    replay_track_t *track = &m->plan->tracks[rank];
    int *made = replay_allocate((size_t)m->recording->comm_count, sizeof *made);
    int *step_of = replay_allocate((size_t)events->count, sizeof *step_of);
    double left_s = 0; /* of what was left out since the last step */

    count_calls(m, rank, counts);
    track->steps = replay_allocate((size_t)events->count, sizeof *track->steps);
    for (int i = 0; i < events->count; i++) {
        const replay_event_t *event = &events->events[i];
        const role_t role = role_of(m, event);
        replay_step_t step = {
            .call = -1, .started = REPLAY_NO_START, .took_s = event->took_s, .faults = event->faults};
        step_of[i] = -1;
        if (role == ROLE_CALL) {
            const int comm = m->recording->kinds[event->kind].comm;
            const int number = made[comm]++ - first_matched(m, comm, counts[comm]);
            if (number >= 0 && number < m->matched[comm]) {
                step.call = m->call_of[comm][number];
                step.is_first = m->is_first[comm][number];
            }
            m->plan->unmatched += step.call < 0;
        } else if (role == ROLE_WAIT && step_of[event->started] >= 0) {
            step.started = step_of[event->started];
            step.call = track->steps[step.started].call;
            step_of[event->started] = -1; /* it is completed once */
        } else if (role == ROLE_OTHER) {
            m->plan->unknown++;
            m->plan->unknown_name = m->recording->kinds[event->kind].call;
        }
        if (step.call < 0) {
            left_s += event->gap_s + event->took_s;
            continue;
        }
        /* What was left out before the first one is before the beginning. */
        step.gap_s = event->gap_s + (track->count ? left_s : 0);
        left_s = 0;
        step_of[i] =
            step.started == REPLAY_NO_START && m->plan->calls[step.call].nonblocking ? track->count : -1;
        track->steps[track->count++] = step;
    }
    free(made);
    free(step_of);
}

static void matcher_fini(matcher_t *m)
{
    for (int comm = 0; comm < m->recording->comm_count; comm++) {
        if (m->tuples)
            free(m->tuples[comm]);
        if (m->call_of)
            free(m->call_of[comm]);
        if (m->is_first)
            free(m->is_first[comm]);
    }
    for (int rank = 0; rank < m->recording->ranks && m->members; rank++)
        free(m->members[rank]);
    free(m->kinds);
    free(m->members);
    free(m->member_counts);
    free(m->matched);
    free(m->tuples);
    free(m->call_of);
    free(m->is_first);
    free(m->table);
    free(m->tuple_of);
}

static bool has_steps(const replay_plan_t *plan)
{
    for (int rank = 0; rank < plan->recording->ranks; rank++)
        if (plan->tracks[rank].count > 0)
            return true;
    return false;
}

bool replay_match(replay_plan_t *plan, const replay_recording_t *recording, char error[REPLAY_ERROR_BYTES])
{
    matcher_t m = {.plan = plan, .recording = recording, .error = error};
    int *counts = replay_allocate((size_t)recording->comm_count, sizeof *counts);
    int *positions = replay_allocate((size_t)recording->comm_count, sizeof *positions);

    *plan = (replay_plan_t){.recording = recording};
    read_names(&m);
    find_members(&m);
    bool good = count_matched(&m, counts, positions);
    if (good) {
        fill_tuples(&m, counts, positions);
        good = find_calls(&m);
    }
    plan->tracks = replay_allocate((size_t)recording->ranks, sizeof *plan->tracks);
    for (int rank = 0; rank < recording->ranks && good; rank++)
        make_track(&m, rank, counts);
    if (good && !has_steps(plan))
        good = refuse(&m, "the sequence has no collective that all ranks of its communicator have recorded");
    matcher_fini(&m);
    free(counts);
    free(positions);
    return good;
}

void replay_plan_fini(replay_plan_t *plan)
{
    for (int i = 0; i < plan->call_count; i++)
        free(plan->calls[i].lengths);
    for (int rank = 0; plan->tracks && rank < plan->recording->ranks; rank++)
        free(plan->tracks[rank].steps);
    free(plan->names);
    free(plan->calls);
    free(plan->tracks);
    *plan = (replay_plan_t){0};
}
