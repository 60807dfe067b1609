#include "topo_tree/network/fabric.h"

#include <stdlib.h>
#include "base/grow.h"

void hp_fabric_init(hp_fabric_t *fabric)
{
    *fabric = (hp_fabric_t){.devices = NULL};
    hp_network_init(&fabric->ids);
}

void hp_fabric_fini(hp_fabric_t *fabric)
{
    for (uint32_t i = 0; i < fabric->ids.node_count; i++)
        free(fabric->devices[i].host);
    hp_network_fini(&fabric->ids);
    free(fabric->devices);
    free(fabric->cables);
}

int32_t hp_fabric_device(hp_fabric_t *fabric, const char *id, uint32_t line)
{
    const int32_t known = hp_network_node(&fabric->ids, id);
    const uint32_t count = fabric->ids.node_count;

    if (known >= 0)
        return known;
    if (!hp_grow(&fabric->devices, &fabric->device_room, count, sizeof *fabric->devices, 64))
        return -1;
    fabric->devices[count] = (hp_device_t){.line = line, .level = UINT32_MAX, .one_with = count};
    return hp_network_add(&fabric->ids, id, 0);
}

bool hp_fabric_add_cable(hp_fabric_t *fabric, hp_cable_t cable)
{
    if (!hp_grow(&fabric->cables, &fabric->cable_room, fabric->cable_count, sizeof *fabric->cables, 256))
        return false;
    fabric->cables[fabric->cable_count++] = cable;
    return true;
}

/* ---- is it whole ---- */

static const char *id_of(const hp_fabric_t *fabric, uint32_t device)
{
    return fabric->ids.nodes[device].name;
}

static int compare_cables(const void *left, const void *right)
{
    const hp_cable_t *a = left, *b = right;

    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* Cables from one device to another, in the sorted list; *first: the first of them. */
static uint32_t count_cables(const hp_fabric_t *fabric, uint32_t from, uint32_t to, const hp_cable_t **first)
{
    uint32_t low = 0, high = fabric->cable_count, count = 0;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const hp_cable_t *cable = &fabric->cables[middle];
        if (cable->from < from || (cable->from == from && cable->to < to))
            low = middle + 1;
        else
            high = middle;
    }
    *first = &fabric->cables[low];
    while (low + count < fabric->cable_count && (*first)[count].from == from && (*first)[count].to == to)
        count++;
    return count;
}

/* A dump that was cut off lacks sections, or ends of cables. */
static bool check_ends(hp_network_reader_t *reader, const hp_fabric_t *fabric)
{
    for (uint32_t i = 0; i < fabric->cable_count; i++) {
        const hp_cable_t *cable = &fabric->cables[i], *there, *back;
        if (i > 0 && cable->from == cable[-1].from && cable->to == cable[-1].to)
            continue;
        hp_network_place_at(reader, cable->line);
        if (fabric->devices[cable->to].kind == HP_DEVICE_UNKNOWN)
            return hp_network_refuse(reader, "\"%.40s\" has no section: expected the whole dump",
                                     id_of(fabric, cable->to));
        const uint32_t here = count_cables(fabric, cable->from, cable->to, &there);
        const uint32_t other = count_cables(fabric, cable->to, cable->from, &back);
        if (cable->from != cable->to && here != other)
            return hp_network_refuse(
                reader, "%u cables to \"%.40s\", in whose section they are %u: expected the whole dump", here,
                id_of(fabric, cable->to), other);
    }
    return true;
}

/* ---- switches that are one ---- */

static uint32_t stand_in(hp_device_t *devices, uint32_t device)
{
    while (devices[device].one_with != device)
        device = devices[device].one_with = devices[devices[device].one_with].one_with;
    return device;
}

static bool is_kind(const hp_fabric_t *fabric, uint32_t device, hp_device_kind_t kind)
{
    return fabric->devices[device].kind == kind;
}

