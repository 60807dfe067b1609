/* rules_source: what is read, a file of rules, and who hears what is wrong with it.
 *
 * Threads: plain data. Ownership: the caller's. */
#ifndef HP_HIER_PLANNING_RULES_RULES_SOURCE_H
#define HP_HIER_PLANNING_RULES_RULES_SOURCE_H

#include <stdbool.h>

enum {
    HP_RULES_MAX = 4096,                /* of a file */
    HP_RULES_FILE_BYTES_MAX = 16 << 20, /* 4096 rules of a kilobyte are 4 MiB */
    HP_RULES_LINES_MAX = 20,            /* of each kind that are reported, then the number of the others */
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
    bool reports_all; /* no limit on lines */
    hp_rules_line_fn_t line;
    void *context;
} hp_rules_source_t;

#endif
