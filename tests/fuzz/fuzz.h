/* fuzz: what a fuzz target is: one function that takes any bytes and ends the process when something
 * does not hold.
 *
 * Threads: one. Ownership: the bytes are the caller's. */
#ifndef HP_TESTS_FUZZ_FUZZ_H
#define HP_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The name that libFuzzer calls. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

#endif
