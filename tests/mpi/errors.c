/* errors: a wrong call reports as the host MPI would, through the user's error handler, with the user's
 * communicator (pitfall 18). Every wrong call is made twice: on a communicator that the library works on, and
 * on a twin where it stands aside; both must give the same error class.
 *
 * usage: errors [--thread-multiple] GROUP... ; the groups are in the table below. */
#include "groups.h"

typedef enum { BCAST, REDUCE, ALLREDUCE, COLLECTIVES } collective_t;
static const char *const names[COLLECTIVES] = {"Bcast", "Reduce", "Allreduce"};

typedef struct {
    const char *what;
    unsigned collectives; /* bit mask */
    int count, root;
    MPI_Datatype type;
    MPI_Op op;
} wrong_t;

enum { ALL = 7, ROOTED = 3, REDUCING = 6 };
/* MPICH 4.0 looks at the count of a Bcast only; a negative one crashes its Reduce. */
#ifdef MPICH_NUMVERSION
enum { COUNTED = 1 << BCAST };
#else
enum { COUNTED = ALL };
#endif

/* Whether the calls are MPI_IX: an error is one of the call itself, or of MPI_Wait. */
static bool nonblocking;

static int start(collective_t collective, const wrong_t *wrong, MPI_Comm comm)
{
    static int send[64], receive[64];
    MPI_Request request = MPI_REQUEST_NULL;
    int code;

    switch (collective) {
    case BCAST:
        code = MPI_Ibcast(send, wrong->count, wrong->type, wrong->root, comm, &request);
        break;
    case REDUCE:
        code = MPI_Ireduce(send, receive, wrong->count, wrong->type, wrong->op, wrong->root, comm, &request);
        break;
    default:
        code = MPI_Iallreduce(send, receive, wrong->count, wrong->type, wrong->op, comm, &request);
        break;
    }
    return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

static int call(collective_t collective, const wrong_t *wrong, MPI_Comm comm)
{
    int send[64] = {0}, receive[64] = {0};

    if (nonblocking)
        return start(collective, wrong, comm);
    switch (collective) {
    case BCAST:
        return MPI_Bcast(send, wrong->count, wrong->type, wrong->root, comm);
    case REDUCE:
        return MPI_Reduce(send, receive, wrong->count, wrong->type, wrong->op, wrong->root, comm);
    default:
        return MPI_Allreduce(send, receive, wrong->count, wrong->type, wrong->op, comm);
    }
}

static void check_works(MPI_Comm comm)
{
    int one = 1, sum = 0;
    CHECK_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQUAL(sum, hp_comm_size(comm), "Allreduce after an error");
    CHECK_MPI(MPI_Bcast(&sum, 1, MPI_INT, 0, comm));
    CHECK_MPI(MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, comm));
}

static int wrong_calls(const wrong_t **table)
{
    static wrong_t wrong[16];
    int size = hp_comm_size(MPI_COMM_WORLD), n = 0;
    wrong[n++] = (wrong_t){"root = size", ROOTED, 1, size, MPI_INT, MPI_SUM};
    wrong[n++] = (wrong_t){"root = -7", ROOTED, 1, -7, MPI_INT, MPI_SUM};
    wrong[n++] = (wrong_t){"count = -1", COUNTED, -1, 0, MPI_INT, MPI_SUM};
    wrong[n++] = (wrong_t){"MPI_DATATYPE_NULL", ALL, 1, 0, MPI_DATATYPE_NULL, MPI_SUM};
    wrong[n++] = (wrong_t){"MPI_OP_NULL", REDUCING, 1, 0, MPI_INT, MPI_OP_NULL};
    wrong[n++] = (wrong_t){"MPI_BAND of doubles", REDUCING, 1, 0, MPI_DOUBLE, MPI_BAND};
    wrong[n++] = (wrong_t){"MPI_MAXLOC of integers", REDUCING, 1, 0, MPI_INT, MPI_MAXLOC};
    *table = wrong;
    return n;
}

static void compare_wrong_calls(MPI_Comm library, MPI_Comm native)
{
    const wrong_t *wrong;
    int count = wrong_calls(&wrong);
    for (int i = 0; i < count; i++)
        for (collective_t collective = BCAST; collective < COLLECTIVES; collective++) {
            if (!(wrong[i].collectives >> collective & 1))
                continue;
            int native_class = hp_error_class(call(collective, &wrong[i], native));
            int library_class = hp_error_class(call(collective, &wrong[i], library));
            CHECK(native_class != MPI_SUCCESS, "%s with %s is no error here", names[collective],
                  wrong[i].what);
            CHECK(library_class == native_class, "%s with %s: class %d, native %d", names[collective],
                  wrong[i].what, library_class, native_class);
        }
}

