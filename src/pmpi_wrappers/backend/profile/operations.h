/* operations: what calls say of messages and of operations under way: to whom one goes, where it was posted, started, waited for.
 *
 * Threads: as recording.h, under its lock. Ownership: nothing is kept but in the book, the requests (book/requests.h) and the
 * sequence. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_OPERATIONS_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_OPERATIONS_H

#include "pmpi_wrappers/backend/profile/book/last_call.h"
#include "pmpi_wrappers/backend/profile/facts.h"
#include "pmpi_wrappers/backend/profile/recorded_call.h"

/* A call, as it goes to the book. */
typedef struct {
    const hp_recording_t *recording;
    const hp_call_shape_t *shape;
    const uintptr_t *x;
    hp_seen_comm_t *comm;
    uint16_t row, comm_row;
    hp_facts_t facts;
    uint64_t ns;
    uint32_t site;
    hp_last_call_t *last; /* on the same way; NULL: it is not known which */
    bool is_like_last;
    int8_t bin;
    bool is_accelerated;
} hp_seen_call_t;

/* It sends a message at once: to whom, and how much. */
void hp_operations_count_message(const hp_seen_call_t *call);
/* It has a request from now on. event, kind: in the sequence. */
void hp_operations_follow(const hp_seen_call_t *call, uint64_t event, uint32_t kind, bool is_persistent);
/* MPI_Start and MPI_Startall: what they start is what the call is about. */
void hp_operations_start(hp_seen_call_t *call);
/* A call that waits or tests. */
void hp_operations_complete(const hp_seen_call_t *call);

#endif
