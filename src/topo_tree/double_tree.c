#include "topo_tree/double_tree.h"

#include <assert.h>

/* Which of the numbers first..last is divisible by the highest power of two: the middle of the in-order tree
 * over them. 0 < first <= last. */
static uint32_t middle(uint32_t first, uint32_t last)
{
    while ((last & (last - 1)) >= first)
        last &= last - 1;
    return last;
}

/* The position that has a place of the in-order tree, and the place that a position has: the trees' maps are
 * each other's inverse. m: number of places, counted from 1. */
static uint32_t position_at(uint32_t m, uint32_t place, unsigned tree)
{
    if (tree == 0)
        return place;
    return m % 2 ? place % m + 1 : m + 1 - place;
}

static uint32_t place_of(uint32_t m, uint32_t position, unsigned tree)
{
    if (tree == 0)
        return position;
    return m % 2 ? (position + m - 2) % m + 1 : m + 1 - position;
}

hp_double_links_t hp_double_tree_links(uint32_t count, uint32_t position, unsigned tree)
{
    const uint32_t m = count - 1;
    hp_double_links_t links = {.parent = -1};

    assert(position < count && tree < 2);
    if (position == 0) {
        if (m > 0)
            links.children[links.child_count++] = position_at(m, middle(1, m), tree);
        return links;
    }
    const uint32_t place = place_of(m, position, tree);
    uint32_t first = 1, last = m, top = middle(first, last);
    links.parent = 0;
    while (top != place) {
        links.parent = (int32_t)position_at(m, top, tree);
        if (place < top)
            last = top - 1;
        else
            first = top + 1;
        top = middle(first, last);
    }
    if (first < place)
        links.children[links.child_count++] = position_at(m, middle(first, place - 1), tree);
    if (place < last)
        links.children[links.child_count++] = position_at(m, middle(place + 1, last), tree);
    return links;
}