/* One cable each from here on, between what a tree may have. */
static void keep_one_end(hp_fabric_t *fabric)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < fabric->cable_count; i++) {
        const hp_cable_t cable = fabric->cables[i];
        if (cable.from < cable.to && !is_kind(fabric, cable.from, HP_DEVICE_LEFT_OUT) &&
            !is_kind(fabric, cable.to, HP_DEVICE_LEFT_OUT))
            fabric->cables[count++] = cable;
    }
    fabric->cable_count = count;
}

/* The far end of a cable, seen from either. */
static const hp_device_t *ends_of(const hp_fabric_t *fabric, uint32_t cable, unsigned way, uint32_t *from,
                                  uint32_t *to)
{
    *from = way ? fabric->cables[cable].to : fabric->cables[cable].from;
    *to = way ? fabric->cables[cable].from : fabric->cables[cable].to;
    return &fabric->devices[*to];
}

/* No fabric has more stages; switches further from any host stay as they are. */
enum { LEVELS_MAX = 32 };

/* The level of every switch; returns how many levels there may be. */
static uint32_t find_levels(hp_fabric_t *fabric)
{
    uint32_t level = 0, from, to;
    bool found = true;

    for (uint32_t i = 0; i < 2 * fabric->cable_count; i++)
        if (ends_of(fabric, i / 2, i % 2, &from, &to)->kind == HP_DEVICE_HOST &&
            is_kind(fabric, from, HP_DEVICE_SWITCH))
            fabric->devices[from].level = 0;
    for (; found && level < LEVELS_MAX; level++) {
        found = false;
        for (uint32_t i = 0; i < 2 * fabric->cable_count; i++) {
            const hp_device_t *far = ends_of(fabric, i / 2, i % 2, &from, &to);
            if (far->kind != HP_DEVICE_SWITCH || far->level != UINT32_MAX ||
                fabric->devices[from].level != level)
                continue;
            fabric->devices[to].level = level + 1;
            found = true;
        }
    }
    return level;
}

/* Makes those of a level one that lead to the same switch below. above: for each device, scratch. */
static void join_level(hp_fabric_t *fabric, uint32_t level, uint32_t *above)
{
    uint32_t from, to;

    for (uint32_t i = 0; i < fabric->ids.node_count; i++)
        above[i] = UINT32_MAX;
    for (uint32_t i = 0; i < 2 * fabric->cable_count; i++) {
        if (ends_of(fabric, i / 2, i % 2, &from, &to)->level != level ||
            fabric->devices[from].level != level - 1)
            continue;
        const uint32_t below = stand_in(fabric->devices, from);
        if (above[below] == UINT32_MAX)
            above[below] = to;
        else
            fabric->devices[stand_in(fabric->devices, to)].one_with = stand_in(fabric->devices, above[below]);
    }
}

/* Cables of the same two ends become one. */
static void join_cables(hp_fabric_t *fabric)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < fabric->cable_count; i++) {
        hp_cable_t cable = fabric->cables[i];
        const uint32_t from = stand_in(fabric->devices, cable.from), to = stand_in(fabric->devices, cable.to);
        if (from == to || fabric->devices[cable.from].drops || fabric->devices[cable.to].drops)
            continue;
        cable.from = from < to ? from : to;
        cable.to = from < to ? to : from;
        fabric->cables[count++] = cable;
    }
    if (count > 0)
        qsort(fabric->cables, count, sizeof *fabric->cables, compare_cables);
    fabric->cable_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const hp_cable_t cable = fabric->cables[i];
        hp_cable_t *last = fabric->cable_count ? &fabric->cables[fabric->cable_count - 1] : NULL;
        if (last && last->from == cable.from && last->to == cable.to)
            last->rate += cable.rate;
        else
            fabric->cables[fabric->cable_count++] = cable;
    }
}

/* How many cables a device has, and the exclusive or of their numbers, which is the number of the last one left. */
typedef struct {
    uint32_t count, cables;
} ends_t;

