/* comm: what the library keeps per communicator: its hierarchy, its trees, its memory, its settings. Data only: it
 * starts no collective and chooses none.
 *
 * Created inside the first collective that may be taken (docs/pitfalls.md 20), from the table of localities that the
 * ranks exchanged; destroyed when the user's communicator goes.
 * Threads: one at a time; who calls sees to it (comm_state.h).
 * Ownership: hp_comm_create allocates; the transport is borrowed and must outlive the comm. What others hang on it,
 * executions and choices, its owner has them make and take back: hp_executions_create after hp_comm_create;
 * hp_executions_destroy and hp_select_forget before hp_comm_destroy. */
#ifndef HP_HIER_COMM_COMM_H
#define HP_HIER_COMM_COMM_H

#include <stdbool.h>
#include <stdint.h>
#include "base/knobs.h"
#include "base/pool.h"
#include "base/status.h"
#include "event_engine/mem/node_memory.h"
#include "event_engine/transport.h"
#include "event_engine/wait.h"
#include "hier/comm/around.h"
#include "hier/comm/layout.h"
#include "hier/comm/probes.h"
#include "topo_tree/tree.h"

/* Trees remembered per communicator. A program that uses one or a few roots finds them all. */
enum { HP_TREE_CACHE = 32 };

typedef struct {
    bool valid;
    uint32_t root;
    hp_shapes_t shapes;
    hp_neighbors_t neighbors;
} hp_cached_tree_t;

typedef struct {
    uint32_t rank, size;
    hp_knobs_t knobs;            /* the job's, with this communicator's hints over them */
    const hp_knobs_t *job_knobs; /* without the hints; NULL: there are none */
    hp_probes_t probes;          /* what is known of the machine; the same on all ranks */
    bool probes_may_come;        /* what is not known yet will be measured when that is worth it */
    hp_hierarchy_t *hierarchy;   /* by topology */
    hp_hierarchy_t
        *rank_order; /* flat, for non-commutative reductions; NULL when hierarchy keeps rank order itself */
    hp_hierarchy_t
        *flat; /* all ranks in one row, for reproducible reductions; NULL where they are not asked for */
    hp_comm_network_t *network; /* NULL: none is known */
    hp_around_t *around; /* who habitually comes late; NULL: nobody. The same on all ranks */
    hp_pool_t pool;
    hp_transport_t *transport;
    struct hp_executions *executions; /* collectives in flight (execution.h); NULL: none can be called */
    /* Memory shared with the ranks of the own node. shares_memory, reads_peers: on all nodes of the
     * communicator, so the same on all ranks; a rank that is alone on its node has no memory all the same. */
    bool shares_memory, reads_peers;
    bool has_node_memory;
    hp_node_memory_t node_memory;
    uint32_t first_place; /* of the node's ranks in the order of the hierarchy */
    /* Communicators of the host MPI for the levels' teams, made when first used. */
    bool native_made[HP_LEVEL_COUNT][HP_FAN_COUNT];
    hp_handle_t native_comms[HP_LEVEL_COUNT][HP_FAN_COUNT];
    /* More ranks of the job are on this node than cores that they may use; the same on all of them. */
    bool crowded;
    uint32_t cores; /* that the ranks of the first node with most ranks may use; 0: not known. The same
                                 * on all ranks */
    bool shares_cores; /* that node is crowded; the same on all ranks */
    hp_wait_policy_t wait_policy;
    void *owner;                /* who made it */
    uint32_t sequence;          /* collectives started, for tags; the same on all ranks */
    struct hp_arrival *arrival; /* who comes late (planning/arrival.h); NULL: nobody looks */
    struct hp_choices *choices; /* what the selection remembers (select.h); NULL: nothing */
    /* What was found on communicators like this one (planning/wisdom.h), the same on all ranks; NULL: nothing. */
    struct hp_finding *findings;
    size_t finding_count;
    hp_cached_tree_t trees[HP_TREE_CACHE];
    uint32_t next_tree;
} hp_comm_t;

/* table: size localities. knobs are copied. Returns HP_OK, HP_ERR_NO_MEM, HP_ERR_ARG. */
hp_status_t hp_comm_create(uint32_t rank, uint32_t size, const hp_locality_t *table, const hp_knobs_t *knobs,
                           hp_transport_t *transport, hp_comm_t **out);
void hp_comm_destroy(hp_comm_t *comm); /* NULL is allowed; no collective may be in execution */

/* The network and the machine of each rank of it, the same on all ranks. The network is borrowed and outlives the comm.
 * HP_OK or HP_ERR_NO_MEM. */
hp_status_t hp_comm_set_network(hp_comm_t *comm, const hp_network_t *network, const uint32_t *machines);
/* Other ranks that come late, or nobody: NULL. Plans around the ones before must not be started again
 * (hp_plans_forget). Takes it over. */
void hp_comm_set_around(hp_comm_t *comm, hp_around_t *around);

/* This rank's neighbours in the tree of the hierarchy for root. Cached. NULL when out of memory. Valid until
 * HP_TREE_CACHE other trees have been asked for. */
const hp_neighbors_t *hp_comm_tree(hp_comm_t *comm, const hp_shapes_t *shapes, uint32_t root);

/* Hands the memory over that the ranks of this node share: numbered in the order of hp_comm_node_member. */
void hp_comm_set_node_memory(hp_comm_t *comm, const hp_node_memory_t *memory);
/* How this rank writes to it: by the knob stream_bytes, or by the probes, as far as they are known. Each rank may do as it
 * likes. */
void hp_comm_choose_stores(hp_comm_t *comm);
/* The ranks of this rank's node, in that order; *count says how many. The array belongs to the hierarchy. */
const uint32_t *hp_comm_node_ranks(const hp_comm_t *comm, uint32_t *count);
/* The number of a rank of this node in the node's memory. */
uint32_t hp_comm_node_member(const hp_comm_t *comm, uint32_t rank);
/* Do the levels tell which ranks share a node, and are there ranks that do? The same answer on all ranks. */
bool hp_comm_may_share(const hp_comm_t *comm);
/* What the knobs say of that memory's shape: its slots and the pool; and all of it, by the hierarchy too. */
hp_node_shape_t hp_comm_slots_shape(const hp_knobs_t *knobs);
hp_node_shape_t hp_comm_node_shape(const hp_comm_t *comm);

/* What the selection has to know of the communicator. */
hp_layout_t hp_comm_layout(const hp_comm_t *comm);

#endif
