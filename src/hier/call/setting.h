/* setting: how a collective runs, beside its algorithm: a leaf that everything above may use. And the same as knobs,
 * hints and the keys of a rule say it.
 *
 * Threads: pure. Ownership: plain data. */
#ifndef HP_HIER_CALL_SETTING_H
#define HP_HIER_CALL_SETTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/knobs.h"
#include "event_engine/request.h"
#include "hier/call/inter_node.h"
#include "hier/call/module_names.h"
#include "topo_tree/tree.h"

/* The most rotations of one collective: roots on different nodes, times leaders of a node. */
enum { HP_ROTATIONS_MAX = 16 };

/* What the selection decides besides the algorithm. The same on all ranks. */
typedef struct {
    size_t segment_bytes; /* wanted size of a segment (HAN's fs); at least one element is taken */
    /* The module p2p broadcasts and reduces a segment between nodes in pieces of so many bytes (HAN's ibs,
     * irs); 0: whole. */
    size_t ib_segment_bytes, ir_segment_bytes;
    hp_shapes_t shapes;
    hp_modules_t modules;
    hp_inter_node_t inter_node; /* how the module p2p joins the nodes */
    uint32_t trees;   /* roots that rotate, segment by segment, where the algorithm has a choice; >= 1 */
    uint32_t leaders; /* ranks of each node that rotate in leading it; >= 1 */
    /* N, M and the window: sends in flight on a link, receives posted ahead on one, segments in work; >= 1 */
    uint32_t sends_per_child, recvs_per_parent, window_segments;
} hp_setting_t;

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

/* N, M and the window did well on every machine tried; no built-in rule changes them. */
#define HP_SETTING_USUAL_PIPELINE .sends_per_child = 4, .recvs_per_parent = 6, .window_segments = 256

/* Settings of an algorithm that is asked for by name where no rule says more. */
void hp_setting_default(hp_setting_t *setting);

bool hp_setting_same(const hp_setting_t *a, const hp_setting_t *b);
/* The same for settings that are the same, in this version of the library. */
uint64_t hp_setting_hash(const hp_setting_t *setting);

/* The knobs that say how to run. Their names, in lower case, are the keys of a rule in a file. */
#define HP_SETTING_NUMBERS(X)                                                                                \
    X(segment_bytes)                                                                                         \
    X(ib_segment_bytes)                                                                                      \
    X(ir_segment_bytes)                                                                                      \
    X(trees)                                                                                                 \
    X(leaders)                                                                                               \
    X(sends_per_child)                                                                                       \
    X(recvs_per_parent)                                                                                      \
    X(window_segments)
#define HP_SETTING_TEXTS(X)                                                                                  \
    X(shapes)                                                                                                \
    X(modules)                                                                                               \
    X(between_nodes)

/* The key of the i-th of them, NULL past the last, and the knob that it belongs to. */
const char *hp_setting_key(unsigned i);
hp_knob_id_t hp_setting_knob(unsigned i);

/* Those knobs over *setting; the ones that follow the rules (0, empty, auto) change nothing. */
void hp_setting_apply(hp_setting_t *setting, const hp_knobs_t *knobs);
/* For a call that nobody waits for, and that is looked at rarely, among ranks on so many nodes: so much in flight that the
 * link stays busy between two looks. Among more than two nothing changes: what arrives is sent on, and where an MPI lets
 * the messages of a link share it, what is in flight arrives together, at each hop again. What a knob says holds. */
void hp_setting_deepen(hp_setting_t *setting, uint32_t nodes, const hp_knobs_t *knobs);
/* The other way round: of all knobs these alone, such that applied to *usual they give *setting; where the
 * two agree they follow the rules. */
void hp_setting_knobs(const hp_setting_t *setting, const hp_setting_t *usual, hp_knobs_t *knobs);
/* Knobs of which none changes a setting. */
void hp_setting_no_knobs(hp_knobs_t *knobs);

#endif
