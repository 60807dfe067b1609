#include "sim/job.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "hier/collectives/lockstep.h"
#include "hier/selection/rule.h"

enum { GUARD_BYTES = 64 };

/* A user's buffer: raw is what was allocated, before is what was in it. */
typedef struct {
    char *raw, *before, *address;
    size_t raw_bytes;
} buffer_t;

typedef struct {
    const collective_t *collective;
    hp_type_t type;
    buffer_t *send, *recv; /* one a rank; raw is NULL where a rank has none */
    char *expected;        /* packed */
    uint32_t entered;      /* ranks */
} exchange_t;

/* The memory of one node. Mapped, not allocated: most of it is never touched. */
typedef struct {
    void *base;
    size_t bytes;
} node_t;

struct job {
    sim_t *sim;
    uint32_t rank_count;
    hp_comm_t **comms;
    hp_setting_t
        setting; /* of which N, M and the window hold for all collectives: the network watches them */
    exchange_t *exchanges;
    uint32_t exchange_count;
    uint32_t *current;        /* per rank: the exchange it is at */
    hp_lockstep_t *locksteps; /* per rank: where it is in it, when it is one of those */
    node_t *nodes;            /* by the node's lowest rank */
    uint64_t result;
    char problem[320];
};

__attribute__((format(printf, 2, 3))) static void report(job_t *job, const char *format, ...)
{
    va_list args;
    if (job->problem[0])
        return;
    va_start(args, format);
    vsnprintf(job->problem, sizeof job->problem, format, args);
    va_end(args);
}

/* ---- buffers ---- */

static void buffer_init(buffer_t *buffer, const collective_t *collective, const hp_type_t *type,
                        sim_random_t *random)
{
    const size_t span = type->true_extent + (collective->count - 1) * type->extent;
    buffer->raw_bytes = span + 2 * GUARD_BYTES;
    buffer->raw = sim_alloc(1, buffer->raw_bytes);
    buffer->before = sim_alloc(1, buffer->raw_bytes);
    buffer->address = buffer->raw + GUARD_BYTES - type->true_lb;
    for (size_t i = 0; i < buffer->raw_bytes; i += sizeof(uint64_t)) {
        const uint64_t word = sim_random_next(random);
        const size_t left = buffer->raw_bytes - i;
        memcpy(buffer->raw + i, &word, left < sizeof word ? left : sizeof word);
    }
}

static void buffer_fini(buffer_t *buffer)
{
    free(buffer->raw);
    free(buffer->before);
}

/* Contributions that suit the operation; otherwise the random bytes stay. */
static void buffer_fill(buffer_t *buffer, const collective_t *collective, const hp_type_t *type,
                        sim_random_t *random)
{
    for (size_t i = 0; i < collective->count; i++)
        for (uint32_t w = 0; w < elements_words(type); w++) {
            uint64_t word = sim_random_next(random);
            double number = collective->inexact ? (double)(word >> 20) / (double)(1 + (word & 0xfffff))
                                                : (double)(word % 1000);
            if (collective->op == ELEMENTS_SUM_DOUBLE)
                memcpy(&word, &number, sizeof word);
            else if (collective->op == ELEMENTS_AFFINE && w == 0)
                word |= 1; /* an even factor would lose bits at every step */
            memcpy(buffer->address + elements_place(type, i, w), &word, sizeof word);
        }
}

static bool buffer_is_untouched(const buffer_t *buffer)
{
    return memcmp(buffer->raw, buffer->before, buffer->raw_bytes) == 0;
}

/* Compares gaps and guards: the data is made the same in both. */
static bool buffer_gaps_are_untouched(buffer_t *buffer, size_t count, const hp_type_t *type)
{
    char *zeros = sim_alloc(count, type->bytes);
    char *data = sim_alloc(count, type->bytes);
    elements_pack(data, buffer->address, count, type);
    elements_unpack(buffer->address, zeros, count, type);
    elements_unpack(buffer->before + (buffer->address - buffer->raw), zeros, count, type);
    const bool same = buffer_is_untouched(buffer);
    elements_unpack(buffer->address, data, count, type);
    free(data);
    free(zeros);
    return same;
}

/* ---- one collective ---- */

static bool has_result(const collective_t *collective, uint32_t rank)
{
    const hp_collective_t id = collective->algorithm->collective;
    return id == HP_BCAST || id == HP_ALLREDUCE || (id == HP_REDUCE && rank == collective->root);
}

