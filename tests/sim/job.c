#include "sim/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "event_engine/mem/shared_file.h"
#include "hier/executions/execution.h"
#include "hier/planning/select.h"
#include "sim/job_state.h"

/* ---- the program of the ranks ---- */

/* Counters and flags set by anybody. The linker puts the function between the library and its own (--wrap).
 */
static uint64_t sets;

void __real_hp_node_set(const hp_node_memory_t *memory, hp_counter_t *counter, uint64_t value);
void __wrap_hp_node_set(const hp_node_memory_t *memory, hp_counter_t *counter, uint64_t value);

void __wrap_hp_node_set(const hp_node_memory_t *memory, hp_counter_t *counter, uint64_t value)
{
    sets++;
    __real_hp_node_set(memory, counter, value);
}

uint64_t job_sets(void)
{
    return sets;
}

void job_wake_node(job_t *job, uint32_t rank, uint64_t sets_before)
{
    if (sets != sets_before)
        sim_wake_node(job->sim, rank);
}

hp_request_t *job_request(const job_t *job, uint32_t rank)
{
    return job->comms[rank]->executions->plans.first->request; /* the one used last */
}

static void check_left(job_t *job, uint32_t rank)
{
    const exchange_t *x = &job->exchanges[job->current[rank]];
    if (hp_request_done(job_request(job, rank)) && x->collective->algorithm->collective == HP_BARRIER &&
        x->entered < job->rank_count)
        problem_report(&job->problem, "rank %u left a barrier that %u of %u ranks had entered", rank,
                       x->entered, job->rank_count);
}

hp_setting_t job_setting(const job_t *job, const collective_t *c)
{
    hp_setting_t setting = c->setting;
    setting.sends_per_child = job->setting.sends_per_child;
    setting.recvs_per_parent = job->setting.recvs_per_parent;
    setting.window_segments = job->setting.window_segments;
    return setting;
}

/* One collective at a time: the plan that runs is the first of those that do not. */
static hp_status_t start_plan(job_t *job, uint32_t rank, const hp_algorithm_t *algorithm,
                              const hp_call_t *call, const hp_setting_t *setting)
{
    hp_comm_t *comm = job->comms[rank];
    hp_plans_t *plans = &comm->executions->plans;
    hp_plan_t *plan = hp_plans_take(plans, comm, hp_plans_find(plans, algorithm, call, setting));

    if (!plan)
        return HP_ERR_NO_MEM;
    job->seen.again += plan->again.start != NULL;
    const hp_status_t status = hp_plan_start(plans, plan, comm, ++comm->sequence, algorithm, call, setting);
    hp_plans_put(plans, plan);
    return status;
}

static hp_status_t start_lockstep(job_t *job, uint32_t rank, const hp_call_t *call,
                                  const hp_setting_t *setting)
{
    hp_comm_t *comm = job->comms[rank];
    hp_plans_t *plans = &comm->executions->plans;
    hp_plan_t *plan = hp_plans_take(plans, comm, NULL);
    hp_lockstep_t *lockstep = &job->locksteps[rank];

    if (!plan)
        return HP_ERR_NO_MEM;
    const hp_start_t start = {
        .comm = comm, .request = plan->request, .arena = &plan->arena, .number = ++comm->sequence};
    hp_plans_put(plans, plan);
    const hp_status_t status = hp_lockstep_prepare(lockstep, &start, call, setting, UINT64_MAX);
    return status == HP_OK ? hp_lockstep_start(lockstep) : status;
}

/* Has the rank done what it does of its collective? */
static bool current_done(const job_t *job, uint32_t rank)
{
    const hp_lockstep_t *lockstep = &job->locksteps[rank];
    const bool more =
        job->exchanges[job->current[rank]].collective->lockstep && lockstep->next < lockstep->iterations;
    return hp_request_done(job_request(job, rank)) && !more;
}

static hp_status_t start_current(job_t *job, uint32_t rank)
{
    exchange_t *x = &job->exchanges[job->current[rank]];
    const collective_t *c = x->collective;
    const hp_call_t call = exchange_call(x, rank);
    const hp_setting_t setting = job_setting(job, c);
    x->entered++;
    const uint64_t sets_before = sets;
    sim_expect(job->sim, rank, c->algorithm->collective == HP_BARRIER ? SIM_NOTHING : SIM_SOMETHING);
    const hp_status_t status = c->lockstep ? start_lockstep(job, rank, &call, &setting)
                                           : start_plan(job, rank, c->algorithm, &call, &setting);
    job_wake_node(job, rank, sets_before);
    if (status == HP_OK)
        check_left(job, rank);
    return status;
}

