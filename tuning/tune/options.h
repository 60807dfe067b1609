/* options: what hanpmpi_tune is asked to do. Every rank reads the same command line; rank 0 speaks.
 *
 * Threads: one. Ownership: rules and results belong to the options; tune_options_fini frees them. */
#ifndef HP_TUNE_OPTIONS_H
#define HP_TUNE_OPTIONS_H

#include "book.h"

/* id, name, by tasks, with heuristics, what it does. */
#define TUNE_SEARCH_TABLE(X)                                                                                 \
    X(EXHAUSTIVE, "exhaustive", false, false, "measures every configuration at every size")                  \
    X(HEURISTIC, "heuristic", false, true, "leaves out what is known not to pay")                            \
    X(TASK, "task", true, false, "measures short messages, predicts long ones, measures the finalists")      \
    X(TASK_HEURISTIC, "task+heuristic", true, true, "both")

typedef enum {
#define X(id, name, tasks, heuristic, text) TUNE_SEARCH_##id,
    TUNE_SEARCH_TABLE(X)
#undef X
        TUNE_SEARCHES
} tune_search_id_t;

enum { TUNE_SIZES_MAX = 128 };

typedef struct {
    bool collectives[TUNE_COLLECTIVES];
    size_t bytes[TUNE_SIZES_MAX]; /* ascending */
    int size_count;
    tune_choices_t choices;
    bool searches[TUNE_SEARCHES];
    tune_search_id_t rules_from; /* the search whose choices become the rules */
    bool compare;
    int repeat, finalists, crossing_steps;
    double seconds; /* 0: no limit */
    bool dry_run, restart;
    char *rules, *results, *journal; /* file names */
} tune_options_t;

typedef enum { TUNE_OPTIONS_RUN, TUNE_OPTIONS_DONE, TUNE_OPTIONS_BAD } tune_options_result_t;

/* speak: on one rank, which prints help and errors. _DONE: help or version was asked for, and given. */
tune_options_result_t tune_options_read(tune_options_t *options, int argc, char **argv, bool speak);
void tune_options_fini(tune_options_t *options);

/* How often a message is timed: more often when it is short, in every search alike. */
int tune_repetitions(const tune_options_t *options, tune_kind_t kind, size_t bytes);

#endif
