#include "typemap.h"

#include <pthread.h>

enum { MAX_BLOCKS = 16, MAX_REGISTERED = 256, GUARD_BYTES = 64, MAX_BASICS = 64, DEEPEST_COUNT = 1 << 30 };

static hp_typemap_t *registry[MAX_REGISTERED];
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_row(const hp_typemap_t *map)
{
    const MPI_Aint bytes = (MPI_Aint)hp_basic_info(map->basic)->bytes;
    bool row = map->extent == map->basics * bytes;
    for (int i = 1; i < map->basics && row; i++)
        row = map->offset[i] == map->offset[0] + i * bytes;
    return row;
}

/* A map that is complete. */
static void registry_add(hp_typemap_t *map)
{
    bool added = false;

    map->is_row = is_row(map);
    pthread_mutex_lock(&registry_lock);
    for (int i = 0; i < MAX_REGISTERED; i++) {
        /* A handle that comes again belonged to a datatype that is gone at last (hp_typemap_free_type). */
        bool stale = registry[i] && map->owned && registry[i]->type == map->type;
        if (stale)
            registry[i] = NULL;
        if (!registry[i] && !added) {
            registry[i] = map;
            added = true;
        }
    }
    pthread_mutex_unlock(&registry_lock);
    CHECK(added, "more than %d type maps", MAX_REGISTERED);
}

static void registry_remove(const hp_typemap_t *map)
{
    pthread_mutex_lock(&registry_lock);
    for (int i = 0; i < MAX_REGISTERED; i++)
        if (registry[i] == map)
            registry[i] = NULL;
    pthread_mutex_unlock(&registry_lock);
}

const hp_typemap_t *hp_typemap_find(MPI_Datatype type)
{
    const hp_typemap_t *found = NULL;

    pthread_mutex_lock(&registry_lock);
    for (int i = 0; i < MAX_REGISTERED && !found; i++)
        if (registry[i] && registry[i]->type == type)
            found = registry[i];
    pthread_mutex_unlock(&registry_lock);
    CHECK(found, "a user-defined operation was called with a datatype that the program did not pass");
    return found;
}

uint64_t hp_typemap_bytes(const hp_typemap_t *map, int64_t count)
{
    int bytes;
    CHECK_MPI(MPI_Type_size(map->type, &bytes));
    return (uint64_t)count * (uint64_t)bytes;
}

hp_typemap_t *hp_typemap_dup(const hp_typemap_t *map)
{
    hp_typemap_t *copy = malloc(sizeof *copy);
    size_t offsets_bytes = (size_t)map->basics * sizeof *map->offset;

    CHECK(copy, "out of memory");
    *copy = *map;
    copy->owned = true;
    copy->offset = malloc(offsets_bytes);
    CHECK(copy->offset, "out of memory");
    memcpy(copy->offset, map->offset, offsets_bytes);
    CHECK_MPI(MPI_Type_dup(map->type, &copy->type));
    registry_add(copy);
    return copy;
}

void hp_typemap_free_type(hp_typemap_t *map)
{
    MPI_Datatype type = map->type;
    CHECK_MPI(MPI_Type_free(&type));
    map->owned = false;
}

void hp_typemap_free(hp_typemap_t *map)
{
    registry_remove(map);
    if (map->owned)
        CHECK_MPI(MPI_Type_free(&map->type));
    free(map->offset);
    free(map);
}

hp_typemap_t *hp_typemap_create_basic(hp_basic_t basic)
{
    const hp_basic_info_t *info = hp_basic_info(basic);
    hp_typemap_t *map = calloc(1, sizeof *map);
    CHECK(map, "out of memory");
    snprintf(map->name, sizeof map->name, "%s", info->name);
    map->type = info->type;
    map->basic = basic;
    map->basics = 1;
    map->offset = calloc(1, sizeof *map->offset);
    CHECK(map->offset, "out of memory");
    map->extent = (MPI_Aint)info->bytes;
    map->true_ub = (MPI_Aint)(info->piece[info->pieces - 1].at + info->piece[info->pieces - 1].bytes);
    map->max_count = DEEPEST_COUNT;
    registry_add(map);
    return map;
}

/* Blocks of a child type: what every MPI constructor boils down to. */
typedef struct {
    int count;
    int length[MAX_BLOCKS];
    MPI_Aint at[MAX_BLOCKS]; /* bytes */
} blocks_t;

