#include "hier/modules/modules.h"

static const hp_module_t *const modules[] = {
#define HP_MODULE(id, name, description) &hp_module_##name,
#include "hier/call/modules.def"
#undef HP_MODULE
};

const hp_module_t *hp_module(hp_module_id_t id)
{
    return modules[id];
}

static bool serves(hp_module_id_t id, const hp_comm_t *comm, bool inter_node, const hp_call_t *call)
{
    return modules[id]->serves(comm, inter_node, call);
}

hp_module_id_t hp_module_choose(const hp_comm_t *comm, hp_module_id_t wanted, bool inter_node,
                                const hp_call_t *call)
{
    if (wanted == HP_MODULE_SINGLE_COPY && !serves(wanted, comm, inter_node, call))
        wanted = HP_MODULE_SHM;
    return serves(wanted, comm, inter_node, call) ? wanted : HP_MODULE_P2P;
}
