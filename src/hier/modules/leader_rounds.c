#include "hier/modules/leader_rounds.h"

/* Rounds of so many leaders. */
static uint32_t count_rounds(uint32_t nodes, uint64_t leaders)
{
    uint32_t rounds = 0;

    for (uint64_t heard = 1; heard < nodes; heard *= leaders + 1)
        rounds++;
    return rounds;
}

hp_leader_rounds_t hp_leader_rounds(uint32_t nodes, uint32_t ranks)
{
    hp_leader_rounds_t rounds = {.count = count_rounds(nodes, ranks), .leaders = 1};

    if (rounds.count >= count_rounds(nodes, 1))
        return (hp_leader_rounds_t){.leaders = 1};
    while (count_rounds(nodes, rounds.leaders) > rounds.count)
        rounds.leaders++;
    return rounds;
}

hp_leader_rounds_t hp_leader_rounds_of(uint32_t nodes, uint32_t ranks, const hp_setting_t *setting)
{
    const bool wanted =
        nodes > 1 && setting->leaders > 1 && setting->modules.module[HP_LEVEL_NODE] != HP_MODULE_NATIVE;
    return wanted ? hp_leader_rounds(nodes, ranks) : (hp_leader_rounds_t){.leaders = 1};
}

uint32_t hp_leader_rounds_distance(const hp_leader_rounds_t *rounds, uint32_t nodes, uint32_t round,
                                   uint32_t leader)
{
    uint64_t distance = leader + 1;

    for (uint32_t k = 0; k < round; k++)
        distance *= rounds->leaders + 1;
    return leader < rounds->leaders && distance < nodes ? (uint32_t)distance : 0;
}

/* Which of its node's ranks, in the order in which they lead. */
static uint32_t place_of(const hp_hierarchy_t *h, uint32_t rank)
{
    uint32_t count, place = 0;
    const uint32_t *ranks = hp_hierarchy_node_ranks(h, rank, &count);

    while (ranks[place] != rank)
        place++;
    return place;
}

/* Those who have the same place in their nodes. */
static hp_team_t team_of(const hp_hierarchy_t *h, uint32_t rank, uint32_t place)
{
    uint32_t count;
    const uint32_t *first = hp_hierarchy_node_ranks(h, hp_hierarchy_node_leader(h, 0), &count);
    const hp_leaders_t leaders = {.root = first[place], .leader = place};

    return hp_team_of(h, &leaders, 0, rank);
}

hp_leader_lanes_t *hp_leader_rounds_prepare(const hp_leader_rounds_t *rounds, const hp_start_t *start,
                                            const hp_hierarchy_t *h, const hp_setting_t *setting)
{
    const uint32_t rank = start->comm->rank, place = place_of(h, rank);
    hp_leader_lanes_t *lanes = hp_arena_get(start->arena, rounds->count * sizeof *lanes);

    for (uint32_t round = 0; lanes && round < rounds->count; round++) {
        const uint32_t nodes = hp_hierarchy_node_count(h);
        const uint32_t distance = hp_leader_rounds_distance(rounds, nodes, round, place);
        lanes[round] = (hp_leader_lanes_t){-1, -1};
        if (distance == 0)
            continue;
        const hp_team_t team = team_of(h, rank, place);
        const uint32_t to = hp_team_rank(&team, (team.position + distance) % nodes),
                       from = hp_team_rank(&team, (team.position + nodes - distance) % nodes);
        /* Within a node there are other peers, and in other rounds. */
        lanes[round].send = hp_request_new_lane(start->request, HP_LANE_SEND, to, 0,
                                                hp_setting_lane_limit(setting, HP_LANE_SEND));
        lanes[round].recv = hp_request_new_lane(start->request, HP_LANE_RECV, from, 0,
                                                hp_setting_lane_limit(setting, HP_LANE_RECV));
        if (lanes[round].send < 0 || lanes[round].recv < 0)
            return NULL;
    }
    return lanes;
}

void hp_leader_rounds_emit(const hp_leader_lanes_t *lanes, hp_segment_t *segment, const hp_flow_t *flow)
{
    const hp_leader_lanes_t *round = &lanes[flow->index];

    if (round->send < 0)
        return;
    hp_emit_after(hp_emit_send(segment, round->send, flow->own, 0), flow->ready);
    hp_emit_recv(segment, round->recv, flow->own, 0);
}
