#include "hier/executions/plan.h"

#include <stdlib.h>

static hp_plan_t *create(hp_comm_t *comm)
{
    hp_plan_t *plan = calloc(1, sizeof *plan);
    if (!plan)
        return NULL;
    hp_arena_init(&plan->arena);
    if (hp_request_create(comm->transport, &comm->pool, &plan->request) != HP_OK) {
        free(plan);
        return NULL;
    }
    return plan;
}

static void destroy(hp_plan_t *plan)
{
    hp_request_destroy(plan->request);
    hp_arena_fini(&plan->arena);
    free(plan);
}

hp_status_t hp_plans_init(hp_plans_t *plans, hp_comm_t *comm)
{
    *plans = (hp_plans_t){.first = create(comm), .count = 1};
    return plans->first ? HP_OK : HP_ERR_NO_MEM;
}

void hp_plans_fini(hp_plans_t *plans)
{
    while (plans->first) {
        hp_plan_t *next = plans->first->next;
        destroy(plans->first);
        plans->first = next;
    }
    plans->count = 0;
}

/* Not 0: the types differ. */
static uint64_t type_differs(const hp_type_t *a, const hp_type_t *b)
{
    return (uint64_t)(a->handle ^ b->handle) | (a->bytes ^ b->bytes) | (a->extent ^ b->extent) |
           (uint64_t)(a->true_lb ^ b->true_lb) | (a->true_extent ^ b->true_extent);
}

/* What changes most often is asked first; the rest, which hardly does, at once. */
static bool fits(const hp_plans_t *plans, const hp_plan_t *plan, const hp_algorithm_t *algorithm,
                 const hp_call_t *call, const hp_setting_t *setting)
{
    const hp_call_t *made = &plan->call;

    if (!plan->again.start || made->count != call->count || plan->algorithm != algorithm ||
        made->root != call->root || plan->generation != plans->generation)
        return false;
    const uint64_t differs = (uint64_t)(made->op ^ call->op) | type_differs(&made->type, &call->type) |
                             (made->row ^ call->row) | (uint64_t)(!made->blocks ^ !call->blocks);
    return !differs && made->kernel == call->kernel && made->commutative == call->commutative &&
           (made->send == made->recv) == (call->send == call->recv) && !made->source == !call->source &&
           hp_setting_same(&plan->setting, setting) &&
           (!call->blocks || hp_blocks_same(made->blocks, call->blocks, plan->entries));
}

hp_plan_t *hp_plans_find(const hp_plans_t *plans, const hp_algorithm_t *algorithm, const hp_call_t *call,
                         const hp_setting_t *setting)
{
    hp_plan_t *plan = plans->first;
    while (plan && !fits(plans, plan, algorithm, call, setting))
        plan = plan->next;
    return plan;
}

void hp_plans_forget(hp_plans_t *plans)
{
    plans->generation++;
}

void hp_plans_forget_around(hp_plans_t *plans)
{
    for (hp_plan_t *plan = plans->first; plan; plan = plan->next)
        if (plan->again.start && plan->call.collective < HP_BARRIER &&
            plan->algorithm == hp_algorithm_around(plan->call.collective))
            plan->again.start = NULL;
}

/* The one that was prepared for nothing, else the one that was not used for longest. */
static hp_plan_t **least_wanted(hp_plans_t *plans)
{
    hp_plan_t **place = &plans->first;
    while (*place && (*place)->again.start && (*place)->next)
        place = &(*place)->next;
    return place;
}

static hp_plan_t *take(hp_plans_t *plans, hp_plan_t **place)
{
    hp_plan_t *plan = *place;

    *place = plan->next;
    plans->count--;
    return plan;
}

static hp_plan_t *take_new(hp_plans_t *plans, hp_comm_t *comm)
{
    hp_plan_t **place = least_wanted(plans);
    hp_plan_t *plan = NULL;

    if (!*place || ((*place)->again.start && plans->count < HP_PLANS_MAX))
        plan = create(comm);
    if (!plan && *place)
        plan = take(plans, place);
    if (plan)
        plan->again.start = NULL;
    return plan;
}

hp_plan_t *hp_plans_take(hp_plans_t *plans, hp_comm_t *comm, const hp_plan_t *wanted)
{
    hp_plan_t **place = &plans->first;

    if (!wanted)
        return take_new(plans, comm);
    while (*place != wanted)
        place = &(*place)->next;
    return take(plans, place);
}

void hp_plans_put(hp_plans_t *plans, hp_plan_t *plan)
{
    plan->next = plans->first;
    plans->first = plan;
    if (++plans->count <= HP_PLANS_MAX)
        return;
    hp_plan_t **last = least_wanted(plans), *oldest = *last;
    *last = oldest->next;
    plans->count--;
    destroy(oldest);
}

/* The lists of the call become the plan's own, if they are those of the last call. Returns whether the plan can be kept. Apart from
 * what a call that is made again needs. */
static __attribute__((noinline)) bool keep_blocks(hp_plans_t *plans, hp_plan_t *plan, const hp_comm_t *comm,
                                                  const hp_call_t *call)
{
    uint64_t *last = &plans->last_lists[call->collective];

    plan->entries = hp_collective_blocks(call->collective, call->root, comm->size, comm->rank);
    const uint64_t lists = hp_blocks_hash(call->blocks, plan->entries);
    if (*last != lists) {
        *last = lists;
        return false;
    }
    plan->call.blocks = hp_blocks_copy(call->blocks, plan->entries, &plan->arena);
    return plan->call.blocks != NULL;
}

hp_status_t hp_plan_start(hp_plans_t *plans, hp_plan_t *plan, hp_comm_t *comm, uint32_t number,
                          const hp_algorithm_t *algorithm, const hp_call_t *call, const hp_setting_t *setting)
{
    const hp_start_t start = {.comm = comm,
                              .request = plan->request,
                              .arena = &plan->arena,
                              .number = number,
                              .again = &plan->again};
    hp_status_t status;

    if (plan->again.start) { /* it was found for this call */
        status = plan->again.start(plan->again.plan, &start, call);
    } else {
        status = algorithm->start(&start, call, setting);
        if (plan->again.start) {
            plan->algorithm = algorithm;
            plan->call = *call;
            plan->setting = *setting;
            plan->generation = plans->generation;
            if (call->blocks && !keep_blocks(plans, plan, comm, call))
                plan->again.start = NULL;
        }
    }
    if (status != HP_OK)
        plan->again.start = NULL;
    return status;
}