static bool has_contribution(const collective_t *collective)
{
    const hp_collective_t id = collective->algorithm->collective;
    return id == HP_REDUCE || id == HP_ALLREDUCE;
}

/* The operation applied in rank order. */
static void expect(exchange_t *x, uint32_t rank_count)
{
    const collective_t *c = x->collective;
    const size_t bytes = c->count * x->type.bytes;
    x->expected = sim_alloc(1, bytes);
    if (c->algorithm->collective == HP_BARRIER)
        return;
    if (c->algorithm->collective == HP_BCAST) {
        elements_pack(x->expected, x->recv[c->root].address, c->count, &x->type);
        return;
    }
    const hp_type_t packed = elements_type(elements_words(&x->type) == 1 ? ELEMENTS_ONE : ELEMENTS_PAIR);
    char *next = sim_alloc(1, bytes);
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        const buffer_t *own = x->send[rank].raw ? &x->send[rank] : &x->recv[rank];
        elements_pack(next, own->address, c->count, &x->type);
        if (rank)
            elements_reduce(x->expected, next, c->count, &packed, c->op);
        memcpy(x->expected, next, bytes);
    }
    free(next);
}

static void exchange_init(exchange_t *x, const collective_t *c, uint32_t rank_count)
{
    sim_random_t random = {c->data_seed};
    const bool reduces = has_contribution(c);
    *x = (exchange_t){.collective = c,
                      .type = elements_type(c->kind),
                      .send = sim_alloc(rank_count, sizeof(buffer_t)),
                      .recv = sim_alloc(rank_count, sizeof(buffer_t))};
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        const bool in_place = c->in_place && has_result(c, rank);
        if (has_result(c, rank) || c->lockstep)
            buffer_init(&x->recv[rank], c, &x->type, &random);
        if (reduces && !in_place)
            buffer_init(&x->send[rank], c, &x->type, &random);
        sim_random_t data = {sim_random_mix(c->data_seed) + rank}; /* the same in place or not */
        if (reduces)
            buffer_fill(in_place ? &x->recv[rank] : &x->send[rank], c, &x->type, &data);
    }
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        if (x->recv[rank].raw)
            memcpy(x->recv[rank].before, x->recv[rank].raw, x->recv[rank].raw_bytes);
        if (x->send[rank].raw)
            memcpy(x->send[rank].before, x->send[rank].raw, x->send[rank].raw_bytes);
    }
    expect(x, rank_count);
}

static void exchange_fini(exchange_t *x, uint32_t rank_count)
{
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        buffer_fini(&x->send[rank]);
        buffer_fini(&x->recv[rank]);
    }
    free(x->send);
    free(x->recv);
    free(x->expected);
}

static uint64_t hash(const char *data, size_t bytes)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ (uint8_t)data[i]) * 0x100000001b3u;
    return h;
}

static void check_rank(job_t *job, exchange_t *x, uint32_t rank, char *result)
{
    const collective_t *c = x->collective;
    const size_t bytes = c->count * x->type.bytes;

    if (x->send[rank].raw && !buffer_is_untouched(&x->send[rank]))
        report(job, "rank %u: the send buffer was written", rank);
    if (!has_result(c, rank))
        return;
    elements_pack(result, x->recv[rank].address, c->count, &x->type);
    if (c->inexact && rank == (c->algorithm->collective == HP_REDUCE ? c->root : 0))
        memcpy(x->expected, result, bytes);
    if (memcmp(result, x->expected, bytes) != 0) {
        size_t at = 0;
        while (result[at] == x->expected[at])
            at++;
        report(job, "rank %u: wrong result from element %zu on", rank, at / x->type.bytes);
    }
    if (!buffer_gaps_are_untouched(&x->recv[rank], c->count, &x->type))
        report(job, "rank %u: a gap or a guard of the result was written", rank);
    job->result = hash(result, bytes);
}

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

/* What the rank has just done may be what others of its node wait for. */
static void tell_node(job_t *job, uint32_t rank, uint64_t sets_before)
{
    if (sets != sets_before)
        sim_wake_node(job->sim, rank);
}

static void check_left(job_t *job, uint32_t rank)
{
    const exchange_t *x = &job->exchanges[job->current[rank]];
    if (hp_request_done(job->comms[rank]->request) && x->collective->algorithm->collective == HP_BARRIER &&
        x->entered < job->rank_count)
        report(job, "rank %u left a barrier that %u of %u ranks had entered", rank, x->entered,
               job->rank_count);
}

