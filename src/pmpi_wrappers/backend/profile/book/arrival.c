#include "pmpi_wrappers/backend/profile/book/arrival.h"

#include <stdlib.h>

/* 72 bytes each. */
enum { SAMPLES_MAX = 16384 };

hp_arrivals_t hp_arrival;

bool hp_arrivals_init(void)
{
    hp_arrival.samples = malloc(SAMPLES_MAX * sizeof *hp_arrival.samples);
    return hp_arrival.samples != NULL;
}

void hp_arrivals_fini(void)
{
    free(hp_arrival.samples);
    hp_arrival = (hp_arrivals_t){.samples = NULL};
}

static bool is_kept(uint64_t number, unsigned level)
{
    return ((hp_arrivals_lot(number) >> HP_ARRIVALS_SHIFT) & ((1u << level) - 1)) == 0;
}

void hp_arrivals_thin(unsigned level)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < hp_arrival.count; i++)
        if (is_kept(hp_arrival.samples[i].number, level))
            hp_arrival.samples[kept++] = hp_arrival.samples[i];
    hp_arrival.count = kept;
    hp_arrival.level = level;
}

void hp_arrivals_add(const hp_arrivals_sample_t *sample)
{
    if (!hp_arrival.samples || !is_kept(sample->number, hp_arrival.level))
        return;
    while (hp_arrival.count == SAMPLES_MAX && hp_arrival.level < HP_ARRIVALS_LEVELS)
        hp_arrivals_thin(hp_arrival.level + 1);
    if (hp_arrival.count < SAMPLES_MAX && is_kept(sample->number, hp_arrival.level))
        hp_arrival.samples[hp_arrival.count++] = *sample;
}
