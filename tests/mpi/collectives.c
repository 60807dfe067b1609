/* collectives: Bcast, Reduce and Allreduce against results computed here.
 *
 * usage: collectives [--thread-multiple] [--way WORD] GROUP... ; the groups are in the table below. Each is collective over MPI_COMM_WORLD. */
#include "checked.h"
#include "groups.h"

static uint64_t next_salt(void)
{
    static uint64_t salt;
    return hp_mix(salt++);
}

static int world_size(void)
{
    return hp_comm_size(MPI_COMM_WORLD);
}

/* Every root (hp_check_all); counts at the edges: 0, 1, p-1, p, p+1, and around segments of 64 bytes to 4 KiB. */
static void group_counts(void)
{
    const int sizes[] = {0,
                         1,
                         world_size() - 1,
                         world_size(),
                         world_size() + 1,
                         7,
                         8,
                         9,
                         15,
                         16,
                         17,
                         63,
                         64,
                         65,
                         127,
                         128,
                         129,
                         511,
                         512,
                         513,
                         1025,
                         8191};
    const hp_basic_t basics[] = {HP_BASIC_INT, HP_BASIC_DOUBLE, HP_BASIC_DOUBLE_COMPLEX};

    for (size_t b = 0; b < sizeof basics / sizeof *basics; b++) {
        hp_typemap_t *map = hp_typemap_create_basic(basics[b]);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            hp_check_all(&(hp_case_t){.comm = MPI_COMM_WORLD,
                                      .map = map,
                                      .count = sizes[i],
                                      .root = -1,
                                      .operation = HP_OPERATION_SUM,
                                      .salt = next_salt()});
        hp_typemap_free(map);
    }
}

/* Derived datatypes: Bcast moves them, user-defined operations reduce them. */
static void group_types(void)
{
    const struct {
        hp_basic_t basic;
        hp_operation_t operation;
    } kinds[] = {
        {HP_BASIC_INT, HP_OPERATION_USER_XOR},         {HP_BASIC_DOUBLE, HP_OPERATION_USER_LEFTMOST},
        {HP_BASIC_MATRIX, HP_OPERATION_USER_PRODUCT},  {HP_BASIC_BYTE, HP_OPERATION_USER_XOR},
        {HP_BASIC_RECORD, HP_OPERATION_USER_LEFTMOST}, {HP_BASIC_SHORT_INT, HP_OPERATION_USER_LEFTMOST},
    };
    const int counts[] = {0, 1, 3, 5, 40};

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        hp_typemap_t *map;
        for (int nth = 0; (map = hp_typemap_create_nth(kinds[k].basic, nth)); nth++) {
            for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
                if (counts[i] > map->max_count)
                    continue;
                hp_check_all(&(hp_case_t){.comm = MPI_COMM_WORLD,
                                          .map = map,
                                          .count = counts[i],
                                          .root = (int)(i + (size_t)nth) % world_size(),
                                          .in_place = i % 2,
                                          .operation = kinds[k].operation,
                                          .salt = next_salt()});
            }
            hp_typemap_free(map);
        }
    }
}

/* Bcast with another count and datatype on every rank; the signatures are the same. */
static void group_signatures(void)
{
    const hp_basic_t basics[] = {HP_BASIC_INT, HP_BASIC_DOUBLE, HP_BASIC_BYTE, HP_BASIC_RECORD};
    int rank = hp_comm_rank(MPI_COMM_WORLD);

    for (size_t b = 0; b < sizeof basics / sizeof *basics; b++)
        for (int nth = 0; nth < 10; nth++)
            for (int repeats = 1; repeats <= 60; repeats += 59)
                for (int root = 0; root < world_size(); root++) {
                    hp_typemap_t *derived = hp_typemap_create_nth(basics[b], nth);
                    hp_typemap_t *bare = hp_typemap_create_basic(basics[b]);
                    int count = repeats > derived->max_count ? derived->max_count : repeats;
                    bool takes_bare = (rank + root + nth) % 2;
                    uint64_t salt = next_salt();
                    hp_buffer_t buffer;

                    hp_buffer_init(&buffer, takes_bare ? bare : derived,
                                   takes_bare ? count * derived->basics : count);
                    if (rank == root)
                        hp_buffer_fill(&buffer, HP_OPERATION_SUM, HP_VALUES_SMALL, salt, root);
                    hp_way_bcast(buffer.base, (int)buffer.count, buffer.map->type, root, MPI_COMM_WORLD);
                    hp_check_values(&buffer, HP_OPERATION_SUM, salt, root, "Bcast of unlike datatypes");
                    hp_check_guards(&buffer, "Bcast of unlike datatypes");
                    hp_buffer_fini(&buffer);
                    hp_typemap_free(bare);
                    hp_typemap_free(derived);
                }
}