/* On a communicator that is new to the library, and on one that it has set up. */
static void group_arguments(void)
{
    MPI_Comm library = hp_comm_dup_returning(MPI_COMM_WORLD, false), native = hp_comm_dup_returning(MPI_COMM_WORLD, true);
    compare_wrong_calls(library, native);
    for (int i = 0; i < 5; i++)
        check_works(library);
    compare_wrong_calls(library, native);
    check_works(library);
    check_works(native);
    CHECK_MPI(MPI_Comm_free(&library));
    CHECK_MPI(MPI_Comm_free(&native));
}

/* A datatype that was never committed. MPI has no call that tells, but the hosts report it. */
static void group_uncommitted(void)
{
    MPI_Comm library = hp_comm_dup_returning(MPI_COMM_WORLD, false), native = hp_comm_dup_returning(MPI_COMM_WORLD, true);
    wrong_t wrong = {"uncommitted datatype", 1 << BCAST, 1, 0, MPI_DATATYPE_NULL, MPI_SUM};
    CHECK_MPI(MPI_Type_contiguous(2, MPI_INT, &wrong.type));
    for (int i = 0; i < 5; i++)
        check_works(library);
    int native_class = hp_error_class(call(BCAST, &wrong, native));
    CHECK_EQUAL(native_class, MPI_ERR_TYPE, wrong.what);
    CHECK_EQUAL(hp_error_class(call(BCAST, &wrong, library)), native_class, wrong.what);
    CHECK_MPI(MPI_Type_free(&wrong.type));
    CHECK_MPI(MPI_Comm_free(&library));
    CHECK_MPI(MPI_Comm_free(&native));
}

/* MPI_COMM_NULL: the error goes to MPI_COMM_WORLD's handler. */
static void group_comm_null(void)
{
    const wrong_t right = {"MPI_COMM_NULL", ALL, 1, 0, MPI_INT, MPI_SUM};
    check_works(MPI_COMM_WORLD);
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    for (collective_t collective = BCAST; collective < COLLECTIVES; collective++)
        CHECK_EQUAL(hp_error_class(call(collective, &right, MPI_COMM_NULL)), MPI_ERR_COMM, names[collective]);
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    check_works(MPI_COMM_WORLD);
}

static MPI_Comm seen_comm;
static int seen_class, seen_calls;

static void remember(MPI_Comm *comm, int *code, ...)
{
    seen_comm = *comm;
    seen_class = hp_error_class(*code);
    seen_calls++;
}

/* A user's handler is called once, with the user's communicator and not with a private duplicate of it. */
static void group_handler(void)
{
    MPI_Comm comm, native = hp_comm_dup_returning(MPI_COMM_WORLD, true);
    MPI_Errhandler handler;
    const wrong_t *wrong;
    int count = wrong_calls(&wrong);

    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int i = 0; i < 5; i++)
        check_works(comm);
    CHECK_MPI(MPI_Comm_create_errhandler(remember, &handler));
    CHECK_MPI(MPI_Comm_set_errhandler(comm, handler));
    for (int i = 0; i < count; i++)
        for (collective_t collective = BCAST; collective < COLLECTIVES; collective++) {
            if (!(wrong[i].collectives >> collective & 1))
                continue;
            int native_class = hp_error_class(call(collective, &wrong[i], native));
            seen_comm = MPI_COMM_NULL;
            seen_calls = 0;
            CHECK_EQUAL(hp_error_class(call(collective, &wrong[i], comm)), native_class, wrong[i].what);
            CHECK_EQUAL(seen_calls, 1, "calls of the error handler");
            CHECK_EQUAL(seen_class, native_class, "error class in the handler");
            CHECK(seen_comm == comm, "the handler was called with another communicator");
        }
    CHECK_MPI(MPI_Errhandler_free(&handler));
    CHECK_MPI(MPI_Comm_free(&comm));
    CHECK_MPI(MPI_Comm_free(&native));
}

