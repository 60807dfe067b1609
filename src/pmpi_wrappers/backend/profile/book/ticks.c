#include "pmpi_wrappers/backend/profile/book/ticks.h"

#include <stdio.h>
#include <string.h>

hp_ticks_t hp_ticks_scale;

#if defined __x86_64__

enum { CALIBRATION_NS = 2000000 };

static bool kernel_trusts_counter(void)
{
    char name[32] = "";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");

    if (!file)
        return false;
    const bool read = fgets(name, sizeof name, file) != NULL;
    fclose(file);
    return read && strcmp(name, "tsc\n") == 0;
}

/* The same moment on both clocks, within the shortest of some tries. */
static void read_both_clocks(uint64_t *ns, uint64_t *ticks)
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < 16; i++) {
        const uint64_t before = __builtin_ia32_rdtsc(), now = hp_machine_clock_ns(),
                       after = __builtin_ia32_rdtsc();
        if (after - before >= best)
            continue;
        best = after - before;
        *ns = now;
        *ticks = before + best / 2;
    }
}

static void open_counter(void)
{
    uint64_t ns[2] = {0}, ticks[2] = {0};

    if (!kernel_trusts_counter())
        return;
    read_both_clocks(&ns[0], &ticks[0]);
    while (hp_machine_clock_ns() - ns[0] < CALIBRATION_NS)
        ;
    read_both_clocks(&ns[1], &ticks[1]);
    hp_ticks_scale.is_counter = true;
    hp_ticks_scale.ns_per_tick =
        (uint64_t)(((unsigned __int128)(ns[1] - ns[0]) << 32) / (ticks[1] - ticks[0]));
}

#else

static void open_counter(void)
{
}

#endif

/* The least of some: anything may come between two readings. */
static uint64_t time_reading(void)
{
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < 64; i++) {
        const uint64_t before = hp_ticks(), ticks = hp_ticks() - before;
        least = ticks < least ? ticks : least;
    }
    return least;
}

void hp_ticks_open(void)
{
    hp_ticks_scale = (hp_ticks_t){.ns_per_tick = 1ull << 32};
    if (hp_ranks_take_turns)
        return;
    open_counter();
    hp_ticks_scale.per_reading = time_reading();
}
