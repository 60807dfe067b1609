/* test_transport_mpi: what cancel leaves behind, and who makes Open MPI take its fragments back, with the types of some mpi.h and, in the place of the MPI, functions
 * in which nothing completes before the test says so. */
#include "check.h"
#include "pmpi_wrappers/backend/glue/machine.h"
#include "pmpi_wrappers/backend/glue/transport_mpi.h"

#ifdef OPEN_MPI /* whose constants are addresses of objects in its library */
struct ompi_predefined_request_t {
    char any;
} ompi_request_null;
struct ompi_predefined_communicator_t {
    char any;
} ompi_mpi_comm_null;
struct ompi_predefined_errhandler_t {
    char any;
} ompi_mpi_errors_return;
#endif

hp_function_t hp_mpi_calls[HP_MPI_CALL_COUNT];
bool hp_host_yields(void)
{
    return false;
}
const bool hp_ranks_take_turns = true; /* so that cancel does not wait */

enum { OPERATIONS = 8 };
static struct {
    bool complete, cancelled, freed;
} operations[OPERATIONS];
static int posted;
static bool cancels_recvs;

/* Handles are ints or pointers; the numbers 1, 2, ... serve as either. */
static MPI_Request handle_of(int number)
{
    return HP_UNHANDLE(MPI_Request, (hp_handle_t)number + 1);
}
static int number_of(MPI_Request request)
{
    return (int)HP_HANDLE(request) - 1;
}

static int post(MPI_Request *request)
{
    assert_true(posted < OPERATIONS);
    *request = handle_of(posted++);
    return MPI_SUCCESS;
}

static int fake_isend(const void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                      MPI_Request *request)
{
    (void)buffer, (void)count, (void)type, (void)peer, (void)tag, (void)comm;
    return post(request);
}

static int fake_irecv(void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                      MPI_Request *request)
{
    (void)buffer, (void)count, (void)type, (void)peer, (void)tag, (void)comm;
    return post(request);
}

static int fake_ibarrier(MPI_Comm comm, MPI_Request *request)
{
    (void)comm;
    return post(request);
}

static int fake_cancel(MPI_Request *request)
{
    operations[number_of(*request)].cancelled = true;
    return MPI_SUCCESS;
}