/* Two ranks that disagree about the count: the receiver has room for less than what comes. */
static int disagree(collective_t collective, MPI_Comm comm, int receiver)
{
    wrong_t count = {
        .type = MPI_INT, .op = MPI_SUM, .count = hp_comm_rank(comm) == receiver ? 4 : 8, .root = 0};
    return hp_error_class(call(collective, &count, comm));
}

/* A truncated message is reported where, and as what, the host reports it; a user's handler sees the user's
 * communicator. A communicator is not used again after that: MPI does not say what state it is in. */
static void truncation(void)
{
    MPI_Comm pair;
    int rank = hp_comm_rank(MPI_COMM_WORLD);
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair));
    if (hp_comm_size(MPI_COMM_WORLD) < 2) {
        CHECK_MPI(MPI_Comm_free(&pair));
        hp_group_skip("needs 2 ranks");
        return;
    }
    if (hp_comm_size(pair) == 2)
        for (collective_t collective = BCAST; collective <= REDUCE; collective++) {
            MPI_Comm library = hp_comm_dup_returning(pair, false), native = hp_comm_dup_returning(pair, true);
            int receiver = collective == BCAST ? 1 : 0;
            for (int i = 0; i < 5; i++)
                check_works(library);
            int native_class = disagree(collective, native, receiver);
            int library_class = disagree(collective, library, receiver);
            CHECK(library_class == native_class, "%s: class %d, native %d", names[collective], library_class,
                  native_class);
            if (hp_comm_rank(pair) == receiver)
                CHECK_EQUAL(library_class, MPI_ERR_TRUNCATE, names[collective]);

            MPI_Comm handled = hp_comm_dup_returning(pair, false);
            MPI_Errhandler handler;
            for (int i = 0; i < 5; i++)
                check_works(handled);
            CHECK_MPI(MPI_Comm_create_errhandler(remember, &handler));
            CHECK_MPI(MPI_Comm_set_errhandler(handled, handler));
            seen_calls = 0;
            seen_comm = MPI_COMM_NULL;
            disagree(collective, handled, receiver);
            if (hp_comm_rank(pair) == receiver) {
                CHECK(seen_comm == handled,
                      "the handler was called with another communicator, or not at all");
                CHECK_EQUAL(seen_class, MPI_ERR_TRUNCATE, "error class in the handler");
            }
            CHECK_MPI(MPI_Errhandler_free(&handler));
            CHECK_MPI(MPI_Comm_free(&handled));
            CHECK_MPI(MPI_Comm_free(&library));
            CHECK_MPI(MPI_Comm_free(&native));
        }
    CHECK_MPI(MPI_Comm_free(&pair));
    check_works(MPI_COMM_WORLD);
}

/* The program's handler is on the communicator alone; MPI_COMM_WORLD keeps MPI_ERRORS_ARE_FATAL. */
static void group_truncation_own(void)
{
    truncation();
}

