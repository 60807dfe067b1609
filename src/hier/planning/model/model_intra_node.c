#include "hier/planning/model/model_intra_node.h"

#include "base/least.h"
#include "hier/collectives/flags.h"
#include "hier/planning/model/model_inter_node.h"

/* A system call that copies from or to another process's memory takes so much longer than memcpy, and for
 * each page, which is looked up and pinned: 8 bytes 0.9 us, 256 KiB 7.7 us (Xeon, Linux 6.18, a virtual
 * machine). */
static const double pull_us = 0.9, pull_page_us = 0.1, page_bytes = 4096;

double hp_model_node_rate(const hp_probes_t *probes, uint32_t ranks)
{
    const double all = probes->copy_rate * hp_least_double(ranks, probes->cores);
    return probes->node_copy_rate > 0 ? hp_least_double(probes->node_copy_rate, all) : all;
}

/* A copy while so many ranks copy. */
static double copy_us(const hp_probes_t *probes, uint32_t ranks, double bytes)
{
    return bytes / hp_least_double(probes->copy_rate, hp_model_node_rate(probes, ranks) / ranks);
}

static double pull_call_us(double bytes)
{
    return pull_us + bytes / page_bytes * pull_page_us;
}

/* One rank's flag reaches the others: where they share cores they must be let run first. */
static double hand_over_us(const hp_probes_t *probes, uint32_t ranks)
{
    return probes->flag_us * hp_most_double(1, (ranks - 1) / probes->cores);
}

/* Fan-in goes along the tree; at fan-out all read one slot. */
static hp_intra_node_cost_t by_shm(const hp_probes_t *probes, uint32_t ranks, const hp_model_tree_t *tree,
                                   bool up, double bytes)
{
    const double hand_over = hand_over_us(probes, ranks), others = ranks - 1,
                 reduce = bytes / probes->reduce_rate;
    const double member = copy_us(probes, ranks - 1, bytes);
    const double leader = up ? tree->root * reduce : bytes / probes->copy_rate;
    const double way = up ? tree->hops * hand_over + tree->gaps * reduce : hand_over + leader;
    const double copies = up ? 2 * others : ranks;

    return (hp_intra_node_cost_t){.fill_us = way + member,
                                  .leader_us = leader,
                                  .member_us = hp_most_double(member, up ? tree->inner * reduce : 0),
                                  .bus_us = copies * bytes / hp_model_node_rate(probes, ranks)};
}

static hp_intra_node_cost_t by_single_copy(const hp_probes_t *probes, uint32_t ranks, bool up, bool everybody,
                                           double bytes)
{
    const double hand_over = hand_over_us(probes, ranks), others = ranks - 1, call = pull_call_us(bytes);
    const double one = copy_us(probes, everybody ? ranks : 1, bytes) + call;
    const double reduce = others * (one + bytes / probes->reduce_rate);
    const double bus = (up ? 2 : 1) * others * bytes / hp_model_node_rate(probes, ranks);
    hp_intra_node_cost_t cost = {.bus_us = bus};

    if (!everybody && up) {
        cost.leader_us = reduce;
        cost.fill_us = hand_over + reduce;
    } else if (!everybody) {
        cost.member_us = copy_us(probes, ranks - 1, bytes) + call;
        cost.fill_us = hand_over + cost.member_us;
    } else {
        const double work = up ? reduce + one : others * one; /* of one rank for its segment */
        cost.leader_us = cost.member_us = work / ranks;
        cost.fill_us = hand_over + (up ? work : one);
    }
    return cost;
}

/* Messages: the sender copies; all that are under way share the memory. */
static hp_intra_node_cost_t by_messages(const hp_probes_t *probes, uint32_t ranks,
                                        const hp_model_tree_t *tree, bool up, double bytes)
{
    const double copy = bytes / probes->copy_rate, reduce = up ? bytes / probes->reduce_rate : 0;
    const double bus = (ranks - 1) * bytes / hp_model_node_rate(probes, ranks);
    const double stream = hp_most_double(tree->hops * bytes / probes->inside_rate, tree->gaps * copy);

    return (hp_intra_node_cost_t){.fill_us = tree->hops * probes->inside_us + hp_most_double(stream, bus) +
                                             tree->gaps * reduce,
                                  .leader_us = tree->root * (copy + reduce),
                                  .member_us = copy + tree->inner * (copy + reduce),
                                  .bus_us = bus};
}

