/* test_tune_search: the four searches on a machine whose times are known exactly. */
#include "fixture.h"
#include "tune/work.h"

/* A pipeline: a latency, a hop more for chains, and a steady time a segment. The host MPI's is fast for short
 * messages. What is odd on purpose: single_copy is slow, so shm is always the choice. */
static double pipeline_clock(const tune_key_t *key, const tune_config_t *config)
{
    const double bytes = (double)key->bytes, segment = (double)config->segment_bytes;

    if (config->algorithm == TUNE_NATIVE)
        return 10 + bytes * 0.05;
    if (config->algorithm == TUNE_FLAT)
        return 50 + bytes * 0.1;
    const double hops = config->way == TUNE_WAY_chain ? 3 : config->way == TUNE_WAY_linear ? 1 : 2;
    const double sends = config->way == TUNE_WAY_chain ? 1 : config->way == TUNE_WAY_linear ? 3 : 2;
    const double segments = bytes > segment ? bytes / segment : 1, part = bytes > segment ? segment : bytes;
    const double us = (hops + segments - 1) * (30 + sends * part * 0.0084);
    return config->inside == TUNE_INSIDE_SINGLE_COPY ? 3 * us : us;
}

static void run(fixture_t *fixture, tune_search_id_t id, tune_search_t *search)
{
    tune_curves_t curves;
    tune_curves_init(&curves, fixture->lists);
    tune_search_run(&fixture->lab, id, search, &curves);
    tune_curves_fini(&curves);
}

static double best_us(const fixture_t *fixture, int size)
{
    double best = 1e30;
    for (int i = 0; i < fixture->lists[TUNE_BCAST].count; i++) {
        const tune_key_t key = {.bytes = fixture->options.messages.bytes[size]};
        const double us = pipeline_clock(&key, &fixture->lists[TUNE_BCAST].configs[i]);
        best = us < best ? us : best;
    }
    return best;
}

/* At most `share` above the best at every size. */
static void check_choices(const fixture_t *fixture, const tune_search_t *search, double share)
{
    assert_true(search->complete);
    for (int size = 0; size < fixture->options.messages.count; size++) {
        const tune_choice_t *choice = &search->choices[TUNE_BCAST][size];
        const tune_key_t key = {.bytes = fixture->options.messages.bytes[size]};
        assert_true(choice->config >= 0);
        const double us = pipeline_clock(&key, &fixture->lists[TUNE_BCAST].configs[choice->config]);
        if (us > (1 + share) * best_us(fixture, size))
            fail_msg("%zu bytes: %s takes %.1f us, the best %.1f", key.bytes,
                     fixture->lists[TUNE_BCAST].configs[choice->config].id, us, best_us(fixture, size));
        assert_int_equal(search->choices[TUNE_REDUCE][size].config, -1); /* not asked for */
    }
}

static void test_all_find_the_best(void **state)
{
    const struct {
        tune_search_id_t id;
        double share; /* what it may be off */
    } cases[] = {{TUNE_SEARCH_EXHAUSTIVE, 0},
                 {TUNE_SEARCH_TASK, 0.01},
                 {TUNE_SEARCH_HEURISTIC, 0.2},
                 {TUNE_SEARCH_TASK_HEURISTIC, 0.2}};
    (void)state;

    for (unsigned i = 0; i < ARRAY_LENGTH(cases); i++) {
        fixture_t fixture;
        tune_search_t search;
        fixture_init(&fixture, 4, WORDS("--collective=bcast"), pipeline_clock);
        run(&fixture, cases[i].id, &search);
        check_choices(&fixture, &search, cases[i].share);
        fixture_fini(&fixture);
    }
}