/* The program has told MPI_COMM_WORLD to return errors, too, as most programs that look at errors do. */
static void group_truncation(void)
{
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    truncation();
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

/* In the form that is wanted. Returns the error class. */
static int cut_call(collective_t collective, int count, int *send, int *receive, MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int code;

    switch (collective) {
    case BCAST:
        code = nonblocking ? MPI_Ibcast(receive, count, MPI_INT, 0, comm, &request)
                           : MPI_Bcast(receive, count, MPI_INT, 0, comm);
        break;
    case REDUCE:
        code = nonblocking ? MPI_Ireduce(send, receive, count, MPI_INT, MPI_SUM, 0, comm, &request)
                           : MPI_Reduce(send, receive, count, MPI_INT, MPI_SUM, 0, comm);
        break;
    default:
        code = nonblocking ? MPI_Iallreduce(send, receive, count, MPI_INT, MPI_SUM, comm, &request)
                           : MPI_Allreduce(send, receive, count, MPI_INT, MPI_SUM, comm);
        break;
    }
    return hp_error_class(code == MPI_SUCCESS && nonblocking ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code);
}

enum { GUARD_INTS = 64 };

/* A collective in which rank `shorter` has room for less than the others send. */
static void cut_one(collective_t collective, int shorter, int few, int many, MPI_Comm comm)
{
    const int rank = hp_comm_rank(comm), count = rank == shorter ? few : many;
    int *send = malloc(sizeof *send * (size_t)(count + GUARD_INTS)),
        *receive = malloc(sizeof *receive * (size_t)(count + GUARD_INTS));

    for (int i = 0; i < count + GUARD_INTS; i++) {
        send[i] = i;
        receive[i] = collective == BCAST && rank == 0 ? i : -7;
    }
    const int class = cut_call(collective, count, send, receive, comm);
    if (rank == shorter)
        CHECK(class == MPI_ERR_TRUNCATE, "%s, %d of %d: class %d", names[collective], few, many, class);
    else if (collective != ALLREDUCE) /* there each gets what it is sent */
        CHECK(class == MPI_SUCCESS, "%s, %d of %d, on another rank: class %d", names[collective], few, many,
              class);
    for (int i = 0; collective == BCAST && rank == shorter && i < count; i++)
        CHECK_EQUAL(receive[i], i, "what there is room for");
    for (int i = count; i < count + GUARD_INTS; i++)
        CHECK(receive[i] == (collective == BCAST && rank == 0 ? i : -7), "%s wrote behind the buffer",
              names[collective]);
    free(send);
    free(receive);
}

/* One rank of a node has room for less than comes: it is told, nobody waits for it, and what follows works. Short messages,
 * and such as have the same number of segments, or fewer there. */
static void group_lengths(void)
{
    static const int counts[][2] = {{4, 8}, {1100, 1500}, {20000, 30000}, {300000, 500000}};
    MPI_Comm comm = hp_comm_dup_returning(MPI_COMM_WORLD, false);

    CHECK_MPI(
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)); /* a request's may be reported there */
    for (int i = 0; i < 5; i++)
        check_works(comm);
    for (int form = 0; form < 2; form++) {
        nonblocking = form == 1;
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            for (int shorter = 0; shorter < hp_comm_size(comm); shorter++)
                for (collective_t collective = BCAST; collective < COLLECTIVES; collective++) {
                    if (collective != ALLREDUCE && (collective == REDUCE) != (shorter == 0))
                        continue;
                    cut_one(collective, shorter, counts[i][0], counts[i][1], comm);
                    check_works(comm);
                }
    }
    nonblocking = false;
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    CHECK_MPI(MPI_Comm_free(&comm));
}

static MPI_Comm pair_of_ranks;
static MPI_Request started_in_handler;

/* What a program may do in its handler, as long as it does not wait: MPI calls it from a call of the program's own. */
static void start_a_collective(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    seen_class = hp_error_class(*code);
    if (seen_calls++ == 0)
        MPI_Ibarrier(pair_of_ranks, &started_in_handler);
}

