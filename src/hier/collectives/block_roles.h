/* block_roles: who has blocks for whom in a collective of blocks among the ranks of one node, where each reads what is meant for it:
 * what block_flags.h and block_copies.h have in common.
 *
 *      allgather, gather      a writer has its own block for its readers
 *      alltoall, scatter      one for each
 *      reduce_scatter         likewise, and the reader reduces
 *      scan                   the whole vector, for the ranks behind it
 *
 * Threads: pure. Ownership: members lie in the arena. */
#ifndef HP_HIER_COLLECTIVES_BLOCK_ROLES_H
#define HP_HIER_COLLECTIVES_BLOCK_ROLES_H

#include "hier/call/collective.h"
#include "hier/comm/start.h"

typedef struct {
    hp_pattern_t pattern;
    uint32_t me, ranks;
    bool writes;             /* has something for others, or for itself */
    uint32_t first, end;     /* ranks whose blocks this one reads */
    const uint32_t *members; /* of the node's memory, by rank */
} hp_block_roles_t;

/* members NULL: no memory. */
hp_block_roles_t hp_block_roles(const hp_start_t *start, const hp_call_t *call);

/* Has a writer another block for each reader? */
bool hp_block_each_reader(hp_pattern_t pattern);

/* Where the block of a rank goes in the receive buffer. */
char *hp_block_result(const hp_call_t *call, uint32_t rank);

#endif
