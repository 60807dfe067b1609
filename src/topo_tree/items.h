/* items: the lists in which users name levels: "node:2 core:4", "node:chain core:linear", "node,package".
 *
 * Purpose: one reader for the three of them, so that they take the same separators (blanks and commas) and
 * complain in the same words. Threads: pure. Ownership: an item points into the caller's text. */
#ifndef HP_TOPO_TREE_ITEMS_H
#define HP_TOPO_TREE_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"
#include "topo_tree/level.h"

typedef struct {
    const char *cursor;   /* what is still to be read */
    const char *accepted; /* what may stand behind the colon, for messages; NULL: items have no colon */
    uint32_t seen_mask;   /* levels already read; each may stand once */
    char *error;          /* where a message goes, error_bytes long; may be NULL when that is 0 */
    unsigned error_bytes;
} hp_items_t;

typedef struct {
    hp_level_t level;
    const char *value; /* not terminated; NULL when items have no colon */
    size_t value_bytes;
} hp_item_t;

/* Reads the next item. Returns HP_OK, HP_ERR_NOT_FOUND at the end of the list, or HP_ERR_ARG with a message.
 */
hp_status_t hp_items_next(hp_items_t *items, hp_item_t *item);

/* Writes the message that item's value is none of those accepted; returns HP_ERR_ARG. */
hp_status_t hp_items_refuse_value(const hp_items_t *items, const hp_item_t *item);

#endif
