/* recorded_call: a recorded call from its entry to its return. Nothing here is a type of MPI: the hundreds of functions
 * that record (wrappers) are compiled once for all MPIs.
 *
 * Threads: any. Ownership: a call's recording is on its stack. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_RECORDED_CALL_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_RECORDED_CALL_H

#include <stdbool.h>
#include "event_engine/transport.h"
#include "pmpi_wrappers/backend/profile/book/recorder.h"
#include "pmpi_wrappers/backend/profile/book/requests.h"
#include "pmpi_wrappers/backend/profile/book/shapes.h"

enum { HP_RECORDING_FEW = 32, HP_RECORDING_STATUS_WORDS = 5 };

typedef struct {
    hp_row_t row;
    uint64_t enter, leave; /* ticks */
    bool is_only_thread;   /* that has called MPI so far */
    bool counts_faults;
    uint64_t faults; /* of pages: until the call, then in it; for a sequence */
    const void *return_address, *frame;
    struct hp_site_way *way;                    /* NULL: it was not looked for yet */
    uint64_t status[HP_RECORDING_STATUS_WORDS]; /* an MPI_Status, for the program's MPI_STATUS_IGNORE */
    struct hp_poll *poll;                       /* of a call that is not timed unless it finds something */
    int requests; /* handles before the call, which sets them to MPI_REQUEST_NULL */
    hp_handle_t *handles, few[HP_RECORDING_FEW];
} hp_recording_t;

/* x: the arguments, of which some may be exchanged. False: the call is not recorded. */
bool hp_recording_begin(hp_recording_t *recording, uintptr_t *x, const void *return_address,
                        const void *frame);
void hp_recording_end(hp_recording_t *recording, const uintptr_t *x, int code);

/* The same for a blocking call without requests and status, of which most are like the last one at their place: a short way, as where a
 * program computes between its calls the code of the recording is no longer in the cache, nor what it looks at. False:
 * hp_recording_begin is to be called. */
static inline bool hp_recording_begin_plain(hp_recording_t *recording, const void *return_address,
                                            const void *frame)
{
    if (!hp_recorder.exists || !hp_recorder.is_plain || hp_recorder.is_paused ||
        hp_recorder.only_thread.inside)
        return false;
    hp_recorder.only_thread.inside = true;
    hp_recorder.only_thread.accelerated = false;
    recording->return_address = return_address;
    recording->frame = frame;
    recording->way = NULL;
    hp_book_count_simultaneous(&hp_recorder.book, hp_requests_active, 1);
    return true;
}
void hp_recording_end_plain(hp_recording_t *recording, const uintptr_t *x, int code);

#endif
