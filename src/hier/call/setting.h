/* setting: what is in a hp_setting_t (algorithm.h), as knobs, hints and the keys of a rule say it.
 *
 * Threads: pure. Ownership: plain data. */
#ifndef HP_HIER_CALL_SETTING_H
#define HP_HIER_CALL_SETTING_H

#include "hier/collectives/algorithm.h"

/* N, M and the window did well on every machine tried; no built-in rule changes them. */
#define HP_SETTING_USUAL_PIPELINE .sends_per_child = 4, .recvs_per_parent = 6, .window_segments = 256

/* Settings of an algorithm that is asked for by name where no rule says more. */
void hp_setting_default(hp_setting_t *setting);

bool hp_setting_same(const hp_setting_t *a, const hp_setting_t *b);

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
