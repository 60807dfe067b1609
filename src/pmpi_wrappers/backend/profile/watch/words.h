/* words: when a few words of memory are touched, by watchpoints of the processor (perf_event_open). They cost nothing
 * until they are hit, change nothing that the program can see, and serve memory of any kind. Only touches by the
 * thread that arms them are seen, and none by the kernel. Many systems forbid them: kernel.perf_event_paranoid of 3,
 * containers, virtual machines.
 *
 * The kernel writes the times of hits into memory that it shares with this process. A watchpoint that has been hit
 * HP_WORDS_HITS times switches itself off: a hit takes a microsecond (HP_WORDS_HIT_NS).
 *
 * Threads: the one that called open; one watch at a time. Ownership: fini gives all back. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_WATCH_WORDS_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_WATCH_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "pmpi_wrappers/backend/profile/watch/memory.h"

enum { HP_WORDS_MAX = 4, HP_WORDS_BYTES = 8, HP_WORDS_HITS = 16, HP_WORDS_HIT_NS = 1000 };

/* What the hits say. Times: CLOCK_MONOTONIC. */
typedef struct {
    uint64_t first_ns, last_ns; /* 0: there was none */
    uint64_t count;
    bool is_full; /* later ones may be missing */
} hp_words_hits_t;

/* False: the kernel does not allow it; errno says why. */
bool hp_words_open(void);
void hp_words_fini(void);

typedef struct {
    hp_memory_range_t range;
    bool writes_only; /* reads are no hits */
} hp_words_range_t;

/* Up to HP_WORDS_MAX ranges, which share the words that there are: from the beginning of each, from its end, and
 * between. *covers: no byte is left out. False: none can be set. */
bool hp_words_arm(const hp_words_range_t *ranges, unsigned count, bool *covers);
hp_words_hits_t hp_words_disarm(void);

#endif
