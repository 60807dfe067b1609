/* test_comm_registry: backend/comms/comm_registry.c as it is, over an MPI that knows nothing but attributes. In what order do
 * states go at the end, and what does a call find meanwhile? */
#include "check.h"
#include "pmpi_wrappers/backend/comms/comm_registry.h"
#include "pmpi_wrappers/backend/comms/private_comm.h"
#include "pmpi_wrappers/backend/comms/shared_comm.h"

enum { COMMS = 4 };

static void *attributes[COMMS + 1]; /* of communicator 1, 2, ... */
static MPI_Comm_delete_attr_function *on_delete;
static int released[COMMS], released_count;

static MPI_Comm comm_of(int number)
{
    return HP_UNHANDLE(MPI_Comm, (hp_handle_t)number);
}

static int number_of(MPI_Comm comm)
{
    return (int)HP_HANDLE(comm);
}

/* ---- the MPI ---- */

static int create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *delete, int *key,
                         void *extra)
{
    (void)copy;
    (void)extra;
    on_delete = delete;
    *key = 1;
    return MPI_SUCCESS;
}

static int set_attr(MPI_Comm comm, int key, void *value)
{
    (void)key;
    attributes[number_of(comm)] = value;
    return MPI_SUCCESS;
}

static int get_attr(MPI_Comm comm, int key, void *value, int *found)
{
    (void)key;
    *found = attributes[number_of(comm)] != NULL;
    if (*found)
        *(void **)value = attributes[number_of(comm)];
    return MPI_SUCCESS;
}

static int delete_attr(MPI_Comm comm, int key)
{
    void *value = attributes[number_of(comm)];
    attributes[number_of(comm)] = NULL;
    return on_delete(comm, key, value, NULL);
}

/* ---- what the registry asks of the other files ---- */

bool hp_comm_state_init(hp_comm_state_t *state, MPI_Comm comm)
{
    (void)comm;
    state->id = 0;
    return true;
}

uint64_t hp_private_comm_count(void)
{
    return 0;
}

uint64_t hp_shared_comm_count(void)
{
    return 0;
}

static void release(hp_comm_state_t *state)
{
    released[released_count++] = (int)state->key;
    hp_comm_registry_remove(state);
}

/* ---- tests ---- */

/* First used in this order on this rank; set up, and given their ids, in the order 3, 1, 4; 2 never was. */
static void states_go_in_the_order_of_their_ids(void **unused)
{
    static const uint64_t ids[COMMS + 1] = {0, 20, 0, 10, 30};
    static const int expected[COMMS] = {2, 3, 1, 4};
    (void)unused;

    for (int number = 1; number <= COMMS; number++)
        hp_comm_state_find(comm_of(number))->id = ids[number];
    for (hp_comm_state_t *state; (state = hp_comm_registry_first());)
        hp_comm_registry_delete(state);
    assert_int_equal(released_count, COMMS);
    assert_memory_equal(released, expected, sizeof expected);
}

static void a_communicator_that_is_freed_gets_no_state(void **unused)
{
    (void)unused;

    hp_comm_state_t *state = hp_comm_state_find(comm_of(1));
    assert_ptr_equal(hp_comm_registry_known(comm_of(1)), state);
    hp_comm_registry_delete(state);
    assert_null(hp_comm_registry_known(comm_of(1)));
    hp_dying_t outer, inner; /* what is freed in a callback of the other */
    hp_comm_registry_begin_dying(&outer, comm_of(1));
    assert_int_equal(hp_comm_state_find(comm_of(1))->always, HP_OUTCOME_INACTIVE);
    hp_comm_registry_begin_dying(&inner, comm_of(3));
    assert_int_equal(hp_comm_state_find(comm_of(1))->always, HP_OUTCOME_INACTIVE);
    assert_int_equal(hp_comm_state_find(comm_of(3))->always, HP_OUTCOME_INACTIVE);
    hp_comm_registry_end_dying(&inner);
    assert_int_equal(hp_comm_state_find(comm_of(1))->always, HP_OUTCOME_INACTIVE);
    hp_comm_registry_end_dying(&outer);
    assert_ptr_equal(hp_comm_state_find(comm_of(2)), state); /* the same memory, for the next one */
    hp_comm_registry_delete(state);
}

/* What a persistent collective runs on: it goes as the others do, but without the MPI. */
static void a_state_without_a_communicator_is_not_found(void **unused)
{
    static const int expected[] = {1, 0};
    (void)unused;

    hp_comm_state_t *own = hp_comm_state_find(comm_of(1)), *added = hp_comm_registry_add(comm_of(1));
    own->id = 1;
    added->id = 2;
    assert_ptr_equal(hp_comm_state_find(comm_of(1)), own);
    assert_ptr_equal(hp_comm_registry_known(comm_of(1)), own);
    for (hp_comm_state_t *state; (state = hp_comm_registry_first());)
        hp_comm_registry_delete(state);
    assert_int_equal(released_count, 2);
    assert_memory_equal(released, expected, sizeof expected);
}

static int start(void **unused)
{
    (void)unused;
    released_count = 0;
    hp_mpi_calls[HP_MPI_CALL_Comm_create_keyval] = (hp_function_t)create_keyval;
    hp_mpi_calls[HP_MPI_CALL_Comm_set_attr] = (hp_function_t)set_attr;
    hp_mpi_calls[HP_MPI_CALL_Comm_get_attr] = (hp_function_t)get_attr;
    hp_mpi_calls[HP_MPI_CALL_Comm_delete_attr] = (hp_function_t)delete_attr;
    return !hp_comm_registry_init(release);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(states_go_in_the_order_of_their_ids, start),
        cmocka_unit_test_setup(a_communicator_that_is_freed_gets_no_state, start),
        cmocka_unit_test_setup(a_state_without_a_communicator_is_not_found, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
