#include "checked.h"

#include "host_bugs.h"

#if MPI_VERSION >= 4
#define CALL(name, test, ...) (use_count(test) ? MPI_##name##_c(__VA_ARGS__) : MPI_##name(__VA_ARGS__))
static bool use_count(const hp_case_t *test)
{
    return test->call == HP_CALL_COUNT || (test->call == HP_CALL_MIXED && hp_comm_rank(test->comm) % 2 == 1);
}
#else
#define CALL(name, test, ...) MPI_##name(__VA_ARGS__)
#endif

#if HP_HAS_PERSISTENT
#define CALL_INIT(name, request, test, ...) CALL(name##_init, test, __VA_ARGS__, MPI_INFO_NULL, request)
#else
#define CALL_INIT(name, request, test, ...) (*(request) = MPI_REQUEST_NULL, MPI_ERR_OTHER)
#endif

/* The call in the way of the case, to its completion. */
#define CALL_WAY(name, nonblocking_name, test, ...)                                                          \
    do {                                                                                                     \
        MPI_Request request_ = MPI_REQUEST_NULL;                                                             \
        hp_way_t way_ = way_of(test);                                                                        \
        if (way_ == HP_WAY_BLOCKING)                                                                         \
            CHECK_MPI(CALL(name, test, __VA_ARGS__));                                                        \
        else if (way_ == HP_WAY_PERSISTENT)                                                                  \
            CHECK_MPI(CALL_INIT(name, &request_, test, __VA_ARGS__));                                        \
        else                                                                                                 \
            CHECK_MPI(CALL(nonblocking_name, test, __VA_ARGS__, &request_));                                 \
        complete(way_, &request_);                                                                           \
    } while (0)

static hp_way_t default_way = HP_WAY_BLOCKING;

bool hp_check_way(int *argc, char **argv)
{
    static const char *const words[] = {"", "blocking", "wait", "test", "persistent"};

    if (*argc < 3 || strcmp(argv[1], "--way") != 0)
        return true;
    for (default_way = HP_WAY_BLOCKING; default_way < HP_WAY_PERSISTENT; default_way++)
        if (strcmp(argv[2], words[default_way]) == 0)
            break;
    CHECK(strcmp(argv[2], words[default_way]) == 0, "there is no way named %s", argv[2]);
    *argc -= 2;
    memmove(argv + 1, argv + 3, (size_t)*argc * sizeof *argv); /* with the NULL behind the last */
    return default_way != HP_WAY_PERSISTENT || HP_HAS_PERSISTENT;
}

static hp_way_t way_of(const hp_case_t *test)
{
    return test->way == HP_WAY_DEFAULT ? default_way : test->way;
}

static void complete(hp_way_t way, MPI_Request *request)
{
    int done = 0;

    if (way == HP_WAY_BLOCKING)
        return;
    if (way == HP_WAY_PERSISTENT)
        CHECK_MPI(MPI_Start(request));
    if (way != HP_WAY_TEST)
        CHECK_MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
    while (way == HP_WAY_TEST && !done)
        CHECK_MPI(MPI_Test(request, &done, MPI_STATUS_IGNORE));
    if (way == HP_WAY_PERSISTENT)
        CHECK_MPI(MPI_Request_free(request));
    CHECK(*request == MPI_REQUEST_NULL, "a request is not MPI_REQUEST_NULL at its end");
}

enum { ROW = 256 }; /* so many basics are expected, then compared */

typedef struct {
    char bytes[ROW * sizeof(hp_record_t)];
} row_t;

static void check_basic(const hp_buffer_t *buffer, int64_t i, const void *got, const void *expected,
                        hp_operation_t operation, const char *what)
{
    char got_text[96], expected_text[96];
    hp_basic_t basic = buffer->map->basic;
    CHECK(hp_basic_equal(basic, got, expected),
          "%s: basic %" PRId64 " of %" PRId64 " x %s, %s: %s, expected %s", what, i, buffer->count,
          buffer->map->name, hp_operation_info(operation)->name,
          hp_basic_format(basic, got, got_text, sizeof got_text),
          hp_basic_format(basic, expected, expected_text, sizeof expected_text));
}

