/* test_lockstep: which tasks of which segments make an iteration (lockstep.h has the table), and what is
 * refused. */
#include "tune/tasks/lockstep.h"
#include "hier/executions/execution.h"
#include "hier/planning/rules/rule.h"
#include "check.h"

enum { SEGMENTS = 4, ELEMENTS = 2 * SEGMENTS, TEXT_BYTES = 256 };

/* One rank, alone: its own contribution is the result. */
static hp_status_t copy(hp_transport_t *transport, void *to, const void *from, size_t count,
                        const hp_type_t *type)
{
    (void)transport;
    memcpy(to, from, count * type->bytes);
    return HP_OK;
}

static const hp_transport_ops_t ops = {.copy = copy};
static const int64_t contribution[ELEMENTS] = {1, 2, 3, 4, 5, 6, 7, 8};
static int64_t result[ELEMENTS];

static hp_call_t call_of(hp_collective_t collective)
{
    memset(result, 0, sizeof result);
    return (hp_call_t){.collective = collective,
                       .send = contribution,
                       .recv = result,
                       .count = ELEMENTS,
                       .type = {.bytes = 8, .extent = 8, .true_extent = 8},
                       .commutative = true};
}

static hp_setting_t setting_of(void)
{
    hp_setting_t setting;
    hp_setting_default(&setting);
    setting.segment_bytes = ELEMENTS / SEGMENTS * sizeof *result;
    return setting;
}

static hp_comm_t *create(hp_transport_t *transport)
{
    static const hp_locality_t here;
    hp_comm_t *comm;
    hp_knobs_t knobs;
    hp_knobs_defaults(&knobs);
    *transport = (hp_transport_t){.ops = &ops};
    assert_int_equal(hp_comm_create(0, 1, &here, &knobs, transport, &comm), HP_OK);
    assert_int_equal(hp_executions_create(comm), HP_OK);
    return comm;
}

static hp_start_t start_of(hp_comm_t *comm)
{
    hp_plan_t *plan = comm->executions->plans.first;
    return (hp_start_t){.comm = comm, .request = plan->request, .arena = &plan->arena};
}

static void destroy(hp_comm_t *comm)
{
    hp_executions_destroy(comm);
    hp_comm_destroy(comm);
}

/* All iterations, as "sb0 ib1 | ..."; steps of the node's memory count up where they are taken. */
static void write_iterations(hp_collective_t collective, char *text)
{
    hp_transport_t transport;
    hp_comm_t *comm = create(&transport);
    const hp_start_t start = start_of(comm);
    const hp_call_t call = call_of(collective);
    const hp_setting_t setting = setting_of();
    hp_lockstep_t lockstep;
    uint64_t step = 0;

    assert_int_equal(hp_lockstep_prepare(&lockstep, &start, &call, &setting, UINT64_MAX), HP_OK);
    for (text[0] = '\0'; lockstep.next < lockstep.iterations;) {
        if (lockstep.next)
            strcat(text, "| ");
        assert_int_equal(hp_lockstep_start(&lockstep), HP_OK);
        assert_true(hp_request_done(start.request));
        for (uint32_t i = 0; i < lockstep.part_count; i++) {
            const hp_part_t *part = &lockstep.parts[i];
            if (hp_lockstep_is_intra_node(part->task))
                assert_int_equal(part->step, step++);
            snprintf(text + strlen(text), TEXT_BYTES - strlen(text), "%s%llu ", hp_label_name(part->task),
                     (unsigned long long)part->segment);
        }
    }
    if (collective != HP_BCAST)
        assert_memory_equal(result, contribution, sizeof result);
    destroy(comm);
}

static void iterations_are_those_of_the_paper(void **state)
{
    (void)state;
    char text[TEXT_BYTES];
    write_iterations(HP_BCAST, text);
    assert_string_equal(text, "ib0 | sb0 ib1 | sb1 ib2 | sb2 ib3 | sb3 ");
    write_iterations(HP_REDUCE, text);
    assert_string_equal(text, "sr0 | ir0 sr1 | ir1 sr2 | ir2 sr3 | ir3 ");
    write_iterations(HP_ALLREDUCE, text);
    assert_string_equal(text, "sr0 | ir0 sr1 | ib0 ir1 sr2 | sb0 ib1 ir2 sr3 | sb1 ib2 ir3 | sb2 ib3 | sb3 ");
}

static void refused(void **state)
{
    (void)state;
    hp_transport_t transport;
    hp_comm_t *comm = create(&transport);
    const hp_start_t start = start_of(comm);
    const hp_setting_t setting = setting_of();
    hp_lockstep_t lockstep;
    hp_call_t in_place = call_of(HP_ALLREDUCE), in_order = in_place, empty = in_place;
    const hp_call_t call = call_of(HP_ALLREDUCE);

    in_place.send = in_place.recv;
    in_order.commutative = false;
    empty.count = 0;
    assert_int_equal(hp_lockstep_prepare(&lockstep, &start, &in_place, &setting, UINT64_MAX), HP_ERR_ARG);
    assert_int_equal(hp_lockstep_prepare(&lockstep, &start, &in_order, &setting, UINT64_MAX), HP_ERR_ARG);
    assert_int_equal(hp_lockstep_prepare(&lockstep, &start, &empty, &setting, UINT64_MAX), HP_ERR_ARG);
    assert_int_equal(hp_lockstep_prepare(&lockstep, &start, &call, &setting, SEGMENTS + 2), HP_ERR_ARG);
    assert_int_equal(hp_lockstep_prepare(&lockstep, &start, &call, &setting, SEGMENTS + 3), HP_OK);
    destroy(comm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iterations_are_those_of_the_paper),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
