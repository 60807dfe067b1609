/* waitall_control: a broadcast as it is done without events, to compare with.
 *
 * X. Luo 2020, algorithm 2: the receive of the next segment is posted ahead; a segment is sent to all
 * children; then the rank waits for all of these sends before it looks at the next segment. Threads:
 * single-threaded. Ownership: control_create allocates, control_destroy frees; hierarchy, sim and buffers are
 * borrowed. */
#ifndef HP_TESTS_SIM_WAITALL_CONTROL_H
#define HP_TESTS_SIM_WAITALL_CONTROL_H

#include "sim/transport_sim.h"
#include "topo_tree/tree.h"

typedef struct {
    uint32_t rank_count, root;
    const hp_hierarchy_t *hierarchy;
    hp_shapes_t shapes;
    size_t bytes, segment_bytes;
    char *const *buffers; /* one a rank */
} control_config_t;

typedef struct control control_t;

control_t *control_create(sim_t *sim, const control_config_t *config);
void control_destroy(control_t *control);

/* To be run with the control as its context. */
extern const sim_program_t control_program;

#endif
