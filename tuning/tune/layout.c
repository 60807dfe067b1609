#include "layout.h"

#include <stdio.h>
#include <string.h>

static int ranks_on(const int *node_of, int ranks, int node)
{
    int count = 0;
    for (int r = 0; r < ranks; r++)
        count += node_of[r] == node;
    return count;
}

void tune_layout_init(tune_layout_t *layout, const int *node_of, int ranks)
{
    *layout = (tune_layout_t){.ranks = ranks, .least_ranks = ranks};
    for (int r = 0; r < ranks; r++) {
        const int here = ranks_on(node_of, ranks, node_of[r]);
        if (node_of[r] >= layout->nodes)
            layout->nodes = node_of[r] + 1;
        layout->least_ranks = here < layout->least_ranks ? here : layout->least_ranks;
        layout->most_ranks = here > layout->most_ranks ? here : layout->most_ranks;
    }
}

bool tune_layout_synthetic(const char *topology, int *node_of, int ranks)
{
    int nodes = 0, cores = 1, count, length;
    char level[16];

    while (sscanf(topology, " %15[a-z0-9]:%d%n", level, &count, &length) == 2 && count > 0) {
        if (strcmp(level, "node") == 0)
            nodes = count;
        else
            cores *= count;
        topology += length;
    }
    if (nodes == 0 || topology[strspn(topology, " ")] != '\0')
        return false;
    for (int r = 0; r < ranks; r++)
        node_of[r] = r / cores % nodes;
    return true;
}
