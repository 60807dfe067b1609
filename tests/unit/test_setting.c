/* test_setting: every number of a setting follows the knob of its name, and the knobs that are 0 leave it
 * alone. */
#include "hier/planning/rules/rule.h"
#include "schedule/generators/generators.h"
#include "check.h"

static hp_setting_t setting_with(hp_knob_id_t id, const char *value)
{
    hp_setting_t setting;
    hp_knobs_t knobs;
    char error[256];

    hp_knobs_defaults(&knobs);
    assert_true(hp_knob_parse(&knobs, id, value, error, sizeof error));
    hp_setting_default(&setting);
    hp_setting_apply(&setting, &knobs);
    return setting;
}

static void knobs_that_are_not_set_change_nothing(void **state)
{
    (void)state;
    const hp_setting_t setting = setting_with(HP_KNOB_ID_segment_bytes, "0");
    assert_int_equal(setting.segment_bytes, 32768);
    assert_int_equal(setting.trees, HP_ROTATIONS_MAX);
    assert_int_equal(setting.leaders, 1);
    assert_int_equal(setting.inter_node, HP_INTER_NODE_tree);
    assert_int_equal(setting.sends_per_child, 4);
    assert_int_equal(setting.recvs_per_parent, 6);
    assert_int_equal(setting.window_segments, 256);
    assert_int_equal(setting.ib_segment_bytes, 0);
    assert_int_equal(setting.ir_segment_bytes, 0);
}

static void knobs_are_applied(void **state)
{
    (void)state;
#define CHECK_APPLIED(field) assert_int_equal(setting_with(HP_KNOB_ID_##field, "7").field, 7)
    CHECK_APPLIED(segment_bytes);
    CHECK_APPLIED(ib_segment_bytes);
    CHECK_APPLIED(ir_segment_bytes);
    CHECK_APPLIED(trees);
    CHECK_APPLIED(leaders);
    CHECK_APPLIED(sends_per_child);
    CHECK_APPLIED(recvs_per_parent);
    CHECK_APPLIED(window_segments);
#undef CHECK_APPLIED
    assert_int_equal(setting_with(HP_KNOB_ID_between_nodes, "ring").inter_node, HP_INTER_NODE_ring);
    assert_int_equal(setting_with(HP_KNOB_ID_shapes, "core:knomial4").shapes.shape[HP_LEVEL_CORE],
                     HP_SHAPE_KNOMIAL4);
    assert_int_equal(setting_with(HP_KNOB_ID_modules, "numa:shm").modules.module[HP_LEVEL_NUMA],
                     HP_MODULE_SHM);
}

static void sends_from_scratch(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    hp_generator_find("ring")->generate(schedule, problem, me);
    schedule->scratch_blocks = schedule->cut;
    schedule->ranges[schedule->steps[1].send.first].space = HP_SPACE_SCRATCH;
}

static void reduces_into_scratch(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    hp_generator_find("ring")->generate(schedule, problem, me);
    schedule->scratch_blocks = schedule->cut;
    schedule->ranges[schedule->steps[1].recv.first].space = HP_SPACE_SCRATCH;
}

/* What came is reduced twice. */
static void keeps_what_came(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    const hp_range_t all = hp_range(HP_SPACE_RECV, 0, 1), aside = hp_range(HP_SPACE_SCRATCH, 0, 1);
    hp_generator_find("recursive_doubling")->generate(schedule, problem, me);
    schedule->scratch_blocks = 1;
    hp_schedule_receive(schedule, 1 - me % 2, aside, HP_ACTION_STORE);
    hp_schedule_local(schedule, me, aside, all, HP_ACTION_REDUCE_LEFT);
    hp_schedule_local(schedule, me, aside, all, HP_ACTION_REDUCE_LEFT);
}

static void reduces_locally(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    hp_generator_find("ring")->generate(schedule, problem, me);
    if (me == 1)
        schedule->steps[0].action = HP_ACTION_REDUCE_LEFT;
}

static void fourth_stream(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    hp_generator_find("ring")->generate(schedule, problem, me);
    for (uint32_t i = 0; i < schedule->step_count; i++)
        schedule->steps[i].stream += 2;
}

