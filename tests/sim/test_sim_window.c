/* test_sim_window: memory is bounded by the window and not by the message.
 *
 * A message of thousands of segments; one rank stands still for long, so that everything that may run ahead
 * does. A segment holds one scratch buffer a child at most, until it is complete on this rank. */
#include "sim/random_case.h"
#include "sim/seeds.h"

enum { RANKS = 20, SEGMENTS = 4000, ELEMENT_BYTES = 8 };

static void check_bounds(const collective_t *c, const hp_knobs_t *knobs, const hp_locality_t *table,
                         uint32_t rank_count)
{
    sim_config_t world = {.rank_count = rank_count, .table = table, .seed = 7};
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        world.links[level] = (sim_link_t){.latency_ns = 1000, .ns_per_byte = 1};
    uint32_t window = 0, scratch = 0;
    job_t *job = job_create(&world, knobs);
    sim_delay(job_sim(job), 0, 0, 50000000);
    if (!job_run(job, c, 1, NULL))
        fail_msg("%s", job_problem(job));
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        const hp_request_counters_t *counters = hp_request_counters(job_request(job, rank));
        window = counters->window_segments > window ? counters->window_segments : window;
        scratch = counters->scratch_peak > scratch ? counters->scratch_peak : scratch;
        assert_true(counters->window_segments <= knobs->window_segments);
        assert_true(counters->scratch_peak <= counters->window_segments * (uint64_t)(rank_count - 1));
    }
    printf("%s %s: %u ranks, %zu segments: window at most %u of %d, scratch buffers at most %u\n",
           hp_collective_name(c->algorithm->collective), c->algorithm->name, rank_count, c->count, window,
           (int)knobs->window_segments, scratch);
    job_destroy(job);
}

static collective_t long_call(const hp_algorithm_t *algorithm, hp_shape_t shape, size_t segments)
{
    collective_t c = {.algorithm = algorithm,
                      .setting = {.segment_bytes = ELEMENT_BYTES, .trees = 4},
                      .kind = ELEMENTS_ONE,
                      .op = ELEMENTS_SUM_INT64,
                      .commutative = true,
                      .count = segments};
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        c.setting.shapes.shape[level] = shape;
    if (algorithm->collective == HP_BARRIER) {
        c.kind = ELEMENTS_BYTES;
        c.count = 0;
    }
    return c;
}

static void window_bounds_memory(void **state)
{
    (void)state;
    static const int64_t windows[] = {1, 16, 256};
    sim_random_t random = {1};
    hp_locality_t *table = random_table(&random, RANKS);
    for (size_t w = 0; w < ARRAY_LENGTH(windows); w += seeds_divisor())
        for (unsigned i = 0; any_algorithm(i); i++) {
            hp_knobs_t knobs = job_knobs();
            knobs.window_segments = windows[w];
            collective_t c = long_call(any_algorithm(i), HP_SHAPE_BINARY, SEGMENTS);
            check_bounds(&c, &knobs, table, RANKS);
            if (strcmp(c.algorithm->name, "han") != 0)
                continue;
            for (unsigned module = HP_MODULE_SHM; module <= HP_MODULE_SINGLE_COPY; module++) {
                for (unsigned level = HP_LEVEL_NODE + 1; level < HP_LEVEL_COUNT; level++)
                    c.setting.modules.module[level] = (uint8_t)module;
                check_bounds(&c, &knobs, table, RANKS);
            }
        }
    free(table);
}

/* Hundreds of children: the engine narrows the window, since a segment alone takes much task memory. */
static void many_children_narrow_the_window(void **state)
{
    (void)state;
    enum { CHILDREN = 600, FEW_SEGMENTS = 100, NARROW = 16 };
    const hp_knobs_t knobs = job_knobs();
    hp_locality_t *table = sim_alloc(CHILDREN + 1, sizeof *table);
    const collective_t c = long_call(hp_algorithm_find(HP_REDUCE, "han"), HP_SHAPE_LINEAR, FEW_SEGMENTS);
    sim_config_t world = {.rank_count = CHILDREN + 1, .table = table, .seed = 7};
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        world.links[level] = (sim_link_t){.latency_ns = 1000, .ns_per_byte = 1};
    job_t *job = job_create(&world, &knobs);
    if (!job_run(job, &c, 1, NULL))
        fail_msg("%s", job_problem(job));
    assert_true(hp_request_counters(job_request(job, 0))->window_segments <= NARROW);
    assert_int_equal(hp_request_counters(job_request(job, 1))->window_segments, FEW_SEGMENTS);
    job_destroy(job);
    free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(window_bounds_memory),
        cmocka_unit_test(many_children_narrow_the_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
