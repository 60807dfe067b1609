#include "hier/comm/comm.h"

#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/log.h"

/* One that only plans has no transport. */
static bool host_yields(const hp_transport_t *transport)
{
    return transport && transport->host_yields;
}

/* Of the first node with most ranks, whose cores the model counts, and of this rank's own, for its waits. */
static void count_cores(hp_comm_t *comm, const hp_locality_t *table)
{
    const hp_hierarchy_t *h = comm->hierarchy;
    const uint32_t fullest = hp_hierarchy_node_leader(h, hp_hierarchy_fullest_node(h));
    uint32_t members;

    const uint32_t *ranks = hp_hierarchy_node_ranks(h, fullest, &members);
    comm->cores = hp_locality_cores(table, ranks, members);
    comm->shares_cores = hp_locality_is_crowded(table, ranks, members, comm->cores);
    ranks = hp_comm_node_ranks(comm, &members);
    const uint32_t own = hp_locality_cores(table, ranks, members);
    comm->crowded = hp_locality_is_crowded(table, ranks, members, own);
    hp_debug("ranks on this node: %u, cores that they may use: %u; the host MPI %s", members, own,
             host_yields(comm->transport) ? "yields" : "spins");
}

/* The hierarchy for operations that do not commute: with those levels whose groups are ranges of ranks. */
static hp_status_t create_rank_order(hp_comm_t *comm, const hp_locality_t *table, uint32_t levels)
{
    for (unsigned inner = HP_LEVEL_CORE;
         inner-- > 0;) { /* without the innermost levels, one after the other */
        const uint32_t kept = levels & ((1u << inner) - 1);
        if (!(levels & (1u << inner)) || !kept)
            continue;
        const hp_status_t status = hp_hierarchy_create(comm->size, table, kept, false, &comm->rank_order);
        if (status != HP_OK || hp_hierarchy_is_contiguous(comm->rank_order))
            return status;
        hp_hierarchy_destroy(comm->rank_order);
        comm->rank_order = NULL;
    }
    return hp_hierarchy_create(comm->size, table, levels, true, &comm->rank_order);
}

const uint32_t *hp_comm_node_ranks(const hp_comm_t *comm, uint32_t *count)
{
    return hp_hierarchy_node_ranks(comm->hierarchy, comm->rank, count);
}

uint32_t hp_comm_node_member(const hp_comm_t *comm, uint32_t rank)
{
    return hp_hierarchy_place(comm->hierarchy, rank) - comm->first_place;
}

bool hp_comm_may_share(const hp_comm_t *comm)
{
    const hp_hierarchy_t *h = comm->hierarchy;
    uint32_t least, most;

    hp_hierarchy_node_sizes(h, &least, &most);
    return most > 1 && (hp_hierarchy_node_count(h) == 1 || hp_hierarchy_node_depth(h) > 0);
}

hp_node_shape_t hp_comm_slots_shape(const hp_knobs_t *knobs)
{
    const size_t line = 64; /* elements in a slot are to be as aligned as anywhere */
    return (hp_node_shape_t){.slots = (uint32_t)knobs->slots,
                             .slot_bytes = ((size_t)knobs->slot_bytes + line - 1) / line * line,
                             .pool_rings = (uint32_t)knobs->pool_rings};
}

hp_node_shape_t hp_comm_node_shape(const hp_comm_t *comm)
{
    const hp_hierarchy_t *h = comm->hierarchy;
    const uint32_t levels = hp_hierarchy_level_count(h);
    hp_node_shape_t shape = hp_comm_slots_shape(&comm->knobs);

    hp_comm_node_ranks(comm, &shape.members);
    shape.levels = levels > 1 ? levels - hp_hierarchy_node_depth(h) : levels;
    return shape;
}

void hp_comm_set_node_memory(hp_comm_t *comm, const hp_node_memory_t *memory)
{
    comm->node_memory = *memory;
    comm->node_memory.wakes = comm->crowded;
    comm->has_node_memory = true;
    hp_comm_choose_stores(comm);
}

/* Shorter ones cost less than the reader's way to the memory: 1 KiB is as fast either way (AMD EPYC, two cores). Where the
 * probes find little between the two (Xeon: 3.4 us and 3.0), several readers make the way through the caches the faster one. */
enum { STREAM_BYTES = 2048 };
static const double stream_pays = 0.6;

void hp_comm_choose_stores(hp_comm_t *comm)
{
    const hp_probes_t *probes = &comm->probes;
    const bool pays = probes->streamed_us > 0 && probes->streamed_us < stream_pays * probes->cached_us;

    comm->node_memory.streams_from =
        comm->knobs.stream_bytes < 0 ? (pays ? STREAM_BYTES : 0) : (size_t)comm->knobs.stream_bytes;
}

