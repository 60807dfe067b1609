#include "topo_tree/network.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hp_network_init(hp_network_t *network)
{
    *network = (hp_network_t){.inside = {.rate = INFINITY}};
}

void hp_network_fini(hp_network_t *network)
{
    for (uint32_t i = 0; i < network->node_count; i++)
        free(network->nodes[i].name);
    free(network->nodes);
    free(network->machines);
    free(network->names);
    hp_network_init(network);
}

/* ---- building ---- */

static bool grow(void **entries, uint32_t count, uint32_t *room, size_t bytes)
{
    if (count < *room)
        return true;
    const uint32_t wanted = *room ? 2 * *room : 16;
    void *more = realloc(*entries, wanted * bytes);
    if (!more)
        return false;
    *entries = more;
    *room = wanted;
    return true;
}

/* Where the name is in the table, or would be: FNV-1a (G. Fowler, L. C. Noll, K.-P. Vo), then the next free place. */
static uint32_t place_of(const hp_network_t *network, const char *name)
{
    uint32_t hash = 2166136261u;

    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    for (uint32_t place = hash & (network->name_room - 1);; place = (place + 1) & (network->name_room - 1)) {
        const uint32_t entry = network->names[place];
        if (entry == 0 || strcmp(network->nodes[entry - 1].name, name) == 0)
            return place;
    }
}

/* Room for one more name, half of the table stays free. */
static bool grow_names(hp_network_t *network)
{
    const uint32_t room = network->name_room ? 2 * network->name_room : 64;

    if (2 * network->node_count + 2 < network->name_room)
        return true;
    uint32_t *names = calloc(room, sizeof *names);
    if (!names)
        return false;
    free(network->names);
    network->names = names;
    network->name_room = room;
    for (uint32_t i = 0; i < network->node_count; i++)
        names[place_of(network, network->nodes[i].name)] = i + 1;
    return true;
}

int32_t hp_network_add(hp_network_t *network, const char *name, uint32_t ranks)
{
    const uint32_t node = network->node_count;

    if (node >= HP_NETWORK_NODES_MAX ||
        !grow((void **)&network->nodes, node, &network->node_room, sizeof *network->nodes))
        return -1;
    if (ranks > 0 && !grow((void **)&network->machines, network->machine_count, &network->machine_room,
                           sizeof *network->machines))
        return -1;
    if (!grow_names(network))
        return -1;
    char *own = strdup(name);
    if (!own)
        return -1;
    network->nodes[node] = (hp_network_node_t){
        .name = own, .machine = -1, .ranks = ranks, .parent = -1, .part = node, .part_nodes = 1};
    network->names[place_of(network, name)] = ++network->node_count;
    if (ranks > 0) {
        network->nodes[node].machine = (int32_t)network->machine_count;
        network->machines[network->machine_count++] = node;
    }
    return (int32_t)node;
}

static bool is_speed(hp_network_speed_t speed)
{
    return speed.rate > 0 && speed.latency_us >= 0 && speed.latency_us < INFINITY;
}

static uint32_t part_of(hp_network_node_t *nodes, uint32_t node)
{
    while (nodes[node].part != node)
        node = nodes[node].part = nodes[nodes[node].part].part;
    return node;
}

/* Makes node the top of its part: the links on the way to the old top change sides. */
static void make_top(hp_network_node_t *nodes, uint32_t node)
{
    int32_t at = (int32_t)node, below = -1;
    hp_network_speed_t up = {0}, down = {0};

    while (at >= 0) {
        hp_network_node_t *here = &nodes[at];
        const hp_network_node_t old = *here;
        here->parent = below;
        here->up = up;
        here->down = down;
        up = old.down;
        down = old.up;
        below = at;
        at = old.parent;
    }
}

hp_status_t hp_network_connect(hp_network_t *network, uint32_t a, uint32_t b, hp_network_speed_t to,
                               hp_network_speed_t from)
{
    hp_network_node_t *nodes = network->nodes;
    const bool both = nodes[a].machine >= 0 && nodes[b].machine >= 0;

    if (!is_speed(to) || !is_speed(from) || both || part_of(nodes, a) == part_of(nodes, b) ||
        (nodes[a].machine >= 0 && nodes[a].links > 0) || (nodes[b].machine >= 0 && nodes[b].links > 0))
        return HP_ERR_ARG;
    /* The smaller part goes below the other. */
    const bool swap =
        nodes[part_of(nodes, a)].part_nodes < nodes[part_of(nodes, b)].part_nodes || nodes[a].machine >= 0;
    const uint32_t above = swap ? b : a, below = swap ? a : b;
    make_top(nodes, below);
    nodes[below].parent = (int32_t)above;
    nodes[below].up = swap ? to : from;
    nodes[below].down = swap ? from : to;
    nodes[part_of(nodes, above)].part_nodes += nodes[part_of(nodes, below)].part_nodes;
    nodes[part_of(nodes, below)].part = part_of(nodes, above);
    nodes[a].links++;
    nodes[b].links++;
    return HP_OK;
}

/* Nodes above which all are counted already stop the walk, so that each is visited twice at most. */
static void count_depth(hp_network_node_t *nodes, uint32_t node)
{
    uint32_t way = 0, depth;
    int32_t at = (int32_t)node;

    for (; nodes[at].parent >= 0 && nodes[at].depth == 0; at = nodes[at].parent)
        way++;
    depth = nodes[at].depth + way;
    for (at = (int32_t)node; nodes[at].parent >= 0 && nodes[at].depth == 0; at = nodes[at].parent)
        nodes[at].depth = depth--;
}

