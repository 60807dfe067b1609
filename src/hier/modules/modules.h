/* modules: the table of all modules, and which of them serves a level.
 *
 * Threads: pure. Ownership: static. */
#ifndef HP_HIER_MODULES_MODULES_H
#define HP_HIER_MODULES_MODULES_H

#include "hier/modules/module.h"

const hp_module_t *hp_module(hp_module_id_t id);

/* The module for a level: the wanted one, or the next one in the order single_copy, shm, p2p that serves it. */
hp_module_id_t hp_module_choose(const hp_comm_t *comm, hp_module_id_t wanted, bool inter_node,
                                const hp_call_t *call);

#endif
