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

static void check_basic(const hp_buffer_t *buffer, int64_t i, const void *expected, hp_operation_t operation,
                        const char *what)
{
    char got_text[96], expected_text[96];
    hp_basic_t basic = buffer->map->basic;
    CHECK(hp_basic_equal(basic, hp_buffer_at(buffer, i), expected),
          "%s: basic %" PRId64 " of %" PRId64 " x %s, %s: %s, expected %s", what, i, buffer->count,
          buffer->map->name, hp_operation_info(operation)->name,
          hp_basic_format(basic, hp_buffer_at(buffer, i), got_text, sizeof got_text),
          hp_basic_format(basic, expected, expected_text, sizeof expected_text));
}

void hp_check_values(const hp_buffer_t *buffer, hp_operation_t operation, uint64_t salt, int comm_rank,
                     const char *what)
{
    char expected[sizeof(hp_record_t)];
    for (int64_t i = 0; i < hp_buffer_basics(buffer); i++) {
        hp_basic_fill(buffer->map->basic, operation, HP_VALUES_SMALL,
                      hp_hash(salt, (uint64_t)comm_rank, (uint64_t)i), expected);
        check_basic(buffer, i, expected, operation, what);
    }
}

void hp_check_reduced(const hp_buffer_t *buffer, hp_operation_t operation, uint64_t salt, int comm_size,
                      const char *what)
{
    char expected[sizeof(hp_record_t)] = {0}, left[sizeof(hp_record_t)] = {0};
    hp_basic_t basic = buffer->map->basic;
    for (int64_t i = 0; i < hp_buffer_basics(buffer); i++) {
        for (int rank = comm_size - 1; rank >= 0; rank--) {
            uint64_t random = hp_hash(salt, (uint64_t)rank, (uint64_t)i);
            bool last = rank == comm_size - 1;
            hp_basic_fill(basic, operation, HP_VALUES_SMALL, random, last ? expected : left);
            if (!last)
                hp_basic_combine(basic, operation, left, expected);
        }
        check_basic(buffer, i, expected, operation, what);
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

void hp_check_bcast(const hp_case_t *test)
{
    int comm_rank = hp_comm_rank(test->comm);
    hp_buffer_t buffer;

    hp_buffer_init(&buffer, test->map, test->count);
    if (comm_rank == test->root)
        hp_buffer_fill(&buffer, HP_OPERATION_SUM, HP_VALUES_SMALL, test->salt, test->root);
    CHECK_MPI(
        CALL(Bcast, test, address_of(&buffer), (int)test->count, test->map->type, test->root, test->comm));
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
    CHECK_MPI(CALL(Reduce, test, in_place ? MPI_IN_PLACE : address_of(&send),
                   at_root ? address_of(&receive) : elsewhere, (int)test->count, test->map->type, op,
                   test->root, test->comm));
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
    CHECK_MPI(CALL(Allreduce, test, test->in_place ? MPI_IN_PLACE : address_of(&send), address_of(&receive),
                   (int)test->count, test->map->type, op, test->comm));
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
    int first = test->root < 0 ? 0 : test->root, last = test->root < 0 ? comm_size - 1 : test->root;

    for (one.root = first; one.root <= last; one.root++) {
        one.salt = hp_mix(one.salt);
        hp_check_bcast(&one);
        if (hp_lib_forced("reduce") || !hp_host_breaks_reduce(one.map, one.count, one.root, one.in_place))
            hp_check_reduce(&one);
    }
    one.salt = hp_mix(one.salt);
    if (hp_lib_forced("allreduce") || !hp_host_breaks_allreduce(one.map))
        hp_check_allreduce(&one);
}
