#include "hier/planning/wisdom_file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/log.h"
#include "hier/planning/candidates.h"

/* A finding has about 350 bytes. */
enum { FORMAT = 1, FILE_BYTES_MAX = 1 << 20 };

static const char kind[] = "wisdom", lock_kind[] = "lock";

/* ---- reading ---- */

static bool has_text(const json_t *root, const char *key, const char *expected)
{
    const char *text = json_string_value(json_object_get(root, key));
    return text && strcmp(text, expected) == 0;
}

/* An integer from 0 to `most`. */
static bool read_whole(const json_t *object, const char *key, uint64_t most, uint64_t *out)
{
    const json_t *value = json_object_get(object, key);
    const json_int_t number = json_integer_value(value);

    *out = (uint64_t)number;
    return json_is_integer(value) && number >= 0 && *out <= most;
}

static bool read_small(const json_t *object, const char *key, uint64_t most, uint32_t *out)
{
    uint64_t number;
    const bool fine = read_whole(object, key, most, &number);
    *out = (uint32_t)number;
    return fine;
}

static bool read_flag(const json_t *object, const char *key, uint32_t *out)
{
    const json_t *value = json_object_get(object, key);
    *out = json_is_true(value);
    return json_is_boolean(value);
}

/* Not negative, and no more than a day of microseconds, or a TB/s. */
static bool read_measure(const json_t *value, double *out)
{
    *out = json_number_value(value);
    return json_is_number(value) && isfinite(*out) && *out >= 0 && *out < 1e11;
}

static bool read_collective(const json_t *object, uint32_t *out)
{
    const json_t *name = json_object_get(object, "collective");

    for (*out = 0; *out < HP_COLLECTIVE_COUNT; ++*out)
        if (json_is_string(name) &&
            strcmp(json_string_value(name), hp_collective_name((hp_collective_t)*out)) == 0)
            return true;
    return false;
}

static bool read_place(const json_t *object, hp_wisdom_place_t *out)
{
    const json_t *ranks = json_object_get(object, "ranks");
    const json_int_t least = json_integer_value(json_array_get(ranks, 0));
    const json_int_t most = json_integer_value(json_array_get(ranks, 1));

    out->least_ranks = (uint32_t)least;
    out->most_ranks = (uint32_t)most;
    return json_array_size(ranks) == 2 && least >= 1 && most >= least && most <= INT_MAX &&
           read_small(object, "nodes", INT_MAX, &out->nodes) && out->nodes >= 1 &&
           read_small(object, "cores", INT_MAX, &out->cores) &&
           read_whole(object, "slot_bytes", UINT32_MAX, &out->slot_bytes) &&
           read_flag(object, "shares_memory", &out->shares_memory) &&
           read_flag(object, "reads_peers", &out->reads_peers) &&
           read_measure(json_object_get(object, "between_us"), &out->between_us) &&
           read_measure(json_object_get(object, "between_rate"), &out->between_rate) &&
           (!json_object_get(object, "placement") ||
            read_whole(object, "placement", UINT32_MAX, &out->placement));
}

/* [id, us], or null: not tried. */
static bool read_candidate(const json_t *pair, uint64_t *id, double *us)
{
    const char *text = json_string_value(json_array_get(pair, 0));
    char *end = NULL;

    *id = 0;
    *us = -1;
    if (json_is_null(pair))
        return true;
    if (json_array_size(pair) != 2 || !text || !text[0] || strlen(text) > 16)
        return false;
    *id = strtoull(text, &end, 16);
    return *end == '\0' && read_measure(json_array_get(pair, 1), us);
}

static bool read_finding(const json_t *object, hp_finding_t *out)
{
    const json_t *candidates = json_object_get(object, "candidates");
    const char *text = json_string_value(json_object_get(object, "text"));
    bool fine = read_place(object, &out->place) && read_collective(object, &out->collective) &&
                read_small(object, "bin", HP_SIZE_BINS - 1, &out->bin) &&
                read_small(object, "chosen", HP_SLOTS - 1, &out->chosen) &&
                read_small(object, "second", HP_SLOTS - 1, &out->second) &&
                read_small(object, "day", INT_MAX, &out->day) && text && strlen(text) < sizeof out->text &&
                json_array_size(candidates) == HP_SLOTS;

    for (unsigned slot = 0; slot < HP_SLOTS && fine; slot++)
        fine = read_candidate(json_array_get(candidates, slot), &out->id[slot], &out->us[slot]);
    if (!fine || out->us[out->chosen] < 0 || out->us[out->second] < 0)
        return false;
    strcpy(out->text, text);
    return true;
}

/* NULL, or what is wrong. */
static const char *read_findings(const hp_cache_t *cache, const json_t *root, hp_finding_t *out,
                                 size_t *count)
{
    const json_t *format = json_object_get(root, "format"), *findings = json_object_get(root, "findings");

    if (!json_is_integer(format) || json_integer_value(format) != FORMAT)
        return "another format";
    if (!has_text(root, "library", HANPMPI_VERSION))
        return "written by another version of the library";
    if (!has_text(root, "machine", cache->machine) || !has_text(root, "mpi", cache->mpi))
        return "of another machine or MPI";
    if (!json_is_array(findings) || json_array_size(findings) > HP_FINDINGS_MAX)
        return "no list of at most 1024 findings";
    for (size_t i = 0; i < json_array_size(findings); i++) {
        memset(&out[i], 0, sizeof out[i]);
        if (!read_finding(json_array_get(findings, i), &out[i]))
            return "a finding lacks something, or has values that none can have";
    }
    *count = json_array_size(findings);
    return NULL;
}

