#include "sim/waitall_control.h"

#include <stdlib.h>
#include "sim/elements.h"

/* One rank. Segment `current` is the one it waits for or is sending. */
typedef struct {
    hp_transport_t *transport;
    char *buffer;
    hp_neighbors_t neighbors;
    size_t posted, current; /* segments: receives posted; finished with */
    bool *arrived;          /* [segment]; the address is the receive's cookie */
    uint32_t sending;       /* sends of the current segment under way; the address is their cookie */
    bool sent;              /* the current segment is */
} walker_t;

struct control {
    control_config_t config;
    hp_type_t type;
    size_t segment_count;
    walker_t *walkers;
};

enum { TAG = 1, POLL_BATCH = 64 };

static size_t segment_size(const control_t *control, size_t segment)
{
    const size_t left = control->config.bytes - segment * control->config.segment_bytes;
    return left < control->config.segment_bytes ? left : control->config.segment_bytes;
}

static hp_status_t post_receive(control_t *control, walker_t *walker)
{
    const size_t segment = walker->posted;
    if (walker->neighbors.parent < 0 || segment == control->segment_count)
        return HP_OK;
    walker->posted++;
    return walker->transport->ops->irecv(walker->transport,
                                         walker->buffer + segment * control->config.segment_bytes,
                                         segment_size(control, segment), &control->type,
                                         (uint32_t)walker->neighbors.parent, TAG, &walker->arrived[segment]);
}

static hp_status_t send_to_children(control_t *control, walker_t *walker)
{
    hp_status_t status = HP_OK;
    for (uint32_t i = 0; i < walker->neighbors.child_count && status == HP_OK; i++) {
        walker->sending++;
        status = walker->transport->ops->isend(
            walker->transport, walker->buffer + walker->current * control->config.segment_bytes,
            segment_size(control, walker->current), &control->type, walker->neighbors.children[i], TAG,
            &walker->sending);
    }
    walker->sent = true;
    return status;
}

/* Goes on until it has to wait. */
static hp_status_t walk(control_t *control, walker_t *walker)
{
    hp_status_t status = HP_OK;
    while (walker->current < control->segment_count && status == HP_OK) {
        if (!walker->sent) {
            if (walker->neighbors.parent >= 0 && !walker->arrived[walker->current])
                return HP_OK;
            status = send_to_children(control, walker);
        } else if (walker->sending) {
            return HP_OK;
        } else {
            walker->sent = false;
            walker->current++;
            status = post_receive(control, walker);
        }
    }
    return status;
}

static hp_status_t control_start(void *context, uint32_t rank)
{
    control_t *control = context;
    walker_t *walker = &control->walkers[rank];
    hp_status_t status = post_receive(control, walker);
    if (status == HP_OK)
        status = post_receive(control, walker);
    return status == HP_OK ? walk(control, walker) : status;
}

static hp_status_t control_progress(void *context, uint32_t rank, bool *moved)
{
    control_t *control = context;
    walker_t *walker = &control->walkers[rank];
    void *done[POLL_BATCH];
    uint32_t count;

    hp_status_t status = walker->transport->ops->poll(walker->transport, done, POLL_BATCH, &count);
    *moved = count > 0;
    for (uint32_t i = 0; i < count; i++) {
        if (done[i] == &walker->sending)
            walker->sending--;
        else
            *(bool *)done[i] = true;
    }
    return status == HP_OK ? walk(control, walker) : status;
}

static bool control_done(void *context, uint32_t rank)
{
    const control_t *control = context;
    return control->walkers[rank].current == control->segment_count;
}

const sim_program_t control_program = {control_start, control_progress, control_done};

control_t *control_create(sim_t *sim, const control_config_t *config)
{
    control_t *control = sim_alloc(1, sizeof *control);
    control->config = *config;
    control->type = elements_type(ELEMENTS_BYTES);
    control->segment_count = (config->bytes + config->segment_bytes - 1) / config->segment_bytes;
    control->walkers = sim_alloc(config->rank_count, sizeof *control->walkers);
    for (uint32_t rank = 0; rank < config->rank_count; rank++) {
        walker_t *walker = &control->walkers[rank];
        walker->transport = sim_transport(sim, rank);
        walker->buffer = config->buffers[rank];
        walker->arrived = sim_alloc(control->segment_count, sizeof *walker->arrived);
        if (hp_neighbors_init(&walker->neighbors, config->hierarchy, &config->shapes, config->root, rank) !=
            HP_OK)
            abort();
    }
    return control;
}

void control_destroy(control_t *control)
{
    for (uint32_t rank = 0; rank < control->config.rank_count; rank++) {
        free(control->walkers[rank].arrived);
        hp_neighbors_fini(&control->walkers[rank].neighbors);
    }
    free(control->walkers);
    free(control);
}
