#include "topo_tree/network/placement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/least.h"

/* ---- orders ---- */

static const char *const words[] = {
#define X(id, word, text) #word,
    HP_PLACEMENT_ORDER_TABLE(X)
#undef X
};

static const char *const texts[] = {
#define X(id, word, text) text,
    HP_PLACEMENT_ORDER_TABLE(X)
#undef X
};

hp_placement_order_t hp_placement_order_find(const char *word)
{
    unsigned i = 0;
    while (i < HP_PLACEMENT_ORDERS && strcmp(word, words[i]) != 0)
        i++;
    return (hp_placement_order_t)i;
}

const char *hp_placement_order_word(hp_placement_order_t order)
{
    return words[order];
}

const char *hp_placement_order_text(hp_placement_order_t order)
{
    return texts[order];
}

typedef struct {
    uint32_t place, parent, machine; /* its place on its switch */
} laid_t;

static int by_place(const void *a, const void *b)
{
    const laid_t *x = a, *y = b;

    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->parent < y->parent ? -1 : x->parent > y->parent;
}

/* The machines, one of each switch in turns. */
static void sort_over_switches(const hp_network_t *network, laid_t *laid, uint32_t *on_switch)
{
    for (uint32_t m = 0; m < network->machine_count; m++) {
        const int32_t parent = network->nodes[network->machines[m]].parent;
        const uint32_t at = parent >= 0 ? (uint32_t)parent : 0;
        laid[m] = (laid_t){on_switch[at]++, at, m};
    }
    qsort(laid, network->machine_count, sizeof *laid, by_place);
}

static uint64_t ranks_of(const hp_network_t *network, uint32_t machine)
{
    return network->nodes[network->machines[machine]].ranks;
}

static hp_status_t lay_over_switches(const hp_network_t *network, uint32_t ranks, uint32_t *machines)
{
    laid_t *laid = malloc(network->machine_count * sizeof *laid);
    uint32_t *on_switch = calloc(network->node_count, sizeof *on_switch), rank = 0;
    const bool has_memory = laid && on_switch;
    uint64_t room = 0;

    if (has_memory)
        sort_over_switches(network, laid, on_switch);
    for (uint32_t m = 0; m < network->machine_count; m++)
        room += ranks_of(network, m);
    const uint64_t multiple = (ranks + room - 1) / room;
    for (uint64_t turn = 0; rank < ranks && has_memory; turn++)
        for (uint32_t m = 0; m < network->machine_count && rank < ranks; m++)
            if (turn < multiple * ranks_of(network, laid[m].machine))
                machines[rank++] = laid[m].machine;
    free(laid);
    free(on_switch);
    return has_memory ? HP_OK : HP_ERR_NO_MEM;
}

hp_status_t hp_placement_lay(const hp_network_t *network, uint32_t ranks, hp_placement_order_t order,
                             uint32_t *machines)
{
    if (order == HP_PLACEMENT_OVER_SWITCHES)
        return lay_over_switches(network, ranks, machines);
    hp_network_place(network, ranks, order == HP_PLACEMENT_BLOCK ? HP_NETWORK_BLOCK : HP_NETWORK_ROUND_ROBIN,
                     machines);
    return HP_OK;
}

/* ---- the walk ---- */

static bool is_machine(const hp_network_t *network, uint32_t node)
{
    return network->nodes[node].machine >= 0;
}

/* The nodes below each node, machines first, each kind in the order of the network: next[i] follows i. */
static void list_below(const hp_network_t *network, int32_t *first, int32_t *next)
{
    for (uint32_t i = 0; i < network->node_count; i++)
        first[i] = -1;
    for (int machines = 0; machines < 2; machines++)
        for (uint32_t i = network->node_count; i-- > 0;) {
            const int32_t parent = network->nodes[i].parent;
            if (parent < 0 || is_machine(network, i) != (bool)machines)
                continue;
            next[i] = first[parent];
            first[parent] = (int32_t)i;
        }
}

