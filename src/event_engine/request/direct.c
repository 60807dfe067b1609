/* direct: a collective without tasks: a step of the algorithm's own, called until it is done. */
#include "event_engine/request/internal.h"

#include <assert.h>

void hp_direct_step(hp_request_t *request)
{
    if (request->step(request, request->direct) || request->error != HP_OK)
        request->done_segments = 1;
}

static hp_status_t start(hp_request_t *request)
{
    request->done_segments = 0;
    request->error = HP_OK;
    request->longer_bytes = 0;
    request->counters = (hp_request_counters_t){0};
    hp_direct_step(request);
    return request->error == HP_OK ? request_outcome(request) : request->error;
}

hp_status_t hp_request_start_direct(hp_request_t *request, const hp_pipeline_t *pipeline, hp_step_fn_t first,
                                    hp_direct_t *direct)
{
    assert(hp_request_done(request));
    request->pipeline = *pipeline;
    request->pipeline.segment_count = 1;
    request->step = first;
    request->direct = direct;
    return start(request);
}

hp_status_t hp_request_start_direct_again(hp_request_t *request)
{
    assert(hp_request_done(request) && request->step);
    return start(request);
}

void hp_request_reduce(hp_request_t *request, const void *left, void *right, void *result, size_t count)
{
    request->counters.reductions++;
    const hp_status_t status = hp_local_reduce_to(request, left, right, result, count);
    if (status != HP_OK)
        request->error = status;
}

static bool outcome(hp_request_t *request, hp_status_t status)
{
    if (status != HP_OK)
        request->error = status;
    return status == HP_OK;
}

bool hp_request_pull(hp_request_t *request, uint32_t member, const void *from, void *to, size_t bytes)
{
    request->counters.pulls++;
    return outcome(request, hp_node_pull(request->pipeline.node, member, from, to, bytes));
}

bool hp_request_push(hp_request_t *request, uint32_t member, const void *from, void *to, size_t bytes)
{
    request->counters.pushes++;
    return outcome(request, hp_node_push(request->pipeline.node, member, from, to, bytes));
}