hp_intra_node_cost_t hp_model_intra_node(const hp_probes_t *probes, uint32_t ranks, hp_module_id_t module,
                                         hp_shape_t shape, bool up, bool everybody, double bytes)
{
    if (ranks < 2)
        return (hp_intra_node_cost_t){0};
    if (module == HP_MODULE_SINGLE_COPY)
        return by_single_copy(probes, ranks, up, everybody, bytes);
    /* What the host MPI does is not known: most have a binomial tree. */
    const hp_model_tree_t tree = hp_model_tree(module == HP_MODULE_NATIVE ? HP_SHAPE_BINOMIAL : shape, ranks);
    if (module == HP_MODULE_SHM)
        return by_shm(probes, ranks, &tree, up, bytes);
    return by_messages(probes, ranks, &tree, up, bytes);
}

/* Messages are a dissemination, as in most MPIs; flags are set for the leader, and by it. */
double hp_model_intra_node_barrier_us(const hp_probes_t *probes, uint32_t ranks, hp_module_id_t module)
{
    if (ranks < 2)
        return 0;
    return module == HP_MODULE_SHM || module == HP_MODULE_SINGLE_COPY
               ? 2 * hand_over_us(probes, ranks)
               : hp_model_log2(ranks) * probes->inside_us;
}

double hp_model_flags_us(const hp_probes_t *probes, uint32_t ranks, hp_collective_t collective, double bytes)
{
    const bool up = collective != HP_BCAST, down = collective != HP_REDUCE;
    const double write = copy_us(probes, ranks, bytes), reduce = (ranks - 1) * bytes / probes->reduce_rate;
    const double hand_over = hand_over_us(probes, ranks);

    if (up && down && hp_flags_exchange(ranks, (size_t)bytes)) /* the others' flags do not come all at once */
        return 2 * hand_over + write + reduce;
    return (up ? write + hand_over + reduce : 0) + (down ? write + hand_over + write : 0);
}

/* ---- collectives of blocks ---- */

/* Those who read at a time, and the blocks that one of them reads; blocks that one writes. */
typedef struct {
    uint32_t readers;
    double read, written;
} sharing_t;

static sharing_t sharing_of(hp_pattern_t pattern, uint32_t ranks)
{
    const double others = ranks - 1;

    switch (pattern) {
    case HP_PATTERN_GATHER:
        return (sharing_t){1, others, 1};
    case HP_PATTERN_SCATTER:
        return (sharing_t){ranks - 1, 1, others};
    case HP_PATTERN_ALLTOALL:
    case HP_PATTERN_REDUCE_SCATTER:
        return (sharing_t){ranks, others, others};
    default:
        return (sharing_t){ranks, others, 1};
    }
}

/* Where all wait for all the flags do not come all at once. */
static double flags_us(const hp_probes_t *probes, uint32_t ranks, hp_pattern_t pattern)
{
    const bool one_waits = hp_pattern_is(pattern, HP_PATTERN_ROOTED);
    return (one_waits ? 1 : 2) * hand_over_us(probes, ranks);
}

double hp_model_block_flags_us(const hp_probes_t *probes, uint32_t ranks, hp_pattern_t pattern, double bytes)
{
    const sharing_t sharing = sharing_of(pattern, ranks);
    const uint32_t writers = pattern == HP_PATTERN_SCATTER ? 1 : ranks;
    const bool reduces = hp_pattern_is(pattern, HP_PATTERN_REDUCES);
    const double read = reduces ? sharing.read * bytes / probes->reduce_rate
                                : copy_us(probes, sharing.readers, sharing.read * bytes);

    return flags_us(probes, ranks, pattern) + copy_us(probes, writers, sharing.written * bytes) + read;
}

/* In a gather members write, all at a time, in place of the root's reading. Nobody leaves while its memory is read. */
double hp_model_block_copies_us(const hp_probes_t *probes, uint32_t ranks, hp_pattern_t pattern, double bytes)
{
    const bool pushes = pattern == HP_PATTERN_GATHER;
    const sharing_t sharing = sharing_of(pattern, ranks);
    const double blocks = pushes ? 1 : sharing.read;
    const double reduce = hp_pattern_is(pattern, HP_PATTERN_REDUCES) ? bytes / probes->reduce_rate : 0;
    const double block_us =
        copy_us(probes, pushes ? ranks - 1 : sharing.readers, bytes) + pull_call_us(bytes);

    return flags_us(probes, ranks, pattern) + hand_over_us(probes, ranks) + blocks * (block_us + reduce);
}