/* ---- complex numbers apart ---- */

enum { NUMBERS = 3, ELEMENTS = 40, GAP = 0x55 };

typedef struct {
    MPI_Datatype type;
    size_t bytes;
} number_t;

/* Where the numbers of a buffer lie: NUMBERS of them in each of ELEMENTS elements. */
typedef struct {
    MPI_Datatype type;
    int count;
    size_t first, step, extent;
} layout_t;

/* The numbers arrive, and nothing comes into what is between them. */
static void bcast_layouts(const layout_t *at_root, const layout_t *elsewhere, size_t bytes, int root)
{
    const int rank = hp_comm_rank(MPI_COMM_WORLD);
    const layout_t *own = rank == root ? at_root : elsewhere;
    const size_t all = own->first + ELEMENTS * own->extent + bytes;
    unsigned char *data = malloc(all);

    memset(data, GAP, all);
    for (size_t i = 0; i < NUMBERS * ELEMENTS && rank == root; i++)
        memset(data + own->first + i / NUMBERS * own->extent + i % NUMBERS * own->step, (int)i + 100, bytes);
    CHECK_MPI(MPI_Bcast(data, own->count, own->type, root, MPI_COMM_WORLD));
    for (size_t i = 0; i < NUMBERS * ELEMENTS; i++) {
        const unsigned char *value = data + own->first + i / NUMBERS * own->extent + i % NUMBERS * own->step;
        for (size_t k = 0; k < (i % NUMBERS < NUMBERS - 1 ? own->step : bytes); k++)
            CHECK_EQUAL(value[k], k < bytes ? (unsigned char)(i + 100) : GAP,
                        k < bytes ? "a number" : "a gap");
    }
    free(data);
}

/* Both ways round. Frees the types. */
static void check_layouts(layout_t *apart, layout_t *dense, size_t bytes, int root)
{
    bcast_layouts(apart, dense, bytes, root);
    bcast_layouts(dense, apart, bytes, root);
    CHECK_MPI(MPI_Type_free(&apart->type));
    CHECK_MPI(MPI_Type_free(&dense->type));
}

/* type: of elements, whose numbers are so far apart. */
static layout_t make_layout(MPI_Datatype type, size_t first, size_t step)
{
    MPI_Aint lb, extent;

    CHECK_MPI(MPI_Type_commit(&type));
    CHECK_MPI(MPI_Type_get_extent(type, &lb, &extent));
    return (layout_t){type, ELEMENTS, first, step, (size_t)extent};
}

static MPI_Datatype make_vector(const number_t *number, size_t step)
{
    MPI_Datatype vector;
    CHECK_MPI(MPI_Type_create_hvector(NUMBERS, 1, (MPI_Aint)step, number->type, &vector));
    return vector;
}

/* NUMBERS of them, so far apart, in one of WAYS ways. */
enum { WAYS = 11 };
static MPI_Datatype make_apart(int way, const number_t *number, size_t step)
{
    const MPI_Aint at[] = {0, (MPI_Aint)step, 2 * (MPI_Aint)step};
    const int lengths[] = {1, 1, 1}, places[] = {0, 1, 2};
    const int sizes[] = {1, 2 * NUMBERS}, part[] = {1, NUMBERS}, origin[] = {0, 0};
    const int all = 2 * NUMBERS, block = MPI_DISTRIBUTE_BLOCK, each = MPI_DISTRIBUTE_DFLT_DARG, ranks = 2;
    const MPI_Datatype types[] = {number->type, number->type, number->type};
    MPI_Datatype wide, vector = make_vector(number, step), out;

    CHECK_MPI(MPI_Type_create_resized(number->type, 0, (MPI_Aint)step, &wide));
    switch (way) {
    case 0:
        CHECK_MPI(MPI_Type_dup(vector, &out));
        break;
    case 1:
        CHECK_MPI(MPI_Type_create_resized(vector, 0, 4 * (MPI_Aint)step, &out));
        break;
    case 2:
        CHECK_MPI(MPI_Type_create_hindexed(NUMBERS, lengths, at, number->type, &out));
        break;
    case 3:
        CHECK_MPI(MPI_Type_create_hindexed_block(NUMBERS, 1, at, number->type, &out));
        break;
    case 4:
        CHECK_MPI(MPI_Type_create_struct(NUMBERS, lengths, at, types, &out));
        break;
    case 5:
        CHECK_MPI(MPI_Type_contiguous(NUMBERS, wide, &out));
        break;
    case 6:
        CHECK_MPI(MPI_Type_vector(NUMBERS, 1, 1, wide, &out));
        break;
    case 7:
        CHECK_MPI(MPI_Type_indexed(NUMBERS, lengths, places, wide, &out));
        break;
    case 8:
        CHECK_MPI(MPI_Type_create_indexed_block(NUMBERS, 1, places, wide, &out));
        break;
    case 9:
        CHECK_MPI(MPI_Type_create_subarray(2, sizes, part, origin, MPI_ORDER_C, wide, &out));
        break;
    default:
        CHECK_MPI(MPI_Type_create_darray(ranks, 0, 1, &all, &block, &each, &ranks, MPI_ORDER_C, wide, &out));
    }
    CHECK_MPI(MPI_Type_free(&vector));
    CHECK_MPI(MPI_Type_free(&wide));
    return out;
}

