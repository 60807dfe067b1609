#include "fresh.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

uint64_t replay_fresh_faults(void)
{
    struct rusage usage = {.ru_minflt = 0};

    getrusage(RUSAGE_THREAD, &usage);
    return (uint64_t)usage.ru_minflt;
}

uint64_t replay_fresh_make(char *received, char *sent, size_t bytes, uint64_t pages)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *const buffers[] = {received, sent};
    uint64_t made = 0;

    for (unsigned i = 0; i < 2 && made < pages; i++) {
        const uint64_t most = bytes / page, wanted = pages - made < most ? pages - made : most;
        if (wanted > 0 && madvise(buffers[i], wanted * page, MADV_DONTNEED) == 0)
            made += wanted;
    }
    return made;
}
