/* faults: page faults of this process.
 *
 * Threads: any. Ownership: nothing. */
#ifndef HP_TESTS_UNIT_FAULTS_H
#define HP_TESTS_UNIT_FAULTS_H

#include <stdbool.h>
#include <sys/resource.h>

/* Sanitizers have memory of their own for what is touched. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
static const bool faults_count = false;
#else
static const bool faults_count = true;
#endif

/* So far, of pages that needed no disk; 0 where they do not count. */
static inline long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return faults_count ? usage.ru_minflt : 0;
}

#endif
