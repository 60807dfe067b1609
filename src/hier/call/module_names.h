/* module_words: the modules' names, and which one runs each level.
 *
 * Threads: pure. Ownership: plain data. */
#ifndef HP_HIER_CALL_MODULE_NAMES_H
#define HP_HIER_CALL_MODULE_NAMES_H

#include <stdint.h>
#include "base/status.h"
#include "topo_tree/locality.h"

typedef enum {
#define HP_MODULE(id, name, description) HP_MODULE_##id,
#include "hier/call/modules.def"
#undef HP_MODULE
    HP_MODULE_COUNT
} hp_module_id_t;

/* module[HP_LEVEL_NODE] joins the nodes; those of the other levels join ranks within a node. */
typedef struct {
    uint8_t module[HP_LEVEL_COUNT]; /* hp_module_id_t */
} hp_modules_t;

const char *hp_module_name(hp_module_id_t id);
const char *hp_module_description(hp_module_id_t id);

/* Parses "node:p2p core:shm" over *inout (levels not named keep theirs). HP_OK, or HP_ERR_ARG with a message
 * naming what is wrong and what is accepted. */
hp_status_t hp_modules_parse(const char *text, hp_modules_t *inout, char *error, unsigned error_bytes);

/* The modules of the levels in the set (bit 1 << HP_LEVEL_x), as hp_modules_parse reads them. Returns buffer.
 */
const char *hp_modules_format(const hp_modules_t *chosen, uint32_t levels, char *buffer,
                              unsigned buffer_bytes);

#endif
