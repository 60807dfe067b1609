/* test_arena: pieces are zeroed, aligned and apart, stay where they are, and a round like the one before
 * allocates nothing.
 *
 * Linked with --wrap=malloc, to count and to refuse. */
#include <stdbool.h>
#include "base/arena.h"
#include "check.h"

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);

static unsigned allocations;
static bool refuses;

void *__wrap_malloc(size_t bytes)
{
    allocations++;
    return refuses ? NULL : __real_malloc(bytes);
}

enum { PIECES = 200, ALIGNMENT = 16, LARGE_BYTES = 100000 };

typedef struct {
    unsigned char *at;
    size_t bytes;
} piece_t;

/* Mostly small ones, some larger than a block. */
static size_t random_bytes(check_random_t *random)
{
    return check_random_below(random, check_random_below(random, 20) ? 300 : LARGE_BYTES);
}

static void take(hp_arena_t *arena, piece_t *pieces, check_random_t *random)
{
    for (unsigned i = 0; i < PIECES; i++) {
        piece_t *piece = &pieces[i];
        piece->bytes = random_bytes(random);
        piece->at = hp_arena_get(arena, piece->bytes);
        assert_non_null(piece->at);
        assert_int_equal((uintptr_t)piece->at % ALIGNMENT, 0);
        for (size_t k = 0; k < piece->bytes; k++)
            assert_int_equal(piece->at[k], 0);
        memset(piece->at, 1 + (int)i % 255, piece->bytes);
    }
    for (unsigned i = 0; i < PIECES; i++) /* nobody wrote into another one's piece */
        for (size_t k = 0; k < pieces[i].bytes; k++)
            assert_int_equal(pieces[i].at[k], 1 + i % 255);
}

static void pieces_are_apart_and_zeroed(void **state)
{
    (void)state;
    check_random_t random = check_random_start("pieces_are_apart_and_zeroed");
    piece_t pieces[PIECES];
    hp_arena_t arena;

    hp_arena_init(&arena);
    for (unsigned round = 0; round < 20; round++) {
        take(&arena, pieces, &random);
        hp_arena_reset(&arena);
    }
    hp_arena_fini(&arena);
}

static void the_same_round_again_allocates_nothing(void **state)
{
    (void)state;
    const check_random_t start = check_random_start("the_same_round_again_allocates_nothing");
    piece_t first[PIECES], again[PIECES];
    hp_arena_t arena;

    hp_arena_init(&arena);
    check_random_t random = start;
    take(&arena, first, &random);
    const unsigned before = allocations;
    for (unsigned round = 0; round < 5; round++) {
        hp_arena_reset(&arena);
        random = start;
        take(&arena, again, &random);
        for (unsigned i = 0; i < PIECES; i++)
            assert_ptr_equal(again[i].at, first[i].at);
    }
    assert_int_equal(allocations, before);
    hp_arena_fini(&arena);
}

/* What does not fit into a kept block goes behind it, and what was there is not handed out twice. */
static void a_larger_piece_after_a_reset(void **state)
{
    (void)state;
    hp_arena_t arena;

    hp_arena_init(&arena);
    assert_non_null(hp_arena_get(&arena, 10));
    hp_arena_reset(&arena);
    char *large = hp_arena_get(&arena, LARGE_BYTES), *small = hp_arena_get(&arena, 10);
    assert_true(large && small);
    assert_true(small >= large + LARGE_BYTES || small + 10 <= large);
    hp_arena_fini(&arena);
}

static void without_memory(void **state)
{
    (void)state;
    hp_arena_t arena;

    hp_arena_init(&arena);
    refuses = true;
    assert_null(hp_arena_get(&arena, 1));
    refuses = false;
    char *kept = hp_arena_get(&arena, 100);
    assert_non_null(kept);
    memset(kept, 7, 100);
    refuses = true;
    assert_null(hp_arena_get(&arena, LARGE_BYTES));
    char *more = hp_arena_get(&arena, 100); /* the block has room */
    refuses = false;
    assert_non_null(more);
    memset(more, 8, 100);
    assert_int_equal(kept[99], 7);
    hp_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_apart_and_zeroed),
        cmocka_unit_test(the_same_round_again_allocates_nothing),
        cmocka_unit_test(a_larger_piece_after_a_reset),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
