/* ticks: the clock of a recording: the processor's time stamp counter where the kernel trusts it as its own clock
 * (12 ns a reading, where clock_gettime takes 32: measured on a virtual machine), else the machine's clock.
 *
 * Threads: any, after open inside MPI_Init. Ownership: nothing. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_BOOK_TICKS_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_BOOK_TICKS_H

#include <stdbool.h>
#include <stdint.h>
#include "pmpi_wrappers/backend/glue/machine.h"

typedef struct {
    bool is_counter;
    uint64_t ns_per_tick; /* in 2^-32 */
    uint64_t per_reading; /* ticks that a reading takes */
} hp_ticks_t;

extern hp_ticks_t hp_ticks_scale;

/* Takes two milliseconds where the counter is used. */
void hp_ticks_open(void);

static inline uint64_t hp_ticks(void)
{
#if defined __x86_64__
    if (hp_ticks_scale.is_counter)
        return __builtin_ia32_rdtsc(); /* <x86intrin.h> is 60,000 lines, which a third of a backend would read */
#endif
    return hp_machine_clock_ns();
}

static inline uint64_t hp_ticks_between(uint64_t before, uint64_t after)
{
    const uint64_t ticks = after - before;

    return ticks > hp_ticks_scale.per_reading ? ticks - hp_ticks_scale.per_reading : 0;
}

static inline uint64_t hp_ticks_ns(uint64_t ticks)
{
    return (uint64_t)(((unsigned __int128)ticks * hp_ticks_scale.ns_per_tick) >> 32);
}

#endif