static bool engine_done(void *context, uint32_t rank)
{
    const job_t *job = context;
    return job->current[rank] + 1 == job->exchange_count && current_done(job, rank);
}

static hp_status_t engine_start(void *context, uint32_t rank)
{
    return start_current(context, rank);
}

static hp_status_t engine_progress(void *context, uint32_t rank, bool *moved)
{
    job_t *job = context;
    hp_request_t *request = job_request(job, rank);

    if (current_done(job, rank)) {
        job->current[rank]++;
        *moved = true;
        return start_current(job, rank);
    }
    const uint64_t sets_before = sets;
    hp_status_t status = HP_OK;
    if (hp_request_done(request)) {
        status = hp_lockstep_start(&job->locksteps[rank]);
        *moved = true;
    } else {
        status = hp_request_progress(request, moved);
    }
    job_wake_node(job, rank, sets_before);
    if (status == HP_OK)
        check_left(job, rank);
    *moved = *moved || hp_request_done(request);
    return status;
}

static const sim_program_t engine = {engine_start, engine_progress, engine_done};

void job_begin(job_t *job, const collective_t *collectives, uint32_t count)
{
    job->problem.text[0] = '\0';
    job->exchanges = sim_alloc(count, sizeof *job->exchanges);
    job->exchange_count = count;
    for (uint32_t i = 0; i < count; i++)
        exchange_init(&job->exchanges[i], &collectives[i], job->rank_count);
}

static void fini_exchanges(job_t *job)
{
    for (uint32_t i = 0; i < job->exchange_count; i++)
        exchange_fini(&job->exchanges[i], job->rank_count);
    if (job->exchange_count)
        free(job->exchanges);
    job->exchange_count = 0;
}

static void check_rest(job_t *job)
{
    for (uint32_t rank = 0; rank < job->rank_count; rank++) {
        const char *held = job_holds(job, rank);
        if (held)
            problem_report(&job->problem, "rank %u: done with %s", rank, held);
        if (hp_request_counters(job_request(job, rank))->in_flight)
            problem_report(&job->problem, "rank %u: done with operations in flight", rank);
    }
    if (sim_left_over(job->sim))
        problem_report(&job->problem, "%llu operations are left over",
                       (unsigned long long)sim_left_over(job->sim));
}

void job_collect(job_t *job, const sim_outcome_t *outcomes)
{
    for (uint32_t rank = 0; rank < job->rank_count; rank++)
        if (outcomes[rank].status != HP_OK)
            problem_report(&job->problem, "rank %u: %s", rank, hp_status_text(outcomes[rank].status));
    if (sim_problem(job->sim))
        problem_report(&job->problem, "%s", sim_problem(job->sim));
    if (job->problem.text[0])
        return;
    for (uint32_t i = 0; i < job->exchange_count; i++)
        for (uint32_t rank = 0; rank < job->rank_count; rank++) {
            exchange_t *x = &job->exchanges[i];
            const uint64_t result = exchange_check(x, rank, &job->problem);
            if (exchange_has_result(x, rank))
                job->result = result;
        }
    check_rest(job);
}

bool job_finish(job_t *job)
{
    if (job->problem.text[0])
        return false;
    fini_exchanges(job);
    return true;
}

bool job_run(job_t *job, const collective_t *collectives, uint32_t count, sim_outcome_t *outcomes)
{
    sim_outcome_t *own = sim_alloc(job->rank_count, sizeof *own);

    job_begin(job, collectives, count);
    memset(job->current, 0, job->rank_count * sizeof *job->current);
    if (!sim_run(job->sim, &engine, job, own)) {
        for (uint32_t rank = 0; rank < job->rank_count; rank++)
            if (!own[rank].finished)
                problem_report(&job->problem, "deadlock: rank %u waits in collective %u of %u", rank,
                               job->current[rank] + 1, count);
    }
    job_collect(job, own);
    if (outcomes)
        memcpy(outcomes, own, job->rank_count * sizeof *own);
    free(own);
    return job_finish(job);
}

