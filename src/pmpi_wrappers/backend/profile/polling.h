/* polling: the recording of calls that test and find nothing (book/polls.h), for programs with one thread in MPI.
 *
 * Threads: as recording.h. Ownership: static. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_POLLING_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_POLLING_H

#include "pmpi_wrappers/backend/profile/book/polls.h"
#include "pmpi_wrappers/backend/profile/recorded_call.h"
#include "pmpi_wrappers/backend/profile/sites/sites.h"

bool hp_polling_begin_untimed(hp_recording_t *recording, const uintptr_t *x, const void *return_address,
                              const void *frame);

/* In place of hp_recording_begin, for a call that tests. True: the call is not timed, and when it has found nothing that is all;
 * else hp_recording_end follows. */
static inline bool hp_polling_begin(hp_recording_t *recording, const uintptr_t *x, const void *return_address,
                                    const void *frame)
{
    return hp_polls_at(return_address)->left > 0 &&
           hp_polling_begin_untimed(recording, x, return_address, frame);
}

bool hp_polling_found_nothing(hp_recording_t *recording, const uintptr_t *x, int code);

/* A call that tests was timed, and is in the record whose number its place has. */
void hp_polling_timed(const hp_recording_t *recording, const uintptr_t *x, int code,
                      const hp_site_way_t *place, uint64_t ns);

/* Before the book is closed: it has all calls then. */
void hp_polling_close(void);

#endif
