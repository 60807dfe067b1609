/* rules_reading: what the parts of the reader of rules share: the rules kept so far, and what is reported of the
 * file.
 *
 * Threads: as rules_json.h. Ownership: rules and numbers are the reading's until hp_rules_parse hands the
 * rules over. */
#ifndef HP_HIER_PLANNING_RULES_RULES_READING_H
#define HP_HIER_PLANNING_RULES_RULES_READING_H

#include <stddef.h>
#include "hier/planning/rules/rule.h"
#include "hier/planning/rules/rules_source.h"

typedef struct {
    const hp_rules_source_t *source;
    unsigned reported[HP_RULES_NOTE + 1];
    hp_rule_t *rules;
    uint32_t *numbers; /* of the rules in the file, from 1 */
    size_t count;
} hp_rules_reading_t;

/* Where in the file; 0: not known, or none. */
typedef struct {
    uint32_t line, column, rule;
} hp_rules_place_t;
#define HP_RULES_FILE ((hp_rules_place_t){0, 0, 0}) /* the file as a whole */

/* Reports "file:line:column: rule N: ...", of what the place has. Control characters of the file become '?'. */
void hp_rules_report(hp_rules_reading_t *reading, hp_rules_kind_t kind, hp_rules_place_t place,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Reports how many lines were left out. */
void hp_rules_report_rest(hp_rules_reading_t *reading);

/* The lines on which the elements of an array begin: of the value of the member-th member of the object
 * that text is. The text is JSON. */
void hp_rules_find_lines(const char *text, size_t length, size_t member, uint32_t *lines, size_t count);

/* Does a kept rule take all calls of this one? Its index, or the number of kept ones. */
size_t hp_rules_find_cover(const hp_rules_reading_t *reading, const hp_rule_t *rule);
/* Reports the sizes between kept rules that no rule takes. */
void hp_rules_report_gaps(hp_rules_reading_t *reading);

#endif
