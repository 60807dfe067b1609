#include "fair.h"

#include <math.h>

/* The link whose share is least; link_count: none of those that are used is limited. */
static uint32_t narrowest(const fair_t *fair)
{
    uint32_t narrow = fair->link_count;
    double least = INFINITY;

    for (uint32_t l = 0; l < fair->link_count; l++)
        if (fair->users[l] > 0 && fair->left[l] / fair->users[l] < least) {
            least = fair->left[l] / fair->users[l];
            narrow = l;
        }
    return narrow;
}

static bool uses(const fair_t *fair, uint32_t flow, uint32_t link)
{
    for (uint32_t i = fair->first[flow]; i < fair->first[flow + 1]; i++)
        if (fair->links[i] == link)
            return true;
    return false;
}

/* Progressive filling (D. Bertsekas, R. Gallager, Data Networks, 6.5.2): the flows of the link with the least share get
 * that, and leave the others what is left. */
void fair_share(const fair_t *fair, double *flow_rates)
{
    uint32_t link;

    for (uint32_t l = 0; l < fair->link_count; l++) {
        fair->left[l] = fair->rate[l];
        fair->users[l] = 0;
    }
    for (uint32_t f = 0; f < fair->flow_count; f++) {
        flow_rates[f] = INFINITY;
        for (uint32_t i = fair->first[f]; i < fair->first[f + 1]; i++)
            fair->users[fair->links[i]]++;
    }
    while ((link = narrowest(fair)) < fair->link_count) {
        const double share = fair->left[link] / fair->users[link];
        for (uint32_t f = 0; f < fair->flow_count; f++) {
            if (!isinf(flow_rates[f]) || !uses(fair, f, link))
                continue;
            flow_rates[f] = share;
            for (uint32_t i = fair->first[f]; i < fair->first[f + 1]; i++) {
                fair->left[fair->links[i]] = fmax(0, fair->left[fair->links[i]] - share);
                fair->users[fair->links[i]]--;
            }
        }
        fair->users[link] = 0;
    }
}
