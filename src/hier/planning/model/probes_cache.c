#include "hier/planning/model/probes_cache.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/log.h"

/* A file has about 500 bytes. */
enum { FORMAT = 1, FILE_BYTES_MAX = 16384 };

static const char suffix[] = ".json";

/* Room for the names and for what mkstemp adds. */
enum { FILE_PATH_BYTES = PATH_MAX + 160 };

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

void hp_probes_cache_init(hp_probes_cache_t *out, const char *knob, const char *machine, const char *mpi)
{
    find_directory(knob, out->directory, sizeof out->directory);
    out->is_named = knob[0] && out->directory[0];
    copy_name(out->machine, sizeof out->machine, machine);
    copy_name(out->mpi, sizeof out->mpi, mpi);
}

static void file_of(const hp_probes_cache_t *cache, char *path, size_t path_bytes)
{
    snprintf(path, path_bytes, "%s/%s-%s%s", cache->directory, cache->machine, cache->mpi, suffix);
}

/* ---- reading ---- */

/* The whole of a plain file, terminated; NULL: why not is in errno, 0 for a file that is none of ours. */
static char *read_all(const char *path, size_t *bytes)
{
    struct stat status;
    char *text = NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would be waited for */

    if (fd < 0)
        return NULL;
    errno = 0;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= FILE_BYTES_MAX)
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

static bool has_text(const json_t *root, const char *key, const char *expected)
{
    const char *text = json_string_value(json_object_get(root, key));
    return text && strcmp(text, expected) == 0;
}

/* A probe that is not in the file is not known; one that is no number makes the file useless. */
static bool read_number(const json_t *probes, const char *key, double *out)
{
    const json_t *value = json_object_get(probes, key);
    *out = json_number_value(value);
    return !value || json_is_number(value);
}

/* NULL, or what is wrong. */
static const char *read_probes(const hp_probes_cache_t *cache, const json_t *root, hp_probes_t *out)
{
    const json_t *format = json_object_get(root, "format"), *probes = json_object_get(root, "probes");
    hp_probes_t found = {0};
    bool numbers = json_is_object(probes);

    if (!json_is_integer(format) || json_integer_value(format) != FORMAT)
        return "another format";
    if (!has_text(root, "library", HANPMPI_VERSION))
        return "written by another version of the library";
    if (!has_text(root, "machine", cache->machine) || !has_text(root, "mpi", cache->mpi))
        return "of another machine or MPI";
#define X(field, unit, most, text) numbers = numbers && read_number(probes, #field, &found.field);
    HP_PROBE_TABLE(X)
#undef X
    if (!numbers)
        return "its probes are not numbers";
    if (!hp_probes_are_sane(&found))
        return "values that no machine has";
    *out = found;
    return NULL;
}

bool hp_probes_cache_read(const hp_probes_cache_t *cache, hp_probes_t *out)
{
    char path[FILE_PATH_BYTES];
    json_error_t error;
    size_t bytes;

    if (!cache->directory[0])
        return false;
    file_of(cache, path, sizeof path);
    char *text = read_all(path, &bytes);
    if (!text) {
        if (errno != ENOENT && errno != ENOTDIR)
            hp_info("%s: %s; the probes in it are not used", path,
                    errno ? strerror(errno) : "no plain file of a few kilobytes");
        return false;
    }
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    const char *wrong = root ? read_probes(cache, root, out) : error.text;
    if (wrong)
        hp_info("%s: %s; the probes in it are not used", path, wrong);
    json_decref(root);
    free(text);
    return !wrong;
}

/* ---- writing ---- */

static char *text_of(const hp_probes_cache_t *cache, const hp_probes_t *probes)
{
    json_t *values = json_object();
    bool made = values != NULL;

#define X(field, unit, most, text)                                                                           \
    if (made && probes->field > 0)                                                                           \
        made = json_object_set_new(values, #field, json_real(probes->field)) == 0;
    HP_PROBE_TABLE(X)
#undef X
    json_t *root = made ? json_pack("{s:i, s:s, s:s, s:s, s:O}", "format", FORMAT, "library", HANPMPI_VERSION,
                                    "machine", cache->machine, "mpi", cache->mpi, "probes", values)
                        : NULL;
    char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(values);
    json_decref(root);
    return text;
}

/* Makes the directory and those above it. */
static bool make_directory(const char *directory)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s", directory);
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

/* Beside the file, then in its place: nobody sees a part of it. */
static bool replace(const char *path, const char *text)
{
    char draft[FILE_PATH_BYTES + 8];

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

bool hp_probes_cache_write(const hp_probes_cache_t *cache, const hp_probes_t *probes)
{
    char path[FILE_PATH_BYTES];

    if (!cache->directory[0])
        return false;
    file_of(cache, path, sizeof path);
    char *text = text_of(cache, probes);
    errno = ENOMEM;
    const bool written = text && make_directory(cache->directory) && replace(path, text);
    if (!written && cache->is_named)
        hp_warn("HANPMPI_CACHE=%s is not accepted (%s; accepted: the name of a directory that rank 0 can "
                "write, or off); "
                "the probes are not kept",
                cache->directory, strerror(errno));
    else if (!written)
        hp_info("%s: %s; the probes are not kept (HANPMPI_CACHE names another directory)", path,
                strerror(errno));
    free(text);
    return written;
}

/* ---- all of a machine ---- */

static int of_this_machine(const hp_probes_cache_t *cache, const char *name)
{
    const size_t machine = strlen(cache->machine), bytes = strlen(name), end = strlen(suffix);
    return bytes > machine + 1 + end && memcmp(name, cache->machine, machine) == 0 && name[machine] == '-' &&
           strcmp(name + bytes - end, suffix) == 0;
}

int hp_probes_cache_each(const hp_probes_cache_t *cache, hp_probes_cache_fn_t each, void *context)
{
    struct dirent **entries;
    const int count = cache->directory[0] ? scandir(cache->directory, &entries, NULL, alphasort) : -1;
    int used = 0;

    if (count < 0)
        return -1;
    for (int i = 0; i < count; i++) {
        hp_probes_cache_t one = *cache;
        hp_probes_t probes;
        const char *name = entries[i]->d_name;
        if (of_this_machine(cache, name)) {
            const size_t start = strlen(cache->machine) + 1;
            snprintf(one.mpi, sizeof one.mpi, "%.*s", (int)(strlen(name) - start - strlen(suffix)),
                     name + start);
            if (hp_probes_cache_read(&one, &probes)) {
                each(context, &one, &probes);
                used++;
            }
        }
        free(entries[i]);
    }
    free(entries);
    return used;
}
