/* machine: what the benchmark says of the machine it ran on, and asks it. Linux. Threads: one. */
#ifndef HP_BENCH_MACHINE_H
#define HP_BENCH_MACHINE_H

#include <stddef.h>

typedef struct {
    char processor[128]; /* "" where Linux does not tell */
    char kernel[256];
    int cores; /* online, hardware threads included */
    size_t memory_bytes, available_bytes;
    size_t cache_bytes; /* of the last level; 32 MiB where Linux does not tell */
} bench_machine_t;

void bench_machine_read(bench_machine_t *machine);

#endif
