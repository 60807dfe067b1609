#include "pmpi_wrappers/backend/profile/gather/arrival_gather.h"

#include <stdlib.h>
#include "pmpi_wrappers/backend/observe/rank_messages.h"
#include "pmpi_wrappers/backend/profile/gather/gather.h"
#include "pmpi_wrappers/backend/profile/book/meeting.h"
#include "pmpi_wrappers/backend/start/job.h"

/* Calls of all communicators together, 64 bytes each: 4 MiB. */
enum { MEETINGS_MAX = 65536, KEY_WORDS = offsetof(hp_meeting_t, earliest_ns) / sizeof(uint64_t) };

/* False: no room. */
static bool add(hp_table_t *meetings, const hp_meeting_t *meeting)
{
    const uint32_t number = hp_table_add(meetings, meeting, KEY_WORDS);
    if (number != HP_TABLE_FULL)
        hp_meeting_merge(hp_table_row(meetings, number), meeting);
    return number != HP_TABLE_FULL;
}

static bool send_meetings(const hp_table_t *meetings, int to)
{
    const uint64_t count = meetings->count;
    return hp_rank_send(&count, sizeof count, to, HP_PROFILE_TAG) &&
           (!count || hp_rank_send(meetings->rows, count * sizeof(hp_meeting_t), to, HP_PROFILE_TAG));
}

/* Rows of another rank, merged into this one's; those without room are known to no rank in the end. */
static bool receive_meetings(hp_table_t *meetings, int from)
{
    enum { PIECE = 512 };
    hp_meeting_t piece[PIECE], *rows = piece;
    uint64_t count;

    if (!hp_rank_receive(&count, sizeof count, from, HP_PROFILE_TAG))
        return false;
    if (count > PIECE && !(rows = malloc(count * sizeof *rows)))
        return false;
    const bool received = !count || hp_rank_receive(rows, count * sizeof *rows, from, HP_PROFILE_TAG);
    for (uint64_t i = 0; received && i < count; i++)
        add(meetings, &rows[i]);
    if (rows != piece)
        free(rows);
    return received;
}

/* Up the tree, and down again. */
static bool exchange(hp_table_t *meetings)
{
    int parent, children[HP_GATHER_CHILDREN];
    const int count = hp_gather_tree(&parent, children);

    for (int i = 0; i < count; i++)
        if (!receive_meetings(meetings, children[i]))
            return false;
    if (parent >= 0) {
        if (!send_meetings(meetings, parent))
            return false;
        hp_table_fini(meetings);
        if (!receive_meetings(meetings, parent))
            return false;
    }
    for (int i = count - 1; i >= 0; i--)
        if (!send_meetings(meetings, children[i]))
            return false;
    return true;
}

static void enter(hp_book_t *book, hp_table_t *meetings)
{
    hp_book_arrival_t arrival;

    for (uint32_t i = 0; i < hp_arrivals.count; i++) {
        const hp_arrivals_sample_t *sample = &hp_arrivals.samples[i];
        const uint64_t key[KEY_WORDS] = {sample->comm_id, sample->number};
        const uint32_t known = meetings->count, number = hp_table_add(meetings, key, KEY_WORDS);
        if (number < known && hp_meeting_arrival(hp_table_row(meetings, number), sample, &arrival))
            hp_book_arrival_add(book, &arrival);
        else
            book->lost[HP_LOST_arrivals]++;
    }
}

bool hp_arrivals_gather(hp_book_t *book, const hp_trace_clock_t *clock)
{
    int level = (int)hp_arrivals.level, most = 0;
    hp_table_t meetings;

    if (P(Allreduce)(&level, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) != MPI_SUCCESS)
        return false;
    hp_arrivals_thin((unsigned)most);
    hp_table_init(&meetings, sizeof(hp_meeting_t), KEY_WORDS * sizeof(uint64_t), MEETINGS_MAX);
    for (uint32_t i = 0; i < hp_arrivals.count; i++) {
        hp_arrivals_sample_t *sample = &hp_arrivals.samples[i];
        const uint64_t took = sample->leave_ns - sample->enter_ns;
        sample->enter_ns = hp_trace_clock_correct(clock, sample->enter_ns);
        sample->leave_ns = sample->enter_ns + took;
        const hp_meeting_t meeting = hp_meeting_of(sample, (uint32_t)hp_job.rank);
        add(&meetings, &meeting);
    }
    const bool done = exchange(&meetings);
    if (done)
        enter(book, &meetings);
    hp_table_fini(&meetings);
    return done;
}
