/* book: every measurement that was made, by what was measured.
 *
 * Kinds. direct: a search that measures everything. task: what the task searches time (the points of
 * curves, finalists). pair: two configurations in turns, for the evaluation and for crossing points.
 * pattern: a configuration with the blocks of a pattern (patterns.h), whose number stands in place of the bytes.
 * pattern_pair: two of them in turns. lockstep: the tasks of a pipeline, values: TUNE_TASKS_MAX a rank. A search pays
 * for every measurement it uses, whoever made it.
 *
 * Threads: one. Ownership: tune_book_fini frees the records; an address of one is good until the next add. */
#ifndef HP_TUNE_BOOK_H
#define HP_TUNE_BOOK_H

#include "space.h"

#define TUNE_KIND_TABLE(X)                                                                                   \
    X(DIRECT, direct)                                                                                        \
    X(TASK, task)                                                                                            \
    X(PAIR, pair)                                                                                            \
    X(PATTERN, pattern)                                                                                      \
    X(PATTERN_PAIR, pattern_pair)                                                                            \
    X(LOCKSTEP, lockstep)

typedef enum {
#define X(id, name) TUNE_KIND_##id,
    TUNE_KIND_TABLE(X)
#undef X
        TUNE_KINDS
} tune_kind_t;

const char *tune_kind_name(unsigned kind); /* NULL past the last */

static inline bool tune_kind_is_pair(tune_kind_t kind)
{
    return kind == TUNE_KIND_PAIR || kind == TUNE_KIND_PATTERN_PAIR;
}

static inline bool tune_kind_has_pattern(tune_kind_t kind)
{
    return kind == TUNE_KIND_PATTERN || kind == TUNE_KIND_PATTERN_PAIR;
}

typedef struct {
    tune_kind_t kind;
    tune_collective_t collective;
    int config, other; /* other: of pairs; else -1 */
    size_t bytes;      /* of the message; lockstep: of a segment; patterns: the number */
} tune_key_t;

typedef struct {
    tune_key_t key;
    double *us; /* the slowest rank's median; of `other` behind it */
    int count;  /* of us; 0: the library does not run this configuration at this size */
    double seconds;
    double enough_us; /* for the meter: a few calls are enough when all of them take longer; 0: never */
} tune_record_t;

typedef struct {
    tune_record_t *records;
    int count, room;
    int *first; /* by hash: 1 + the newest record; 0: none */
    int *next;  /* by record: 1 + the one before */
} tune_book_t;

void tune_book_init(tune_book_t *book);
void tune_book_fini(tune_book_t *book);

/* NULL: not there. */
const tune_record_t *tune_book_find(const tune_book_t *book, const tune_key_t *key);
/* Takes record->us. */
const tune_record_t *tune_book_add(tune_book_t *book, const tune_record_t *record);

#endif