hp_network_fault_t hp_network_finish(hp_network_t *network, uint32_t *node)
{
    hp_network_node_t *nodes = network->nodes;

    if (network->machine_count == 0)
        return HP_NETWORK_EMPTY;
    for (uint32_t i = 0; i < network->node_count; i++) {
        *node = i;
        if (part_of(nodes, i) != part_of(nodes, 0))
            return HP_NETWORK_PARTS;
    }
    for (uint32_t i = 0; i < network->node_count; i++) {
        *node = i;
        if (nodes[i].machine < 0 && nodes[i].links < 2 && network->node_count > 2)
            return HP_NETWORK_DEAD_END;
    }
    for (uint32_t i = 0; i < network->node_count; i++)
        count_depth(nodes, i);
    return HP_NETWORK_WHOLE;
}

hp_status_t hp_network_flat(hp_network_t *network, uint32_t machines, uint32_t ranks,
                            hp_network_speed_t speed)
{
    const hp_network_speed_t half = {speed.rate, speed.latency_us / 2};
    const int32_t center = hp_network_add(network, "switch", 0);
    uint32_t node;

    if (center < 0)
        return HP_ERR_NO_MEM;
    for (uint32_t i = 0; i < machines; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%u", i);
        const int32_t machine = hp_network_add(network, name, ranks);
        if (machine < 0)
            return HP_ERR_NO_MEM;
        if (hp_network_connect(network, (uint32_t)machine, (uint32_t)center, half, half) != HP_OK)
            return HP_ERR_ARG;
    }
    return hp_network_finish(network, &node) == HP_NETWORK_WHOLE ? HP_OK : HP_ERR_ARG;
}

/* ---- asking ---- */

int32_t hp_network_node(const hp_network_t *network, const char *name)
{
    return network->name_room ? (int32_t)network->names[place_of(network, name)] - 1 : -1;
}

int32_t hp_network_machine(const hp_network_t *network, const char *host)
{
    const size_t length = strcspn(host, ".");
    const int32_t node = hp_network_node(network, host);

    if (node >= 0)
        return network->nodes[node].machine;
    for (uint32_t i = 0; i < network->machine_count; i++) {
        const char *name = network->nodes[network->machines[i]].name;
        if (strcspn(name, ".") == length && strncmp(name, host, length) == 0)
            return (int32_t)i;
    }
    return -1;
}

static uint64_t room_of(const hp_network_t *network, uint32_t machine)
{
    return network->nodes[network->machines[machine]].ranks;
}

void hp_network_place(const hp_network_t *network, uint32_t ranks, hp_network_order_t order,
                      uint32_t *machines)
{
    uint64_t room = 0;
    uint32_t rank = 0;

    for (uint32_t m = 0; m < network->machine_count; m++)
        room += room_of(network, m);
    const uint64_t multiple = (ranks + room - 1) / room;
    if (order == HP_NETWORK_BLOCK) {
        for (uint32_t m = 0; m < network->machine_count; m++)
            for (uint64_t i = 0; i < multiple * room_of(network, m) && rank < ranks; i++)
                machines[rank++] = m;
        return;
    }
    for (uint64_t turn = 0; rank < ranks; turn++)
        for (uint32_t m = 0; m < network->machine_count && rank < ranks; m++)
            if (turn < multiple * room_of(network, m))
                machines[rank++] = m;
}

/* Cable i leads from node i up (2 i) and down to it (2 i + 1); then the insides of the machines. */
uint32_t hp_network_links(const hp_network_t *network)
{
    return 2 * network->node_count + network->machine_count;
}

hp_network_link_t hp_network_link(const hp_network_t *network, uint32_t link)
{
    const hp_network_node_t *nodes = network->nodes, *node;

    if (link >= 2 * network->node_count) {
        node = &nodes[network->machines[link - 2 * network->node_count]];
        return (hp_network_link_t){node->name, node->name, network->inside};
    }
    node = &nodes[link / 2];
    const char *above = node->parent >= 0 ? nodes[node->parent].name : node->name;
    return link % 2 == 0 ? (hp_network_link_t){node->name, above, node->up}
                         : (hp_network_link_t){above, node->name, node->down};
}

uint32_t hp_network_path_most(const hp_network_t *network)
{
    uint32_t deepest = 1;
    for (uint32_t i = 0; i < network->node_count; i++)
        if (network->nodes[i].depth > deepest)
            deepest = network->nodes[i].depth;
    return 2 * deepest;
}

uint32_t hp_network_path(const hp_network_t *network, uint32_t from, uint32_t to, uint32_t *links)
{
    const hp_network_node_t *nodes = network->nodes;
    uint32_t a = network->machines[from], b = network->machines[to], up = 0, down = 0;

    if (from == to) {
        links[0] = 2 * network->node_count + from;
        return 1;
    }
    for (uint32_t x = a, y = b; x != y;) { /* how far up they meet */
        if (nodes[x].depth >= nodes[y].depth) {
            links[up++] = 2 * x;
            x = (uint32_t)nodes[x].parent;
        } else {
            down++;
            y = (uint32_t)nodes[y].parent;
        }
    }
    for (uint32_t i = down; i-- > 0; b = (uint32_t)nodes[b].parent)
        links[up + i] = 2 * b + 1;
    return up + down;
}
