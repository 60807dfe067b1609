/* rules_json: files of rules in JSON: man 5 hanpmpi-rules has the format.
 *
 * Every rule is checked; a broken one is left out alone, with one line that says where and why. Only a
 * file that is no JSON, or of another version, is left out whole. Threads: any, one call at a time.
 * Ownership: the caller frees *rules. */
#ifndef HP_HIER_PLANNING_RULES_RULES_JSON_H
#define HP_HIER_PLANNING_RULES_RULES_JSON_H

#include <stdio.h>
#include "hier/planning/rules/rule.h"
#include "hier/planning/rules/rules_source.h"

/* The rules of a text, in the file's order. HP_OK, although rules may have been left out; HP_ERR_ARG when
 * the whole file was; HP_ERR_NO_MEM. The reason for each was reported. *rules is NULL when *count is 0. */
hp_status_t hp_rules_parse(const hp_rules_source_t *source, const char *text, size_t length,
                           hp_rule_t **rules, size_t *count);

/* The same of the file. HP_ERR_NOT_FOUND when it cannot be read. */
hp_status_t hp_rules_read(const hp_rules_source_t *source, hp_rule_t **rules, size_t *count);

/* Writes a file that hp_rules_parse reads as the same rules. Errors: see ferror(out). */
void hp_rules_write(FILE *out, const hp_rule_t *rules, size_t count);

/* What a rule means, for people, in one line without a newline. */
void hp_rule_print(FILE *out, const hp_rule_t *rule);

#endif
