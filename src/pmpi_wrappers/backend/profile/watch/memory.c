#include "pmpi_wrappers/backend/profile/watch/memory.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 16384 };

hp_memory_range_t hp_memory_pages(hp_memory_range_t range)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)range.start;
    const uintptr_t first = (from + page - 1) / page * page, end = (from + range.bytes) / page * page;

    if (!range.bytes || end <= first)
        return (hp_memory_range_t){NULL, 0};
    return (hp_memory_range_t){range.start + (first - from), end - first};
}

/* A line of /proc/self/maps: moves *at forward over what it allows. False: the answer is no. */
static bool read_line(const char *line, uintptr_t *at, uintptr_t end)
{
    unsigned long from = 0, to = 0, inode = 1;
    char rights[8] = "", name[64] = "";

    if (sscanf(line, "%lx-%lx %7s %*s %*s %lu %63s", &from, &to, rights, &inode, name) < 4)
        return false;
    if (to <= *at)
        return true;
    if (from > *at || strcmp(rights, "rw-p") != 0 || inode != 0 ||
        (name[0] && strcmp(name, "[heap]") != 0 && strncmp(name, "[anon:", 6) != 0))
        return false;
    *at = to < end ? to : end;
    return true;
}

bool hp_memory_is_private(hp_memory_range_t pages)
{
    const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    uintptr_t at = (uintptr_t)pages.start, end = at + pages.bytes;
    char piece[PIECE + 1];
    size_t kept = 0;
    bool goes_on = file >= 0;

    while (goes_on && at < end) {
        const ssize_t got = read(file, piece + kept, PIECE - kept);
        if (got <= 0)
            break;
        piece[kept + (size_t)got] = '\0';
        char *line = piece;
        for (char *next; goes_on && at < end && (next = strchr(line, '\n')); line = next + 1) {
            *next = '\0';
            goes_on = read_line(line, &at, end);
        }
        kept = strlen(line); /* of a line that has not come as a whole */
        memmove(piece, line, kept);
    }
    if (file >= 0)
        close(file);
    return goes_on && at == end;
}

unsigned hp_memory_threads(void)
{
    struct stat folder;
    return stat("/proc/self/task", &folder) == 0 && folder.st_nlink > 2 ? (unsigned)folder.st_nlink - 2 : 0;
}
