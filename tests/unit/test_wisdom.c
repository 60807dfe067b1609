/* test_wisdom: what is learned is found again for the same place alone; what is written is read; broken files are passed
 * over; many writers at once, some of them killed, leave a whole file. */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/log.h"
#include "check.h"
#include "hier/planning/foresight.h"
#include "hier/planning/wisdom_file.h"

static char top[64]; /* of this test's files */
static hp_finding_t list[HP_FINDINGS_MAX];

static int set_up(void **state)
{
    (void)state;
    hp_log_set_level(HP_LOG_WARN); /* what is said of broken files is information */
    hp_wisdom_forget();
    strcpy(top, "/tmp/hanpmpi_wisdom_XXXXXX");
    return mkdtemp(top) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", top);
    return system(command);
}

static hp_finding_t finding_of(unsigned bin, uint32_t nodes, double rate, double us)
{
    hp_finding_t finding = {.place = {.nodes = nodes,
                                      .least_ranks = 2,
                                      .most_ranks = 4,
                                      .cores = 4,
                                      .slot_bytes = 65536,
                                      .shares_memory = 1,
                                      .between_us = rate > 0 ? 50 : 0,
                                      .between_rate = rate},
                            .collective = HP_ALLGATHER,
                            .bin = bin,
                            .id = {UINT64_MAX - bin, 0, 77, 0},
                            .us = {us, 2 * us, 1.0 / 3, -1},
                            .chosen = 2,
                            .second = 1,
                            .day = 20000,
                            .is_news = true};
    strcpy(finding.text, "han, ring, \"32\" KiB");
    return finding;
}

static void learn(unsigned bin, uint32_t nodes, double rate, double us)
{
    const hp_finding_t finding = finding_of(bin, nodes, rate, us);
    hp_wisdom_learn(&finding);
}

static size_t stored(void)
{
    uint64_t hash;
    return hp_wisdom_copy(list, &hash);
}

static void one_finding_for_the_same(void **state)
{
    (void)state;
    learn(17, 4, 100, 10);
    learn(17, 4, 100, 20);
    assert_int_equal(stored(), 1);
    assert_true(list[0].us[0] == 20);
    learn(17, 4, 120, 30); /* the same network, probed again */
    assert_int_equal(stored(), 1);
    learn(17, 4, 400, 40); /* another one */
    learn(18, 4, 100, 50);
    learn(17, 5, 100, 60);
    learn(17, 1, 0, 70);
    assert_int_equal(stored(), 5);
    const hp_wisdom_place_t here = finding_of(0, 4, 110, 0).place, slow = finding_of(0, 4, 10, 0).place;
    assert_int_equal(hp_wisdom_at(list, 5, &here), 2);
    assert_true(list[0].us[0] == 30 && list[1].us[0] == 50);
    stored();
    assert_int_equal(hp_wisdom_at(list, 5, &slow), 0);
}

static void what_is_adopted_goes_first(void **state)
{
    (void)state;
    uint64_t mine, theirs;
    learn(1, 4, 100, 1);
    learn(2, 4, 100, 2);
    const hp_finding_t others[] = {finding_of(3, 4, 100, 3), finding_of(2, 4, 100, 9)};
    hp_wisdom_adopt(others, 2);
    assert_int_equal(hp_wisdom_copy(list, &mine), 3);
    assert_int_equal(list[0].bin, 3);
    assert_true(list[1].us[0] == 9);
    assert_int_equal(list[2].bin, 1);
    hp_wisdom_forget(); /* who had nothing has the same then, in the same order, but for the rest */
    hp_wisdom_adopt(list, 3);
    assert_int_equal(hp_wisdom_copy(list, &theirs), 3);
    assert_true(mine == theirs);
    learn(4, 4, 100, 1);
    hp_wisdom_copy(list, &theirs);
    assert_true(mine != theirs);
}

