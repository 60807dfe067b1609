/* test_probes_cache: what is written is read again; what is broken, old or foreign is passed over; where the
 * directory is. */
#include "check.h"
#include <sys/stat.h>
#include <unistd.h>
#include "base/log.h"
#include "hier/planning/model/probes_cache.h"

static char top[64]; /* of this test's files */

static const hp_probes_t some = {.flag_us = 0.2,
                                 .inside_us = 0.4,
                                 .inside_rate = 8000,
                                 .between_us = 1.0 / 3,
                                 .between_rate = 12000,
                                 .copy_rate = 14000,
                                 .reduce_rate = 9000,
                                 .overlap = 0.75,
                                 .cores = 64};

static int set_up(void **state)
{
    (void)state;
    hp_log_set_level(HP_LOG_WARN); /* what is said of broken files is information */
    strcpy(top, "/tmp/hanpmpi_cache_XXXXXX");
    return mkdtemp(top) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", top);
    return system(command);
}

static hp_cache_t cache_at(const char *directory)
{
    hp_cache_t cache;
    char path[256];
    snprintf(path, sizeof path, "%s/%s", top, directory);
    hp_cache_init(&cache, path, "x86_64-test-1p-2c", "openmpi");
    return cache;
}

static void path_of(const hp_cache_t *cache, char *path, size_t bytes)
{
    snprintf(path, bytes, "%s/%s-%s.json", cache->directory, cache->machine, cache->mpi);
}

static void put(const hp_cache_t *cache, const char *text, size_t bytes)
{
    char path[PATH_MAX + 256];
    mkdir(cache->directory, 0777);
    path_of(cache, path, sizeof path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void assert_close(const hp_probes_t *a, const hp_probes_t *b)
{
#define X(field, unit, most, text)                                                                           \
    assert_true(a->field >= b->field * (1 - 1e-6) && a->field <= b->field * (1 + 1e-6));
    HP_PROBE_TABLE(X)
#undef X
}

static void written_and_read(void **state)
{
    (void)state;
    const hp_cache_t cache = cache_at("a/b/c"); /* directories that are not there yet */
    hp_probes_t found, other = some;
    char path[PATH_MAX + 256];
    struct stat status;

    assert_false(hp_probes_cache_read(&cache, &found));
    assert_true(hp_probes_cache_write(&cache, &some));
    assert_true(hp_probes_cache_read(&cache, &found));
    assert_close(&found, &some);
    other.flag_us = 0.9;
    assert_true(hp_probes_cache_write(&cache, &other));
    assert_true(hp_probes_cache_read(&cache, &found));
    assert_close(&found, &other);
    path_of(&cache, path, sizeof path);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0644);
}

/* Broken files are passed over, and written anew. */
static void broken_files(void **state)
{
    (void)state;
#define HEAD "{\"format\": 1, \"library\": \"" HANPMPI_VERSION "\", \"machine\": \"x86_64-test-1p-2c\", "
#define MINE HEAD "\"mpi\": \"openmpi\", "
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "null",
        "{}",
        MINE "\"probes\": {\"flag_us\": 0.2}", /* no end */
        MINE "\"probes\": {\"flag_us\": 0.2}} x",
        MINE "\"probes\": [1, 2]}",
        MINE "\"probes\": {\"flag_us\": \"0.2\"}}",
        MINE "\"probes\": {\"flag_us\": null}}",
        MINE "\"probes\": {\"flag_us\": -1}}",
        MINE "\"probes\": {\"flag_us\": NaN}}",
        MINE "\"probes\": {\"flag_us\": 1e999}}",
        MINE "\"probes\": {\"flag_us\": 1e50}}",
        MINE "\"probes\": {\"overlap\": 1.5}}",
        MINE "\"probes\": {\"cores\": 1e30}}",
        MINE "\"probes\": {\"flag_us\": 1, \"flag_us\": 2}}",
        HEAD "\"mpi\": \"mpich\", \"probes\": {\"flag_us\": 0.2}}",
        "{\"format\": 2, \"library\": \"" HANPMPI_VERSION
        "\", \"machine\": \"x86_64-test-1p-2c\", \"mpi\": \"openmpi\", \"probes\": {\"flag_us\": 0.2}}",
        "{\"format\": 1, \"library\": \"0.0.0\", \"machine\": \"x86_64-test-1p-2c\", \"mpi\": \"openmpi\", "
        "\"probes\": {\"flag_us\": 0.2}}",
    };
    const hp_cache_t cache = cache_at("broken");
    const hp_probes_t untouched = {.flag_us = 77};
    hp_probes_t found = untouched;

    static const char good[] = MINE "\"probes\": {\"flag_us\": 0.5, \"not_known_yet\": 1}}";
    put(&cache, good, strlen(good)); /* the heads above are right, then */
    assert_true(hp_probes_cache_read(&cache, &found));
    assert_true(found.flag_us == 0.5 && found.inside_us == 0);

    found = untouched;
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        put(&cache, texts[i], strlen(texts[i]));
        if (hp_probes_cache_read(&cache, &found))
            fail_msg("read: %s", texts[i]);
        assert_memory_equal(&found, &untouched, sizeof found);
        assert_true(hp_probes_cache_write(&cache, &some));
        assert_true(hp_probes_cache_read(&cache, &found));
        found = untouched;
    }
