#include "rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "hier/planning/rules/rules_json.h"
#include "hier/planning/select.h"
#include "topo_tree/fingerprint.h"

/* Ends the output. Returns the exit status. */
static int finish_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    fprintf(stderr, "hanpmpi_info: standard output: %s\n", strerror(errno));
    return 1;
}

int info_write_rules(void)
{
    size_t count;
    const hp_rule_t *rules = hp_rules_default(&count);

    hp_rules_write(stdout, rules, count);
    return finish_output();
}

static void print_problem(void *context, hp_rules_kind_t kind, const char *line)
{
    (void)context;
    if (kind == HP_RULES_PROBLEM)
        fprintf(stderr, "hanpmpi_info: %s\n", line);
}

void info_use_rules(const hp_knobs_t *knobs)
{
    char machine[HP_FINGERPRINT_BYTES];
    const hp_rules_source_t source = {.file = knobs->rules,
                                      .machine = hp_machine_fingerprint(machine, sizeof machine),
                                      .line = print_problem};
    hp_rule_t *rules = NULL;
    size_t count = 0;

    if (knobs->rules[0] && hp_rules_read(&source, &rules, &count) == HP_OK)
        hp_candidates_set_rules(rules, count);
    free(rules);
}

static void print_line(void *context, hp_rules_kind_t kind, const char *line)
{
    bool *faulty = context;

    if (kind == HP_RULES_PROBLEM)
        *faulty = true;
    fprintf(stderr, "%s%s\n", kind == HP_RULES_NOTE ? "note: " : "", line);
}

int info_check_rules(const char *file)
{
    bool faulty = false;
    const hp_rules_source_t source = {
        .file = file, .reports_all = true, .line = print_line, .context = &faulty};
    hp_rule_t *rules;
    size_t count;

    const hp_status_t status = hp_rules_read(&source, &rules, &count);
    for (size_t i = 0; i < count; i++) {
        printf("line %u: ", rules[i].line);
        hp_rule_print(stdout, &rules[i]);
        printf("\n");
    }
    free(rules);
    return finish_output() || faulty || status != HP_OK;
}