static void check_extents(const hp_typemap_t *map)
{
    MPI_Aint lb, extent, true_lb, true_extent;
    int size;
    size_t value_bytes = 0;
    const hp_basic_info_t *info = hp_basic_info(map->basic);

    CHECK_MPI(MPI_Type_get_extent(map->type, &lb, &extent));
    CHECK_MPI(MPI_Type_get_true_extent(map->type, &true_lb, &true_extent));
    CHECK_MPI(MPI_Type_size(map->type, &size));
    for (int i = 0; i < info->pieces; i++)
        value_bytes += info->piece[i].bytes;
    CHECK_EQUAL(lb, map->lb, map->name);
    CHECK_EQUAL(extent, map->extent, map->name);
    CHECK_EQUAL(true_lb, map->true_lb, map->name);
    CHECK_EQUAL(true_lb + true_extent, map->true_ub, map->name);
    CHECK_EQUAL(size, value_bytes * (size_t)map->basics, map->name);
}

/* The map of blocks of child, whose MPI datatype the caller has built (and not committed). Frees child. */
static hp_typemap_t *create_from_blocks(hp_typemap_t *child, const blocks_t *blocks, MPI_Datatype type,
                                        const char *name)
{
    hp_typemap_t *map = calloc(1, sizeof *map);
    CHECK(map, "out of memory");
    int elements = 0;
    for (int b = 0; b < blocks->count; b++)
        elements += blocks->length[b];

    snprintf(map->name, sizeof map->name, "%s of %.100s", name, child->name);
    map->type = type;
    map->owned = true;
    map->basic = child->basic;
    map->max_count = DEEPEST_COUNT;
    map->offset = calloc((size_t)(elements * child->basics), sizeof *map->offset);
    CHECK(map->offset, "out of memory");

    MPI_Aint ub = 0;
    for (int b = 0; b < blocks->count; b++)
        for (int i = 0; i < blocks->length[b]; i++) {
            MPI_Aint at = blocks->at[b] + i * child->extent;
            bool first = map->basics == 0;
            if (first || at + child->lb < map->lb)
                map->lb = at + child->lb;
            if (first || at + child->lb + child->extent > ub)
                ub = at + child->lb + child->extent;
            if (first || at + child->true_lb < map->true_lb)
                map->true_lb = at + child->true_lb;
            if (first || at + child->true_ub > map->true_ub)
                map->true_ub = at + child->true_ub;
            for (int j = 0; j < child->basics; j++)
                map->offset[map->basics++] = at + child->offset[j];
        }
    map->extent = ub - map->lb;

    CHECK_MPI(MPI_Type_commit(&map->type));
    check_extents(map);
    hp_typemap_free(child);
    registry_add(map);
    return map;
}

static hp_typemap_t *create_contiguous(hp_typemap_t *child, int count)
{
    blocks_t blocks = {.count = 1, .length = {count}};
    char name[64];
    MPI_Datatype type;
    CHECK_MPI(MPI_Type_contiguous(count, child->type, &type));
    snprintf(name, sizeof name, "contiguous(%d)", count);
    return create_from_blocks(child, &blocks, type, name);
}

/* A negative stride_bytes gives a negative lower bound. */
static hp_typemap_t *create_hvector(hp_typemap_t *child, int count, int length, MPI_Aint stride_bytes)
{
    blocks_t blocks = {.count = count};
    char name[64];
    MPI_Datatype type;
    for (int b = 0; b < count; b++) {
        blocks.length[b] = length;
        blocks.at[b] = b * stride_bytes;
    }
    CHECK_MPI(MPI_Type_create_hvector(count, length, stride_bytes, child->type, &type));
    snprintf(name, sizeof name, "hvector(%d, %d, %ld)", count, length, (long)stride_bytes);
    return create_from_blocks(child, &blocks, type, name);
}

static hp_typemap_t *create_vector(hp_typemap_t *child, int count, int length, int stride)
{
    blocks_t blocks = {.count = count};
    char name[64];
    MPI_Datatype type;
    for (int b = 0; b < count; b++) {
        blocks.length[b] = length;
        blocks.at[b] = b * stride * child->extent;
    }
    CHECK_MPI(MPI_Type_vector(count, length, stride, child->type, &type));
    snprintf(name, sizeof name, "vector(%d, %d, %d)", count, length, stride);
    return create_from_blocks(child, &blocks, type, name);
}