const char *job_holds(const job_t *job, uint32_t rank)
{
    const hp_comm_t *comm = job->comms[rank];
    const hp_executions_t *all = comm->executions;

    if (comm->pool.live)
        return "scratch buffers";
    if (all->running || all->queued || all->running_count || all->queued_end != &all->queued)
        return "collectives in execution";
    for (const hp_plan_t *plan = all->plans.first; plan; plan = plan->next)
        if (!hp_request_done(plan->request) || hp_request_counters(plan->request)->in_flight)
            return "a plan that is not idle";
    return NULL;
}

void job_release_from_waits(hp_comm_t *comm, void *rubbish)
{
    const hp_node_memory_t *memory = &comm->node_memory;
    const uint64_t beyond = UINT64_MAX / 2;

    for (uint32_t member = 0; comm->has_node_memory && member < memory->shape.members; member++) {
        *hp_node_done(memory, member) = beyond;
        for (unsigned fan = 0; fan < HP_FAN_COUNT; fan++) {
            hp_node_buffer(memory, member, (hp_fan_t)fan)->address = rubbish;
            for (uint32_t level = 0; level < memory->shape.levels; level++)
                *hp_node_counter(memory, member, level, (hp_fan_t)fan) = beyond;
            for (uint64_t cell = 0; cell < HP_CELLS; cell++)
                hp_node_cell(memory, member, (hp_fan_t)fan, cell)->flag = memory->step;
        }
    }
}

/* ---- blocks of memory ---- */

/* Blocks that jobs before have left, for others: a page that the kernel hands out costs twenty times of what clearing it does, and the tests
 * of faults make ten thousands of jobs. */
enum { SPARE_MAX = 8, PAGES_MAX = 1 << 12 };
static node_t spare[SPARE_MAX];

/* Zeroes what has been touched. A locked page is never swapped out, so what is not resident is zero. */
static void clear_block(const node_t *node)
{
    static unsigned char resident[PAGES_MAX];
    char *base = node->base;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (node->bytes + page - 1) / page;

    if (!node->locked) {
        madvise(base, node->bytes, MADV_DONTNEED);
        return;
    }
    if (mincore(base, node->bytes, resident) != 0)
        abort();
    for (size_t i = 0; i < pages; i++)
        if (resident[i] & 1)
            memset(base + i * page, 0, i + 1 < pages ? page : node->bytes - i * page);
}

static void get_block(node_t *node, size_t bytes)
{
    for (unsigned i = 0; i < SPARE_MAX; i++)
        if (spare[i].base && spare[i].bytes == bytes) {
            *node = spare[i];
            spare[i].base = NULL;
            return;
        }
    node->bytes = bytes;
    node->base =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (node->base == MAP_FAILED)
        abort();
    node->locked =
        bytes / (size_t)sysconf(_SC_PAGESIZE) < PAGES_MAX && mlock2(node->base, bytes, MLOCK_ONFAULT) == 0;
}

static void put_block(node_t *node)
{
    static unsigned next;
    node_t *place = &spare[next % SPARE_MAX];

    if (!node->locked) {
        munmap(node->base, node->bytes);
        return;
    }
    next++;
    if (place->base)
        munmap(place->base, place->bytes);
    clear_block(node);
    *place = *node;
}

/* A collective that job_run has begun. */
static void abandon_request(job_t *job, uint32_t rank, void *rubbish)
{
    hp_request_t *request = job_request(job, rank);

    if (hp_request_done(request))
        return;
    job_release_from_waits(job->comms[rank], rubbish);
    sim_fail_call(job->sim, rank, SIM_POLL, 0);
    for (bool moved = true; moved && !hp_request_done(request);)
        hp_request_progress(request, &moved);
    sim_fail_call(job->sim, rank, SIM_POLL, UINT32_MAX); /* there may have been no poll */
}

