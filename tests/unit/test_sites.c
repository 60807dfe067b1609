/* test_sites: where the program makes its calls, as the recorder finds it, without an MPI. */
#include "check.h"
#include "pmpi_wrappers/backend/profile/sites/sites.h"

const bool hp_ranks_take_turns = false;

enum { FRAMES = 8, KEPT = 4, WORD = 16 /* what stacks are aligned to */ };

/* Its library is left out of what is found, as the MPI's is. */
static const void *const host_function = (const void *)(uintptr_t)_cmocka_run_group_tests;

/* The two calls of a function that stand in its code as far apart as the frames in which they are: one has more arguments than go into
 * registers. (What is on the stack of the test holds neither, and each walk has its first address only.) */
static void test_frames_apart_as_addresses(void **state)
{
    const uintptr_t code = (uintptr_t)test_frames_apart_as_addresses | (4 * WORD - 1);
    const uintptr_t stack = ((uintptr_t)&state & ~(uintptr_t)4095) - 65536;
    hp_book_t book;

    (void)state;
    for (unsigned frames = 1; frames <= KEPT; frames += KEPT - 1)
        for (uintptr_t apart = WORD; apart <= 4 * WORD; apart *= 2) {
            assert_true(hp_book_init(&book));
            assert_true(hp_sites_init(&book, frames, host_function));
            uint32_t site[2];
            for (unsigned pass = 0; pass < 2; pass++)
                for (unsigned i = 0; i < 2; i++) {
                    const uint32_t found =
                        hp_sites_find((const void *)(code ^ i * apart), (const void *)(stack ^ i * apart))
                            ->site;
                    assert_true(found != 0 && (pass == 0 || found == site[i]));
                    site[i] = found;
                }
            assert_true(site[0] != site[1]);
            assert_true(book.lost[HP_LOST_sites] == 0);
            hp_sites_fini();
            hp_book_fini(&book);
        }
}

/* The same function called from two places, in frames of its own: two sites, and each is found again. */
static uint32_t __attribute__((noinline)) call(void)
{
    return hp_sites_find(__builtin_return_address(0), __builtin_dwarf_cfa())->site;
}

static uint32_t __attribute__((noinline)) deeper(unsigned more)
{
    volatile uint32_t site = more ? deeper(more - 1) : call();
    return site;
}

static void test_walks(void **state)
{
    uint32_t site[FRAMES];
    hp_book_t book;

    (void)state;
    assert_true(hp_book_init(&book));
    assert_true(hp_sites_init(&book, KEPT, host_function));
    for (unsigned pass = 0; pass < 3; pass++)
        for (unsigned i = 0; i < FRAMES; i++) {
            const uint32_t found = deeper(i);
            assert_true(found != 0 && (pass == 0 || found == site[i]));
            site[i] = found;
        }
    /* `deeper` called by itself so often that nothing else is kept. */
    for (unsigned i = 1; i < FRAMES; i++)
        assert_true((site[i] == site[i - 1]) == (i >= KEPT));
    hp_sites_fini();
    hp_book_fini(&book);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_frames_apart_as_addresses),
                                       cmocka_unit_test(test_walks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