/* Blocks with one element between them; reversed: the first of the type map lies last in memory. */
static hp_typemap_t *create_indexed(hp_typemap_t *child, const int *lengths, int count, int gap,
                                    bool reversed)
{
    blocks_t blocks = {.count = count};
    int places[MAX_BLOCKS], place = 0;
    char name[64];
    MPI_Datatype type;
    for (int i = 0; i < count; i++) {
        int b = reversed ? count - 1 - i : i;
        blocks.length[b] = lengths[b];
        places[b] = place;
        blocks.at[b] = place * child->extent;
        place += lengths[b] + gap;
    }
    CHECK_MPI(MPI_Type_indexed(count, lengths, places, child->type, &type));
    snprintf(name, sizeof name, "indexed(%d%s)", count, reversed ? ", reversed" : "");
    return create_from_blocks(child, &blocks, type, name);
}

/* One-element blocks that begin start elements behind the origin, with growing gaps. */
static hp_typemap_t *create_hindexed(hp_typemap_t *child, int count, int start)
{
    blocks_t blocks = {.count = count};
    char name[64];
    MPI_Datatype type;
    for (int b = 0; b < count; b++) {
        blocks.length[b] = 1 + b % 2;
        blocks.at[b] = (start + 3 * b + b * b) * child->extent;
    }
    CHECK_MPI(MPI_Type_create_hindexed(count, blocks.length, blocks.at, child->type, &type));
    snprintf(name, sizeof name, "hindexed(%d, from %d)", count, start);
    return create_from_blocks(child, &blocks, type, name);
}

static hp_typemap_t *create_struct(hp_typemap_t *child, int first_length, int second_length)
{
    blocks_t blocks = {.count = 2,
                       .length = {first_length, second_length},
                       .at = {child->extent, (first_length + 3) * child->extent}};
    MPI_Datatype types[] = {child->type, child->type}, type;
    char name[64];
    CHECK_MPI(MPI_Type_create_struct(2, blocks.length, blocks.at, types, &type));
    snprintf(name, sizeof name, "struct(%d, %d)", first_length, second_length);
    return create_from_blocks(child, &blocks, type, name);
}

/* rows x columns out of a (rows + 2) x (columns + 3) array, from (1, 2). The child must be a bare basic. */
static hp_typemap_t *create_subarray(hp_typemap_t *child, int rows, int columns)
{
    const int sizes[] = {rows + 2, columns + 3}, subsizes[] = {rows, columns}, starts[] = {1, 2};
    hp_typemap_t *map = calloc(1, sizeof *map);
    CHECK(map, "out of memory");

    *map = (hp_typemap_t){.owned = true, .basic = child->basic, .max_count = DEEPEST_COUNT};
    snprintf(map->name, sizeof map->name, "subarray(%d x %d) of %.100s", rows, columns, child->name);
    CHECK_MPI(MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, child->type, &map->type));
    CHECK_MPI(MPI_Type_commit(&map->type));
    map->offset = calloc((size_t)(rows * columns), sizeof *map->offset);
    CHECK(map->offset, "out of memory");
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++)
            map->offset[map->basics++] = ((row + 1) * sizes[1] + column + 2) * child->extent;
    map->extent = sizes[0] * sizes[1] * child->extent;
    map->true_lb = map->offset[0];
    map->true_ub = map->offset[map->basics - 1] + child->true_ub;
    check_extents(map);
    hp_typemap_free(child);
    registry_add(map);
    return map;
}

/* max_count: how many elements fit side by side when the new extent is smaller than the old one. */
static hp_typemap_t *create_resized(hp_typemap_t *child, MPI_Aint lb, MPI_Aint extent, int max_count)
{
    blocks_t blocks = {.count = 1, .length = {1}};
    MPI_Datatype type;
    char name[64];
    hp_typemap_t *map;

    CHECK_MPI(MPI_Type_create_resized(child->type, lb, extent, &type));
    snprintf(name, sizeof name, "resized(%ld, %ld)", (long)lb, (long)extent);
    child->lb = lb; /* create_from_blocks takes the child's bounds as they are to be */
    child->extent = extent;
    map = create_from_blocks(child, &blocks, type, name);
    map->max_count = max_count;
    return map;
}

