/* plan: a collective that has been prepared: its request with lanes, and what its algorithm made of it. Equal calls
 * start it again: nothing is allocated, chosen or laid out for them.
 *
 * A communicator keeps those that were used last. Equal are calls of the same collective, count, type, operation and
 * root, in place or not, with the same setting; the buffers may differ. Of lists of blocks all entries must be the same; a plan of
 * them is kept when a second call has those of the one before it, so that calls that always differ drive no other plan out.
 *
 * Threads: as comm.h. Ownership: plans belong to their list, or to who has taken them. */
#ifndef HP_HIER_EXECUTIONS_PLAN_H
#define HP_HIER_EXECUTIONS_PLAN_H

#include "hier/collectives/algorithm.h"

typedef struct hp_plan hp_plan_t;
struct hp_plan {
    hp_request_t *request;
    hp_arena_t arena;
    hp_again_t again; /* again.start NULL: nothing can be started again */
    /* What it was prepared for. */
    const hp_algorithm_t *algorithm;
    hp_call_t call; /* its lists of blocks, if any, lie in the arena */
    hp_block_entries_t entries;
    hp_setting_t setting;
    bool alone; /* by the algorithm's runs_alone */
    uint32_t generation; /* of the list, then */
    hp_plan_t *next;
};

/* The plans of a communicator that do not run, the one used last first. */
typedef struct {
    hp_plan_t *first;
    uint32_t count, generation; /* generation: plans of another one are not started again */
    uint64_t last_lists[HP_COLLECTIVE_COUNT]; /* hash of those of the last call that was prepared; 0: there was none */
} hp_plans_t;

/* Kept at most. An idle plan has some KiB (hp_request_rest). */
enum { HP_PLANS_MAX = 16 };

/* One that is prepared for nothing, so that a first collective needs no memory for it. HP_OK, HP_ERR_NO_MEM. */
hp_status_t hp_plans_init(hp_plans_t *plans, hp_comm_t *comm);
void hp_plans_fini(hp_plans_t *plans);

/* The plan that equal calls have been made with; NULL: there is none, or it runs. It stays in the list. */
hp_plan_t *hp_plans_find(const hp_plans_t *plans, const hp_algorithm_t *algorithm, const hp_call_t *call,
                         const hp_setting_t *setting);
/* None that was prepared until now is started again, those that run neither: what algorithms look at when they prepare has changed, as
 * what is known of the machine. On all ranks at the same place in the order of calls, when all that came before has been started: a plan
 * from before and one from after it may not meet. */
void hp_plans_forget(hp_plans_t *plans);
/* None that goes around late ranks is started again: others come late now. None of them runs. */
void hp_plans_forget_around(hp_plans_t *plans);
/* Takes it out of the list. wanted NULL: one that is to be prepared. NULL: out of memory. */
hp_plan_t *hp_plans_take(hp_plans_t *plans, hp_comm_t *comm, const hp_plan_t *wanted);
/* Back; its request is done. */
void hp_plans_put(hp_plans_t *plans, hp_plan_t *plan);

/* Starts call as that algorithm, the number-th of its communicator, with the plan that was taken for it from plans: again where it
 * is prepared. HP_OK, or an error with nothing in flight. */
hp_status_t hp_plan_start(hp_plans_t *plans, hp_plan_t *plan, hp_comm_t *comm, uint32_t number, const hp_algorithm_t *algorithm,
                          const hp_call_t *call, const hp_setting_t *setting);

#endif
