/* probes_cache: what the probes found, in a file for the next run: one file a kind of machine and MPI.
 *
 *      { "format": 1, "library": "0.1.0", "machine": "x86_64-intel-xeon-1p-2c", "mpi": "openmpi",
 *        "probes": { "flag_us": 0.21, ... } }
 *
 * A file of another format or version of the library, one that is broken, and one with values that no machine
 * has are passed over, and replaced when there is something to write. Nothing here ends a run: what cannot be
 * read or written is said at level information; where the user named the directory that cannot be written, as a
 * warning. Threads: each call is self-contained; several processes may
 * write the same file, the last one's is there, whole. Ownership: nothing kept. */
#ifndef HP_HIER_PLANNING_MODEL_PROBES_CACHE_H
#define HP_HIER_PLANNING_MODEL_PROBES_CACHE_H

#include "base/cache.h"
#include "hier/comm/probes.h"

/* What the file has. false: there is none to be used, *out is left alone. */
bool hp_probes_cache_read(const hp_cache_t *cache, hp_probes_t *out);

/* Makes the directory if need be, and replaces the file at once. false: it could not. */
bool hp_probes_cache_write(const hp_cache_t *cache, const hp_probes_t *probes);

/* Calls `each` for every file of the machine in the directory, in the order of the MPIs' names, with what
 * can be used of it. Returns how many there were; -1: the directory cannot be read. */
typedef void (*hp_probes_cache_fn_t)(void *context, const hp_cache_t *cache, const hp_probes_t *probes);
int hp_probes_cache_each(const hp_cache_t *cache, hp_probes_cache_fn_t each, void *context);

#endif
