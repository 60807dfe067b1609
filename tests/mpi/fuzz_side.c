#include "fuzz_side.h"

enum { GUARD_BYTES = 64, ALIGNMENT = 16, GARBAGE = 1000 };

static void *allocate(int count, size_t bytes)
{
    void *memory = calloc((size_t)count, bytes);
    CHECK(memory, "out of memory");
    return memory;
}

void hp_fuzz_side_init(hp_fuzz_side_t *side, int blocks)
{
    *side = (hp_fuzz_side_t){
        .blocks = blocks,
        .block = allocate(blocks, sizeof *side->block),
        .counts = allocate(blocks, sizeof *side->counts),
        .displs = allocate(blocks, sizeof *side->displs),
        .counts_c = allocate(blocks, sizeof *side->counts_c),
        .displs_c = allocate(blocks, sizeof *side->displs_c),
        .types = allocate(blocks, sizeof(MPI_Datatype)),
        .own_types = allocate(blocks, sizeof(MPI_Datatype)),
    };
}

void hp_fuzz_side_fini(hp_fuzz_side_t *side)
{
    for (int i = 0; i < HP_FUZZ_ARENAS; i++)
        free(side->arena[i]);
    free(side->block);
    free(side->counts);
    free(side->displs);
    free(side->counts_c);
    free(side->displs_c);
    free(side->types);
    free(side->own_types);
    *side = (hp_fuzz_side_t){0};
}

static MPI_Aint align_up(MPI_Aint at)
{
    return at + (ALIGNMENT - at % ALIGNMENT) % ALIGNMENT;
}

/* The first byte of a block, and the one behind its last, from its own origin. The holes of the last basic belong to it:
 * a pair of 16 bytes ends in 4 that have no value. */
static MPI_Aint low_of(const hp_fuzz_block_t *block)
{
    return block->map->true_lb;
}

static MPI_Aint high_of(const hp_fuzz_block_t *block)
{
    return (block->count - 1) * block->map->extent + block->map->true_ub +
           (MPI_Aint)hp_basic_info(block->map->basic)->bytes;
}

/* After the blocks have their places: memory, and the arrays for MPI but displs. */
static void finish(hp_fuzz_side_t *side)
{
    MPI_Aint low = 0, high = 0;
    bool any = false;

    for (int i = 0; i < side->blocks; i++) {
        const hp_fuzz_block_t *block = &side->block[i];
        side->counts[i] = (int)block->count;
        side->counts_c[i] = block->count;
        side->displs_c[i] = side->displs[i];
        side->types[i] = side->own_types[i] = block->map->type;
        if (!block->count)
            continue;
        if (!any || block->at + low_of(block) < low)
            low = block->at + low_of(block);
        if (!any || block->at + high_of(block) > high)
            high = block->at + high_of(block);
        any = true;
    }
    side->origin = align_up(GUARD_BYTES - low);
    side->arena_bytes = (size_t)(side->origin + high + GUARD_BYTES);
    for (int i = 0; i < HP_FUZZ_ARENAS; i++) {
        side->arena[i] = malloc(side->arena_bytes);
        CHECK(side->arena[i], "out of memory for %zu bytes", side->arena_bytes);
    }
}

void hp_fuzz_side_place_in_order(hp_fuzz_side_t *side)
{
    MPI_Aint at = 0;
    for (int i = 0; i < side->blocks; i++) {
        hp_fuzz_block_t *block = &side->block[i];
        block->at = at;
        at += block->count * block->map->extent;
    }
    finish(side);
}

/* The next free place behind a block, from which the distance to it is at least 0: in elements, or in bytes. */
static int64_t place(hp_fuzz_block_t *block, int *displ, int64_t free_from, hp_random_t *random,
                     bool by_bytes, bool overlap)
{
    int64_t gap = hp_random_below(random, 3);

    if (by_bytes) {
        block->at = align_up(free_from + ALIGNMENT * gap - low_of(block));
        *displ = (int)block->at;
        return overlap ? free_from : block->at + high_of(block);
    }
    *displ = (int)(free_from + gap);
    block->at = *displ * block->map->extent;
    return *displ + (overlap ? block->count / 2 : block->count);
}

