/* blocks: the collectives with a block for each rank, and the scans, against results computed here. Each case is run in
 * the form that the group says, on the machinery of the fuzzer (fuzz_blocks.h): guards and gaps must be untouched, send
 * buffers unchanged.
 *
 * usage: blocks [--thread-multiple] GROUP... ; the groups are in the table below. Each is
 * collective over MPI_COMM_WORLD. */
#include "fuzz_blocks.h"
#include "groups.h"
#include "host_bugs.h"

static hp_fuzz_maps_t maps;
static MPI_Comm comm = MPI_COMM_WORLD; /* that the group runs on */

typedef struct {
    hp_fuzz_way_t way;
    bool count_form, in_place, unlike, one_root;
} form_t;

static void wait_for(MPI_Request *request, hp_fuzz_way_t way)
{
    if (way == HP_FUZZ_PERSISTENT)
        CHECK_MPI(MPI_Start(request));
    if (way != HP_FUZZ_BLOCKING)
        CHECK_MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
}

/* Equal calls, with other values: the first two prepare, and what the second one has prepared runs again. */
static int rounds_of(const hp_fuzz_case_t *test, hp_fuzz_way_t way)
{
    return way == HP_FUZZ_PERSISTENT || test->count == 7 ? 4 : 1;
}

static void run(hp_fuzz_case_t *test, hp_fuzz_way_t way)
{
    const char *name = hp_fuzz_collective_info(test->collective)->name;
    char text[900], difference[512];
    MPI_Request request = MPI_REQUEST_NULL;

    hp_fuzz_blocks_settle(test);
    hp_fuzz_blocks_t *blocks = hp_fuzz_blocks_create(test, false);
    for (int round = 0; round < rounds_of(test, way); round++) {
        if (round)
            hp_fuzz_blocks_renew(blocks, hp_mix(test->salt + (uint64_t)round));
        if (round == 0 || way != HP_FUZZ_PERSISTENT) {
            const int code = hp_fuzz_blocks_call(blocks, test->pair->library, way, test->map->type,
                                                 hp_operation_info(test->operation)->op, &request);
            CHECK(code == MPI_SUCCESS, "MPI_%s: %s", name, hp_error_text(code));
        }
        wait_for(&request, way);
        hp_fuzz_blocks_expect(blocks);
        CHECK(hp_fuzz_blocks_check(blocks, difference, sizeof difference), "%s: %s",
              hp_fuzz_case_format(test, text, sizeof text), difference);
    }
    if (way == HP_FUZZ_PERSISTENT)
        CHECK_MPI(MPI_Request_free(&request));
    hp_fuzz_blocks_free(blocks);
}

/* Whether the library runs what the host would get wrong. */
static bool possible(hp_fuzz_collective_t collective, const form_t *form)
{
    return form->way == HP_FUZZ_BLOCKING || !hp_host_breaks_iblocks(form->in_place) ||
           hp_lib_forced(hp_fuzz_collective_info(collective)->word);
}

static int draw_root(uint64_t salt, int comm_size)
{
    return (int)(hp_hash(salt, 0, 0) % (uint64_t)comm_size);
}

/* One collective with every spread of sizes where these may differ, and with every root where it has one. With
 * form->one_root each case draws one root instead. */
static void run_spreads(hp_fuzz_collective_t collective, const hp_typemap_t *map, int64_t count,
                        hp_operation_t operation, const form_t *form)
{
    static uint64_t salt;
    hp_pair_t pair = {
        .library = comm, .native = MPI_COMM_NULL, .rank = hp_comm_rank(comm), .size = hp_comm_size(comm)};
    bool rooted = hp_fuzz_blocks_rooted(collective);
    int roots = rooted && !form->one_root ? pair.size : 1;
    int spreads = hp_fuzz_blocks_differ(collective) ? HP_FUZZ_SPREADS : 1;

    for (int root = 0; root < roots; root++)
        for (int spread = 0; spread < spreads; spread++) {
            salt++;
            hp_fuzz_case_t test = {
                .pair = &pair,
                .collective = collective,
                .map = map,
                .count = count,
                .root = rooted && form->one_root ? draw_root(salt, pair.size) : root,
                .operation = hp_fuzz_blocks_reduce(collective) ? operation : HP_OPERATION_USER_LEFTMOST,
                .in_place = form->in_place,
                .count_form = form->count_form,
                .salt = hp_mix(salt),
                .maps = &maps,
                .shape = hp_mix(~salt),
                .spread = spread,
                .unlike = form->unlike};
            run(&test, form->way);
        }
}

static void run_all(const hp_typemap_t *map, int64_t count, hp_operation_t operation, const form_t *form)
{
    for (int i = 0; i < HP_FUZZ_COLLECTIVES; i++) {
        hp_fuzz_collective_t collective = (hp_fuzz_collective_t)i;
        if (hp_fuzz_is_blocks(collective) && possible(collective, form))
            run_spreads(collective, map, count, operation, form);
    }
}

