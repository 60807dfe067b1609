/* exchange: an allreduce among positions 0 .. count - 1 as a list of steps: who sends which blocks to whom.
 *
 * The segment is cut into blocks. A step sends a range of blocks to one position and receives one from
 * another; what comes is reduced into the own blocks, or replaces them. Steps of a position are in order as
 * far as they touch the same blocks; nothing else orders them. Here is the arithmetic, one file an algorithm;
 * exchange_steps.c makes tasks of it. Threads: pure. Ownership: plain data. */
#ifndef HP_HIER_MODULES_EXCHANGE_H
#define HP_HIER_MODULES_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>
#include "schedule/generators/pairing.h"

enum { HP_NOBODY = -1 };

typedef enum {
    HP_TAKE_STORE,        /* what comes replaces the blocks */
    HP_TAKE_REDUCE_LEFT,  /* theirs (op) mine */
    HP_TAKE_REDUCE_RIGHT, /* mine (op) theirs */
} hp_take_t;

typedef struct {
    uint32_t first, count;
} hp_blocks_t;

typedef struct {
    int32_t to, from; /* positions; HP_NOBODY: nothing is sent, or received, in this step */
    hp_blocks_t send, recv;
    hp_take_t take;
    /* The step is of the half in which finished blocks are handed on. Messages between the same two positions
     * are in order within a half. */
    bool finished;
} hp_exchange_step_t;

typedef struct {
    /* Blocks of a segment, and steps of any position at most. count >= 2. */
    uint32_t (*blocks)(uint32_t count);
    uint32_t (*steps)(uint32_t count);
    /* Step i of a position; false past its last. */
    bool (*step)(uint32_t count, uint32_t position, uint32_t i, hp_exchange_step_t *out);
    bool keeps_order; /* operands stay in the order of the positions */
} hp_exchange_t;

extern const hp_exchange_t hp_exchange_ring, hp_exchange_recursive_doubling, hp_exchange_rabenseifner;

/* The steps before and after the exchange proper, for a segment of that many blocks. before: step 0 of a
 * position of a pair; after: the last. */
hp_exchange_step_t hp_pairing_before(const hp_pairing_t *pairing, uint32_t position, uint32_t blocks);
hp_exchange_step_t hp_pairing_after(const hp_pairing_t *pairing, uint32_t position, uint32_t blocks);

#endif
