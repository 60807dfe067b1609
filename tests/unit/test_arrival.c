/* test_arrival: who habitually comes late is found by all ranks alike, and forgotten when that is over; chance, or ranks that come
 * evenly spread, change nothing.
 *
 * Each rank has what it would have in a job; what the ranks tell each other is added up here. Time is made up. */
#include "hier/planning/arrival.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 16, PER_NODE = 4, CALL_US = 10000, CALL_BYTES = 1 << 20 };

typedef struct {
    hp_comm_t *comm[RANKS];
    double met_us;
    uint64_t now_us;
    unsigned looks, changes, calls;
    uint32_t late[HP_ARRIVAL_LATE_MAX], late_count; /* as chosen last */
    check_random_t random;
} job_t;

typedef double (*delay_fn_t)(job_t *job, uint32_t rank); /* microseconds behind the first */

static void job_start(job_t *job, const char *test)
{
    hp_locality_t table[RANKS];
    hp_knobs_t knobs;

    *job = (job_t){.met_us = 100, .random = check_random_start(test)};
    hp_knobs_defaults(&knobs);
    knobs.arrival = 1;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        table[rank] = (hp_locality_t){.id = {rank / PER_NODE, 0, 0, 0, rank % PER_NODE}};
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        assert_int_equal(hp_comm_create(rank, RANKS, table, &knobs, NULL, &job->comm[rank]), HP_OK);
        assert_int_equal(hp_arrival_create(job->comm[rank]), HP_OK);
    }
}

static void job_end(job_t *job)
{
    for (uint32_t rank = 0; rank < RANKS; rank++)
        hp_comm_destroy(job->comm[rank]);
}

static void meet(job_t *job)
{
    /* Not at one moment: within met_us; and no two clocks show the same. */
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        const uint64_t offset_ns = (uint64_t)rank * 1000000000000;
        const uint64_t end_ns =
            1000 * (job->now_us + check_random_below(&job->random, 1 + (uint32_t)job->met_us)) + offset_ns;
        hp_arrival_met(job->comm[rank], end_ns - (uint64_t)(1000 * job->met_us), end_ns);
    }
}

static void take(job_t *job, const uint32_t *late, uint32_t count)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        hp_around_t *around = NULL;
        hp_comm_t *comm = job->comm[rank];
        uint32_t members;
        hp_comm_node_ranks(comm, &members);
        if (count)
            assert_int_equal(
                hp_around_create(comm->hierarchy, comm->first_place, members, late, count, &around), HP_OK);
        hp_comm_set_around(comm, around);
    }
}

static void compare(job_t *job)
{
    double sums[HP_ARRIVAL_SUMS] = {0}, late_us[RANKS];
    bool is_anybody = false;

    for (uint32_t rank = 0; rank < RANKS; rank++) {
        double own[HP_ARRIVAL_SUMS];
        hp_arrival_sums(job->comm[rank], own);
        for (unsigned i = 0; i < HP_ARRIVAL_SUMS; i++)
            sums[i] += own[i];
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        late_us[rank] = hp_arrival_lateness(job->comm[rank], sums);
        is_anybody |= late_us[rank] > 0;
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        uint32_t late[HP_ARRIVAL_LATE_MAX] = {0};
        const uint32_t count = hp_arrival_choose(job->comm[rank], is_anybody ? late_us : NULL, late);
        assert_true(rank == 0 ||
                    (count == job->late_count && memcmp(late, job->late, count * sizeof *late) == 0));
        job->late_count = count;
        memcpy(job->late, late, sizeof late);
    }
    job->looks++;
    if (!hp_arrival_is_same(job->comm[0], job->late, job->late_count)) {
        job->changes++;
        take(job, job->late, job->late_count);
    }
}

/* One call: all enter when they are ready, and are in it for CALL_US, those that are early for as long as the last is late, too. */
static void call(job_t *job, delay_fn_t delay)
{
    double delays[RANKS], most = 0;
    hp_arrival_step_t step = HP_ARRIVAL_GO_ON;

    for (uint32_t rank = 0; rank < RANKS; rank++) {
        delays[rank] = delay(job, rank);
        most = delays[rank] > most ? delays[rank] : most;
    }
    job->now_us += 3000; /* the program computes */
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        const uint64_t offset_ns = (uint64_t)rank * 1000000000000;
        const uint64_t entered_ns = 1000 * (job->now_us + (uint64_t)delays[rank]) + offset_ns,
                       left_ns = 1000 * (job->now_us + (uint64_t)most + CALL_US) + offset_ns;
        const hp_arrival_step_t own = hp_arrival_count(job->comm[rank], HP_ALLREDUCE, entered_ns, left_ns);
        assert_true(rank == 0 || own == step);
        step = own;
    }
    job->now_us += (uint64_t)most + CALL_US;
    job->calls++;
    if (step == HP_ARRIVAL_MEET)
        meet(job);
    else if (step == HP_ARRIVAL_COMPARE)
        compare(job);
}