size_t hp_wisdom_read(const hp_cache_t *cache, hp_finding_t *out)
{
    char path[HP_CACHE_PATH_BYTES];
    json_error_t error;
    size_t bytes, count = 0;

    if (!cache->directory[0])
        return 0;
    hp_cache_path(cache, kind, path);
    char *text = hp_cache_read(path, FILE_BYTES_MAX, &bytes);
    if (!text) {
        if (errno != ENOENT && errno != ENOTDIR)
            hp_info("%s: %s; what it says is not used", path,
                    errno ? strerror(errno) : "no plain file of a megabyte at most");
        return 0;
    }
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    const char *wrong = root ? read_findings(cache, root, out, &count) : error.text;
    if (wrong)
        hp_info("%s: %s; what it says is not used", path, wrong);
    json_decref(root);
    free(text);
    return count;
}

/* ---- writing ---- */

static json_t *json_of_candidates(const hp_finding_t *finding)
{
    json_t *all = json_array();

    for (unsigned slot = 0; slot < HP_SLOTS && all; slot++) {
        char id[20];
        snprintf(id, sizeof id, "%llx", (unsigned long long)finding->id[slot]);
        json_t *one = finding->us[slot] < 0 ? json_null() : json_pack("[s, f]", id, finding->us[slot]);
        if (json_array_append_new(all, one) != 0) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

json_t *hp_wisdom_json(const hp_finding_t *finding)
{
    const hp_wisdom_place_t *p = &finding->place;
    const char *name = hp_collective_name((hp_collective_t)finding->collective);

    return json_pack("{s:s, s:i, s:i, s:[i, i], s:i, s:I, s:b, s:b, s:f, s:f, s:o, s:i, s:i, s:I, s:s, s:o*}",
                     "collective", name, "bin", (int)finding->bin, "nodes", (int)p->nodes, "ranks",
                     (int)p->least_ranks, (int)p->most_ranks, "cores", (int)p->cores, "slot_bytes",
                     (json_int_t)p->slot_bytes, "shares_memory", (int)p->shares_memory, "reads_peers",
                     (int)p->reads_peers, "between_us", p->between_us, "between_rate", p->between_rate,
                     "candidates", json_of_candidates(finding), "chosen", (int)finding->chosen, "second",
                     (int)finding->second, "day", (json_int_t)finding->day, "text", finding->text,
                     "placement", p->placement ? json_integer((json_int_t)p->placement) : NULL);
}

static char *text_of(const hp_cache_t *cache, const hp_finding_t *findings, size_t count)
{
    json_t *list = json_array();
    bool made = list != NULL;

    for (size_t i = 0; i < count && made; i++)
        made = json_array_append_new(list, hp_wisdom_json(&findings[i])) == 0;
    json_t *root = made ? json_pack("{s:i, s:s, s:s, s:s, s:O}", "format", FORMAT, "library", HANPMPI_VERSION,
                                    "machine", cache->machine, "mpi", cache->mpi, "findings", list)
                        : NULL;
    char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) : NULL;
    json_decref(list);
    json_decref(root);
    return text;
}

/* The lock goes with the process that has it. -1: somebody else keeps it. Where a file system knows no locks the file is all there is:
 * it is put in its place whole all the same, and what two write at a time may be the one's alone. */
static int take_lock(const hp_cache_t *cache)
{
    enum { TRIES = 100, PAUSE_US = 10000 };
    char path[HP_CACHE_PATH_BYTES];

    hp_cache_path(cache, lock_kind, path);
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0) /* for all who share the directory, whatever the mask; it fails where another has made it */
        fchmod(fd, 0666);
    for (int i = 0; i < TRIES && fd >= 0; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return fd;
        if (errno == ENOSYS || errno == ENOLCK || errno == EOPNOTSUPP)
            return fd;
        if (errno != EWOULDBLOCK && errno != EINTR)
            break;
        usleep(PAUSE_US);
    }
    const int kept = errno;
    if (fd >= 0)
        close(fd);
    errno = kept;
    return -1;
}

/* With the lock: what is there, and what is news. */
static bool add(const hp_cache_t *cache)
{
    char path[HP_CACHE_PATH_BYTES];
    hp_finding_t *own = malloc(HP_FINDINGS_MAX * sizeof *own), *all = malloc(HP_FINDINGS_MAX * sizeof *all);
    char *text = NULL;
    uint64_t hash;

    if (own && all) {
        const size_t count = hp_wisdom_copy(own, &hash);
        hp_wisdom_forget();
        hp_wisdom_adopt(all, hp_wisdom_read(cache, all));
        for (size_t i = 0; i < count; i++)
            if (own[i].is_news)
                hp_wisdom_learn(&own[i]);
        text = text_of(cache, all, hp_wisdom_copy(all, &hash));
    }
    free(own);
    free(all);
    hp_cache_path(cache, kind, path);
    errno = ENOMEM;
    const bool written = text && hp_cache_replace(path, text);
    const int kept = errno;
    free(text);
    errno = kept;
    return written;
}

bool hp_wisdom_write(const hp_cache_t *cache)
{
    bool written = false;

    if (!cache->directory[0])
        return false;
    const int lock = hp_cache_make_directory(cache) ? take_lock(cache) : -1;
    if (lock >= 0) {
        written = add(cache);
        const int kept = errno;
        close(lock);
        errno = kept;
    }
    if (!written)
        hp_cache_report(cache, "what was found is");
    return written;
}

bool hp_wisdom_remove(const hp_cache_t *cache)
{
    char path[HP_CACHE_PATH_BYTES];

    hp_cache_path(cache, kind, path);
    return cache->directory[0] && unlink(path) == 0;
}

int hp_wisdom_each(const hp_cache_t *cache, hp_cache_fn_t each, void *context)
{
    return hp_cache_each(cache, kind, each, context);
}
