#include "event_engine/mem/node_layout.h"

enum { PAGE = HP_NODE_PAGE };
_Static_assert((1 + HP_NOTES) * sizeof(hp_counter_t) <= HP_NODE_LINE,
               "the notes are in their counter's line");

static size_t counters_bytes(const hp_node_shape_t *shape)
{
    return HP_COUNTER_BYTES * (HP_FIRST_RING + (size_t)shape->levels * HP_FAN_COUNT);
}

size_t hp_node_slots_at(const hp_node_shape_t *shape)
{
    return counters_bytes(shape) + sizeof(hp_cell_t) * HP_CELLS * HP_FAN_COUNT;
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

size_t hp_node_slot_bytes(const hp_node_shape_t *shape)
{
    return (size_t)shape->levels * HP_FAN_COUNT * shape->slots * shape->slot_bytes;
}

size_t hp_node_head_bytes(const hp_node_shape_t *shape)
{
    return whole_pages(offsetof(hp_node_head_t, sleepers) + hp_node_sleeper_words(shape) * sizeof(uint64_t));
}

/* A member's part begins on a page of its own, so that the pages lie in its memory when it touches them
 * first. */
size_t hp_node_member_bytes(const hp_node_shape_t *shape)
{
    return whole_pages(hp_node_slots_at(shape) + hp_node_slot_bytes(shape));
}

size_t hp_node_memory_bytes(const hp_node_shape_t *shape)
{
    return hp_node_head_bytes(shape) + shape->members * hp_node_member_bytes(shape);
}

size_t hp_node_pool_ring_bytes(const hp_node_shape_t *shape)
{
    return whole_pages(shape->slots * shape->slot_bytes);
}

size_t hp_node_pool_bytes(const hp_node_shape_t *shape)
{
    return shape->pool_rings ? PAGE + shape->pool_rings * hp_node_pool_ring_bytes(shape) : 0;
}

hp_counter_t *hp_node_done(const hp_node_memory_t *memory, uint32_t member)
{
    return (hp_counter_t *)hp_node_part(memory, member);
}

uint32_t hp_node_owner(const hp_node_memory_t *memory, const hp_counter_t *counter)
{
    return (uint32_t)((size_t)((const char *)counter - memory->base - memory->head_bytes) /
                      memory->member_bytes);
}

hp_node_buffer_t *hp_node_buffer(const hp_node_memory_t *memory, uint32_t member, hp_fan_t fan)
{
    return (hp_node_buffer_t *)(hp_node_part(memory, member) + HP_COUNTER_BYTES) + fan;
}

hp_bell_t *hp_node_bell(const hp_node_memory_t *memory, uint32_t member)
{
    return (hp_bell_t *)(hp_node_part(memory, member) + 2 * HP_COUNTER_BYTES);
}

hp_counter_t *hp_node_counter(const hp_node_memory_t *memory, uint32_t member, uint32_t level, hp_fan_t fan)
{
    return (hp_counter_t *)(hp_node_part(memory, member) +
                            HP_COUNTER_BYTES * (HP_FIRST_RING + level * HP_FAN_COUNT + fan));
}

hp_cell_t *hp_node_cell(const hp_node_memory_t *memory, uint32_t member, hp_fan_t fan, uint64_t step)
{
    hp_cell_t *cells = (hp_cell_t *)(hp_node_part(memory, member) + counters_bytes(&memory->shape));
    return &cells[(uint64_t)fan * HP_CELLS + step % HP_CELLS];
}

bool hp_node_is_clear(hp_node_memory_t *memory, uint64_t step)
{
    if (step <= memory->cleared)
        return true;
    uint64_t lowest = UINT64_MAX;
    for (uint32_t member = 0; member < memory->shape.members; member++) {
        const uint64_t done = atomic_load_explicit(hp_node_done(memory, member), memory_order_acquire);
        lowest = done < lowest ? done : lowest;
    }
    memory->cleared = lowest;
    return step <= lowest;
}

const hp_counter_t *hp_node_behind(hp_node_memory_t *memory, uint64_t step)
{
    const hp_counter_t *behind = NULL;

    for (uint32_t member = 0; member < memory->shape.members && !behind; member++)
        if (atomic_load_explicit(hp_node_done(memory, member), memory_order_acquire) < step)
            behind = hp_node_done(memory, member);
    return behind;
}
