#include "sim/event_heap.h"

#include <stdlib.h>

static bool before(const event_t *a, const event_t *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->tie < b->tie;
}

void event_heap_push(event_heap_t *heap, event_t event)
{
    if (heap->count == heap->capacity) {
        size_t capacity = heap->capacity ? 2 * heap->capacity : 256;
        event_t *events = reallocarray(heap->events, capacity, sizeof *events);
        if (!events)
            abort();
        heap->events = events;
        heap->capacity = capacity;
    }
    size_t place = heap->count++;
    for (size_t above = (place - 1) / 2; place && before(&event, &heap->events[above]);
         above = (place - 1) / 2) {
        heap->events[place] = heap->events[above];
        place = above;
    }
    heap->events[place] = event;
}

bool event_heap_pop(event_heap_t *heap, event_t *event)
{
    if (heap->count == 0)
        return false;
    *event = heap->events[0];
    const event_t last = heap->events[--heap->count];
    size_t place = 0;
    for (size_t below = 1; below < heap->count; below = 2 * place + 1) {
        if (below + 1 < heap->count && before(&heap->events[below + 1], &heap->events[below]))
            below++;
        if (!before(&heap->events[below], &last))
            break;
        heap->events[place] = heap->events[below];
        place = below;
    }
    heap->events[place] = last;
    return true;
}

void event_heap_fini(event_heap_t *heap)
{
    free(heap->events);
    *heap = (event_heap_t){NULL, 0, 0};
}
