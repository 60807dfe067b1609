/* locality: the tuple of one process, read with hwloc or made up from a synthetic description.
 *
 * Threads: each call loads and frees a topology of its own. Ownership: the caller's structures. */
#include "topo_tree/locality.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/hash.h"
#include "topo_tree/hwloc_load.h"
#include "topo_tree/items.h"

static uint64_t known(uint64_t hash)
{
    return hash == HP_ID_UNKNOWN ? 0 : hash;
}

uint64_t hp_locality_id_of(const char *name, size_t bytes)
{
    return known(hp_hash_add(HP_HASH_BASIS, name, bytes));
}

uint64_t hp_locality_node_id(void)
{
    /* Linux host names have at most 64 characters, a boot id has 36 and a newline. Of the two what cannot be
     * read counts as empty: the other one still tells hosts apart. */
    char host[256] = "", boot[64] = "";
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    size_t boot_bytes = 0;
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file) {
        boot_bytes = fread(boot, 1, sizeof boot, file);
        fclose(file);
    }
    /* The terminator of the host name is hashed too, so that no host name runs into the boot id. */
    uint64_t hash = hp_hash_add(HP_HASH_BASIS, host, strlen(host) + 1);
    hash = hp_hash_add(hash, boot, boot_bytes);
    return known(hash);
}

/* Loads the machine with no more detail than the levels need: I/O discovery alone takes longer than all the
 * rest. PUs and NUMA nodes are always kept. Dies and groups are no levels, but a NUMA node hangs from them
 * where it is a part of a package: without them hwloc would give it the PUs of the whole package. */
hwloc_topology_t hp_hwloc_load(const char *xml_path)
{
    static const struct {
        hwloc_obj_type_t type;
        enum hwloc_type_filter_e filter;
    } kept[] = {
        {HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL},
        {HWLOC_OBJ_DIE, HWLOC_TYPE_FILTER_KEEP_STRUCTURE},
        {HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE},
        {HWLOC_OBJ_L3CACHE, HWLOC_TYPE_FILTER_KEEP_ALL},
        {HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL},
    };
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return NULL;
    bool ok = xml_path == NULL || hwloc_topology_set_xml(topology, xml_path) == 0;
    /* What Linux tells is complete. This component adds what nobody here asks for, by moving the thread to each
     * processor in turn: milliseconds, and many more where the ranks of a node all do so at once. */
    (void)hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                        "x86"); /* or has none */
    ok = ok && hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE) == 0;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        ok = ok && hwloc_topology_set_type_filter(topology, kept[i].type, kept[i].filter) == 0;
    /* The whole machine, not what a cgroup leaves of it: under a launcher that gives each process a cgroup of
     * its own, every process would otherwise see its own package as number 0. */
    ok = ok && hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) == 0;
    ok = ok && hwloc_topology_load(topology) == 0;
    if (ok)
        return topology;
    hwloc_topology_destroy(topology);
    return NULL;
}

/* The PUs that this process may run on; false when cpuset names none of this machine. */
static bool read_binding(hwloc_topology_t topology, bool own_machine, const char *cpuset,
                         hwloc_bitmap_t binding)
{
    hwloc_const_cpuset_t machine = hwloc_topology_get_topology_cpuset(topology);
    if (cpuset) {
        if (hwloc_bitmap_list_sscanf(binding, cpuset) != 0)
            return false;
        hwloc_bitmap_and(binding, binding, machine);
        return !hwloc_bitmap_iszero(binding);
    }
    /* The calling thread and not the process: helper threads that the MPI or a tool has started are often
     * unbound. */
    bool bound = own_machine && hwloc_get_cpubind(topology, binding, HWLOC_CPUBIND_THREAD) == 0;
    if (bound) {
        hwloc_bitmap_and(binding, binding, machine);
        bound = !hwloc_bitmap_iszero(binding);
    }
    return bound || hwloc_bitmap_copy(binding, machine) == 0;
}

