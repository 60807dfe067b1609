#include "pmpi_wrappers/backend/progress/host_calls.h"

#include <stdlib.h>
#include "pmpi_wrappers/arguments.h"
#include "pmpi_wrappers/backend/progress/host_collectives.h"
#include "pmpi_wrappers/backend/progress/host_wait.h"
#include "pmpi_wrappers/backend/progress/progress.h"
#include "pmpi_wrappers/backend/start/job.h"

/* Arguments travel as in the front: a row of the table says all there is to say about a function. */
#define CALL(count, function, ...) ((int (*)(PARAMETERS_##count))(function))(__VA_ARGS__)

/* Functions that no row is for. An MPI that has MPI_X_c has these too. */
#define HELPERS(X)                                                                                           \
    X(Irecv)                                                                                                 \
    X(Irsend)                                                                                                \
    X(Isend)                                                                                                 \
    X(Issend) X(Pack) X(Pack_size) X(Irecv_c) X(Irsend_c) X(Isend_c) X(Issend_c) X(Pack_c) X(Pack_size_c)
#define X(name) static hp_function_t host_##name;
HELPERS(X)
#undef X

/* ---- tests ---- */

#define DEFINE_TEST(name, arguments, detail)                                                                 \
    static hp_function_t host_##name;                                                                        \
    static int call_##name(PARAMETERS_##arguments)                                                           \
    {                                                                                                        \
        if (hp_progress_is_due())                                                                            \
            hp_progress_poll();                                                                              \
        return CALL(arguments, host_##name, ARGUMENTS_##arguments);                                          \
    }

/* ---- waits and probes ---- */

/* MPI_Testall does not do for MPI_Waitall: it may report an error while other requests are in work still. */
static void await_all(int count, const MPI_Request *requests)
{
    for (int i = 0; i < count; i++) {
        hp_wait_t wait = {0};
        while (hp_progress_is_due()) {
            int flag = HP_UNSEEN;
            const int code = P(Request_get_status)(requests[i], &flag, MPI_STATUS_IGNORE);
            if (code != MPI_SUCCESS || flag)
                break;
            hp_host_idle(&wait);
        }
    }
}

/* The test of each: *flag says whether it has found what it looks for. */

static hp_function_t host_Test, host_Testany, host_Testsome, host_Iprobe, host_Improbe;

static int test_Wait(int *flag, const uintptr_t x[2])
{
    return CALL(3, host_Test, x[0], (uintptr_t)flag, x[1]);
}

static int test_Waitany(int *flag, const uintptr_t x[4])
{
    return CALL(5, host_Testany, x[0], x[1], x[2], (uintptr_t)flag, x[3]);
}

/* It counts the requests that are done. */
static int test_Waitsome(int *flag, const uintptr_t x[5])
{
    const int code = CALL(5, host_Testsome, x[0], x[1], (uintptr_t)flag, x[3], x[4]);
    if (*flag != HP_UNSEEN && x[2])
        *(int *)x[2] = *flag;
    return code;
}

static int test_Probe(int *flag, const uintptr_t x[4])
{
    return CALL(5, host_Iprobe, x[0], x[1], x[2], (uintptr_t)flag, x[3]);
}

static int test_Mprobe(int *flag, const uintptr_t x[5])
{
    return CALL(6, host_Improbe, x[0], x[1], x[2], (uintptr_t)flag, x[3], x[4]);
}

/* Tests until something is found, or an error: *code is what the call returns. false: there is nothing to move on any more, so
 * the host MPI may wait. */
static bool await_one(int (*test)(int *flag, const uintptr_t *x), const uintptr_t *x, int *code)
{
    hp_wait_t wait = {0};

    while (hp_progress_is_due()) {
        int flag = HP_UNSEEN;
        *code = test(&flag, x);
        if (*code != MPI_SUCCESS || flag)
            return true;
        hp_host_idle(&wait);
    }
    return false;
}

#define DEFINE_WAIT(name, arguments, test)                                                                   \
    static hp_function_t host_##name;                                                                        \
    static int call_##name(PARAMETERS_##arguments)                                                           \
    {                                                                                                        \
        int code;                                                                                            \
        if (__builtin_expect(hp_progress_is_due(), 0) &&                                                     \
            await_one(test_##name, (const uintptr_t[]){ARGUMENTS_##arguments}, &code))                       \
            return code;                                                                                     \
        return CALL(arguments, host_##name, ARGUMENTS_##arguments);                                          \
    }
#define DEFINE_PROBE DEFINE_WAIT
#define DEFINE_WAIT_ALL(name, arguments, detail)                                                             \
    static hp_function_t host_##name;                                                                        \
    static int call_##name(PARAMETERS_##arguments)                                                           \
    {                                                                                                        \
        if (__builtin_expect(hp_progress_is_due(), 0))                                                       \
            await_all((int)a, (const MPI_Request *)b);                                                       \
        return CALL(arguments, host_##name, ARGUMENTS_##arguments);                                          \
    }

/* ---- sends and receives ---- */

static int send_one(hp_function_t start, const uintptr_t x[6])
{
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = CALL(7, start, x[0], x[1], x[2], x[3], x[4], x[5], (uintptr_t)&request);
    return code == MPI_SUCCESS ? hp_host_wait(&request, MPI_STATUS_IGNORE) : code;
}

static int recv_one(hp_function_t recv, hp_function_t start, const uintptr_t x[7])
{
    int source = (int)x[3], tag = (int)x[4];
    hp_wait_t wait = {0};

    if (hp_job.has_threads) { /* others may take a message that this thread has seen */
        MPI_Request request = MPI_REQUEST_NULL;
        const int code = CALL(7, start, x[0], x[1], x[2], x[3], x[4], x[5], (uintptr_t)&request);
        return code == MPI_SUCCESS ? hp_host_wait(&request, (MPI_Status *)x[6]) : code;
    }
    while (hp_progress_is_due()) {
        int flag = HP_UNSEEN;
        MPI_Status found;
        const int code = P(Iprobe)(source, tag, (MPI_Comm)x[5], &flag, &found);
        if (code != MPI_SUCCESS || flag == HP_UNSEEN)
            return code;
        if (flag) { /* by name: MPICH 5 overlooks that it is too long if it was there before an MPI_ANY_SOURCE */
            source = found.MPI_SOURCE;
            tag = found.MPI_TAG;
            break;
        }
        hp_host_idle(&wait);
    }
    return CALL(7, recv, x[0], x[1], x[2], (uintptr_t)source, (uintptr_t)tag, x[5], x[6]);
}

/* A send and a receive at the same time. The arguments of the receive are looked at before anything is sent. */
static int exchange(hp_function_t isend, const uintptr_t send[6], hp_function_t recv, hp_function_t irecv,
                    const uintptr_t receive[7])
{
    MPI_Request request = MPI_REQUEST_NULL;
    int flag = HP_UNSEEN;

    int code = P(Iprobe)((int)receive[3], (int)receive[4], (MPI_Comm)receive[5], &flag, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && flag != HP_UNSEEN)
        code = CALL(7, isend, send[0], send[1], send[2], send[3], send[4], send[5], (uintptr_t)&request);
    if (code != MPI_SUCCESS || flag == HP_UNSEEN)
        return code;
    code = recv_one(recv, irecv, receive);
    const int sent = hp_host_wait(&request, MPI_STATUS_IGNORE);
    return code != MPI_SUCCESS ? code : sent;
}

/* What an exchange in one buffer is made of. */
typedef struct {
    hp_function_t host, isend, recv, irecv, pack, pack_size; /* host: the call itself */
    bool large; /* bytes are counted by an MPI_Count, not an int */
} packing_t;

/* The message goes out packed: the buffer is for the one that comes in. */
static int replace(const packing_t *with, const uintptr_t x[9])
{
    int bytes = HP_UNSEEN, packed = 0;
    MPI_Count large_bytes = HP_UNSEEN, large_packed = 0;

    int code =
        CALL(4, with->pack_size, x[1], x[2], x[7], with->large ? (uintptr_t)&large_bytes : (uintptr_t)&bytes);
    if (!with->large)
        large_bytes = bytes;
    if (code != MPI_SUCCESS || large_bytes == HP_UNSEEN)
        return code;
    /* More than the MPI counts, or what some do not pack: then nothing moves on in the call. */
    if (large_bytes < 0 || x[0] == (uintptr_t)MPI_BOTTOM)
        return CALL(9, with->host, x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8]);
    void *copy = malloc(large_bytes > 0 ? (size_t)large_bytes : 1);
    if (!copy) {
        P(Comm_call_errhandler)((MPI_Comm)x[7], MPI_ERR_NO_MEM);
        return MPI_ERR_NO_MEM;
    }
    code = CALL(7, with->pack, x[0], x[1], x[2], (uintptr_t)copy, (uintptr_t)large_bytes,
                with->large ? (uintptr_t)&large_packed : (uintptr_t)&packed, x[7]);
    if (!with->large)
        large_packed = packed;
    const uintptr_t send[] = {
        (uintptr_t)copy, (uintptr_t)large_packed, (uintptr_t)MPI_PACKED, x[3], x[4], x[7]};
    const uintptr_t receive[] = {x[0], x[1], x[2], x[5], x[6], x[7], x[8]};
    if (code == MPI_SUCCESS)
        code = exchange(with->isend, send, with->recv, with->irecv, receive);
    free(copy);
    return code;
}

#define DEFINE_SEND(name, arguments, start)                                                                  \
    static hp_function_t host_##name;                                                                        \
    static int call_##name(PARAMETERS_##arguments)                                                           \
    {                                                                                                        \
        if (__builtin_expect(!hp_progress_is_due(), 1))                                                      \
            return CALL(arguments, host_##name, ARGUMENTS_##arguments);                                      \
        return send_one(host_##start, (const uintptr_t[]){ARGUMENTS_##arguments});                           \
    }
#define DEFINE_RECV(name, arguments, start)                                                                  \
    static hp_function_t host_##name;                                                                        \
    static int call_##name(PARAMETERS_##arguments)                                                           \
    {                                                                                                        \
        if (__builtin_expect(!hp_progress_is_due(), 1))                                                      \
            return CALL(arguments, host_##name, ARGUMENTS_##arguments);                                      \
        return recv_one(host_##name, host_##start, (const uintptr_t[]){ARGUMENTS_##arguments});              \
    }
#define DEFINE_EXCHANGE_OF(name, arguments, isend, recv, irecv)                                              \
    static hp_function_t host_##name;                                                                        \
    static int call_##name(PARAMETERS_##arguments)                                                           \
    {                                                                                                        \
        if (__builtin_expect(!hp_progress_is_due(), 1))                                                      \
            return CALL(arguments, host_##name, ARGUMENTS_##arguments);                                      \
        return exchange(host_##isend, (const uintptr_t[]){a, b, c, d, e, k}, host_##recv, host_##irecv,      \
                        (const uintptr_t[]){f, g, h, i, j, k, l});                                           \
    }
#define DEFINE_REPLACE_OF(name, arguments, isend, recv, irecv, pack, pack_size, large)                       \
    static hp_function_t host_##name;                                                                        \
    static int call_##name(PARAMETERS_##arguments)                                                           \
    {                                                                                                        \
        if (__builtin_expect(!hp_progress_is_due(), 1))                                                      \
            return CALL(arguments, host_##name, ARGUMENTS_##arguments);                                      \
        const packing_t with = {host_##name, host_##isend,     host_##recv, host_##irecv,                    \
                                host_##pack, host_##pack_size, large};                                       \
        return replace(&with, (const uintptr_t[]){ARGUMENTS_##arguments});                                   \
    }
#define DEFINE_EXCHANGE(name, arguments, detail) DEFINE_EXCHANGE_OF(name, arguments, Isend, Recv, Irecv)
#define DEFINE_REPLACE(name, arguments, detail)                                                              \
    DEFINE_REPLACE_OF(name, arguments, Isend, Recv, Irecv, Pack, Pack_size, false)

/* ---- collectives ---- */

#define DEFINE_ENTER(name, arguments, comm)                                                                  \
    static hp_function_t host_##name;                                                                        \
    static int call_##name(PARAMETERS_##arguments)                                                           \
    {                                                                                                        \
        const int code = hp_host_collective_begin((MPI_Comm)comm);                                           \
        return code == MPI_SUCCESS ? CALL(arguments, host_##name, ARGUMENTS_##arguments) : code;             \
    }

/* ---- the table ---- */

#define LARGE_SEND(name, arguments, start) DEFINE_SEND(name##_c, arguments, start##_c)
#define LARGE_RECV(name, arguments, start) DEFINE_RECV(name##_c, arguments, start##_c)
#define LARGE_ENTER(name, arguments, comm) DEFINE_ENTER(name##_c, arguments, comm)
#define LARGE_EXCHANGE(name, arguments, detail)                                                              \
    DEFINE_EXCHANGE_OF(name##_c, arguments, Isend_c, Recv_c, Irecv_c)
#define LARGE_REPLACE(name, arguments, detail)                                                               \
    DEFINE_REPLACE_OF(name##_c, arguments, Isend_c, Recv_c, Irecv_c, Pack_c, Pack_size_c, true)

#define HP_HOST_CALL(kind, name, arguments, detail)          DEFINE_##kind(name, arguments, detail)
#define HP_HOST_LARGE(kind, name, arguments, counts, detail) LARGE_##kind(name, arguments, detail)
#include "pmpi_wrappers/host_calls.def"
#undef HP_HOST_CALL
#undef HP_HOST_LARGE

void hp_host_calls_open(hp_find_fn_t find, hp_function_t *wrapped)
{
#define FIND(name) host_##name = find("PMPI_" #name);
#define INSTALL(name)                                                                                        \
    FIND(name)                                                                                               \
    if (host_##name)                                                                                         \
        wrapped[HP_WRAPPED_##name] = (hp_function_t)call_##name;
#define HP_HOST_CALL(kind, name, arguments, detail)          INSTALL(name)
#define HP_HOST_LARGE(kind, name, arguments, counts, detail) INSTALL(name##_c)
    HELPERS(FIND)
#include "pmpi_wrappers/host_calls.def"
#undef HP_HOST_CALL
#undef HP_HOST_LARGE
#undef FIND
#undef INSTALL
}