void job_abandon(job_t *job)
{
    enum { RUBBISH_BYTES = 1 << 20 };
    static char rubbish
        [RUBBISH_BYTES]; /* anything; to get and zero it each time took half of what the tests of faults take */
    uint32_t sequence = 0;

    for (uint32_t rank = 0; rank < job->rank_count; rank++) {
        job_abandon_executions(job, rank, rubbish);
        abandon_request(job, rank, rubbish);
        if (job->comms[rank]->sequence > sequence)
            sequence = job->comms[rank]->sequence;
    }
    fini_exchanges(job);
    for (uint32_t rank = 0; rank < job->rank_count; rank++) {
        hp_comm_t *comm = job->comms[rank];
        comm->sequence = sequence; /* some have called more than others */
        comm->executions->missed_call = comm->executions->out_of_step = false;
        if (job->nodes[rank].base)
            clear_block(&job->nodes[rank]);
        if (comm->has_node_memory)
            comm->node_memory.step = comm->node_memory.cleared = 0;
    }
}

/* ---- life ---- */

/* Memory of the ranks' node, which is one block for all of them. */
static bool map_block(node_t *node, const hp_node_shape_t *shape, uint32_t own, const pid_t *pids,
                      hp_node_memory_t *memory)
{
    if (!node->base)
        get_block(node, hp_node_memory_bytes(shape));
    return hp_node_memory_init(memory, shape, own, pids, -1, node->base) == HP_OK;
}

enum { FILE_MARK = 0x6e6f6465 };

/* All members' pools are this process's. */
static bool borrow(hp_node_memory_t *memory)
{
    const hp_slot_pool_t own = {
        .pid = getpid(), .fd = hp_node_pool_file(&memory->shape, FILE_MARK), .mark = FILE_MARK};
    hp_slot_pool_t *pools = sim_alloc(memory->shape.members, sizeof *pools);

    for (uint32_t member = 0; member < memory->shape.members; member++)
        pools[member] = own;
    const bool borrows = hp_node_borrow(memory, pools) == HP_OK;
    free(pools);
    return borrows;
}

/* The same as a file, mapped by each rank; the first one makes it. */
static bool map_file(int *file, const hp_node_shape_t *shape, uint32_t own, const pid_t *pids,
                     hp_node_memory_t *memory)
{
    if (own == 0 && hp_shared_file_create(hp_node_memory_bytes(shape), FILE_MARK, file) != HP_OK)
        return false;
    const bool mapped = hp_node_memory_init(memory, shape, own, pids, *file, NULL) == HP_OK;
    if (own + 1 == shape->members)
        close(*file);
    if (mapped && borrow(memory))
        return true;
    if (mapped)
        hp_node_memory_fini(memory);
    return false;
}

/* As the backend does it (node_setup.c), without the processes. */
static bool share_memory(job_t *job, uint32_t rank, bool lends_slots)
{
    hp_comm_t *comm = job->comms[rank];
    uint32_t count;

    if (!comm->knobs.shared_memory || !hp_comm_may_share(comm))
        return true;
    const hp_node_shape_t shape = hp_comm_node_shape(comm);
    const uint32_t *ranks = hp_comm_node_ranks(comm, &count), own = hp_comm_node_member(comm, rank);
    comm->shares_memory = true;
    comm->reads_peers = comm->knobs.read_peers;
    if (count == 1)
        return true;
    node_t *node = &job->nodes[ranks[0]];
    pid_t *pids = sim_alloc(count, sizeof *pids); /* all 0: in this process */
    hp_node_memory_t memory;
    const bool made = lends_slots ? map_file(&node->file, &shape, own, pids, &memory)
                                  : map_block(node, &shape, own, pids, &memory);
    free(pids);
    if (made)
        hp_comm_set_node_memory(comm, &memory);
    return made;
}

hp_knobs_t job_knobs(void)
{
    hp_knobs_t knobs = {0};
    for (unsigned id = 0; id < HP_KNOB_COUNT; id++) {
        const hp_knob_info_t *info = hp_knob_info((hp_knob_id_t)id);
        char *place = (char *)&knobs + info->offset;
        if (info->kind == HP_KNOB_KIND_TEXT)
            snprintf(place, HP_KNOB_TEXT_BYTES, "%s", info->default_text);
        else
            memcpy(place, &info->default_value, sizeof info->default_value);
    }
    return knobs;
}

/* A chain of switches with three nodes each. Larger jobs do not care. */
enum { RANKS_ON_NETWORK_MAX = 256, NODES_ON_SWITCH = 3 };

