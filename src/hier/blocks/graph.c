#include "hier/blocks/graph.h"

#include <stdlib.h>
#include <string.h>

void *hp_block_graph_append(hp_block_graph_t *graph, hp_growing_t *list, size_t bytes)
{
    static _Thread_local char lost[128];

    if (list->count == list->room) {
        const uint32_t room = list->room ? 2 * list->room : 64;
        void *more = realloc(list->entries, room * bytes);
        if (!more) {
            graph->status = HP_ERR_NO_MEM;
            return memset(lost, 0, bytes);
        }
        list->entries = more;
        list->room = room;
    }
    return memset((char *)list->entries + list->count++ * bytes, 0, bytes);
}

static hp_block_operation_t *operation_at(const hp_block_graph_t *graph, uint32_t i)
{
    return (hp_block_operation_t *)graph->operations.entries + i;
}

hp_block_operation_t *hp_block_graph_add(hp_block_graph_t *graph, hp_block_do_t what, size_t count)
{
    hp_block_operation_t *operation = hp_block_graph_append(graph, &graph->operations, sizeof *operation);

    operation->what = (uint8_t)what;
    operation->lane = HP_GRAPH_NOTHING;
    operation->count = count;
    operation->first_after = graph->after.count;
    if (graph->operations.room > graph->awaited_room) {
        uint32_t *more = realloc(graph->awaited_by, graph->operations.room * sizeof *more);
        if (!more) {
            graph->status = HP_ERR_NO_MEM;
            return operation;
        }
        memset(more + graph->awaited_room, 0, (graph->operations.room - graph->awaited_room) * sizeof *more);
        graph->awaited_by = more;
        graph->awaited_room = graph->operations.room;
    }
    return operation;
}

static uint32_t newest(const hp_block_graph_t *graph)
{
    return graph->operations.count - 1;
}

void hp_block_graph_wait(hp_block_graph_t *graph, int32_t before)
{
    if (graph->status != HP_OK || before == HP_GRAPH_NOTHING || before == (int32_t)newest(graph) ||
        graph->awaited_by[before] == graph->operations.count)
        return;
    graph->awaited_by[before] = graph->operations.count;
    *(uint32_t *)hp_block_graph_append(graph, &graph->after, sizeof(uint32_t)) = (uint32_t)before;
    operation_at(graph, newest(graph))->after_count++;
}

void hp_block_graph_read(hp_block_graph_t *graph, hp_block_state_t *state)
{
    if (graph->status != HP_OK)
        return;
    hp_block_graph_wait(graph, state->writer);
    hp_block_reader_t *reader = hp_block_graph_append(graph, &graph->readers, sizeof *reader);
    *reader = (hp_block_reader_t){.operation = newest(graph), .next = state->first_reader};
    state->first_reader = graph->readers.count;
}

void hp_block_graph_write(hp_block_graph_t *graph, hp_block_state_t *state)
{
    if (graph->status != HP_OK)
        return;
    hp_block_graph_wait(graph, state->writer);
    for (uint32_t r = state->first_reader; r > 0;) {
        const hp_block_reader_t *reader = (hp_block_reader_t *)graph->readers.entries + (r - 1);
        hp_block_graph_wait(graph, (int32_t)reader->operation);
        r = reader->next;
    }
    state->first_reader = 0;
    state->writer = (int32_t)newest(graph);
}

void hp_block_graph_fini(hp_block_graph_t *graph)
{
    free(graph->operations.entries);
    free(graph->after.entries);
    free(graph->readers.entries);
    free(graph->awaited_by);
}
