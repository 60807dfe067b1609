/* block_call: a call of a collective of blocks: the program's arguments, and the engine's call made of them.
 *
 * The engine knows rows and lists of blocks of one type. So blocks whose data lies without gaps are used where they are; others,
 * and those in device memory, are packed into memory of the call's own and unpacked from there: this rank's business alone.
 * Reductions keep their datatype. In place the input is copied, but for the block that a rank keeps itself (exchange.h).
 *
 * Threads: one a call. Ownership: the program's buffers, arrays and datatypes are borrowed, the latter two until they are kept. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_BUFFERS_BLOCK_CALL_H
#define HP_PMPI_WRAPPERS_BACKEND_BUFFERS_BLOCK_CALL_H

#include "pmpi_wrappers/backend/buffers/block_side.h"
#include "pmpi_wrappers/backend/buffers/staging.h"
#include "pmpi_wrappers/backend/comms/comm_state.h"

typedef struct {
    hp_collective_t collective;
    hp_block_side_t send, recv;
    MPI_Op op; /* of a reduction */
    int root;
} hp_block_arguments_t;

/* What stands for a buffer while the call runs. */
typedef struct {
    uint32_t blocks; /* 0: the call does not use it here */
    char *memory;    /* of the call's own; NULL: the program's buffer is used */
    size_t bytes;    /* of it, where blocks come in rows */
    hp_staging_t staging;
} hp_block_buffer_t;

typedef struct {
    hp_block_arguments_t arguments;
    hp_call_t call; /* for the engine, from begin to end */
    hp_blocks_t blocks;
    hp_block_buffer_t send, recv;
    size_t row;  /* of the engine's call (hp_call_t); 0: none */
    void *lists; /* memory of blocks */
    bool in_place;
    void *kept; /* memory of the arrays that were kept; NULL: none were */
    uint32_t kept_send_types, kept_recv_types;
} hp_block_call_t;

static inline hp_pattern_t hp_block_call_pattern(const hp_block_call_t *call)
{
    return hp_collective_pattern(call->arguments.collective);
}
static inline bool hp_block_call_reduces(const hp_block_call_t *call)
{
    return hp_pattern_is(hp_block_call_pattern(call), HP_PATTERN_REDUCES);
}
/* Of a reduction: the first rank gets nothing of an exscan. */
static inline bool hp_block_call_has_result(const hp_block_call_t *call, const hp_comm_state_t *state)
{
    return hp_block_call_pattern(call) != HP_PATTERN_EXSCAN || state->rank > 0;
}

/* ---- block_arguments.c: is it valid, and what is known of it? ---- */

/* What is remembered of the last call of that collective, if it was like this one; else NULL. */
hp_block_memo_t *hp_block_call_before(const hp_block_arguments_t *a, hp_comm_state_t *state);
/* What all ranks know of the size: the average block, in bytes, at least 1 if there is any data; 0: there is none, or sizes are each
 * rank's own (HP_OWN_SIZES). False: an argument that the host MPI is to report. */
bool hp_block_call_bytes(hp_block_call_t *call, const hp_comm_state_t *state, uint64_t *bytes);
/* The side whose sizes these are; NULL: sizes are each rank's own. */
const hp_block_side_t *hp_block_call_known(const hp_block_call_t *call);
/* The same of a call like the last one, whose arguments are known to be valid and their datatypes to be committed, without looking
 * at them again. False: it is another one. */
bool hp_block_call_recall(hp_block_call_t *call, hp_comm_state_t *state, uint64_t *bytes);
/* The call, of so many bytes, is valid: the next one like it is recalled. */
void hp_block_call_remember(const hp_block_call_t *call, hp_comm_state_t *state, uint64_t bytes);
/* The bytes of the longest block that this rank sends or receives, and how many ranks it has such for, or from. */
void hp_block_call_see(const hp_block_call_t *call, uint64_t *longest, uint64_t *peers);
/* Are all datatypes of blocks with data committed? */
bool hp_block_call_is_committed(const hp_block_call_t *call);
/* Of a collective with sizes of each rank's own: are the arguments right, as far as this rank knows, and so plainly that the MPI need not
 * be asked? */
bool hp_block_arguments_are_right(const hp_block_arguments_t *a, const hp_comm_state_t *state);
/* Do the blocks that this rank has for itself lie in the same memory on both sides? Then the host MPI may refuse the call. */
bool hp_block_call_is_aliased(const hp_block_call_t *call, const hp_comm_state_t *state);
/* ---- block_call.c: what the engine works on ---- */

/* Makes call->call, whose op and type of a reduction have been filled in, on a communicator of state. Packs. Returns an MPI code,
 * nothing reported; on an error nothing is kept. */
int hp_block_call_begin(hp_block_call_t *call, hp_comm_state_t *state);
/* code: of the run. Unpacks. Returns it, or what failed here. */
int hp_block_call_end(hp_block_call_t *call, const hp_comm_state_t *state, int code);

/* Arrays and datatypes become the call's own, for one that outlives the program's. Returns an MPI code. */
int hp_block_call_keep(hp_block_call_t *call, const hp_comm_state_t *state);
void hp_block_call_drop(hp_block_call_t *call);

#endif
