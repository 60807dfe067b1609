/* device: buffers in the memory of an accelerator, on all ranks or on some, in every form of call.
 *
 * usage: device DRIVER OTHER GROUP... ; DRIVER: the fake libcuda.so.1 (fake_cuda.h), which this program loads after the
 * library has begun to work; OTHER: any other library. The groups are in the table below. Each is collective over
 * MPI_COMM_WORLD. Only with the library: the host MPIs of the tests know nothing of devices. */
#include "groups.h"

#include <dlfcn.h>
#include "fake_cuda.h"

static const char *driver_file, *other_file;
static const fake_cuda_t *cuda;

static void load_driver(void)
{
    if (cuda)
        return;
    void *handle = dlopen(driver_file, RTLD_NOW | RTLD_LOCAL);
    CHECK(handle, "%s", dlerror());
    cuda = dlsym(handle, FAKE_CUDA_SYMBOL);
    CHECK(cuda, "%s has no %s", driver_file, FAKE_CUDA_SYMBOL);
}

/* ---- who has what on the device ---- */

typedef enum { NOBODY, EVERYBODY, ROOT, LAST, ALL_BUT_ROOT, PLACES } place_t;
static const char *const place_names[] = {"nobody", "everybody", "the root", "the last rank",
                                          "all but the root"};

static bool is_here(place_t place, int rank, int size, int root)
{
    return place == EVERYBODY || (place == ROOT && rank == root) || (place == LAST && rank == size - 1) ||
           (place == ALL_BUT_ROOT && rank != root);
}

/* A buffer and what is expected to be in it, gaps too. */
typedef struct {
    char *at, *expected;
    size_t bytes;
    bool is_device;
} buffer_t;

static buffer_t make_buffer(size_t bytes, bool is_device, fake_kind_t kind)
{
    buffer_t buffer = {.expected = malloc(bytes), .bytes = bytes, .is_device = is_device};
    buffer.at = is_device ? cuda->allocate(bytes, kind) : malloc(bytes);
    CHECK(buffer.at && buffer.expected, "out of memory");
    memset(buffer.expected, 0xa5, bytes);
    return buffer;
}

static void write_buffer(const buffer_t *buffer)
{
    if (buffer->is_device)
        cuda->copy(buffer->at, buffer->expected, buffer->bytes);
    else
        memcpy(buffer->at, buffer->expected, buffer->bytes);
}

static void check_and_free(const buffer_t *buffer, const char *what)
{
    char *got = malloc(buffer->bytes);
    CHECK(got, "out of memory");
    if (buffer->is_device)
        cuda->copy(got, buffer->at, buffer->bytes);
    else
        memcpy(got, buffer->at, buffer->bytes);
    for (size_t i = 0; i < buffer->bytes; i++)
        CHECK(got[i] == buffer->expected[i], "%s: byte %zu is %d, expected %d", what, i, got[i],
              buffer->expected[i]);
    free(got);
    free(buffer->expected);
    if (buffer->is_device)
        cuda->release(buffer->at);
    else
        free(buffer->at);
}

/* ---- calls ---- */

typedef enum { BLOCKING, NONBLOCKING, PERSISTENT, FORMS } form_t;
static const char *const form_names[] = {"blocking", "non-blocking", "persistent"};

typedef enum { BCAST, REDUCE, ALLREDUCE, COLLECTIVES } collective_t;
static const char *const names[] = {"bcast", "reduce", "allreduce"};

typedef struct {
    collective_t collective;
    form_t form;
    const void *send;
    void *recv;
    int count, root;
    MPI_Datatype datatype;
    MPI_Op op;
    MPI_Comm comm;
} call_t;

static void start(const call_t *call, MPI_Request *request)
{
    if (call->form == NONBLOCKING) {
        if (call->collective == BCAST)
            CHECK_MPI(MPI_Ibcast(call->recv, call->count, call->datatype, call->root, call->comm, request));
        else if (call->collective == REDUCE)
            CHECK_MPI(MPI_Ireduce(call->send, call->recv, call->count, call->datatype, call->op, call->root,
                                  call->comm, request));
        else
            CHECK_MPI(MPI_Iallreduce(call->send, call->recv, call->count, call->datatype, call->op,
                                     call->comm, request));
        return;
    }
#if HP_HAS_PERSISTENT
    if (call->collective == BCAST)
        CHECK_MPI(MPI_Bcast_init(call->recv, call->count, call->datatype, call->root, call->comm,
                                 MPI_INFO_NULL, request));
    else if (call->collective == REDUCE)
        CHECK_MPI(MPI_Reduce_init(call->send, call->recv, call->count, call->datatype, call->op, call->root,
                                  call->comm, MPI_INFO_NULL, request));
    else
        CHECK_MPI(MPI_Allreduce_init(call->send, call->recv, call->count, call->datatype, call->op,
                                     call->comm, MPI_INFO_NULL, request));
    CHECK_MPI(MPI_Start(request));
#endif
}

