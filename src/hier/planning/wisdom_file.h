/* wisdom_file: findings (wisdom.h) in a file for the next run: one file a kind of machine and MPI.
 *
 *      { "format": 1, "library": "0.1.0", "machine": "x86_64-intel-xeon-1p-2c", "mpi": "open-mpi-v4.1.4", "findings": [
 *        { "collective": "bcast", "bin": 21, "nodes": 4, "ranks": [4, 4], "cores": 4, "slot_bytes": 65536,
 *          "shares_memory": true, "reads_peers": true, "between_us": 52.1, "between_rate": 29.8,
 *          "candidates": [["a61b...", 36012.5], ["0", 171000], ["77e0...", 40120.1], null],
 *          "chosen": 0, "second": 0, "day": 20780, "text": "han, chain, shm, 32 KiB" }, ... ] }
 *
 * A file of another format or version of the library, of another machine or MPI, or one that is broken is passed over as
 * a whole, with a line at level information, and replaced when there is something to write. Writers add to what is there:
 * they take turns by a lock on a file beside it, for a second at most, and one that does not get it leaves the file alone.
 * Threads: each call is self-contained; several processes may write the same file. Ownership: nothing kept. */
#ifndef HP_HIER_PLANNING_WISDOM_FILE_H
#define HP_HIER_PLANNING_WISDOM_FILE_H

#include "base/cache.h"
#include "hier/planning/wisdom.h"

/* The findings of the file, at most HP_FINDINGS_MAX. Returns how many; 0: there is no file to be used. */
size_t hp_wisdom_read(const hp_cache_t *cache, hp_finding_t *out);

/* The file has the news of the process's store (wisdom.h) from now on, and what it had for other places, collectives and
 * sizes; the oldest go. The store is that then. false: it could not. */
bool hp_wisdom_write(const hp_cache_t *cache);

/* A finding as in the file; NULL: no memory. */
struct json_t *hp_wisdom_json(const hp_finding_t *finding);

/* Removes the file. false: there is none, or it cannot be removed; errno says which. */
bool hp_wisdom_remove(const hp_cache_t *cache);

/* As hp_cache_each. */
int hp_wisdom_each(const hp_cache_t *cache, hp_cache_fn_t each, void *context);

#endif
