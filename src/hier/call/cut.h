/* cut: a message in segments.
 *
 * Threads: pure. Ownership: plain data, part of an algorithm's plan. */
#ifndef HP_HIER_CALL_CUT_H
#define HP_HIER_CALL_CUT_H

#include "event_engine/request.h"
#include "hier/call/collective.h"
#include "hier/call/setting.h"

/* The cut of a message. Elements, not bytes: the same on every rank because count and type size are (a bcast
 * counts in bytes, docs/pitfalls.md 12). */
typedef struct {
    size_t count; /* elements in all */
    size_t segment_elements;
    size_t extent; /* bytes from element to element */
} hp_cut_t;

/* count and the type's bytes are not 0: such calls are not taken. */
hp_cut_t hp_cut_make(const hp_call_t *call, const hp_setting_t *setting);
uint64_t hp_cut_segments(const hp_cut_t *cut);
/* Elements of segment i, and where it begins, in bytes from the start of a buffer. */
size_t hp_cut_count(const hp_cut_t *cut, uint64_t i);
size_t hp_cut_offset(const hp_cut_t *cut, uint64_t i);

/* The part of a pipeline that follows from call, cut and setting: segments, window, scratch, type and
 * operation. */
hp_pipeline_t hp_cut_pipeline(const hp_cut_t *cut, const hp_call_t *call, const hp_setting_t *setting);

#endif