static void calls(job_t *job, unsigned count, delay_fn_t delay)
{
    for (unsigned i = 0; i < count; i++)
        call(job, delay);
}

static double none(job_t *job, uint32_t rank)
{
    (void)rank;
    return check_random_below(&job->random, 200);
}

static double rank_6(job_t *job, uint32_t rank)
{
    return none(job, rank) + (rank == 6 ? CALL_US : 0);
}

/* Too little to become late by, enough to stay. */
static double rank_6_by_a_fifth(job_t *job, uint32_t rank)
{
    return none(job, rank) + (rank == 6 ? CALL_US / 5.0 : 0);
}

static double one_of_all(job_t *job, uint32_t rank)
{
    static uint32_t late;
    if (rank == 0)
        late = check_random_below(&job->random, RANKS);
    return none(job, rank) + (rank == late ? 3 * CALL_US : 0);
}

static double spread(job_t *job, uint32_t rank)
{
    (void)rank;
    return check_random_below(&job->random, 3 * CALL_US);
}

static double a_node(job_t *job, uint32_t rank)
{
    return none(job, rank) + (rank / PER_NODE == 2 ? CALL_US : 0);
}

static double two_far_apart(job_t *job, uint32_t rank)
{
    return none(job, rank) + (rank == 3 || rank == 12 ? CALL_US : 0);
}

/* Found in the first look; nothing changes while it goes on; undone in the next look but one after it has ended. */
static void habit_is_found_and_forgotten(void **state)
{
    (void)state;
    job_t job;
    job_start(&job, "habit");
    calls(&job, HP_ARRIVAL_FIRST + HP_ARRIVAL_CALLS - 1, rank_6);
    assert_null(job.comm[0]->around);
    calls(&job, 1, rank_6);
    assert_int_equal(job.late_count, 1);
    assert_int_equal(job.late[0], 6);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        assert_int_equal(job.comm[rank]->arrival->is_late, rank == 6);
    calls(&job, 1000, rank_6);
    assert_int_equal(job.changes, 1);
    calls(&job, HP_ARRIVAL_PAUSE_LATE + 2 * HP_ARRIVAL_CALLS, none);
    assert_int_equal(job.changes, 2);
    assert_null(job.comm[0]->around);
    calls(&job, 2 * (HP_ARRIVAL_PAUSE + HP_ARRIVAL_CALLS), rank_6); /* and found again */
    assert_int_equal(job.changes, 3);
    job_end(&job);
}

static void looks_are_rare(void **state)
{
    (void)state;
    job_t job;
    job_start(&job, "rare");
    calls(&job, 10000, none);
    assert_int_equal(job.changes, 0);
    assert_in_range(job.looks, 30, 45);
    job_end(&job);
}

static void chance_changes_nothing(void **state)
{
    (void)state;
    static const delay_fn_t delays[] = {one_of_all, spread};
    for (size_t i = 0; i < sizeof delays / sizeof *delays; i++) {
        job_t job;
        job_start(&job, "chance");
        calls(&job, 20000, delays[i]);
        assert_int_equal(job.changes, 0);
        job_end(&job);
    }
}

static void little_is_not_enough_but_keeps(void **state)
{
    (void)state;
    job_t job;
    job_start(&job, "little");
    calls(&job, 1000, rank_6_by_a_fifth);
    assert_int_equal(job.changes, 0);
    calls(&job, 400, rank_6);
    assert_int_equal(job.changes, 1);
    calls(&job, 1000, rank_6_by_a_fifth);
    assert_int_equal(job.changes, 1);
    job_end(&job);
}

/* The ranks have left the meeting so far apart that nothing follows from when they enter. */
static void inexact_meetings_say_nothing(void **state)
{
    (void)state;
    job_t job;
    job_start(&job, "inexact");
    job.met_us = CALL_US;
    calls(&job, 1000, rank_6);
    assert_int_equal(job.changes, 0);
    job_end(&job);
}

