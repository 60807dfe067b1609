/* host_calls_same: the host MPI's calls give the same results, statuses and errors while a collective is in flight. */
#include "host_calls.h"

static int world_errors, talk_errors; /* seen by the handlers of MPI_COMM_WORLD and of hp_talk */

static void on_world_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    world_errors++;
}

static void on_talk_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    talk_errors++;
}

static int recorded[4096], records;

static void record(int value)
{
    CHECK(records < (int)(sizeof recorded / sizeof *recorded), "more results than room");
    recorded[records++] = value;
}

static void record_code(int code)
{
    record(hp_error_class(code));
    record(world_errors);
    record(talk_errors);
    world_errors = talk_errors = 0;
}

/* A status as it is before a call: nothing in it may change that does not change otherwise. */
static MPI_Status fresh(void)
{
    MPI_Status status;
    memset(&status, 0, sizeof status);
    status.MPI_SOURCE = status.MPI_TAG = status.MPI_ERROR = -77;
    return status;
}

static void record_status(MPI_Status *status, bool has_count)
{
    int count = 0, cancelled = 0;
    if (has_count) /* else it is that of an error */
        MPI_Test_cancelled(status, &cancelled);
    record(cancelled);
    if (cancelled) /* the rest is undefined */
        return;
    record(status->MPI_SOURCE);
    record(status->MPI_TAG);
    record(status->MPI_ERROR > 0 ? hp_error_class(status->MPI_ERROR) : status->MPI_ERROR);
    if (!has_count)
        return;
    MPI_Get_count(status, MPI_INT, &count);
    record(count);
}

static void case_recv(void)
{
    int buffer[MANY];
    hp_feed(3, FEW);
    hp_feed(1, MANY);
    if (hp_me != 0)
        return;
    for (int i = 0; i < 4; i++) { /* any; given; given later first; too long */
        MPI_Status status = fresh();
        record_code(MPI_Recv(buffer, FEW, MPI_INT, i == 0 ? MPI_ANY_SOURCE : 1,
                             (const int[]){MPI_ANY_TAG, TAG + 2, TAG + 1, TAG}[i], hp_talk, &status));
        record_status(&status, i < 3);
    }
    MPI_Status status = fresh();
    record_code(MPI_Recv(buffer, FEW, MPI_INT, MPI_PROC_NULL, TAG, hp_talk, &status));
    record_status(&status, true);
    record_code(MPI_Recv(buffer, FEW, MPI_INT, hp_comm_size(hp_talk), TAG, hp_talk, MPI_STATUS_IGNORE));
    record_code(MPI_Recv(buffer, FEW, MPI_INT, 1, -100, hp_talk, MPI_STATUS_IGNORE));
}

static void case_send(void)
{
    int buffer[MANY] = {0};
    for (int kind = 0; hp_me < 2 && kind < 2; kind++) {
        int (*const send)(const void *, int, MPI_Datatype, int, int, MPI_Comm) = kind ? MPI_Ssend : MPI_Send;
        if (hp_me == 1) {
            CHECK_MPI(MPI_Recv(buffer, MANY, MPI_INT, 0, TAG, hp_talk, MPI_STATUS_IGNORE));
            CHECK_EQUAL(buffer[MANY - 1], 42, "the last element sent");
            continue;
        }
        buffer[MANY - 1] = 42;
        record_code(send(buffer, MANY, MPI_INT, 1, TAG, hp_talk));
        record_code(send(buffer, MANY, MPI_INT, MPI_PROC_NULL, TAG, hp_talk));
        record_code(send(buffer, MANY, MPI_INT, hp_comm_size(hp_talk), TAG, hp_talk));
        record_code(send(buffer, MANY, MPI_DATATYPE_NULL, 1, TAG, hp_talk));
    }
}

