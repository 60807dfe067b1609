/* Mutant: the children of a rank come in the opposite order, so the operands of a reduction do too: wrong for
 * operations that are not commutative. */
#include "neighbors.h"

uint32_t __wrap_hp_team_children(const hp_team_t *team, hp_shape_t shape, uint32_t *children,
                                 uint32_t capacity)
{
    const uint32_t count = __real_hp_team_children(team, shape, children, capacity);

    for (uint32_t low = 0, high = count; capacity && low + 1 < high; low++) {
        const uint32_t child = children[--high];
        children[high] = children[low];
        children[low] = child;
    }
    return count;
}