hp_typemap_t *hp_typemap_create_nth(hp_basic_t basic, int i)
{
    hp_typemap_t *one = hp_typemap_create_basic(basic);
    MPI_Aint bytes = one->extent;
    const int lengths[] = {1, 3, 2};

    switch (i) {
    case 0:
        return one;
    case 1:
        return create_contiguous(one, 5);
    case 2:
        return create_vector(one, 3, 2, 4);
    case 3:
        return create_indexed(one, lengths, 3, 1, true);
    case 4:
        return create_hindexed(one, 3, 2);
    case 5:
        return create_subarray(one, 2, 3);
    case 6:
        return create_struct(one, 2, 1);
    case 7:
        return create_resized(create_vector(one, 2, 1, 2), -2 * bytes, 7 * bytes, DEEPEST_COUNT);
    case 8:
        return create_resized(create_vector(one, 4, 1, 5), 0, bytes, 5);
    case 9:
        return create_hvector(one, 3, 1, -2 * bytes);
    case 10:
        return create_vector(create_indexed(one, lengths, 2, 2, true), 2, 1, 2);
    default:
        hp_typemap_free(one);
        return NULL;
    }
}

static hp_typemap_t *wrap_random(hp_typemap_t *child, hp_random_t *random)
{
    int count = 1 + (int)hp_random_below(random, 4), length = 1 + (int)hp_random_below(random, 3);
    const int lengths[] = {length, 1, 2, 1};

    switch (hp_random_below(random, 8)) {
    case 0:
        return create_contiguous(child, count);
    case 1:
        return create_vector(child, count, length, length + (int)hp_random_below(random, 3));
    case 2:
        return create_indexed(child, lengths, count, (int)hp_random_below(random, 2),
                              hp_random_below(random, 2));
    case 3:
        return create_hindexed(child, count, (int)hp_random_below(random, 3));
    case 4:
        return create_struct(child, length, count);
    case 5:
        return create_hvector(child, count, 1, -2 * child->extent);
    case 6:
        return create_resized(child, child->lb - 8 * (MPI_Aint)hp_random_below(random, 3),
                              child->extent + 8 * (3 + (MPI_Aint)hp_random_below(random, 3)),
                              child->max_count);
    default:
        return child->owned ? create_contiguous(child, 2) : create_subarray(child, count, length);
    }
}

hp_typemap_t *hp_typemap_create_random(hp_basic_t basic, hp_random_t *random)
{
    hp_typemap_t *map = wrap_random(hp_typemap_create_basic(basic), random);
    if (map->basics <= MAX_BASICS / 8 && hp_random_below(random, 2))
        map = wrap_random(map, random);
    return map;
}

void hp_typemap_combine(const hp_typemap_t *map, hp_operation_t operation, const void *left, void *into,
                        int count)
{
    const int rows = map->is_row ? 1 : map->basics;
    const int64_t length = map->is_row ? (int64_t)count * map->basics : count;
    const ptrdiff_t stride = map->is_row ? (ptrdiff_t)hp_basic_info(map->basic)->bytes : map->extent;

    for (int i = 0; i < rows; i++)
        hp_basic_combine_row(map->basic, operation, (const char *)left + map->offset[i],
                             (char *)into + map->offset[i], length, stride);
}

void hp_typemap_fill(const hp_typemap_t *map, hp_operation_t operation, hp_values_t values, uint64_t salt,
                     int comm_rank, int64_t first, int64_t basics, void *origin)
{
    const uint64_t hash = hp_hash_of(salt, (uint64_t)comm_rank);
    hp_places_t places = {.map = map, .element = origin};

    if (map->is_row)
        hp_basic_fill_row(map->basic, operation, values, salt, comm_rank, first, basics,
                          (char *)origin + map->offset[0]);
    for (int64_t k = 0; k < basics && !map->is_row; k++)
        hp_basic_fill(map->basic, operation, values, hp_mix(hash ^ (uint64_t)(first + k)),
                      hp_places_next(&places));
}

/* The pattern has a period of 256. */
enum { PERIOD = 256, SALT = 0xa5 };

void hp_pattern_fill(unsigned char *bytes, size_t count, uint64_t salt)
{
    const size_t first = count < PERIOD ? count : PERIOD;

    for (size_t i = 0; i < first; i++)
        bytes[i] = (unsigned char)(salt ^ (i * 7));
    for (size_t done = first; done < count; done += PERIOD)
        memcpy(bytes + done, bytes, count - done < PERIOD ? count - done : PERIOD);
}

