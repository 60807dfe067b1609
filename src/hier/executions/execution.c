#include "hier/executions/execution.h"

#include <stdlib.h>
#include "hier/executions/idle.h"

bool (*hp_execution_elsewhere)(hp_comm_t *comm);

const char *hp_knob_word_progress(unsigned i);
const char *hp_knob_word_progress(unsigned i)
{
    static const char *const words[] = {[HP_PROGRESS_AUTO] = "auto", [HP_PROGRESS_THREAD] = "thread"};
    return i < sizeof words / sizeof *words ? words[i] : NULL;
}

static void destroy_all(hp_execution_t *execution)
{
    while (execution) {
        hp_execution_t *next = execution->next;
        free(execution);
        execution = next;
    }
}

hp_status_t hp_executions_create(hp_comm_t *comm)
{
    hp_executions_t *all = calloc(1, sizeof *all);
    if (!all)
        return HP_ERR_NO_MEM;
    all->idle = calloc(1, sizeof *all->idle);
    if (!all->idle || hp_plans_init(&all->plans, comm) != HP_OK) {
        free(all->idle);
        free(all);
        return HP_ERR_NO_MEM;
    }
    all->idle_count = 1;
    all->queued_end = &all->queued;
    comm->executions = all;
    return HP_OK;
}

void hp_executions_destroy(hp_comm_t *comm)
{
    if (!comm || !comm->executions)
        return;
    destroy_all(comm->executions->idle);
    hp_plans_fini(&comm->executions->plans);
    free(comm->executions);
    comm->executions = NULL;
}

hp_execution_t *hp_execution_get(hp_comm_t *comm)
{
    hp_executions_t *all = comm->executions;
    hp_execution_t *execution = all->idle;

    if (execution) {
        all->idle = execution->next;
        all->idle_count--;
    } else if (!(execution = calloc(1, sizeof *execution))) {
        all->missed_call = true; /* the next call would get this one's tags */
        return NULL;
    }
    execution->on_start = NULL;
    execution->on_done = NULL;
    execution->owner = NULL;
    execution->traced = NULL;
    execution->since_ns = 0;
    return execution;
}

void hp_execution_put(hp_comm_t *comm, hp_execution_t *execution)
{
    hp_executions_t *all = comm->executions;

    hp_pool_rest(&comm->pool);
    if (execution->plan) {
        hp_request_rest(execution->request);
        hp_plans_put(&all->plans, execution->plan);
    }
    execution->plan = NULL;
    execution->request = NULL;
    if (all->idle_count >= HP_RUNNING_MAX) { /* there were many in flight: their memory goes back */
        free(execution);
        return;
    }
    execution->phase = HP_PHASE_IDLE;
    execution->next = all->idle;
    all->idle = execution;
    all->idle_count++;
}

void hp_execution_missed(hp_comm_t *comm)
{
    comm->executions->missed_call = true;
}

static void set_done(hp_comm_t *comm, hp_execution_t *execution, hp_status_t status)
{
    execution->phase = HP_PHASE_DONE;
    execution->status = status;
    if (execution->on_done)
        execution->on_done(comm, execution);
}

static uint64_t bytes_of(const hp_call_t *call)
{
    return call->count * call->type.bytes;
}

/* Short ones run together, which hides their latencies. Long ones would share the links, and all end late: of those one
 * runs, and the next one behind it, so that the links stay busy in between. (Measured on 2 hosts at 1 Gbit/s, 8
 * Iallreduces of 256 KiB, each used when it is complete: all together hid nothing.) */
static bool may_start(const hp_comm_t *comm, bool alone, uint64_t bytes)
{
    const hp_executions_t *all = comm->executions;

    if (!all->running)
        return true;
    return !alone && !all->running_alone && all->running_count < HP_RUNNING_MAX &&
           (all->running_count < 2 || all->running_bytes + bytes <= HP_RUNNING_BYTES_MAX);
}

/* The execution has ended with status. A message that was cut did so as its sender expects. */
static void follow_steps(hp_comm_t *comm, const hp_execution_t *execution, hp_status_t status)
{
    if (status == HP_OK || !execution->alone)
        return;
    if (status != HP_ERR_TRUNCATED)
        comm->executions->out_of_step = true;
    else if (comm->has_node_memory)
        hp_node_skip(&comm->node_memory, hp_request_segments_missed(execution->request));
}

static hp_status_t start_plan(hp_comm_t *comm, hp_execution_t *execution, const hp_plan_t *found,
                              const hp_call_t *call, const hp_setting_t *setting)
{
    hp_executions_t *all = comm->executions;
    const uint32_t number = ++comm->sequence;

    execution->plan = hp_plans_take(&all->plans, comm, found);
    if (!execution->plan)
        return HP_ERR_NO_MEM;
    execution->request = execution->plan->request;
    hp_request_record(execution->request, NULL, NULL);
    if (execution->on_start)
        execution->on_start(comm, execution, call, setting);
    if (execution->alone && all->out_of_step)
        return HP_ERR_EARLIER;
    const hp_status_t status =
        hp_plan_start(&all->plans, execution->plan, comm, number, execution->algorithm, call, setting);
    execution->plan->alone = execution->alone;
    return status;
}