#undef MINE
#undef HEAD
}

static void truncated_anywhere(void **state)
{
    (void)state;
    const hp_cache_t cache = cache_at("truncated");
    char path[PATH_MAX + 256], text[4096];
    hp_probes_t found;

    assert_true(hp_probes_cache_write(&cache, &some));
    path_of(&cache, path, sizeof path);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    const size_t bytes = fread(text, 1, sizeof text, file);
    fclose(file);
    assert_true(bytes > 100 && bytes < sizeof text);
    for (size_t cut = 0; cut < bytes; cut++) {
        put(&cache, text, cut);
        assert_false(hp_probes_cache_read(&cache, &found));
    }
    put(&cache, text, bytes);
    assert_true(hp_probes_cache_read(&cache, &found));
}

static void what_is_no_file(void **state)
{
    (void)state;
    const hp_cache_t cache = cache_at("strange");
    char path[PATH_MAX + 256];
    hp_probes_t found;

    mkdir(cache.directory, 0777);
    path_of(&cache, path, sizeof path);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_false(hp_probes_cache_read(&cache, &found));
    assert_false(hp_probes_cache_write(&cache, &some)); /* and nothing is left beside it */
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(cache.directory), 0);

    mkdir(cache.directory, 0777);
    assert_int_equal(mkfifo(path, 0666), 0); /* nobody writes to it */
    assert_false(hp_probes_cache_read(&cache, &found));
    assert_int_equal(unlink(path), 0);

    char *huge = malloc(1 << 20);
    assert_non_null(huge);
    memset(huge, ' ', 1 << 20);
    put(&cache, huge, 1 << 20);
    free(huge);
    assert_false(hp_probes_cache_read(&cache, &found));
    assert_true(hp_probes_cache_write(&cache, &some));
    assert_true(hp_probes_cache_read(&cache, &found));

    hp_cache_t below; /* a directory below a file */
    hp_cache_init(&below, path, cache.machine, cache.mpi);
    assert_false(hp_probes_cache_read(&below, &found));
    assert_false(hp_probes_cache_write(&below, &some));
}

