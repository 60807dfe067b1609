/* hwloc_load: a machine as hwloc knows it, with no more detail than localities and fingerprints need (locality.c).
 *
 * Threads: each call is self-contained. Ownership: the caller destroys what is returned. */
#ifndef HP_TOPO_TREE_HWLOC_LOAD_H
#define HP_TOPO_TREE_HWLOC_LOAD_H

#include <hwloc.h>

/* Of this machine, or as hwloc's XML file xml_path says (not NULL). NULL: hwloc fails. */
hwloc_topology_t hp_hwloc_load(const char *xml_path);

#endif
