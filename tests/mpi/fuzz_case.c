#include "fuzz_blocks.h"

#include "host_bugs.h"

static const hp_fuzz_collective_info_t infos[HP_FUZZ_COLLECTIVES] = {
#define X(id, name, word, weight, taken) [HP_FUZZ_##id] = {#name, #word, weight, taken},
    HP_FUZZ_TABLE(X)
#undef X
};

const hp_fuzz_collective_info_t *hp_fuzz_collective_info(hp_fuzz_collective_t collective)
{
    return &infos[collective];
}

static hp_typemap_t *create_derived(const hp_fuzz_maps_t *maps, hp_random_t *random)
{
    hp_random_t own = {hp_random_next(random)};
    hp_basic_t basic = (hp_basic_t)hp_random_below(&own, HP_BASIC_COUNT);
    hp_typemap_t *map = hp_typemap_create_random(basic, &own);

    if (maps->complex_gaps || !hp_host_breaks_complex(map))
        return map;
    hp_typemap_free(map);
    return hp_typemap_create_basic(basic);
}

void hp_fuzz_maps_create(hp_fuzz_maps_t *maps, hp_random_t *random, bool complex_gaps)
{
    maps->complex_gaps = complex_gaps;
    for (int i = 0; i < HP_BASIC_COUNT; i++)
        maps->map[i] = hp_typemap_create_basic((hp_basic_t)i);
    for (int i = HP_BASIC_COUNT; i < HP_FUZZ_MAPS; i++)
        maps->map[i] = create_derived(maps, random);
}

void hp_fuzz_maps_renew(hp_fuzz_maps_t *maps, hp_random_t *random)
{
    hp_typemap_t **map = &maps->map[HP_BASIC_COUNT + hp_random_below(random, HP_FUZZ_DERIVED)];
    hp_typemap_free(*map);
    *map = create_derived(maps, random);
}

void hp_fuzz_maps_free(hp_fuzz_maps_t *maps)
{
    for (int i = 0; i < HP_FUZZ_MAPS; i++)
        hp_typemap_free(maps->map[i]);
}

static int64_t element_bytes(const hp_typemap_t *map)
{
    return map->basics * (int64_t)hp_basic_info(map->basic)->bytes;
}

/* Edges first: nothing, the communicator's size, a segment's; large ones are rare, they cost most. */
static int64_t draw_count(hp_random_t *random, const hp_pair_t *pair, const hp_typemap_t *map,
                          const hp_fuzz_options_t *options)
{
    /* Enough to wrap every window. Each takes as long as it takes to wake a rank, which may be milliseconds beside other work. */
    enum { MOST_MESSAGES = 2000 };
    int64_t unit = element_bytes(map), most = options->max_bytes, count;
    uint32_t kind = hp_random_below(random, 100), draw = hp_random_below(random, 1u << 30);
    int64_t near = (int64_t)(draw % 3) - 1; /* -1, 0, 1 */

    if (most > MOST_MESSAGES * pair->piece_bytes)
        most = MOST_MESSAGES * pair->piece_bytes;
    most /= unit;

    if (kind < 30)
        count = draw % 9;
    else if (kind < 50)
        count = pair->size + near;
    else if (kind < 80)
        count = pair->segment_bytes * (1 + draw / 3 % 6) / unit + near;
    else if (kind < 96)
        count = draw % (2048 / unit + 2);
    else /* the logarithm is uniform */
        count = draw % ((most >> draw / 7 % 12) + 1);
    if (count > most)
        count = most;
    if (count > map->max_count)
        count = map->max_count;
    return count < 0 ? 0 : count;
}

/* Another datatype with the same signature, for this rank's side of a Bcast. */
static void draw_unlike(hp_fuzz_case_t *test, uint64_t draw, const hp_fuzz_maps_t *maps)
{
    int64_t basics = test->count * test->map->basics;
    for (int i = 0; i < HP_FUZZ_MAPS; i++) {
        const hp_typemap_t *map = maps->map[(draw + (unsigned)i) % HP_FUZZ_MAPS];
        if (map->basic == test->map->basic && basics % map->basics == 0 &&
            basics / map->basics <= map->max_count) {
            test->map = map;
            test->count = basics / map->basics;
            return;
        }
    }
}