/* A full store forgets the oldest. */
static void the_store_is_bounded(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < HP_FINDINGS_MAX + 10; i++) {
        hp_finding_t finding = finding_of(1, i + 1, 100, i);
        finding.day = 1000 + i;
        hp_wisdom_learn(&finding);
    }
    assert_int_equal(stored(), HP_FINDINGS_MAX);
    for (unsigned i = 0; i < HP_FINDINGS_MAX; i++)
        assert_true(list[i].day >= 1010);
    hp_finding_t more[1] = {finding_of(9, 4, 100, 1)};
    hp_wisdom_adopt(more, 1);
    assert_int_equal(stored(), HP_FINDINGS_MAX);
    assert_int_equal(list[0].bin, 9);
}

/* ---- files ---- */

static hp_cache_t cache_at(const char *directory)
{
    hp_cache_t cache;
    char path[256];
    snprintf(path, sizeof path, "%s/%s", top, directory);
    hp_cache_init(&cache, path, "x86_64-test-1p-2c", "openmpi");
    return cache;
}

static void put(const hp_cache_t *cache, const char *text, size_t bytes)
{
    char path[HP_CACHE_PATH_BYTES];
    mkdir(cache->directory, 0777);
    hp_cache_path(cache, "wisdom", path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static bool same(const hp_finding_t *a, const hp_finding_t *b)
{
    bool same = a->collective == b->collective && a->bin == b->bin && a->chosen == b->chosen &&
                a->second == b->second && a->day == b->day && strcmp(a->text, b->text) == 0 &&
                memcmp(&a->place, &b->place, sizeof a->place) == 0;
    for (unsigned slot = 0; slot < HP_SLOTS; slot++)
        same = same && a->id[slot] == b->id[slot] && a->us[slot] > b->us[slot] - 1e-5 &&
               a->us[slot] < b->us[slot] + 1e-5;
    return same;
}

static void written_and_read(void **state)
{
    (void)state;
    const hp_cache_t cache = cache_at("a/b"); /* not there yet */
    const hp_finding_t first = finding_of(0, 4, 100, 10), second = finding_of(64, 1, 0, 0);

    assert_int_equal(hp_wisdom_read(&cache, list), 0);
    hp_wisdom_learn(&first);
    hp_wisdom_learn(&second);
    assert_true(hp_wisdom_has_news());
    assert_true(hp_wisdom_write(&cache));
    assert_int_equal(hp_wisdom_read(&cache, list), 2);
    assert_true(same(&list[0], &first) && same(&list[1], &second));
    assert_false(list[0].is_news);

    hp_wisdom_forget(); /* another job: it knows the file, and learns something */
    hp_wisdom_adopt(list, 2);
    assert_false(hp_wisdom_has_news());
    learn(7, 4, 100, 70);
    assert_true(hp_wisdom_write(&cache));
    assert_int_equal(hp_wisdom_read(&cache, list), 3);

    hp_wisdom_forget(); /* one that has read nothing, and found something else for the same */
    learn(7, 4, 100, 71);
    assert_true(hp_wisdom_write(&cache));
    assert_int_equal(hp_wisdom_read(&cache, list), 3);
    assert_true(list[2].us[0] == 71);
    assert_true(hp_wisdom_remove(&cache));
    assert_int_equal(hp_wisdom_read(&cache, list), 0);
    assert_false(hp_wisdom_remove(&cache));
}

static void nowhere(void **state)
{
    (void)state;
    hp_cache_t cache;
    hp_cache_init(&cache, "off", "machine", "mpi");
    learn(1, 4, 100, 1);
    assert_false(hp_wisdom_write(&cache));
    assert_int_equal(hp_wisdom_read(&cache, list), 0);
    cache = cache_at("file"); /* is no directory */
    char path[256];
    snprintf(path, sizeof path, "%s/file", top);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_false(hp_wisdom_write(&cache));
}

/* Each is the good file with one thing made wrong. */
static void broken_files(void **state)
{
    (void)state;
    static const char head[] =
        "{\"format\": 1, \"library\": \"" HANPMPI_VERSION
        "\", \"machine\": \"x86_64-test-1p-2c\", \"mpi\": \"openmpi\", \"findings\": [";
    static const char finding[] =
        "{\"collective\": \"bcast\", \"bin\": 17, \"nodes\": 2, \"ranks\": [2, 4], \"cores\": 4, "
        "\"slot_bytes\": 65536, \"shares_memory\": true, \"reads_peers\": false, \"between_us\": 50.0, "
        "\"between_rate\": 100, \"candidates\": [[\"a1\", 10.5], [\"0\", 20], null, null], \"chosen\": 0, "
        "\"second\": 0, \"day\": 20000, \"text\": \"han\"}";
    static const struct {
        const char *there, *instead;
    } faults[] = {
        {"\"format\": 1", "\"format\": 2"},
        {"\"format\": 1", "\"format\": \"1\""},
        {"\"library\": \"" HANPMPI_VERSION, "\"library\": \"0.0.0"},
        {"test-1p", "test-2p"},
        {"\"openmpi\"", "\"mpich\""},
        {"\"findings\": [", "\"findings\": 7, \"other\": ["},
        {"[{", "[7, {"},
        {"[{", "[null, {"},
        {"[{", "[[], {"},
        {"\"bcast\"", "\"broadcast\""},
        {"\"bcast\"", "7"},
        {"\"bin\": 17", "\"bin\": 65"},
        {"\"bin\": 17", "\"bin\": -1"},
        {"\"bin\": 17", "\"bin\": 1.5"},
        {"\"bin\": 17, ", ""},
        {"\"nodes\": 2", "\"nodes\": 0"},
        {"\"nodes\": 2", "\"nodes\": 99999999999"},
        {"[2, 4]", "[4, 2]"},
        {"[2, 4]", "[0, 4]"},
        {"[2, 4]", "[2]"},
        {"[2, 4]", "[2, 4, 6]"},
        {"[2, 4]", "[2, \"4\"]"},
        {"\"cores\": 4", "\"cores\": null"},
        {"\"slot_bytes\": 65536", "\"slot_bytes\": -65536"},
        {"true", "1"},
        {"false", "\"false\""},
        {"50.0", "-50.0"},
        {"50.0", "NaN"},
        {"50.0", "1e999"},
        {"100", "1e30"},
        {"[\"a1\", 10.5]", "[\"\", 10.5]"},
        {"[\"a1\", 10.5]", "[\"xyz\", 10.5]"},
        {"[\"a1\", 10.5]", "[\"11111111111111111\", 10.5]"},
        {"[\"a1\", 10.5]", "[\"a1\", -10.5]"},
        {"[\"a1\", 10.5]", "[\"a1\"]"},
        {"[\"a1\", 10.5]", "null"}, /* the chosen one was not tried */
        {", null, null]", ", null]"},
        {"\"chosen\": 0", "\"chosen\": 4"},
        {"\"second\": 0", "\"second\": 3"},
        {"\"day\": 20000", "\"day\": true"},
        {"\"text\": \"han\"",
         "\"text\": \"0123456789012345678901234567890123456789012345678901234567890123\""},
        {"\"text\": \"han\"", "\"text\": null"},
        {"\"text\": \"han\"", "\"text\": \"han\", \"text\": \"flat\""},
        {"}]}", "}"},
        {"}]}", "}]} x"},
        {head, ""},
    };
    const hp_cache_t cache = cache_at("broken");
    char good[2048];

    snprintf(good, sizeof good, "%s%s]}", head, finding);
    put(&cache, good, strlen(good));
    assert_int_equal(hp_wisdom_read(&cache, list), 1);
    for (size_t i = 0; i < ARRAY_LENGTH(faults); i++) {
        char bad[4096];
        const char *place = strstr(good, faults[i].there);
        assert_non_null(place);
        snprintf(bad, sizeof bad, "%.*s%s%s", (int)(place - good), good, faults[i].instead,
                 place + strlen(faults[i].there));
        put(&cache, bad, strlen(bad));
        if (hp_wisdom_read(&cache, list) != 0)
            fail_msg("read: %s", bad);
    }
    put(&cache, "\0\0\0\0", 4);
    assert_int_equal(hp_wisdom_read(&cache, list), 0);
    learn(3, 4, 100, 1); /* and replaced */
    assert_true(hp_wisdom_write(&cache));
    assert_int_equal(hp_wisdom_read(&cache, list), 1);
}

/* One writer: findings of its own, again and again. */
static void write_on(const hp_cache_t *cache, unsigned writer, unsigned writes)
{
    for (unsigned i = 0; i < writes; i++) {
        hp_wisdom_forget();
        learn(i % 60, writer + 1, 100, writer + 1);
        hp_wisdom_write(cache);
    }
}

static void many_writers(void **state)
{
    (void)state;
    enum { WRITERS = 30, WRITES = 20, KILLED = 15 };
    const hp_cache_t cache = cache_at("many");
    pid_t writers[WRITERS];

    for (unsigned i = 0; i < WRITERS; i++) {
        writers[i] = fork();
        assert_true(writers[i] >= 0);
        if (writers[i] == 0) {
            write_on(&cache, i, WRITES);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < KILLED; i++) {
        usleep(3000 + 1000 * (i % 5));
        kill(writers[i], SIGKILL);
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        int status;
        assert_int_equal(waitpid(writers[i], &status, 0), writers[i]);
        assert_true(i < KILLED || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    }
    const size_t count = hp_wisdom_read(&cache, list);
    unsigned of_writer[WRITERS + 1] = {0};
    for (size_t i = 0; i < count; i++) {
        assert_in_range(list[i].place.nodes, 1, WRITERS);
        assert_true(list[i].us[0] == list[i].place.nodes);
        of_writer[list[i].place.nodes]++;
    }
    /* They take turns, so that nobody's finding is lost but of those who were killed, or waited for a second in vain. */
    for (unsigned i = KILLED; i < WRITERS; i++)
        assert_in_range(of_writer[i + 1], WRITES / 2, WRITES);
}

/* Before a communicator is set up: by its number of ranks alone, and of several findings the least. */
static void what_is_foreseen(void **state)
{
    (void)state;
    hp_finding_t found[6];
    for (unsigned i = 0; i < ARRAY_LENGTH(found); i++) {
        found[i] = finding_of(10 + i, 2, 100, 30);
        found[i].place.least_ranks = found[i].place.most_ranks = 4;
        found[i].us[2] = 20; /* chosen; the host MPI, slot 1, took 60 */
    }
    found[1].chosen = 1;
    found[2].us[1] = 25;
    found[3].place.least_ranks = 3; /* 7 or 8 ranks */
    found[5] = found[4];
    found[5].place.nodes = 4;
    found[5].place.least_ranks = found[5].place.most_ranks = 2;
    found[5].chosen = 1;
    hp_foresight_set(found, ARRAY_LENGTH(found));
    static const double expected[] = {2.0 / 3, 0, 0.2, -1, 0, -1};
    for (unsigned i = 0; i < ARRAY_LENGTH(expected); i++) {
        assert_float_equal(hp_foresight_gain(8, HP_ALLGATHER, 1ull << (9 + i), true), expected[i], 1e-9);
        assert_float_equal(hp_foresight_gain(7, HP_ALLGATHER, 1ull << (9 + i), true), -1, 0);
        assert_float_equal(hp_foresight_gain(8, HP_BCAST, 1ull << (9 + i), true), -1, 0);
    }
    /* What this run finds: for blocking calls, where nothing was known. */
    const double before = expected[0];
    found[0].us[2] = 6;
    hp_foresight_learn(&found[0]);
    assert_float_equal(hp_foresight_gain(8, HP_ALLGATHER, 1 << 9, true), before, 1e-9);
    hp_foresight_set(NULL, 0);
    assert_float_equal(hp_foresight_gain(8, HP_ALLGATHER, 1 << 9, true), -1, 0);
    hp_foresight_learn(&found[0]);
    assert_float_equal(hp_foresight_gain(8, HP_ALLGATHER, 1 << 9, true), 0.9, 1e-9);
    assert_float_equal(hp_foresight_gain(8, HP_ALLGATHER, 1 << 9, false), -1, 0);
    hp_foresight_set(NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(one_finding_for_the_same),
        TEST(what_is_adopted_goes_first),
        TEST(the_store_is_bounded),
        TEST(written_and_read),
        TEST(nowhere),
        TEST(broken_files),
        TEST(many_writers),
        TEST(what_is_foreseen),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
