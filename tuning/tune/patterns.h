/* patterns: the blocks that differ, as a recorded program had them: which of its calls are alike, and what is the best
 * for them.
 *
 * A pattern is the list of a call's blocks (Allgatherv, Gatherv, Scatterv, Reduce_scatter: one for each rank;
 * Alltoallv, Alltoallw: one for each pair). Patterns that are nearer to an earlier one than a threshold are counted as
 * that one.
 *
 * Rules know less than patterns. Of Allgatherv and Reduce_scatter all ranks know the average block, so the patterns of
 * one average share a rule. Of the others no rank knows more than its own blocks, and ranks that decided by them would
 * decide differently: all patterns share one rule. What shares a rule gets the configuration with which all its calls
 * together take the least time (Faraj and Yuan 2005 have one routine for each pattern and call site, which takes a
 * program that was built for it).
 *
 * Threads: one, rank 0's; the list itself is on every rank. Ownership: tune_patterns_fini frees. */
#ifndef HP_TUNE_PATTERNS_H
#define HP_TUNE_PATTERNS_H

#include "space.h"

enum { TUNE_ELEMENT_BYTES = 4, TUNE_PLACES_MAX = 8, TUNE_PLACE_BYTES = 64 };

/* Where calls come from, as the recording has it, and how many. */
typedef struct {
    char text[TUNE_PLACE_BYTES];
    double calls;
} tune_place_t;

typedef struct {
    tune_collective_t collective;
    int count;         /* of blocks */
    int *elements;     /* by block, of TUNE_ELEMENT_BYTES; pairs: by sender, then by receiver */
    double calls;      /* of it and of those like it */
    double recorded_s; /* what they took */
    int alike;         /* patterns that it stands for */
    tune_place_t places[TUNE_PLACES_MAX]; /* of its calls, the first so many; what is not known is left out */
    int place_count;
} tune_pattern_t;

typedef struct {
    tune_pattern_t *list;
    int count;
} tune_patterns_t;

/* The mean block, a multiple of TUNE_ELEMENT_BYTES, and not 0. */
size_t tune_pattern_bytes(const tune_pattern_t *pattern);
/* What the largest buffer of any of so many ranks has to hold. */
size_t tune_pattern_buffer_bytes(const tune_pattern_t *pattern, int ranks);
/* Of two of one collective, 0 to 2: the sum of the blocks' differences, as a share of the larger sum of blocks. */
double tune_pattern_distance(const tune_pattern_t *a, const tune_pattern_t *b);

/* Takes the pattern's elements, and adds it, or counts it as the first one that is not further away than `near`. */
void tune_patterns_add(tune_patterns_t *patterns, const tune_pattern_t *pattern, double near);
void tune_patterns_fini(tune_patterns_t *patterns);

/* For a file's first line: other patterns have another one. */
unsigned long long tune_patterns_hash(const tune_patterns_t *patterns);

#endif
