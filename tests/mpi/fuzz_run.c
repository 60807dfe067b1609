#include "fuzz_blocks.h"
#include "fuzz_known.h"
#include "host_bugs.h"

enum { PRISTINE_SEND, PRISTINE_RECEIVE, SEND, LIBRARY, NATIVE, BUFFERS };

struct hp_fuzz_run {
    hp_fuzz_case_t test;
    hp_fuzz_way_t way;
    bool started;
    hp_buffer_t buffer[BUFFERS];
    hp_fuzz_blocks_t *blocks; /* instead, of a collective of blocks */
    hp_typemap_t *own_map;    /* of a datatype that is freed while the call is in flight; else NULL */
    MPI_Op own_op;            /* likewise, else MPI_OP_NULL */
    MPI_Request request;
    int missing; /* Barrier: a rank that had not entered, -1 for none */
};

/* MPI_X or MPI_X_c. */
#if MPI_VERSION >= 4
#define CALL(name, test, ...) ((test)->count_form ? MPI_##name##_c(__VA_ARGS__) : MPI_##name(__VA_ARGS__))
#else
#define CALL(name, test, ...) MPI_##name(__VA_ARGS__)
#endif

/* One collective's three forms: MPI_X, MPI_IX, MPI_X_init. */
#if HP_HAS_PERSISTENT
#define CALL_WAY(name, nonblocking_name, way, request, test, ...)                                            \
    ((way) == HP_FUZZ_BLOCKING      ? CALL(name, test, __VA_ARGS__)                                          \
     : (way) == HP_FUZZ_NONBLOCKING ? CALL(nonblocking_name, test, __VA_ARGS__, request)                     \
                                    : CALL(name##_init, test, __VA_ARGS__, MPI_INFO_NULL, request))
#define BARRIER_WAY(way, comm, request)                                                                      \
    ((way) == HP_FUZZ_BLOCKING      ? MPI_Barrier(comm)                                                      \
     : (way) == HP_FUZZ_NONBLOCKING ? MPI_Ibarrier(comm, request)                                            \
                                    : MPI_Barrier_init(comm, MPI_INFO_NULL, request))
#else
#define CALL_WAY(name, nonblocking_name, way, request, test, ...)                                            \
    ((way) == HP_FUZZ_BLOCKING ? CALL(name, test, __VA_ARGS__)                                               \
                               : CALL(nonblocking_name, test, __VA_ARGS__, request))
#define BARRIER_WAY(way, comm, request)                                                                      \
    ((way) == HP_FUZZ_BLOCKING ? MPI_Barrier(comm) : MPI_Ibarrier(comm, request))
#endif

/* What this rank contributes or what it receives, whichever is more. */
static uint64_t bytes_of(const hp_fuzz_run_t *run)
{
    if (run->test.collective == HP_FUZZ_BARRIER)
        return 0;
    return run->blocks ? hp_fuzz_blocks_bytes(run->blocks) : hp_typemap_bytes(run->test.map, run->test.count);
}

/* send and receive: two buffers for the same map and count; Bcast uses receive only. */
static void call(hp_fuzz_run_t *run, MPI_Comm comm, hp_fuzz_way_t way, const hp_buffer_t *send,
                 const hp_buffer_t *receive)
{
    const hp_fuzz_case_t *test = &run->test;
    int count = (int)test->count;
    bool library = comm == test->pair->library;
    MPI_Op op = library && run->own_op != MPI_OP_NULL ? run->own_op : hp_operation_info(test->operation)->op;
    MPI_Datatype type = library && run->own_map ? run->own_map->type : test->map->type;
    void *from = send && test->count ? send->base : NULL;
    void *into = receive && test->count ? receive->base : NULL;
    bool at_root = test->pair->rank == test->root;
    void *reduced = test->null_elsewhere && !at_root ? NULL : into;

    hp_fuzz_known_call(test->collective, way, test->count_form, bytes_of(run));
    if (run->blocks) {
        char text[900];
        int code = hp_fuzz_blocks_call(run->blocks, comm, way, type, op, &run->request);
        CHECK(code == MPI_SUCCESS, "%s, on the side of the %s: %s",
              hp_fuzz_case_format(test, text, sizeof text), library ? "library" : "host",
              hp_error_text(code));
        return;
    }
    if (!reduced && !from && at_root && hp_host_refuses_null_reduce())
        reduced = &count;
    switch (test->collective) {
    case HP_FUZZ_BCAST:
        CHECK_MPI(CALL_WAY(Bcast, Ibcast, way, &run->request, test, into, count, type, test->root, comm));
        break;
    case HP_FUZZ_REDUCE:
        CHECK_MPI(CALL_WAY(Reduce, Ireduce, way, &run->request, test,
                           test->in_place && at_root ? MPI_IN_PLACE : from, reduced, count, type, op,
                           test->root, comm));
        break;
    case HP_FUZZ_BARRIER:
        CHECK_MPI(BARRIER_WAY(way, comm, &run->request));
        break;
    default:
        CHECK_MPI(CALL_WAY(Allreduce, Iallreduce, way, &run->request, test,
                           test->in_place ? MPI_IN_PLACE : from, into, count, type, op, comm));
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

bool hp_fuzz_values_agree(const hp_fuzz_case_t *test, hp_basic_t basic, int64_t index, const char *library,
                          const char *native)
{
    bool moves = test->collective == HP_FUZZ_BCAST ||
                 (hp_fuzz_is_blocks(test->collective) && !hp_fuzz_blocks_reduce(test->collective));

    if (hp_basic_same_bits(basic, library, native))
        return true;
    return !moves && hp_operation_closeness(test->operation, basic) != HP_EXACT &&
           hp_basic_distance(basic, library, native) <= tolerance(test, index, native);
}

static bool results_agree(const hp_fuzz_case_t *test, const hp_buffer_t *library, const hp_buffer_t *native,
                          char *difference, size_t difference_bytes)
{
    hp_basic_t basic = test->map->basic;
    hp_places_t our_places = hp_buffer_places(library), their_places = hp_buffer_places(native);
    char ours[96], theirs[96];

    if (memcmp(library->arena, native->arena, library->arena_bytes) == 0)
        return true;
    for (int64_t i = 0; i < hp_buffer_basics(library); i++) {
        const char *a = hp_places_next(&our_places), *b = hp_places_next(&their_places);
        if (hp_fuzz_values_agree(test, basic, i, a, b))
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

/* ---- a run ---- */

static bool has_buffers(const hp_fuzz_case_t *test)
{
    return test->map && test->collective != HP_FUZZ_BARRIER && !hp_fuzz_is_blocks(test->collective);
}

/* What the buffers hold before the call. */
static void fill(hp_fuzz_run_t *run)
{
    const hp_fuzz_case_t *test = &run->test;
    bool at_root = test->pair->rank == test->root;
    bool filled = test->collective == HP_FUZZ_BCAST
                      ? at_root
                      : test->in_place && (at_root || test->collective == HP_FUZZ_ALLREDUCE);

    hp_buffer_fill(&run->buffer[PRISTINE_SEND], test->operation, HP_VALUES_ANY, test->salt, test->pair->rank);
    if (filled)
        hp_buffer_copy(&run->buffer[PRISTINE_RECEIVE], &run->buffer[PRISTINE_SEND]);
    hp_buffer_copy(&run->buffer[SEND], &run->buffer[PRISTINE_SEND]);
    hp_buffer_copy(&run->buffer[LIBRARY], &run->buffer[PRISTINE_RECEIVE]);
    hp_buffer_copy(&run->buffer[NATIVE], &run->buffer[PRISTINE_RECEIVE]);
}

hp_fuzz_run_t *hp_fuzz_run_create(const hp_fuzz_case_t *test, hp_fuzz_way_t way, bool free_early)
{
    hp_fuzz_run_t *run = calloc(1, sizeof *run);
    bool early = free_early && way == HP_FUZZ_NONBLOCKING, blocks = hp_fuzz_is_blocks(test->collective);
    bool reduces = blocks ? hp_fuzz_blocks_reduce(test->collective) : test->collective != HP_FUZZ_BCAST;

    CHECK(run, "out of memory");
    run->test = *test;
    run->way = way;
    run->own_op = MPI_OP_NULL;
    run->request = MPI_REQUEST_NULL;
    run->missing = -1;
    if (!test->map || test->collective == HP_FUZZ_BARRIER)
        return run;
    if (blocks) {
        run->blocks = hp_fuzz_blocks_create(test, early);
    } else {
        for (int i = 0; i < BUFFERS; i++)
            hp_buffer_init(&run->buffer[i], test->map, test->count);
        fill(run);
    }
    if (early && test->map->owned && (reduces || !blocks))
        run->own_map = hp_typemap_dup(test->map);
    if (early && reduces && hp_operation_info(test->operation)->user)
        run->own_op = hp_operation_create(test->operation);
    return run;
}

void hp_fuzz_run_free(hp_fuzz_run_t *run)
{
    if (run->way == HP_FUZZ_PERSISTENT && run->request != MPI_REQUEST_NULL)
        CHECK_MPI(MPI_Request_free(&run->request));
    for (int i = 0; i < BUFFERS && has_buffers(&run->test); i++)
        hp_buffer_fini(&run->buffer[i]);
    if (run->blocks)
        hp_fuzz_blocks_free(run->blocks);
    if (run->own_map)
        hp_typemap_free(run->own_map);
    free(run);
}

MPI_Request *hp_fuzz_run_request(hp_fuzz_run_t *run)
{
    return &run->request;
}

bool hp_fuzz_run_is_persistent(const hp_fuzz_run_t *run)
{
    return run->way == HP_FUZZ_PERSISTENT;
}

void hp_fuzz_run_start(hp_fuzz_run_t *run)
{
    const hp_fuzz_case_t *test = &run->test;

    if (!test->map)
        return;
    if (test->collective == HP_FUZZ_BARRIER) { /* one rank comes late, often enough */
        if (test->pair->rank == (int)(test->salt % (2 * (unsigned)test->pair->size)))
            hp_spin_us((double)(test->salt >> 32 & 255));
        hp_entered_publish(test->number);
    }
    if (!run->started)
        call(run, test->pair->library, run->way, &run->buffer[SEND], &run->buffer[LIBRARY]);
    if (run->way == HP_FUZZ_PERSISTENT) {
        CHECK_MPI(MPI_Start(&run->request));
        hp_fuzz_known_start(bytes_of(run));
    }
    run->started = true;
    if (run->blocks)
        hp_fuzz_blocks_free_types(run->blocks);
    if (run->own_map)
        hp_typemap_free_type(run->own_map);
    if (run->own_op != MPI_OP_NULL)
        CHECK_MPI(MPI_Op_free(&run->own_op));
    if (run->way == HP_FUZZ_BLOCKING)
        hp_fuzz_run_complete(run);
}

void hp_fuzz_run_complete(hp_fuzz_run_t *run)
{
    if (run->way == HP_FUZZ_NONBLOCKING)
        CHECK(run->request == MPI_REQUEST_NULL, "a request is not MPI_REQUEST_NULL after its completion");
    if (run->way == HP_FUZZ_PERSISTENT)
        CHECK(run->request != MPI_REQUEST_NULL, "a persistent request went with its completion");
    if (run->test.collective == HP_FUZZ_BARRIER)
        run->missing = hp_entered_missing(run->test.pair, run->test.number);
}

void hp_fuzz_run_renew(hp_fuzz_run_t *run, uint64_t number)
{
    run->test.number = number;
    run->test.salt = hp_mix(run->test.salt);
    if (run->blocks)
        hp_fuzz_blocks_renew(run->blocks, run->test.salt);
    if (has_buffers(&run->test)) {
        /* what is not filled anew holds the pattern again, as it did at first */
        hp_buffer_reset(&run->buffer[PRISTINE_RECEIVE]);
        fill(run);
    }
}

bool hp_fuzz_run_check(hp_fuzz_run_t *run, char *difference, size_t difference_bytes)
{
    const hp_fuzz_case_t *test = &run->test;
    hp_buffer_t *buffer = run->buffer;
    bool agree = true;

    if (!test->map)
        return true;
    if (test->collective == HP_FUZZ_BARRIER) {
        if (run->missing >= 0)
            snprintf(difference, difference_bytes, "came back before comm rank %d had entered", run->missing);
        call(run, test->pair->native, HP_FUZZ_BLOCKING, NULL, NULL);
        return run->missing < 0;
    }
    if (run->blocks) {
        call(run, test->pair->native, HP_FUZZ_BLOCKING, NULL, NULL);
        return hp_fuzz_blocks_check(run->blocks, difference, difference_bytes);
    }
    if (memcmp(buffer[SEND].arena, buffer[PRISTINE_SEND].arena, buffer[SEND].arena_bytes) != 0) {
        snprintf(difference, difference_bytes, "the send buffer was changed");
        agree = false;
    }
    call(run, test->pair->native, HP_FUZZ_BLOCKING, &buffer[SEND], &buffer[NATIVE]);
    bool significant = test->collective != HP_FUZZ_REDUCE || test->pair->rank == test->root;
    if (agree && significant)
        agree = results_agree(test, &buffer[LIBRARY], &buffer[NATIVE], difference, difference_bytes);
    else if (agree && memcmp(buffer[LIBRARY].arena, buffer[PRISTINE_RECEIVE].arena,
                             buffer[LIBRARY].arena_bytes) != 0) {
        snprintf(difference, difference_bytes,
                 "the receive buffer of a rank that is not the root was changed");
        agree = false;
    }
    return agree;
}

bool hp_fuzz_case_run(const hp_fuzz_case_t *test, char *difference, size_t difference_bytes)
{
    hp_fuzz_run_t *run = hp_fuzz_run_create(test, HP_FUZZ_BLOCKING, false);
    hp_fuzz_run_start(run);
    bool agree = hp_fuzz_run_check(run, difference, difference_bytes);
    hp_fuzz_run_free(run);
    return agree;
}