/* Behind a pair that has a gap itself. */
static layout_t make_behind_pair(const number_t *number, size_t step)
{
    enum { PAIR_BYTES = 16 };
    const int lengths[] = {1, 1};
    const MPI_Aint at[] = {0, PAIR_BYTES};
    MPI_Datatype types[] = {MPI_DOUBLE_INT, make_vector(number, step)}, out;

    CHECK_MPI(MPI_Type_create_struct(2, lengths, at, types, &out));
    CHECK_MPI(MPI_Type_free(&types[1]));
    return make_layout(out, PAIR_BYTES, step);
}

/* As an application has them that sends some members of its structs. */
static void group_apart(void)
{
    const number_t numbers[] = {{MPI_C_FLOAT_COMPLEX, 8}, {MPI_C_DOUBLE_COMPLEX, 16}};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const size_t bytes = numbers[i].bytes, step = bytes + bytes / 2;
        for (int way = 0; way <= WAYS; way++) {
            layout_t apart = way < WAYS ? make_layout(make_apart(way, &numbers[i], step), 0, step)
                                        : make_behind_pair(&numbers[i], step);
            layout_t dense = way < WAYS ? make_layout(make_vector(&numbers[i], bytes), 0, bytes)
                                        : make_behind_pair(&numbers[i], bytes);
            check_layouts(&apart, &dense, bytes, way % world_size());
        }
    }
}

/* Every operation on every basic that it is defined for. */
static void group_operations(void)
{
    const int counts[] = {1, 17, 300};

    for (int basic = 0; basic < HP_BASIC_COUNT; basic++) {
        hp_typemap_t *map = hp_typemap_create_basic((hp_basic_t)basic);
        for (int operation = 0; operation < HP_OPERATION_COUNT; operation++)
            for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
                if (hp_operation_applies((hp_operation_t)operation, (hp_basic_t)basic))
                    hp_check_all(&(hp_case_t){.comm = MPI_COMM_WORLD,
                                              .map = map,
                                              .count = counts[i],
                                              .root = (basic + operation) % world_size(),
                                              .operation = (hp_operation_t)operation,
                                              .salt = next_salt()});
        hp_typemap_free(map);
    }
}

/* The same floating-point sum must have the same bits every time, whoever comes late. */
static void group_repeatable(void)
{
    enum { COUNT = 700, REPEATS = 30 };
    hp_typemap_t *map = hp_typemap_create_basic(HP_BASIC_DOUBLE);
    int rank = hp_comm_rank(MPI_COMM_WORLD);
    double first[COUNT], again[COUNT];
    hp_buffer_t send;

    hp_buffer_init(&send, map, COUNT);
    hp_buffer_fill(&send, HP_OPERATION_SUM, HP_VALUES_ANY, next_salt(), rank);
    for (int reduce = 0; reduce < 2; reduce++)
        for (int repeat = 0; repeat < REPEATS; repeat++) {
            double *result = repeat ? again : first;
            hp_spin_us((double)(hp_hash((uint64_t)reduce, (uint64_t)repeat, (uint64_t)rank) % 300));
            if (reduce)
                CHECK_MPI(MPI_Reduce(send.base, result, COUNT, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD));
            else
                CHECK_MPI(MPI_Allreduce(send.base, result, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
            if (repeat && (!reduce || rank == 0))
                CHECK(memcmp(first, again, sizeof first) == 0, "%s gave other bits in repetition %d",
                      reduce ? "Reduce" : "Allreduce", repeat);
        }
    hp_buffer_fini(&send);
    hp_typemap_free(map);
}

/* MPI_IN_PLACE and arguments that are significant only at the root (checked.c puts garbage there). */
static void group_in_place(void)
{
    const int counts[] = {0, 1, 16, 17, 700, 5000};
    const struct {
        hp_basic_t basic;
        hp_operation_t operation;
    } kinds[] = {{HP_BASIC_INT, HP_OPERATION_SUM},
                 {HP_BASIC_DOUBLE, HP_OPERATION_MAX},
                 {HP_BASIC_MATRIX, HP_OPERATION_USER_PRODUCT},
                 {HP_BASIC_DOUBLE_INT, HP_OPERATION_MINLOC}};

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        hp_typemap_t *map = hp_typemap_create_basic(kinds[k].basic);
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            hp_check_all(&(hp_case_t){.comm = MPI_COMM_WORLD,
                                      .map = map,
                                      .count = counts[i],
                                      .root = -1,
                                      .in_place = true,
                                      .operation = kinds[k].operation,
                                      .salt = next_salt()});
        hp_typemap_free(map);
    }
}

/* Messages of many segments, alike and one basic off. */
static void group_large(void)
{
    const struct {
        hp_basic_t basic;
        hp_operation_t operation;
        int count;
    } kinds[] = {{HP_BASIC_DOUBLE, HP_OPERATION_SUM, 1 << 17},
                 {HP_BASIC_INT, HP_OPERATION_BXOR, (1 << 17) + 1},
                 {HP_BASIC_MATRIX, HP_OPERATION_USER_PRODUCT, (1 << 14) - 1},
                 {HP_BASIC_BYTE, HP_OPERATION_USER_LEFTMOST, (1 << 20) + 7}};

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        hp_typemap_t *map = hp_typemap_create_basic(kinds[k].basic);
        hp_check_all(&(hp_case_t){.comm = MPI_COMM_WORLD,
                                  .map = map,
                                  .count = kinds[k].count,
                                  .root = (int)k % world_size(),
                                  .operation = kinds[k].operation,
                                  .salt = next_salt()});
        hp_typemap_free(map);
    }
    hp_typemap_t *strided = hp_typemap_create_nth(HP_BASIC_DOUBLE, 2);
    hp_check_all(&(hp_case_t){.comm = MPI_COMM_WORLD,
                              .map = strided,
                              .count = 1 << 14,
                              .root = world_size() - 1,
                              .operation = HP_OPERATION_USER_XOR,
                              .salt = next_salt()});
    hp_typemap_free(strided);
}

