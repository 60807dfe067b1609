/* tax: what a call that passes through costs more than the bare call of the host MPI.
 *
 * Calls MPI_X (the library's, when it is loaded) and the host MPI's PMPI_X (looked up in its library) in turns, in batches,
 * and prints the least time per call of each and the difference, in nanoseconds. That the calls passed, and why, is checked
 * by the library's statistics. Run it on two ranks, which the library must take for two nodes:
 *
 *   HANPMPI_TOPOLOGY="node:2 core:1" HANPMPI_MODEL=0 LD_PRELOAD=libhanpmpi.so mpirun -np 2 tax [limit ns]
 *
 * once more with HANPMPI_ENABLE=0, and once with HANPMPI_PROFILE: then it is what recording a call costs, too. Exit code 1:
 * a call did not pass as expected, or its tax is above the limit. Rank 0 measures, and is the root, so that it need not wait
 * for rank 1. Calls that the library intercepts on some MPIs for non-blocking collectives (MPI_Send, ...) have nothing to do
 * here, and none is in flight.
 *
 *   tax --count      no times: calls MPI_X alone, for callgrind; tests/instructions/tax.py reads what it says */
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef TAX_CALLGRIND
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION (void)0
#define CALLGRIND_STOP_INSTRUMENTATION  (void)0
#define CALLGRIND_DUMP_STATS_AT(name)   (void)(name)
#endif

enum {
    BATCHES = 100,
    CALLS = 50,
    COUNTS = 5,
    COUNTED_CALLS = 20,
    SETTLING_CALLS = 200,
    LONG_BYTES = 4096,
    SETUP_BYTES = 1 << 18
};

typedef void (*function_t)(void);
typedef int (*bcast_t)(void *, int, MPI_Datatype, int, MPI_Comm);
typedef int (*allreduce_t)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
typedef int (*barrier_t)(MPI_Comm);
typedef int (*gather_t)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, int, MPI_Comm);
typedef int (*alltoallv_t)(const void *, const int *, const int *, MPI_Datatype, void *, const int *,
                           const int *, MPI_Datatype, MPI_Comm);
typedef int (*size_t_t)(MPI_Comm, int *);
typedef int (*send_t)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int (*recv_t)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
typedef int (*wait_t)(MPI_Request *, MPI_Status *);
typedef int (*test_t)(MPI_Request *, int *, MPI_Status *);
typedef int (*isend_t)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
typedef int (*irecv_t)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
typedef int (*waitall_t)(int, MPI_Request *, MPI_Status *);

static char data[SETUP_BYTES], result[sizeof(double)];
static MPI_Request none = MPI_REQUEST_NULL;
static int rank;

/* ---- the library's statistics ---- */

static const char *(*backend)(void);
static int (*get_outcome)(const char *collective, unsigned outcome, const char **word, uint64_t *calls);

static bool is_active(void)
{
    return backend && strcmp(backend(), "none") != 0;
}

/* Calls of the collective on this process that came out so. */
static uint64_t outcomes(const char *collective, const char *wanted)
{
    const char *word;
    uint64_t calls;
    for (unsigned i = 0; get_outcome(collective, i, &word, &calls) == 0; i++)
        if (strcmp(word, wanted) == 0)
            return calls;
    return 0;
}

/* ---- the calls ---- */

static void call_bcast(function_t bcast, MPI_Comm comm)
{
    ((bcast_t)bcast)(data, 1, MPI_DOUBLE, 0, comm);
}

static void call_long_bcast(function_t bcast, MPI_Comm comm)
{
    ((bcast_t)bcast)(data, LONG_BYTES, MPI_BYTE, 0, comm);
}

static void call_allreduce(function_t allreduce, MPI_Comm comm)
{
    ((allreduce_t)allreduce)(data, result, 1, MPI_DOUBLE, MPI_SUM, comm);
}

__attribute__((noinline)) static void call_barrier(function_t barrier, MPI_Comm comm)
{
    ((barrier_t)barrier)(comm);
    __asm__ volatile(""); /* no jump */
}