/* found: the plan of equal calls, or NULL. */
static void start(hp_comm_t *comm, hp_execution_t *execution, const hp_plan_t *found, const hp_call_t *call,
                  const hp_setting_t *setting)
{
    hp_executions_t *all = comm->executions;

    const hp_status_t status = start_plan(comm, execution, found, call, setting);
    if (status != HP_OK || hp_request_done(execution->request)) {
        follow_steps(comm, execution, status);
        set_done(comm, execution, status);
        return;
    }
    hp_execution_t **end = &all->running; /* they are few */
    while (*end)
        end = &(*end)->next;
    execution->phase = HP_PHASE_RUNNING;
    execution->next = NULL;
    *end = execution;
    all->running_count++;
    all->running_bytes += bytes_of(&execution->call);
    all->running_alone = execution->alone;
}

void hp_execution_submit(hp_comm_t *comm, hp_execution_t *execution, const hp_algorithm_t *algorithm,
                         const hp_call_t *call, const hp_setting_t *setting)
{
    hp_executions_t *all = comm->executions;

    execution->number = atomic_load_explicit(&all->submitted, memory_order_relaxed) + 1;
    atomic_store_explicit(&all->submitted, execution->number, memory_order_relaxed);
    execution->algorithm = algorithm;
    const hp_plan_t *plan = hp_plans_find(&all->plans, algorithm, call, setting);
    execution->alone = plan ? plan->alone : algorithm->runs_alone(comm, call, setting);
    /* What is asked of one that runs; all of it only if it has to wait. */
    execution->call.collective = call->collective;
    execution->call.count = call->count;
    execution->call.type.bytes = call->type.bytes;
    execution->call.root = call->root;
    if (all->missed_call) {
        set_done(comm, execution, HP_ERR_EARLIER);
        return;
    }
    if (!all->queued && may_start(comm, execution->alone, bytes_of(call))) {
        start(comm, execution, plan, call, setting);
        return;
    }
    execution->call = *call;
    execution->setting = *setting;
    execution->phase = HP_PHASE_QUEUED;
    execution->next = NULL;
    *all->queued_end = execution;
    all->queued_end = &execution->next;
}

/* Returns whether any was started. */
static bool start_queued(hp_comm_t *comm)
{
    hp_executions_t *all = comm->executions;
    bool started = false;

    while (all->queued) {
        hp_execution_t *next = all->queued;
        if (!may_start(comm, next->alone, bytes_of(&next->call)))
            break;
        all->queued = next->next;
        if (!all->queued)
            all->queued_end = &all->queued;
        start(comm, next, hp_plans_find(&all->plans, next->algorithm, &next->call, &next->setting),
              &next->call, &next->setting);
        started = true;
    }
    return started;
}

/* One that runs at *place has moved: is it done? Returns the place of the next one. */
static hp_execution_t **settle(hp_comm_t *comm, hp_execution_t **place, hp_status_t status)
{
    hp_executions_t *all = comm->executions;
    hp_execution_t *execution = *place;

    if (status == HP_OK && !hp_request_done(execution->request))
        return &execution->next;
    *place = execution->next;
    all->running_count--;
    all->running_bytes -= bytes_of(&execution->call);
    follow_steps(comm, execution, status);
    set_done(comm, execution, status);
    return place;
}

bool hp_executions_progress(hp_comm_t *comm)
{
    hp_executions_t *all = comm->executions;
    bool any = false;

    for (hp_execution_t **place = &all->running; *place;) {
        bool moved;
        const hp_status_t status = hp_request_progress((*place)->request, &moved);
        any |= moved || status != HP_OK; /* an error is news to those that were looked at before it */
        place = settle(comm, place, status);
    }
    return start_queued(comm) || any;
}

hp_status_t hp_execution_wait(hp_comm_t *comm, hp_execution_t *execution)
{
    hp_executions_t *all = comm->executions;
    hp_idle_t idle = {0};

    while (execution->phase != HP_PHASE_DONE) {
        const bool only = all->running == execution && !execution->next && !all->queued;
        bool moved;
        if (only) {
            const hp_status_t status = hp_request_wait(execution->request, &moved);
            settle(comm, &all->running, status);
        } else {
            moved = hp_executions_progress(comm);
        }
        if (moved)
            hp_idle_reset(&idle);
        else if (hp_execution_elsewhere && hp_execution_elsewhere(comm))
            hp_wait_reset(&idle.messages);
        else
            hp_idle(&idle, comm, only && execution->phase == HP_PHASE_RUNNING ? execution->request : NULL);
    }
    return execution->status;
}
