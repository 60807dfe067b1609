#include "noise/waitall_tree.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/knobs.h"
#include "hier/comm/comm.h"
#include "hier/planning/select.h"
#include "topo_tree/locality.h"

enum { TAG = 7, CHILDREN_MAX = 64 };

static void give_up(const char *why)
{
    fprintf(stderr, "waitall_tree: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

/* Where the ranks are, as the library sees it: HANPMPI_TOPOLOGY, else hwloc; in a simulation the processor's
 * name. */
static hp_locality_t locate(const hp_knobs_t *knobs, int world_rank)
{
    hp_locality_t here;
    char error[HP_KNOB_TEXT_BYTES];
    hp_synthetic_t machine;

    if (knobs->topology[0]) {
        if (hp_synthetic_parse(knobs->topology, &machine, error, sizeof error) != HP_OK)
            give_up(error);
        hp_synthetic_locate(&machine, (uint32_t)world_rank, &here);
        return here;
    }
#ifdef HP_SIMULATED
    char name[MPI_MAX_PROCESSOR_NAME];
    int length;
    MPI_Get_processor_name(name, &length);
    for (int level = 0; level < HP_LEVEL_COUNT; level++)
        here.id[level] = HP_ID_UNKNOWN;
    here.id[HP_LEVEL_NODE] = hp_locality_id_of(name, (size_t)length);
#else
    hp_locality_read(NULL, NULL, &here);
#endif
    return here;
}

static void describe(waitall_tree_t *tree, const hp_hierarchy_t *hierarchy, const hp_shapes_t *shapes)
{
    size_t used = (size_t)snprintf(tree->description, sizeof tree->description, "segments of %zu bytes,",
                                   tree->segment_bytes);
    for (uint32_t i = 0; i < hp_hierarchy_level_count(hierarchy) && used < sizeof tree->description; i++) {
        const hp_level_t level = hp_hierarchy_level(hierarchy, i);
        used += (size_t)snprintf(tree->description + used, sizeof tree->description - used, " %s:%s",
                                 hp_level_name(level), hp_shape_info(shapes->shape[level])->name);
    }
}

void waitall_tree_create(waitall_tree_t *tree, MPI_Comm comm, hp_collective_t collective, size_t bytes,
                         int root)
{
    int rank, size, world_rank;
    uint32_t levels = 0;
    char error[HP_KNOB_TEXT_BYTES];
    hp_choice_t choice;
    hp_comm_t like = {
        .size = 0}; /* what the library knows of such a communicator, as far as its choice needs it */

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    hp_knobs_read(&like.knobs, NULL, NULL, NULL);
    hp_locality_t *table = calloc((size_t)size, sizeof *table), here = locate(&like.knobs, world_rank);
    MPI_Allgather(&here, sizeof here, MPI_BYTE, table, sizeof here, MPI_BYTE, comm);
    if (hp_levels_parse(like.knobs.levels, &levels, error, sizeof error) != HP_OK)
        give_up(error);
    if (hp_hierarchy_create((uint32_t)size, table, levels, false, &like.hierarchy) != HP_OK)
        give_up("no hierarchy");
    const hp_outcome_t outcome = hp_select(&like, collective, bytes, &choice);
    if (outcome != HP_OUTCOME_TAKEN)
        give_up(hp_outcome_text(outcome));
    tree->comm = comm;
    tree->segment_bytes = choice.setting->segment_bytes;
    if (hp_neighbors_init(&tree->neighbors, like.hierarchy, &choice.setting->shapes, (uint32_t)root,
                          (uint32_t)rank) != HP_OK)
        give_up("no tree");
    if (tree->neighbors.child_count > CHILDREN_MAX)
        give_up("a rank has more than 64 children");
    describe(tree, like.hierarchy, &choice.setting->shapes);
    hp_select_forget(&like);
    hp_hierarchy_destroy(like.hierarchy);
    free(table);
}

void waitall_tree_destroy(waitall_tree_t *tree)
{
    hp_neighbors_fini(&tree->neighbors);
}

static int size_at(const waitall_tree_t *tree, size_t bytes, size_t offset)
{
    return (int)(bytes - offset < tree->segment_bytes ? bytes - offset : tree->segment_bytes);
}

/* Segment i:   wait for it;  post the receive of i + 1;  send i to all children;  wait for all these sends.
 */
void waitall_tree_bcast(const waitall_tree_t *tree, void *buffer, size_t bytes)
{
    const hp_neighbors_t *near = &tree->neighbors;
    MPI_Request arriving = MPI_REQUEST_NULL, sends[CHILDREN_MAX];
    MPI_Status status, statuses[CHILDREN_MAX];

    if (near->parent >= 0 && bytes)
        MPI_Irecv(buffer, size_at(tree, bytes, 0), MPI_BYTE, near->parent, TAG, tree->comm, &arriving);
    for (size_t at = 0; at < bytes; at += tree->segment_bytes) {
        const size_t next = at + tree->segment_bytes;
        char *segment = (char *)buffer + at;
        if (near->parent >= 0) {
            MPI_Request following = MPI_REQUEST_NULL;
            if (next < bytes)
                MPI_Irecv((char *)buffer + next, size_at(tree, bytes, next), MPI_BYTE, near->parent, TAG,
                          tree->comm, &following);
            MPI_Wait(&arriving, &status);
            arriving = following;
        }
        for (uint32_t i = 0; i < near->child_count; i++)
            MPI_Isend(segment, size_at(tree, bytes, at), MPI_BYTE, (int)near->children[i], TAG, tree->comm,
                      &sends[i]);
        MPI_Waitall((int)near->child_count, sends, statuses);
    }
}

/* The receives of segment i from all children into the half of the scratch that is i's. */
static void post_receives(const waitall_tree_t *tree, char *scratch, size_t bytes, size_t at,
                          MPI_Request *requests)
{
    const hp_neighbors_t *near = &tree->neighbors;
    const size_t half = at / tree->segment_bytes % 2 * near->child_count;
    for (uint32_t i = 0; i < near->child_count; i++)
        MPI_Irecv(scratch + (half + i) * tree->segment_bytes, size_at(tree, bytes, at), MPI_BYTE,
                  (int)near->children[i], TAG, tree->comm, &requests[i]);
}

/* Segment i:   post the receives of i + 1;  wait for all of i;  reduce;  send to the parent;  wait for that. */
void waitall_tree_sum(const waitall_tree_t *tree, const double *own, double *result, size_t count)
{
    const hp_neighbors_t *near = &tree->neighbors;
    const size_t bytes = count * sizeof *own;
    char *scratch = malloc(2 * near->child_count * tree->segment_bytes + 1);
    MPI_Request requests[2][CHILDREN_MAX], sending;
    MPI_Status status, statuses[CHILDREN_MAX];

    if (bytes)
        post_receives(tree, scratch, bytes, 0, requests[0]);
    for (size_t at = 0, turn = 0; at < bytes; at += tree->segment_bytes, turn = !turn) {
        const int size = size_at(tree, bytes, at);
        char *segment = (char *)result + at;
        if (at + tree->segment_bytes < bytes)
            post_receives(tree, scratch, bytes, at + tree->segment_bytes, requests[!turn]);
        memcpy(segment, (const char *)own + at, (size_t)size);
        MPI_Waitall((int)near->child_count, requests[turn], statuses);
        for (uint32_t i = 0; i < near->child_count; i++)
            MPI_Reduce_local(scratch + (turn * near->child_count + i) * tree->segment_bytes, segment,
                             size / (int)sizeof *own, MPI_DOUBLE, MPI_SUM);
        if (near->parent >= 0) {
            MPI_Isend(segment, size, MPI_BYTE, near->parent, TAG, tree->comm, &sending);
            MPI_Wait(&sending, &status);
        }
    }
    free(scratch);
}