static void run_blocking(const call_t *call)
{
    if (call->collective == BCAST)
        CHECK_MPI(MPI_Bcast(call->recv, call->count, call->datatype, call->root, call->comm));
    else if (call->collective == REDUCE)
        CHECK_MPI(MPI_Reduce(call->send, call->recv, call->count, call->datatype, call->op, call->root,
                             call->comm));
    else
        CHECK_MPI(MPI_Allreduce(call->send, call->recv, call->count, call->datatype, call->op, call->comm));
}

/* The library must take it, wherever the buffers are. */
static void run(const call_t *call, const char *what)
{
    const uint64_t before = hp_lib_stats(names[call->collective]).taken;
    MPI_Request request = MPI_REQUEST_NULL;

    if (call->form == BLOCKING)
        run_blocking(call);
    else {
        start(call, &request);
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (request != MPI_REQUEST_NULL)
            CHECK_MPI(MPI_Request_free(&request));
    }
    CHECK(hp_lib_stats(names[call->collective]).taken == before + 1, "%s: was not taken", what);
}

static MPI_Comm make_comm(const char *algorithm, const char *modules)
{
    int one = 1, sum;
    MPI_Comm comm = hp_comm_dup_hinted(
        MPI_COMM_WORLD,
        (const char *const[]){HANPMPI_HINT_BCAST, algorithm, HANPMPI_HINT_REDUCE, algorithm,
                              HANPMPI_HINT_ALLREDUCE, algorithm, HANPMPI_HINT_MODULES, modules, NULL});
    CHECK_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    return comm;
}

/* ---- one case of each kind ---- */

/* count doubles, plain or one in two of a vector's. */
static void check_bcast(MPI_Comm comm, form_t form, place_t place, fake_kind_t kind, int root, int count,
                        bool has_gaps, const char *what)
{
    const int rank = hp_comm_rank(comm), size = hp_comm_size(comm), stride = has_gaps ? 2 : 1;
    MPI_Datatype vector;
    CHECK_MPI(MPI_Type_vector(count, 1, stride, MPI_DOUBLE, &vector));
    CHECK_MPI(MPI_Type_commit(&vector));
    buffer_t buffer =
        make_buffer((size_t)(count * stride) * sizeof(double), is_here(place, rank, size, root), kind);
    double *values = (double *)buffer.expected;
    for (int i = 0; i < count && rank == root; i++)
        values[i * stride] = i + root;
    write_buffer(&buffer);
    for (int i = 0; i < count; i++)
        values[i * stride] = i + root;
    const call_t call = {.collective = BCAST,
                         .form = form,
                         .recv = buffer.at,
                         .count = has_gaps ? 1 : count,
                         .root = root,
                         .datatype = has_gaps ? vector : MPI_DOUBLE,
                         .comm = comm};
    run(&call, what);
    check_and_free(&buffer, what);
    CHECK_MPI(MPI_Type_free(&vector));
}

typedef struct {
    double value;
    int index;
} pair_t; /* MPI_DOUBLE_INT: four bytes of each are a gap */

static void set_pair(char *at, double value, int index)
{
    memcpy(at + offsetof(pair_t, value), &value, sizeof value);
    memcpy(at + offsetof(pair_t, index), &index, sizeof index);
}

static void set_pairs(buffer_t *buffer, int count, int rank)
{
    for (int i = 0; i < count; i++)
        set_pair(buffer->expected + (size_t)i * sizeof(pair_t), rank * (i % 3 - 1), rank);
}

static void set_result(buffer_t *buffer, int count, int size)
{
    for (int i = 0; i < count; i++)
        set_pair(buffer->expected + (size_t)i * sizeof(pair_t), i % 3 == 2 ? size - 1 : 0,
                 i % 3 == 2 ? size - 1 : 0);
}

