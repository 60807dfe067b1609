/* meeting: one call of a collective, as far as its ranks are known: who came last, and what a rank waited for it.
 *
 * Threads: plain data. Ownership: the caller's. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_BOOK_MEETING_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_BOOK_MEETING_H

#include "pmpi_wrappers/backend/profile/book/arrival.h"

typedef struct {
    uint64_t comm_id, number;
    uint64_t earliest_ns, latest_ns, second_ns; /* behind the key; second_ns: the latest but one */
    uint64_t root_ns;                           /* 0: not known yet */
    uint32_t last, ranks;                       /* world rank of the latest */
} hp_meeting_t;

/* The call of a rank's sample as that rank alone knows it. */
hp_meeting_t hp_meeting_of(const hp_arrivals_sample_t *sample, uint32_t world_rank);
void hp_meeting_merge(hp_meeting_t *to, const hp_meeting_t *from);
/* What goes to the book for this rank. False: not all ranks are known. */
bool hp_meeting_arrival(const hp_meeting_t *meeting, const hp_arrivals_sample_t *sample,
                        hp_book_arrival_t *arrival);

#endif
