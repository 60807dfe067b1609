/* checks: the checks of the knobs that describe topology, under the names knobs.def gives them.
 *
 * Threads: pure. Ownership: nothing kept. */
#include <stdbool.h>
#include "topo_tree/tree.h"

bool hp_knob_check_topology(const char *text, char *error, unsigned error_bytes);
bool hp_knob_check_levels(const char *text, char *error, unsigned error_bytes);
bool hp_knob_check_shapes(const char *text, char *error, unsigned error_bytes);

/* Empty text: no synthetic machine. */
bool hp_knob_check_topology(const char *text, char *error, unsigned error_bytes)
{
    hp_synthetic_t unused;
    return !*text || hp_synthetic_parse(text, &unused, error, error_bytes) == HP_OK;
}

bool hp_knob_check_levels(const char *text, char *error, unsigned error_bytes)
{
    uint32_t unused;
    return hp_levels_parse(text, &unused, error, error_bytes) == HP_OK;
}

bool hp_knob_check_shapes(const char *text, char *error, unsigned error_bytes)
{
    hp_shapes_t unused = {{HP_SHAPE_LINEAR}};
    return hp_shapes_parse(text, &unused, error, error_bytes) == HP_OK;
}