/* The object of that type which covers the whole binding, or NULL. covering is the innermost object that
 * does. */
static hwloc_obj_t find_covering(hwloc_topology_t topology, hwloc_obj_t covering, hwloc_obj_type_t type)
{
    return covering->type == type ? covering : hwloc_get_ancestor_obj_by_type(topology, type, covering);
}

/* NUMA nodes hang beside the tree of CPU objects and may cover each other (high-bandwidth memory beside DRAM,
 * memory of the package beside memory of a part of it): the locality is that of the one with the fewest PUs.
 */
static hwloc_obj_t find_numa(hwloc_topology_t topology, hwloc_const_bitmap_t binding)
{
    hwloc_obj_t best = NULL, numa = NULL;
    while ((numa = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, numa)) != NULL) {
        if (!hwloc_bitmap_isincluded(binding, numa->cpuset))
            continue;
        if (best == NULL || hwloc_bitmap_weight(numa->cpuset) < hwloc_bitmap_weight(best->cpuset))
            best = numa;
    }
    return best;
}

/* May this process run on all processors of the machine, of which there are several? */
static bool is_bound_nowhere(void)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    hp_cores_t cores;

    hp_cores_read(&cores);
    return processors > 1 && cores.count >= (unsigned long)processors;
}

hp_status_t hp_locality_read(const char *xml_path, const char *cpuset, hp_locality_t *out)
{
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        out->id[level] = HP_ID_UNKNOWN;
    out->id[HP_LEVEL_NODE] = hp_locality_node_id();
    out->cores = (hp_cores_t){0};
    /* A process that may be anywhere on its node has no place there. hwloc is not asked: it reads hundreds of files, while
     * all ranks of the node do so. */
    if (xml_path == NULL && cpuset == NULL && is_bound_nowhere())
        return HP_OK;

    hp_status_t status = HP_ERR_TOPOLOGY;
    hwloc_topology_t topology = hp_hwloc_load(xml_path);
    if (topology == NULL)
        return status;
    hwloc_bitmap_t binding = hwloc_bitmap_alloc();
    if (binding == NULL) {
        status = HP_ERR_NO_MEM;
        goto destroy_topology;
    }
    if (!read_binding(topology, xml_path == NULL, cpuset, binding))
        goto free_binding;
    hwloc_obj_t covering = hwloc_get_obj_covering_cpuset(topology, binding);
    if (covering == NULL)
        goto free_binding;

    hwloc_obj_t package = find_covering(topology, covering, HWLOC_OBJ_PACKAGE);
    hwloc_obj_t l3 = find_covering(topology, covering, HWLOC_OBJ_L3CACHE);
    hwloc_obj_t numa = find_numa(topology, binding);
    if (package)
        out->id[HP_LEVEL_PACKAGE] = package->logical_index;
    if (numa)
        out->id[HP_LEVEL_NUMA] = numa->logical_index;
    if (l3)
        out->id[HP_LEVEL_L3] = l3->logical_index;
    /* A machine without core objects (some virtual ones) has bare PUs: one PU is then as good as a core. */
    if (find_covering(topology, covering, HWLOC_OBJ_CORE) || hwloc_bitmap_weight(binding) == 1)
        out->id[HP_LEVEL_CORE] = (uint64_t)hwloc_bitmap_first(binding);
    status = HP_OK;

free_binding:
    hwloc_bitmap_free(binding);
destroy_topology:
    hwloc_topology_destroy(topology);
    return status;
}

uint32_t hp_locality_cores(const hp_locality_t *table, const uint32_t *ranks, uint32_t count)
{
    uint64_t sum = 0;
    uint32_t limit = UINT32_MAX;

    for (uint32_t i = 0; i < count; i++) {
        const hp_cores_t *cores = &table[ranks[i]].cores;
        uint32_t before = 0;
        if (cores->count == 0)
            return 0;
        while (before < i && table[ranks[before]].cores.mask_id != cores->mask_id)
            before++;
        sum += before == i ? cores->count : 0;
        limit = cores->limit < limit ? cores->limit : limit;
    }
    return sum < limit ? (uint32_t)sum : limit;
}