/* One call, which is reached on many ways: another one each time. */
#define WAY(n)                                                                                               \
    __attribute__((noinline)) static void way_##n(function_t barrier, MPI_Comm comm)                         \
    {                                                                                                        \
        call_barrier(barrier, comm);                                                                         \
        __asm__ volatile("" ::"i"(n));                                                                       \
    }
#define EACH_WAY(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
EACH_WAY(WAY)

static void call_on_ways(function_t barrier, MPI_Comm comm)
{
    static void (*const ways[])(function_t, MPI_Comm) = {
#define NAME(n) way_##n,
        EACH_WAY(NAME)
#undef NAME
    };
    static unsigned next;
    ways[next++ % (sizeof ways / sizeof *ways)](barrier, comm);
}

static void call_gather(function_t gather, MPI_Comm comm)
{
    ((gather_t)gather)(result, 1, MPI_DOUBLE, data, 1, MPI_DOUBLE, 0, comm);
}

static void call_alltoallv(function_t alltoallv, MPI_Comm comm)
{
    static const int counts[2], displacements[2];
    ((alltoallv_t)alltoallv)(data, counts, displacements, MPI_DOUBLE, result, counts, displacements,
                             MPI_DOUBLE, comm);
}

static void call_comm_size(function_t comm_size, MPI_Comm comm)
{
    int size;
    ((size_t_t)comm_size)(comm, &size);
}

static void call_send(function_t send, MPI_Comm comm)
{
    ((send_t)send)(data, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, comm);
}

static void call_recv(function_t recv, MPI_Comm comm)
{
    ((recv_t)recv)(data, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE);
}

static void call_wait(function_t wait, MPI_Comm comm)
{
    (void)comm;
    ((wait_t)wait)(&none, MPI_STATUS_IGNORE);
}

static void call_test(function_t test, MPI_Comm comm)
{
    int flag;
    (void)comm;
    ((test_t)test)(&none, &flag, MPI_STATUS_IGNORE);
}

/* Two calls: what is started is waited for, by ours or by the host MPI's. */
static function_t host_wait, host_waitall;

static void call_isend(function_t isend, MPI_Comm comm)
{
    const function_t wait = isend == (function_t)MPI_Isend ? (function_t)MPI_Wait : host_wait;
    MPI_Request request;
    ((isend_t)isend)(data, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, comm, &request);
    ((wait_t)wait)(&request, MPI_STATUS_IGNORE);
}

static void call_irecv(function_t irecv, MPI_Comm comm)
{
    const function_t waitall = irecv == (function_t)MPI_Irecv ? (function_t)MPI_Waitall : host_waitall;
    MPI_Request request;
    ((irecv_t)irecv)(data, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, comm, &request);
    ((waitall_t)waitall)(1, &request, MPI_STATUSES_IGNORE);
}

static void call_waitall(function_t waitall, MPI_Comm comm)
{
    MPI_Request two[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    (void)comm;
    ((waitall_t)waitall)(2, two, MPI_STATUSES_IGNORE);
}

/* outcome NULL: no collective, the library counts nothing. */
typedef struct {
    const char *outcome, *collective;
    const char *name; /* of the host MPI's; "+": of the first of two */
    function_t ours;
    void (*call)(function_t function, MPI_Comm comm);
    MPI_Comm comm;
} call_t;

static bool is_pair(const call_t *call)
{
    return strchr(call->name, '+');
}

/* The first loaded libmpi that defines PMPI_Bcast. */
static int find_host_mpi(struct dl_phdr_info *object, size_t size, void *found)
{
    const char *base = strrchr(object->dlpi_name, '/');
    (void)size;
    if (!base || strncmp(base, "/libmpi", 7) != 0)
        return 0;
    void *handle = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle || !dlsym(handle, "PMPI_Bcast"))
        return 0;
    *(void **)found = handle;
    return 1;
}

/* ---- measuring ---- */

static double batch(const call_t *call, function_t function)
{
    PMPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int i = 0; i < CALLS; i++)
        call->call(function, call->comm);
    return (MPI_Wtime() - start) / CALLS * 1e9;
}