static void check_row(const hp_buffer_t *buffer, int64_t first, int64_t count, const row_t *expected,
                      hp_operation_t operation, const char *what)
{
    const hp_typemap_t *map = buffer->map;
    const hp_basic_info_t *info = hp_basic_info(map->basic);
    hp_places_t places = {.map = map,
                          .element = buffer->base + first / map->basics * map->extent,
                          .basic = (int)(first % map->basics)};

    if (map->is_row && info->pieces == 1 &&
        memcmp(hp_buffer_at(buffer, first), expected->bytes, (size_t)count * info->bytes) == 0)
        return;
    for (int64_t k = 0; k < count; k++)
        check_basic(buffer, first + k, hp_places_next(&places), expected->bytes + (size_t)k * info->bytes,
                    operation, what);
}

static int64_t row_length(const hp_buffer_t *buffer, int64_t first)
{
    const int64_t left = hp_buffer_basics(buffer) - first;
    return left < ROW ? left : ROW;
}

void hp_check_values(const hp_buffer_t *buffer, hp_operation_t operation, uint64_t salt, int comm_rank,
                     const char *what)
{
    row_t expected;
    for (int64_t i = 0; i < hp_buffer_basics(buffer); i += ROW) {
        const int64_t count = row_length(buffer, i);
        hp_basic_fill_row(buffer->map->basic, operation, HP_VALUES_SMALL, salt, comm_rank, i, count,
                          expected.bytes);
        check_row(buffer, i, count, &expected, operation, what);
    }
}

void hp_check_reduced(const hp_buffer_t *buffer, hp_operation_t operation, uint64_t salt, int comm_size,
                      const char *what)
{
    row_t expected = {{0}}, left = {{0}};
    hp_basic_t basic = buffer->map->basic;
    for (int64_t i = 0; i < hp_buffer_basics(buffer); i += ROW) {
        const int64_t count = row_length(buffer, i);
        for (int rank = comm_size - 1; rank >= 0; rank--) {
            bool last = rank == comm_size - 1;
            hp_basic_fill_row(basic, operation, HP_VALUES_SMALL, salt, rank, i, count,
                              last ? expected.bytes : left.bytes);
            if (!last)
                hp_basic_combine_row(basic, operation, left.bytes, expected.bytes, count,
                                     (ptrdiff_t)hp_basic_info(basic)->bytes);
        }
        check_row(buffer, i, count, &expected, operation, what);
    }
}

void hp_check_guards(const hp_buffer_t *buffer, const char *what)
{
    int64_t stray = hp_buffer_find_stray(buffer);
    CHECK(stray < 0, "%s: %" PRId64 " x %s: byte %td from the buffer's origin was overwritten", what,
          buffer->count, buffer->map->name, (char *)buffer->arena + stray - buffer->base);
}

/* An empty buffer is a NULL buffer: nobody may look at it. */
static void *address_of(const hp_buffer_t *buffer)
{
    return buffer->count ? buffer->base : NULL;
}

void hp_way_bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    const hp_case_t plain = {.comm = comm};
    CALL_WAY(Bcast, Ibcast, &plain, data, count, type, root, comm);
}

void hp_check_bcast(const hp_case_t *test)
{
    int comm_rank = hp_comm_rank(test->comm);
    hp_buffer_t buffer;

    hp_buffer_init(&buffer, test->map, test->count);
    if (comm_rank == test->root)
        hp_buffer_fill(&buffer, HP_OPERATION_SUM, HP_VALUES_SMALL, test->salt, test->root);
    CALL_WAY(Bcast, Ibcast, test, address_of(&buffer), (int)test->count, test->map->type, test->root,
             test->comm);
    hp_check_values(&buffer, HP_OPERATION_SUM, test->salt, test->root, "Bcast");
    hp_check_guards(&buffer, "Bcast");
    hp_buffer_fini(&buffer);
}