/* What the interpreter cannot do is no word, so that nobody runs it. */
static void words_between_nodes(void **state)
{
    hp_generator_t copy = *hp_generator_find("ring");
    (void)state;

    assert_true(hp_inter_node_runs(&copy, HP_PATTERN_ALLREDUCE));
    assert_false(hp_inter_node_runs(&copy, HP_PATTERN_BCAST));
    copy.equal = HP_SERVES(ALLREDUCE);
    assert_false(hp_inter_node_runs(&copy, HP_PATTERN_ALLREDUCE));
    copy.equal = 0;
    copy.generate = fourth_stream;
    assert_true(hp_inter_node_runs(&copy, HP_PATTERN_ALLREDUCE));
    copy.generate = sends_from_scratch;
    assert_false(hp_inter_node_runs(&copy, HP_PATTERN_ALLREDUCE));
    copy.generate = reduces_into_scratch;
    assert_false(hp_inter_node_runs(&copy, HP_PATTERN_ALLREDUCE));
    copy.generate = keeps_what_came;
    assert_false(hp_inter_node_runs(&copy, HP_PATTERN_ALLREDUCE));
    assert_true(hp_inter_node_runs(hp_generator_find("recursive_multiplying"), HP_PATTERN_ALLREDUCE));
    copy.generate = reduces_locally;
    assert_false(hp_inter_node_runs(&copy, HP_PATTERN_ALLREDUCE));
    assert_false(hp_inter_node_runs(hp_generator_find("bruck"), HP_PATTERN_ALLREDUCE));
    assert_true(hp_inter_node_runs(hp_generator_find("circulant_bcast"), HP_PATTERN_BCAST));
    for (unsigned word = 0; hp_inter_node(word) != HP_INTER_NODE_NONE; word++)
        assert_int_equal(hp_inter_node_word(hp_inter_node(word)), word);
    assert_string_equal(hp_inter_node_name(HP_INTER_NODE_circulant), "circulant");
    assert_null(hp_inter_node_generator(HP_INTER_NODE_chain)); /* a tree of that shape */
    assert_false(hp_inter_node_serves(HP_INTER_NODE_ring, HP_BCAST));
    assert_true(hp_inter_node_serves(HP_INTER_NODE_circulant_bcast, HP_BCAST));
    assert_false(hp_inter_node_serves(HP_INTER_NODE_circulant_bcast, HP_REDUCE));
    assert_true(hp_inter_node_is_tree(HP_INTER_NODE_double_tree));
    assert_false(hp_inter_node_is_tree(HP_INTER_NODE_circulant_bcast));
}

/* Lanes of either direction take their own limit. */
static void limits_of_lanes(void **state)
{
    (void)state;
    const hp_setting_t setting = {.sends_per_child = 3, .recvs_per_parent = 5};
    assert_int_equal(hp_setting_lane_limit(&setting, HP_LANE_SEND), 3);
    assert_int_equal(hp_setting_lane_limit(&setting, HP_LANE_RECV), 5);
}

/* Between two nodes a call that is looked at rarely has more in flight; a knob holds, and elsewhere nothing changes. */
static void more_in_flight_between_two_nodes(void **state)
{
    hp_setting_t usual = {.segment_bytes = 7, HP_SETTING_USUAL_PIPELINE}, setting = usual;
    hp_knobs_t knobs;

    (void)state;
    hp_setting_no_knobs(&knobs);
    hp_setting_deepen(&setting, 3, &knobs);
    assert_true(hp_setting_same(&setting, &usual));
    hp_setting_deepen(&setting, 2, &knobs);
    assert_true(setting.sends_per_child > usual.sends_per_child);
    assert_true(setting.recvs_per_parent > setting.sends_per_child);
    assert_int_equal(setting.window_segments, usual.window_segments);
    assert_int_equal(setting.segment_bytes, 7);
    knobs.sends_per_child = knobs.recvs_per_parent = 5;
    setting = usual;
    hp_setting_deepen(&setting, 2, &knobs);
    assert_true(hp_setting_same(&setting, &usual));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knobs_that_are_not_set_change_nothing),
        cmocka_unit_test(knobs_are_applied),
        cmocka_unit_test(words_between_nodes),
        cmocka_unit_test(limits_of_lanes),
        cmocka_unit_test(more_in_flight_between_two_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
