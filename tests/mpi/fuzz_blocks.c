#include "fuzz_blocks.h"

#include "fuzz_side.h"
#include "host_bugs.h"

/* What a rank has on a side: one block, or one for each rank. The root's side is nobody else's. */
typedef enum { ONE, ALL, ALL_AT_ROOT } has_t;
/* How many elements a block has: all the same, by the rank that the side with many has it for, by both ranks. */
typedef enum { UNIFORM, PER_RANK, PER_PAIR } sizes_t;
/* Who may pass MPI_IN_PLACE: all or none, the root, each for itself. */
typedef enum { EVERYWHERE, AT_ROOT, EACH } in_place_t;

typedef struct {
    hp_fuzz_side_t *send, *receive, *operands; /* operands: the side with what goes into the reduction */
    const void *from;
    void *into;
    MPI_Datatype *send_types, *receive_types, type;
    MPI_Op op;
    int root;
    MPI_Comm comm;
    hp_fuzz_way_t way;
    bool count_form;
    MPI_Request *request;
} call_t;

typedef struct {
    has_t send, receive;
    sizes_t sizes;
    in_place_t in_place;
    bool displacements, types; /* arrays of them; types: one for each block */
    bool reduces;
    int (*call)(const call_t *);
} role_t;

/* ---- the calls ----
 *
 * V: INT or LARGE, the integers of MPI_X and of MPI_X_c. */
#define INT_COUNT(side)    (side)->counts[0]
#define INT_COUNTS(side)   (side)->counts
#define INT_DISPLS(side)   (side)->displs
#define LARGE_COUNT(side)  (side)->counts_c[0]
#define LARGE_COUNTS(side) (side)->counts_c
#define LARGE_DISPLS(side) (side)->displs_c

#define SEND_ONE(V)      c->from, V##_COUNT(c->send), c->send_types[0]
#define SEND_MANY(V)     c->from, V##_COUNTS(c->send), V##_DISPLS(c->send)
#define RECEIVE_ONE(V)   c->into, V##_COUNT(c->receive), c->receive_types[0]
#define RECEIVE_MANY(V)  c->into, V##_COUNTS(c->receive), V##_DISPLS(c->receive)
#define REDUCE(integers) c->from, c->into, integers(c->operands), c->type, c->op, c->comm

#define ARGUMENTS_Allgather(V)            SEND_ONE(V), RECEIVE_ONE(V), c->comm
#define ARGUMENTS_Allgatherv(V)           SEND_ONE(V), RECEIVE_MANY(V), c->receive_types[0], c->comm
#define ARGUMENTS_Alltoall(V)             SEND_ONE(V), RECEIVE_ONE(V), c->comm
#define ARGUMENTS_Alltoallv(V)            SEND_MANY(V), c->send_types[0], RECEIVE_MANY(V), c->receive_types[0], c->comm
#define ARGUMENTS_Alltoallw(V)            SEND_MANY(V), c->send_types, RECEIVE_MANY(V), c->receive_types, c->comm
#define ARGUMENTS_Reduce_scatter(V)       REDUCE(V##_COUNTS)
#define ARGUMENTS_Reduce_scatter_block(V) REDUCE(V##_COUNT)
#define ARGUMENTS_Gather(V)               SEND_ONE(V), RECEIVE_ONE(V), c->root, c->comm
#define ARGUMENTS_Gatherv(V)              SEND_ONE(V), RECEIVE_MANY(V), c->receive_types[0], c->root, c->comm
#define ARGUMENTS_Scatter(V)              SEND_ONE(V), RECEIVE_ONE(V), c->root, c->comm
#define ARGUMENTS_Scatterv(V)             SEND_MANY(V), c->send_types[0], RECEIVE_ONE(V), c->root, c->comm
#define ARGUMENTS_Scan(V)                 REDUCE(V##_COUNT)
#define ARGUMENTS_Exscan(V)               REDUCE(V##_COUNT)