static uint32_t top_of(const hp_network_t *network)
{
    uint32_t top = 0;
    while (network->nodes[top].parent >= 0)
        top++;
    return top;
}

double hp_placement_rate(const hp_placement_t *placement)
{
    const hp_network_t *network = placement->network;
    double rate = INFINITY;

    for (uint32_t i = 0; i < placement->count; i++) {
        const hp_network_node_t *machine = &network->nodes[network->machines[placement->machines[i]]];
        rate = hp_least_double(rate, hp_least_double(machine->up.rate, machine->down.rate));
    }
    return rate;
}

hp_status_t hp_network_walk(const hp_network_t *network, uint32_t *numbers)
{
    int32_t *first = malloc(2 * (size_t)network->node_count * sizeof *first);
    int32_t *next = first ? first + network->node_count : NULL;
    uint32_t number = 0;

    if (!first)
        return HP_ERR_NO_MEM;
    list_below(network, first, next);
    const int32_t top = (int32_t)top_of(network);
    next[top] = -1;
    for (int32_t at = top; at >= 0;) {
        numbers[at] = number++;
        if (first[at] >= 0) {
            at = first[at];
            continue;
        }
        while (at >= 0 && next[at] < 0)
            at = network->nodes[at].parent;
        at = at >= 0 ? next[at] : -1;
    }
    free(first);
    return HP_OK;
}

/* ---- traits ---- */

/* Of a switch: the hosts on it, and the rates of all hosts below it. */
typedef struct {
    uint32_t hosts;
    double rate;
} below_t;

hp_status_t hp_network_traits(const hp_network_t *network, hp_network_traits_t *traits)
{
    below_t *below = calloc(network->node_count, sizeof *below);
    double total = 0;

    if (!below)
        return HP_ERR_NO_MEM;
    *traits = (hp_network_traits_t){.blocking = 1};
    for (uint32_t m = 0; m < network->machine_count; m++) {
        const hp_network_node_t *host = &network->nodes[network->machines[m]];
        const double rate = host->parent >= 0 && isfinite(host->up.rate) ? host->up.rate : 0;
        if (host->parent >= 0)
            below[host->parent].hosts++;
        for (int32_t at = host->parent; at >= 0; at = network->nodes[at].parent)
            below[at].rate += rate;
        total += rate;
    }
    for (uint32_t i = 0; i < network->node_count; i++) {
        const hp_network_node_t *node = &network->nodes[i];
        const double carries = hp_least_double(node->up.rate, node->down.rate);
        if (below[i].hosts > traits->hosts_per_switch)
            traits->hosts_per_switch = below[i].hosts;
        if (node->parent < 0 || node->machine >= 0 || !isfinite(carries))
            continue;
        const double blocking = hp_least_double(below[i].rate, total - below[i].rate) / carries;
        if (blocking > traits->blocking)
            traits->blocking = blocking;
    }
    free(below);
    return HP_OK;
}

/* ---- the fingerprint ---- */

/* A switch is told by how many nodes are before its parent, a machine by its name, too: machines are what ranks are
 * matched to. */
const char *hp_network_fingerprint(const hp_network_t *network, char *text, size_t text_bytes)
{
    uint64_t hash = HP_HASH_BASIS;
    uint32_t switches = 0;

    for (uint32_t i = 0; i < network->node_count; i++) {
        const hp_network_node_t *node = &network->nodes[i];
        const bool machine = node->machine >= 0;
        switches += !machine;
        hash = hp_hash_add(hash, &node->parent, sizeof node->parent);
        hash = hp_hash_add(hash, &node->up.rate, sizeof node->up.rate);
        hash = hp_hash_add(hash, &node->down.rate, sizeof node->down.rate);
        if (machine)
            hash = hp_hash_add(hash, node->name, strlen(node->name));
    }
    snprintf(text, text_bytes, "tree-%uhosts-%uswitches-%08x", network->machine_count, switches,
             (unsigned)(hash ^ hash >> 32));
    return text;
}