/* What they cost: HAN, figure 8; both shares with a third of it to spare for noise. */
static void test_costs(void **state)
{
    fixture_t fixture;
    tune_search_t searches[TUNE_SEARCHES];
    (void)state;

    fixture_init(&fixture, 4, WORDS("--collective=bcast,allreduce"), pipeline_clock);
    for (int id = 0; id < TUNE_SEARCHES; id++)
        run(&fixture, (tune_search_id_t)id, &searches[id]);
    const double all = searches[TUNE_SEARCH_EXHAUSTIVE].cost.seconds;
    assert_true(searches[TUNE_SEARCH_HEURISTIC].cost.seconds < 0.27 * all);
    assert_true(searches[TUNE_SEARCH_TASK].cost.seconds < 0.17 * all);
    assert_true(searches[TUNE_SEARCH_TASK_HEURISTIC].cost.seconds < 0.06 * all);
    fixture_fini(&fixture);
}

/* What two searches share is measured once and paid by both. */
static void test_measurements_are_shared(void **state)
{
    fixture_t fixture;
    tune_search_t first, second;
    (void)state;

    fixture_init(&fixture, 4, WORDS("--collective=bcast", "--bytes=4,64K"), pipeline_clock);
    run(&fixture, TUNE_SEARCH_EXHAUSTIVE, &first);
    assert_int_equal(fixture.measured, first.cost.measurements);
    run(&fixture, TUNE_SEARCH_HEURISTIC, &second);
    assert_int_equal(fixture.measured, first.cost.measurements);
    assert_true(second.cost.measurements > 0 && second.cost.measurements < first.cost.measurements);
    fixture_fini(&fixture);
}

/* Out of time: whole sizes only, from both ends inwards. */
static void test_broken_off(void **state)
{
    fixture_t fixture;
    tune_search_t search;
    int done = 0;
    (void)state;

    fixture_init(&fixture, 4, WORDS("--collective=bcast", "--bytes=4:1M"), pipeline_clock);
    fixture.most = 100;
    run(&fixture, TUNE_SEARCH_EXHAUSTIVE, &search);
    assert_false(search.complete);
    for (int size = 0; size < fixture.options.messages.count; size++)
        done += search.choices[TUNE_BCAST][size].config >= 0;
    assert_in_range(done, 2, fixture.options.messages.count - 1);
    assert_true(search.choices[TUNE_BCAST][0].config >= 0);
    assert_true(search.choices[TUNE_BCAST][fixture.options.messages.count - 1].config >= 0);
    fixture.most = 0;
    run(&fixture, TUNE_SEARCH_TASK, &search);
    assert_false(search.complete);
    for (int size = 0; size < fixture.options.messages.count; size++) /* nobody knows what the MPI takes */
        assert_int_equal(search.choices[TUNE_BCAST][size].config, -1);
    fixture_fini(&fixture);
}

static double passing_clock(const tune_key_t *key, const tune_config_t *config)
{
    (void)key;
    return config->algorithm == TUNE_NATIVE ? 5 : 4;
}

/* What the library does not run is no choice. */
static void measure_passed(void *context, tune_record_t *record)
{
    fixture_measure(context, record);
    const fixture_t *fixture = context;
    if (fixture->lists[record->key.collective].configs[record->key.config].algorithm == TUNE_HAN)
        record->count = 0;
}

static void test_passed_through(void **state)
{
    (void)state;
    for (int id = 0; id < TUNE_SEARCHES; id++) {
        fixture_t fixture;
        tune_search_t search;
        fixture_init(&fixture, 4, WORDS("--collective=bcast", "--bytes=4,1M"), passing_clock);
        fixture.lab.measure = measure_passed;
        run(&fixture, (tune_search_id_t)id, &search);
        assert_int_equal(search.choices[TUNE_BCAST][0].config, 0);
        assert_int_equal(search.choices[TUNE_BCAST][1].config, 0);
        fixture_fini(&fixture);
    }
}

/* ---- blocks ---- */

/* What has few rounds is fast for short blocks, rings for long ones, han best between, flat hopeless everywhere. */
static double blocks_clock(const tune_key_t *key, const tune_config_t *config)
{
    const double bytes = (double)key->bytes;

    if (config->algorithm == TUNE_NATIVE)
        return 500 + bytes;
    const double us = config->way == TUNE_WAY_ring ? 200 + bytes * 0.1 : 50 + bytes * 0.4;
    return config->algorithm == TUNE_FLAT ? 100 + 5 * us : us + config->leaders;
}

