#include "event_engine/mem/pages.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ /* of Linux 5.14 */
enum { MADV_POPULATE_READ = 22, MADV_POPULATE_WRITE = 23 };
#endif

bool hp_pages_make(const void *from, size_t bytes, bool writes)
{
    const uintptr_t ahead = (uintptr_t)from % (uintptr_t)getpagesize();

    return madvise((char *)from - ahead, bytes + ahead, writes ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) ==
           0;
}