static bool make_network(hp_network_t *network, uint32_t nodes)
{
    const hp_network_speed_t speed = {HP_NETWORK_RATE, 1};
    int32_t on = -1;
    bool made = true;
    uint32_t node;

    for (uint32_t i = 0; i < nodes && made; i++) {
        char name[24];
        if (i % NODES_ON_SWITCH == 0) {
            snprintf(name, sizeof name, "s%u", i);
            const int32_t next = hp_network_add(network, name, 0);
            made = next >= 0 && (on < 0 || hp_network_connect(network, (uint32_t)on, (uint32_t)next, speed,
                                                              speed) == HP_OK);
            on = next;
        }
        snprintf(name, sizeof name, "n%u", i);
        const int32_t host = made ? hp_network_add(network, name, 1) : -1;
        made = host >= 0 && hp_network_connect(network, (uint32_t)on, (uint32_t)host, speed, speed) == HP_OK;
    }
    return made && hp_network_finish(network, &node) == HP_NETWORK_WHOLE;
}

/* Each rank learns on which node of the network all of them are. */
static bool place_on_network(job_t *job)
{
    const hp_hierarchy_t *h = job->comms[0]->hierarchy;
    uint32_t machines[RANKS_ON_NETWORK_MAX];
    bool placed = true;

    if (job->rank_count > RANKS_ON_NETWORK_MAX)
        return true;
    if (!make_network(&job->network, hp_hierarchy_node_count(h)))
        return false;
    for (uint32_t rank = 0; rank < job->rank_count; rank++)
        machines[rank] = hp_hierarchy_node_of(h, rank);
    for (uint32_t rank = 0; rank < job->rank_count && placed; rank++)
        placed = hp_comm_set_network(job->comms[rank], &job->network, machines) == HP_OK;
    return placed;
}

bool job_try_create(const sim_config_t *config, const hp_knobs_t *knobs, job_t **out)
{
    sim_config_t watched = *config;
    job_t *job = sim_alloc(1, sizeof *job);
    hp_setting_default(&job->setting);
    hp_setting_apply(&job->setting, knobs);
    watched.send_limit = job->setting.sends_per_child;
    watched.recv_limit = job->setting.recvs_per_parent;
    job->sim = sim_create(&watched);
    job->rank_count = config->rank_count;
    job->comms = sim_alloc(job->rank_count, sizeof(hp_comm_t *));
    job->current = sim_alloc(job->rank_count, sizeof *job->current);
    job->locksteps = sim_alloc(job->rank_count, sizeof *job->locksteps);
    job->nodes = sim_alloc(job->rank_count, sizeof *job->nodes);
    *out = job;
    hp_network_init(&job->network);
    for (uint32_t rank = 0; rank < job->rank_count; rank++)
        if (hp_comm_create(rank, job->rank_count, config->table, knobs, sim_transport(job->sim, rank),
                           &job->comms[rank]) != HP_OK ||
            hp_executions_create(job->comms[rank]) != HP_OK ||
            !share_memory(job, rank, config->lends_slots)) {
            job_destroy(job);
            *out = NULL;
            return false;
        }
    if (place_on_network(job))
        return true;
    job_destroy(job);
    *out = NULL;
    return false;
}

job_t *job_create(const sim_config_t *config, const hp_knobs_t *knobs)
{
    job_t *job;
    if (!job_try_create(config, knobs, &job))
        abort();
    return job;
}

void job_destroy(job_t *job)
{
    for (uint32_t rank = 0; rank < job->rank_count; rank++) {
        hp_executions_destroy(job->comms[rank]);
        hp_select_forget(job->comms[rank]);
        hp_comm_destroy(job->comms[rank]);
    }
    hp_network_fini(&job->network);
    sim_destroy(job->sim);
    for (uint32_t rank = 0; rank < job->rank_count; rank++)
        if (job->nodes[rank].base)
            put_block(&job->nodes[rank]);
    free(job->nodes);
    free(job->locksteps);
    free(job->current);
    free(job->comms);
    free(job);
}

sim_t *job_sim(job_t *job)
{
    return job->sim;
}

hp_comm_t *job_comm(job_t *job, uint32_t rank)
{
    return job->comms[rank];
}

const char *job_problem(const job_t *job)
{
    return job->problem.text;
}

uint64_t job_result(const job_t *job)
{
    return job->result;
}
