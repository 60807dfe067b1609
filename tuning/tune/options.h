/* options: what hanpmpi_tune is asked to do. Every rank reads the same command line; rank 0 speaks.
 *
 * Threads: one. Ownership: the names of files belong to the options; tune_options_fini frees them. */
#ifndef HP_TUNE_OPTIONS_H
#define HP_TUNE_OPTIONS_H

#include "book.h"
#include "patterns.h"

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
    size_t bytes[TUNE_SIZES_MAX]; /* ascending */
    int count;
} tune_sizes_t;

typedef struct {
    bool collectives[TUNE_COLLECTIVES];
    tune_sizes_t messages, blocks; /* blocks: none were named, until tune_options_fit */
    /* --pattern: a recording (NULL: none); patterns that differ by no more than `near` are one; what takes a smaller
     * share than `least` of the time in collectives is left out. */
    const char *pattern;
    double near, least;
    /* Then each collective has the sizes that were recorded, and some are measured on patterns (rank 0's). */
    tune_sizes_t own[TUNE_COLLECTIVES];
    bool on_patterns[TUNE_COLLECTIVES];
    const tune_patterns_t *patterns;
    tune_choices_t choices;
    bool searches[TUNE_SEARCHES];
    tune_search_id_t rules_from; /* the search whose choices become the rules */
    bool compare;
    int repeat, finalists, crossing_steps;
    double seconds; /* 0: no limit */
    bool dry_run, restart;
    bool routines;                   /* on a network, with a table of all algorithms */
    char *rules, *results, *journal; /* file names */
    char *schedules;                 /* of a directory */
} tune_options_t;

typedef enum { TUNE_OPTIONS_RUN, TUNE_OPTIONS_DONE, TUNE_OPTIONS_BAD } tune_options_result_t;

/* speak: on one rank, which prints help and errors. _DONE: help or version was asked for, and given. */
tune_options_result_t tune_options_read(tune_options_t *options, int argc, char **argv, bool speak);
/* The options for one class of a recording's communicators: its share of the time, its sizes and patterns, which are
 * borrowed. number: 0 and up; later ones have files of their own. */
void tune_options_narrow(tune_options_t *options, const tune_options_t *all, int number,
                         const bool *collectives, const bool *on_patterns, const tune_sizes_t *sizes,
                         const tune_patterns_t *patterns);
/* What follows from the layout where nothing was asked for: the leaders, and how long blocks are. speak: as above.
 * false: the blocks that were asked for are too long for so many ranks. */
bool tune_options_fit(tune_options_t *options, const tune_layout_t *layout, bool speak);
void tune_options_fini(tune_options_t *options);

/* The sizes at which the collective is measured: of a message, or of a block; of what has no data the size 0 alone. */
const tune_sizes_t *tune_sizes(const tune_options_t *options, unsigned collective);

static inline int tune_size_count(const tune_options_t *options, unsigned collective)
{
    return tune_sizes(options, collective)->count;
}

static inline size_t tune_size(const tune_options_t *options, unsigned collective, int i)
{
    return tune_sizes(options, collective)->bytes[i];
}

/* Is it searched for at its sizes? Else it is not wanted, or measured on patterns. */
static inline bool tune_is_searched(const tune_options_t *options, unsigned collective)
{
    return options->collectives[collective] && !options->on_patterns[collective];
}

/* Of the message; of a pattern's mean block. */
size_t tune_key_bytes(const tune_options_t *options, const tune_key_t *key);

/* How often a message is timed: more often when it is short, in every search alike. */
int tune_repetitions(const tune_options_t *options, tune_kind_t kind, size_t bytes);
/* The same where a call takes so long: no more than a second of them, but at least options->repeat. */
int tune_repetitions_of(const tune_options_t *options, tune_kind_t kind, size_t bytes, double us);

#endif
