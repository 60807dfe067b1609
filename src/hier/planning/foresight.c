#include "hier/planning/foresight.h"

#include "hier/planning/candidates.h"

typedef struct {
    uint32_t ranks;
    uint8_t collective, bin;
    bool is_learned; /* in this run */
    double gain;
} entry_t;

static entry_t entries[HP_FINDINGS_MAX];
static size_t entry_count;

/* < 0: the host MPI was not tried. */
static double gain_of(const hp_finding_t *finding)
{
    const double chosen_us = finding->us[finding->chosen];

    if (finding->id[finding->chosen] == 0)
        return 0;
    for (unsigned slot = 0; slot < HP_SLOTS; slot++)
        if (finding->id[slot] == 0 && finding->us[slot] > 0)
            return chosen_us < finding->us[slot] ? 1 - chosen_us / finding->us[slot] : 0;
    return -1;
}

static entry_t *find(uint32_t ranks, uint32_t collective, uint32_t bin)
{
    for (size_t i = 0; i < entry_count; i++)
        if (entries[i].ranks == ranks && entries[i].collective == collective && entries[i].bin == bin)
            return &entries[i];
    return NULL;
}

/* Of several from earlier runs the least gain counts; what is learned does not change what was known. */
static void add(const hp_finding_t *finding, bool is_learned)
{
    const uint32_t ranks = finding->place.nodes * finding->place.most_ranks;
    const double gain = gain_of(finding);

    if (finding->place.least_ranks != finding->place.most_ranks) /* nobody knows how many ranks these were */
        return;
    entry_t *before = find(ranks, finding->collective, finding->bin);
    if (before && !is_learned)
        before->gain = gain < before->gain ? gain : before->gain;
    if (!before && entry_count < HP_FINDINGS_MAX)
        entries[entry_count++] = (entry_t){.ranks = ranks,
                                           .collective = (uint8_t)finding->collective,
                                           .bin = (uint8_t)finding->bin,
                                           .is_learned = is_learned,
                                           .gain = gain};
}

void hp_foresight_set(const hp_finding_t *list, size_t count)
{
    entry_count = 0;
    for (size_t i = 0; i < count; i++)
        add(&list[i], false);
}

void hp_foresight_learn(const hp_finding_t *finding)
{
    add(finding, true);
}

double hp_foresight_gain(uint32_t ranks, hp_collective_t collective, uint64_t bytes, bool with_learned)
{
    const entry_t *entry = find(ranks, collective, hp_size_bin(bytes));
    return entry && (with_learned || !entry->is_learned) ? entry->gain : -1;
}
