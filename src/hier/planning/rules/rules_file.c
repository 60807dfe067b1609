/* rules_file: the bytes of a file of rules. */
#include "hier/planning/rules/rules_json.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/text_file.h"
#include "hier/planning/rules/rules_reading.h"

static const char advice[] =
    "HANPMPI_RULES takes the name of a file of rules that rank 0 can read (man 5 hanpmpi-rules)";

/* The descriptor of a file that can be one of rules, or -1 with the reason reported. O_NONBLOCK: a pipe that
 * nobody writes to must not stop the job. */
static int open_file(hp_rules_reading_t *reading, struct stat *found)
{
    const char *path = reading->source->file;
    char directory[PATH_MAX];
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0) {
        const int reason = errno;
        const bool is_relative = path[0] != '/' && getcwd(directory, sizeof directory);
        hp_rules_report(reading, HP_RULES_PROBLEM, HP_RULES_FILE, "%s%s%.200s: no rule of it is used; %s",
                        strerror(reason), is_relative ? " in " : "", is_relative ? directory : "", advice);
        return -1;
    }
    const char *wrong = fstat(fd, found) != 0                      ? strerror(errno)
                        : S_ISDIR(found->st_mode)                  ? "a directory"
                        : !S_ISREG(found->st_mode)                 ? "not a regular file"
                        : found->st_size > HP_RULES_FILE_BYTES_MAX ? "larger than 16 MiB"
                                                                   : NULL;
    if (!wrong)
        return fd;
    hp_rules_report(reading, HP_RULES_PROBLEM, HP_RULES_FILE, "%s: no rule of it is used; %s", wrong, advice);
    close(fd);
    return -1;
}

hp_status_t hp_rules_read(const hp_rules_source_t *source, hp_rule_t **rules, size_t *count)
{
    hp_rules_reading_t reading = {.source = source};
    struct stat found;

    *rules = NULL;
    *count = 0;
    const int fd = open_file(&reading, &found);
    if (fd < 0)
        return HP_ERR_NOT_FOUND;
    char *text = malloc((size_t)found.st_size + 1);
    const ssize_t length = text ? hp_text_file_read_all(fd, text, (size_t)found.st_size) : -1;
    hp_status_t status = text ? HP_ERR_NOT_FOUND : HP_ERR_NO_MEM;
    if (length >= 0)
        status = hp_rules_parse(source, text, (size_t)length, rules, count);
    else
        hp_rules_report(&reading, HP_RULES_PROBLEM, HP_RULES_FILE, "%s: no rule of it is used; %s",
                        text ? strerror(errno) : hp_status_text(status), advice);
    free(text);
    close(fd);
    return status;
}