static void case_sendrecv(void)
{
    int out[MANY] = {0}, in[MANY];
    if (hp_me == 1)
        for (int i = 0; i < 2; i++) {
            hp_feed(1, i ? MANY : FEW);
            CHECK_MPI(MPI_Recv(in, MANY, MPI_INT, 0, TAG, hp_talk, MPI_STATUS_IGNORE));
            CHECK_EQUAL(in[FEW - 1], 42, "the last element sent");
        }
    if (hp_me != 0)
        return;
    out[FEW - 1] = 42;
    for (int i = 0; i < 2; i++) { /* the second is too long */
        MPI_Status status = fresh();
        record_code(
            MPI_Sendrecv(out, FEW, MPI_INT, 1, TAG, in, FEW, MPI_INT, MPI_ANY_SOURCE, TAG, hp_talk, &status));
        record_status(&status, i == 0);
    }
    MPI_Status status = fresh();
    record_code(MPI_Sendrecv(out, FEW, MPI_INT, MPI_PROC_NULL, TAG, in, FEW, MPI_INT, MPI_PROC_NULL, TAG,
                             hp_talk, &status));
    record_status(&status, true);
    status = fresh();
    record_code(MPI_Sendrecv(out, FEW, MPI_INT, 0, TAG, in, FEW, MPI_INT, 0, TAG, hp_talk, &status));
    record_status(&status, true);
    record_code(MPI_Sendrecv(out, FEW, MPI_INT, 1, TAG, in, FEW, MPI_INT, hp_comm_size(hp_talk), TAG, hp_talk,
                             MPI_STATUS_IGNORE));
}

/* Back again, by a datatype that has the address. */
static void replace_at_address(int *buffer, MPI_Datatype type)
{
    const int one = 1;
    MPI_Aint address;
    MPI_Datatype absolute;
    MPI_Status status = fresh();

    CHECK_MPI(MPI_Get_address(buffer, &address));
    CHECK_MPI(MPI_Type_create_hindexed(1, &one, &address, type, &absolute));
    CHECK_MPI(MPI_Type_commit(&absolute));
    record_code(
        MPI_Sendrecv_replace(MPI_BOTTOM, 1, absolute, 1 - hp_me, TAG, 1 - hp_me, TAG, hp_talk, &status));
    status.MPI_ERROR = 0;
    record_status(&status, true);
    record(buffer[0]);
    CHECK_MPI(MPI_Type_free(&absolute));
}

/* Every other integer. */
static void case_replace(void)
{
    int buffer[2 * FEW];
    MPI_Datatype vector;
    CHECK_MPI(MPI_Type_vector(FEW, 1, 2, MPI_INT, &vector));
    CHECK_MPI(MPI_Type_commit(&vector));
    for (int i = 0; i < 2 * FEW; i++)
        buffer[i] = 100 * hp_me + i;
    if (hp_me < 2) {
        MPI_Status status = fresh();
        int count;
        const int code =
            MPI_Sendrecv_replace(buffer, 1, vector, 1 - hp_me, TAG, 1 - hp_me, TAG, hp_talk, &status);
        for (int i = 0; i < 2 * FEW; i++)
            CHECK_EQUAL(buffer[i], (i % 2 ? 100 * hp_me : 100 * (1 - hp_me)) + i, "an element exchanged");
        CHECK_MPI(MPI_Get_count(&status, vector, &count));
        record(count);
        record_code(code);
        status.MPI_ERROR = 0; /* only arrays of statuses have a meaningful one, and MPICH writes into this */
        record_status(&status, true);
        status = fresh();
        record_code(MPI_Sendrecv_replace(buffer, 1, vector, hp_me, TAG, hp_me, TAG, hp_talk, &status));
        status.MPI_ERROR = 0;
        record_status(&status, true);
        replace_at_address(buffer, vector);
    }
    CHECK_MPI(MPI_Type_free(&vector));
}

static void case_probe(void)
{
    int buffer[MANY], flag;
    MPI_Message message;
    hp_feed(2, FEW);
    if (hp_me != 0)
        return;
    MPI_Status status = fresh();
    record_code(MPI_Probe(MPI_ANY_SOURCE, TAG, hp_talk, &status));
    record_status(&status, true);
    status = fresh();
    record_code(MPI_Mprobe(1, MPI_ANY_TAG, hp_talk, &message, &status));
    record_status(&status, true);
    status = fresh();
    record_code(MPI_Mrecv(buffer, FEW, MPI_INT, &message, &status));
    record_status(&status, true);
    for (flag = 0; !flag;)
        CHECK_MPI(MPI_Improbe(1, TAG + 1, hp_talk, &flag, &message, MPI_STATUS_IGNORE));
    record_code(MPI_Mrecv(buffer, FEW, MPI_INT, &message, MPI_STATUS_IGNORE));
    status = fresh();
    record_code(MPI_Mprobe(MPI_PROC_NULL, TAG, hp_talk, &message, &status));
    record(message == MPI_MESSAGE_NO_PROC);
    record_status(&status, true);
    record_code(MPI_Probe(hp_comm_size(hp_talk), TAG, hp_talk, MPI_STATUS_IGNORE));
}

