/* window: the segments that have tasks, and the memory for them. */
#include "event_engine/request/internal.h"

#include <stdlib.h>

/* Task memory of one request at most, unless a single segment needs more: a window of 256 segments of a rank
 * with 16 children takes about half of it. */
enum { TASK_MEMORY_BYTES = 1 << 20, WINDOW_MIN = 8 };
/* Task memory that a request keeps while it is idle: each communicator has one at least. More is needed for many
 * segments only, whose time is long beside a malloc's. */
enum { TASK_MEMORY_IDLE_BYTES = 32 << 10 };
/* Scratch memory of one request at most, unless WINDOW_MIN segments need more: a rank that waits for one slow
 * child holds what all others sent meanwhile. */
enum { SCRATCH_MEMORY_BYTES = 16 << 20 };

void hp_segment_release_scratch(hp_request_t *request, hp_segment_t *segment, bool in_use)
{
    for (uint32_t i = 0; i < segment->task_count && request->scratch_held; i++) {
        hp_task_t *task = &segment->tasks[i];
        if (!task->scratch_held)
            continue;
        char *raw = task->buffer - request->pipeline.scratch_shift;
        if (in_use)
            hp_pool_retire(request->pool, raw);
        else
            hp_pool_put(request->pool, raw);
        task->scratch_held = false;
        request->scratch_held--;
    }
}

/* The segment's tasks stand: those that wait for no other. */
static void release_first(hp_request_t *request, hp_segment_t *segment)
{
    segment->unfinished = segment->task_count;
    for (uint32_t i = 0; i < segment->task_count; i++)
        if (segment->tasks[i].waits == 0)
            hp_task_release(request, &segment->tasks[i]);
}

static void segment_emit(hp_request_t *request, hp_segment_t *segment)
{
    segment->task_count = 0;
    segment->edge_count = 0;
    segment->label = HP_LABEL_OTHER;
    segment->index = request->next_segment++;
    if (request->trace)
        hp_record_segment_begin(segment);
    request->pipeline.emit(request->plan, segment, segment->index);
    release_first(request, segment);
}

void hp_segment_refill(hp_request_t *request, hp_segment_t *segment)
{
    while (request->error == HP_OK && request->next_segment < request->pipeline.segment_count) {
        segment_emit(request, segment);
        if (segment->unfinished)
            return;
        request->done_segments++;
    }
}

void hp_segment_repeat(hp_request_t *request, uint64_t later)
{
    hp_segment_t *segment = &request->segments[0];

    request->next_segment = 1;
    if (request->trace)
        hp_record_segment_begin(segment);
    for (uint32_t i = 0; i < segment->task_count; i++) {
        hp_task_t *task = &segment->tasks[i];
        task->complete = false;
        if (task->kind == TASK_WAIT || task->kind == TASK_SET)
            task->value += later;
        if (task->lane >= 0)
            queue_push(&request->lanes[task->lane].waiting, task);
    }
    for (uint32_t e = 0; e < segment->edge_count; e++)
        segment->edges[e].task->waits++;
    release_first(request, segment);
    if (segment->task_count == 0)
        request->done_segments = 1;
}

void hp_request_rest(hp_request_t *request)
{
    if (request->task_memory_bytes <= TASK_MEMORY_IDLE_BYTES)
        return;
    free(request->task_memory);
    request->task_memory = NULL;
    request->task_memory_bytes = 0;
    request->is_whole = false;
}

hp_status_t hp_window_prepare(hp_request_t *request)
{
    const hp_pipeline_t *p = &request->pipeline;
    size_t segment_bytes = p->tasks_per_segment * sizeof(hp_task_t) + p->edges_per_segment * sizeof(edge_t);
    uint64_t fit = segment_bytes ? TASK_MEMORY_BYTES / segment_bytes : p->window_segments;
    uint64_t size = p->window_segments;

    if (p->scratch_per_segment && SCRATCH_MEMORY_BYTES / p->scratch_per_segment / p->scratch_bytes < fit)
        fit = SCRATCH_MEMORY_BYTES / p->scratch_per_segment / p->scratch_bytes;
    if (size > fit)
        size = fit < WINDOW_MIN ? WINDOW_MIN : fit;
    if (size > p->window_segments)
        size = p->window_segments;
    if (size > p->segment_count)
        size = p->segment_count;
    if (size > request->segment_capacity) {
        hp_segment_t *segments = realloc(request->segments, size * sizeof *segments);
        if (!segments)
            return HP_ERR_NO_MEM;
        request->segments = segments;
        request->segment_capacity = size;
    }
    if (size * segment_bytes > request->task_memory_bytes) {
        void *memory = malloc(size * segment_bytes);
        if (!memory)
            return HP_ERR_NO_MEM;
        free(request->task_memory);
        request->task_memory = memory;
        request->task_memory_bytes = size * segment_bytes;
    }
    request->window = (uint32_t)size;
    if (request->trace) {
        const hp_status_t status = hp_record_prepare(request, size);
        if (status != HP_OK)
            return status;
    }
    if (size == 0)
        return HP_OK;
    hp_task_t *tasks = request->task_memory;
    edge_t *edges = (edge_t *)(tasks + size * p->tasks_per_segment);
    for (size_t i = 0; i < size; i++)
        request->segments[i] = (hp_segment_t){.request = request,
                                              .tasks = tasks + i * p->tasks_per_segment,
                                              .edges = edges + i * p->edges_per_segment};
    return HP_OK;
}