/* As disagree, by a request. Returns the error class. */
static int disagree_later(MPI_Comm comm, bool persistent)
{
    int buffer[8] = {0}, code;
    const int count = hp_comm_rank(comm) == 1 ? 4 : 8;
    MPI_Request request = MPI_REQUEST_NULL;

#if HP_HAS_PERSISTENT
    if (persistent) {
        MPI_Bcast_init(buffer, count, MPI_INT, 0, comm, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
        return hp_error_class(code);
    }
#else
    (void)persistent;
#endif
    MPI_Ibcast(buffer, count, MPI_INT, 0, comm, &request);
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    return hp_error_class(code);
}

/* A handler that starts a collective, which the other rank starts, too, when its own part is done. */
static void group_handler_starts(void)
{
    const int rank = hp_comm_rank(MPI_COMM_WORLD);
    MPI_Errhandler handler;

    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair_of_ranks));
    CHECK_MPI(MPI_Comm_create_errhandler(start_a_collective, &handler));
    for (int persistent = 0; persistent <= HP_HAS_PERSISTENT && hp_comm_size(pair_of_ranks) == 2;
         persistent++) {
        MPI_Comm handled;
        CHECK_MPI(MPI_Comm_dup(pair_of_ranks, &handled));
        for (int i = 0; i < 5; i++) {
            check_works(pair_of_ranks);
            check_works(handled);
        }
        CHECK_MPI(MPI_Comm_set_errhandler(handled, handler));
        started_in_handler = MPI_REQUEST_NULL;
        seen_calls = 0;
        disagree_later(handled, persistent);
        if (hp_comm_rank(pair_of_ranks) == 1)
            CHECK(seen_calls > 0 && seen_class == MPI_ERR_TRUNCATE,
                  "persistent %d: %d calls of the handler, class %d", persistent, seen_calls, seen_class);
        if (seen_calls == 0)
            MPI_Ibarrier(pair_of_ranks, &started_in_handler);
        CHECK_MPI(MPI_Wait(&started_in_handler, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_Comm_free(&handled));
    }
    CHECK_MPI(MPI_Errhandler_free(&handler));
    CHECK_MPI(MPI_Comm_free(&pair_of_ranks));
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

static void group_nonblocking(void)
{
    nonblocking = true;
    group_arguments();
    group_uncommitted();
    group_handler();
    group_comm_null();
    nonblocking = false;
}

/* ---- collectives of blocks, and scans ---- */

/* What is wrong with a call; the hosts look at all of these in each of the collectives that have it. */
typedef enum { ROOT, COUNT, SEND_TYPE, RECEIVE_TYPE, OPERATION, OPERATION_OF_TYPE, MISTAKES } mistake_t;
static const char *const mistake_names[MISTAKES] = {
    "root = size", "count = -1",         "a send type that is null", "a receive type that is null",
    "MPI_OP_NULL", "MPI_BAND of doubles"};

/* For whom: everybody, or the root alone, which then has nobody to wait for if it is the only rank. */
enum {
    MOVES = 1 << COUNT | 1 << SEND_TYPE | 1 << RECEIVE_TYPE,
    GATHERS = 1 << COUNT | 1 << SEND_TYPE | 1 << ROOT,
    SCATTERS = 1 << COUNT | 1 << RECEIVE_TYPE | 1 << ROOT,
    COUNTED_REDUCES = 1 << COUNT | 1 << SEND_TYPE | 1 << OPERATION | 1 << OPERATION_OF_TYPE,
    MOST_RANKS = 16
};
/* MPICH 4.0 looks at no count of a reduction. */
#ifdef MPICH_NUMVERSION
enum { REDUCES = COUNTED_REDUCES & ~(1 << COUNT) };
#else
enum { REDUCES = COUNTED_REDUCES };
#endif

/* The arguments of a right call, some of them spoilt. All of them are significant on rank 0, the root. */
typedef struct {
    int count, counts[MOST_RANKS], places[MOST_RANKS], bytes[MOST_RANKS], root;
    MPI_Datatype send, receive, sends[MOST_RANKS], receives[MOST_RANKS];
    MPI_Op op;
} arguments_t;

/* name, mistakes of everybody, and of the root, the arguments */
#define BLOCKS_TABLE(X)                                                                                      \
    X(Allgather, MOVES, 0, out, a->count, a->send, into, a->count, a->receive)                               \
    X(Allgatherv, MOVES, 0, out, a->count, a->send, into, a->counts, a->places, a->receive)                  \
    X(Alltoall, MOVES, 0, out, a->count, a->send, into, a->count, a->receive)                                \
    X(Alltoallv, MOVES, 0, out, a->counts, a->places, a->send, into, a->counts, a->places, a->receive)       \
    X(Alltoallw, MOVES, 0, out, a->counts, a->bytes, a->sends, into, a->counts, a->bytes, a->receives)       \
    X(Reduce_scatter, REDUCES, 0, out, into, a->counts, a->send, a->op)                                      \
    X(Reduce_scatter_block, REDUCES, 0, out, into, a->count, a->send, a->op)                                 \
    X(Gather, GATHERS, 1 << RECEIVE_TYPE, out, a->count, a->send, into, a->count, a->receive, a->root)       \
    X(Gatherv, GATHERS, 1 << RECEIVE_TYPE, out, a->count, a->send, into, a->counts, a->places, a->receive,   \
      a->root)                                                                                               \
    X(Scatter, SCATTERS, 0, out, a->count, a->send, into, a->count, a->receive, a->root)                     \
    X(Scatterv, SCATTERS, 1 << SEND_TYPE, out, a->counts, a->places, a->send, into, a->count, a->receive,    \
      a->root)                                                                                               \
    X(Scan, REDUCES, 0, out, into, a->count, a->send, a->op)                                                 \
    X(Exscan, REDUCES, 0, out, into, a->count, a->send, a->op)

static double out[4 * MOST_RANKS], into[4 * MOST_RANKS];

#define DEFINE_CALL(name, everybody, at_root, ...)                                                           \
    static int call_##name(const arguments_t *a, MPI_Comm comm)                                              \
    {                                                                                                        \
        return MPI_##name(__VA_ARGS__, comm);                                                                \
    }
BLOCKS_TABLE(DEFINE_CALL)

static const struct {
    const char *name;
    unsigned everybody, at_root; /* bit masks */
    int (*call)(const arguments_t *, MPI_Comm);
} collectives_of_blocks[] = {
#define X(name, everybody, at_root, ...) {#name, everybody, at_root, call_##name},
    BLOCKS_TABLE(X)
#undef X
};

static arguments_t arguments(void)
{
    arguments_t a = {.count = 1, .send = MPI_DOUBLE, .receive = MPI_DOUBLE, .op = MPI_SUM};
    for (int i = 0; i < MOST_RANKS; i++) {
        a.counts[i] = 1;
        a.places[i] = i;
        a.bytes[i] = i * (int)sizeof *out;
        a.sends[i] = a.receives[i] = MPI_DOUBLE;
    }
    return a;
}

static void spoil(arguments_t *a, mistake_t mistake, int size)
{
    switch (mistake) {
    case ROOT:
        a->root = size;
        break;
    case COUNT:
        a->count = a->counts[0] = -1;
        break;
    case SEND_TYPE:
        a->send = a->sends[0] = MPI_DATATYPE_NULL;
        break;
    case RECEIVE_TYPE:
        a->receive = a->receives[0] = MPI_DATATYPE_NULL;
        break;
    case OPERATION:
        a->op = MPI_OP_NULL;
        break;
    default:
        a->op = MPI_BAND;
        break;
    }
}

/* On every rank the same mistake. */
static void compare_mistakes(MPI_Comm library, MPI_Comm native)
{
    const int size = hp_comm_size(library);

    for (size_t i = 0; i < sizeof collectives_of_blocks / sizeof *collectives_of_blocks; i++)
        for (mistake_t mistake = ROOT; mistake < MISTAKES; mistake++) {
            const char *name = collectives_of_blocks[i].name;
            unsigned mistakes =
                collectives_of_blocks[i].everybody | (size == 1 ? collectives_of_blocks[i].at_root : 0);
            arguments_t wrong = arguments();
            if (!(mistakes >> mistake & 1))
                continue;
            spoil(&wrong, mistake, size);
            int native_class = hp_error_class(collectives_of_blocks[i].call(&wrong, native));
            int library_class = hp_error_class(collectives_of_blocks[i].call(&wrong, library));
            CHECK(native_class != MPI_SUCCESS, "%s with %s is no error here", name, mistake_names[mistake]);
            CHECK(library_class == native_class, "%s with %s: class %d, native %d", name,
                  mistake_names[mistake], library_class, native_class);
        }
}

static void check_blocks_work(MPI_Comm comm)
{
    const arguments_t right = arguments();
    for (size_t i = 0; i < sizeof collectives_of_blocks / sizeof *collectives_of_blocks; i++) {
        int code = collectives_of_blocks[i].call(&right, comm);
        CHECK(code == MPI_SUCCESS, "%s after an error: %s", collectives_of_blocks[i].name,
              hp_error_text(code));
    }
}

/* On communicators that are new to the library, and that it has set up: of one rank, and of all. */
static void group_blocks(void)
{
    MPI_Comm comms[] = {MPI_COMM_SELF, MPI_COMM_WORLD};

    CHECK(hp_comm_size(MPI_COMM_WORLD) <= MOST_RANKS, "more than %d ranks", MOST_RANKS);
    for (int i = 0; i < 2; i++) {
        MPI_Comm library = hp_comm_dup_returning(comms[i], false), native = hp_comm_dup_returning(comms[i], true);
        for (int round = 0; round < 2; round++) {
            compare_mistakes(library, native);
            for (int call = 0; call < 3; call++)
                check_blocks_work(library);
            check_works(library);
        }
        CHECK_MPI(MPI_Comm_free(&library));
        CHECK_MPI(MPI_Comm_free(&native));
    }
}

static const hp_group_t groups[] = {
    {"arguments", group_arguments},
    {"uncommitted", group_uncommitted},
    {"comm_null", group_comm_null},
    {"handler", group_handler},
    {"truncation", group_truncation},
    {"truncation_own", group_truncation_own},
    {"nonblocking", group_nonblocking},
    {"lengths", group_lengths},
    {"handler_starts", group_handler_starts},
    {"blocks", group_blocks},
};

int main(int argc, char **argv)
{
    hp_mpi_init(&argc, &argv);
    int code = hp_groups_run(argc, argv, groups, sizeof groups / sizeof *groups);
    CHECK_MPI(MPI_Finalize());
    return code;
}
