#include "fuzz.h"

#include "host_bugs.h"

static const char *const names[HP_FUZZ_COLLECTIVES] = {"Bcast", "Reduce", "Allreduce", "Barrier"};

static hp_typemap_t *create_derived(hp_random_t *random)
{
    hp_random_t own = {hp_random_next(random)};
    hp_basic_t basic = (hp_basic_t)hp_random_below(&own, HP_BASIC_COUNT);
    return hp_typemap_create_random(basic, &own);
}

void hp_fuzz_maps_create(hp_fuzz_maps_t *maps, hp_random_t *random)
{
    for (int i = 0; i < HP_BASIC_COUNT; i++)
        maps->map[i] = hp_typemap_create_basic((hp_basic_t)i);
    for (int i = HP_BASIC_COUNT; i < HP_FUZZ_MAPS; i++)
        maps->map[i] = create_derived(random);
}

void hp_fuzz_maps_renew(hp_fuzz_maps_t *maps, hp_random_t *random)
{
    hp_typemap_t **map = &maps->map[HP_BASIC_COUNT + hp_random_below(random, HP_FUZZ_DERIVED)];
    hp_typemap_free(*map);
    *map = create_derived(random);
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
    enum { MOST_SEGMENTS = 2000 }; /* enough to wrap every window; more only costs time */
    int64_t unit = element_bytes(map), most = options->max_bytes, count;
    uint32_t kind = hp_random_below(random, 100), draw = hp_random_below(random, 1u << 30);
    int64_t near = (int64_t)(draw % 3) - 1; /* -1, 0, 1 */

    if (most > MOST_SEGMENTS * pair->segment_bytes)
        most = MOST_SEGMENTS * pair->segment_bytes;
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

void hp_fuzz_case_draw(hp_fuzz_case_t *test, hp_random_t *random, const hp_pair_t *pair,
                       const hp_fuzz_maps_t *maps, const hp_fuzz_options_t *options)
{
    hp_random_t own = {hp_random_next(random)};

    *test = (hp_fuzz_case_t){.pair = pair};
    if (pair->library == MPI_COMM_NULL)
        return;
    test->collective = (hp_fuzz_collective_t)hp_random_below(&own, HP_FUZZ_BARRIER);
    if (hp_random_below(&own, 8) == 0)
        test->collective = HP_FUZZ_BARRIER;
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
}

const char *hp_fuzz_case_format(const hp_fuzz_case_t *test, char *buffer, size_t buffer_bytes)
{
    if (!test->map)
        snprintf(buffer, buffer_bytes, "not in the communicator");
    else
        snprintf(buffer, buffer_bytes,
                 "MPI_%s%s, comm rank %d of %d, root %d, %" PRId64
                 " x %s, %s, %s%s; communicator: %s; salt %" PRIx64,
                 names[test->collective], test->count_form ? "_c" : "", test->pair->rank, test->pair->size,
                 test->root, test->count, test->map->name,
                 test->collective == HP_FUZZ_BCAST ? "no operation"
                                                   : hp_operation_info(test->operation)->name,
                 test->in_place ? "in place" : "not in place", test->null_elsewhere ? ", NULL elsewhere" : "",
                 test->pair->text, test->salt);
    return buffer;
}

/* MPI_X or MPI_X_c. */
#if MPI_VERSION >= 4
#define CALL(name, test, ...) ((test)->count_form ? MPI_##name##_c(__VA_ARGS__) : MPI_##name(__VA_ARGS__))
#else
#define CALL(name, test, ...) MPI_##name(__VA_ARGS__)
#endif

/* send and receive: two buffers for the same map and count; Bcast uses receive only. */
static void call(const hp_fuzz_case_t *test, MPI_Comm comm, const hp_buffer_t *send,
                 const hp_buffer_t *receive)
{
    int count = (int)test->count;
    MPI_Op op = hp_operation_info(test->operation)->op;
    MPI_Datatype type = test->map->type;
    void *from = send && test->count ? send->base : NULL;
    void *into = receive && test->count ? receive->base : NULL;
    bool at_root = test->pair->rank == test->root;

    switch (test->collective) {
    case HP_FUZZ_BCAST:
        CHECK_MPI(CALL(Bcast, test, into, count, type, test->root, comm));
        break;
    case HP_FUZZ_REDUCE:
        CHECK_MPI(CALL(Reduce, test, test->in_place && at_root ? MPI_IN_PLACE : from,
                       test->null_elsewhere && !at_root ? NULL : into, count, type, op, test->root, comm));
        break;
    case HP_FUZZ_BARRIER:
        CHECK_MPI(MPI_Barrier(comm));
        break;
    default:
        CHECK_MPI(CALL(Allreduce, test, test->in_place ? MPI_IN_PLACE : from, into, count, type, op, comm));
        break;
    }
}

/* What two orders of evaluation may differ by, to first order: each of the p-1 operations of either side
 * rounds once, so |a - b| <= 2 (p-1) u sum|x| for a sum and 2 (p-1) u |result| for a product, u being the
 * unit roundoff; a complex product rounds up to four times as much (sqrt(5) u, Brent, Percival, Zimmermann
 * 2007, and the operands' own rounding). */
static double tolerance(const hp_fuzz_case_t *test, int64_t i, const void *result)
{
    hp_basic_t basic = test->map->basic;
    double bound = 2.0 * (test->pair->size - 1) * hp_basic_epsilon(basic), sum = 0;
    char value[sizeof(hp_record_t)];

    if (hp_operation_closeness(test->operation, basic) == HP_ROUNDED_PRODUCT)
        return 4 * bound * hp_basic_magnitude(basic, result);
    for (int rank = 0; rank < test->pair->size; rank++) {
        hp_basic_fill(basic, test->operation, HP_VALUES_ANY, hp_hash(test->salt, (uint64_t)rank, (uint64_t)i),
                      value);
        sum += hp_basic_magnitude(basic, value);
    }
    return bound * sum;
}

static bool same_bits(hp_basic_t basic, const char *a, const char *b)
{
    const hp_basic_info_t *info = hp_basic_info(basic);
    for (int i = 0; i < info->pieces; i++)
        if (memcmp(a + info->piece[i].at, b + info->piece[i].at, info->piece[i].bytes) != 0)
            return false;
    return true;
}

static bool results_agree(const hp_fuzz_case_t *test, const hp_buffer_t *library, const hp_buffer_t *native,
                          char *difference, size_t difference_bytes)
{
    hp_basic_t basic = test->map->basic;
    bool exact =
        test->collective == HP_FUZZ_BCAST || hp_operation_closeness(test->operation, basic) == HP_EXACT;
    char ours[96], theirs[96];

    if (memcmp(library->arena, native->arena, library->arena_bytes) == 0)
        return true;
    for (int64_t i = 0; i < hp_buffer_basics(library); i++) {
        const char *a = hp_buffer_at(library, i), *b = hp_buffer_at(native, i);
        if (same_bits(basic, a, b) || (!exact && hp_basic_distance(basic, a, b) <= tolerance(test, i, b)))
            continue;
        snprintf(difference, difference_bytes, "basic %" PRId64 " of %" PRId64 ": library %s, host %s", i,
                 hp_buffer_basics(library), hp_basic_format(basic, a, ours, sizeof ours),
                 hp_basic_format(basic, b, theirs, sizeof theirs));
        return false;
    }
    int64_t stray = hp_buffer_find_stray(library);
    if (stray >= 0)
        snprintf(difference, difference_bytes, "byte %td from the receive buffer's origin was overwritten",
                 (char *)library->arena + stray - library->base);
    return stray < 0;
}

/* One rank comes late, often enough; nobody may be back before it is there. */
static bool run_barrier(const hp_fuzz_case_t *test, char *difference, size_t difference_bytes)
{
    const int late = (int)(test->salt % (2 * (unsigned)test->pair->size));
    int missing = -1;

    if (test->pair->rank == late)
        hp_spin_us((double)(test->salt >> 32 & 255));
    hp_entered_say(test->number);
    call(test, test->pair->library, NULL, NULL);
    missing = hp_entered_missing(test->pair, test->number);
    if (missing >= 0)
        snprintf(difference, difference_bytes, "came back before comm rank %d had entered", missing);
    call(test, test->pair->native, NULL, NULL);
    return missing < 0;
}

bool hp_fuzz_case_run(const hp_fuzz_case_t *test, char *difference, size_t difference_bytes)
{
    enum { PRISTINE_SEND, PRISTINE_RECEIVE, SEND, LIBRARY, NATIVE, BUFFERS };
    hp_buffer_t buffer[BUFFERS];
    bool agree = true, at_root = test->pair->rank == test->root;

    if (!test->map)
        return true;
    if (test->collective == HP_FUZZ_BARRIER)
        return run_barrier(test, difference, difference_bytes);
    for (int i = 0; i < BUFFERS; i++)
        hp_buffer_init(&buffer[i], test->map, test->count);
    hp_buffer_fill(&buffer[PRISTINE_SEND], test->operation, HP_VALUES_ANY, test->salt, test->pair->rank);
    bool filled = test->collective == HP_FUZZ_BCAST
                      ? at_root
                      : test->in_place && (at_root || test->collective == HP_FUZZ_ALLREDUCE);
    if (filled)
        hp_buffer_copy(&buffer[PRISTINE_RECEIVE], &buffer[PRISTINE_SEND]);
    hp_buffer_copy(&buffer[SEND], &buffer[PRISTINE_SEND]);
    hp_buffer_copy(&buffer[LIBRARY], &buffer[PRISTINE_RECEIVE]);
    hp_buffer_copy(&buffer[NATIVE], &buffer[PRISTINE_RECEIVE]);

    call(test, test->pair->library, &buffer[SEND], &buffer[LIBRARY]);
    if (memcmp(buffer[SEND].arena, buffer[PRISTINE_SEND].arena, buffer[SEND].arena_bytes) != 0) {
        snprintf(difference, difference_bytes, "the send buffer was changed");
        agree = false;
    }
    call(test, test->pair->native, &buffer[SEND], &buffer[NATIVE]);
    bool significant = test->collective != HP_FUZZ_REDUCE || at_root;
    if (agree && significant)
        agree = results_agree(test, &buffer[LIBRARY], &buffer[NATIVE], difference, difference_bytes);
    else if (agree && memcmp(buffer[LIBRARY].arena, buffer[PRISTINE_RECEIVE].arena,
                             buffer[LIBRARY].arena_bytes) != 0) {
        snprintf(difference, difference_bytes,
                 "the receive buffer of a rank that is not the root was changed");
        agree = false;
    }
    for (int i = 0; i < BUFFERS; i++)
        hp_buffer_fini(&buffer[i]);
    return agree;
}
