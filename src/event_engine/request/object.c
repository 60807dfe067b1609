/* object: a request, its plan, its lanes and its counters; request.h says the rest. */
#include "event_engine/request/internal.h"

#include <assert.h>
#include <stdlib.h>

hp_status_t hp_request_create(hp_transport_t *transport, hp_pool_t *pool, hp_request_t **out)
{
    hp_request_t *request = calloc(1, sizeof *request);
    if (!request)
        return HP_ERR_NO_MEM;
    request->transport = transport;
    request->pool = pool;
    request->first_awaited = request->last_awaited = -1;
    *out = request;
    return HP_OK;
}

void hp_request_reclaim(hp_request_t *request)
{
    if (request->pool->retired && hp_transport_ended(request->transport))
        hp_pool_reclaim(request->pool);
}

void hp_request_destroy(hp_request_t *request)
{
    if (!request)
        return;
    assert(hp_request_done(request));
    hp_request_reclaim(request);
    free(request->records);
    free(request->task_memory);
    free(request->segments);
    free(request->lanes);
    free(request->plan);
    free(request);
}

void *hp_request_plan(hp_request_t *request, size_t plan_bytes)
{
    assert(hp_request_done(request));
    request->lane_count = 0;
    request->used_buckets = 0;
    request->first_awaited = request->last_awaited = -1;
    if (plan_bytes > request->plan_bytes) {
        void *plan = realloc(request->plan, plan_bytes);
        if (!plan)
            return NULL;
        request->plan = plan;
        request->plan_bytes = plan_bytes;
    }
    return request->plan;
}

static int32_t add_lane(hp_request_t *request, const lane_t *lane)
{
    if (request->lane_count == request->lane_capacity) {
        uint32_t capacity = request->lane_capacity ? 2 * request->lane_capacity : 16;
        lane_t *lanes = realloc(request->lanes, capacity * sizeof *lanes);
        if (!lanes)
            return -1;
        request->lanes = lanes;
        request->lane_capacity = capacity;
    }
    request->lanes[request->lane_count] = *lane;
    return (int32_t)request->lane_count++;
}

static unsigned bucket_of(hp_direction_t direction, uint32_t peer, uint32_t tag)
{
    return (peer + tag * 31 + (unsigned)direction * 17) % LANE_BUCKETS;
}

int32_t hp_request_new_lane(hp_request_t *request, hp_direction_t direction, uint32_t peer, uint32_t tag,
                            uint32_t limit)
{
    const unsigned bucket = bucket_of(direction, peer, tag);
    const uint64_t bit = UINT64_C(1) << bucket;
    const int32_t lane = add_lane(
        request, &(lane_t){.kind = (lane_kind_t)direction,
                           .peer = peer,
                           .tag = tag,
                           .limit = limit ? limit : 1,
                           .next_same = request->used_buckets & bit ? request->buckets[bucket] : -1});
    if (lane >= 0) {
        request->buckets[bucket] = lane;
        request->used_buckets |= bit;
    }
    return lane;
}

int32_t hp_request_lane(hp_request_t *request, hp_direction_t direction, uint32_t peer, uint32_t tag,
                        uint32_t limit)
{
    const unsigned bucket = bucket_of(direction, peer, tag);
    int32_t i = request->used_buckets & UINT64_C(1) << bucket ? request->buckets[bucket] : -1;

    for (; i >= 0; i = request->lanes[i].next_same) {
        const lane_t *lane = &request->lanes[i];
        if (lane->peer == peer && lane->kind == (lane_kind_t)direction && lane->tag == tag)
            return i;
    }
    return hp_request_new_lane(request, direction, peer, tag, limit);
}

int32_t hp_request_wait_lane(hp_request_t *request, const hp_counter_t *counter, bool compares)
{
    return add_lane(request,
                    &(lane_t){.kind = LANE_WAIT, .counter = (hp_counter_t *)counter, .notes = compares});
}

int32_t hp_request_set_lane(hp_request_t *request, hp_counter_t *counter, bool notes)
{
    return add_lane(request, &(lane_t){.kind = LANE_SET, .counter = counter, .limit = 1, .notes = notes});
}

int32_t hp_request_advance_lane(hp_request_t *request, bool is_awaited)
{
    return add_lane(request, &(lane_t){.kind = LANE_ADVANCE, .is_late = !is_awaited, .limit = 1});
}

int32_t hp_request_native_lane(hp_request_t *request, hp_handle_t comm)
{
    for (uint32_t i = 0; i < request->lane_count; i++)
        if (request->lanes[i].kind == LANE_NATIVE && request->lanes[i].comm == comm)
            return (int32_t)i;
    return add_lane(request, &(lane_t){.kind = LANE_NATIVE, .comm = comm, .limit = 1});
}

bool hp_request_done(const hp_request_t *request)
{
    return request->done_segments == request->pipeline.segment_count;
}

void hp_request_set_longer(hp_request_t *request, uint64_t bytes)
{
    if (bytes > request->longer_bytes)
        request->longer_bytes = bytes;
}

uint64_t hp_request_segments_missed(const hp_request_t *request)
{
    const hp_pipeline_t *p = &request->pipeline;

    if (!request->longer_bytes || !p->segment_bytes)
        return 0;
    const uint64_t elements = request->longer_bytes / p->type.bytes, whole = p->segment_bytes / p->type.bytes,
                   segments = whole > 1 ? (elements + whole - 1) / whole : elements;
    return segments > p->segment_count ? segments - p->segment_count : 0;
}

const hp_request_counters_t *hp_request_counters(const hp_request_t *request)
{
    return &request->counters;
}