static hp_status_t start_lockstep(job_t *job, uint32_t rank, const hp_call_t *call,
                                  const hp_setting_t *setting)
{
    hp_lockstep_t *lockstep = &job->locksteps[rank];
    const hp_status_t status = hp_lockstep_prepare(lockstep, job->comms[rank], call, setting, UINT64_MAX);
    return status == HP_OK ? hp_lockstep_start(lockstep) : status;
}

/* Has the rank done what it does of its collective? */
static bool current_done(const job_t *job, uint32_t rank)
{
    const hp_lockstep_t *lockstep = &job->locksteps[rank];
    const bool more =
        job->exchanges[job->current[rank]].collective->lockstep && lockstep->next < lockstep->iterations;
    return hp_request_done(job->comms[rank]->request) && !more;
}

static hp_status_t start_current(job_t *job, uint32_t rank)
{
    exchange_t *x = &job->exchanges[job->current[rank]];
    const collective_t *c = x->collective;
    const bool in_place = c->in_place && has_result(c, rank);
    const hp_call_t call = {.collective = c->algorithm->collective,
                            .send = in_place ? x->recv[rank].address : x->send[rank].address,
                            .recv = x->recv[rank].address,
                            .count = c->count,
                            .type = x->type,
                            .op = c->op,
                            .commutative = c->commutative,
                            .root = c->root};
    hp_setting_t setting = c->setting;
    setting.sends_per_child = job->setting.sends_per_child;
    setting.recvs_per_parent = job->setting.recvs_per_parent;
    setting.window_segments = job->setting.window_segments;
    job->comms[rank]->sequence++;
    x->entered++;
    const uint64_t sets_before = sets;
    sim_expect_empty(job->sim, rank, c->algorithm->collective == HP_BARRIER);
    const hp_status_t status = c->lockstep ? start_lockstep(job, rank, &call, &setting)
                                           : c->algorithm->start(job->comms[rank], &call, &setting);
    tell_node(job, rank, sets_before);
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
    hp_request_t *request = job->comms[rank]->request;

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
    tell_node(job, rank, sets_before);
    if (status == HP_OK)
        check_left(job, rank);
    *moved = *moved || hp_request_done(request);
    return status;
}

static const sim_program_t engine = {engine_start, engine_progress, engine_done};

static void check_rest(job_t *job)
{
    for (uint32_t rank = 0; rank < job->rank_count; rank++) {
        if (job->comms[rank]->pool.live)
            report(job, "rank %u: %u scratch buffers are left", rank, job->comms[rank]->pool.live);
        if (hp_request_counters(job->comms[rank]->request)->in_flight)
            report(job, "rank %u: done with operations in flight", rank);
    }
    if (sim_left_over(job->sim))
        report(job, "%llu operations are left over", (unsigned long long)sim_left_over(job->sim));
}

bool job_run(job_t *job, const collective_t *collectives, uint32_t count, sim_outcome_t *outcomes)
{
    sim_outcome_t *own = sim_alloc(job->rank_count, sizeof *own);
    size_t most_bytes = 0;

    job->problem[0] = '\0';
    job->exchanges = sim_alloc(count, sizeof *job->exchanges);
    job->exchange_count = count;
    memset(job->current, 0, job->rank_count * sizeof *job->current);
    for (uint32_t i = 0; i < count; i++) {
        exchange_init(&job->exchanges[i], &collectives[i], job->rank_count);
        if (collectives[i].count * job->exchanges[i].type.bytes > most_bytes)
            most_bytes = collectives[i].count * job->exchanges[i].type.bytes;
    }
    if (!sim_run(job->sim, &engine, job, own)) {
        for (uint32_t rank = 0; rank < job->rank_count; rank++)
            if (!own[rank].finished)
                report(job, "deadlock: rank %u waits in collective %u of %u", rank, job->current[rank] + 1,
                       count);
    }
    for (uint32_t rank = 0; rank < job->rank_count; rank++)
        if (own[rank].status != HP_OK)
            report(job, "rank %u: %s", rank, hp_status_text(own[rank].status));
    if (sim_problem(job->sim))
        report(job, "%s", sim_problem(job->sim));
    if (!job->problem[0]) {
        char *result = sim_alloc(1, most_bytes);
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t rank = 0; rank < job->rank_count; rank++)
                check_rank(job, &job->exchanges[i], rank, result);
        free(result);
        check_rest(job);
    }
    if (outcomes)
        memcpy(outcomes, own, job->rank_count * sizeof *own);
    free(own);
    if (job->problem[0])
        return false;
    for (uint32_t i = 0; i < count; i++)
        exchange_fini(&job->exchanges[i], job->rank_count);
    free(job->exchanges);
    job->exchange_count = 0;
    return true;
}