/* The largest of pairs, and who has it. */
static void check_reduction(MPI_Comm comm, collective_t collective, form_t form, place_t sends,
                            place_t receives, fake_kind_t kind, int root, int count, bool in_place,
                            const char *what)
{
    const int rank = hp_comm_rank(comm), size = hp_comm_size(comm);
    const bool has_result = collective == ALLREDUCE || rank == root;
    const size_t bytes = (size_t)count * sizeof(pair_t);
    buffer_t send = make_buffer(bytes, is_here(sends, rank, size, root), kind);
    buffer_t recv = make_buffer(bytes, is_here(receives, rank, size, root), kind);
    set_pairs(&send, count, rank);
    set_pairs(&recv, count, in_place ? rank : -7);
    write_buffer(&send);
    write_buffer(&recv);
    if (has_result)
        set_result(&recv, count, size);
    const call_t call = {.collective = collective,
                         .form = form,
                         .send = in_place && has_result ? MPI_IN_PLACE : send.at,
                         .recv = has_result ? recv.at : NULL,
                         .count = count,
                         .root = root,
                         .datatype = MPI_DOUBLE_INT,
                         .op = MPI_MAXLOC,
                         .comm = comm};
    run(&call, what);
    check_and_free(&send, what);
    check_and_free(&recv, what);
}

/* ---- groups ---- */

/* Everything, for the algorithm and the modules. */
static void check_all(const char *algorithm, const char *modules)
{
    static const int counts[] = {1, 5, 500};
    MPI_Comm comm = make_comm(algorithm, modules);
    const int size = hp_comm_size(comm);
    char what[200];

    for (form_t form = 0; form < (HP_HAS_PERSISTENT ? FORMS : PERSISTENT); form++)
        for (place_t place = 0; place < PLACES; place++)
            for (int i = 0; i < 3; i++) {
                const int count = counts[i], root = (int)place % size;
                for (int gaps = 0; gaps < 2; gaps++) {
                    snprintf(what, sizeof what, "%s %s: %s bcast of %d, gaps %d, %s on the device", algorithm,
                             modules, form_names[form], count, gaps, place_names[place]);
                    check_bcast(comm, form, place, i == 1 ? FAKE_POOL : FAKE_DEVICE, root, count, gaps, what);
                }
                for (int in_place = 0; in_place < 2; in_place++) {
                    const place_t other = in_place ? place : (place + 2) % PLACES;
                    snprintf(what, sizeof what,
                             "%s %s: %s reduction of %d, in place %d, send of %s, recv of %s", algorithm,
                             modules, form_names[form], count, in_place, place_names[place],
                             place_names[other]);
                    check_reduction(comm, REDUCE, form, place, other, FAKE_DEVICE, root, count, in_place,
                                    what);
                    check_reduction(comm, ALLREDUCE, form, place, other, FAKE_POOL, root, count, in_place,
                                    what);
                }
            }
    CHECK_MPI(MPI_Comm_free(&comm));
    CHECK_EQUAL(cuda->left_over(), 0, "contexts and streams that are left over");
}

static void group_p2p(void)
{
    load_driver();
    check_all("han", "package:p2p core:p2p");
}

static void group_shm(void)
{
    load_driver();
    check_all("han", "package:shm core:shm");
}

static void group_single_copy(void)
{
    load_driver();
    check_all("han", "package:single_copy core:single_copy");
}

static void host_calls(MPI_Comm comm, int rounds)
{
    char what[] = "on the host";
    for (int i = 0; i < rounds; i++) {
        check_bcast(comm, BLOCKING, NOBODY, FAKE_DEVICE, 0, 10, i % 2, what);
        check_reduction(comm, REDUCE, BLOCKING, NOBODY, NOBODY, FAKE_DEVICE, 0, 10, false, what);
        check_reduction(comm, ALLREDUCE, BLOCKING, NOBODY, NOBODY, FAKE_DEVICE, 0, 10, i % 2, what);
    }
}

/* The driver comes when the communicator is long set up, and other libraries have come and gone; on one rank earlier than
 * on the others. Host memory is reduced by the library all the while: run() checks that. Must be the first group. */