static int wait_one(bool tests, MPI_Request *request, MPI_Status *status)
{
    int flag = 0, code = MPI_SUCCESS;
    if (!tests)
        return MPI_Wait(request, status);
    while (!flag && code == MPI_SUCCESS)
        code = MPI_Test(request, &flag, status);
    return code;
}

/* One request: received, null, persistent and inactive, persistent and started, cancelled, too long. */
static void case_wait_with(bool tests)
{
    enum { PLAIN, NONE, INACTIVE, STARTED, CANCELLED, LONG, KINDS };
    int buffer[MANY];
    hp_feed(1, FEW); /* for PLAIN */
    hp_feed(1, FEW); /* for STARTED */
    hp_feed(1, MANY);
    for (int kind = 0; hp_me == 0 && kind < KINDS; kind++) {
        MPI_Status status = fresh();
        MPI_Request request = MPI_REQUEST_NULL;
        if (kind == PLAIN || kind == CANCELLED || kind == LONG)
            CHECK_MPI(
                MPI_Irecv(buffer, FEW, MPI_INT, 1, kind == CANCELLED ? TAG + 50 : TAG, hp_talk, &request));
        if (kind == INACTIVE || kind == STARTED)
            CHECK_MPI(MPI_Recv_init(buffer, FEW, MPI_INT, 1, TAG, hp_talk, &request));
        if (kind == STARTED)
            CHECK_MPI(MPI_Start(&request));
        if (kind == CANCELLED)
            CHECK_MPI(MPI_Cancel(&request));
        record_code(wait_one(tests, &request, &status));
        record_status(&status, kind != LONG);
        record(request == MPI_REQUEST_NULL);
        if (request != MPI_REQUEST_NULL)
            CHECK_MPI(MPI_Request_free(&request));
    }
}

static void case_wait(void)
{
    case_wait_with(false);
}

static void case_test(void)
{
    case_wait_with(true);
}

/* Four requests: one that is right, one too short, a null one, one that is cancelled. The message for the first comes
 * first: at an error MPI_Waitall may return before others are complete. */
static void post(MPI_Request *requests, int buffers[4][MANY], int second)
{
    CHECK_MPI(MPI_Irecv(buffers[0], FEW, MPI_INT, 1, TAG, hp_talk, &requests[0]));
    CHECK_MPI(MPI_Irecv(buffers[1], second, MPI_INT, 1, TAG + 1, hp_talk, &requests[1]));
    requests[2] = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_Irecv(buffers[3], FEW, MPI_INT, 1, TAG + 50, hp_talk, &requests[3]));
    CHECK_MPI(MPI_Cancel(&requests[3]));
}

static void case_all_with(bool tests)
{
    int buffers[4][MANY];
    for (int ignores = 0; ignores < 2; ignores++) {
        hp_feed(2, FEW);
        if (hp_me != 0)
            continue;
        MPI_Request requests[4], none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Status statuses[4] = {fresh(), fresh(), fresh(), fresh()};
        MPI_Status *const where = ignores ? hp_ignored : statuses;
        int code = MPI_SUCCESS, flag = 0;
        /* MPI_Testall may or may not report an error before all is complete. */
        post(requests, buffers, tests ? FEW : FEW - 1);
        if (tests)
            while (!flag && code == MPI_SUCCESS)
                code = MPI_Testall(4, requests, &flag, where);
        else
            code = MPI_Waitall(4, requests, where);
        world_errors = world_errors > 0; /* how often is not said */
        record_code(code);
        for (int i = 0; i < 4; i++) {
            record_status(&statuses[i], !ignores && (tests || i != 1));
            record(requests[i] == MPI_REQUEST_NULL);
        }
        statuses[0] = statuses[1] = fresh();
        record_code(tests ? MPI_Testall(2, none, &flag, where) : MPI_Waitall(2, none, where));
        record_status(&statuses[1], !ignores);
        record_code(tests ? MPI_Testall(0, none, &flag, where) : MPI_Waitall(0, none, where));
    }
}

static void case_waitall(void)
{
    case_all_with(false);
}

static void case_testall(void)
{
    case_all_with(true);
}