static bool is_measured(const fixture_t *fixture, const char *id, size_t bytes)
{
    const tune_key_t key = {TUNE_KIND_TASK, TUNE_ALLGATHER, fixture_config(fixture, TUNE_ALLGATHER, id), -1,
                            bytes};
    return tune_book_find(&fixture->lab.book, &key) != NULL;
}

static void test_blocks(void **state)
{
    fixture_t fixture;
    tune_search_t all, few;
    (void)state;

    fixture_init(&fixture, 4, WORDS("--collectives=allgather"), blocks_clock);
    run(&fixture, TUNE_SEARCH_EXHAUSTIVE, &all);
    run(&fixture, TUNE_SEARCH_TASK, &few);
    assert_true(all.complete && few.complete);
    assert_int_equal(all.cost.measurements,
                     fixture.lists[TUNE_ALLGATHER].count * fixture.options.blocks.count);
    assert_true(few.cost.measurements < 0.7 * all.cost.measurements);
    for (int size = 0; size < fixture.options.blocks.count; size++)
        assert_true(few.choices[TUNE_ALLGATHER][size].us == all.choices[TUNE_ALLGATHER][size].us);
    /* Behind at 4 and 64 bytes, it is not measured between them; who is not there is, as is the host MPI's. */
    assert_true(is_measured(&fixture, "flat-bruck", 4));
    assert_false(is_measured(&fixture, "flat-bruck", 32));
    assert_true(is_measured(&fixture, "native", 32));
    assert_true(is_measured(&fixture, "han-bruck-l16", 32));
    fixture_fini(&fixture);
}

/* Up to 1 KiB pairwise and neighbour exchange are the fastest for blocks, beyond that xor and the ring (Bruck's alltoall is
 * faster, but no part of an allreduce); of all allreduces those that
 * have them inside. */
static double routines_clock(const tune_key_t *key, const tune_config_t *config)
{
    const bool is_short = key->bytes <= 1024;

    if (key->collective == TUNE_ALLREDUCE)
        return config->is_joined ? 1 : 2;
    if (config->algorithm != TUNE_FLAT || config->words[0])
        return 3;
    if (key->collective == TUNE_ALLTOALL)
        return config->way == (is_short ? TUNE_WAY_pairwise : TUNE_WAY_pairwise_xor) ? 1
               : config->way == TUNE_WAY_bruck                                       ? 0.5
                                                                                     : 2;
    return config->way == (is_short ? TUNE_WAY_neighbour_exchange : TUNE_WAY_ring) ? 1 : 2;
}

/* Of the allreduce's configurations that are made of two those that were measured at the size: each has these parts. */
static int joined_of(const fixture_t *fixture, size_t bytes, tune_way_t alltoall, tune_way_t allgather)
{
    const tune_list_t *list = &fixture->lists[TUNE_ALLREDUCE];
    int count = 0;

    for (int config = 0; config < list->count; config++) {
        const tune_config_t *joined = &list->configs[config];
        const tune_key_t key = {TUNE_KIND_DIRECT, TUNE_ALLREDUCE, config, -1, bytes};
        if (!joined->is_joined || !tune_book_find(&fixture->lab.book, &key))
            continue;
        assert_int_equal(joined->way, allgather);
        assert_true(joined->reduces == alltoall || joined->reduces == TUNE_WAY_circulant ||
                    joined->reduces == TUNE_WAY_rabenseifner);
        count++;
    }
    return count;
}

