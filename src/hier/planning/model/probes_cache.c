#include "hier/planning/model/probes_cache.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"

/* A file has about 500 bytes. */
enum { FORMAT = 1, FILE_BYTES_MAX = 16384 };

static const char kind[] = "json";

/* ---- reading ---- */

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
static const char *read_probes(const hp_cache_t *cache, const json_t *root, hp_probes_t *out)
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

bool hp_probes_cache_read(const hp_cache_t *cache, hp_probes_t *out)
{
    char path[HP_CACHE_PATH_BYTES];
    json_error_t error;
    size_t bytes;

    if (!cache->directory[0])
        return false;
    hp_cache_path(cache, kind, path);
    char *text = hp_cache_read(path, FILE_BYTES_MAX, &bytes);
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

static char *text_of(const hp_cache_t *cache, const hp_probes_t *probes)
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

bool hp_probes_cache_write(const hp_cache_t *cache, const hp_probes_t *probes)
{
    char path[HP_CACHE_PATH_BYTES];

    if (!cache->directory[0])
        return false;
    hp_cache_path(cache, kind, path);
    char *text = text_of(cache, probes);
    errno = ENOMEM;
    const bool written = text && hp_cache_make_directory(cache) && hp_cache_replace(path, text);
    if (!written)
        hp_cache_report(cache, "the probes are");
    free(text);
    return written;
}

/* ---- all of a machine ---- */

typedef struct {
    hp_probes_cache_fn_t each;
    void *context;
    int used;
} visit_t;

static void visit_one(void *context, const hp_cache_t *cache)
{
    visit_t *visit = context;
    hp_probes_t probes;

    if (!hp_probes_cache_read(cache, &probes))
        return;
    visit->each(visit->context, cache, &probes);
    visit->used++;
}

int hp_probes_cache_each(const hp_cache_t *cache, hp_probes_cache_fn_t each, void *context)
{
    visit_t visit = {.each = each, .context = context};
    return hp_cache_each(cache, kind, visit_one, &visit) < 0 ? -1 : visit.used;
}