void hp_check_reduce(const hp_case_t *test)
{
    int comm_rank = hp_comm_rank(test->comm), comm_size = hp_comm_size(test->comm);
    bool at_root = comm_rank == test->root, in_place = test->in_place && at_root;
    MPI_Op op = hp_operation_info(test->operation)->op;
    hp_buffer_t send, receive;

    hp_buffer_init(&send, test->map, test->count);
    hp_buffer_init(&receive, test->map, test->count);
    hp_buffer_fill(in_place ? &receive : &send, test->operation, HP_VALUES_SMALL, test->salt, comm_rank);
    /* Not significant elsewhere: NULL on one rank, an address that nobody may touch on the next. */
    void *elsewhere = comm_rank % 2 ? (void *)(uintptr_t)64 : NULL;
    CALL_WAY(Reduce, Ireduce, test, in_place ? MPI_IN_PLACE : address_of(&send),
             at_root ? address_of(&receive) : elsewhere, (int)test->count, test->map->type, op, test->root,
             test->comm);
    if (at_root)
        hp_check_reduced(&receive, test->operation, test->salt, comm_size, "Reduce");
    hp_check_guards(&receive, "Reduce, receive buffer");
    if (!in_place) {
        hp_check_values(&send, test->operation, test->salt, comm_rank, "Reduce, send buffer");
        hp_check_guards(&send, "Reduce, send buffer");
    }
    hp_buffer_fini(&send);
    hp_buffer_fini(&receive);
}

void hp_check_allreduce(const hp_case_t *test)
{
    int comm_rank = hp_comm_rank(test->comm), comm_size = hp_comm_size(test->comm);
    MPI_Op op = hp_operation_info(test->operation)->op;
    hp_buffer_t send, receive;

    hp_buffer_init(&send, test->map, test->count);
    hp_buffer_init(&receive, test->map, test->count);
    hp_buffer_fill(test->in_place ? &receive : &send, test->operation, HP_VALUES_SMALL, test->salt,
                   comm_rank);
    CALL_WAY(Allreduce, Iallreduce, test, test->in_place ? MPI_IN_PLACE : address_of(&send),
             address_of(&receive), (int)test->count, test->map->type, op, test->comm);
    hp_check_reduced(&receive, test->operation, test->salt, comm_size, "Allreduce");
    hp_check_guards(&receive, "Allreduce, receive buffer");
    if (!test->in_place) {
        hp_check_values(&send, test->operation, test->salt, comm_rank, "Allreduce, send buffer");
        hp_check_guards(&send, "Allreduce, send buffer");
    }
    hp_buffer_fini(&send);
    hp_buffer_fini(&receive);
}

void hp_check_all(const hp_case_t *test)
{
    int comm_size = hp_comm_size(test->comm);
    hp_case_t one = *test;
    int first = test->root, last = test->root;
    if (test->root < 0 && test->count > HP_COUNT_OF_ALL_ROOTS) {
        first = last = (int)(hp_mix(test->salt) % (uint64_t)comm_size);
    } else if (test->root < 0) {
        first = 0;
        last = comm_size - 1;
    }

    hp_way_t way = way_of(test);
    /* Reductions in flight with an operation or a datatype of the program's are the host's, whatever is forced:
     * the program may free them. So are persistent ones. */
    bool taken = way == HP_WAY_BLOCKING ||
                 (way != HP_WAY_PERSISTENT && !test->map->owned && !hp_operation_info(test->operation)->user);

    if (way != HP_WAY_BLOCKING)
        CHECK_MPI(MPI_Barrier(test->comm));
    for (one.root = first; one.root <= last; one.root++) {
        one.salt = hp_mix(one.salt);
        hp_check_bcast(&one);
        bool broken = hp_host_breaks_reduce(one.map, one.count, one.root, one.in_place) ||
                      (way != HP_WAY_BLOCKING && hp_host_breaks_ireduce(one.map));
        if ((taken && hp_lib_forced("reduce")) || !broken)
            hp_check_reduce(&one);
    }
    one.salt = hp_mix(one.salt);
    if ((taken && hp_lib_forced("allreduce")) || !hp_host_breaks_allreduce(one.map))
        hp_check_allreduce(&one);
}
