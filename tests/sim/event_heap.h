/* event_heap: what will happen, earliest first; at the same time by the tie number.
 *
 * Threads: one user at a time. Ownership: the heap owns its array; what an event points at is the caller's.
 */
#ifndef HP_TESTS_SIM_EVENT_HEAP_H
#define HP_TESTS_SIM_EVENT_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t time_ns, tie;
    uint32_t kind, rank;
    void *subject;
} event_t;

typedef struct {
    event_t *events;
    size_t count, capacity;
} event_heap_t;

void event_heap_push(event_heap_t *heap, event_t event);
/* False when the heap is empty. */
bool event_heap_pop(event_heap_t *heap, event_t *event);
void event_heap_fini(event_heap_t *heap);

#endif