bool hp_locality_is_crowded(const hp_locality_t *table, const uint32_t *ranks, uint32_t count,
                            uint32_t together)
{
    if (count > together)
        return together > 0;
    for (uint32_t i = 0; i < count; i++)
        if (hp_cores_are_crowded(&table[ranks[i]].cores))
            return true;
    return false;
}

/* More than any machine has of anything. */
#define MAX_FACTOR (1u << 20)

/* Reads 1..MAX_FACTOR, digits only; 0 when it is not that. */
static uint32_t read_factor(const char *digits, size_t count)
{
    uint32_t value = 0;
    for (size_t i = 0; i < count; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return 0;
        value = value * 10 + (uint32_t)(digits[i] - '0');
        if (value > MAX_FACTOR)
            return 0;
    }
    return value;
}

hp_status_t hp_synthetic_parse(const char *text, hp_synthetic_t *out, char *error, unsigned error_bytes)
{
    hp_items_t items = {
        .cursor = text, .accepted = "a number from 1 to 1048576", .error = error, .error_bytes = error_bytes};
    hp_synthetic_t machine = {{0}};
    hp_item_t item;
    hp_status_t status;
    uint64_t total = 1;
    while ((status = hp_items_next(&items, &item)) == HP_OK) {
        if (items.seen_mask >> item.level > 1) {
            snprintf(error, error_bytes,
                     "level '%s' stands after a level inside it: the order is node, package, numa, l3, core",
                     hp_level_name(item.level));
            return HP_ERR_ARG;
        }
        uint32_t factor = read_factor(item.value, item.value_bytes);
        if (factor == 0)
            return hp_items_refuse_value(&items, &item);
        machine.count[item.level] = factor;
        total *= factor;
        if (total > INT32_MAX) {
            snprintf(error, error_bytes, "the machine is too large: accepted are at most %d cores",
                     INT32_MAX);
            return HP_ERR_ARG;
        }
    }
    if (status != HP_ERR_NOT_FOUND)
        return status;
    if (items.seen_mask == 0) {
        snprintf(error, error_bytes, "no level is named: write for example \"node:2 package:2 core:4\"");
        return HP_ERR_ARG;
    }
    *out = machine;
    return HP_OK;
}

static uint32_t factor_of(const hp_synthetic_t *machine, unsigned level)
{
    return machine->count[level] ? machine->count[level] : 1;
}

uint32_t hp_synthetic_cores(const hp_synthetic_t *machine)
{
    uint32_t cores = 1; /* hp_synthetic_parse has seen to it that the product fits */
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        cores *= factor_of(machine, level);
    return cores;
}

void hp_synthetic_locate(const hp_synthetic_t *machine, uint32_t world_rank, hp_locality_t *out)
{
    uint64_t cores_per_node = 1;
    for (unsigned level = HP_LEVEL_PACKAGE; level < HP_LEVEL_COUNT; level++)
        cores_per_node *= factor_of(machine, level);
    uint64_t slot = world_rank % (factor_of(machine, HP_LEVEL_NODE) * cores_per_node);
    out->id[HP_LEVEL_NODE] = slot / cores_per_node;
    out->cores = (hp_cores_t){0};

    /* Numbered through the whole node, as hwloc's logical indexes are. */
    uint64_t unit_cores = cores_per_node;
    for (unsigned level = HP_LEVEL_PACKAGE; level < HP_LEVEL_COUNT; level++) {
        unit_cores /= factor_of(machine, level);
        out->id[level] = machine->count[level] ? slot % cores_per_node / unit_cores : HP_ID_UNKNOWN;
    }
}
