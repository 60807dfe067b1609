#include "pmpi_wrappers/backend/buffers/block_call.h"

/* How many blocks each side has here. A buffer that is in place is not used. Its block lies in the other one, or is a copy of that. */
static void set_blocks(hp_block_call_t *call, hp_block_entries_t blocks)
{
    call->send.blocks = blocks.send;
    call->recv.blocks = blocks.recv;
    call->in_place = (blocks.send && call->arguments.send.buffer == MPI_IN_PLACE) ||
                     (blocks.recv && call->arguments.recv.buffer == MPI_IN_PLACE);
}

static bool is_valid(const hp_block_side_t *side, uint32_t blocks)
{
    return !hp_block_side_counts(side, blocks) ||
           (hp_block_side_is_valid(side, blocks) && !hp_block_side_lacks_buffer(side, 0, blocks));
}

/* Of a reduction's result a rank has its own block. */
static bool lacks_result(const hp_block_call_t *call, const hp_comm_state_t *state)
{
    return hp_block_call_has_result(call, state) &&
           hp_block_side_lacks_buffer(&call->arguments.recv, (uint32_t)state->rank, 1);
}

/* MPI_IN_PLACE where the standard has none: the host MPI says so. */
static bool misplaces_in_place(const hp_block_call_t *call, const hp_comm_state_t *state)
{
    const hp_block_arguments_t *a = &call->arguments;
    const hp_pattern_t pattern = hp_block_call_pattern(call);
    const bool is_root = a->root == state->rank, scatters = pattern == HP_PATTERN_SCATTER;
    const bool may_send = !scatters && (pattern != HP_PATTERN_GATHER || is_root),
               may_receive = scatters && is_root;

    return (call->send.blocks && a->send.buffer == MPI_IN_PLACE && !may_send) ||
           (call->recv.blocks && a->recv.buffer == MPI_IN_PLACE && !may_receive);
}

/* A reduction has one datatype, and counts that are the same on all ranks. */
static bool are_valid(const hp_block_call_t *call, const hp_comm_state_t *state)
{
    const hp_block_arguments_t *a = &call->arguments;
    const uint32_t size = (uint32_t)state->size;

    if (!hp_block_call_reduces(call))
        return is_valid(&a->send, call->send.blocks) && is_valid(&a->recv, call->recv.blocks) &&
               !misplaces_in_place(call, state);
    hp_block_side_t sent = a->recv; /* as much as all ranks get together */
    sent.buffer = a->send.buffer;
    return hp_block_side_is_valid(&a->recv, size) && !lacks_result(call, state) &&
           !hp_block_side_lacks_buffer(&sent, 0, size);
}

/* The receive side, but at the root of a scatter. */
const hp_block_side_t *hp_block_call_known(const hp_block_call_t *call)
{
    const hp_block_arguments_t *a = &call->arguments;
    const bool by_send = hp_block_call_pattern(call) == HP_PATTERN_SCATTER
                             ? hp_block_side_counts(&a->send, call->send.blocks)
                             : !hp_block_side_counts(&a->recv, call->recv.blocks);

    return hp_collective_is(a->collective, HP_OWN_SIZES) ? NULL : by_send ? &a->send : &a->recv;
}

bool hp_block_call_bytes(hp_block_call_t *call, const hp_comm_state_t *state, uint64_t *bytes)
{
    const hp_block_arguments_t *a = &call->arguments;

    *bytes = 0;
    if (a->root < 0 || a->root >= state->size)
        return false;
    set_blocks(call, hp_collective_blocks(a->collective, (uint32_t)a->root, (uint32_t)state->size,
                                          (uint32_t)state->rank));
    if (!are_valid(call, state))
        return false;
    if (!hp_block_call_known(call))
        return true;
    return hp_block_side_average(hp_block_call_known(call), (uint32_t)state->size, bytes);
}

/* Asked before each call with lists that passes: without a branch for each number. */
static inline bool has_negative(const hp_block_side_t *side, uint32_t blocks)
{
    int64_t wide = side->counts ? 0 : side->count;
    int32_t narrow = 0;

    if (side->counts && side->is_wide)
        for (uint32_t i = 0; i < blocks; i++)
            wide |= ((const int64_t *)side->counts)[i];
    else if (side->counts)
        for (uint32_t i = 0; i < blocks; i++)
            narrow |= ((const int32_t *)side->counts)[i];
    return wide < 0 || narrow < 0;
}

/* Numbers of a predefined datatype, or nothing. */
static inline bool is_plainly_right(const hp_block_side_t *side, uint32_t blocks)
{
    return blocks == 0 || (side->buffer && side->buffer != MPI_IN_PLACE && !side->types &&
                           hp_datatype_named(side->type) && !has_negative(side, blocks));
}

