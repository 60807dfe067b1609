#include "hier/collectives/block_roles.h"

bool hp_block_each_reader(hp_pattern_t pattern)
{
    return pattern == HP_PATTERN_ALLTOALL || pattern == HP_PATTERN_SCATTER ||
           pattern == HP_PATTERN_REDUCE_SCATTER;
}

char *hp_block_result(const hp_call_t *call, uint32_t rank)
{
    const hp_pattern_t pattern = hp_collective_pattern(call->collective);
    const bool has_all =
        pattern == HP_PATTERN_ALLGATHER || pattern == HP_PATTERN_GATHER || pattern == HP_PATTERN_ALLTOALL;
    char *recv = call->recv;

    if (call->blocks && call->blocks->recv.offsets)
        return recv + call->blocks->recv.offsets[has_all ? rank : 0];
    return has_all ? recv + call->count * call->type.bytes * rank : recv;
}

static void find_sources(hp_block_roles_t *roles, const hp_call_t *call)
{
    const bool is_root = roles->me == call->root;

    roles->writes = roles->pattern != HP_PATTERN_SCATTER || is_root;
    roles->first = 0;
    roles->end = roles->ranks;
    if (roles->pattern == HP_PATTERN_GATHER && !is_root)
        roles->end = 0;
    if (roles->pattern == HP_PATTERN_SCATTER) {
        roles->first = call->root;
        roles->end = is_root && hp_call_is_in_place(call) ? call->root : call->root + 1;
    }
    if (roles->pattern == HP_PATTERN_SCAN || roles->pattern == HP_PATTERN_EXSCAN)
        roles->end = roles->me + (roles->pattern == HP_PATTERN_SCAN);
}

hp_block_roles_t hp_block_roles(const hp_start_t *start, const hp_call_t *call)
{
    hp_block_roles_t roles = {.pattern = hp_collective_pattern(call->collective),
                              .me = start->comm->rank,
                              .ranks = start->comm->size};
    uint32_t *members = hp_arena_get(start->arena, roles.ranks * sizeof *members);

    for (uint32_t rank = 0; rank < roles.ranks && members; rank++)
        members[rank] = hp_comm_node_member(start->comm, rank);
    roles.members = members;
    find_sources(&roles, call);
    return roles;
}
