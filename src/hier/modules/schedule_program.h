/* schedule_program: what a position does in one segment, as a list of operations and what each of them waits for: made
 * once of its schedule (schedule/schedule.h), so that a segment's tasks are only written down.
 *
 * A schedule says which blocks go where; a program also knows where they lie. What a step stores under another name stays
 * where it is. What has been received aside becomes the place of the running value: it is reduced into, so nothing is
 * copied and the operands stay in order. The last reduction of a block takes place where the result goes, and what the
 * schedule leaves elsewhere is copied there at the end. In place (the own contribution lies where the result goes) that
 * memory is being read:
 *      commutative, or theirs (op) mine:  what comes is reduced into it
 *      otherwise:                         the reduction ends aside and is copied
 * An operation may not read a block before it was last written, nor write it before it was last read and written; behind a
 * step that synchronises all waits for what it received. Nothing else is waited for.
 *
 * Threads: pure. Ownership: the arena's. */
#ifndef HP_HIER_MODULES_SCHEDULE_PROGRAM_H
#define HP_HIER_MODULES_SCHEDULE_PROGRAM_H

#include <stddef.h>
#include "base/arena.h"
#include "schedule/schedule.h"

/* Where a block lies: in the own contribution, or where the result goes; >= 0: in what that operation received. */
enum { HP_AT_VALUE = -1, HP_AT_RESULT = -2 };
typedef struct {
    int32_t base;
    uint32_t index; /* of the block there */
    size_t offset;  /* the same in bytes, see hp_program_cut; 0 in a program of one block */
} hp_spot_t;

/* What an operation waits for beside operations: the own contribution being made, and the result's place being free. */
enum { HP_AFTER_READY = -1, HP_AFTER_FREE = -2, HP_AFTER_EXTRA = 2 };

typedef enum {
    HP_DO_SEND,
    HP_DO_SEND_PACKED, /* what the operations before it have packed */
    HP_DO_RECV_RESULT, /* where the result goes */
    HP_DO_RECV_ASIDE,  /* into a scratch buffer */
    HP_DO_REDUCE,      /* out = in (op) out */
    HP_DO_REDUCE_ONTO, /* out = out (op) in */
    HP_DO_COPY,        /* to where the result goes */
    HP_DO_PACK,        /* behind what has been packed before, in one scratch buffer */
    HP_DO_JOIN
} hp_do_t;

typedef struct {
    uint8_t what;     /* hp_do_t */
    uint8_t stream;   /* messages, */
    int32_t position; /* to or from whom, */
    int32_t lane;     /* and how: the program's user fills that in */
    hp_spot_t in, out;
    uint32_t first_after, after_count; /* in program->after */
    uint32_t first_run, run_count;     /* of the blocks, in program->runs */
    /* For segments of the current size, of a program of several blocks: */
    int32_t holder; /* RECV_ASIDE: the operation whose scratch buffer has room for this one, too; -1: none */
    size_t count;   /* elements; 0: not done */
} hp_operation_t;

/* Blocks that follow each other in the vector. */
typedef struct {
    uint32_t first, count;
} hp_run_t;

typedef struct {
    hp_operation_t *operations;
    uint32_t operation_count;
    int32_t *after; /* operations, or HP_AFTER_ */
    hp_run_t *runs;
    uint32_t block_count;
    /* Operations: the result is there after it (HP_AFTER_READY: it always was); the contribution is not read any more
     * after it (the same: it is not read). */
    int32_t done, read;
    /* What a segment needs at most. */
    uint32_t edges, scratch;
    size_t elements; /* of the segments that counts and offsets hold for */
    size_t *starts;  /* first element of each block in those, and the end */
} hp_program_t;

typedef struct {
    const hp_schedule_t *schedule;
    hp_pattern_t pattern; /* bcast, reduce, allreduce, barrier */
    uint32_t position;
    int32_t block; /* only what concerns this block; -1: all */
    bool has_result;
    bool in_place;
    bool commutative;
} hp_program_problem_t;

/* NULL: no memory. */
hp_program_t *hp_program_make(hp_arena_t *arena, const hp_program_problem_t *problem);

/* Counts and offsets for segments of so many elements, each of extent bytes. */
void hp_program_cut(hp_program_t *program, size_t elements, size_t extent);

#endif
