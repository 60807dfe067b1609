/* allocator: the Nth allocation fails. A program that uses it is linked with --wrap for the allocator.
 *
 * The test double takes its memory by reallocarray, which is not wrapped: only the code under test meets a failing
 * allocator. Threads: single-threaded. Ownership: none. */
#ifndef HP_TESTS_SIM_ALLOCATOR_H
#define HP_TESTS_SIM_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

/* The nth (0, 1, ...) allocation from now on fails. Negative: none does. */
void allocator_fail(int64_t nth);
/* Ends that. Did it fail? */
bool allocator_has_failed(void);

#endif
