/* lifecycle: how MPI begins and ends, and how communicators come and go; nothing may leak and nothing may
 * crash.
 *
 * usage: lifecycle CASE [COUNT]; the cases are in the table below. A case initialises and finalises MPI
 * itself. After MPI_Finalize the library must hold nothing. */
#include <stdbool.h>
#include <unistd.h>
#include "mpi_check.h"

static int count_argument;

/* One collective of each kind, with its result checked. */
static void collectives(MPI_Comm comm)
{
    int size = hp_comm_size(comm), rank = hp_comm_rank(comm), value = rank == size - 1 ? 41 : 0, sum = 0;
    CHECK_MPI(MPI_Bcast(&value, 1, MPI_INT, size - 1, comm));
    CHECK_EQUAL(value, 41, "Bcast");
    CHECK_MPI(MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, comm));
    if (rank == 0)
        CHECK_EQUAL(sum, size * (size - 1) / 2, "Reduce");
    CHECK_MPI(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQUAL(sum, 41 * size, "Allreduce");
}

static void check_nothing_held(void)
{
    hanpmpi_resources_t held = hp_lib_resources();
    CHECK_EQUAL(held.communicators, 0, "communicators held after MPI_Finalize");
    CHECK_EQUAL(held.duplicates, 0, "private duplicates held after MPI_Finalize");
    CHECK_EQUAL(held.requests, 0, "requests held after MPI_Finalize");
    CHECK_EQUAL(held.buffers, 0, "buffers held after MPI_Finalize");
}

static int finish(void)
{
    CHECK_MPI(MPI_Finalize());
    check_nothing_held();
    return 0;
}

static int case_init(void)
{
    CHECK_MPI(MPI_Init(NULL, NULL));
    collectives(MPI_COMM_WORLD);
    return finish();
}

static int case_init_thread(void)
{
    int provided;
    CHECK_MPI(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided));
    collectives(MPI_COMM_WORLD);
    return finish();
}

/* MPI_Init and MPI_Finalize with nothing in between. */
static int case_idle(void)
{
    CHECK_MPI(MPI_Init(NULL, NULL));
    return finish();
}

/* Private duplicates must go with their communicators: ids would run out after two thousand. */
static int case_churn(void)
{
    CHECK_MPI(MPI_Init(NULL, NULL));
    collectives(MPI_COMM_WORLD);
    hanpmpi_resources_t before = hp_lib_resources();
    for (int i = 0; i < count_argument; i++) {
        MPI_Comm comm;
        if (i % 2)
            CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        else
            CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, -i, &comm));
        collectives(comm);
        CHECK_MPI(MPI_Comm_free(&comm));
        if (i % 500 == 0) {
            CHECK_EQUAL(hp_lib_resources().duplicates, before.duplicates,
                        "private duplicates after MPI_Comm_free");
            CHECK_EQUAL(hp_lib_resources().communicators, before.communicators,
                        "communicators after MPI_Comm_free");
        }
    }
    collectives(MPI_COMM_WORLD);
    return finish();
}

/* As many communicators as the host can hold by itself: when its ids run short the library must pass calls
 * through. */
static int case_hold(void)
{
    MPI_Comm *comms = calloc((size_t)count_argument, sizeof *comms);
    CHECK(comms, "out of memory");
    CHECK_MPI(MPI_Init(NULL, NULL));
    for (int i = 0; i < count_argument; i++) {
        CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
        collectives(comms[i]);
    }
    for (int i = 0; i < count_argument; i++) {
        collectives(comms[i]);
        CHECK_MPI(MPI_Comm_free(&comms[i]));
    }
    free(comms);
    return finish();
}

static int case_never_freed(void)
{
    MPI_Comm comm;
    CHECK_MPI(MPI_Init(NULL, NULL));
    for (int i = 0; i < 20; i++) {
        CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        collectives(comm);
        collectives(comm);
    }
    return finish();
}

static int case_disconnect(void)
{
    CHECK_MPI(MPI_Init(NULL, NULL));
    hanpmpi_resources_t before = hp_lib_resources();
    for (int i = 0; i < 20; i++) {
        MPI_Comm comm;
        CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        collectives(comm);
        CHECK_MPI(MPI_Comm_disconnect(&comm));
    }
    CHECK_EQUAL(hp_lib_resources().duplicates, before.duplicates,
                "private duplicates after MPI_Comm_disconnect");
    return finish();
}

static int callbacks;

/* What HDF5 does when MPI_Finalize deletes its attribute: it flushes files, with collectives. */
static int use_collectives(MPI_Comm comm, int keyval, void *value, void *state)
{
    MPI_Comm fresh;
    (void)comm, (void)keyval, (void)state;
    callbacks++;
    collectives(MPI_COMM_WORLD);
    collectives(*(MPI_Comm *)value);
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &fresh));
    collectives(fresh);
    CHECK_MPI(MPI_Comm_free(&fresh));
    return MPI_SUCCESS;
}

/* Attributes go in the reverse order of setting: an attribute of the library's, set at its first collective,
 * goes before or after the program's. */
static int self_callback(bool before_first_collective)
{
    static MPI_Comm comm;
    int keyval;
    CHECK_MPI(MPI_Init(NULL, NULL));
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (!before_first_collective)
        collectives(comm);
    CHECK_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, use_collectives, &keyval, NULL));
    CHECK_MPI(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &comm));
    if (before_first_collective)
        collectives(comm);
    finish();
    CHECK_EQUAL(callbacks, 1, "delete callbacks");
    return 0;
}

static int case_self_callback(void)
{
    return self_callback(false);
}

static int case_self_callback_early(void)
{
    return self_callback(true);
}

/* An attribute whose delete callback uses the communicator that is being freed, and a copy callback that uses
 * the old one. */
