#include "hier/planning/foresight.h"

#include "hier/planning/candidates.h"

/* The host MPI took so many times as long as what was chosen: worth a set-up. */
static const double clearly = 1.5;

typedef struct {
    uint32_t ranks;
    uint8_t collective, bin, what; /* hp_foresight_t */
} entry_t;

static entry_t entries[HP_FINDINGS_MAX];
static size_t entry_count;

static hp_foresight_t says(const hp_finding_t *finding)
{
    if (finding->id[finding->chosen] == 0)
        return HP_FORESIGHT_HOST;
    for (unsigned slot = 0; slot < HP_SLOTS; slot++)
        if (finding->id[slot] == 0 && finding->us[slot] >= clearly * finding->us[finding->chosen])
            return HP_FORESIGHT_GAIN;
    return HP_FORESIGHT_NOTHING;
}

static entry_t *find(uint32_t ranks, uint32_t collective, uint32_t bin)
{
    for (size_t i = 0; i < entry_count; i++)
        if (entries[i].ranks == ranks && entries[i].collective == collective && entries[i].bin == bin)
            return &entries[i];
    return NULL;
}

void hp_foresight_set(const hp_finding_t *list, size_t count)
{
    entry_count = 0;
    for (size_t i = 0; i < count && i < HP_FINDINGS_MAX; i++) {
        const hp_finding_t *finding = &list[i];
        const uint32_t ranks = finding->place.nodes * finding->place.most_ranks;
        const hp_foresight_t what = says(finding);
        if (finding->place.least_ranks != finding->place.most_ranks) /* nobody knows how many ranks these were */
            continue;
        entry_t *before = find(ranks, finding->collective, finding->bin);
        if (before)
            before->what = before->what == what ? (uint8_t)what : HP_FORESIGHT_NOTHING;
        else
            entries[entry_count++] = (entry_t){.ranks = ranks,
                                               .collective = (uint8_t)finding->collective,
                                               .bin = (uint8_t)finding->bin,
                                               .what = (uint8_t)what};
    }
}

hp_foresight_t hp_foresight(uint32_t ranks, hp_collective_t collective, uint64_t bytes)
{
    const entry_t *entry = find(ranks, collective, hp_size_bin(bytes));
    return entry ? (hp_foresight_t)entry->what : HP_FORESIGHT_NOTHING;
}
