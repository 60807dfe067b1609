/* test_topo_alloc: in the topology room the Nth allocation fails, for every N: an error comes back and
 * nothing leaks (the address sanitizer watches).
 *
 * Linked with --wrap=malloc,--wrap=calloc. */
#include "places.h"
#include "topo_tree/draw.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

/* Allocations that still succeed; negative: all do. */
static int allocations_left = -1;

static int allocation_fails(void)
{
    if (allocations_left < 0)
        return 0;
    if (allocations_left == 0)
        return 1;
    allocations_left--;
    return 0;
}

void *__wrap_malloc(size_t bytes)
{
    return allocation_fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return allocation_fails() ? NULL : __real_calloc(count, bytes);
}

enum { COUNT = 32, ROOT = 5, MOST_ALLOCATIONS = 1000 };

typedef struct {
    hp_locality_t *table;
    hp_hierarchy_t *h;
    hp_shapes_t shapes;
    FILE *out;
} fixture_t;

static hp_status_t use_hierarchy(const fixture_t *fixture)
{
    hp_hierarchy_t *h = NULL;
    hp_status_t status = hp_hierarchy_create(COUNT, fixture->table, PLACES_ALL_LEVELS, false, &h);
    assert_int_equal(h != NULL, status == HP_OK);
    hp_hierarchy_destroy(h);
    return status;
}

static hp_status_t use_neighbors(const fixture_t *fixture)
{
    hp_neighbors_t neighbors;
    hp_status_t status = hp_neighbors_init(&neighbors, fixture->h, &fixture->shapes, ROOT, ROOT);
    assert_int_equal(neighbors.children != NULL, status == HP_OK);
    hp_neighbors_fini(&neighbors);
    return status;
}

static hp_status_t use_text(const fixture_t *fixture)
{
    return hp_draw_tree_text(fixture->out, fixture->h, &fixture->shapes, ROOT);
}

static hp_status_t use_dot(const fixture_t *fixture)
{
    return hp_draw_tree_dot(fixture->out, fixture->h, &fixture->shapes, ROOT);
}

static hp_status_t use_svg(const fixture_t *fixture)
{
    return hp_draw_tree_svg(fixture->out, fixture->h, &fixture->shapes, ROOT);
}

typedef hp_status_t (*use_fn_t)(const fixture_t *fixture);

static void every_allocation_fails_once(void **state)
{
    (void)state;
    static const use_fn_t uses[] = {use_hierarchy, use_neighbors, use_text, use_dot, use_svg};
    fixture_t fixture = {.table = places_synthetic("node:2 package:2 numa:2 core:4", COUNT),
                         .shapes = {{HP_SHAPE_BINOMIAL, HP_SHAPE_CHAIN, HP_SHAPE_LINEAR}},
                         .out = fopen("/dev/null", "w")};
    assert_non_null(fixture.out);
    /* Unbuffered: the C library's own buffer is none of the allocations under test. */
    setvbuf(fixture.out, NULL, _IONBF, 0);
    assert_int_equal(hp_hierarchy_create(COUNT, fixture.table, PLACES_ALL_LEVELS, false, &fixture.h), HP_OK);
    for (size_t i = 0; i < ARRAY_LENGTH(uses); i++) {
        hp_status_t status = HP_ERR_NO_MEM;
        int failing = 0;
        for (; failing < MOST_ALLOCATIONS && status == HP_ERR_NO_MEM; failing++) {
            allocations_left = failing;
            status = uses[i](&fixture);
            allocations_left = -1;
        }
        assert_int_equal(status, HP_OK);
        assert_true(failing > 1);
    }
    hp_hierarchy_destroy(fixture.h);
    fclose(fixture.out);
    free(fixture.table);
}

/* Levels are printed even so; only the lists of ranks become counts. */
static void levels_without_memory(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes = 0;
    hp_shapes_t shapes = {{HP_SHAPE_LINEAR}};
    hp_hierarchy_t *h = NULL;
    hp_locality_t *table = places_synthetic("node:2 core:4", 8);
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    assert_int_equal(hp_hierarchy_create(8, table, PLACES_ALL_LEVELS, false, &h), HP_OK);
    allocations_left = 0;
    hp_draw_levels(out, h, &shapes);
    allocations_left = -1;
    fclose(out);
    assert_non_null(strstr(text, "node 1: 4 ranks\n"));
    free(text);
    hp_hierarchy_destroy(h);
    free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_fails_once),
        cmocka_unit_test(levels_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
