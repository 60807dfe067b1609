/* facts: what a recorded call moves, by its arguments.
 *
 * Threads: as handles.h. Ownership: nothing is kept. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_FACTS_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_FACTS_H

#include "pmpi_wrappers/backend/profile/handles.h"
#include "pmpi_wrappers/backend/profile/sequence.h"
#include "pmpi_wrappers/backend/profile/book/shapes.h"
#include "pmpi_wrappers/backend/profile/watch/memory.h"

typedef struct {
    uint64_t bytes; /* what this rank contributes or what it receives, whichever is more */
    uint64_t sent;  /* to a peer */
    uint16_t type, op;
    bool has_bytes, on_device, is_root;
    bool is_derived; /* a datatype, where it has no list of them */
} hp_facts_t;

/* Sets *facts. comm: NULL: the call has none, or it is not known. */
void hp_facts(hp_facts_t *facts, const hp_call_shape_t *shape, const uintptr_t *x,
              const hp_seen_comm_t *comm);

/* Where the data is that the call has read, and where it has put some. *sent: not what it has put there; nothing: there
 * is none, or it lies in memory with gaps. */
void hp_facts_buffers(const hp_call_shape_t *shape, const uintptr_t *x, const hp_seen_comm_t *comm,
                      hp_memory_range_t *sent, hp_memory_range_t *received);

/* May the call write to more than a few pages? By its numbers alone, before it is made. */
bool hp_facts_may_fill_pages(const hp_call_shape_t *shape, const uintptr_t *x);

/* What a sequence has to know of the call. False: the sequence leaves it out. *is_whole: nothing is missing but for
 * a list of counts. */
bool hp_facts_kind(const hp_call_shape_t *shape, const uintptr_t *x, const hp_seen_comm_t *comm,
                   const hp_facts_t *facts, hp_sequence_kind_t *kind, bool *is_whole);

#endif