hp_status_t hp_comm_create(uint32_t rank, uint32_t size, const hp_locality_t *table, const hp_knobs_t *knobs,
                           hp_transport_t *transport, hp_comm_t **out)
{
    uint32_t levels = 0;
    char error[HP_KNOB_TEXT_BYTES];

    hp_comm_t *comm = calloc(1, sizeof *comm);
    if (!comm)
        return HP_ERR_NO_MEM;
    comm->rank = rank;
    comm->size = size;
    comm->knobs = *knobs;
    comm->transport = transport;
    hp_pool_init(&comm->pool);
    hp_status_t status = hp_levels_parse(knobs->levels, &levels, error, sizeof error);
    if (status == HP_OK)
        status = hp_hierarchy_create(size, table, levels, false, &comm->hierarchy);
    if (status == HP_OK && !hp_hierarchy_is_contiguous(comm->hierarchy))
        status = create_rank_order(comm, table, levels);
    if (status == HP_OK && knobs->reproducible)
        status = hp_hierarchy_create(size, table, levels, true, &comm->flat);
    if (status != HP_OK) {
        hp_comm_destroy(comm);
        return status;
    }
    count_cores(comm, table);
    comm->wait_policy = hp_wait_policy(knobs, comm->crowded, host_yields(transport));
    uint32_t members;
    const uint32_t *ranks = hp_comm_node_ranks(comm, &members);
    comm->first_place = hp_hierarchy_place(comm->hierarchy, ranks[0]);
    *out = comm;
    return HP_OK;
}

hp_status_t hp_comm_set_network(hp_comm_t *comm, const hp_network_t *network, const uint32_t *machines)
{
    const hp_hierarchy_t *h = comm->hierarchy;
    const uint32_t size = comm->size;
    uint32_t ranks;
    hp_comm_network_t *own = calloc(1, sizeof *own + 2 * (size_t)size * sizeof *machines);

    if (!own)
        return HP_ERR_NO_MEM;
    uint32_t *by_rank = (uint32_t *)(own + 1), *by_place = by_rank + size;
    memcpy(by_rank, machines, size * sizeof *by_rank);
    for (uint32_t rank = 0; rank < size; rank++)
        by_place[hp_hierarchy_place(h, rank)] = machines[rank];
    own->ranks = (hp_placement_t){network, by_rank, size};
    own->places = (hp_placement_t){network, by_place, size};
    hp_network_fingerprint(network, own->fingerprint, sizeof own->fingerprint);
    own->hash = hp_hash_add(HP_HASH_BASIS, own->fingerprint, strlen(own->fingerprint));
    own->hash = hp_hash_add(own->hash, machines, size * sizeof *machines);
    if (hp_network_traits(network, &own->traits) != HP_OK) {
        free(own);
        return HP_ERR_NO_MEM;
    }
    own->rate = hp_placement_rate(&own->ranks);
    /* The hosts that share a link, and the ranks of a host, fill its queue together; half of it, for headers, and for what is
     * there already. */
    hp_hierarchy_node_ranks(h, hp_hierarchy_node_leader(h, hp_hierarchy_fullest_node(h)), &ranks);
    own->room = network->queue / 2 / own->traits.blocking / ranks;
    own->hash = hp_hash_add(own->hash, &own->room, sizeof own->room) | 1; /* not 0 */
    free(comm->network);
    comm->network = own;
    return HP_OK;
}

void hp_comm_destroy(hp_comm_t *comm)
{
    if (!comm)
        return;
    for (unsigned i = 0; i < HP_TREE_CACHE; i++)
        if (comm->trees[i].valid)
            hp_neighbors_fini(&comm->trees[i].neighbors);
    if (comm->has_node_memory && hp_transport_ended(comm->transport))
        hp_node_memory_fini(&comm->node_memory);
    else if (comm->has_node_memory) /* a message may still come from it */
        hp_node_memory_abandon(&comm->node_memory);
    hp_pool_fini(&comm->pool);
    hp_around_destroy(comm->around);
    hp_hierarchy_destroy(comm->flat);
    hp_hierarchy_destroy(comm->rank_order);
    hp_hierarchy_destroy(comm->hierarchy);
    free(comm->arrival);
    free(comm->findings);
    free(comm->network);
    free(comm);
}

void hp_comm_set_around(hp_comm_t *comm, hp_around_t *around)
{
    hp_around_destroy(comm->around);
    comm->around = around;
}

const hp_neighbors_t *hp_comm_tree(hp_comm_t *comm, const hp_shapes_t *shapes, uint32_t root)
{
    for (unsigned i = 0; i < HP_TREE_CACHE; i++) {
        const hp_cached_tree_t *tree = &comm->trees[i];
        if (tree->valid && tree->root == root && memcmp(&tree->shapes, shapes, sizeof *shapes) == 0)
            return &tree->neighbors;
    }
    hp_cached_tree_t *tree = &comm->trees[comm->next_tree++ % HP_TREE_CACHE];
    if (tree->valid)
        hp_neighbors_fini(&tree->neighbors);
    tree->valid = hp_neighbors_init(&tree->neighbors, comm->hierarchy, shapes, root, comm->rank) == HP_OK;
    tree->root = root;
    tree->shapes = *shapes;
    return tree->valid ? &tree->neighbors : NULL;
}

hp_layout_t hp_comm_layout(const hp_comm_t *comm)
{
    hp_layout_t layout = {.nodes = hp_hierarchy_node_count(comm->hierarchy),
                          .shares_memory = comm->shares_memory,
                          .reads_peers = comm->reads_peers,
                          .slot_bytes = (size_t)comm->knobs.slot_bytes,
                          .network = comm->network,
                          .network_hash = comm->network ? comm->network->hash : 0};

    hp_hierarchy_node_sizes(comm->hierarchy, &layout.least_ranks, &layout.most_ranks);
    return layout;
}
