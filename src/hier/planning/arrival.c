#include "hier/planning/arrival.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Who enters so far behind the mean is late in that call: of what the call takes, in standard deviations of all entries, and in
 * meetings. One late rank of four is 1.73 deviations behind the mean, of more ranks further; the last of ranks that come evenly
 * spread is 1.73 at most. The second row: who was late before. */
typedef struct {
    double of_call, deviations, meetings;
    unsigned calls; /* that it must have been late in, of HP_ARRIVAL_CALLS */
} limit_t;
static const limit_t becomes = {0.25, 1.6, 2, HP_ARRIVAL_CALLS - 1},
                     stays = {0.125, 1, 1, HP_ARRIVAL_CALLS / 2};

hp_status_t hp_arrival_create(hp_comm_t *comm)
{
    hp_arrival_t *arrival = comm->arrival = calloc(1, sizeof *arrival);

    if (arrival)
        arrival->next = HP_ARRIVAL_FIRST;
    return arrival ? HP_OK : HP_ERR_NO_MEM;
}

/* ---- a look ---- */

static double us_between(uint64_t from_ns, uint64_t to_ns)
{
    return ((double)to_ns - (double)from_ns) / 1000.0;
}

hp_arrival_step_t hp_arrival_count(hp_comm_t *comm, hp_collective_t collective, uint64_t entered_ns,
                                   uint64_t left_ns)
{
    hp_arrival_t *arrival = comm->arrival;

    arrival->calls++;
    if (!arrival->is_looking)
        return arrival->calls == arrival->next ? HP_ARRIVAL_MEET : HP_ARRIVAL_GO_ON;
    const double took_us = us_between(entered_ns, left_ns);
    arrival->took_us = arrival->seen == 0 || took_us < arrival->took_us ? took_us : arrival->took_us;
    arrival->entered_us[arrival->seen++] = us_between(arrival->met_ns, entered_ns);
    arrival->collectives |= 1u << collective;
    return arrival->seen == HP_ARRIVAL_CALLS ? HP_ARRIVAL_COMPARE : HP_ARRIVAL_GO_ON;
}

void hp_arrival_lost(hp_comm_t *comm)
{
    comm->arrival->is_looking = false;
    comm->arrival->seen = 0;
}

void hp_arrival_met(hp_comm_t *comm, uint64_t begin_ns, uint64_t end_ns)
{
    hp_arrival_t *arrival = comm->arrival;

    arrival->is_looking = true;
    arrival->seen = 0;
    arrival->met_ns = end_ns;
    arrival->met_us = us_between(begin_ns, end_ns);
}

void hp_arrival_sums(const hp_comm_t *comm, double sums[HP_ARRIVAL_SUMS])
{
    const hp_arrival_t *arrival = comm->arrival;

    for (unsigned i = 0; i < HP_ARRIVAL_CALLS; i++) {
        sums[2 * i] = arrival->entered_us[i];
        sums[2 * i + 1] = arrival->entered_us[i] * arrival->entered_us[i];
    }
    sums[2 * HP_ARRIVAL_CALLS] = arrival->took_us;
    sums[2 * HP_ARRIVAL_CALLS + 1] = arrival->met_us;
}

double hp_arrival_lateness(const hp_comm_t *comm, const double sums[HP_ARRIVAL_SUMS])
{
    const hp_arrival_t *arrival = comm->arrival;
    const limit_t *limit = arrival->is_late ? &stays : &becomes;
    const double took_us = sums[2 * HP_ARRIVAL_CALLS] / comm->size,
                 met_us = sums[2 * HP_ARRIVAL_CALLS + 1] / comm->size;
    double sum = 0;
    unsigned calls = 0;

    for (unsigned i = 0; i < HP_ARRIVAL_CALLS; i++) {
        const double mean = sums[2 * i] / comm->size, variance = sums[2 * i + 1] / comm->size - mean * mean;
        const double behind = arrival->entered_us[i] - mean;
        calls += behind > limit->of_call * took_us && behind > limit->meetings * met_us &&
                 behind * behind > limit->deviations * limit->deviations * variance;
        sum += behind;
    }
    return calls >= limit->calls && sum > 0 ? sum / HP_ARRIVAL_CALLS : 0;
}

