#include "pmpi_wrappers/backend/profile/book/meeting.h"

#include "base/least.h"
#include "pmpi_wrappers/backend/profile/book/shapes.h"

hp_meeting_t hp_meeting_of(const hp_arrivals_sample_t *sample, uint32_t world_rank)
{
    return (hp_meeting_t){.comm_id = sample->comm_id,
                          .number = sample->number,
                          .earliest_ns = sample->enter_ns,
                          .latest_ns = sample->enter_ns,
                          .root_ns = sample->is_root ? sample->enter_ns : 0,
                          .last = world_rank,
                          .ranks = 1};
}

void hp_meeting_merge(hp_meeting_t *to, const hp_meeting_t *from)
{
    if (to->ranks == 0) {
        *to = *from;
        return;
    }
    const bool is_later = from->latest_ns > to->latest_ns;
    to->second_ns =
        is_later ? hp_most_u64(to->latest_ns, from->second_ns) : hp_most_u64(from->latest_ns, to->second_ns);
    to->last = is_later ? from->last : to->last;
    to->latest_ns = hp_most_u64(to->latest_ns, from->latest_ns);
    to->earliest_ns = from->earliest_ns < to->earliest_ns ? from->earliest_ns : to->earliest_ns;
    to->root_ns = hp_most_u64(to->root_ns, from->root_ns);
    to->ranks += from->ranks;
}

/* When the last of those came that this rank has to wait for. */
static uint64_t awaited(const hp_meeting_t *meeting, const hp_arrivals_sample_t *sample)
{
    switch (sample->waiting) {
    case HP_ROOT_GIVES:
        return sample->is_root ? 0 : meeting->root_ns;
    case HP_ROOT_TAKES:
        return sample->is_root ? meeting->latest_ns : 0;
    default:
        return meeting->latest_ns;
    }
}

bool hp_meeting_arrival(const hp_meeting_t *meeting, const hp_arrivals_sample_t *sample,
                        hp_book_arrival_t *arrival)
{
    const uint64_t until = awaited(meeting, sample),
                   end = until < sample->leave_ns ? until : sample->leave_ns;

    if (meeting->ranks != sample->size)
        return false;
    *arrival = (hp_book_arrival_t){
        .call = sample->call, .comm = sample->comm, .site = sample->site, .bin = sample->bin};
    arrival->waited_ns = end > sample->enter_ns ? end - sample->enter_ns : 0;
    arrival->transfer_ns = sample->leave_ns - sample->enter_ns - arrival->waited_ns;
    if (sample->rank == 0) { /* what there is once of each call */
        arrival->samples = 1;
        arrival->skew_ns = meeting->latest_ns - meeting->earliest_ns;
        if (sample->waiting != HP_ROOT_GIVES || meeting->root_ns == meeting->latest_ns)
            arrival->late[0] = (hp_book_late_t){
                .rank = meeting->last, .times = 1, .ns = meeting->latest_ns - meeting->second_ns};
    }
    return true;
}
