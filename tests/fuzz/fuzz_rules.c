/* fuzz_rules: any bytes as a file of rules. What comes out can be followed; written and read again it is the
 * same.
 *
 * For libFuzzer, and for fuzz_files.c, which runs it once for each file. Threads: one. */
#include "fuzz.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hier/planning/rules/rules_json.h"

/* Not assert: it must hold in every build. */
#define MUST(condition)                                                                                      \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "fuzz_rules: line %d: %s does not hold\n", __LINE__, #condition);                \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

static void hear(void *context, hp_rules_kind_t kind, const char *line)
{
    unsigned *reported = context;

    for (const char *c = line; *c; c++)
        MUST((unsigned char)*c >= ' ');
    reported[kind]++;
    MUST(reported[kind] <= HP_RULES_LINES_MAX + 1);
}

/* They can be followed, and their lines are in the text, in order. */
static void check_rules(const hp_rule_t *rules, size_t count, uint32_t last_line)
{
    char error[512];
    uint32_t line = 1;

    MUST(count <= HP_RULES_MAX);
    for (size_t i = 0; i < count; i++) {
        MUST(hp_rule_check(&rules[i], error, sizeof error));
        MUST(rules[i].line >= line && rules[i].line <= last_line);
        line = rules[i].line;
    }
}

/* The text that these rules are written as. */
static char *write_rules(const hp_rule_t *rules, size_t count, size_t *length)
{
    char *text;
    FILE *out = open_memstream(&text, length);

    MUST(out);
    hp_rules_write(out, rules, count);
    MUST(fclose(out) == 0);
    return text;
}

/* Written, read and written again, they are the same text. */
static void check_round_trip(const hp_rules_source_t *source, const hp_rule_t *rules, size_t count)
{
    size_t first_length, second_length, again_count;
    hp_rule_t *again;

    memset(source->context, 0, 2 * sizeof(unsigned));
    char *first = write_rules(rules, count, &first_length);
    MUST(hp_rules_parse(source, first, first_length, &again, &again_count) == HP_OK);
    MUST(((unsigned *)source->context)[HP_RULES_PROBLEM] == 0);
    char *second = write_rules(again, again_count, &second_length);
    MUST(first_length == second_length && memcmp(first, second, first_length) == 0);
    free(first);
    free(second);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    static const char *const machines[] = {"", "cluster-a", NULL};
    unsigned reported[HP_RULES_NOTE + 1] = {0};
    const hp_rules_source_t source = {
        .file = "fuzz", .machine = machines[length % 3], .line = hear, .context = reported};
    uint32_t last_line = 1;
    hp_rule_t *rules;
    size_t count;

    for (size_t i = 0; i < length; i++)
        last_line += data[i] == '\n';
    const hp_status_t status = hp_rules_parse(&source, (const char *)data, length, &rules, &count);
    MUST(status == HP_OK || (count == 0 && reported[HP_RULES_PROBLEM] > 0));
    MUST((count == 0) == (rules == NULL));
    check_rules(rules, count, last_line);
    check_round_trip(&source, rules, count);
    free(rules);
    return 0;
}
