/* survey: what this process has in execution, and what each of it waits for, as the engine sees it.
 *
 * The engine's structures belong to whoever has locked the communicator. Where that is nobody, the survey locks it for a
 * moment and looks. Else it asks the holder, which looks for the question whenever it finds nothing to
 * do in its wait. A holder that is elsewhere (in a callback, in the set-up) does not answer; the survey goes on
 * without it.
 *
 * Threads: one takes surveys; help is called by any that waits for a collective. Ownership: static. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_OBSERVE_SURVEY_H
#define HP_PMPI_WRAPPERS_BACKEND_OBSERVE_SURVEY_H

#include "event_engine/request.h"
#include "pmpi_wrappers/backend/comms/comm_state.h"

enum { HP_SURVEY_WAITS = 12, HP_SURVEY_ITEMS = 64 };

/* Tasks of one kind that wait for one rank. */
typedef struct {
    hp_pending_what_t what;
    int rank;             /* of MPI_COMM_WORLD; -1: all of the team (a collective of the host MPI) */
    uint64_t first, last; /* of the segments */
} hp_survey_wait_t;

/* A collective that was called and is not finished here. */
typedef struct {
    uint64_t comm_id;
    int comm_size, comm_rank;
    hp_collective_t collective;
    const char *algorithm;
    uint64_t number, bytes, since_ns; /* since_ns 0: unknown */
    bool blocking;
    bool queued; /* behind others of its communicator */
    bool more_waits;
    uint32_t wait_count;
    hp_survey_wait_t waits[HP_SURVEY_WAITS];
} hp_survey_item_t;

typedef struct {
    uint32_t count;
    uint32_t left_out; /* items beyond the room */
    uint32_t held;     /* communicators whose holder has not answered */
    hp_survey_item_t items[HP_SURVEY_ITEMS];
} hp_survey_t;

/* Before the first one, and before any state is watched: inside MPI_Init. */
void hp_survey_init(void);
/* Begins a survey; one at a time. */
void hp_survey_begin(void);
/* Has everybody answered? */
bool hp_survey_is_complete(void);
/* Ends it, complete or not. Valid until the next one begins. */
const hp_survey_t *hp_survey_end(void);

/* How far the rank has come on that communicator. */
typedef enum { HP_ENTERED_UNKNOWN, HP_ENTERED_NOT, HP_ENTERED } hp_entered_t;
hp_entered_t hp_survey_has_entered(uint64_t comm_id, uint64_t number);

#endif
