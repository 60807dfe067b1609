/* text_file: the whole of a file that a user named.
 *
 * Threads: each call is self-contained. Ownership: the caller frees the text. */
#ifndef HP_BASE_TEXT_FILE_H
#define HP_BASE_TEXT_FILE_H

#include <stddef.h>
#include <sys/types.h>
#include "base/status.h"

/* Reads a regular file of at most bytes_max. *text has a 0 behind its *length bytes. HP_ERR_ARG, HP_ERR_NO_MEM:
 * *reason says why, and needs not be freed; *text is NULL. */
hp_status_t hp_text_file_read(const char *path, size_t bytes_max, char **text, size_t *length,
                              const char **reason);

/* Reads up to length bytes of an open file, whatever interrupts it. How many there were, or -1, with errno. */
ssize_t hp_text_file_read_all(int fd, char *text, size_t length);

#endif