static function_t function_of(void *library, const char *name)
{
    char first[64];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(name, "+"), name);
    return (function_t)dlsym(library, first);
}

/* Of one call, in ns: the difference of the least times. Whatever else the machine does makes a batch longer, never
 * shorter. */
static double tax_of(const call_t *call, function_t host, const char *outcome)
{
    double ours = 1e30, bare = 1e30;
    for (int i = 0; i < BATCHES; i++) {
        const double first = batch(call, i & 1 ? host : call->ours);
        const double second = batch(call, i & 1 ? call->ours : host);
        const double ours_now = i & 1 ? second : first, bare_now = i & 1 ? first : second;
        ours = ours_now < ours ? ours_now : ours;
        bare = bare_now < bare ? bare_now : bare;
    }
    if (rank == 0)
        printf("%-9s %-13s %8.1f ns, bare %8.1f ns, tax %6.1f ns%s\n", outcome, call->name + 5, ours, bare,
               ours - bare, is_pair(call) ? " of two" : "");
    return rank == 0 ? (ours - bare) / (is_pair(call) ? 2 : 1) : 0;
}

/* Several times: the least is what the call itself takes, without what the guard does now and then. */
static void count(const call_t *call, const char *outcome)
{
    char name[64];
    snprintf(name, sizeof name, "%s/%s", outcome, call->name + 5);
    call->call(call->ours, call->comm); /* the dynamic linker looks it up */
    for (int i = 0; i < COUNTS; i++) {
        CALLGRIND_START_INSTRUMENTATION;
        for (int k = 0; k < COUNTED_CALLS; k++)
            call->call(call->ours, call->comm);
        CALLGRIND_DUMP_STATS_AT(name);
        CALLGRIND_STOP_INSTRUMENTATION;
    }
    if (rank == 0)
        printf("%s %d\n", name, COUNTED_CALLS);
}

/* False: it did not pass, or not for the reason expected. The guard takes a look at the library now and then. */
static bool measure(const call_t *call, void *library, bool counts, double *worst)
{
    const bool watched = is_active() && call->outcome;
    const char *outcome = !call->outcome ? "-" : is_active() ? call->outcome : "inactive";
    const uint64_t before = watched ? outcomes(call->collective, outcome) : 0;

    if (counts) {
        count(call, outcome);
    } else {
        const double tax = tax_of(call, function_of(library, call->name), outcome);
        *worst = tax > *worst ? tax : *worst;
    }
    if (!watched)
        return true;
    const uint64_t calls = counts ? COUNTS * COUNTED_CALLS + 1 : BATCHES * CALLS;
    const uint64_t passed = outcomes(call->collective, outcome) - before;
    if (passed == calls || (strcmp(outcome, "guard") == 0 && passed >= calls / 2))
        return true;
    fprintf(stderr, "tax: rank %d: %llu of %llu calls of %s came out as \"%s\"\n", rank,
            (unsigned long long)passed, (unsigned long long)calls, call->name, outcome);
    return false;
}

/* A duplicate of MPI_COMM_WORLD with a hint, on which the library has been set up where it can be. */
static MPI_Comm with_hint(const char *key, const char *value)
{
    MPI_Info info;
    MPI_Comm comm;
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Info_free(&info);
    MPI_Bcast(data, SETUP_BYTES, MPI_BYTE, 0, comm);
    return comm;
}