/* ---- what follows ---- */

/* A node that has several ranks keeps half of them; then all of its late ones are left out, or none. */
static bool node_allows(const hp_hierarchy_t *h, const double *late_us, uint32_t rank)
{
    uint32_t count = 0, late = 0;

    for (uint32_t r = 0; r < hp_hierarchy_rank_count(h); r++)
        if (hp_hierarchy_node_of(h, r) == hp_hierarchy_node_of(h, rank)) {
            count++;
            late += late_us[r] > 0;
        }
    return count == 1 || 2 * late <= count;
}

static void report(hp_arrival_t *arrival, uint32_t rank, double late_us)
{
    uint32_t i = 0;

    while (i < arrival->row_count && arrival->rows[i].rank != rank)
        i++;
    if (i == HP_ARRIVAL_LATE_MAX)
        return;
    if (i == arrival->row_count)
        arrival->rows[arrival->row_count++] = (hp_arrival_row_t){.rank = rank};
    arrival->rows[i].looks++;
    arrival->rows[i].late_us += late_us;
}

uint32_t hp_arrival_choose(hp_comm_t *comm, const double *late_us, uint32_t late[HP_ARRIVAL_LATE_MAX])
{
    hp_arrival_t *arrival = comm->arrival;
    uint32_t count = 0, all = 0;

    for (uint32_t rank = 0; late_us && rank < comm->size; rank++) {
        if (!(late_us[rank] > 0))
            continue;
        all++;
        report(arrival, rank, late_us[rank]);
        if (count < HP_ARRIVAL_LATE_MAX && node_allows(comm->hierarchy, late_us, rank))
            late[count++] = rank;
    }
    if (all > HP_ARRIVAL_LATE_MAX || all > comm->size / 4) /* they are not few who come behind the others */
        count = 0;
    arrival->is_late = false;
    for (uint32_t i = 0; i < count; i++)
        arrival->is_late |= late[i] == comm->rank;
    arrival->looks++;
    arrival->is_looking = false;
    const uint64_t pause = count ? HP_ARRIVAL_PAUSE_LATE : arrival->calls;
    arrival->next = arrival->calls + (pause < HP_ARRIVAL_PAUSE ? pause : HP_ARRIVAL_PAUSE);
    return count;
}

bool hp_arrival_is_same(const hp_comm_t *comm, const uint32_t *late, uint32_t count)
{
    const hp_around_t *around = comm->around;
    const uint32_t now = around ? around->count : 0;

    return now == count && (count == 0 || memcmp(around->ranks, late, count * sizeof *late) == 0);
}

static void count_around(hp_comm_t *comm)
{
    hp_arrival_t *arrival = comm->arrival;

    for (uint32_t i = 0; arrival && i < arrival->row_count; i++)
        arrival->rows[i].around += hp_around_is_late(comm->around, arrival->rows[i].rank);
}

/* In an exchange all ranks wait for each other. So the nodes are joined by what the built-in rules have for long reductions, in
 * segments of that size at most. */
static void use_trees(uint32_t nodes, const hp_setting_t *setting, hp_setting_t *out)
{
    enum { CHAIN_NODES = 4, SEGMENT_BYTES = 32768 };

    *out = *setting;
    out->inter_node = nodes <= CHAIN_NODES ? HP_INTER_NODE_tree : HP_INTER_NODE_double_tree;
    out->shapes.shape[HP_LEVEL_NODE] = HP_SHAPE_CHAIN;
    out->segment_bytes = setting->segment_bytes < SEGMENT_BYTES ? setting->segment_bytes : SEGMENT_BYTES;
}

enum { ALLREDUCE_NODES = 3 };