void hp_fuzz_side_place_anywhere(hp_fuzz_side_t *side, hp_random_t *random, bool by_bytes, bool overlap)
{
    int *order = allocate(side->blocks, sizeof *order);
    int64_t free_from = -(int64_t)hp_random_below(random, 3);

    for (int i = 0; i < side->blocks; i++) {
        int other = (int)hp_random_below(random, (uint32_t)i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    for (int i = 0; i < side->blocks; i++) {
        hp_fuzz_block_t *block = &side->block[order[i]];
        int *displ = &side->displs[order[i]];
        if (block->count)
            free_from = place(block, displ, free_from, random, by_bytes, overlap);
        else
            *displ = (int)hp_random_below(random, GARBAGE);
    }
    free(order);
    finish(side);
}

void hp_fuzz_side_part(hp_fuzz_side_t *side, const hp_fuzz_side_t *from)
{
    for (int i = 0; i < HP_FUZZ_ARENAS; i++)
        while (hp_fuzz_side_base(side, i) == hp_fuzz_side_base(from, HP_FUZZ_LIBRARY)) {
            unsigned char *taken = side->arena[i];
            side->arena[i] = malloc(side->arena_bytes);
            CHECK(side->arena[i], "out of memory for %zu bytes", side->arena_bytes);
            free(taken);
        }
}

/* ---- values ---- */

static void copy_pristine(hp_fuzz_side_t *side)
{
    for (int i = HP_FUZZ_PRISTINE + 1; i < HP_FUZZ_ARENAS; i++)
        memcpy(side->arena[i], side->arena[HP_FUZZ_PRISTINE], side->arena_bytes);
}

/* Of both sides of a call: the gaps of one are not the gaps of the other. */
static void fill_pattern(hp_fuzz_side_t *side, uint64_t salt)
{
    hp_pattern_fill(side->arena[HP_FUZZ_PRISTINE], side->arena_bytes, salt);
}

void hp_fuzz_side_fill_none(hp_fuzz_side_t *side, const hp_fuzz_case_t *test)
{
    fill_pattern(side, hp_mix(test->salt));
    copy_pristine(side);
}

void hp_fuzz_side_fill(hp_fuzz_side_t *side, const hp_fuzz_case_t *test, int only)
{
    int64_t index = 0;

    fill_pattern(side, test->salt);
    for (int i = 0; i < side->blocks; i++) {
        const hp_fuzz_block_t *block = &side->block[i];
        const int64_t basics = only < 0 || only == i ? block->count * block->map->basics : 0;
        hp_typemap_fill(block->map, test->operation, HP_VALUES_ANY, test->salt, test->pair->rank, index,
                        basics, hp_fuzz_side_base(side, HP_FUZZ_PRISTINE) + block->at);
        index += basics;
    }
    copy_pristine(side);
}

/* ---- datatypes that are freed in flight ---- */

void hp_fuzz_side_dup_types(hp_fuzz_side_t *side)
{
    side->duplicated = true;
    for (int i = 0; i < side->blocks; i++)
        if (side->block[i].map->owned)
            CHECK_MPI(MPI_Type_dup(side->types[i], &side->own_types[i]));
}

void hp_fuzz_side_free_types(hp_fuzz_side_t *side)
{
    for (int i = 0; i < side->blocks && side->duplicated; i++) {
        MPI_Datatype type = side->own_types[i];
        if (side->block[i].map->owned)
            CHECK_MPI(MPI_Type_free(&type));
    }
    side->duplicated = false;
}

/* ---- comparison ---- */

bool hp_fuzz_side_unchanged(const hp_fuzz_side_t *side)
{
    return memcmp(side->arena[HP_FUZZ_LIBRARY], side->arena[HP_FUZZ_PRISTINE], side->arena_bytes) == 0;
}

bool hp_fuzz_side_same(const hp_fuzz_side_t *side)
{
    return memcmp(side->arena[HP_FUZZ_LIBRARY], side->arena[HP_FUZZ_NATIVE], side->arena_bytes) == 0;
}

bool hp_fuzz_side_gaps_unchanged(const hp_fuzz_side_t *side, char *difference, size_t difference_bytes)
{
    unsigned char *expected = allocate((int)side->arena_bytes, 1);
    bool unchanged;

    /* What was there before, with the values that are there now. */
    memcpy(expected, side->arena[HP_FUZZ_PRISTINE], side->arena_bytes);
    for (int b = 0; b < side->blocks; b++) {
        const hp_fuzz_block_t *block = &side->block[b];
        const hp_basic_info_t *info = hp_basic_info(block->map->basic);
        hp_places_t places = hp_fuzz_side_places(side, HP_FUZZ_LIBRARY, block);
        for (int64_t i = 0; i < block->count * block->map->basics; i++) {
            const char *now = hp_places_next(&places);
            size_t at = (size_t)(now - (const char *)side->arena[HP_FUZZ_LIBRARY]);
            if (info->class == HP_CLASS_PAIR) /* its holes belong to it */
                memcpy(expected + at, now, info->bytes);
            for (int piece = 0; piece < info->pieces; piece++)
                memcpy(expected + at + info->piece[piece].at, now + info->piece[piece].at,
                       info->piece[piece].bytes);
        }
    }
    unchanged = memcmp(expected, side->arena[HP_FUZZ_LIBRARY], side->arena_bytes) == 0;
    for (size_t at = 0; !unchanged && at < side->arena_bytes; at++)
        if (expected[at] != side->arena[HP_FUZZ_LIBRARY][at]) {
            snprintf(difference, difference_bytes,
                     "byte %td from the receive buffer's origin was overwritten",
                     (ptrdiff_t)at - side->origin);
            break;
        }
    free(expected);
    return unchanged;
}

bool hp_fuzz_side_block_agrees(const hp_fuzz_side_t *side, const hp_fuzz_case_t *test,
                               const hp_fuzz_block_t *block, int64_t first, char *difference,
                               size_t difference_bytes)
{
    hp_basic_t basic = block->map->basic;
    hp_places_t our_places = hp_fuzz_side_places(side, HP_FUZZ_LIBRARY, block),
                their_places = hp_fuzz_side_places(side, HP_FUZZ_NATIVE, block);
    char ours[96], theirs[96];

    for (int64_t i = 0; i < block->count * block->map->basics; i++) {
        const char *a = hp_places_next(&our_places), *b = hp_places_next(&their_places);
        if (hp_fuzz_values_agree(test, basic, first + i, a, b))
            continue;
        snprintf(
            difference, difference_bytes, "basic %" PRId64 " of %" PRId64 " at byte %ld: library %s, host %s",
            i, block->count * block->map->basics, (long)block->at,
            hp_basic_format(basic, a, ours, sizeof ours), hp_basic_format(basic, b, theirs, sizeof theirs));
        return false;
    }
    return true;
}