static int copy_with_collectives(MPI_Comm comm, int keyval, void *state, void *value, void *copy, int *flag)
{
    (void)keyval, (void)state;
    collectives(comm);
    *(void **)copy = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_with_collectives(MPI_Comm comm, int keyval, void *value, void *state)
{
    (void)keyval, (void)value, (void)state;
    callbacks++;
    collectives(comm);
    return MPI_SUCCESS;
}

/* The communicator's inner one, which goes with it. */
static int delete_with_inner(MPI_Comm comm, int keyval, void *value, void *state)
{
    MPI_Comm *inner = value;

    (void)keyval, (void)state;
    callbacks++;
    CHECK_MPI(MPI_Comm_free(inner));
    collectives(comm);
    return MPI_SUCCESS;
}

static int case_inner_communicator(void)
{
    MPI_Comm outer, inner;
    int keyval;
    CHECK_MPI(MPI_Init(NULL, NULL));
    CHECK_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_with_inner, &keyval, NULL));
    for (int i = 0; i < 10; i++) { /* handles come again, of other sizes */
        CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, i % 2 ? hp_comm_rank(MPI_COMM_WORLD) % 2 : 0, 0, &outer));
        CHECK_MPI(MPI_Comm_dup(outer, &inner));
        CHECK_MPI(MPI_Comm_set_attr(outer, keyval, &inner));
        collectives(outer);
        collectives(inner);
        CHECK_MPI(MPI_Comm_free(&outer));
        CHECK_EQUAL(callbacks, i + 1, "delete callbacks");
    }
    CHECK_MPI(MPI_Comm_free_keyval(&keyval));
    return finish();
}

static int case_attribute_callbacks(void)
{
    MPI_Comm first, second;
    int keyval;
    CHECK_MPI(MPI_Init(NULL, NULL));
    CHECK_MPI(MPI_Comm_create_keyval(copy_with_collectives, delete_with_collectives, &keyval, NULL));
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &first));
    collectives(first);
    CHECK_MPI(MPI_Comm_set_attr(first, keyval, NULL));
    CHECK_MPI(MPI_Comm_dup(first, &second));
    collectives(second);
    CHECK_MPI(MPI_Comm_free(&first));
    collectives(second);
    CHECK_MPI(MPI_Comm_free(&second));
    CHECK_EQUAL(callbacks, 2, "delete callbacks: private duplicates must not carry the program's attributes");
    CHECK_MPI(MPI_Comm_free_keyval(&keyval));
    return finish();
}

/* The program forgets MPI_Finalize. What the launcher makes of that is its own; no rank may crash. */
static int case_no_finalize(void)
{
    CHECK_MPI(MPI_Init(NULL, NULL));
    collectives(MPI_COMM_WORLD);
    return 0;
}

static int case_abort(void)
{
    CHECK_MPI(MPI_Init(NULL, NULL));
    collectives(MPI_COMM_WORLD);
    MPI_Abort(MPI_COMM_WORLD, 9);
    return 0;
}

/* Sessions without MPI_Init. */
static int case_sessions(void)
{
#if MPI_VERSION >= 4
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    CHECK_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    CHECK_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    CHECK_MPI(MPI_Comm_create_from_group(group, "hanpmpi.test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    for (int i = 0; i < 10; i++)
        collectives(comm);
    CHECK_MPI(MPI_Group_free(&group));
    CHECK_MPI(MPI_Comm_free(&comm));
    CHECK_MPI(MPI_Session_finalize(&session));
    check_nothing_held();
    return 0;
#else
    return HP_SKIP;
#endif
}

/* A job that starts another one of the same program, and meets it. */
static int case_spawn(void)
{
    char self[4096] = "", *words[] = {"spawn", NULL};
    MPI_Comm parent, other, all;

    CHECK_MPI(MPI_Init(NULL, NULL));
    CHECK_MPI(MPI_Comm_get_parent(&parent));
    const bool is_child = parent != MPI_COMM_NULL;
    CHECK_EQUAL(readlink("/proc/self/exe", self, sizeof self - 1) > 0, 1, "the program's own path");
    collectives(MPI_COMM_WORLD);
    if (is_child)
        other = parent;
    else
        CHECK_MPI(
            MPI_Comm_spawn(self, words, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE));
    CHECK_MPI(MPI_Intercomm_merge(other, is_child, &all));
    for (int i = 0; i < 10; i++) {
        collectives(all);
        collectives(MPI_COMM_WORLD);
    }
    CHECK_MPI(MPI_Comm_free(&all));
    CHECK_MPI(MPI_Comm_disconnect(&other));
    return finish();
}

static const struct {
    const char *name;
    int (*run)(void);
    int count; /* when the command line gives none */
} cases[] = {
    {"init", case_init, 0},
    {"init_thread", case_init_thread, 0},
    {"idle", case_idle, 0},
    {"churn", case_churn, 2200},
    {"hold", case_hold, 1500},
    {"never_freed", case_never_freed, 0},
    {"disconnect", case_disconnect, 0},
    {"self_callback", case_self_callback, 0},
    {"self_callback_early", case_self_callback_early, 0},
    {"attribute_callbacks", case_attribute_callbacks, 0},
    {"inner_communicator", case_inner_communicator, 0},
    {"no_finalize", case_no_finalize, 0},
    {"abort", case_abort, 0},
    {"sessions", case_sessions, 0},
    {"spawn", case_spawn, 0},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            count_argument = argc > 2 ? atoi(argv[2]) : cases[i].count;
            return cases[i].run();
        }
    fprintf(stderr, "usage: %s CASE [COUNT], where CASE is one of", argv[0]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        fprintf(stderr, " %s", cases[i].name);
    fprintf(stderr, "\n");
    return 2;
}
