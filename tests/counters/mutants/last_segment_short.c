/* Mutant: of a message of several segments the last one is an element short. */
#include "hier/call/cut.h"

size_t __real_hp_cut_count(const hp_cut_t *, uint64_t);
size_t __wrap_hp_cut_count(const hp_cut_t *, uint64_t);

size_t __wrap_hp_cut_count(const hp_cut_t *cut, uint64_t i)
{
    const size_t count = __real_hp_cut_count(cut, i);
    return i > 0 && i + 1 == hp_cut_segments(cut) && count > 1 ? count - 1 : count;
}
