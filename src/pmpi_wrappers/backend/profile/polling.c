#include "pmpi_wrappers/backend/profile/polling.h"

#include "pmpi_wrappers/backend/glue/mpi_glue.h"
#include "pmpi_wrappers/backend/profile/book/requests.h"
#include "pmpi_wrappers/backend/profile/book/ticks.h"
#include "pmpi_wrappers/backend/profile/book/recorder.h"
#include "pmpi_wrappers/backend/profile/watch/watch.h"
#include "pmpi_wrappers/backend/start/job.h"

static void add_to_sums(hp_polls_sum_t sum)
{
    hp_recorder.calls += sum.calls;
    hp_recorder.mpi_ns += sum.ns;
}

static uintptr_t argument(const uintptr_t *x, int at)
{
    return at < 0 ? 0 : x[at];
}

static bool found_nothing(const uintptr_t *x, int flag_at, int code)
{
    return code == MPI_SUCCESS && *(const int *)x[flag_at] == 0;
}

/* False: its way is not known. */
static bool describe(hp_poll_t *poll, const hp_recording_t *recording, const uintptr_t *x,
                     const hp_site_way_t *place)
{
    const hp_call_shape_t *shape = &hp_call_shapes[recording->row];
    const uintptr_t *words[HP_POLL_WORDS];
    const int count = hp_sites_words(place, recording->frame, words, HP_POLL_WORDS);

    if (count < 0)
        return false;
    *poll = (hp_poll_t){.address = recording->return_address,
                        .frame = recording->frame,
                        .comm = argument(x, shape->comm),
                        .number = place->last.record,
                        .row = recording->row,
                        .comm_at = shape->comm,
                        .request_at = shape->request,
                        .requests_at = shape->requests,
                        .flag_at = shape->flag,
                        .words = (uint8_t)count};
    for (int i = 0; i < count; i++) {
        poll->word[i].at = words[i];
        poll->word[i].is = *words[i];
    }
    return true;
}

void hp_polling_timed(const hp_recording_t *recording, const uintptr_t *x, int code,
                      const hp_site_way_t *place, uint64_t ns)
{
    const hp_call_shape_t *shape = &hp_call_shapes[recording->row];

    if (shape->flag < 0 || !found_nothing(x, shape->flag, code) || hp_job.has_threads || hp_watch_is_open ||
        !place->last.record)
        return;
    hp_poll_t *poll = hp_polls_at(recording->return_address);
    if (poll->number != place->last.record || poll->row != recording->row ||
        poll->comm != argument(x, shape->comm) ||
        !hp_polls_is(poll, recording->return_address, recording->frame)) { /* another place's */
        add_to_sums(hp_polls_leave(&hp_recorder.book, poll));
        if (!describe(poll, recording, x, place))
            return;
    }
    add_to_sums(hp_polls_timed(&hp_recorder.book, poll, hp_ticks_between(recording->enter, recording->leave),
                               ns, recording->leave >> 4));
}

void hp_polling_close(void)
{
    add_to_sums(hp_polls_leave_all(&hp_recorder.book));
}

/* Most programs test few at a time. False: it is not so, or there are none. */
static inline bool keep_few_handles(hp_recording_t *recording, const hp_poll_t *poll, const uintptr_t *x)
{
    const MPI_Request *requests = (const MPI_Request *)x[poll->request_at];
    const int count = poll->requests_at < 0 ? 1 : (int)x[poll->requests_at];

    if (count < 1 || count > HP_RECORDING_FEW || !requests)
        return false;
    recording->handles = recording->few;
    recording->requests = count;
    for (int i = 0; i < count; i++) {
        recording->few[i] = HP_HANDLE(requests[i]);
        __asm__ volatile("" ::: "memory"); /* to make vectors of two takes longer */
    }
    return true;
}

bool hp_polling_begin_untimed(hp_recording_t *recording, const uintptr_t *x, const void *return_address,
                              const void *frame)
{
    hp_poll_t *poll = hp_polls_at(return_address);

    if (poll->row != recording->row || !hp_polls_is(poll, return_address, frame) ||
        hp_recorder.only_thread.inside)
        return false;
    recording->handles = NULL;
    if ((poll->comm_at >= 0 && x[poll->comm_at] != poll->comm) ||
        (poll->request_at >= 0 && !keep_few_handles(recording, poll, x)))
        return false;
    recording->poll = poll;
    poll->left--;
    hp_recorder.only_thread.inside = true;
    return true;
}

bool hp_polling_found_nothing(hp_recording_t *recording, const uintptr_t *x, int code)
{
    hp_poll_t *poll = recording->poll;

    hp_recorder.only_thread.inside = false;
    if (__builtin_expect(found_nothing(x, poll->flag_at, code), 1)) {
        poll->untimed++;
        return true;
    }
    recording->leave = hp_ticks();
    recording->enter = recording->leave - poll->ticks;
    recording->return_address = poll->address;
    recording->frame = poll->frame;
    recording->way = NULL;
    recording->is_only_thread = true;
    recording->counts_faults = false;
    hp_book_count_simultaneous(&hp_recorder.book, hp_requests_active + hp_recorder.in_calls++, 1);
    return false;
}
