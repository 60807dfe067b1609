#include "pmpi_wrappers/backend/profile/watch/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
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

static bool is_anonymous(const char *name)
{
    return !name[0] || strcmp(name, "[heap]") == 0 || strncmp(name, "[anon:", 6) == 0;
}

/* ---- one mapping at a time: Linux 6.11 and later ---- */

/* PROCMAP_QUERY of linux/fs.h, which older headers do not have. */
typedef struct {
    uint64_t size, flags, address;
    uint64_t start, end, rights, page_bytes, offset, inode; /* of the mapping that has the address */
    uint32_t major, minor, name_bytes, build_id_bytes;
    uint64_t name, build_id; /* addresses of memory for them */
} query_t;
#define QUERY _IOWR('f', 17, query_t)
enum { READABLE = 1, WRITABLE = 2 }; /* other bits: executable, shared */
enum { NAME_BYTES = 128 };           /* more than what a program can call its memory */

static bool is_unknown(int error)
{
    return error == ENOTTY || error == EINVAL || error == ENOSYS || error == EPERM;
}

/* Moves *at forward over what it allows. *is_answered: by this kernel. False: the answer is no. */
static bool ask_mapping(int file, uintptr_t *at, uintptr_t end, bool *is_answered)
{
    char name[NAME_BYTES] = "";
    query_t query = {
        .size = sizeof query, .address = *at, .name_bytes = sizeof name, .name = (uint64_t)(uintptr_t)name};

    const bool is_found = ioctl(file, QUERY, &query) == 0;
    *is_answered = is_found || !is_unknown(errno);
    if (!is_found || query.rights != (READABLE | WRITABLE) || query.inode != 0 || !is_anonymous(name))
        return false;
    *at = query.end < end ? query.end : end;
    return true;
}

/* ---- all of them ---- */

/* A line of /proc/self/maps: moves *at forward over what it allows. False: the answer is no. */
static bool read_line(const char *line, uintptr_t *at, uintptr_t end)
{
    unsigned long from = 0, to = 0, inode = 1;
    char rights[8] = "", name[64] = "";

    if (sscanf(line, "%lx-%lx %7s %*s %*s %lu %63s", &from, &to, rights, &inode, name) < 4)
        return false;
    if (to <= *at)
        return true;
    if (from > *at || strcmp(rights, "rw-p") != 0 || inode != 0 || !is_anonymous(name))
        return false;
    *at = to < end ? to : end;
    return true;
}

static bool read_mappings(int file, uintptr_t at, uintptr_t end)
{
    char piece[PIECE + 1];
    size_t kept = 0;
    bool goes_on = true;

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
    return goes_on && at == end;
}

bool hp_memory_is_private(hp_memory_range_t pages)
{
    const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    uintptr_t at = (uintptr_t)pages.start, end = at + pages.bytes;
    bool is_answered = true, is_private = file >= 0;

    while (is_private && is_answered && at < end)
        is_private = ask_mapping(file, &at, end, &is_answered);
    if (!is_answered)
        is_private = read_mappings(file, (uintptr_t)pages.start, end);
    if (file >= 0)
        close(file);
    return is_private;
}

unsigned hp_memory_threads(void)
{
    struct stat folder;
    return stat("/proc/self/task", &folder) == 0 && folder.st_nlink > 2 ? (unsigned)folder.st_nlink - 2 : 0;
}
