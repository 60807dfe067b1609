/* block_side: a buffer of a collective of blocks as the program describes it: so many blocks, of one count or a count each, of one
 * datatype or a datatype each.
 *
 * Threads: plain data. Ownership: buffers, arrays and datatypes are the program's, until they are kept. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_BUFFERS_BLOCK_SIDE_H
#define HP_PMPI_WRAPPERS_BACKEND_BUFFERS_BLOCK_SIDE_H

#include "pmpi_wrappers/backend/comms/self_comm.h"
#include "pmpi_wrappers/backend/glue/datatypes.h"

typedef struct {
    const void *buffer;
    int64_t count;      /* elements of each block */
    const void *counts; /* in its place: of each; NULL: there are none. int, or MPI_Count: is_wide */
    const void *displs; /* where blocks begin, in extents; NULL: one behind the other. int, or MPI_Aint */
    MPI_Datatype type;
    const MPI_Datatype *types; /* in its place: of each, and displs are in bytes */
    bool is_wide;
} hp_block_side_t;

#define HP_SIDE(address, number, datatype)                                                                   \
    ((hp_block_side_t){.buffer = (address), .count = (number), .type = (datatype)})
#define HP_SIDES(address, numbers, places, datatype)                                                         \
    ((hp_block_side_t){.buffer = (address),                                                                  \
                       .counts = (numbers),                                                                  \
                       .displs = (places),                                                                   \
                       .type = (datatype),                                                                   \
                       .is_wide = sizeof *(numbers) > sizeof(int)})
#define HP_SIDES_OF(address, numbers, places, datatypes)                                                     \
    ((hp_block_side_t){.buffer = (address),                                                                  \
                       .counts = (numbers),                                                                  \
                       .displs = (places),                                                                   \
                       .types = (datatypes),                                                                 \
                       .is_wide = sizeof *(numbers) > sizeof(int)})

int64_t hp_block_side_count(const hp_block_side_t *side, uint32_t i); /* elements of block i */
MPI_Datatype hp_block_side_type(const hp_block_side_t *side, uint32_t i);

/* Is the side, of so many blocks here, looked at on this rank? */
static inline bool hp_block_side_counts(const hp_block_side_t *side, uint32_t blocks)
{
    return blocks > 0 && side->buffer != MPI_IN_PLACE;
}

/* Are counts and datatypes of so many blocks such as MPI allows? An empty block of a list needs no datatype. */
bool hp_block_side_is_valid(const hp_block_side_t *side, uint32_t blocks);
/* Is the buffer NULL, and is there data in so many blocks from that one that needs one? Only a datatype of absolute addresses does
 * not. */
bool hp_block_side_lacks_buffer(const hp_block_side_t *side, uint32_t first, uint32_t blocks);
/* Are the datatypes of blocks with data committed? Where one is not and the host MPI refuses no such mistake, it is committed. */
bool hp_block_side_is_committed(const hp_block_side_t *side, uint32_t blocks, hp_collective_t collective, hp_mistake_t mistake);
/* *bytes: of an element. False: that is not known. */
bool hp_block_type_bytes(MPI_Datatype type, uint64_t *bytes);
/* *bytes: the average of the blocks of all ranks, at least 1 if there is any data. False: too many. */
bool hp_block_side_average(const hp_block_side_t *side, uint32_t ranks, uint64_t *bytes);
/* Raises *longest to the bytes of the longest block, *peers to the number of blocks with data. */
void hp_block_side_see(const hp_block_side_t *side, uint32_t blocks, uint64_t *longest, uint64_t *peers);

/* A block in the program's memory. */
typedef struct {
    char *address;
    int64_t count;
    hp_type_t type;
} hp_block_t;

/* Block i. is_dense: its data lies without gaps. False: nobody can tell what its datatype is. */
bool hp_block_at(const hp_block_side_t *side, uint32_t i, hp_block_t *block, bool *is_dense);
size_t hp_block_bytes(const hp_block_t *block);

/* The arrays, of so many entries, move to memory + *end, and *end behind them. memory NULL: only *end moves. */
void hp_block_side_keep_arrays(hp_block_side_t *side, uint32_t entries, char *memory, size_t *end);
/* Datatypes become the side's own. Returns an MPI code; what fails is the last that was looked at. *kept: how many, to be dropped
 * again. */
int hp_block_side_keep_types(hp_block_side_t *side, uint32_t entries, uint32_t *kept);
void hp_block_side_drop_types(hp_block_side_t *side, uint32_t kept);

#endif
