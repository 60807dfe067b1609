#include "base/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is wrong with what was opened. NULL: nothing. */
static const char *wrong_kind(int fd, size_t bytes_max, struct stat *found)
{
    return fd < 0 || fstat(fd, found) != 0     ? strerror(errno)
           : S_ISDIR(found->st_mode)           ? "it is a directory"
           : !S_ISREG(found->st_mode)          ? "it is no regular file"
           : found->st_size > (off_t)bytes_max ? "it is too large"
                                               : NULL;
}

ssize_t hp_text_file_read_all(int fd, char *text, size_t length)
{
    size_t done = 0;

    while (done < length) {
        const ssize_t got = read(fd, text + done, length - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

hp_status_t hp_text_file_read(const char *path, size_t bytes_max, char **text, size_t *length,
                              const char **reason)
{
    /* O_NONBLOCK: a pipe that nobody writes to must not stop anybody. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat found;
    hp_status_t status = HP_ERR_ARG;
    ssize_t got = -1;

    *text = NULL;
    *reason = wrong_kind(fd, bytes_max, &found);
    if (!*reason) {
        *text = malloc((size_t)found.st_size + 1);
        got = *text ? hp_text_file_read_all(fd, *text, (size_t)found.st_size) : -1;
        if (!*text)
            status = HP_ERR_NO_MEM;
        *reason = *text ? strerror(errno) : hp_status_text(status);
    }
    if (fd >= 0)
        close(fd);
    if (got < 0) {
        free(*text);
        *text = NULL;
        return status;
    }
    (*text)[got] = '\0';
    *length = (size_t)got;
    *reason = NULL;
    return HP_OK;
}
