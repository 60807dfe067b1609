#include "base/cache.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/log.h"

static void copy_name(char *out, size_t out_bytes, const char *name)
{
    size_t used = 0;

    for (; *name && used + 1 < out_bytes; name++) {
        const unsigned char letter = (unsigned char)*name;
        if (isascii(letter) && (isalnum(letter) || strchr("._-", letter)))
            out[used++] = (char)tolower(letter);
        else if (used > 0 && out[used - 1] != '-')
            out[used++] = '-';
    }
    out[used] = '\0';
}

/* The directory that the knob means; "": nowhere. */
static void find_directory(const char *knob, char *out, size_t out_bytes)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = 0;

    if (strcmp(knob, "off") == 0)
        length = snprintf(out, out_bytes, "%s", "");
    else if (knob[0])
        length = snprintf(out, out_bytes, "%s", knob);
    else if (base && base[0] == '/') /* another one is no directory by its definition */
        length = snprintf(out, out_bytes, "%s/hanpmpi", base);
    else if (home && home[0] == '/')
        length = snprintf(out, out_bytes, "%s/.cache/hanpmpi", home);
    else
        length = snprintf(out, out_bytes, "%s", "");
    if (length < 0 || (size_t)length >= out_bytes)
        out[0] = '\0';
}

void hp_cache_init(hp_cache_t *out, const char *knob, const char *machine, const char *mpi)
{
    find_directory(knob, out->directory, sizeof out->directory);
    out->is_named = knob[0] && out->directory[0];
    copy_name(out->machine, sizeof out->machine, machine);
    copy_name(out->mpi, sizeof out->mpi, mpi);
}

bool hp_cache_may_exist(const char *knob)
{
    char directory[PATH_MAX];

    find_directory(knob, directory, sizeof directory);
    return directory[0] && (access(directory, F_OK) == 0 || errno != ENOENT);
}

void hp_cache_path(const hp_cache_t *cache, const char *kind, char path[HP_CACHE_PATH_BYTES])
{
    snprintf(path, HP_CACHE_PATH_BYTES, "%s/%s-%s.%s", cache->directory, cache->machine, cache->mpi, kind);
}

/* ---- reading ---- */

char *hp_cache_read(const char *path, size_t most, size_t *bytes)
{
    struct stat status;
    char *text = NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would be waited for */

    if (fd < 0)
        return NULL;
    errno = 0;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && (uint64_t)status.st_size <= most)
        text = malloc((size_t)status.st_size + 1);
    ssize_t got = text ? read(fd, text, (size_t)status.st_size) : -1;
    if (got < 0) {
        free(text);
        text = NULL;
    } else {
        text[ *bytes = (size_t)got] = '\0';
    }
    const int kept = errno;
    close(fd);
    errno = kept;
    return text;
}

/* ---- writing ---- */

bool hp_cache_make_directory(const hp_cache_t *cache)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s", cache->directory);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const bool made = mkdir(path, 0777) == 0 || errno == EEXIST;
        *slash = '/';
        if (!made)
            return false;
    }
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

static bool write_all(int fd, const char *text)
{
    size_t left = strlen(text);

    while (left > 0) {
        const ssize_t written = write(fd, text, left);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        text += written;
        left -= (size_t)written;
    }
    return true;
}

bool hp_cache_replace(const char *path, const char *text)
{
    char draft[HP_CACHE_PATH_BYTES + 8];

    snprintf(draft, sizeof draft, "%s.XXXXXX", path);
    const int fd = mkostemp(draft, O_CLOEXEC);
    if (fd < 0)
        return false;
    bool written = write_all(fd, text) && fchmod(fd, 0644) == 0;
    written = close(fd) == 0 && written;
    if (written && rename(draft, path) == 0)
        return true;
    const int kept = errno;
    unlink(draft);
    errno = kept;
    return false;
}

void hp_cache_report(const hp_cache_t *cache, const char *kept)
{
    const char *why = strerror(errno);

    if (cache->is_named)
        hp_warn("HANPMPI_CACHE=%s is not accepted (%s; accepted: the name of a directory that rank 0 can "
                "write, or off); %s not kept",
                cache->directory, why, kept);
    else
        hp_info("%s: %s; %s not kept (HANPMPI_CACHE names another directory)", cache->directory, why, kept);
}

/* ---- all of a machine ---- */

/* Bytes of the MPI's name in MACHINE-MPI.KIND; 0: another file. */
static size_t mpi_of(const hp_cache_t *cache, const char *kind, const char *name)
{
    const size_t before = strlen(cache->machine) + 1, after = strlen(kind) + 1, all = strlen(name);

    if (all <= before + after || memcmp(name, cache->machine, before - 1) != 0 || name[before - 1] != '-' ||
        name[all - after] != '.' || strcmp(name + all - after + 1, kind) != 0)
        return 0;
    return all - before - after;
}

int hp_cache_each(const hp_cache_t *cache, const char *kind, hp_cache_fn_t each, void *context)
{
    struct dirent **entries;
    const int count = cache->directory[0] ? scandir(cache->directory, &entries, NULL, alphasort) : -1;
    int used = 0;

    if (count < 0)
        return -1;
    for (int i = 0; i < count; i++) {
        hp_cache_t one = *cache;
        const size_t letters = mpi_of(cache, kind, entries[i]->d_name);
        if (letters > 0 && letters < sizeof one.mpi) {
            snprintf(one.mpi, sizeof one.mpi, "%.*s", (int)letters,
                     entries[i]->d_name + strlen(cache->machine) + 1);
            each(context, &one);
            used++;
        }
        free(entries[i]);
    }
    free(entries);
    return used;
}
