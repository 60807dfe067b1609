#include "event_engine/mem/shared_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static bool has_mark(int fd, uint64_t mark)
{
    uint64_t found = ~mark;
    return pread(fd, &found, sizeof found, 0) == (ssize_t)sizeof found && found == mark;
}

static void drop(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

hp_status_t hp_shared_file_begin(uint64_t mark, int *fd)
{
    *fd = memfd_create("hanpmpi", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*fd >= 0 && pwrite(*fd, &mark, sizeof mark, 0) == (ssize_t)sizeof mark)
        return HP_OK;
    drop(fd);
    return HP_ERR_NO_MEM;
}

hp_status_t hp_shared_file_complete(int fd, size_t bytes)
{
    /* Sealed, by another process: it has the bytes, or they cannot be changed any more. */
    return ftruncate(fd, (off_t)bytes) == 0 &&
                   (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 || errno == EPERM)
               ? HP_OK
               : HP_ERR_NO_MEM;
}

hp_status_t hp_shared_file_create(size_t bytes, uint64_t mark, int *fd)
{
    if (hp_shared_file_begin(mark, fd) == HP_OK && hp_shared_file_complete(*fd, bytes) == HP_OK)
        return HP_OK;
    drop(fd);
    return HP_ERR_NO_MEM;
}

hp_status_t hp_shared_file_open(pid_t pid, int fd, uint64_t mark, int *own_fd)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)pid, fd);
    *own_fd = open(path, O_RDWR | O_CLOEXEC);
    if (*own_fd >= 0 && has_mark(*own_fd, mark))
        return HP_OK;
    drop(own_fd);
    return HP_ERR_NOT_FOUND;
}