static void where_it_is(void **state)
{
    (void)state;
    hp_cache_t cache;
    hp_probes_t found;

    setenv("XDG_CACHE_HOME", "/x", 1);
    setenv("HOME", "/h", 1);
    hp_cache_init(&cache, "", "a", "b");
    assert_string_equal(cache.directory, "/x/hanpmpi");
    setenv("XDG_CACHE_HOME", "not/absolute", 1);
    hp_cache_init(&cache, "", "a", "b");
    assert_string_equal(cache.directory, "/h/.cache/hanpmpi");
    unsetenv("XDG_CACHE_HOME");
    hp_cache_init(&cache, "/d", "a/../b", "Open MPI v4.1.4, package: x");
    assert_string_equal(cache.directory, "/d");
    assert_string_equal(cache.machine, "a-..-b");
    assert_string_equal(cache.mpi, "open-mpi-v4.1.4-package-x");
    hp_cache_init(&cache, "off", "a", "b");
    assert_string_equal(cache.directory, "");
    assert_false(hp_probes_cache_write(&cache, &some));
    assert_false(hp_probes_cache_read(&cache, &found));
    unsetenv("HOME");
    hp_cache_init(&cache, "", "a", "b");
    assert_string_equal(cache.directory, "");
}

static void whether_it_may_exist(void **state)
{
    (void)state;
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_false(hp_cache_may_exist("off"));
    assert_false(hp_cache_may_exist(""));
    assert_false(hp_cache_may_exist("/nonexistent/hanpmpi"));
    assert_true(hp_cache_may_exist("/"));
    assert_true(hp_cache_may_exist("/dev/null/hanpmpi")); /* who reads it warns of it */
    setenv("HOME", "/nonexistent", 1);
    assert_false(hp_cache_may_exist(""));
    setenv("XDG_CACHE_HOME", "/", 1);
    assert_false(hp_cache_may_exist(""));
}

static void record(void *context, const hp_cache_t *cache, const hp_probes_t *probes)
{
    char *names = context;
    assert_true(probes->flag_us > 0);
    strcat(strcat(names, cache->mpi), " ");
}

static void every_mpi_of_a_machine(void **state)
{
    (void)state;
    const hp_cache_t first = cache_at("each");
    hp_cache_t cache = first;
    char names[256] = "";

    assert_int_equal(hp_probes_cache_each(&cache, record, names), -1);
    assert_true(hp_probes_cache_write(&cache, &some));
    hp_cache_init(&cache, first.directory, "x86_64-test-1p-2c", "mpich-4.0.2");
    assert_true(hp_probes_cache_write(&cache, &some));
    hp_cache_init(&cache, first.directory, "x86_64-other", "mpich");
    assert_true(hp_probes_cache_write(&cache, &some));
    hp_cache_init(&cache, first.directory, "x86_64-test-1p-2c", "broken");
    put(&cache, "{", 1);
    assert_int_equal(hp_probes_cache_each(&cache, record, names), 2);
    assert_string_equal(names, "mpich-4.0.2 openmpi ");
}

static void learning(void **state)
{
    (void)state;
    hp_probes_t known = {0};
    const hp_probes_t little = {.flag_us = 1}, bad = {.overlap = 2}, nan = {.flag_us = strtod("nan", NULL)};

    assert_false(hp_probes_learn(&known, &known));
    assert_true(hp_probes_learn(&known, &little));
    assert_true(hp_probes_learn(&known, &some));
    assert_true(known.flag_us == some.flag_us);
    assert_true(hp_probes_learn(&known, &little)); /* another value */
    assert_false(hp_probes_learn(&known, &little));
    assert_true(known.flag_us == 1 && known.cores == 64);
    assert_true(hp_probes_are_sane(&known));
    assert_false(hp_probes_are_sane(&bad));
    assert_false(hp_probes_are_sane(&nan));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_and_read),   cmocka_unit_test(broken_files),
        cmocka_unit_test(truncated_anywhere), cmocka_unit_test(what_is_no_file),
        cmocka_unit_test(where_it_is),        cmocka_unit_test(every_mpi_of_a_machine),
        cmocka_unit_test(learning),           cmocka_unit_test(whether_it_may_exist),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
