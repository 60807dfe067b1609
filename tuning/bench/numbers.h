/* numbers: what people write on a command line for a number. Threads: any. Ownership: nothing is kept. */
#ifndef HP_BENCH_NUMBERS_H
#define HP_BENCH_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>

/* Whole bytes with B, K, M, G, KiB, MiB or GiB (2^10, 2^20, 2^30) behind them. */
bool bench_read_size(const char *text, size_t *bytes);
bool bench_read_real(const char *text, double least, double most, double *value);
bool bench_read_whole(const char *text, long long least, long long most, long long *value);

#endif
