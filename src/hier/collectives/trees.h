/* trees: algorithms that take the whole tree of all ranks at once.
 *
 * Threads: as comm.h. Ownership: plans live in the request. */
#ifndef HP_HIER_COLLECTIVES_TREES_H
#define HP_HIER_COLLECTIVES_TREES_H

#include "hier/call/setting.h"
#include "hier/comm/start.h"

hp_status_t hp_bcast_tree_start(const hp_start_t *start, const hp_call_t *call, const hp_setting_t *setting);
hp_status_t hp_reduce_tree_start(const hp_start_t *start, const hp_call_t *call, const hp_setting_t *setting);
hp_status_t hp_allreduce_tree_start(const hp_start_t *start, const hp_call_t *call,
                                    const hp_setting_t *setting);
hp_status_t hp_allreduce_recursive_doubling_start(const hp_start_t *start, const hp_call_t *call,
                                                  const hp_setting_t *setting);

bool hp_messages_runs_alone(hp_comm_t *comm, const hp_call_t *call, const hp_setting_t *setting);
#define hp_bcast_tree_runs_alone                   hp_messages_runs_alone
#define hp_reduce_tree_runs_alone                  hp_messages_runs_alone
#define hp_allreduce_tree_runs_alone               hp_messages_runs_alone
#define hp_allreduce_recursive_doubling_runs_alone hp_messages_runs_alone

#endif
