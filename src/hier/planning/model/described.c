#include "hier/planning/model/described.h"

#include <stdlib.h>
#include "base/least.h"

/* Processor time of a message at each end, of TCP (tests/smpi/README.md). */
static const double message_us = 1.5;

/* Of inside a node, as the machines of tests/unit/test_model.c have it. */
static const hp_probes_t usual = {.flag_us = 0.2,
                                  .inside_us = 0.6,
                                  .inside_rate = 5000,
                                  .between_cpu_us = message_us,
                                  .copy_rate = 10000,
                                  .reduce_rate = 5000,
                                  .overlap = 0.8};

/* Of links without a limit. */
static const double believable = 1e6;

/* Adds the way from one machine to another. */
static void add_way(const hp_placement_t *places, uint32_t from, uint32_t to, uint32_t *path,
                    hp_probes_t *probes)
{
    const hp_network_t *network = places->network;
    const uint32_t links = hp_network_path(network, places->machines[from], places->machines[to], path);
    double us = 2 * message_us;

    for (uint32_t k = 0; k < links; k++)
        us += hp_network_link(network, path[k]).speed.latency_us;
    probes->between_us = hp_most_double(probes->between_us, us);
}

bool hp_probes_described(const hp_layout_t *layout, hp_probes_t *out)
{
    if (!layout->network || layout->nodes < 2)
        return false;
    const hp_placement_t *places = &layout->network->places;
    uint32_t *path = malloc(hp_network_path_most(places->network) * sizeof *path);
    if (!path)
        return false;
    *out = usual;
    out->cores = layout->most_ranks;
    out->between_rate = believable;
    for (uint32_t i = 1; i < places->count; i++)
        if (places->machines[i] != places->machines[0]) {
            add_way(places, 0, i, path, out);
            add_way(places, i, 0, path, out);
        }
    free(path);
    if (out->between_us > 0) /* they are on several machines */
        out->between_rate = hp_least_double(believable, hp_placement_rate(places));
    return true;
}
