#include "pmpi_wrappers/backend/profile/book/arrival.h"

#include <stdlib.h>

/* 72 bytes each. */
enum { SAMPLES_MAX = 16384 };

hp_arrivals_t hp_arrivals;

bool hp_arrivals_init(void)
{
    hp_arrivals.samples = malloc(SAMPLES_MAX * sizeof *hp_arrivals.samples);
    return hp_arrivals.samples != NULL;
}

void hp_arrivals_fini(void)
{
    free(hp_arrivals.samples);
    hp_arrivals = (hp_arrivals_t){.samples = NULL};
}

static bool is_kept(const hp_arrivals_sample_t *sample, unsigned level)
{
    return ((hp_arrivals_lot(sample->comm_id, sample->number) >> HP_ARRIVALS_SHIFT) & ((1u << level) - 1)) ==
           0;
}

void hp_arrivals_thin(unsigned level)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < hp_arrivals.count; i++)
        if (is_kept(&hp_arrivals.samples[i], level))
            hp_arrivals.samples[kept++] = hp_arrivals.samples[i];
    hp_arrivals.count = kept;
    hp_arrivals.level = level;
}

void hp_arrivals_add(const hp_arrivals_sample_t *sample)
{
    if (!hp_arrivals.samples || !is_kept(sample, hp_arrivals.level))
        return;
    while (hp_arrivals.count == SAMPLES_MAX && hp_arrivals.level < HP_ARRIVALS_LEVELS)
        hp_arrivals_thin(hp_arrivals.level + 1);
    if (hp_arrivals.count < SAMPLES_MAX && is_kept(sample, hp_arrivals.level))
        hp_arrivals.samples[hp_arrivals.count++] = *sample;
}