static void group_late(void)
{
    MPI_Comm comm = make_comm("han", "core:single_copy");
    CHECK(!cuda, "another group came before");
    host_calls(comm, 10);
    void *other = dlopen(other_file, RTLD_NOW | RTLD_LOCAL);
    CHECK(other, "%s", dlerror());
    host_calls(comm, 700); /* long enough that nobody looks at it any more */
    dlclose(other);
    host_calls(comm, 10);
    other = dlopen(other_file, RTLD_NOW | RTLD_LOCAL);
    if (hp_comm_rank(comm) == 1)
        load_driver();
    check_bcast(comm, BLOCKING, hp_comm_rank(comm) == 1 ? EVERYBODY : NOBODY, FAKE_DEVICE, 0, 1000, false,
                "the driver on rank 1 alone");
    load_driver();
    host_calls(comm, 10);
    check_bcast(comm, BLOCKING, EVERYBODY, FAKE_DEVICE, 0, 1000, false, "the driver on all ranks");
    check_reduction(comm, ALLREDUCE, BLOCKING, EVERYBODY, EVERYBODY, FAKE_DEVICE, 0, 1000, false,
                    "the driver on all ranks");
    dlclose(other);
    CHECK_MPI(MPI_Comm_free(&comm));
}

/* Pinned memory is the host's and is not copied, managed memory is. */
static void group_kinds(void)
{
    load_driver();
    MPI_Comm comm = make_comm("han", "core:single_copy");
    const long before = cuda->copies();
    check_bcast(comm, BLOCKING, EVERYBODY, FAKE_PINNED, 0, 1000, false, "pinned");
    CHECK_EQUAL(cuda->copies(), before, "copies for pinned memory");
    check_bcast(comm, BLOCKING, EVERYBODY, FAKE_MANAGED, 0, 1000, false, "managed");
    CHECK_EQUAL(cuda->copies(), before + 1, "copies for managed memory");
    check_reduction(comm, ALLREDUCE, NONBLOCKING, EVERYBODY, EVERYBODY, FAKE_MANAGED, 0, 1000, false,
                    "managed");
    CHECK_MPI(MPI_Comm_free(&comm));
}

/* Types with absolute addresses, with a lower bound below the buffer, with elements that run backwards or overlap; another type
 * on each rank. */
static void group_types(void)
{
    enum { COUNT = 40 };
    load_driver();
    MPI_Comm comm = make_comm("han", "core:shm");
    const int rank = hp_comm_rank(comm);

    for (int kind = 0; kind < 4; kind++) {
        MPI_Datatype inner, type;
        buffer_t buffer = make_buffer(4 * COUNT * sizeof(double), true, FAKE_DEVICE);
        double *values = (double *)buffer.expected;
        char *at = buffer.at;
        int count = COUNT, first = 0, step = 1;
        MPI_Aint address;
        if (kind == 0) { /* pairs of doubles, each 3 behind the other, from MPI_BOTTOM */
            CHECK_MPI(MPI_Get_address(at, &address));
            CHECK_MPI(MPI_Type_vector(COUNT, 1, 3, MPI_DOUBLE, &inner));
            CHECK_MPI(MPI_Type_create_struct(1, (int[]){1}, &address, &inner, &type));
            CHECK_MPI(MPI_Type_free(&inner));
            at = MPI_BOTTOM;
            count = 1;
            step = 3;
        } else if (kind == 1) { /* lies 16 bytes below the address */
            CHECK_MPI(MPI_Type_create_struct(1, (int[]){1}, (MPI_Aint[]){-16}, (MPI_Datatype[]){MPI_DOUBLE},
                                             &inner));
            CHECK_MPI(MPI_Type_create_resized(inner, -16, 16, &type));
            CHECK_MPI(MPI_Type_free(&inner));
            at += 16;
            step = 2;
        } else if (kind == 2) { /* backwards */
            CHECK_MPI(MPI_Type_create_resized(MPI_DOUBLE, 0, -16, &type));
            first = 2 * (COUNT - 1);
            step = -2;
            at += first * (int)sizeof(double);
        } else { /* each element reaches into the next one's gap */
            CHECK_MPI(MPI_Type_vector(2, 1, 3, MPI_DOUBLE, &inner));
            CHECK_MPI(MPI_Type_create_resized(inner, 0, 8, &type));
            CHECK_MPI(MPI_Type_free(&inner));
            count = 3;
        }
        CHECK_MPI(MPI_Type_commit(&type));
        for (int pass = 0; pass < 2; pass++) { /* before: the root's alone */
            for (int i = 0; i < COUNT && (pass == 1 || rank == 0); i++) {
                if (kind < 3)
                    values[first + i * step] = i;
                else if (i < 3)
                    values[i] = i, values[i + 3] = i + 3;
            }
            if (pass == 0)
                write_buffer(&buffer);
        }
        const call_t call = {.collective = BCAST, .recv = at, .count = count, .datatype = type, .comm = comm};
        run(&call, "an unusual type");
        check_and_free(&buffer, "an unusual type");
        CHECK_MPI(MPI_Type_free(&type));
    }
    CHECK_MPI(MPI_Comm_free(&comm));
}

