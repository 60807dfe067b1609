/* mistakes: rank 0, and nobody else, makes a call that the host MPI refuses, gets its error, and calls again rightly (pitfall 18).
 * The others have called once: a mistake must not be counted, nor begin anything. Where the host lets the mistake pass, it is that
 * rank's part of the collective, and the result is as if it were right.
 *
 * usage: mistakes [--thread-multiple] GROUP... ; the groups are in the table below. */
#include "groups.h"

typedef enum { BLOCKING, NONBLOCKING, PERSISTENT, FORMS } form_t;

enum { MOST_RANKS = 16, INTS = 2 };
static int out[INTS * MOST_RANKS], into[INTS * MOST_RANKS]; /* out of this rank, into it */

typedef struct {
    const void *send;
    void *recv;
    MPI_Datatype type; /* of INTS integers */
} arguments_t;

#if HP_HAS_PERSISTENT
#define BEGIN_PERSISTENT(name, ...) MPI_##name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &request)
#else
#define BEGIN_PERSISTENT(name, ...) MPI_ERR_OTHER
#endif

/* The call in each form: function(form, arguments, comm) returns the class of its first error. */
#define DEFINE(function, name, iname, ...)                                                                   \
    static int function(form_t form, const arguments_t *a, MPI_Comm comm)                                    \
    {                                                                                                        \
        MPI_Request request = MPI_REQUEST_NULL;                                                              \
        const int code = form == BLOCKING      ? MPI_##name(__VA_ARGS__, comm)                               \
                         : form == NONBLOCKING ? MPI_##iname(__VA_ARGS__, comm, &request)                    \
                                               : BEGIN_PERSISTENT(name, __VA_ARGS__);                        \
        return finish(form, code, &request);                                                                 \
    }

static int finish(form_t form, int code, MPI_Request *request)
{
    if (form == PERSISTENT && code == MPI_SUCCESS)
        code = MPI_Start(request);
    if (form != BLOCKING && code == MPI_SUCCESS)
        code = MPI_Wait(request, MPI_STATUS_IGNORE);
    if (*request != MPI_REQUEST_NULL)
        CHECK_MPI(MPI_Request_free(request));
    return hp_error_class(code);
}

DEFINE(bcast, Bcast, Ibcast, a->recv, 1, a->type, 0)
DEFINE(reduce, Reduce, Ireduce, a->send, a->recv, INTS, MPI_INT, MPI_SUM, 0)
DEFINE(gather, Gather, Igather, a->send, INTS, MPI_INT, a->recv, INTS, MPI_INT, 0)
DEFINE(gather_type, Gather, Igather, a->send, INTS, MPI_INT, a->recv, 1, a->type, 0)
DEFINE(allgather, Allgather, Iallgather, a->send, INTS, MPI_INT, a->recv, INTS, MPI_INT)
DEFINE(gather_from, Gather, Igather, a->send, 1, a->type, a->recv, INTS, MPI_INT, 0)
DEFINE(scatter_type, Scatter, Iscatter, a->send, 1, a->type, a->recv, INTS, MPI_INT, 0)
/* Lists; with the type MPI_2INT one of a negative number. */
static int *counts_of(const arguments_t *a)
{
    static int right[MOST_RANKS], wrong[MOST_RANKS];

    for (int i = 0; i < MOST_RANKS; i++)
        right[i] = wrong[i] = INTS;
    wrong[0] = -1;
    return a->type == MPI_2INT ? wrong : right;
}

static int *places(void)
{
    static int at[MOST_RANKS];

    for (int i = 0; i < MOST_RANKS; i++)
        at[i] = INTS * i;
    return at;
}

DEFINE(alltoallv, Alltoallv, Ialltoallv, a->send, counts_of(a), places(), MPI_INT, a->recv, counts_of(a),
       places(), MPI_INT)
