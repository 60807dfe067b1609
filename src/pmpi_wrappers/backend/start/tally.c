#include "pmpi_wrappers/backend/start/tally.h"

static uint64_t held(const hp_tally_t *tally)
{
    return tally->kinds < HP_TALLY_KINDS ? tally->kinds : HP_TALLY_KINDS;
}

void hp_tally_add(hp_tally_t *tally, uint64_t id, uint64_t ranks)
{
    const uint64_t count = held(tally);
    uint64_t k = 0;

    while (k < count && tally->of[k].id != id)
        k++;
    if (k == HP_TALLY_KINDS) {
        tally->kinds = HP_TALLY_MANY;
        return;
    }
    if (k == count) {
        tally->of[k].id = id;
        tally->of[k].ranks = 0;
        tally->kinds++;
    }
    tally->of[k].ranks += ranks;
}

void hp_tally_join(hp_tally_t *tally, const hp_tally_t *other)
{
    for (uint64_t k = 0; k < held(other); k++)
        hp_tally_add(tally, other->of[k].id, other->of[k].ranks);
    if (other->kinds > HP_TALLY_KINDS)
        tally->kinds = HP_TALLY_MANY;
}

uint32_t hp_tally_ranks(const hp_tally_t *tally, uint64_t id)
{
    if (tally->kinds > HP_TALLY_KINDS)
        return 0;
    for (uint64_t k = 0; k < tally->kinds; k++)
        if (tally->of[k].id == id)
            return (uint32_t)tally->of[k].ranks;
    return 0;
}
