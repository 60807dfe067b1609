/* items: see items.h. Pure; nothing is allocated. */
#include "topo_tree/items.h"

#include <stdio.h>
#include <string.h>

static const char separators[] = " \t\r\n,";

/* The names as ", node, package, ...": messages skip the first two characters. */
static const char accepted_levels[] =
#define X(id, name, text) ", " name
    HP_LEVEL_TABLE(X)
#undef X
    ;

static hp_level_t find_level(const char *name, size_t bytes)
{
    char terminated[16]; /* longer than any level's name; what does not fit is not one */
    if (bytes >= sizeof terminated)
        return HP_LEVEL_COUNT;
    memcpy(terminated, name, bytes);
    terminated[bytes] = '\0';
    return hp_level_find(terminated);
}

hp_status_t hp_items_next(hp_items_t *items, hp_item_t *item)
{
    const char *start = items->cursor + strspn(items->cursor, separators);
    size_t bytes = strcspn(start, separators);
    items->cursor = start + bytes;
    if (bytes == 0)
        return HP_ERR_NOT_FOUND;

    const char *colon = items->accepted ? memchr(start, ':', bytes) : NULL;
    size_t name_bytes = colon ? (size_t)(colon - start) : bytes;
    item->level = find_level(start, name_bytes);
    item->value = colon ? colon + 1 : NULL;
    item->value_bytes = colon ? bytes - name_bytes - 1 : 0;

    if (item->level == HP_LEVEL_COUNT) {
        snprintf(items->error, items->error_bytes, "unknown level '%.*s': accepted are %s", (int)name_bytes,
                 start, accepted_levels + 2);
        return HP_ERR_ARG;
    }
    if (items->seen_mask & (1u << item->level)) {
        snprintf(items->error, items->error_bytes, "level '%s' is named twice: each may be named once",
                 hp_level_name(item->level));
        return HP_ERR_ARG;
    }
    items->seen_mask |= 1u << item->level;
    if (items->accepted && item->value_bytes == 0) {
        snprintf(items->error, items->error_bytes, "level '%s' lacks a value: write %s:VALUE with VALUE %s",
                 hp_level_name(item->level), hp_level_name(item->level), items->accepted);
        return HP_ERR_ARG;
    }
    return HP_OK;
}

hp_status_t hp_items_refuse_value(const hp_items_t *items, const hp_item_t *item)
{
    snprintf(items->error, items->error_bytes, "'%.*s' cannot be the value of level '%s': accepted is %s",
             (int)item->value_bytes, item->value, hp_level_name(item->level), items->accepted);
    return HP_ERR_ARG;
}