bool hp_block_arguments_are_right(const hp_block_arguments_t *a, const hp_comm_state_t *state)
{
    const uint32_t size = (uint32_t)state->size, at_root = a->root == state->rank ? size : 0;
    uint32_t sent = size, received = size;

    if (a->collective == HP_GATHERV) {
        sent = 1;
        received = at_root;
    } else if (a->collective == HP_SCATTERV) {
        sent = at_root;
        received = 1;
    }
    return a->root >= 0 && a->root < state->size && a->send.buffer != a->recv.buffer &&
           is_plainly_right(&a->send, sent) && is_plainly_right(&a->recv, received);
}

/* ---- the last call ---- */

static bool is_like(const hp_block_side_t *side, const hp_block_memo_side_t *last)
{
    return side->count == last->count && side->type == last->type &&
           (side->buffer == MPI_IN_PLACE) == last->in_place && !side->buffer == last->is_null;
}

hp_block_memo_t *hp_block_call_before(const hp_block_arguments_t *a, hp_comm_state_t *state)
{
    hp_block_memo_t *last = hp_comm_state_memo(state, a->collective);

    return last->is_valid && a->root == last->root && is_like(&a->send, &last->send) &&
                   is_like(&a->recv, &last->recv)
               ? last
               : NULL;
}

bool hp_block_call_recall(hp_block_call_t *call, hp_comm_state_t *state, uint64_t *bytes)
{
    const hp_block_memo_t *last = hp_block_call_before(&call->arguments, state);

    if (!last)
        return false;
    set_blocks(call, (hp_block_entries_t){last->send.blocks, last->recv.blocks});
    *bytes = last->bytes;
    return true;
}

static bool is_plain(const hp_block_side_t *side)
{
    return !side->counts && !side->types;
}

static hp_block_memo_side_t memo_of(const hp_block_side_t *side, uint32_t blocks)
{
    return (hp_block_memo_side_t){.count = side->count,
                                  .type = side->type,
                                  .in_place = side->buffer == MPI_IN_PLACE,
                                  .is_null = !side->buffer,
                                  .blocks = blocks};
}

/* A datatype that is not looked at on this rank may be anything, and is compared all the same. */
static bool lasts(const hp_block_side_t *side, uint32_t blocks)
{
    return is_plain(side) && (!hp_block_side_counts(side, blocks) || hp_datatype_named(side->type));
}

void hp_block_call_remember(const hp_block_call_t *call, hp_comm_state_t *state, uint64_t bytes)
{
    const hp_block_arguments_t *a = &call->arguments;

    if (lasts(&a->send, call->send.blocks) && lasts(&a->recv, call->recv.blocks))
        *hp_comm_state_memo(state, a->collective) =
            (hp_block_memo_t){.is_valid = true,
                              .root = a->root,
                              .send = memo_of(&a->send, call->send.blocks),
                              .recv = memo_of(&a->recv, call->recv.blocks),
                              .bytes = bytes};
}

void hp_block_call_see(const hp_block_call_t *call, uint64_t *longest, uint64_t *peers)
{
    const hp_block_arguments_t *a = &call->arguments;

    *longest = *peers = 0;
    if (hp_block_side_counts(&a->send, call->send.blocks))
        hp_block_side_see(&a->send, call->send.blocks, longest, peers);
    if (hp_block_side_counts(&a->recv, call->recv.blocks))
        hp_block_side_see(&a->recv, call->recv.blocks, longest, peers);
}

bool hp_block_call_is_committed(const hp_block_call_t *call)
{
    const hp_block_arguments_t *a = &call->arguments;
    return (!hp_block_side_counts(&a->send, call->send.blocks) ||
            hp_block_side_is_committed(&a->send, call->send.blocks, a->collective, HP_UNCOMMITTED_SEND)) &&
           (!hp_block_side_counts(&a->recv, call->recv.blocks) ||
            hp_block_side_is_committed(&a->recv, call->recv.blocks, a->collective, HP_UNCOMMITTED_RECV));
}

static bool own_block(const hp_block_side_t *side, uint32_t blocks, uint32_t rank, hp_block_t *block)
{
    bool is_dense;
    return hp_block_side_counts(side, blocks) && hp_block_at(side, blocks > 1 ? rank : 0, block, &is_dense);
}

bool hp_block_call_is_aliased(const hp_block_call_t *call, const hp_comm_state_t *state)
{
    const uint32_t rank = (uint32_t)state->rank;
    hp_block_t send, recv;

    return own_block(&call->arguments.send, call->send.blocks, rank, &send) &&
           own_block(&call->arguments.recv, call->recv.blocks, rank, &recv) && send.address == recv.address &&
           hp_block_bytes(&send) > 0 && send.count == recv.count && send.type.handle == recv.type.handle;
}
