/* label: what a task is for, as the trace names it.
 *
 * Threads: any. Ownership: static. */
#ifndef HP_EVENT_ENGINE_LABEL_H
#define HP_EVENT_ENGINE_LABEL_H

#include "event_engine/trace.h"

/* Which task of the hierarchical pipeline (HAN) something belongs to: inter-node or intra-node, fan-in (a
 * reduction) or fan-out. */
#define HP_LABEL_TABLE(X)                                                                                    \
    X(OTHER, other)                                                                                          \
    X(SR, sr)                                                                                                \
    X(IR, ir)                                                                                                \
    X(IB, ib)                                                                                                \
    X(SB, sb)
typedef enum {
#define X(id, name) HP_LABEL_##id,
    HP_LABEL_TABLE(X)
#undef X
        HP_LABEL_COUNT
} hp_label_t;
_Static_assert((int)HP_LABEL_COUNT <= (int)HP_TRACE_LABELS_MAX, "labels without rows in a trace");
const char *hp_label_name(hp_label_t label);

#endif