static void few_are_gone_around(void **state)
{
    (void)state;
    job_t job;
    job_start(&job, "few");
    calls(&job, 100, a_node); /* who should lead it? */
    assert_int_equal(job.changes, 0);
    calls(&job, 600, two_far_apart);
    assert_int_equal(job.late_count, 2);
    assert_int_equal(job.late[0], 3);
    assert_int_equal(job.late[1], 12);
    job_end(&job);
}

/* Which calls go around: long ones, with an order of the operands that may change, whose root is not late, by trees. */
static void only_some_calls_go_around(void **state)
{
    (void)state;
    job_t job;
    hp_setting_t setting, room;
    hp_setting_default(&setting);
    job_start(&job, "calls");
    hp_comm_t *comm = job.comm[1];
    const hp_algorithm_t *han = hp_algorithm_find(HP_REDUCE, "han"),
                         *all = hp_algorithm_find(HP_ALLREDUCE, "han");
    hp_call_t reduce = {.collective = HP_REDUCE, .count = CALL_BYTES, .type.bytes = 1, .commutative = true};
    hp_call_t allreduce = {
        .collective = HP_ALLREDUCE, .count = CALL_BYTES, .type.bytes = 1, .commutative = true};
    const hp_setting_t *used = &setting;
#define GOES(algorithm, call) (hp_arrival_algorithm(comm, algorithm, &(call), &used, &room) != (algorithm))
    assert_false(GOES(han, reduce));
    take(&job, (const uint32_t[]){6}, 1);
    assert_ptr_equal(hp_arrival_algorithm(comm, han, &reduce, &used, &room), hp_algorithm_around(HP_REDUCE));
    assert_ptr_equal(used, &setting);
    reduce.root = 6;
    assert_false(GOES(han, reduce));
    reduce.root = 5;
    reduce.commutative = false;
    assert_false(GOES(han, reduce));
    reduce.commutative = true;
    reduce.count = HP_ARRIVAL_BYTES - 1;
    assert_false(GOES(han, reduce));
    reduce.count = CALL_BYTES;
    comm->knobs.guard = 0;
    assert_false(GOES(han, reduce));
    comm->knobs.guard = 1;
    comm->knobs.reproducible = 1;
    assert_false(GOES(han, reduce));
    comm->knobs.reproducible = 0;
    comm->knobs.arrival = 0;
    assert_false(GOES(han, reduce));
    comm->knobs.arrival = 1;
    assert_false(GOES(hp_algorithm_find(HP_REDUCE, "flags"), reduce));
    setting.modules.module[HP_LEVEL_NODE] = HP_MODULE_NATIVE;
    assert_false(GOES(han, reduce));
    setting.modules.module[HP_LEVEL_NODE] = HP_MODULE_P2P;
    setting.inter_node = HP_INTER_NODE_rabenseifner;
    assert_true(GOES(all, allreduce));
    assert_true(used == &room && hp_inter_node_is_tree(room.inter_node));
    job_end(&job);
}

/* The report names the rank, how late it was, and how many calls went around it. */
static void report_names_who_was_late(void **state)
{
    (void)state;
    job_t job;
    char text[1000] = "";
    job_start(&job, "report");
    hp_setting_t setting, room;
    const hp_setting_t *used = &setting;
    const hp_call_t bcast = {.collective = HP_BCAST, .count = CALL_BYTES, .type.bytes = 1};
    hp_setting_default(&setting);
    calls(&job, 100, rank_6);
    for (unsigned i = 0; i < 7; i++)
        hp_arrival_algorithm(job.comm[0], hp_algorithm_find(HP_BCAST, "han"), &bcast, &used, &room);
    hp_arrival_keep(job.comm[0]);
    FILE *out = fmemopen(text, sizeof text, "w");
    hp_arrival_print(out);
    fclose(out);
    assert_non_null(strstr(text, "rank 6 of a communicator of 16 ranks on 4 nodes, in allreduce: 9."));
    assert_non_null(strstr(text, "ms behind the mean, in 2 of 2 looks; 7 calls went around it"));
    json_t *list = hp_arrival_json();
    assert_int_equal(json_array_size(list), 1);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "rank")), 6);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "calls_around")), 7);
    json_decref(list);
    hp_arrival_fini();
    job_end(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(habit_is_found_and_forgotten), cmocka_unit_test(looks_are_rare),
        cmocka_unit_test(chance_changes_nothing),       cmocka_unit_test(little_is_not_enough_but_keeps),
        cmocka_unit_test(inexact_meetings_say_nothing), cmocka_unit_test(few_are_gone_around),
        cmocka_unit_test(only_some_calls_go_around),    cmocka_unit_test(report_names_who_was_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