#if HP_HAS_PERSISTENT
#define CALL_WAY(name, nonblocking_name, suffix, V)                                                          \
    (c->way == HP_FUZZ_BLOCKING ? MPI_##name##suffix(ARGUMENTS_##name(V))                                    \
     : c->way == HP_FUZZ_NONBLOCKING                                                                         \
         ? MPI_##nonblocking_name##suffix(ARGUMENTS_##name(V), c->request)                                   \
         : MPI_##name##_init##suffix(ARGUMENTS_##name(V), MPI_INFO_NULL, c->request))
#else
#define CALL_WAY(name, nonblocking_name, suffix, V)                                                          \
    (c->way == HP_FUZZ_BLOCKING ? MPI_##name##suffix(ARGUMENTS_##name(V))                                    \
                                : MPI_##nonblocking_name##suffix(ARGUMENTS_##name(V), c->request))
#endif
#if MPI_VERSION >= 4
#define CALL(name, nonblocking_name)                                                                         \
    (c->count_form ? CALL_WAY(name, nonblocking_name, _c, LARGE) : CALL_WAY(name, nonblocking_name, , INT))
#else
#define CALL(name, nonblocking_name) CALL_WAY(name, nonblocking_name, , INT)
#endif
#define DEFINE_CALL(name, nonblocking_name)                                                                  \
    static int call_##name(const call_t *c)                                                                  \
    {                                                                                                        \
        return CALL(name, nonblocking_name);                                                                 \
    }
DEFINE_CALL(Allgather, Iallgather)
DEFINE_CALL(Allgatherv, Iallgatherv)
DEFINE_CALL(Alltoall, Ialltoall)
DEFINE_CALL(Alltoallv, Ialltoallv)
DEFINE_CALL(Alltoallw, Ialltoallw)
DEFINE_CALL(Reduce_scatter, Ireduce_scatter)
DEFINE_CALL(Reduce_scatter_block, Ireduce_scatter_block)
DEFINE_CALL(Gather, Igather)
DEFINE_CALL(Gatherv, Igatherv)
DEFINE_CALL(Scatter, Iscatter)
DEFINE_CALL(Scatterv, Iscatterv)
DEFINE_CALL(Scan, Iscan)
DEFINE_CALL(Exscan, Iexscan)

/* clang-format off */
static const role_t roles[HP_FUZZ_COLLECTIVES] = {
    /*                                send         receive      sizes     in_place    displ. types  reduces */
    [HP_FUZZ_ALLGATHER]            = {ONE,         ALL,         UNIFORM,  EVERYWHERE, false, false, false, call_Allgather},
    [HP_FUZZ_ALLGATHERV]           = {ONE,         ALL,         PER_RANK, EVERYWHERE, true,  false, false, call_Allgatherv},
    [HP_FUZZ_ALLTOALL]             = {ALL,         ALL,         UNIFORM,  EVERYWHERE, false, false, false, call_Alltoall},
    [HP_FUZZ_ALLTOALLV]            = {ALL,         ALL,         PER_PAIR, EVERYWHERE, true,  false, false, call_Alltoallv},
    [HP_FUZZ_ALLTOALLW]            = {ALL,         ALL,         PER_PAIR, EVERYWHERE, true,  true,  false, call_Alltoallw},
    [HP_FUZZ_REDUCE_SCATTER]       = {ALL,         ONE,         PER_RANK, EACH,       false, false, true,  call_Reduce_scatter},
    [HP_FUZZ_REDUCE_SCATTER_BLOCK] = {ALL,         ONE,         UNIFORM,  EVERYWHERE, false, false, true,  call_Reduce_scatter_block},
    [HP_FUZZ_GATHER]               = {ONE,         ALL_AT_ROOT, UNIFORM,  AT_ROOT,    false, false, false, call_Gather},
    [HP_FUZZ_GATHERV]              = {ONE,         ALL_AT_ROOT, PER_RANK, AT_ROOT,    true,  false, false, call_Gatherv},
    [HP_FUZZ_SCATTER]              = {ALL_AT_ROOT, ONE,         UNIFORM,  AT_ROOT,    false, false, false, call_Scatter},
    [HP_FUZZ_SCATTERV]             = {ALL_AT_ROOT, ONE,         PER_RANK, AT_ROOT,    true,  false, false, call_Scatterv},
    [HP_FUZZ_SCAN]                 = {ONE,         ONE,         UNIFORM,  EACH,       false, false, true,  call_Scan},
    [HP_FUZZ_EXSCAN]               = {ONE,         ONE,         UNIFORM,  EACH,       false, false, true,  call_Exscan},
};
/* clang-format on */

bool hp_fuzz_is_blocks(hp_fuzz_collective_t collective)
{
    return roles[collective].call;
}

bool hp_fuzz_blocks_rooted(hp_fuzz_collective_t collective)
{
    return roles[collective].in_place == AT_ROOT;
}

bool hp_fuzz_blocks_differ(hp_fuzz_collective_t collective)
{
    return roles[collective].sizes != UNIFORM;
}

bool hp_fuzz_blocks_reduce(hp_fuzz_collective_t collective)
{
    return roles[collective].reduces;
}

/* ---- what goes from whom to whom ---- */

/* The sizes of blocks that may differ. */
#define SPREAD_TABLE(X)                                                                                      \
    X(EQUAL, "all alike")                                                                                    \
    X(NONE, "all empty")                                                                                     \
    X(SINGLE, "one rank's alone")                                                                            \
    X(FEW, "most of them empty")                                                                             \
    X(NEIGHBOURS, "between neighbours")                                                                      \
    X(ANY, "0 to twice as many")                                                                             \
    X(HALF, "half of them empty")                                                                            \
    X(SKEWED, "logarithm uniform")
typedef enum {
#define X(id, text) id,
    SPREAD_TABLE(X)
#undef X
        SPREADS
} spread_t;
_Static_assert((int)SPREADS == (int)HP_FUZZ_SPREADS, "the header's number of spreads");
static const char *const spread_names[] = {
#define X(id, text) text,
    SPREAD_TABLE(X)
#undef X
};

/* Of the hashes of a case's shape: what they decide. */
enum { BLOCK_SIZE = 1, SINGLE_RANK, PAIR_MAP, PAIR_MIXED, SIDE_MAP, SIDE_PLACES, IN_PLACE, EMPTY_NULL };

static uint64_t shape_hash(const hp_fuzz_case_t *test, int what, int a, int b)
{
    return hp_hash(test->shape, (uint64_t)what, (uint64_t)a << 32 | (uint32_t)b);
}

/* The elements of the block that a and b name. */
static int64_t spread(const hp_fuzz_case_t *test, int a, int b)
{
    uint64_t hash = shape_hash(test, BLOCK_SIZE, a, b), any = hash % (2 * (uint64_t)test->count + 1);
    int size = test->pair->size, apart = (b - a + size) % size;

    switch ((spread_t)test->spread) {
    case NONE:
        return 0;
    case SINGLE:
        return a == (int)(shape_hash(test, SINGLE_RANK, 0, 0) % (unsigned)size) ? test->count : 0;
    case FEW:
        return hash >> 32 & 7 ? 0 : (int64_t)any;
    case NEIGHBOURS:
        return apart == 1 || apart == size - 1 ? test->count : 0;
    case ANY:
        return (int64_t)any;
    case HALF:
        return hash >> 32 & 1 ? 0 : (int64_t)any;
    case SKEWED:
        return (int64_t)any >> (hash >> 32) % 12;
    default:
        return test->count;
    }
}

static bool moves_in_place(const hp_fuzz_case_t *test)
{
    const role_t *role = &roles[test->collective];
    return test->in_place && role->send == ALL && role->receive == ALL;
}

/* In place, what goes forth comes back. */
static void order_pair(const hp_fuzz_case_t *test, int *from, int *to)
{
    int first = *from;
    if (!moves_in_place(test) || *from < *to)
        return;
    *from = *to;
    *to = first;
}

static int64_t elements(const hp_fuzz_case_t *test, int from, int to)
{
    const role_t *role = &roles[test->collective];

    if (role->sizes == UNIFORM)
        return test->count;
    if (role->sizes == PER_RANK)
        return spread(test, role->send == ONE ? from : to, 0);
    order_pair(test, &from, &to);
    return spread(test, from, to);
}

static int64_t element_bytes(const hp_typemap_t *map)
{
    return map->basics * (int64_t)hp_basic_info(map->basic)->bytes;
}

/* About what a rank sends or receives; a block may have twice its share. */
static int64_t most_bytes(const hp_fuzz_case_t *test)
{
    return 2 * test->count * element_bytes(test->map) * test->pair->size;
}

/* The datatype from which the two of a block are derived: of MPI_Alltoallw of another basic than the others', at times. */
static const hp_typemap_t *pair_map(const hp_fuzz_case_t *test, int from, int to)
{
    if (!roles[test->collective].types || !(shape_hash(test, PAIR_MIXED, 0, 0) & 1))
        return test->map;
    order_pair(test, &from, &to);
    const hp_typemap_t *map = test->maps->map[shape_hash(test, PAIR_MAP, from, to) % HP_FUZZ_MAPS];
    return hp_host_breaks_gaps(map, most_bytes(test)) ? test->map : map;
}

static int64_t basics(const hp_fuzz_case_t *test, int from, int to)
{
    const hp_typemap_t *map = pair_map(test, from, to);
    int64_t count = elements(test, from, to);
    return (map == test->map ? count : count * element_bytes(test->map) / element_bytes(map)) * map->basics;
}

/* Another datatype of the map's basic, of which all those numbers of basics are multiples. */
static const hp_typemap_t *unlike(const hp_fuzz_case_t *test, const hp_typemap_t *map, int64_t divisor,
                                  uint64_t draw)
{
    for (int i = 0; i < HP_FUZZ_MAPS && test->unlike; i++) {
        const hp_typemap_t *other = test->maps->map[(draw + (unsigned)i) % HP_FUZZ_MAPS];
        if (other->basic == map->basic && divisor % other->basics == 0 &&
            !hp_host_breaks_gaps(other, most_bytes(test)))
            return other;
    }
    return map;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* ---- drawing and printing ---- */

/* The logarithm of all bytes of a rank is uniform; some are edges. */
static int64_t draw_count(const hp_fuzz_case_t *test, hp_random_t *own, const hp_fuzz_options_t *options)
{
    int64_t most = options->max_bytes, ranks = test->pair->size, bits = 0;
    uint32_t kind = hp_random_below(own, 100), draw = hp_random_below(own, 1u << 30);

    if (kind < 15)
        return draw % 4;
    if (kind < 30 && test->count * element_bytes(test->map) * ranks <= most)
        return test->count;
    while (most >> bits > 1)
        bits++;
    bits = draw % (uint32_t)(bits + 1);
    int64_t bytes = ((int64_t)1 << bits) + hp_random_below(own, (uint32_t)((int64_t)1 << bits));
    return bytes / ranks / element_bytes(test->map) + draw / 64 % 2;
}

void hp_fuzz_blocks_settle(hp_fuzz_case_t *test)
{
    const role_t *role = &roles[test->collective];

    if (test->spread == NEIGHBOURS && role->sizes != PER_PAIR)
        test->spread = HALF;
    test->unlike = test->unlike && !role->reduces && !moves_in_place(test);
    if (test->collective == HP_FUZZ_ALLGATHERV && hp_host_breaks_unlike_allgatherv(most_bytes(test)))
        test->unlike = false;
    if (role->reduces && hp_host_breaks_reduce(test->map, test->count, 0, false))
        test->map = test->maps->map[test->map->basic];
    if (role->reduces && role->send == ALL && hp_host_breaks_ordered_scatter(test->operation))
        test->operation = HP_OPERATION_USER_XOR;
    if (test->collective == HP_FUZZ_REDUCE_SCATTER && test->in_place && hp_host_breaks_overlap())
        test->spread = EQUAL;
    while (hp_host_breaks_gaps(test->map, most_bytes(test)) ||
           (test->collective == HP_FUZZ_GATHER && hp_host_breaks_gather(test->map, most_bytes(test))))
        test->count /= 2;
}

void hp_fuzz_blocks_draw(hp_fuzz_case_t *test, hp_random_t *own, const hp_fuzz_options_t *options)
{
    const role_t *role = &roles[test->collective];

    test->shape = hp_random_next(own);
    test->spread = (int)hp_random_below(own, SPREADS);
    test->unlike = hp_random_below(own, 2);
    test->overlap = hp_random_below(own, 3) == 0;
    if (!role->reduces)
        test->operation = HP_OPERATION_USER_LEFTMOST; /* any bits */
    test->count = draw_count(test, own, options);
    hp_fuzz_blocks_settle(test);
}

int hp_fuzz_blocks_format(const hp_fuzz_case_t *test, char *buffer, size_t buffer_bytes)
{
    const role_t *role = &roles[test->collective];
    int rank = test->pair->rank,
        used = snprintf(buffer, buffer_bytes, "%s", test->unlike ? ", unlike datatypes" : "");

    if (role->sizes == UNIFORM)
        return used;
    used += snprintf(buffer + used, buffer_bytes - (size_t)used,
                     ", blocks %s, this rank's:", spread_names[test->spread]);
    for (int i = 0; i < test->pair->size && (size_t)used < buffer_bytes; i++)
        used += snprintf(buffer + used, buffer_bytes - (size_t)used, " %" PRId64 "/%" PRId64,
                         elements(test, rank, i), elements(test, i, rank));
    return used;
}

/* ---- the buffers of a rank ---- */

struct hp_fuzz_blocks {
    hp_fuzz_case_t test;
    const role_t *role;
    bool in_place;                /* this rank says so */
    hp_fuzz_side_t send, receive; /* none: passed as garbage */
    hp_fuzz_block_t own;          /* a reduction's result */
    int64_t first;                /* its first basic among the operands */
};

static bool has(const hp_fuzz_case_t *test, has_t what)
{
    return what != ALL_AT_ROOT || test->pair->rank == test->root;
}

static bool is_in_place(const hp_fuzz_case_t *test, const role_t *role)
{
    bool all = shape_hash(test, IN_PLACE, 0, 0) & 1,
         mine = shape_hash(test, IN_PLACE, 1, test->pair->rank) & 1;

    if (!test->in_place || role->in_place == EVERYWHERE)
        return test->in_place;
    return role->in_place == AT_ROOT ? test->pair->rank == test->root : all || mine;
}

/* sends: what this rank sends, else what it receives. */
static void create_side(hp_fuzz_side_t *side, const hp_fuzz_case_t *test, const role_t *role, bool sends)
{
    int rank = test->pair->rank, which = 2 * rank + sends;
    bool one = (sends ? role->send : role->receive) == ONE;
    hp_random_t places = {shape_hash(test, SIDE_PLACES, which, 0)};
    int64_t divisor = 0;

    hp_fuzz_side_init(side, one ? 1 : test->pair->size);
    for (int i = 0; i < side->blocks; i++) {
        int other = one ? rank : i, from = sends ? rank : other, to = sends ? other : rank;
        hp_fuzz_block_t *block = &side->block[i];
        block->map = pair_map(test, from, to);
        block->count = basics(test, from, to); /* for now */
        divisor = common_divisor(divisor, block->count);
    }
    for (int i = 0; i < side->blocks; i++) {
        hp_fuzz_block_t *block = &side->block[i];
        block->map = unlike(test, block->map, role->types ? block->count : divisor,
                            shape_hash(test, SIDE_MAP, which, role->types ? i : 0));
        block->count /= block->map->basics;
    }
    if (one || !role->displacements || hp_host_breaks_displacement(test->pair->size))
        hp_fuzz_side_place_in_order(side);
    else
        hp_fuzz_side_place_anywhere(side, &places, role->types,
                                    sends && role->sizes == PER_PAIR && test->overlap);
}

static void fill(hp_fuzz_blocks_t *blocks)
{
    const hp_fuzz_case_t *test = &blocks->test;
    const role_t *role = blocks->role;

    if (blocks->send.blocks)
        hp_fuzz_side_fill(&blocks->send, test, -1);
    if (!blocks->receive.blocks)
        return;
    if (blocks->in_place)
        hp_fuzz_side_fill(&blocks->receive, test,
                          role->send == ONE && !role->reduces ? test->pair->rank : -1);
    else
        hp_fuzz_side_fill_none(&blocks->receive, test);
}

hp_fuzz_blocks_t *hp_fuzz_blocks_create(const hp_fuzz_case_t *test, bool free_early)
{
    hp_fuzz_blocks_t *blocks = calloc(1, sizeof *blocks);
    const role_t *role = &roles[test->collective];
    bool from_receive = role->send == ALL_AT_ROOT; /* in place there is no receive buffer */

    CHECK(blocks, "out of memory");
    blocks->test = *test;
    blocks->role = role;
    blocks->in_place = is_in_place(test, role);
    if (has(test, role->send) && (!blocks->in_place || from_receive))
        create_side(&blocks->send, test, role, true);
    if (has(test, role->receive) && !(blocks->in_place && from_receive))
        create_side(&blocks->receive, test, role, blocks->in_place && role->reduces);
    if (blocks->send.blocks && blocks->receive.blocks)
        hp_fuzz_side_part(&blocks->receive, &blocks->send);
    if (role->reduces) {
        int64_t before = 0;
        for (int i = 0; i < test->pair->rank && role->send == ALL; i++)
            before += elements(test, 0, i);
        blocks->first = before * test->map->basics;
        blocks->own = (hp_fuzz_block_t){.map = test->map, .count = elements(test, 0, test->pair->rank)};
    }
    fill(blocks);
    if (free_early && !role->reduces) {
        hp_fuzz_side_dup_types(&blocks->send);
        hp_fuzz_side_dup_types(&blocks->receive);
    }
    return blocks;
}

void hp_fuzz_blocks_free_types(hp_fuzz_blocks_t *blocks)
{
    hp_fuzz_side_free_types(&blocks->send);
    hp_fuzz_side_free_types(&blocks->receive);
}

void hp_fuzz_blocks_free(hp_fuzz_blocks_t *blocks)
{
    hp_fuzz_side_fini(&blocks->send);
    hp_fuzz_side_fini(&blocks->receive);
    free(blocks);
}

void hp_fuzz_blocks_renew(hp_fuzz_blocks_t *blocks, uint64_t salt)
{
    blocks->test.salt = salt;
    fill(blocks);
}

static uint64_t side_bytes(const hp_fuzz_side_t *side)
{
    uint64_t bytes = 0;

    for (int i = 0; i < side->blocks; i++)
        bytes += hp_typemap_bytes(side->block[i].map, side->block[i].count);
    return bytes;
}

uint64_t hp_fuzz_blocks_bytes(const hp_fuzz_blocks_t *blocks)
{
    const uint64_t sent = side_bytes(&blocks->send), received = side_bytes(&blocks->receive);
    return sent > received ? sent : received;
}

/* ---- running and comparing ---- */

/* What is not significant: nothing may look at it. */
static hp_fuzz_side_t *garbage(void)
{
    static int count = -7;
    static MPI_Count count_c = -7;
    static MPI_Datatype type;
    static hp_fuzz_side_t side = {.counts = &count, .counts_c = &count_c, .types = &type, .own_types = &type};
    type = MPI_DATATYPE_NULL;
    return &side;
}

static void *buffer_of(const hp_fuzz_blocks_t *blocks, hp_fuzz_side_t *side, hp_fuzz_arena_t arena)
{
    bool null = shape_hash(&blocks->test, EMPTY_NULL, 0, 0) & 1;

    if (!side->blocks)
        return NULL;
    return null && hp_fuzz_side_is_empty(side) ? NULL : hp_fuzz_side_base(side, arena);
}

int hp_fuzz_blocks_call(hp_fuzz_blocks_t *blocks, MPI_Comm comm, hp_fuzz_way_t way, MPI_Datatype type,
                        MPI_Op op, MPI_Request *request)
{
    bool library = comm == blocks->test.pair->library;
    hp_fuzz_side_t *send = &blocks->send, *receive = &blocks->receive;
    call_t call = {.send = send->blocks ? send : garbage(),
                   .receive = receive->blocks ? receive : garbage(),
                   .operands = send->blocks ? send : receive,
                   .from = buffer_of(blocks, send, HP_FUZZ_LIBRARY),
                   .into = buffer_of(blocks, receive, library ? HP_FUZZ_LIBRARY : HP_FUZZ_NATIVE),
                   .type = type,
                   .op = op,
                   .root = blocks->test.root,
                   .comm = comm,
                   .way = way,
                   .count_form = blocks->test.count_form,
                   .request = request};

    call.send_types = library ? call.send->own_types : call.send->types;
    call.receive_types = library ? call.receive->own_types : call.receive->types;
    if (blocks->in_place && blocks->role->send == ALL_AT_ROOT)
        call.into = MPI_IN_PLACE;
    else if (blocks->in_place)
        call.from = MPI_IN_PLACE;
    return blocks->role->call(&call);
}

/* The operands of ranks 0 .. last, in their order. */
static void expect_reduced(hp_fuzz_blocks_t *blocks, int last)
{
    enum { ROW = 256 }; /* basics at a time */
    const hp_fuzz_case_t *test = &blocks->test;
    const hp_typemap_t *map = blocks->own.map;
    const hp_basic_info_t *info = hp_basic_info(map->basic);
    hp_places_t places = hp_fuzz_side_places(&blocks->receive, HP_FUZZ_NATIVE, &blocks->own);

    for (int64_t i = 0; i < blocks->own.count * map->basics; i += ROW) {
        char rows[2][ROW * sizeof(hp_record_t)], *left = rows[0], *into = rows[1];
        const int64_t rest = blocks->own.count * map->basics - i, count = rest < ROW ? rest : ROW;
        for (int rank = 0; rank <= last; rank++) {
            hp_basic_fill_row(map->basic, test->operation, HP_VALUES_ANY, test->salt, rank, blocks->first + i,
                              count, into);
            if (rank > 0)
                hp_basic_combine_row(map->basic, test->operation, left, into, count, (ptrdiff_t)info->bytes);
            char *reduced = into;
            into = left;
            left = reduced;
        }
        for (int64_t k = 0; k < count; k++) {
            char *place = hp_places_next(&places);
            const char *value = left + k * (int64_t)info->bytes;
            for (int piece = 0; piece < info->pieces; piece++)
                memcpy(place + info->piece[piece].at, value + info->piece[piece].at,
                       info->piece[piece].bytes);
        }
    }
}

void hp_fuzz_blocks_expect(hp_fuzz_blocks_t *blocks)
{
    const hp_fuzz_case_t *test = &blocks->test;
    const role_t *role = blocks->role;
    int rank = test->pair->rank, last = test->pair->size - 1;

    if (role->reduces && test->collective != HP_FUZZ_SCAN && test->collective != HP_FUZZ_EXSCAN)
        expect_reduced(blocks, last);
    else if (role->reduces && (rank > 0 || test->collective == HP_FUZZ_SCAN))
        expect_reduced(blocks, test->collective == HP_FUZZ_SCAN ? rank : rank - 1);
    for (int i = 0; i < blocks->receive.blocks && !role->reduces; i++) {
        const hp_fuzz_block_t *block = &blocks->receive.block[i];
        int from = role->receive == ONE ? test->root : i;
        int64_t first = 0;
        for (int other = 0; other < rank && role->send != ONE; other++)
            first += basics(test, from, other);
        hp_typemap_fill(block->map, test->operation, HP_VALUES_ANY, test->salt, from, first,
                        block->count * block->map->basics,
                        hp_fuzz_side_base(&blocks->receive, HP_FUZZ_NATIVE) + block->at);
    }
}

bool hp_fuzz_blocks_check(const hp_fuzz_blocks_t *blocks, char *difference, size_t difference_bytes)
{
    const hp_fuzz_side_t *receive = &blocks->receive;
    const hp_fuzz_case_t *test = &blocks->test;
    bool agree = true, undefined = test->collective == HP_FUZZ_EXSCAN && test->pair->rank == 0;

    if (blocks->send.blocks && !hp_fuzz_side_unchanged(&blocks->send)) {
        snprintf(difference, difference_bytes, "the send buffer was changed");
        return false;
    }
    if (!receive->blocks || hp_fuzz_side_same(receive))
        return true;
    if (blocks->role->reduces && !undefined)
        agree = hp_fuzz_side_block_agrees(receive, test, &blocks->own, blocks->first, difference,
                                          difference_bytes);
    for (int i = 0; i < receive->blocks && agree && !blocks->role->reduces; i++)
        agree = hp_fuzz_side_block_agrees(receive, test, &receive->block[i], 0, difference, difference_bytes);
    return agree && hp_fuzz_side_gaps_unchanged(receive, difference, difference_bytes);
}
