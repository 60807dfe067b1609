/* test_rules_alloc: while a file of rules is read the Nth allocation fails, and all after it, for every N: the
 * job goes on without rules, one line says why, and nothing leaks (the address sanitizer watches).
 *
 * Linked with --wrap=malloc,--wrap=calloc; jansson is handed the same allocator. */
#include <jansson.h>
#include "check.h"
#include "hier/planning/rules/rules_json.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

/* Allocations that still succeed; negative: all do. */
static int allocations_left = -1;

static bool allocation_fails(void)
{
    if (allocations_left > 0)
        allocations_left--;
    else if (allocations_left == 0)
        return true;
    return false;
}

void *__wrap_malloc(size_t bytes)
{
    return allocation_fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return allocation_fails() ? NULL : __real_calloc(count, bytes);
}

enum { MOST_ALLOCATIONS = 10000 };

static char last_line[768];

static void hear(void *context, hp_rules_kind_t kind, const char *line)
{
    unsigned *lines = context;
    assert_int_equal(kind, HP_RULES_PROBLEM);
    snprintf(last_line, sizeof last_line, "%s", line);
    ++*lines;
}

static void every_allocation_fails_once(void **state)
{
    (void)state;
    unsigned lines = 0;
    const hp_rules_source_t source = {.file = RULES_DIR "/good.json", .line = hear, .context = &lines};
    hp_rule_t *rules;
    size_t count;
    int n = 0;

    json_set_alloc_funcs(__wrap_malloc, free);
    for (; n < MOST_ALLOCATIONS; n++) {
        lines = 0;
        allocations_left = n;
        const hp_status_t status = hp_rules_read(&source, &rules, &count);
        allocations_left = -1;
        if (status == HP_OK && lines == 0 && count == 4)
            break;
        /* jansson takes a failure inside a token for a syntax error. */
        assert_true(status == HP_ERR_NO_MEM || (status == HP_ERR_ARG && n > 0));
        assert_int_equal(lines, 1);
        if (status == HP_ERR_NO_MEM && !strstr(last_line, "good.json: out of memory"))
            fail_msg("allocation %d: %s", n, last_line);
        assert_null(rules);
        assert_int_equal(count, 0);
    }
    free(rules);
    assert_in_range(n, 50, MOST_ALLOCATIONS - 1); /* it did count jansson's */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