/* Blocks are searched first, however the collectives are named; then allreduces with what was the fastest for a fourth. */
static void test_routines(void **state)
{
    fixture_t fixture;
    tune_search_t search;
    (void)state;

    fixture_init(&fixture, 4,
                 WORDS("--routines", "--collectives=allreduce,allgather,alltoall",
                       "--bytes=512,1K,4K,16K,64K", "--modules=shm", "--segments=64K"),
                 routines_clock);
    run(&fixture, TUNE_SEARCH_EXHAUSTIVE, &search);
    assert_true(search.complete);
    assert_int_equal(joined_of(&fixture, 4096, TUNE_WAY_pairwise, TUNE_WAY_neighbour_exchange), 3);
    assert_int_equal(joined_of(&fixture, 65536, TUNE_WAY_pairwise_xor, TUNE_WAY_ring), 3);
    for (int size = 0; size < fixture.options.messages.count; size++)
        assert_true(
            fixture.lists[TUNE_ALLREDUCE].configs[search.choices[TUNE_ALLREDUCE][size].config].is_joined);
    fixture_fini(&fixture);
    /* Nobody knows what is fast inside. */
    fixture_init(&fixture, 4, WORDS("--routines", "--collectives=allreduce", "--bytes=4K"), routines_clock);
    run(&fixture, TUNE_SEARCH_EXHAUSTIVE, &search);
    assert_int_equal(joined_of(&fixture, 4096, TUNE_WAYS, TUNE_WAYS), 0);
    fixture_fini(&fixture);
}

/* What is far away tells nothing: sizes 64 times as long each have everything measured. */
static void test_sparse_sizes(void **state)
{
    fixture_t fixture;
    tune_search_t search;
    (void)state;

    fixture_init(&fixture, 4, WORDS("--collectives=allgather", "--bytes=4,256,16K,1M"), blocks_clock);
    run(&fixture, TUNE_SEARCH_TASK, &search);
    assert_int_equal(search.cost.measurements, 4 * fixture.lists[TUNE_ALLGATHER].count);
    fixture_fini(&fixture);
}

/* All take as long as the host MPI's, but in a measurement by itself one of them seems faster. */
static double lucky_clock(const tune_key_t *key, const tune_config_t *config)
{
    return key->kind != TUNE_KIND_PAIR && strcmp(config->id, "flat-ring") == 0 ? 90 : 100;
}

static void test_luck_is_no_choice(void **state)
{
    fixture_t fixture;
    tune_search_t search;
    (void)state;

    fixture_init(&fixture, 4, WORDS("--collectives=allgather", "--bytes=64"), lucky_clock);
    run(&fixture, TUNE_SEARCH_EXHAUSTIVE, &search);
    assert_int_equal(search.choices[TUNE_ALLGATHER][0].config,
                     fixture_config(&fixture, TUNE_ALLGATHER, "flat-ring"));
    run(&fixture, TUNE_SEARCH_TASK, &search);
    assert_int_equal(search.choices[TUNE_ALLGATHER][0].config, 0);
    assert_true(search.choices[TUNE_ALLGATHER][0].us == 100);
    fixture_fini(&fixture);
    fixture_init(&fixture, 4, WORDS("--routines", "--collectives=allgather", "--bytes=64"),
                 lucky_clock); /* rules are made of it */
    run(&fixture, TUNE_SEARCH_EXHAUSTIVE, &search);
    assert_int_equal(search.choices[TUNE_ALLGATHER][0].config, 0);
    fixture_fini(&fixture);
}

static int with_limit;

/* The first measurement of a size, the host MPI's, has none. */
static void measure_limited(void *context, tune_record_t *record)
{
    fixture_measure(context, record);
    assert_true(record->key.config > 0 || record->enough_us == 0);
    assert_true(record->enough_us <=
                1.5 * (500 + (double)record->key.bytes)); /* no worse than the host MPI's */
    with_limit += record->enough_us > 0;
}

/* A meter may stop early what is far behind the best so far; when everything is to be measured it may not. */
static void test_limits(void **state)
{
    fixture_t fixture;
    tune_search_t search;
    (void)state;

    fixture_init(&fixture, 4, WORDS("--collectives=allgather", "--bytes=64"), blocks_clock);
    fixture.lab.measure = measure_limited;
    with_limit = 0;
    run(&fixture, TUNE_SEARCH_EXHAUSTIVE, &search);
    assert_int_equal(with_limit, 0);
    run(&fixture, TUNE_SEARCH_TASK, &search);
    assert_int_equal(with_limit, fixture.lists[TUNE_ALLGATHER].count - 1);
    assert_true(fixture.lab.enough_us == 0);
    fixture_fini(&fixture);
}

