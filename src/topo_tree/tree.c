/* tree: one rank's neighbours, from the groups that the rank is in and the position of each in its parent
 * group.
 *
 * Reference: X. Luo, dissertation 2020, section 4.2.2, for leaders and re-shaping.
 * In the tree of one root each group has a leader (team.h). A rank leads its groups from the innermost one outward up
 * to some depth, its top group (the root: all of them). Then its
 *   parent    is found in the group around its top group: the leader of the sub-group above its own in that shape;
 *   children  are found in that same group, below its own position, and then in each group it leads, at position 0.
 * Threads and ownership: see tree.h. */
#include "topo_tree/tree.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "topo_tree/items.h"
#include "topo_tree/team.h"

/* Adds the children that rank has in its group of that depth: appends them to *out, or only counts them when
 * there is no array yet. room: how many more the array takes. */
static void add_children(hp_neighbors_t *out, const hp_hierarchy_t *h, const hp_shapes_t *shapes,
                         const hp_leaders_t *leaders, uint32_t rank, uint32_t depth, uint32_t room)
{
    const hp_team_t team = hp_team_of(h, leaders, depth, rank);
    const uint32_t count = hp_team_children(&team, shapes->shape[team.level],
                                            room ? out->children + out->child_count : NULL, room);

    if (room)
        memset(out->child_level + out->child_count, team.level, count);
    out->child_count += count;
}

hp_status_t hp_neighbors_init(hp_neighbors_t *out, const hp_hierarchy_t *h, const hp_shapes_t *shapes,
                              uint32_t root, uint32_t rank)
{
    const hp_leaders_t leaders = {.root = root};

    *out = (hp_neighbors_t){.parent = -1, .parent_level = HP_LEVEL_COUNT};
    if (root >= hp_hierarchy_rank_count(h) || rank >= hp_hierarchy_rank_count(h))
        return HP_ERR_ARG;
    uint32_t level_count = hp_hierarchy_level_count(h);
    for (uint32_t i = 0; i < level_count; i++) {
        if ((unsigned)shapes->shape[hp_hierarchy_level(h, i)] >= HP_SHAPE_COUNT)
            return HP_ERR_ARG;
    }

    uint32_t top = hp_leader_top(h, &leaders, rank);
    uint32_t outermost = top > 0 ? top - 1 : 0; /* the outermost group in which rank has a position */
    if (top > 0) {
        const hp_team_t team = hp_team_of(h, &leaders, outermost, rank);
        out->parent = hp_team_parent(&team, shapes->shape[team.level]);
        out->parent_level = (uint8_t)team.level;
    }

    for (uint32_t depth = outermost; depth < level_count; depth++)
        add_children(out, h, shapes, &leaders, rank, depth, 0);
    uint32_t total = out->child_count;
    if (total == 0)
        return HP_OK;
    out->child_count = 0;
    out->children = malloc(total * sizeof *out->children);
    out->child_level = malloc(total * sizeof *out->child_level);
    if (out->children == NULL || out->child_level == NULL) {
        hp_neighbors_fini(out);
        return HP_ERR_NO_MEM;
    }
    for (uint32_t depth = outermost; depth < level_count && out->child_count < total; depth++)
        add_children(out, h, shapes, &leaders, rank, depth, total - out->child_count);
    return HP_OK;
}

void hp_neighbors_fini(hp_neighbors_t *neighbors)
{
    free(neighbors->child_level);
    free(neighbors->children);
    *neighbors = (hp_neighbors_t){.parent = -1, .parent_level = HP_LEVEL_COUNT};
}

/* The names as ", linear, chain, ...": the message skips the first two characters. */
static const char accepted_shapes[] =
#define X(id, name, text) ", " #name
    HP_SHAPE_TABLE(X)
#undef X
    ;

static hp_shape_t find_shape(const hp_item_t *item)
{
    char name[16]; /* longer than any shape's name; what does not fit is not one */
    if (item->value_bytes >= sizeof name)
        return HP_SHAPE_COUNT;
    memcpy(name, item->value, item->value_bytes);
    name[item->value_bytes] = '\0';
    return hp_shape_find(name);
}

hp_status_t hp_shapes_parse(const char *text, hp_shapes_t *inout, char *error, unsigned error_bytes)
{
    hp_items_t items = {
        .cursor = text, .accepted = accepted_shapes + 2, .error = error, .error_bytes = error_bytes};
    hp_shapes_t shapes = *inout;
    hp_item_t item;
    hp_status_t status;
    while ((status = hp_items_next(&items, &item)) == HP_OK) {
        hp_shape_t shape = find_shape(&item);
        if (shape == HP_SHAPE_COUNT)
            return hp_items_refuse_value(&items, &item);
        shapes.shape[item.level] = shape;
    }
    if (status != HP_ERR_NOT_FOUND)
        return status;
    *inout = shapes;
    return HP_OK;
}

const char *hp_shapes_format(const hp_shapes_t *shapes, uint32_t levels, char *buffer, unsigned buffer_bytes)
{
    unsigned used = 0;

    buffer[0] = '\0';
    for (unsigned level = 0; level < HP_LEVEL_COUNT && used < buffer_bytes; level++)
        if (levels & 1u << level)
            used += (unsigned)snprintf(buffer + used, buffer_bytes - used, "%s%s:%s", used ? " " : "",
                                       hp_level_name((hp_level_t)level),
                                       hp_shape_info(shapes->shape[level])->name);
    return buffer;
}

hp_status_t hp_levels_parse(const char *text, uint32_t *mask, char *error, unsigned error_bytes)
{
    hp_items_t items = {.cursor = text, .error = error, .error_bytes = error_bytes};
    hp_item_t item;
    hp_status_t status;
    do
        status = hp_items_next(&items, &item);
    while (status == HP_OK);
    if (status != HP_ERR_NOT_FOUND)
        return status;
    *mask = items.seen_mask;
    return HP_OK;
}