/* Two periods of it: every byte has a whole one behind it. */
static unsigned char pattern[2 * PERIOD];

__attribute__((constructor)) static void make_pattern(void)
{
    hp_pattern_fill(pattern, sizeof pattern, SALT);
}

/* The first byte of arena[begin .. end-1] without the pattern, -1 when there is none. */
static int64_t find_other(const unsigned char *arena, size_t begin, size_t end)
{
    for (size_t at = begin; at < end; at += PERIOD) {
        const size_t bytes = end - at < PERIOD ? end - at : PERIOD;
        const unsigned char *expected = pattern + at % PERIOD;
        if (memcmp(arena + at, expected, bytes) == 0)
            continue;
        for (size_t i = 0; i < bytes; i++)
            if (arena[at + i] != expected[i])
                return (int64_t)(at + i);
    }
    return -1;
}

void hp_buffer_init(hp_buffer_t *buffer, const hp_typemap_t *map, int64_t count)
{
    MPI_Aint span = count ? (count - 1) * map->extent : 0;
    MPI_Aint low = count ? map->true_lb : 0, high = count ? span + map->true_ub : 0;

    CHECK(count <= map->max_count, "%s overlaps itself beyond %d elements", map->name, map->max_count);
    /* The holes of the last pair belong to the buffer, too: an int pair of 16 bytes ends in 4 that have no
     * value. */
    high += (MPI_Aint)hp_basic_info(map->basic)->bytes;
    *buffer = (hp_buffer_t){.map = map, .count = count};
    buffer->arena_bytes = (size_t)(high - low) + 2 * GUARD_BYTES;
    buffer->arena = malloc(buffer->arena_bytes);
    CHECK(buffer->arena, "out of memory for %zu bytes", buffer->arena_bytes);
    buffer->base = (char *)buffer->arena + GUARD_BYTES - low;
    hp_pattern_fill(buffer->arena, buffer->arena_bytes, SALT);
}

void hp_buffer_reset(hp_buffer_t *buffer)
{
    hp_pattern_fill(buffer->arena, buffer->arena_bytes, SALT);
}

void hp_buffer_fini(hp_buffer_t *buffer)
{
    free(buffer->arena);
    buffer->arena = NULL;
}

void hp_buffer_fill(hp_buffer_t *buffer, hp_operation_t operation, hp_values_t values, uint64_t salt,
                    int comm_rank)
{
    hp_typemap_fill(buffer->map, operation, values, salt, comm_rank, 0, hp_buffer_basics(buffer),
                    buffer->base);
}

void hp_buffer_copy(hp_buffer_t *to, const hp_buffer_t *from)
{
    CHECK_EQUAL(to->arena_bytes, from->arena_bytes, "arenas of one case");
    memcpy(to->arena, from->arena, from->arena_bytes);
}

int64_t hp_buffer_find_stray(const hp_buffer_t *buffer)
{
    const hp_basic_info_t *info = hp_basic_info(buffer->map->basic);
    const int64_t basics = hp_buffer_basics(buffer);
    bool holes_belong = info->class == HP_CLASS_PAIR;
    hp_places_t places = hp_buffer_places(buffer);

    if (basics && buffer->map->is_row && (holes_belong || info->pieces == 1)) { /* only the guards are left */
        const size_t begin = (size_t)(hp_buffer_at(buffer, 0) - (char *)buffer->arena);
        const int64_t before = find_other(buffer->arena, 0, begin);
        return before >= 0
                   ? before
                   : find_other(buffer->arena, begin + (size_t)basics * info->bytes, buffer->arena_bytes);
    }
    /* Write the pattern over what may have changed; what then differs from it must not have. */
    unsigned char *copy = malloc(buffer->arena_bytes);
    CHECK(copy, "out of memory");
    memcpy(copy, buffer->arena, buffer->arena_bytes);
    for (int64_t i = 0; i < basics; i++) {
        size_t at = (size_t)(hp_places_next(&places) - (char *)buffer->arena);
        if (holes_belong)
            memcpy(copy + at, pattern + at % PERIOD, info->bytes);
        for (int piece = 0; piece < info->pieces && !holes_belong; piece++) {
            size_t begin = at + info->piece[piece].at;
            memcpy(copy + begin, pattern + begin % PERIOD, info->piece[piece].bytes);
        }
    }
    int64_t stray = find_other(copy, 0, buffer->arena_bytes);
    free(copy);
    return stray;
}