const hp_algorithm_t *hp_arrival_algorithm(hp_comm_t *comm, const hp_algorithm_t *algorithm,
                                           const hp_call_t *call, const hp_setting_t **setting,
                                           hp_setting_t *room)
{
    const hp_collective_t collective = call->collective;
    const uint32_t nodes = hp_hierarchy_node_count(comm->hierarchy);

    if (__builtin_expect(!comm->around, 1) || !comm->knobs.arrival)
        return algorithm;
    if (!(algorithm->traits & HP_TRAIT_PIPELINED) || collective >= HP_BARRIER ||
        call->count * call->type.bytes < HP_ARRIVAL_BYTES || hp_setting_uses(*setting, HP_MODULE_NATIVE) ||
        (collective != HP_ALLREDUCE && hp_around_is_late(comm->around, call->root)))
        return algorithm;
    /* Nor where somebody relies on the order of the operations, which would change from run to run. */
    if (collective != HP_BCAST && (!call->commutative || comm->knobs.reproducible || !comm->knobs.guard))
        return algorithm;
    /* What is left to do of an allreduce when the late one has come takes m/B then (m bytes, links of rate B), instead of
     * 2(N-1)/N m/B among N nodes: nothing is gained on two. */
    if (collective == HP_ALLREDUCE && nodes < ALLREDUCE_NODES)
        return algorithm;
    if (collective == HP_ALLREDUCE && !hp_inter_node_is_tree((*setting)->inter_node)) {
        use_trees(nodes, *setting, room);
        *setting = room;
    }
    count_around(comm);
    return hp_algorithm_around(collective);
}

/* ---- the report ---- */

typedef struct kept {
    hp_layout_t layout;
    uint32_t size, looks;
    unsigned collectives;
    hp_arrival_row_t row;
    struct kept *next;
} kept_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static kept_t *all_kept, **end_of_kept = &all_kept;

void hp_arrival_keep(const hp_comm_t *comm)
{
    const hp_arrival_t *arrival = comm->arrival;

    for (uint32_t i = 0; arrival && i < arrival->row_count; i++) {
        kept_t *kept = malloc(sizeof *kept);
        if (!kept)
            return;
        *kept = (kept_t){hp_comm_layout(comm), comm->size,       arrival->looks,
                         arrival->collectives, arrival->rows[i], NULL};
        pthread_mutex_lock(&lock);
        *end_of_kept = kept;
        end_of_kept = &kept->next;
        pthread_mutex_unlock(&lock);
    }
}

static double mean_ms(const kept_t *kept)
{
    return kept->row.late_us / kept->row.looks / 1000;
}

void hp_arrival_print(FILE *out)
{
    if (all_kept)
        fprintf(
            out,
            "  -- who made others wait: ranks that came late to most calls of a look (HANPMPI_ARRIVAL)\n");
    for (const kept_t *kept = all_kept; kept; kept = kept->next) {
        fprintf(out, "  rank %u of a communicator of %u ranks on %u node%s, in", kept->row.rank, kept->size,
                kept->layout.nodes, kept->layout.nodes > 1 ? "s" : "");
        for (unsigned c = 0; c < HP_BARRIER; c++)
            if (kept->collectives & (1u << c))
                fprintf(out, " %s", hp_collective_name((hp_collective_t)c));
        fprintf(out, ": %.3g ms behind the mean, in %u of %u looks; %llu calls went around it\n",
                mean_ms(kept), kept->row.looks, kept->looks, (unsigned long long)kept->row.around);
    }
}

json_t *hp_arrival_json(void)
{
    json_t *list = json_array();

    for (const kept_t *kept = all_kept; kept; kept = kept->next) {
        json_t *names = json_array();
        for (unsigned c = 0; c < HP_BARRIER; c++)
            if (kept->collectives & (1u << c))
                json_array_append_new(names, json_string(hp_collective_name((hp_collective_t)c)));
        json_array_append_new(
            list, json_pack("{s:i,s:i,s:i,s:o,s:f,s:i,s:i,s:I}", "rank", (int)kept->row.rank, "ranks",
                            (int)kept->size, "nodes", (int)kept->layout.nodes, "collectives", names,
                            "late_us", 1000 * mean_ms(kept), "late_looks", (int)kept->row.looks, "looks",
                            (int)kept->looks, "calls_around", (json_int_t)kept->row.around));
    }
    return list;
}

void hp_arrival_fini(void)
{
    while (all_kept) {
        kept_t *kept = all_kept;
        all_kept = kept->next;
        free(kept);
    }
    end_of_kept = &all_kept;
}
