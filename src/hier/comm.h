/* comm: what the library keeps per communicator: its hierarchy, its trees, its engine, its settings.
 *
 * Created inside the first collective that may be taken (PITFALLS 20), from the table of localities that the
 * ranks exchanged; destroyed when the user's communicator goes.
 * Threads: one collective at a time on a communicator (MPI's own rule), so no locks.
 * Ownership: hp_comm_create allocates; the transport is borrowed and must outlive the comm. */
#ifndef HP_HIER_COMM_H
#define HP_HIER_COMM_H

#include <stdbool.h>
#include <stdint.h>
#include "base/knobs.h"
#include "base/pool.h"
#include "event_engine/request.h"
#include "event_engine/wait.h"
#include "topo_tree/tree.h"

/* Trees remembered per communicator. A program that uses one or a few roots finds them all; more trees
 * than HP_FOREST_MAX are never used by one collective. */
enum { HP_TREE_CACHE = 32, HP_FOREST_MAX = 16 };

typedef struct {
    bool valid, flat;
    uint32_t root;
    hp_shapes_t shapes;
    hp_neighbors_t neighbors;
} hp_cached_tree_t;

typedef struct {
    uint32_t rank, size;
    hp_knobs_t knobs;          /* the job's, with this communicator's hints over them */
    hp_hierarchy_t *hierarchy; /* by topology */
    hp_hierarchy_t
        *rank_order; /* flat, for non-commutative reductions; NULL when hierarchy keeps rank order itself */
    hp_pool_t pool;
    hp_request_t *request;
    uint64_t sleep_after_ns; /* when waiting; by how crowded the node is */
    uint32_t sequence;       /* collectives started, for tags; the same on all ranks */
    hp_cached_tree_t trees[HP_TREE_CACHE];
    uint32_t next_tree;
} hp_comm_t;

/* table: size localities. knobs are copied. Returns HP_OK, HP_ERR_NO_MEM, HP_ERR_ARG. */
hp_status_t hp_comm_create(uint32_t rank, uint32_t size, const hp_locality_t *table, const hp_knobs_t *knobs,
                           hp_transport_t *transport, hp_comm_t **out);
void hp_comm_destroy(hp_comm_t *comm); /* NULL is allowed; no collective may be in execution */

/* This rank's neighbours in the tree for root; in_rank_order: a tree that reduces in rank order (root must be
 * 0). Cached. NULL when out of memory. Valid until HP_FOREST_MAX other trees have been asked for. */
const hp_neighbors_t *hp_comm_tree(hp_comm_t *comm, const hp_shapes_t *shapes, uint32_t root,
                                   bool in_rank_order);

/* The tag of a message of the current collective. channel: 0..7, separates the streams one collective has
 * between two ranks. Fits the 32767 that MPI guarantees for tags. */
uint32_t hp_comm_tag(const hp_comm_t *comm, uint32_t channel);

/* Progresses the communicator's request until it is done. */
hp_status_t hp_comm_wait(hp_comm_t *comm);

#endif