/* MPI_X_c, alone and together with MPI_X in one collective. */
static void group_counts_c(void)
{
    const int counts[] = {0, 1, 17, 4097};
    hp_typemap_t *map = hp_typemap_create_basic(HP_BASIC_INT64);

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (hp_call_t call = HP_CALL_COUNT; call <= HP_CALL_MIXED; call++)
            hp_check_all(&(hp_case_t){.comm = MPI_COMM_WORLD,
                                      .map = map,
                                      .count = counts[i],
                                      .root = -1,
                                      .call = call,
                                      .operation = HP_OPERATION_SUM,
                                      .salt = next_salt()});
    hp_typemap_free(map);
}

/* Datatypes made with large counts: some questions about them may only be asked with large counts. */
static void group_types_c(void)
{
#if MPI_VERSION >= 4
    enum { COUNT = 12 };
    MPI_Datatype types[2];
    CHECK_MPI(MPI_Type_contiguous_c(3, MPI_INT, &types[0]));
    CHECK_MPI(MPI_Type_vector_c(3, 1, 2, MPI_INT, &types[1]));
    for (int i = 0; i < 2; i++) {
        CHECK_MPI(MPI_Type_commit(&types[i]));
        int data[COUNT], rank = hp_comm_rank(MPI_COMM_WORLD), root = hp_comm_size(MPI_COMM_WORLD) - 1;
        for (int k = 0; k < COUNT; k++)
            data[k] = rank == root ? k : -1;
        CHECK_MPI(MPI_Bcast(data, 2, types[i], root, MPI_COMM_WORLD));
        for (int element = 0; element < 2; element++)
            for (int k = 0; k < 3; k++) {
                int at = i == 0 ? 3 * element + k : 5 * element + 2 * k; /* the vector's extent is 5 */
                CHECK_EQUAL(data[at], at, "Bcast of a type made with large counts");
            }
        CHECK_MPI(MPI_Type_free(&types[i]));
    }
#else
    hp_group_skip("this MPI has no large counts");
#endif
}

static const hp_group_t groups[] = {
    {"types_c", group_types_c},       {"counts", group_counts},         {"types", group_types},
    {"signatures", group_signatures}, {"operations", group_operations}, {"repeatable", group_repeatable},
    {"in_place", group_in_place},     {"large", group_large},           {"counts_c", group_counts_c},
    {"apart", group_apart},
};

int main(int argc, char **argv)
{
    hp_mpi_init(&argc, &argv);
    if (!hp_check_way(&argc, argv)) {
        CHECK_MPI(MPI_Finalize());
        return HP_SKIP;
    }
    hp_basics_init();
    hp_operations_init();
    int code = hp_groups_run(argc, argv, groups, sizeof groups / sizeof *groups);
    hp_operations_fini();
    hp_basics_fini();
    CHECK_MPI(MPI_Finalize());
    return code;
}
