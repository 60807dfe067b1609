/* test_noise_settings: the words of the HANPMPI_NOISE variables, and the random durations: the same for the
 * same seed, of the right distribution, different from rank to rank. */
#include "unit/check.h"

#include "../../tuning/noise/settings.h"

enum { DRAWS = 20000 };

static noise_amount_t parsed(const char *text, double hz)
{
    char error[512] = "";
    noise_amount_t amount;
    if (!noise_amount_parse(text, hz, &amount, error, sizeof error))
        fail_msg("%s: %s", text, error);
    return amount;
}

static void mean_and_longest(const char *text, double *mean, double *longest)
{
    const noise_amount_t amount = parsed(text, 10);
    noise_random_t random = noise_random_start(5, 3, 0);
    *mean = *longest = 0;
    for (int i = 0; i < DRAWS; i++) {
        const double seconds = noise_draw(&amount, 10, &random);
        assert_true(seconds >= 0);
        *mean += seconds / DRAWS;
        *longest = seconds > *longest ? seconds : *longest;
    }
}

/* Mean and longest in seconds; the mean of 20000 draws is off by less than 3%. */
static void distributions(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double mean, most;
    } cases[] = {{"5%", 0.005, 0.01},
                 {"10%", 0.01, 0.02},
                 {"uniform:3", 0.0015, 0.003},
                 {"constant:2", 0.002, 0.002},
                 {"exponential:4", 0.004, 0.09},
                 {"exponential:4:4", 0.004 * 0.6321, 0.004},
                 {"off", 0, 0}};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        double mean, longest;
        mean_and_longest(cases[i].text, &mean, &longest);
        assert_true(mean >= 0.97 * cases[i].mean && mean <= 1.03 * cases[i].mean);
        assert_true(longest <= cases[i].most * (1 + 1e-12) && longest >= 0.4 * cases[i].most);
    }
}

static void streams(void **state)
{
    (void)state;
    double seen[4];
    static const uint64_t names[][3] = {{1, 0, 0}, {2, 0, 0}, {1, 1, 0}, {1, 0, 1}}; /* seed, rank, stream */
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        noise_random_t a = noise_random_start(names[i][0], (uint32_t)names[i][1], names[i][2]), b = a;
        seen[i] = noise_random_unit(&a);
        assert_true(seen[i] == noise_random_unit(&b));
        for (size_t k = 0; k < i; k++)
            assert_true(seen[i] != seen[k]);
    }
}

static uint32_t chosen_of(const char *text, uint32_t ranks)
{
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < ranks; rank++)
        count += noise_is_chosen(text, rank);
    return count;
}

static void chosen_ranks(void **state)
{
    (void)state;
    assert_int_equal(chosen_of("all", 100), 100);
    assert_int_equal(chosen_of("25%", 100), 25);
    assert_int_equal(chosen_of("7%", 1000), 70);
    assert_int_equal(chosen_of("100%", 9), 9);
    assert_int_equal(chosen_of("0%", 9), 0);
    assert_int_equal(chosen_of("every 3", 10), 4);
    assert_int_equal(chosen_of("0,2-4,9", 10), 5);
    assert_true(noise_is_chosen("8-11", 8) && noise_is_chosen("8-11", 11) && !noise_is_chosen("8-11", 12));
}

static void environment(void **state)
{
    (void)state;
    char error[512];
    noise_settings_t settings;
    setenv("HANPMPI_NOISE", "uniform:1.5", 1);
    setenv("HANPMPI_NOISE_HZ", "200", 1);
    setenv("HANPMPI_NOISE_RANKS", "1-3", 1);
    setenv("HANPMPI_NOISE_SEED", "42", 1);
    setenv("HANPMPI_NOISE_HOW", "burn", 1);
    assert_true(noise_settings_read(&settings, error, sizeof error));
    assert_int_equal(settings.amount.kind, NOISE_UNIFORM);
    assert_true(settings.amount.size == 0.0015 && settings.hz == 200 && settings.burns && !settings.reports);
    assert_int_equal(settings.seed, 42);
    assert_string_equal(settings.ranks, "1-3");
    setenv("HANPMPI_NOISE", "uniform:5", 1); /* 200 times 5 ms are a second */
    assert_false(noise_settings_read(&settings, error, sizeof error));
    assert_non_null(strstr(error, "HANPMPI_NOISE=uniform:5"));
    assert_non_null(strstr(error, "less than 5 ms"));
    setenv("HANPMPI_NOISE", "off", 1);
    setenv("HANPMPI_NOISE_REPORT", "yes", 1);
    assert_true(noise_settings_read(&settings, error, sizeof error) && settings.reports);
    setenv("HANPMPI_NOISE_HERZ", "5", 1);
    assert_false(noise_settings_read(&settings, error, sizeof error));
    assert_non_null(strstr(error, "HANPMPI_NOISE_HERZ"));
    assert_non_null(strstr(error, "HANPMPI_NOISE_HZ"));
    unsetenv("HANPMPI_NOISE_HERZ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distributions),
        cmocka_unit_test(streams),
        cmocka_unit_test(chosen_ranks),
        cmocka_unit_test(environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
