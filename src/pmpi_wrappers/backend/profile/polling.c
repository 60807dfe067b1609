#include "pmpi_wrappers/backend/profile/polling.h"

#include "pmpi_wrappers/backend/profile/book/polls.h"
#include "pmpi_wrappers/backend/profile/book/requests.h"
#include "pmpi_wrappers/backend/profile/book/ticks.h"
#include "pmpi_wrappers/backend/profile/handles.h"
#include "pmpi_wrappers/backend/profile/recorder.h"
#include "pmpi_wrappers/backend/profile/sites/sites.h"
#include "pmpi_wrappers/backend/profile/watch/watch.h"
#include "pmpi_wrappers/backend/start/job.h"

static void add_to_sums(hp_polls_sum_t sum)
{
    hp_recorder.calls += sum.calls;
    hp_recorder.mpi_ns += sum.ns;
}

static bool found_nothing(const hp_call_shape_t *shape, const uintptr_t *x, int code)
{
    return shape->flag >= 0 && code == MPI_SUCCESS && *(const int *)x[shape->flag] == 0;
}

void hp_polling_timed(const hp_recording_t *recording, const uintptr_t *x, int code, uint32_t number,
                      uint64_t ns)
{
    if (number && found_nothing(&hp_call_shapes[recording->row], x, code) && !hp_job.has_threads &&
        !hp_watch_is_open)
        add_to_sums(hp_polls_timed(&hp_recorder.book, number,
                                   hp_ticks_between(recording->enter, recording->leave), ns,
                                   recording->leave >> 4));
}

void hp_polling_close(void)
{
    add_to_sums(hp_polls_close(&hp_recorder.book));
}

/* Does what comes there now belong to the record of what came there last? */
static bool is_of_record(const hp_recording_t *recording, const hp_call_shape_t *shape, const uintptr_t *x,
                         uint32_t number)
{
    const hp_book_record_t *record = hp_table_row(&hp_recorder.book.records, number - 1);
    const hp_seen_comm_t *comm;

    if (record->call != recording->row)
        return false;
    if (shape->comm < 0)
        return true;
    comm = hp_handles_comm(hp_comm_handle(x[shape->comm]));
    return comm && comm->row == record->comm;
}

/* Most programs test few at a time. False: it is not so, or there are none. */
static inline bool keep_few_handles(hp_recording_t *recording, const hp_call_shape_t *shape,
                                    const uintptr_t *x)
{
    const MPI_Request *requests = (const MPI_Request *)x[shape->request];
    const int count = shape->requests < 0 ? 1 : (int)x[shape->requests];

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

bool hp_polling_begin(hp_recording_t *recording, const uintptr_t *x, const void *return_address,
                      const void *frame)
{
    const hp_call_shape_t *shape = &hp_call_shapes[recording->row];

    if (!hp_recorder.exists || hp_recorder.is_paused || shape->flag < 0 || hp_recorder_only_thread.inside)
        return false;
    const uint32_t number = hp_sites_find(return_address, frame)->number;
    recording->poll = number ? hp_polls_untimed(number) : NULL;
    recording->handles = NULL;
    if (!recording->poll || !is_of_record(recording, shape, x, number) ||
        (shape->action != HP_DO_CALL && !keep_few_handles(recording, shape, x)))
        return false;
    recording->return_address = return_address;
    recording->frame = frame;
    recording->is_only_thread = true;
    recording->sampled = NULL;
    hp_recorder_only_thread.inside = true;
    hp_polls_count(recording->poll);
    hp_recorder_count_simultaneous(hp_requests_active);
    return true;
}

bool hp_polling_found_nothing(hp_recording_t *recording, const uintptr_t *x, int code)
{
    hp_recorder_only_thread.inside = false;
    if (__builtin_expect(found_nothing(&hp_call_shapes[recording->row], x, code), 1))
        return true;
    hp_polls_discount(recording->poll);
    hp_recorder.in_calls++;
    recording->leave = hp_ticks();
    recording->enter = recording->leave - recording->poll->ticks;
    return false;
}
