/* algorithm: one file an algorithm, one table of all of them.
 *
 * An algorithm is a function that lays a collective out on a communicator's request: it makes its plan and
 * its lanes and starts the pipeline. It does not wait, so that the same function serves blocking and
 * non-blocking calls. The table algorithms.def gives the dispatch, the words of HANPMPI_BCAST and its
 * siblings, the hints, the listing of hanpmpi_info and the tests. CONTRIBUTING.md tells how to add one.
 * Threads: as comm.h. Ownership: plans live in the request. */
#ifndef HP_HIER_COLLECTIVES_ALGORITHM_H
#define HP_HIER_COLLECTIVES_ALGORITHM_H

#include "hier/call/collective.h"
#include "hier/comm/comm.h"
#include "hier/modules/between.h"
#include "hier/modules/module.h"

/* How to run: what the selection decides besides the algorithm. The same on all ranks. */
struct hp_setting {
    size_t segment_bytes; /* wanted size of a segment (HAN's fs); at least one element is taken */
    /* The module p2p broadcasts and reduces a segment between nodes in pieces of so many bytes (HAN's ibs,
     * irs); 0: whole. */
    size_t ib_segment_bytes, ir_segment_bytes;
    hp_shapes_t shapes;
    hp_modules_t modules;
    hp_between_t between; /* how the module p2p joins the nodes */
    uint32_t trees;   /* roots that take turns, segment by segment, where the algorithm has a choice; >= 1 */
    uint32_t leaders; /* ranks of each node that take turns to lead it; >= 1 */
    /* N, M and the window: sends in flight on a link, receives posted ahead on one, segments in work; >= 1 */
    uint32_t sends_per_child, recvs_per_parent, window_segments;
};

/* Does a level name the module? */
static inline bool hp_setting_uses(const hp_setting_t *setting, hp_module_id_t module)
{
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        if (setting->modules.module[level] == module)
            return true;
    return false;
}

/* Operations in flight on a lane of that direction. */
static inline uint32_t hp_setting_lane_limit(const hp_setting_t *setting, hp_direction_t direction)
{
    return direction == HP_LANE_SEND ? setting->sends_per_child : setting->recvs_per_parent;
}

/* Starts call on comm->request. HP_OK, or an error with nothing in flight. */
typedef hp_status_t (*hp_algorithm_start_fn_t)(hp_comm_t *comm, const hp_call_t *call,
                                               const hp_setting_t *setting);

typedef struct {
    hp_collective_t collective;
    const char *name;
    hp_algorithm_start_fn_t start;
    uint64_t bytes_max; /* larger calls are not for it */
    uint64_t nodes_max; /* on more nodes it is another algorithm under its name: rules may not ask for that */
    const char *description;
} hp_algorithm_t;

/* The i-th algorithm of the collective, NULL past the last. The words of the collective's knob are "auto",
 * "native", then these in this order: word i + HP_FIRST_ALGORITHM_WORD. */
const hp_algorithm_t *hp_algorithm(hp_collective_t collective, unsigned i);
const hp_algorithm_t *hp_algorithm_find(hp_collective_t collective, const char *name);
enum { HP_WORD_AUTO, HP_WORD_NATIVE, HP_FIRST_ALGORITHM_WORD };

/* Every algorithm of every collective by a number, and the host MPI: what plain data can carry. */
typedef enum {
    HP_ALGORITHM_NATIVE,
#define HP_ALGORITHM(id, collective, name, ...) HP_ALGORITHM_##id##_##name,
#include "hier/collectives/algorithms.def"
#undef HP_ALGORITHM
    HP_ALGORITHM_COUNT
} hp_algorithm_id_t;

/* NULL for HP_ALGORITHM_NATIVE. */
const hp_algorithm_t *hp_algorithm_of(hp_algorithm_id_t id);
/* HP_ALGORITHM_NATIVE for NULL. */
hp_algorithm_id_t hp_algorithm_id(const hp_algorithm_t *algorithm);

/* The start function of every algorithm. */
#define HP_ALGORITHM(id, collective, name, ...)                                                              \
    hp_status_t hp_##collective##_##name##_start(hp_comm_t *comm, const hp_call_t *call,                     \
                                                 const hp_setting_t *setting);
#include "hier/collectives/algorithms.def"
#undef HP_ALGORITHM

#endif