static hp_operation_t draw_operation(hp_random_t *random, const hp_typemap_t *map)
{
    hp_operation_t possible[HP_OPERATION_COUNT];
    uint32_t count = 0;
    for (int i = 0; i < HP_OPERATION_COUNT; i++)
        if (hp_operation_applies((hp_operation_t)i, map->basic) &&
            (!map->owned || hp_operation_info((hp_operation_t)i)->user))
            possible[count++] = (hp_operation_t)i;
    return possible[hp_random_below(random, count)];
}

static hp_fuzz_collective_t draw_collective(hp_random_t *random, const hp_fuzz_options_t *options)
{
    uint32_t weight = 0, all = 0;
    int collective = 0;

    for (int i = 0; i < HP_FUZZ_COLLECTIVES; i++)
        all += options->drawn[i] ? infos[i].weight : 0;
    uint32_t draw = hp_random_below(random, all);
    for (;; collective++) {
        weight += options->drawn[collective] ? infos[collective].weight : 0;
        if (draw < weight)
            return (hp_fuzz_collective_t)collective;
    }
}

void hp_fuzz_case_draw(hp_fuzz_case_t *test, hp_random_t *random, const hp_pair_t *pair,
                       const hp_fuzz_maps_t *maps, const hp_fuzz_options_t *options)
{
    hp_random_t own = {hp_random_next(random)};

    *test = (hp_fuzz_case_t){.pair = pair};
    if (pair->library == MPI_COMM_NULL)
        return;
    test->collective = draw_collective(&own, options);
    test->maps = maps;
    test->map = maps->map[hp_random_below(&own, hp_random_below(&own, 2) ? HP_BASIC_COUNT : HP_FUZZ_MAPS)];
    test->count = draw_count(&own, pair, test->map, options);
    test->root = (int)(hp_random_next(&own) % (unsigned)pair->size);
    test->operation = draw_operation(&own, test->map);
    test->in_place = hp_random_below(&own, 3) == 0;
    test->null_elsewhere = hp_random_below(&own, 2);
    test->salt = hp_random_next(&own);
    /* MPI_X, MPI_X_c, or either by the rank's parity */
    uint32_t form = MPI_VERSION >= 4 ? hp_random_below(&own, 4) : 0;
    test->count_form = form == 2 || (form == 3 && pair->rank % 2);

    if (test->collective == HP_FUZZ_REDUCE &&
        hp_host_breaks_reduce(test->map, test->count, test->root, test->in_place)) {
        if (hp_host_breaks_reduce(test->map, test->count, test->root, false))
            test->collective = HP_FUZZ_BCAST;
        test->in_place = false;
    }
    if (test->collective == HP_FUZZ_ALLREDUCE && hp_host_breaks_allreduce(test->map))
        test->collective = HP_FUZZ_BCAST;
    if (test->collective == HP_FUZZ_BCAST && hp_random_below(&own, 2))
        draw_unlike(test, hp_hash(test->salt, 1, (uint64_t)pair->rank), maps);
    if (hp_fuzz_is_blocks(test->collective))
        hp_fuzz_blocks_draw(test, &own, options);
}

const char *hp_fuzz_case_format(const hp_fuzz_case_t *test, char *buffer, size_t buffer_bytes)
{
    char blocks[400] = "";

    if (test->map && hp_fuzz_is_blocks(test->collective))
        hp_fuzz_blocks_format(test, blocks, sizeof blocks);
    if (!test->map)
        snprintf(buffer, buffer_bytes, "not in the communicator");
    else
        snprintf(buffer, buffer_bytes,
                 "MPI_%s%s, comm rank %d of %d, root %d, %" PRId64 " x %s, %s, %s%s%s; salt %" PRIx64,
                 infos[test->collective].name, test->count_form ? "_c" : "", test->pair->rank,
                 test->pair->size, test->root, test->count, test->map->name,
                 test->collective == HP_FUZZ_BCAST ? "no operation"
                                                   : hp_operation_info(test->operation)->name,
                 test->in_place ? "in place" : "not in place", test->null_elsewhere ? ", NULL elsewhere" : "",
                 blocks, test->salt);
    return buffer;
}