DEFINE(gatherv, Gatherv, Igatherv, a->send, INTS, MPI_INT, a->recv, counts_of(a), places(), MPI_INT, 0)
#ifndef MPICH_NUMVERSION
DEFINE(exscan, Exscan, Iexscan, a->send, a->recv, INTS, MPI_INT, MPI_MAX)
#else
DEFINE(alltoall, Alltoall, Ialltoall, a->send, INTS, MPI_INT, a->recv, INTS, MPI_INT)
#endif

/* ---- what comes of a right call: `turn` tells calls apart ---- */

static int element(int rank, int turn, int i)
{
    return 1000 * turn + 10 * rank + i;
}

static void fill(int rank, int size, int turn)
{
    for (int i = 0; i < INTS * size; i++) {
        out[i] = element(rank, turn, i % INTS); /* to whomever it goes */
        into[i] = i < INTS ? out[i] : -1;
    }
}

static void check_ints(int first, int from, int turn)
{
    for (int i = 0; i < INTS; i++)
        CHECK_EQUAL(into[first + i], element(from, turn, i), "an element");
}

static void check_from_root(int rank, int size, int turn)
{
    (void)rank;
    (void)size;
    check_ints(0, 0, turn);
}

static void check_sum_at_root(int rank, int size, int turn)
{
    for (int i = 0; i < INTS && rank == 0; i++)
        CHECK_EQUAL(into[i], size * (1000 * turn + i) + 5 * size * (size - 1), "a sum");
}

static void check_all(int rank, int size, int turn)
{
    (void)rank;
    for (int from = 0; from < size; from++)
        check_ints(INTS * from, from, turn);
}

static void check_all_at_root(int rank, int size, int turn)
{
    if (rank == 0)
        check_all(rank, size, turn);
}

/* ---- the mistakes ---- */

typedef struct {
    int (*call)(form_t form, const arguments_t *a, MPI_Comm comm);
    void (*check)(int rank, int size, int turn);
    arguments_t right, wrong;
} mistake_t;

/* Blocking calls go on until the communicator has long been set up, and the guard has been at rest and has looked again. */
static void make_in_form(const mistake_t *mistake, form_t form)
{
    const int turns = form == BLOCKING ? 300 : 12;
    MPI_Comm alone = hp_comm_dup_returning(MPI_COMM_SELF, true),
             comm = hp_comm_dup_returning(MPI_COMM_WORLD, false);
    const int rank = hp_comm_rank(comm), size = hp_comm_size(comm);

    CHECK(size <= MOST_RANKS, "%d ranks are too many", size);
    fill(rank, size, 0);
    const int refused = mistake->call(form, &mistake->wrong, alone);
    for (int turn = 1; turn <= turns; turn++) {
        fill(rank, size, turn);
        if (rank == 0 && refused != MPI_SUCCESS)
            CHECK_EQUAL(mistake->call(form, &mistake->wrong, comm), refused, "class of the mistake");
        const bool is_wrong = rank == 0 && refused == MPI_SUCCESS;
        CHECK_EQUAL(mistake->call(form, is_wrong ? &mistake->wrong : &mistake->right, comm), MPI_SUCCESS,
                    "the call made good");
        mistake->check(rank, size, turn);
        CHECK_MPI(MPI_Barrier(comm));
    }
    CHECK_MPI(MPI_Comm_free(&alone));
    CHECK_MPI(MPI_Comm_free(&comm));
}

static void make(mistake_t mistake)
{
    MPI_Datatype right, wrong;

    CHECK_MPI(MPI_Type_contiguous(INTS, MPI_INT, &right));
    CHECK_MPI(MPI_Type_contiguous(INTS, MPI_INT, &wrong));
    CHECK_MPI(MPI_Type_commit(&right));
    mistake.right = (arguments_t){out, into, right};
    if (!mistake.wrong.send)
        mistake.wrong.send = out;
    if (mistake.wrong.type == MPI_DATATYPE_NULL)
        mistake.wrong.type = wrong;
    for (form_t form = BLOCKING; form < FORMS; form++)
        if (form != PERSISTENT || HP_HAS_PERSISTENT)
            make_in_form(&mistake, form);
    CHECK_MPI(MPI_Type_free(&right));
    CHECK_MPI(MPI_Type_free(&wrong));
}