static int fake_test(MPI_Request *request, int *flag, MPI_Status *status)
{
    (void)status;
    const int i = number_of(*request);
    *flag = operations[i].complete || (operations[i].cancelled && cancels_recvs);
    if (*flag)
        *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

static int fake_request_free(MPI_Request *request)
{
    operations[number_of(*request)].freed = true;
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

static int set_up(void **state)
{
    (void)state;
    memset(operations, 0, sizeof operations);
    posted = 0;
    cancels_recvs = true;
    hp_mpi_calls[HP_MPI_CALL_Isend] = (hp_function_t)fake_isend;
    hp_mpi_calls[HP_MPI_CALL_Irecv] = (hp_function_t)fake_irecv;
    hp_mpi_calls[HP_MPI_CALL_Ibarrier] = (hp_function_t)fake_ibarrier;
    hp_mpi_calls[HP_MPI_CALL_Cancel] = (hp_function_t)fake_cancel;
    hp_mpi_calls[HP_MPI_CALL_Test] = (hp_function_t)fake_test;
    hp_mpi_calls[HP_MPI_CALL_Request_free] = (hp_function_t)fake_request_free;
    return 0;
}

static void start(hp_transport_mpi_t *transport)
{
    static char buffer[8];
    const hp_type_t bytes = {.bytes = 1, .extent = 1, .true_extent = 1};
    const hp_route_t route = hp_route_direct(HP_UNHANDLE(MPI_Comm, (hp_handle_t)0), 0);

    hp_transport_mpi_init(transport, &route);
    const hp_transport_ops_t *ops = transport->base.ops;
    assert_int_equal(ops->isend(&transport->base, buffer, 8, &bytes, 1, 0, buffer), HP_OK);
    assert_int_equal(ops->irecv(&transport->base, buffer, 8, &bytes, 1, 0, buffer), HP_OK);
    assert_int_equal(
        ops->icollective(&transport->base, HP_NATIVE_BARRIER, 0, NULL, NULL, 0, &bytes, 0, 0, buffer), HP_OK);
}

/* A send and a collective go on after cancel: their buffers are in use until the MPI says otherwise. */
static void what_cannot_be_cancelled_is_tested_until_it_ends(void **state)
{
    (void)state;
    hp_transport_mpi_t transport;
    start(&transport);
    const hp_transport_ops_t *ops = transport.base.ops;

    ops->cancel(&transport.base);
    assert_int_equal(transport.in_flight, 0);
    assert_true(operations[1].cancelled);
    assert_false(operations[0].freed);
    assert_false(ops->ended(&transport.base));
    operations[0].complete = true;
    assert_false(ops->ended(&transport.base));
    operations[2].complete = true;
    assert_true(ops->ended(&transport.base));
    hp_transport_mpi_fini(&transport);
    assert_false(operations[0].freed);
}

/* A receive whose message is on its way when it is cancelled may take as long as its sender likes. */
static void a_receive_that_goes_on_does_not_block(void **state)
{
    (void)state;
    hp_transport_mpi_t transport;
    cancels_recvs = false;
    start(&transport);
    operations[0].complete = operations[2].complete = true;
    transport.base.ops->cancel(&transport.base);
    assert_false(transport.base.ops->ended(&transport.base));
    operations[1].complete = true;
    assert_true(transport.base.ops->ended(&transport.base));
    hp_transport_mpi_fini(&transport);
}

/* At the end of the communicator sends that never end are left to the MPI. */
static void what_never_ends_is_left_to_the_mpi(void **state)
{
    (void)state;
    hp_transport_mpi_t transport;
    start(&transport);
    transport.base.ops->cancel(&transport.base);
    hp_transport_mpi_fini(&transport);
    assert_true(operations[0].freed);
    assert_false(operations[2].freed); /* a collective must not be */
}

static int probes;

static int count_probe(int source, int tag, MPI_Comm comm, int *found, MPI_Status *status)
{
    (void)source, (void)tag, (void)comm, (void)status;
    probes++;
    *found = 0;
    return MPI_SUCCESS;
}

static int isend_at_once(const void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                         MPI_Request *request)
{
    (void)buffer, (void)count, (void)type, (void)peer, (void)tag, (void)comm;
    *request = handle_of(0);
    return MPI_SUCCESS;
}

static int testsome_none(int count, MPI_Request *requests, int *completed, int *indices, MPI_Status *statuses)
{
    (void)count, (void)requests, (void)indices, (void)statuses;
    *completed = 0;
    return MPI_SUCCESS;
}

static int testsome_all(int count, MPI_Request *requests, int *completed, int *indices, MPI_Status *statuses)
{
    (void)requests, (void)statuses;
    for (int i = 0; i < count; i++)
        indices[i] = i;
    *completed = count;
    return MPI_SUCCESS;
}

/* Sends that are complete at once, so that nothing ever waits: Open MPI takes its small fragments back all the same. */
static void sends_alone_make_progress(void **state)
{
    (void)state;
    enum { SENDS = 512, TAKEN_BACK = 31 };
    static char buffer[4096];
    const hp_type_t bytes = {.bytes = 1, .extent = 1, .true_extent = 1};
    const hp_route_t route = hp_route_direct(HP_UNHANDLE(MPI_Comm, (hp_handle_t)0), 0);
    hp_transport_mpi_t transport;
    void *done[8];
    uint32_t count;

    hp_mpi_calls[HP_MPI_CALL_Isend] = (hp_function_t)isend_at_once;
    hp_mpi_calls[HP_MPI_CALL_Testsome] = (hp_function_t)testsome_all;
    hp_mpi_calls[HP_MPI_CALL_Iprobe] = (hp_function_t)count_probe;
    hp_transport_mpi_init(&transport, &route);
    const hp_transport_ops_t *ops = transport.base.ops;
    for (size_t size = 8; size <= sizeof buffer; size += sizeof buffer - 8) {
        probes = 0;
        for (int i = 0; i < SENDS; i++) {
            assert_int_equal(ops->isend(&transport.base, buffer, size, &bytes, 1, 0, buffer), HP_OK);
            if (i % 3) /* one or two to a poll */
                assert_int_equal(ops->poll(&transport.base, done, 8, &count), HP_OK);
        }
#ifdef OPEN_MPI
        if (size == 8)
            assert_true(probes * TAKEN_BACK >= SENDS - TAKEN_BACK);
        else
            assert_int_equal(probes, 0);
#else
        assert_int_equal(probes, 0);
#endif
    }
    /* Nor is a probe needed where the polls find nothing: each is as good as one. */
    probes = 0;
    for (int i = 0; i < SENDS; i++) {
        assert_int_equal(ops->isend(&transport.base, buffer, 8, &bytes, 1, 0, buffer), HP_OK);
        if (i % 8 == 0) {
            hp_mpi_calls[HP_MPI_CALL_Testsome] = (hp_function_t)testsome_none;
            assert_int_equal(ops->poll(&transport.base, done, 8, &count), HP_OK);
            hp_mpi_calls[HP_MPI_CALL_Testsome] = (hp_function_t)testsome_all;
        }
        assert_int_equal(ops->poll(&transport.base, done, 8, &count), HP_OK);
    }
    assert_int_equal(probes, 0);
    hp_transport_mpi_fini(&transport);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_cannot_be_cancelled_is_tested_until_it_ends, set_up),
        cmocka_unit_test_setup(a_receive_that_goes_on_does_not_block, set_up),
        cmocka_unit_test_setup(what_never_ends_is_left_to_the_mpi, set_up),
        cmocka_unit_test_setup(sends_alone_make_progress, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