int main(int argc, char **argv)
{
    const bool counts = argc > 1 && strcmp(argv[1], "--count") == 0;
    void *library = NULL;
    double worst = 0;
    bool passed = true;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    dl_iterate_phdr(find_host_mpi, &library);
    if (!library) {
        fprintf(stderr, "tax: no libmpi with PMPI_Bcast is loaded\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    *(void **)&backend = dlsym(RTLD_DEFAULT, "hanpmpi_backend");
    *(void **)&get_outcome = dlsym(RTLD_DEFAULT, "hanpmpi_get_outcome");

    const char *enable = getenv("HANPMPI_ENABLE");
    if (!backend || is_active() == (enable && strcmp(enable, "0") == 0)) {
        fprintf(stderr, "tax: the library is not loaded, or not as active as HANPMPI_ENABLE says\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }

    MPI_Comm plain = with_hint("hanpmpi_guard", "0"); /* no rule for 8 bytes */
    MPI_Comm native = with_hint("hanpmpi", "off");
    MPI_Comm ungathered = with_hint("hanpmpi_gather", "native");
    MPI_Comm guarded =
        with_hint("hanpmpi_segment_bytes", "16"); /* so slow that the guard takes the host MPI */
    for (int i = 0; i < SETTLING_CALLS; i++)
        call_long_bcast((function_t)MPI_Bcast, guarded);

    const function_t bcast = (function_t)MPI_Bcast, allreduce = (function_t)MPI_Allreduce,
                     barrier = (function_t)MPI_Barrier, gather = (function_t)MPI_Gather;
    const call_t calls[] = {
        {"one-rank", "bcast", "PMPI_Bcast", bcast, call_bcast, MPI_COMM_SELF},
        {"one-rank", "allreduce", "PMPI_Allreduce", allreduce, call_allreduce, MPI_COMM_SELF},
        {"one-rank", "barrier", "PMPI_Barrier", barrier, call_barrier, MPI_COMM_SELF},
        {"one-rank", "gather", "PMPI_Gather", gather, call_gather, MPI_COMM_SELF},
        {"rule", "bcast", "PMPI_Bcast", bcast, call_bcast, plain},
        {"hint", "bcast", "PMPI_Bcast", bcast, call_bcast, native},
        {"hint", "allreduce", "PMPI_Allreduce", allreduce, call_allreduce, native},
        {"hint", "barrier", "PMPI_Barrier", barrier, call_barrier, native},
        {"hint", "gather", "PMPI_Gather", gather, call_gather, ungathered},
        {"hint", "alltoallv", "PMPI_Alltoallv", (function_t)MPI_Alltoallv, call_alltoallv, native},
        {"guard", "bcast", "PMPI_Bcast", bcast, call_long_bcast, guarded},
        {NULL, NULL, "PMPI_Barrier", barrier, call_on_ways, native},
        {NULL, NULL, "PMPI_Comm_size", (function_t)MPI_Comm_size, call_comm_size, MPI_COMM_WORLD},
        {NULL, NULL, "PMPI_Send", (function_t)MPI_Send, call_send, MPI_COMM_WORLD},
        {NULL, NULL, "PMPI_Bsend", (function_t)MPI_Bsend, call_send,
         MPI_COMM_WORLD}, /* a recording's alone */
        {NULL, NULL, "PMPI_Recv", (function_t)MPI_Recv, call_recv, MPI_COMM_WORLD},
        {NULL, NULL, "PMPI_Wait", (function_t)MPI_Wait, call_wait, MPI_COMM_WORLD},
        {NULL, NULL, "PMPI_Test", (function_t)MPI_Test, call_test, MPI_COMM_WORLD},
        {NULL, NULL, "PMPI_Waitall", (function_t)MPI_Waitall, call_waitall, MPI_COMM_WORLD},
        {NULL, NULL, "PMPI_Isend+Wait", (function_t)MPI_Isend, call_isend, MPI_COMM_WORLD},
        {NULL, NULL, "PMPI_Irecv+Waitall", (function_t)MPI_Irecv, call_irecv, MPI_COMM_WORLD},
    };
    host_wait = function_of(library, "PMPI_Wait");
    host_waitall = function_of(library, "PMPI_Waitall");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (!counts || !is_pair(&calls[i]))
            passed = measure(&calls[i], library, counts, &worst) && passed;
    MPI_Comm_free(&guarded);
    MPI_Comm_free(&ungathered);
    MPI_Comm_free(&native);
    MPI_Comm_free(&plain);
    MPI_Finalize();
    return !passed || (!counts && argc > 1 && worst > atof(argv[1]));
}
