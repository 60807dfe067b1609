/* shared_file: an anonymous file (memfd) that processes of one node map. It has no name in any file system, so nothing of it
 * stays behind however the processes end, and the size of /dev/shm does not matter. Peers open it through /proc, which the
 * kernel allows for processes of one user in one PID namespace. Pages exist once they are touched.
 *
 * Threads: any. Ownership: who calls closes the file. */
#ifndef HP_EVENT_ENGINE_MEM_SHARED_FILE_H
#define HP_EVENT_ENGINE_MEM_SHARED_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/status.h"

/* A file of so many bytes without a name: zeros behind the mark, which is its first 8 bytes. It is sealed: nobody can make it
 * shorter, which would end whoever touches its memory with a SIGBUS. HP_OK and *fd, or HP_ERR_NO_MEM and -1. */
hp_status_t hp_shared_file_create(size_t bytes, uint64_t mark, int *fd);
/* The same in two steps: a file that has its mark alone, whose number can be told to others before it is known how many bytes it
 * takes. Then each process that opened it completes it, in any order and at the same time, all with the same bytes, and may use
 * it at once. HP_OK, or HP_ERR_NO_MEM (begin: and -1). */
hp_status_t hp_shared_file_begin(uint64_t mark, int *fd);
hp_status_t hp_shared_file_complete(int fd, size_t bytes);
/* The file fd of the process pid, if it begins with the mark: with another PID namespace the process of that number is another
 * one, and its file must not be written to. HP_OK and *own_fd, or HP_ERR_NOT_FOUND and -1. */
hp_status_t hp_shared_file_open(pid_t pid, int fd, uint64_t mark, int *own_fd);

#endif
