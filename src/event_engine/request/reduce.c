/* reduce: reductions and copies in this rank's memory: by the pipeline's kernel, or by the transport. */
#include "event_engine/request/internal.h"

hp_status_t hp_local_reduce(hp_request_t *request, const char *in, char *inout, size_t count)
{
    const hp_pipeline_t *p = &request->pipeline;
    if (count == 0) /* a barrier */
        return HP_OK;
    if (p->kernel) {
        p->kernel(in, inout, inout, count);
        return HP_OK;
    }
    return request->transport->ops->reduce(request->transport, in, inout, count, &p->type, p->op);
}

hp_status_t hp_local_copy(hp_request_t *request, char *to, const char *from, size_t count)
{
    return request->transport->ops->copy(request->transport, to, from, count, &request->pipeline.type);
}

/* The host MPI's reduction has two buffers. The order of operands is kept: what is in the way of the result
 * moves. */
hp_status_t hp_local_reduce_to(hp_request_t *request, const char *left, char *right, char *result,
                               size_t count)
{
    const hp_pipeline_t *p = &request->pipeline;
    hp_status_t status;

    if (p->kernel) {
        p->kernel(left, right, result, count);
        return HP_OK;
    }
    if (result == right)
        return hp_local_reduce(request, left, right, count);
    if (result == left && p->commutative)
        return hp_local_reduce(request, right, result, count);
    if (result != left) {
        status = hp_local_copy(request, result, right, count);
        return status == HP_OK ? hp_local_reduce(request, left, result, count) : status;
    }
    char *raw = hp_pool_get(request->pool, p->scratch_bytes);
    if (!raw)
        return HP_ERR_NO_MEM;
    char *aside = raw + p->scratch_shift;
    status = hp_local_copy(request, aside, right, count);
    if (status == HP_OK)
        status = hp_local_reduce(request, left, aside, count);
    if (status == HP_OK)
        status = hp_local_copy(request, result, aside, count);
    hp_pool_put(request->pool, raw);
    return status;
}