/* Counts at the edges, in place and not. */
static void run_counts(const form_t *form)
{
    const int64_t counts[] = {0, 1, 2, 7, 64, 65, 700};
    const hp_basic_t basics[] = {HP_BASIC_INT, HP_BASIC_DOUBLE_COMPLEX};

    for (size_t b = 0; b < sizeof basics / sizeof *basics; b++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            for (int in_place = 0; in_place < 2; in_place++) {
                form_t one = *form;
                one.in_place = in_place;
                run_all(maps.map[basics[b]], counts[i], HP_OPERATION_SUM, &one);
            }
}

static void group_counts(void)
{
    run_counts(&(form_t){.way = HP_FUZZ_BLOCKING});
}

static void group_nonblocking(void)
{
    run_counts(&(form_t){.way = HP_FUZZ_NONBLOCKING});
}

static void group_persistent(void)
{
    if (HP_HAS_PERSISTENT)
        run_counts(&(form_t){.way = HP_FUZZ_PERSISTENT});
    else
        hp_group_skip("this MPI has no persistent collectives");
}

/* Ranks in another order than the nodes have: every second one first. */
static void group_reordered(void)
{
    int rank = hp_comm_rank(MPI_COMM_WORLD);

    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, rank % 2 ? -rank : rank, &comm));
    run_counts(&(form_t){.way = HP_FUZZ_BLOCKING});
    CHECK_MPI(MPI_Comm_free(&comm));
    comm = MPI_COMM_WORLD;
}

/* The same calls on one communicator after another: nothing may be left of the last one's size, ranks and root. In TURNS turns
 * most roots that are drawn come twice in a row. */
static void group_successive(void)
{
    enum { TURNS = 9 };
    int rank = hp_comm_rank(MPI_COMM_WORLD), size = hp_comm_size(MPI_COMM_WORLD);

    for (int turn = 0; turn < TURNS; turn++) {
        int is_apart = turn % 3 == 2 && rank == size - 1;
        CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, is_apart, turn % 3 == 1 ? -rank : rank, &comm));
        run_all(maps.map[HP_BASIC_SHORT_INT], 3, HP_OPERATION_USER_LEFTMOST, &(form_t){.one_root = true});
        CHECK_MPI(MPI_Comm_free(&comm));
    }
    comm = MPI_COMM_WORLD;
}

/* MPI_X_c. */
static void group_counts_c(void)
{
    if (MPI_VERSION >= 4)
        run_counts(&(form_t){.count_form = true});
    else
        hp_group_skip("this MPI has no large counts");
}

/* Derived datatypes, the same on all ranks and another on each side of each. Each case draws its root;
 * group_counts has every root in every case. */
static void group_types(void)
{
    const int64_t counts[] = {1, 3, 12};

    for (int i = HP_BASIC_COUNT; i < HP_FUZZ_MAPS; i++)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
            run_all(maps.map[i], counts[k], HP_OPERATION_USER_XOR,
                    &(form_t){.unlike = k % 2, .in_place = k == 2, .one_root = true});
}

/* Every operation on every basic that it is defined for, by the collectives that reduce. */
static void group_operations(void)
{
    for (int basic = 0; basic < HP_BASIC_COUNT; basic++)
        for (int operation = 0; operation < HP_OPERATION_COUNT; operation++)
            for (int i = 0; i < HP_FUZZ_COLLECTIVES; i++)
                if (hp_operation_applies((hp_operation_t)operation, (hp_basic_t)basic) &&
                    hp_fuzz_blocks_reduce((hp_fuzz_collective_t)i))
                    run_spreads((hp_fuzz_collective_t)i, maps.map[basic], 17, (hp_operation_t)operation,
                                &(form_t){.in_place = basic % 2});
}

/* Blocks of many segments. Each case draws its root. */
static void group_large(void)
{
    run_all(maps.map[HP_BASIC_DOUBLE], 20000, HP_OPERATION_SUM, &(form_t){.one_root = true});
    run_all(maps.map[HP_BASIC_BYTE], 100003, HP_OPERATION_USER_XOR,
            &(form_t){.in_place = true, .one_root = true});
}

/* What the environment forces the library to take it has taken. */
static void check_taken(void)
{
    for (int i = 0; i < HP_FUZZ_COLLECTIVES; i++) {
        const char *word = hp_fuzz_collective_info((hp_fuzz_collective_t)i)->word;
        if (!hp_fuzz_is_blocks((hp_fuzz_collective_t)i) || !hp_lib_forced(word))
            continue;
        hanpmpi_collective_stats_t stats = hp_lib_stats(word);
        CHECK(stats.calls == 0 || stats.taken > 0, "the library took no %s of %" PRIu64, word, stats.calls);
    }
}

static const hp_group_t groups[] = {
    {"counts", group_counts},
    {"types", group_types},
    {"operations", group_operations},
    {"counts_c", group_counts_c},
    {"nonblocking", group_nonblocking},
    {"persistent", group_persistent},
    {"large", group_large},
    {"reordered", group_reordered},
    {"successive", group_successive},
};

int main(int argc, char **argv)
{
    hp_random_t random = {17};

    hp_mpi_init(&argc, &argv);
    hp_basics_init();
    hp_operations_init();
    hp_fuzz_maps_create(&maps, &random, true);
    int code = hp_groups_run(argc, argv, groups, sizeof groups / sizeof *groups);
    check_taken();
    hp_fuzz_maps_free(&maps);
    hp_operations_fini();
    hp_basics_fini();
    CHECK_MPI(MPI_Finalize());
    return code;
}
