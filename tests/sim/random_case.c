#include "sim/random_case.h"

#include <stdio.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static uint32_t below(sim_random_t *random, uint32_t bound)
{
    return (uint32_t)sim_random_below(random, bound);
}

hp_locality_t *random_table(sim_random_t *random, uint32_t rank_count)
{
    enum { ONE_NODE, NODE_EACH, BLOCKS, ROUND_ROBIN, ANYWHERE, STYLES };
    hp_locality_t *table = sim_alloc(rank_count, sizeof *table);
    const uint32_t style = below(random, STYLES), nodes = 1 + below(random, rank_count);
    const uint32_t variety = 1 + below(random, 4);
    uint32_t node = 0, left = 0;

    for (uint32_t rank = 0; rank < rank_count; rank++) {
        if (style == BLOCKS && left-- == 0) {
            node++;
            left = below(random, 1 + rank_count / 2);
        }
        for (unsigned level = 0; level < HP_LEVEL_COUNT; level++) {
            uint64_t id = below(random, variety);
            if (level == HP_LEVEL_NODE)
                id = style == ONE_NODE      ? 0
                     : style == NODE_EACH   ? rank
                     : style == BLOCKS      ? node
                     : style == ROUND_ROBIN ? rank % nodes
                                            : below(random, nodes);
            else if (style == BLOCKS) /* ranks in order inside a node too */
                id = rank / (1 + variety);
            table[rank].id[level] = id;
        }
    }
    return table;
}

sim_config_t random_world(sim_random_t *random, uint32_t rank_count, const hp_locality_t *table)
{
    static const size_t eager[] = {0, 64, 1 << 20};
    sim_config_t world = {.rank_count = rank_count,
                          .table = table,
                          .eager_bytes = eager[below(random, LENGTH(eager))],
                          .shuffle = below(random, 4) != 0,
                          .jitter_ns = below(random, 2) ? below(random, 5000) : 0,
                          .software_matching = below(random, 2) != 0,
                          .seed = sim_random_next(random)};
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        world.links[level] = (sim_link_t){.latency_ns = 10 + below(random, 1000),
                                          .ns_per_byte = 0.1 * (1 + below(random, 40))};
    return world;
}

hp_knobs_t random_knobs(sim_random_t *random)
{
    static const char *const levels[] = {"node,package,numa,l3", "node", "", "package,l3"};
    static const int64_t windows[] = {1, 2, 3, 8, 256}, slot_bytes[] = {64, 64, 100, 192, 512};
    hp_knobs_t knobs = job_knobs();
    knobs.sends_per_child = 1 + below(random, 6);
    knobs.recvs_per_parent = 1 + below(random, 8);
    knobs.window_segments = windows[below(random, LENGTH(windows))];
    snprintf(knobs.levels, sizeof knobs.levels, "%s", levels[below(random, LENGTH(levels))]);
    knobs.shared_memory = below(random, 8) != 0;
    knobs.read_peers = below(random, 6) != 0;
    knobs.slots = 2 + below(random, below(random, 2) ? 1 : 6);
    knobs.slot_bytes = slot_bytes[below(random, LENGTH(slot_bytes))];
    knobs.stream_bytes = knobs.slots % 2 ? 0 : 1 + knobs.sends_per_child * 8;
    return knobs;
}

void random_again(sim_random_t *random, collective_t *list, unsigned i)
{
    if (i > 0 && sim_random_below(random, 3) == 0)
        list[i] = list[sim_random_below(random, i)];
}

bool may_lockstep(const collective_t *c)
{
    const hp_collective_t id = c->algorithm->collective;
    return strcmp(c->algorithm->name, "han") == 0 && id != HP_BARRIER && !c->in_place &&
           (c->commutative || id == HP_BCAST);
}