static fixture_t *shared;
static int shares[64], share_count;

/* Nothing is left of a share but what it takes to measure 20 times. */
static void share(void *context, int parts)
{
    shared = context;
    shares[share_count++] = parts;
    shared->most = shared->measured + 20;
}

static void test_shares(void **state)
{
    const int expected[] = {3, 2, 1,
                            1, 1, 1}; /* allgather is not done in its share; the others are not, either */
    fixture_t fixture;
    tune_search_t search;
    (void)state;

    fixture_init(&fixture, 4, WORDS("--collectives=bcast,barrier,allgather"), blocks_clock);
    fixture.lab.share = share;
    share_count = 0;
    run(&fixture, TUNE_SEARCH_TASK, &search);
    assert_false(search.complete);
    assert_int_equal(share_count, 6); /* barrier is complete in the first round */
    assert_memory_equal(shares, expected, sizeof expected);
    assert_true(search.choices[TUNE_BARRIER][0].config >= 0);
    fixture.lab.share = NULL;
    fixture.most = 1000000;
    tune_search_t rest;
    const int before = fixture.measured;
    run(&fixture, TUNE_SEARCH_TASK, &rest); /* goes on: what is known is not measured again */
    assert_true(rest.complete);
    assert_true(fixture.measured - before < rest.cost.measurements);
    fixture_fini(&fixture);
}

static void test_long_calls_are_few(void **state)
{
    const tune_options_t options = {.repeat = 3};
    (void)state;

    assert_int_equal(tune_repetitions_of(&options, TUNE_KIND_DIRECT, 1024, 100), 60);
    assert_int_equal(tune_repetitions_of(&options, TUNE_KIND_DIRECT, 1024, 50000), 20);
    assert_int_equal(tune_repetitions_of(&options, TUNE_KIND_DIRECT, 1024, 300000), 3);
    assert_int_equal(tune_repetitions_of(&options, TUNE_KIND_DIRECT, 1024, 5e6), 3);
    assert_int_equal(tune_repetitions_of(&options, TUNE_KIND_DIRECT, 16 << 20, 5e6), 3);
}

static void test_priority(void **state)
{
    int order[9];
    const int expected[] = {8, 0, 4, 2, 6, 1, 3, 5, 7};
    (void)state;

    tune_priority(9, order);
    assert_memory_equal(order, expected, sizeof expected);
    tune_priority(1, order);
    assert_int_equal(order[0], 0);
}

/* The estimate of a plan is a meter like any other. */
static void test_plan(void **state)
{
    fixture_t fixture;
    tune_search_t search;
    tune_estimator_t estimator;
    (void)state;

    fixture_init(&fixture, 4, WORDS("--collective=allreduce"), pipeline_clock);
    estimator = (tune_estimator_t){
        .options = &fixture.options, .lists = fixture.lists, .rates = tune_rates_default(&fixture.layout)};
    fixture.lab.measure = tune_estimator_measure;
    fixture.lab.meter = &estimator;
    run(&fixture, TUNE_SEARCH_EXHAUSTIVE, &search);
    assert_true(search.complete);
    assert_int_equal(estimator.measurements, search.cost.measurements);
    assert_true(estimator.seconds > 0.1 && estimator.seconds < 1000);
    fixture_fini(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_find_the_best),
        cmocka_unit_test(test_costs),
        cmocka_unit_test(test_measurements_are_shared),
        cmocka_unit_test(test_broken_off),
        cmocka_unit_test(test_passed_through),
        cmocka_unit_test(test_routines),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_sparse_sizes),
        cmocka_unit_test(test_luck_is_no_choice),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_long_calls_are_few),
        cmocka_unit_test(test_priority),
        cmocka_unit_test(test_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