/* A datatype that was never committed. */
static void group_bcast_type(void)
{
    make((mistake_t){bcast, check_from_root, .wrong = {out, into, MPI_DATATYPE_NULL}});
}

/* Open MPI refuses it of what is sent only. */
static void group_blocks_type(void)
{
    make((mistake_t){gather_type, check_all_at_root, .wrong = {out, into, MPI_DATATYPE_NULL}});
    make((mistake_t){gather_from, check_all_at_root, .wrong = {out, into, MPI_DATATYPE_NULL}});
    make((mistake_t){scatter_type, check_from_root, .wrong = {out, into, MPI_DATATYPE_NULL}});
}

/* No memory at all. Open MPI ends the program. */
static void group_no_buffer(void)
{
#ifdef MPICH_NUMVERSION
    make((mistake_t){bcast, check_from_root, .wrong = {out, NULL, MPI_2INT}});
    make((mistake_t){reduce, check_sum_at_root, .wrong = {out, NULL, MPI_INT}});
#else
    hp_group_skip("only MPICH refuses it");
#endif
}

#ifndef MPICH_NUMVERSION
static void check_from_before(int rank, int size, int turn)
{
    (void)size;
    if (rank > 0)
        check_ints(0, rank - 1, turn);
}
#endif

/* No mistake: rank 0 gets nothing of an exscan, and says nothing of where. */
static void group_exscan(void)
{
#ifndef MPICH_NUMVERSION
    make((mistake_t){exscan, check_from_before, .wrong = {out, NULL, MPI_INT}});
    make((mistake_t){exscan, check_from_before, .wrong = {out, out, MPI_INT}});
    make((mistake_t){exscan, check_from_before, .wrong = {out, MPI_IN_PLACE, MPI_INT}});
#else
    hp_group_skip("MPICH refuses what the standard allows");
#endif
}

/* The same memory for both. Not Allreduce, of which Open MPI tells the handler of MPI_COMM_WORLD. */
static void group_one_buffer(void)
{
    const arguments_t one = {into, into, MPI_INT};

    make((mistake_t){reduce, check_sum_at_root, .wrong = one});
    make((mistake_t){gather, check_all_at_root, .wrong = one});
    make((mistake_t){allgather, check_all, .wrong = one});
}

/* Likewise; where it passes it has what comes from others overwrite what is to go to them, so nobody calls so there. */
static void group_one_buffer_alltoall(void)
{
#ifdef MPICH_NUMVERSION
    make((mistake_t){alltoall, check_all, .wrong = {into, into, MPI_INT}});
#else
    hp_group_skip("only MPICH refuses it");
#endif
}

/* MPI_IN_PLACE as the receive buffer. */
static void group_in_place(void)
{
    make((mistake_t){gather, check_all_at_root, .wrong = {out, MPI_IN_PLACE, MPI_INT}});
    make((mistake_t){allgather, check_all, .wrong = {out, MPI_IN_PLACE, MPI_INT}});
}

/* A negative number in a list. */
static void group_lists(void)
{
    make((mistake_t){alltoallv, check_all, .wrong = {out, into, MPI_2INT}});
    make((mistake_t){gatherv, check_all_at_root, .wrong = {out, into, MPI_2INT}});
}

static const hp_group_t groups[] = {
    {"bcast_type", group_bcast_type}, {"blocks_type", group_blocks_type},
    {"no_buffer", group_no_buffer},   {"exscan", group_exscan},
    {"one_buffer", group_one_buffer}, {"one_buffer_alltoall", group_one_buffer_alltoall},
    {"lists", group_lists},           {"in_place", group_in_place},
};

int main(int argc, char **argv)
{
    hp_mpi_init(&argc, &argv);
    int code = hp_groups_run(argc, argv, groups, sizeof groups / sizeof *groups);
    CHECK_MPI(MPI_Finalize());
    return code;
}
