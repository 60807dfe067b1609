/* fuzz_side: one side of a collective of blocks: the send or the receive buffer of one rank, of one block or of one for
 * each rank, and the arrays that say so to MPI.
 *
 * A block is a number of elements of a datatype somewhere in the buffer. What no block covers is filled with a pattern;
 * the blocks of a receive buffer are disjoint. The buffer exists several times: as it was before the call, and as each
 * side of the comparison left it.
 *
 * Threads: one. Ownership: a side owns its buffers and arrays, and the datatypes that it duplicates. */
#ifndef HP_TESTS_MPI_FUZZ_SIDE_H
#define HP_TESTS_MPI_FUZZ_SIDE_H

#include "fuzz.h"

typedef struct {
    const hp_typemap_t *map;
    int64_t count; /* elements */
    MPI_Aint at;   /* bytes from the buffer's origin */
} hp_fuzz_block_t;

/* Whose values. A send buffer is used by both sides of the comparison, as HP_FUZZ_LIBRARY's. */
typedef enum { HP_FUZZ_PRISTINE, HP_FUZZ_LIBRARY, HP_FUZZ_NATIVE, HP_FUZZ_ARENAS } hp_fuzz_arena_t;

typedef struct {
    int blocks; /* 0: the rank has no such buffer */
    hp_fuzz_block_t *block;
    unsigned char *arena[HP_FUZZ_ARENAS];
    size_t arena_bytes;
    ptrdiff_t origin; /* in the arena */
    /* What MPI gets. displs: in extents, or in bytes where every block has a datatype of its own. */
    int *counts, *displs;
    MPI_Count *counts_c;
    MPI_Aint *displs_c;
    MPI_Datatype *types, *own_types; /* own_types: duplicates, which are freed in flight */
    bool duplicated;
} hp_fuzz_side_t;

/* A side of so many blocks; the caller sets map and count of each, then calls one of the three below. */
void hp_fuzz_side_init(hp_fuzz_side_t *side, int blocks);
void hp_fuzz_side_fini(hp_fuzz_side_t *side);
/* One behind the other. */
void hp_fuzz_side_place_in_order(hp_fuzz_side_t *side);
/* In any order, with gaps, the first anywhere. by_bytes: the blocks' datatypes differ. overlap: they may share places. */
void hp_fuzz_side_place_anywhere(hp_fuzz_side_t *side, hp_random_t *random, bool by_bytes, bool overlap);

/* Moves the buffers of a side that has its place and no values yet, until none begins where the other's does. Both may
 * have data only far from where they begin: they could begin at one address and share no byte, which MPICH takes for aliased
 * buffers. */
void hp_fuzz_side_part(hp_fuzz_side_t *side, const hp_fuzz_side_t *from);

/* The pattern everywhere, then the values of the call's operands in all blocks (only < 0) or in one: the i-th basic of
 * them is that of hp_hash(salt, comm_rank, i). fill_none: only the pattern. */
void hp_fuzz_side_fill(hp_fuzz_side_t *side, const hp_fuzz_case_t *test, int only);
void hp_fuzz_side_fill_none(hp_fuzz_side_t *side, const hp_fuzz_case_t *test);

/* Duplicates of the derived datatypes, for the library's side; free_types frees them, the arrays keep the handles. */
void hp_fuzz_side_dup_types(hp_fuzz_side_t *side);
void hp_fuzz_side_free_types(hp_fuzz_side_t *side);

static inline char *hp_fuzz_side_base(const hp_fuzz_side_t *side, hp_fuzz_arena_t arena)
{
    return (char *)side->arena[arena] + side->origin;
}
/* The places of a block's basics. */
static inline hp_places_t hp_fuzz_side_places(const hp_fuzz_side_t *side, hp_fuzz_arena_t arena,
                                              const hp_fuzz_block_t *block)
{
    return (hp_places_t){.map = block->map, .element = hp_fuzz_side_base(side, arena) + block->at};
}
static inline bool hp_fuzz_side_is_empty(const hp_fuzz_side_t *side)
{
    for (int i = 0; i < side->blocks; i++)
        if (side->block[i].count)
            return false;
    return true;
}

/* Nothing was changed by the library. */
bool hp_fuzz_side_unchanged(const hp_fuzz_side_t *side);
/* Every byte is the same on both sides of the comparison. */
bool hp_fuzz_side_same(const hp_fuzz_side_t *side);
/* Outside of the blocks nothing was changed by the library. Returns false with what differs. */
bool hp_fuzz_side_gaps_unchanged(const hp_fuzz_side_t *side, char *difference, size_t difference_bytes);
/* The library's values in one block (at the place that it says) are the host's. first: of its first basic among the
 * operands of a reduction. Returns false with the first difference. */
bool hp_fuzz_side_block_agrees(const hp_fuzz_side_t *side, const hp_fuzz_case_t *test,
                               const hp_fuzz_block_t *block, int64_t first, char *difference,
                               size_t difference_bytes);

#endif
