/* exchange: one collective of the simulated ranks: their buffers, what is to come out, and whether it did.
 *
 * Buffers lie between guards; gaps, guards and send buffers must come out as they went in. The result is that
 * of the operation applied in rank order. Threads: single-threaded.
 * Ownership: init allocates, fini frees; the collective is borrowed. */
#ifndef HP_TESTS_SIM_EXCHANGE_H
#define HP_TESTS_SIM_EXCHANGE_H

#include "hier/collectives/algorithm.h"
#include "sim/elements.h"

/* One collective. */
typedef struct {
    const hp_algorithm_t *algorithm;
    hp_setting_t setting; /* N, M and the window are the job's */
    elements_t kind;
    elements_op_t op;
    bool commutative; /* what the library is told; AFFINE: false */
    bool in_place;
    bool lockstep; /* by lockstep.h: han, not in place */
    bool blocking; /* in flight with others: the rank does nothing else before it is done */
    bool inexact;  /* doubles whose sum depends on the order; results are then compared between ranks only */
    uint32_t failing_step; /* of a bcast: the step of its root's source that fails, from 1 on; 0: none does */
    uint32_t root;
    size_t count;
    uint64_t data_seed;
} collective_t;

/* What was wrong first. */
typedef struct {
    char text[320];
} problem_t;
__attribute__((format(printf, 2, 3))) void problem_report(problem_t *problem, const char *format, ...);

/* A user's buffer: raw is what was allocated, before is what was in it. */
typedef struct {
    char *raw, *before, *address;
    size_t raw_bytes;
    bool guards_only; /* nothing else may not be written: `before` has nothing else */
} buffer_t;

typedef struct exchange exchange_t;

/* A rank's part of a bcast whose data is in the root's buffer as late as the library asks for it, and is looked at on the
 * others as soon as it says that it is there. */
typedef struct {
    hp_source_t source; /* the first member */
    const exchange_t *exchange;
    uint32_t rank;
    size_t elements; /* so far */
    uint32_t count;  /* of the root's steps */
    bool wrong;
} steps_t;

struct exchange {
    const collective_t *collective;
    hp_type_t type;
    buffer_t *send, *recv; /* one a rank; raw is NULL where a rank has none */
    char *expected;        /* packed */
    uint64_t hash;         /* of that, once hashed */
    bool hashed;
    uint32_t entered; /* ranks */
    steps_t *steps;   /* one a rank; NULL: the data is there from the start */
};

void exchange_init(exchange_t *x, const collective_t *c, uint32_t rank_count);
void exchange_fini(exchange_t *x, uint32_t rank_count);

/* The call of rank, but for what the job decides. */
hp_call_t exchange_call(const exchange_t *x, uint32_t rank);

/* Does the rank get a result? */
bool exchange_has_result(const exchange_t *x, uint32_t rank);
/* What nobody may write is as it was: send buffer, gaps, guards. */
void exchange_check_frame(exchange_t *x, uint32_t rank, problem_t *problem);
/* That, and the result. Returns a number that stands for its bits; 0: the rank has none. */
uint64_t exchange_check(exchange_t *x, uint32_t rank, problem_t *problem);

#endif
