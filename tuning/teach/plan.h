/* plan: what a job shall measure, as hanpmpi_tune --teach writes it to the standard input of rank 0, in one line:
 *
 *   {"rounds": 6, "batch_us": 8000, "cell_seconds": 2.0, "seconds": 100.0,
 *    "collectives": [{"collective": "bcast", "bytes": [8, 64],
 *                     "candidates": [{"name": "default", "set": {}}, {"name": "ring", "set": {"CVAR": 3}}]}]}
 *
 * bytes: of a block, where there are blocks. Every rank reads the same text.
 *
 * Threads: one. Ownership: teach_plan_fini gives everything back. */
#ifndef HP_TEACH_PLAN_H
#define HP_TEACH_PLAN_H

#include <jansson.h>
#include <stddef.h>

typedef struct {
    const char *name;
    json_t *set; /* cvar: value */
} teach_candidate_t;

typedef struct {
    const char *collective;
    size_t *bytes;
    teach_candidate_t *candidates; /* the first one is what the others are compared with */
    int byte_count, candidate_count;
} teach_part_t;

typedef struct {
    json_t *text; /* owns all strings */
    teach_part_t *parts;
    int part_count, rounds;
    double batch_us;     /* a batch of calls takes about so long */
    double cell_seconds; /* after so many no further round of a cell is begun, but three there are */
    double seconds;      /* after so many no further cell is begun */
} teach_plan_t;

enum { TEACH_ROUNDS_MIN = 3, TEACH_ROUNDS_MAX = 64, TEACH_CANDIDATES_MAX = 256 };

/* NULL, or what is wrong with it. */
const char *teach_plan_init(teach_plan_t *plan, const char *text);
void teach_plan_fini(teach_plan_t *plan);

#endif