/* Whatever the rank waits for in the memory of its node comes; what it then reads there is rubbish. */
static void release_from_waits(hp_comm_t *comm, void *rubbish)
{
    const hp_node_memory_t *memory = &comm->node_memory;
    const uint64_t beyond = UINT64_MAX / 2;

    for (uint32_t member = 0; comm->has_node_memory && member < memory->shape.members; member++) {
        *hp_node_done(memory, member) = beyond;
        for (unsigned way = 0; way < HP_WAY_COUNT; way++) {
            *hp_node_address(memory, member, (hp_way_t)way) = rubbish;
            for (uint32_t level = 0; level < memory->shape.levels; level++)
                *hp_node_counter(memory, member, level, (hp_way_t)way) = beyond;
            for (uint64_t cell = 0; cell < HP_CELLS; cell++)
                hp_node_cell(memory, member, (hp_way_t)way, cell)->flag = memory->step;
        }
    }
}

void job_abandon(job_t *job)
{
    enum { RUBBISH_BYTES = 1 << 20 };
    void *rubbish = sim_alloc(1, RUBBISH_BYTES);

    for (uint32_t rank = 0; rank < job->rank_count; rank++) {
        hp_request_t *request = job->comms[rank]->request;
        if (hp_request_done(request))
            continue;
        release_from_waits(job->comms[rank], rubbish);
        sim_fail_call(job->sim, rank, SIM_POLL, 0);
        for (bool moved = true; moved && !hp_request_done(request);)
            hp_request_progress(request, &moved);
        sim_fail_call(job->sim, rank, SIM_POLL, UINT32_MAX); /* there may have been no poll */
    }
    free(rubbish);
    for (uint32_t i = 0; i < job->exchange_count; i++)
        exchange_fini(&job->exchanges[i], job->rank_count);
    if (job->exchange_count)
        free(job->exchanges);
    job->exchange_count = 0;
    for (uint32_t rank = 0; rank < job->rank_count; rank++) {
        hp_comm_t *comm = job->comms[rank];
        if (job->nodes[rank].base)
            madvise(job->nodes[rank].base, job->nodes[rank].bytes, MADV_DONTNEED); /* zeroes it */
        if (comm->has_node_memory)
            comm->node_memory.step = comm->node_memory.cleared = 0;
    }
}

/* ---- life ---- */

/* As the backend does it (node_setup.c), without the processes. */
static bool share_memory(job_t *job, uint32_t rank)
{
    hp_comm_t *comm = job->comms[rank];
    uint32_t count;

    if (!comm->knobs.shared_memory || !hp_comm_may_share(comm))
        return true;
    const hp_node_shape_t shape = hp_comm_node_shape(comm);
    const uint32_t *ranks = hp_comm_node_ranks(comm, &count);
    comm->shares_memory = true;
    comm->reads_peers = comm->knobs.read_peers;
    if (count == 1)
        return true;
    node_t *node = &job->nodes[ranks[0]];
    if (!node->base) {
        node->bytes = hp_node_memory_bytes(&shape);
        node->base = mmap(NULL, node->bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (node->base == MAP_FAILED)
            abort();
    }
    pid_t *pids = sim_alloc(count, sizeof *pids); /* all 0: in this process */
    hp_node_memory_t memory;
    const bool made =
        hp_node_memory_init(&memory, &shape, hp_comm_node_member(comm, rank), pids, -1, node->base) == HP_OK;
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
    for (uint32_t rank = 0; rank < job->rank_count; rank++)
        if (hp_comm_create(rank, job->rank_count, config->table, knobs, sim_transport(job->sim, rank),
                           &job->comms[rank]) != HP_OK ||
            !share_memory(job, rank)) {
            job_destroy(job);
            *out = NULL;
            return false;
        }
    return true;
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
    for (uint32_t rank = 0; rank < job->rank_count; rank++)
        hp_comm_destroy(job->comms[rank]);
    sim_destroy(job->sim);
    for (uint32_t rank = 0; rank < job->rank_count; rank++)
        if (job->nodes[rank].base)
            munmap(job->nodes[rank].base, job->nodes[rank].bytes);
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
    return job->problem;
}

uint64_t job_result(const job_t *job)
{
    return job->result;
}
