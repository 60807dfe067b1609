/* locality: where this process runs, as the tuple (node, package, numa, l3, core).
 *
 * Purpose: read the tuple with hwloc, or make it up from a synthetic description.
 * Threads: each call is self-contained; callable from any thread.
 * Ownership: the caller owns every structure passed in; nothing is kept between calls. */
#ifndef HP_TOPO_TREE_LOCALITY_H
#define HP_TOPO_TREE_LOCALITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cores.h"
#include "base/status.h"
#include "topo_tree/level.h"

/* The place of one process. Two processes are in the same group of a level when their ids agree on that
 * level and on all levels above it. HP_ID_UNKNOWN marks a level that is not known (unbound process, no such
 * object on this machine): unknown ids are equal to each other, so such a level does not split its group. */
#define HP_ID_UNKNOWN UINT64_MAX
typedef struct {
    uint64_t id[HP_LEVEL_COUNT];
    hp_cores_t cores; /* what it may run on; groups nothing */
} hp_locality_t;

/* The cores that these ranks of one node may use together; 0: not known of all of them. Ranks with the same mask
 * share it; different masks are taken to be disjoint, which is how launchers bind. A limit is taken to hold for all
 * of them together, as in a container that runs the whole job. */
uint32_t hp_locality_cores(const hp_locality_t *table, const uint32_t *ranks, uint32_t count);

/* Are there more ranks than cores where these ranks of one node run, counting all of the job that is known? together:
 * hp_locality_cores of them; where that is not known, they are not crowded. */
bool hp_locality_is_crowded(const hp_locality_t *table, const uint32_t *ranks, uint32_t count,
                            uint32_t together);

/* Identity of this host: a 64-bit hash (FNV-1a) of the host name and the kernel's boot id. Two containers or
 * UTS namespaces with different host names are different nodes even on one kernel. Never HP_ID_UNKNOWN. */
uint64_t hp_locality_node_id(void);

/* An id for whatever has this name: the same 64-bit hash. Never HP_ID_UNKNOWN. */
uint64_t hp_locality_id_of(const char *name, size_t bytes);

/* The tuple of the calling process, from hwloc and the current CPU binding of the calling thread.
 * xml_path: NULL for this machine, else an hwloc XML file to read the machine from (tests, hanpmpi_info);
 * cpuset:   NULL for the thread's own binding (with an XML file: unbound), else an hwloc list string of OS
 *           indexes of PUs, such as "0-3,8", to be taken as the binding.
 * A process of this machine that may run on all of several processors has no place but its node.
 * An object level counts as known only when one object of that type covers the whole binding: a process
 * bound to two packages has an unknown package. Where several NUMA nodes cover it (high-bandwidth memory
 * beside DRAM), the one with the fewest PUs counts. The ids are hwloc's logical indexes on the whole machine.
 * The core id is the OS index of the first PU of the binding when the binding lies inside one core, else
 * unknown. The node id is always that of this host: who reads several XML files numbers their hosts himself.
 * The cores are not filled in (hp_cores_read does that).
 *
 * Returns HP_OK; HP_ERR_TOPOLOGY when hwloc fails or cpuset names no PU of the machine, HP_ERR_NO_MEM (then
 * *out has the node id and all else unknown). */
hp_status_t hp_locality_read(const char *xml_path, const char *cpuset, hp_locality_t *out);

/* A synthetic machine, e.g. "node:2 package:2 core:4": factors per level, outermost first, each level at most
 * once, in the order of HP_LEVEL_TABLE, 1..1048576 each; "node" may be omitted (then 1).
 * Ranks fill the machine core by core; when there are more ranks than cores they wrap around to the first
 * core again. Levels not mentioned are unknown. */
typedef struct {
    uint32_t count[HP_LEVEL_COUNT]; /* 0 = level not mentioned */
} hp_synthetic_t;

/* Parses text. Returns HP_OK, or HP_ERR_ARG with a message (what is wrong and what is accepted) in error. */
hp_status_t hp_synthetic_parse(const char *text, hp_synthetic_t *out, char *error, unsigned error_bytes);

/* How many cores it has on all nodes. */
uint32_t hp_synthetic_cores(const hp_synthetic_t *machine);

/* The tuple of world_rank on the synthetic machine. */
void hp_synthetic_locate(const hp_synthetic_t *machine, uint32_t world_rank, hp_locality_t *out);

#endif