/* Gaps belong to the program: what it writes there while the collective is in flight stays. */
static void group_gaps(void)
{
    enum { COUNT = 2000 };
    load_driver();
    MPI_Comm comm = make_comm("han", "core:shm");
    MPI_Datatype column;
    CHECK_MPI(MPI_Type_vector(COUNT, 1, 2, MPI_DOUBLE, &column));
    CHECK_MPI(MPI_Type_commit(&column));
    const int rank = hp_comm_rank(comm);
    buffer_t buffer = make_buffer(2 * COUNT * sizeof(double), true, FAKE_DEVICE);
    double *values = (double *)buffer.expected;
    for (int i = 0; i < 2 * COUNT; i++)
        values[i] = rank == 0 ? i : -1;
    write_buffer(&buffer);
    MPI_Request requests[2];
    CHECK_MPI(MPI_Ibcast(buffer.at, 1, column, 0, comm, &requests[0]));
    CHECK_MPI(MPI_Ibcast(buffer.at + sizeof(double), 1, column, 0, comm, &requests[1]));
    CHECK_MPI(MPI_Type_free(&column));
    CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 2 * COUNT; i++)
        values[i] = i;
    check_and_free(&buffer, "two columns at a time");
    CHECK_MPI(MPI_Comm_free(&comm));
}

static int handled;

static void count_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    handled++;
}

/* A copy back that fails is an error of that rank; a host's calls go on. */
static void group_failure(void)
{
    load_driver();
    MPI_Comm comm = make_comm("han", "core:shm");
    MPI_Errhandler handler;
    CHECK_MPI(MPI_Comm_create_errhandler(count_error, &handler));
    CHECK_MPI(MPI_Comm_set_errhandler(comm, handler));
    MPI_Errhandler old; /* MPI_Wait of both MPIs reports such an error to MPI_COMM_WORLD's, too */
    CHECK_MPI(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &old));
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    double *values = cuda->allocate(1000 * sizeof *values, FAKE_DEVICE);
    const bool fails = hp_comm_rank(comm) == 1;

    cuda->fail_after(fails ? 0 : -1);
    int code = MPI_Bcast(values, 1000, MPI_DOUBLE, 0, comm);
    CHECK(fails == (code != MPI_SUCCESS), "a copy that fails: %s", hp_error_text(code));
    CHECK_EQUAL(handled, fails, "calls of the error handler");
    MPI_Request request;
    CHECK_MPI(MPI_Ibcast(values, 1000, MPI_DOUBLE, 0, comm, &request));
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(fails == (code != MPI_SUCCESS), "a copy that fails: %s", hp_error_text(code));
    CHECK_EQUAL(handled, 2 * fails, "calls of the error handler");
    cuda->fail_after(-1);
    host_calls(comm, 2);
    CHECK_EQUAL(cuda->left_over(), 0, "contexts and streams that are left over");
    cuda->release(values);
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, old));
    CHECK_MPI(MPI_Errhandler_free(&old));
    CHECK_MPI(MPI_Errhandler_free(&handler));
    CHECK_MPI(MPI_Comm_free(&comm));
}

static const hp_group_t groups[] = {
    {"late", group_late},   {"p2p", group_p2p},     {"shm", group_shm},   {"single_copy", group_single_copy},
    {"kinds", group_kinds}, {"types", group_types}, {"gaps", group_gaps}, {"failure", group_failure},
};

int main(int argc, char **argv)
{
    CHECK_MPI(MPI_Init(&argc, &argv));
    CHECK(argc >= 3, "usage: device DRIVER OTHER GROUP...");
    driver_file = argv[1];
    other_file = argv[2];
    argv[2] = argv[0];
    int code = hp_groups_run(argc - 2, argv + 2, groups, sizeof groups / sizeof *groups);
    CHECK_MPI(MPI_Finalize());
    return code;
}
