/* test_network_broken: files that describe no network, and the whole of what is said of each:
 * tests/unit/networks/broken, and beside them messages.txt with a line "FILE<tab>what follows the folder's name". */
#include <dirent.h>
#include <unistd.h>
#include "base/text_file.h"
#include "check.h"
#include "topo_tree/network/file.h"

enum { FILES_LEAST = 40 };

static void read_file(const char *path, char *why)
{
    hp_network_t network;

    hp_network_init(&network);
    const hp_status_t status = hp_network_read(&network, path, why, HP_NETWORK_WHY_BYTES);
    hp_network_fini(&network);
    if (status != HP_ERR_ARG)
        fail_msg("%s: %s", path, status == HP_OK ? "accepted" : hp_status_text(status));
}

static unsigned count_files(void)
{
    unsigned count = 0;
    DIR *folder = opendir(BROKEN_DIR);

    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.' && strcmp(entry->d_name, "messages.txt") != 0;
    closedir(folder);
    return count;
}

static void messages(void **state)
{
    char *text, *rest = NULL;
    const char *reason;
    size_t length;
    unsigned rows = 0;
    (void)state;

    assert_int_equal(hp_text_file_read(BROKEN_DIR "/messages.txt", 1 << 20, &text, &length, &reason), HP_OK);
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), rows++) {
        char *tab = strchr(line, '\t'), path[512], expected[1024], why[HP_NETWORK_WHY_BYTES];
        assert_non_null(tab);
        *tab = '\0';
        snprintf(path, sizeof path, "%s/%s", BROKEN_DIR, line);
        snprintf(expected, sizeof expected, "%s:%s", path, tab + 1);
        read_file(path, why);
        if (strcmp(why, expected) != 0)
            fail_msg("\n%s\nwhere this was expected:\n%s", why, expected);
    }
    free(text);
    assert_true(rows >= FILES_LEAST);
    assert_int_equal(rows, count_files()); /* each file has its row */
}

/* 100 MB of anything, refused by its size; noise that is not, at once, by its first line. */
static void large_files(void **state)
{
    char path[] = "/tmp/hanpmpi_network_XXXXXX", why[HP_NETWORK_WHY_BYTES], expected[256], block[4096];
    check_random_t random = check_random_start("noise");
    const int fd = mkstemp(path);
    (void)state;

    assert_true(fd >= 0);
    for (unsigned blocks = 0; blocks < 1024; blocks++) {
        for (unsigned i = 0; i < sizeof block; i++)
            block[i] = (char)(' ' + check_random_below(&random, 64)); /* one line without an end */
        assert_int_equal(write(fd, block, sizeof block), sizeof block);
    }
    read_file(path, why);
    snprintf(expected, sizeof expected, "%s:1: \"", path);
    assert_memory_equal(why, expected, strlen(expected));
    assert_int_equal(ftruncate(fd, 100 << 20), 0);
    read_file(path, why);
    snprintf(expected, sizeof expected, "%s: it is too large: expected a network as text or JSON", path);
    assert_string_equal(why, expected);
    close(fd);
    unlink(path);
}

static void no_files(void **state)
{
    char why[HP_NETWORK_WHY_BYTES];
    (void)state;

    read_file(BROKEN_DIR, why);
    assert_string_equal(why, BROKEN_DIR ": it is a directory: expected a network as text or JSON");
    read_file("/nowhere/net", why);
    assert_string_equal(why, "/nowhere/net: No such file or directory: expected a network as text or JSON");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(messages), cmocka_unit_test(large_files),
                                       cmocka_unit_test(no_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