/* Drops the device if it is a switch that leads to one other only, then that one if it does so now, and so on. */
static void drop_from(hp_fabric_t *fabric, ends_t *ends, uint32_t device)
{
    while (ends[device].count == 1 && is_kind(fabric, device, HP_DEVICE_SWITCH)) {
        const uint32_t last = ends[device].cables;
        const hp_cable_t *cable = &fabric->cables[last];
        const uint32_t other = cable->from == device ? cable->to : cable->from;
        if (!is_kind(fabric, other, HP_DEVICE_SWITCH))
            return;
        fabric->devices[device].drops = true;
        ends[device].count = 0;
        ends[other].count--;
        ends[other].cables ^= last;
        device = other;
    }
}

static bool drop_dead_ends(hp_fabric_t *fabric)
{
    ends_t *ends = calloc(fabric->ids.node_count + (size_t)1, sizeof *ends);

    for (uint32_t i = 0; ends && i < fabric->cable_count; i++)
        for (unsigned end = 0; end < 2; end++) {
            ends_t *of = &ends[end ? fabric->cables[i].to : fabric->cables[i].from];
            of->count++;
            of->cables ^= i;
        }
    for (uint32_t i = 0; ends && i < fabric->ids.node_count; i++)
        drop_from(fabric, ends, i);
    free(ends);
    return ends != NULL;
}

/* ---- the tree ---- */

static int32_t add_switch(hp_network_reader_t *reader, const hp_fabric_t *fabric, uint32_t device)
{
    reader->line = fabric->devices[device].line;
    hp_network_place_at(reader, reader->line);
    return hp_network_take_switch(reader, id_of(fabric, device), true);
}

static bool add_link(hp_network_reader_t *reader, const hp_fabric_t *fabric, const hp_cable_t *cable)
{
    const bool host_first = is_kind(fabric, cable->from, HP_DEVICE_HOST);
    const uint32_t below = host_first ? cable->from : cable->to, above = host_first ? cable->to : cable->from;
    const hp_network_speed_t speed = {.rate = cable->rate};
    const char *host = fabric->devices[below].host;

    hp_network_place_at(reader, cable->line);
    if (host && is_kind(fabric, above, HP_DEVICE_HOST))
        return hp_network_refuse(reader, "a cable from host \"%.40s\" to another: expected switches between",
                                 host);
    const int32_t node = add_switch(reader, fabric, above);
    if (node < 0)
        return false;
    if (!host) {
        const int32_t other = add_switch(reader, fabric, below);
        hp_network_place_at(reader, cable->line);
        return other >= 0 && hp_network_take_link(reader, (uint32_t)other, (uint32_t)node, speed, speed);
    }
    reader->line = cable->line;
    hp_network_place_at(reader, cable->line);
    if (hp_network_node(reader->network, host) >= 0)
        return hp_network_refuse(
            reader,
            "host \"%.40s\" is there already: expected adapters with a host's name, and one link each", host);
    return hp_network_take_host(reader, host, 1, (uint32_t)node, speed, speed);
}

static bool add_links(hp_network_reader_t *reader, const hp_fabric_t *fabric)
{
    for (uint32_t i = 0; i < fabric->cable_count; i++)
        if (!add_link(reader, fabric, &fabric->cables[i]))
            return false;
    return hp_network_take_all(reader);
}

bool hp_fabric_take(hp_network_reader_t *reader, hp_fabric_t *fabric)
{
    uint32_t *scratch = malloc((fabric->ids.node_count + (size_t)1) * sizeof *scratch);

    if (!scratch)
        return hp_network_no_memory(reader);
    if (fabric->cable_count > 0)
        qsort(fabric->cables, fabric->cable_count, sizeof *fabric->cables, compare_cables);
    bool taken = check_ends(reader, fabric);
    if (taken) {
        keep_one_end(fabric);
        join_cables(fabric);
        taken = drop_dead_ends(fabric);
        join_cables(fabric);
        const uint32_t levels = find_levels(fabric);
        for (uint32_t level = 1; level <= levels; level++)
            join_level(fabric, level, scratch);
        join_cables(fabric);
        taken = taken && drop_dead_ends(fabric);
        join_cables(fabric);
        taken = taken ? add_links(reader, fabric) : hp_network_no_memory(reader);
    }
    free(scratch);
    return taken;
}
