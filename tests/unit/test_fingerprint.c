/* test_fingerprint: the name of a kind of machine: what stands in it, and that it is fit for a file name. */
#include "check.h"
#include "topo_tree/fingerprint.h"

static void names_of_processors(void **state)
{
    (void)state;
    static const struct {
        const char *architecture, *processor;
        uint32_t packages, cores;
        const char *expected;
    } cases[] = {
        {"x86_64", "Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz", 2, 64,
         "x86_64-intel-xeon-platinum-8370c-2p-64c"},
        {"x86_64", "AMD EPYC 7763 64-Core Processor", 2, 128, "x86_64-amd-epyc-7763-64-core-2p-128c"},
        {"aarch64", "Neoverse-N1", 1, 80, "aarch64-neoverse-n1-1p-80c"},
        {"aarch64", "", 1, 4, "aarch64-1p-4c"},
        {"", "a/b\\c \t../etc", 1, 1, "unknown-a-b-c-..-etc-1p-1c"},
        {"x86_64", "\xc3\xa4\xff?*", 1, 1, "x86_64-1p-1c"},
    };
    char name[HP_FINGERPRINT_BYTES];
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_string_equal(hp_fingerprint_format(cases[i].architecture, cases[i].processor,
                                                  cases[i].packages, cases[i].cores, name, sizeof name),
                            cases[i].expected);
}

/* Whole words go, and the counts stay. */
static void long_names_are_cut(void **state)
{
    (void)state;
    char name[HP_FINGERPRINT_BYTES], processor[400];
    memset(processor, 'x', sizeof processor);
    processor[sizeof processor - 1] = '\0';
    assert_string_equal(hp_fingerprint_format("x86_64", processor, 4, 4096, name, sizeof name),
                        "x86_64-4p-4096c");
    for (size_t i = 9; i < sizeof processor; i += 10)
        processor[i] = ' ';
    processor[sizeof processor - 1] = '\0';
    hp_fingerprint_format("x86_64", processor, 4, 4096, name, sizeof name);
    assert_string_equal(name, "x86_64-xxxxxxxxx-xxxxxxxxx-xxxxxxxxx-xxxxxxxxx-4p-4096c");
}

static void assert_fit(const char *name)
{
    assert_true(strlen(name) > 0 && strlen(name) < HP_FINGERPRINT_BYTES);
    assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-"), strlen(name));
    assert_true(name[0] != '-' && name[0] != '.');
}

static void machines(void **state)
{
    (void)state;
    char name[HP_FINGERPRINT_BYTES], again[HP_FINGERPRINT_BYTES];
    hp_machine_fingerprint(name, sizeof name);
    printf("this machine: %s\n", name);
    assert_fit(name);
    assert_string_equal(hp_machine_fingerprint(again, sizeof again), name);
    assert_string_equal(hp_machine_fingerprint_of(HP_MACHINES_DIR "/dual_snc.xml", name, sizeof name),
                        "unknown-unknown-2p-32c");
    /* A file that is no machine leaves what the kernel tells. */
    assert_fit(hp_machine_fingerprint_of(HP_MACHINES_DIR "/none.xml", name, sizeof name));
    assert_non_null(strstr(name, "-unknown-1p-1c"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_processors),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(machines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
