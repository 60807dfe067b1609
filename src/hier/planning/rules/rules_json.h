/* rules_json: files of rules in JSON: man 5 hanpmpi-rules has the format.
 *
 * Every rule is checked; a broken one is left out alone, with one line that says where and why. Only a
 * file that is no JSON, or of another version, is left out whole. Threads: any, one call at a time.
 * Ownership: the caller frees *rules. */
#ifndef HP_HIER_PLANNING_RULES_RULES_JSON_H
#define HP_HIER_PLANNING_RULES_RULES_JSON_H

#include <stdio.h>
#include "hier/planning/rules/rule.h"

enum {
    HP_RULES_MAX = 4096,                /* of a file */
    HP_RULES_FILE_BYTES_MAX = 16 << 20, /* 4096 rules of a kilobyte are 4 MiB */
    HP_RULES_LINES_MAX = 20,            /* of each kind that are told, then their number */
};

typedef enum {
    HP_RULES_PROBLEM, /* something of the file is not used */
    HP_RULES_NOTE,    /* worth knowing */
} hp_rules_kind_t;

/* Receives one line, without a newline. */
typedef void (*hp_rules_line_fn_t)(void *context, hp_rules_kind_t kind, const char *line);

typedef struct {
    const char *file; /* its path, and its name in lines */
    /* The fingerprint of this machine, "" where it is not known: rules whose pattern does not match it are
     * left out. NULL: all are kept. */
    const char *machine;
    bool tells_all; /* no limit on lines */
    hp_rules_line_fn_t line;
    void *context;
} hp_rules_source_t;

/* The rules of a text, in the file's order. HP_OK, although rules may have been left out; HP_ERR_ARG when
 * the whole file was; HP_ERR_NO_MEM. Of each the reason was told. *rules is NULL when *count is 0. */
hp_status_t hp_rules_parse(const hp_rules_source_t *source, const char *text, size_t length,
                           hp_rule_t **rules, size_t *count);

/* The same of the file. HP_ERR_NOT_FOUND when it cannot be read. */
hp_status_t hp_rules_read(const hp_rules_source_t *source, hp_rule_t **rules, size_t *count);

/* Writes a file that hp_rules_parse reads as the same rules. Errors: see ferror(out). */
void hp_rules_write(FILE *out, const hp_rule_t *rules, size_t count);

/* What a rule means, for people, in one line without a newline. */
void hp_rule_print(FILE *out, const hp_rule_t *rule);

#endif