/* Which request is first is chance, so what is recorded is by request. */
static void case_any_with(bool tests)
{
    int buffers[4][MANY], seen[4][9] = {{0}}, index = -5, flag = 0;
    hp_feed(2, FEW);
    if (hp_me != 0)
        return;
    MPI_Request requests[4];
    post(requests, buffers, FEW - 1);
    for (int i = 0; i < 4; i++) { /* the fourth finds nothing left */
        MPI_Status status = fresh();
        int code = MPI_SUCCESS;
        for (flag = 0; !flag && code == MPI_SUCCESS;) {
            if (tests)
                code = MPI_Testany(4, requests, &index, &flag, &status);
            else
                code = MPI_Waitany(4, requests, &index, &status), flag = 1;
            flag |= world_errors + talk_errors; /* MPICH 5 calls an error that a handler has seen a success */
        }
        const int place = index == MPI_UNDEFINED ? 2 : index, from = records;
        record(index);
        record_code(code);
        record_status(&status, place != 1);
        memcpy(seen[place], recorded + from, (size_t)(records - from) * sizeof(int));
        records = from;
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 9; j++)
            record(seen[i][j]);
}

static void case_waitany(void)
{
    case_any_with(false);
}

static void case_testany(void)
{
    case_any_with(true);
}

static void case_some_with(bool tests)
{
    int buffers[4][MANY], seen[4][8] = {{0}}, done = 0, count = 0, indices[4];
    hp_feed(2, FEW);
    if (hp_me != 0)
        return;
    MPI_Request requests[4];
    post(requests, buffers, FEW - 1);
    while (done < 3) {
        MPI_Status statuses[4] = {fresh(), fresh(), fresh(), fresh()};
        const int code = tests ? MPI_Testsome(4, requests, &count, indices, statuses)
                               : MPI_Waitsome(4, requests, &count, indices, statuses);
        CHECK(tests || count > 0, "MPI_Waitsome returned with nothing");
        for (int i = 0; i < count; i++, done++) {
            const int from = records;
            record(indices[i]);
            if (indices[i] == 1)
                record_code(code);
            /* MPI_ERROR is set in all of them if one failed: chance for the others */
            if (indices[i] != 1)
                statuses[i].MPI_ERROR = 0;
            record_status(&statuses[i], indices[i] != 1);
            memcpy(seen[indices[i]], recorded + from, (size_t)(records - from) * sizeof(int));
            records = from;
        }
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 8; j++)
            record(seen[i][j]);
    record_code(tests ? MPI_Testsome(4, requests, &count, indices, hp_ignored)
                      : MPI_Waitsome(4, requests, &count, indices, hp_ignored));
    record(count);
}

static void case_waitsome(void)
{
    case_some_with(false);
}

static void case_testsome(void)
{
    case_some_with(true);
}

/* Twice: as it is, and with a broadcast in flight that rank 1, its root, has not come to yet. */
void hp_group_same(void)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"recv", case_recv},        {"send", case_send},       {"sendrecv", case_sendrecv},
                 {"replace", case_replace},  {"probe", case_probe},     {"wait", case_wait},
                 {"test", case_test},        {"waitall", case_waitall}, {"testall", case_testall},
                 {"waitany", case_waitany},  {"testany", case_testany}, {"waitsome", case_waitsome},
                 {"testsome", case_testsome}};
    enum { CASES = sizeof cases / sizeof *cases };
    const uint64_t before = hp_lib_stats("bcast").taken;
    static int expected[sizeof recorded / sizeof *recorded];
    MPI_Errhandler on_world, on_talk;

    CHECK_MPI(MPI_Comm_create_errhandler(on_world_error, &on_world));
    CHECK_MPI(MPI_Comm_create_errhandler(on_talk_error, &on_talk));
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, on_world));
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, on_world));
    CHECK_MPI(MPI_Comm_set_errhandler(hp_talk, on_talk));
    for (int i = 0; i < CASES; i++) {
        MPI_Request request;
        records = 0;
        cases[i].run();
        hp_feed_finish();
        const int count = records;
        memcpy(expected, recorded, sizeof expected);
        CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
        records = 0;
        if (hp_me != 1)
            hp_flight_start(&request, 1);
        cases[i].run();
        hp_feed_finish();
        if (hp_me == 1)
            hp_flight_start(&request, 1);
        hp_flight_finish(&request);
        CHECK_EQUAL(records, count, cases[i].name);
        for (int j = 0; j < count; j++)
            CHECK(recorded[j] == expected[j], "%s: result %d is %d, without a collective in flight %d",
                  cases[i].name, j, recorded[j], expected[j]);
    }
    hp_check_taken(before, CASES);
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    CHECK_MPI(MPI_Comm_set_errhandler(hp_talk, MPI_ERRORS_ARE_FATAL));
    CHECK_MPI(MPI_Errhandler_free(&on_world));
    CHECK_MPI(MPI_Errhandler_free(&on_talk));
}
