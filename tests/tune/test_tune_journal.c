/* test_tune_journal: what was measured is there again, after every way to be ended. */
#include <unistd.h>

#include "fixture.h"
#include "tune/journal.h"

static double no_clock(const tune_key_t *key, const tune_config_t *config)
{
    (void)key;
    (void)config;
    return 1;
}

static tune_record_t make_record(tune_kind_t kind, int config, int other, size_t bytes, double us)
{
    tune_record_t record = {.key = {kind, TUNE_BCAST, config, other, bytes}, .count = 1, .seconds = 0.25};
    record.us = malloc(sizeof *record.us);
    assert_non_null(record.us);
    record.us[0] = us;
    return record;
}

static void add(tune_journal_t *journal, tune_kind_t kind, int config, int other, size_t bytes, double us)
{
    tune_record_t record = make_record(kind, config, other, bytes, us);
    tune_journal_add(journal, &record);
    free(record.us);
}

/* How many records a journal that holds for `holds_for` gives; -1: it is another one's. */
static int read_back(const fixture_t *fixture, const char *name, const char *holds_for, tune_book_t *book)
{
    tune_journal_t journal;

    tune_book_init(book);
    const tune_journal_result_t result =
        tune_journal_open(&journal, name, holds_for, false, fixture->lists, book);
    if (result != TUNE_JOURNAL_OPEN)
        return -1;
    tune_journal_close(&journal, false);
    return book->count;
}

static void test_goes_on(void **state)
{
    char name[] = "/tmp/hp_test_tune_journal.XXXXXX";
    fixture_t fixture;
    tune_journal_t journal;
    tune_book_t book;
    (void)state;

    fixture_init(&fixture, 4, WORDS("--collective=bcast"), no_clock);
    const int file = mkstemp(name);
    assert_true(file >= 0);
    tune_book_init(&book);
    assert_int_equal(tune_journal_open(&journal, name, "{a}", false, fixture.lists, &book),
                     TUNE_JOURNAL_OPEN);
    add(&journal, TUNE_KIND_DIRECT, 3, -1, 64, 12.5);
    add(&journal, TUNE_KIND_PAIR, 3, 4, 64, 13);
    tune_journal_close(&journal, false);
    tune_book_fini(&book);

    assert_int_equal(read_back(&fixture, name, "{a}", &book), 2);
    const tune_record_t *record =
        tune_book_find(&book, &(tune_key_t){TUNE_KIND_DIRECT, TUNE_BCAST, 3, -1, 64});
    assert_non_null(record);
    assert_true(record->us[0] == 12.5 && record->seconds == 0.25 && record->count == 1);
    assert_non_null(tune_book_find(&book, &(tune_key_t){TUNE_KIND_PAIR, TUNE_BCAST, 3, 4, 64}));
    assert_null(tune_book_find(&book, &(tune_key_t){TUNE_KIND_PAIR, TUNE_BCAST, 3, 5, 64}));
    tune_book_fini(&book);

    /* Ended in the middle of a line: it is left out, and the next one does not follow on it. */
    assert_int_equal(ftruncate(file, lseek(file, 0, SEEK_END) - 5), 0);
    tune_book_init(&book);
    assert_int_equal(tune_journal_open(&journal, name, "{a}", false, fixture.lists, &book),
                     TUNE_JOURNAL_OPEN);
    assert_int_equal(book.count, 1);
    add(&journal, TUNE_KIND_TASK, 5, -1, 128, 14);
    tune_journal_close(&journal, false);
    tune_book_fini(&book);
    assert_int_equal(read_back(&fixture, name, "{a}", &book), 2);
    tune_book_fini(&book);

    /* Another one's is not touched, unless that is asked for. */
    assert_int_equal(read_back(&fixture, name, "{b}", &book), -1);
    tune_book_fini(&book);
    assert_int_equal(read_back(&fixture, name, "{a}", &book), 2);
    tune_book_fini(&book);
    tune_book_init(&book);
    assert_int_equal(tune_journal_open(&journal, name, "{b}", true, fixture.lists, &book), TUNE_JOURNAL_OPEN);
    assert_int_equal(book.count, 0);
    tune_journal_close(&journal, true);
    assert_int_equal(access(name, F_OK), -1);
    tune_book_fini(&book);
    close(file);
    fixture_fini(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_goes_on)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