collective_t random_collective(sim_random_t *random, const hp_algorithm_t *algorithm, uint32_t rank_count,
                               size_t most)
{
    static const size_t segment_bytes[] = {1, 8, 16, 48, 100, 256, 1024};
    collective_t c = {
        .algorithm = algorithm, .in_place = below(random, 2) != 0, .data_seed = sim_random_next(random)};
    c.setting.segment_bytes = segment_bytes[below(random, LENGTH(segment_bytes))];
    c.setting.ib_segment_bytes = below(random, 2) ? segment_bytes[below(random, LENGTH(segment_bytes))] : 0;
    c.setting.ir_segment_bytes = below(random, 2) ? segment_bytes[below(random, LENGTH(segment_bytes))] : 0;
    c.setting.trees = 1 + below(random, HP_ROTATIONS_MAX);
    c.setting.inter_node = hp_inter_node(1 + below(random, hp_inter_node_word(HP_INTER_NODE_NONE) - 1));
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        c.setting.shapes.shape[level] = (hp_shape_t)below(random, HP_SHAPE_COUNT);

    c.setting.leaders = 1 + (below(random, 2) ? below(random, 6) : 0);
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        c.setting.modules.module[level] = (uint8_t)below(random, HP_MODULE_COUNT);

    c.commutative = true;
    if (algorithm->collective == HP_BARRIER) {
        c.kind = ELEMENTS_BYTES;
        c.in_place = false;
        return c;
    }
    if (algorithm->collective == HP_BCAST) {
        c.kind = (elements_t)below(random, ELEMENTS_COUNT);
    } else {
        c.op = (elements_op_t)(ELEMENTS_SUM_INT64 + below(random, 3));
        c.kind = c.op == ELEMENTS_AFFINE ? (elements_t)(ELEMENTS_PAIR + below(random, 4))
                                         : (elements_t)below(random, ELEMENTS_BYTES);
        c.commutative = c.op != ELEMENTS_AFFINE && below(random, 4) != 0;
    }
    const hp_type_t type = elements_type(c.kind);
    const size_t segment = c.setting.segment_bytes / type.bytes;
    const size_t counts[] = {
        1,           2,       rank_count - 1, rank_count,      rank_count + 1,
        segment - 1, segment, segment + 1,    segment * 3 + 1, 1 + below(random, (uint32_t)most)};
    c.count = counts[below(random, LENGTH(counts))];
    if (c.count == 0 || c.count > most)
        c.count = 1 + below(random, (uint32_t)most);
    c.lockstep = may_lockstep(&c) && below(random, 3) == 0;
    return c;
}

collective_t random_in_flight(sim_random_t *random, uint32_t rank_count, size_t most)
{
    const hp_algorithm_t *algorithm = any_algorithm(below(random, any_algorithm_count()));
    collective_t c = random_collective(random, algorithm, rank_count, most);

    c.root = below(random, random_roots(algorithm, rank_count));
    c.lockstep = false;
    c.blocking = below(random, 8) == 0;
    if (below(random, 8)) /* what uses the host MPI runs alone */
        for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
            if (c.setting.modules.module[level] == HP_MODULE_NATIVE)
                c.setting.modules.module[level] = HP_MODULE_P2P;
    return c;
}

uint32_t random_roots(const hp_algorithm_t *algorithm, uint32_t rank_count)
{
    return algorithm->collective == HP_BCAST || algorithm->collective == HP_REDUCE ? rank_count : 1;
}

void random_delays(sim_random_t *random, sim_t *sim, uint32_t rank_count, uint64_t span_ns)
{
    for (uint32_t i = below(random, 3); i > 0; i--) {
        const uint64_t from = sim_now(sim) + sim_random_below(random, span_ns);
        sim_delay(sim, below(random, rank_count), from, from + sim_random_below(random, span_ns));
    }
}

const hp_algorithm_t *any_algorithm(unsigned i)
{
    for (unsigned collective = 0; collective < HP_PIPELINED_COUNT; collective++)
        for (unsigned k = 0; hp_algorithm((hp_collective_t)collective, k); k++)
            if (i-- == 0)
                return hp_algorithm((hp_collective_t)collective, k);
    return NULL;
}

unsigned any_algorithm_count(void)
{
    unsigned count = 0;
    while (any_algorithm(count))
        count++;
    return count;
}

void print_case(const collective_t *c, uint32_t rank_count, const hp_knobs_t *knobs,
                const sim_config_t *world)
{
    printf("%s %s: %u ranks, root %u, %zu elements of kind %d, op %d%s%s, segments of %zu bytes (ib %zu, "
           "ir %zu), %u trees, N %d M %d window %d, levels \"%s\", %d slots of %d bytes%s%s, eager %zu, "
           "jitter %llu%s%s, %u "
           "leaders, %s, "
           "modules",
           hp_collective_name(c->algorithm->collective), c->algorithm->name, rank_count, c->root, c->count,
           (int)c->kind, (int)c->op, c->commutative ? "" : " not commutative",
           c->in_place   ? " in place"
           : c->lockstep ? " in lock-step"
                         : "",
           c->setting.segment_bytes, c->setting.ib_segment_bytes, c->setting.ir_segment_bytes,
           c->setting.trees, (int)knobs->sends_per_child, (int)knobs->recvs_per_parent,
           (int)knobs->window_segments, knobs->levels, (int)knobs->slots, (int)knobs->slot_bytes,
           knobs->shared_memory ? "" : " not shared", knobs->read_peers ? "" : " not read",
           world->eager_bytes, (unsigned long long)world->jitter_ns, world->shuffle ? ", shuffled" : "",
           world->software_matching ? ", software matching" : "", c->setting.leaders,
           hp_inter_node_name(c->setting.inter_node));
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        printf(" %s", hp_module_name((hp_module_id_t)c->setting.modules.module[level]));
    printf(", shapes");
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        printf(" %s", hp_shape_info(c->setting.shapes.shape[level])->name);
    printf("; nodes");
    for (uint32_t rank = 0; rank < rank_count && rank < 40; rank++)
        printf(" %llu", (unsigned long long)world->table[rank].id[HP_LEVEL_NODE]);
    printf("\n");
}
