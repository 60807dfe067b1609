#include "pmpi_wrappers/backend/buffers/block_call.h"

#include <stdint.h>
#include <stdlib.h>
#include "pmpi_wrappers/backend/glue/pack.h"

/* ---- packing ---- */

/* Between the block and where it lies packed. */
static int move(const hp_block_t *block, bool packs, char *packed, const hp_comm_state_t *state)
{
    hp_staging_t staging;

    if (hp_block_bytes(block) == 0)
        return MPI_SUCCESS;
    int code = hp_staging_begin(&staging, block->address, block->count,
                                HP_UNHANDLE(MPI_Datatype, block->type.handle), packs, state);
    if (code != MPI_SUCCESS)
        return code;
    code = hp_datatype_pack(packs, staging.host ? staging.host : block->address, block->count, &block->type,
                            packed, &state->transport.route);
    const int ended = hp_staging_end(&staging, !packs && code == MPI_SUCCESS);
    return code == MPI_SUCCESS ? ended : code;
}

/* The blocks of a side, between the program's memory and `packed`, where they lie one behind the other. */
static int move_blocks(const hp_block_side_t *side, uint32_t blocks, bool packs, char *packed,
                       const hp_comm_state_t *state)
{
    int code = MPI_SUCCESS;

    for (uint32_t i = 0; i < blocks && code == MPI_SUCCESS; i++) {
        hp_block_t block;
        bool is_dense;
        if (!hp_block_at(side, i, &block, &is_dense))
            return MPI_ERR_TYPE;
        code = move(&block, packs, packed, state);
        packed += hp_block_bytes(&block);
    }
    return code;
}

/* ---- where the engine finds the blocks ---- */

static bool is_on_device(const hp_block_t *block)
{
    return hp_device_is_possible() && hp_block_bytes(block) > 0 &&
           hp_device_holds(block->address + block->type.true_lb);
}

/* Writes the blocks' list, unless NULL, as they lie in the program's memory; *as_they_are: they may be used there. *bytes: of all.
 * Of blocks without data a place is of no interest. */
static int list_blocks(const hp_block_side_t *side, uint32_t blocks, size_t *counts, ptrdiff_t *offsets,
                       bool *as_they_are, size_t *bytes)
{
    *as_they_are = true;
    *bytes = 0;
    for (uint32_t i = 0; i < blocks; i++) {
        hp_block_t block;
        bool is_dense;
        if (!hp_block_at(side, i, &block, &is_dense))
            return MPI_ERR_TYPE;
        *as_they_are &= is_dense && !is_on_device(&block);
        *bytes += hp_block_bytes(&block);
        if (counts) {
            counts[i] = hp_block_bytes(&block);
            offsets[i] = (ptrdiff_t)((uintptr_t)block.address - (uintptr_t)side->buffer);
        }
    }
    return MPI_SUCCESS;
}

static void list_row(const size_t *counts, ptrdiff_t *offsets, uint32_t blocks)
{
    ptrdiff_t end = 0;

    for (uint32_t i = 0; i < blocks; i++) {
        offsets[i] = end;
        end += (ptrdiff_t)counts[i];
    }
}

/* One more than none, so that it is not NULL. */
static char *allocate(size_t bytes)
{
    return malloc(bytes + 1);
}

/* The blocks of a side, for a buffer of the call: where they are, or in memory of its own. packs: with their data. *address: where
 * the engine finds them. */
static int take_side(const hp_block_side_t *side, hp_block_buffer_t *buffer, const hp_block_list_t *list,
                     bool packs, bool always, void **address, const hp_comm_state_t *state)
{
    size_t *counts = (size_t *)(uintptr_t)list->counts;
    ptrdiff_t *offsets = (ptrdiff_t *)(uintptr_t)list->offsets;
    bool as_they_are;
    size_t bytes;

    int code = list_blocks(side, buffer->blocks, counts, offsets, &as_they_are, &bytes);
    *address = (void *)(uintptr_t)side->buffer;
    if (code != MPI_SUCCESS || (as_they_are && !always))
        return code;
    *address = buffer->memory = allocate(bytes);
    if (!buffer->memory)
        return MPI_ERR_NO_MEM;
    if (counts)
        list_row(counts, offsets, buffer->blocks);
    return packs ? move_blocks(side, buffer->blocks, true, buffer->memory, state) : MPI_SUCCESS;
}

/* Room for the lists of both buffers. */
static bool make_lists(hp_block_call_t *call)
{
    const size_t blocks = (size_t)call->send.blocks + call->recv.blocks;

    call->call.blocks = NULL;
    call->blocks = (hp_blocks_t){.in_place = call->in_place};
    if (!hp_collective_is(call->arguments.collective, HP_BLOCKS_DIFFER))
        return true;
    size_t *counts = call->lists = calloc(blocks + 1, sizeof(size_t) + sizeof(ptrdiff_t));
    if (!counts)
        return false;
    ptrdiff_t *offsets = (ptrdiff_t *)(counts + blocks);
    call->blocks.send = (hp_block_list_t){counts, offsets};
    call->blocks.recv = (hp_block_list_t){counts + call->send.blocks, offsets + call->send.blocks};
    call->call.blocks = &call->blocks;
    return true;
}

/* ---- rows ---- */

/* Stands for the place of a block that stays in the program's memory. */
static const ptrdiff_t in_program = PTRDIFF_MIN;

/* The block lies in memory of the call's own. */
static bool is_in_row(const hp_block_buffer_t *buffer, ptrdiff_t offset)
{
    return (size_t)offset < buffer->bytes;
}

/* Between the program's blocks and their rows; but the one that is kept. */
static int move_rows(const hp_block_side_t *side, const hp_block_buffer_t *buffer,
                     const hp_block_list_t *list, uint32_t kept, bool packs, const hp_comm_state_t *state)
{
    int code = MPI_SUCCESS;

    for (uint32_t i = 0; i < buffer->blocks && code == MPI_SUCCESS; i++) {
        hp_block_t block;
        bool is_dense;
        if (i == kept || !is_in_row(buffer, list->offsets[i]))
            continue;
        if (!hp_block_at(side, i, &block, &is_dense))
            return MPI_ERR_TYPE;
        code = move(&block, packs, buffer->memory + list->offsets[i], state);
    }
    return code;
}

/* The blocks of a side in rows, and behind them longer ones that cannot stay where they are (copies: none can). */
static int take_rows(const hp_block_call_t *call, const hp_block_side_t *side, hp_block_buffer_t *buffer,
                     const hp_block_list_t *list, bool copies, void **address)
{
    size_t *counts = (size_t *)(uintptr_t)list->counts, end = buffer->blocks * call->row;
    ptrdiff_t *offsets = (ptrdiff_t *)(uintptr_t)list->offsets;
    hp_block_t block;
    bool is_dense;

    for (uint32_t i = 0; i < buffer->blocks; i++) {
        if (!hp_block_at(side, i, &block, &is_dense))
            return MPI_ERR_TYPE;
        counts[i] = hp_block_bytes(&block);
        offsets[i] = (ptrdiff_t)(i * call->row);
        if (counts[i] <= call->row)
            continue;
        const bool stays = is_dense && !copies && !is_on_device(&block);
        offsets[i] = stays ? in_program : (ptrdiff_t)end;
        end += stays ? 0 : counts[i];
    }
    *address = buffer->memory = allocate(end);
    buffer->bytes = end;
    if (!buffer->memory)
        return MPI_ERR_NO_MEM;
    for (uint32_t i = 0; i < buffer->blocks; i++)
        if (offsets[i] == in_program && hp_block_at(side, i, &block, &is_dense))
            offsets[i] = (ptrdiff_t)((uintptr_t)block.address - (uintptr_t)buffer->memory);
    return MPI_SUCCESS;
}

/* The own block of a rank that has all in place: it stays where it is. */
static uint32_t kept_in_row(const hp_block_call_t *call, const hp_comm_state_t *state)
{
    return call->in_place && hp_block_call_pattern(call) != HP_PATTERN_ALLTOALL ? (uint32_t)state->rank
                                                                                : UINT32_MAX;
}

static int begin_rows(hp_block_call_t *call, hp_comm_state_t *state)
{
    const hp_block_arguments_t *a = &call->arguments;
    const bool is_alltoall = hp_block_call_pattern(call) == HP_PATTERN_ALLTOALL, in_place = call->in_place;
    const hp_block_side_t *from = in_place && is_alltoall ? &a->recv : &a->send;
    void *send = NULL;
    int code = MPI_SUCCESS;

    if (call->send.blocks && (is_alltoall || a->send.buffer != MPI_IN_PLACE)) {
        code = take_rows(call, from, &call->send, &call->blocks.send, in_place && is_alltoall, &send);
        if (code == MPI_SUCCESS)
            code = move_rows(from, &call->send, &call->blocks.send, kept_in_row(call, state), true, state);
    }
    if (code == MPI_SUCCESS && call->recv.blocks && a->recv.buffer != MPI_IN_PLACE)
        code = take_rows(call, &a->recv, &call->recv, &call->blocks.recv, false, &call->call.recv);
    if (in_place && !is_alltoall) /* one buffer has all */
        send = call->call.recv = call->recv.memory ? (void *)call->recv.memory : send;
    call->call.send = send;
    return code;
}

/* ---- blocks where they are, or packed ---- */

/* The block that this rank keeps is in the buffer that has all, in which it may have to be packed, too. */
static int begin_own_in_place(hp_block_call_t *call, const hp_comm_state_t *state)
{
    const bool sends = call->arguments.send.buffer != MPI_IN_PLACE;
    const hp_block_side_t *side = sends ? &call->arguments.send : &call->arguments.recv;
    hp_block_buffer_t *buffer = sends ? &call->send : &call->recv;
    const uint32_t own = (uint32_t)state->rank;
    hp_block_t block;
    bool is_dense;
    void *address;

    int code = take_side(side, buffer, sends ? &call->blocks.send : &call->blocks.recv, sends, false,
                         &address, state);
    call->call.send = call->call.recv = address;
    if (code != MPI_SUCCESS || sends || !buffer->memory)
        return code;
    if (!hp_block_at(side, own, &block, &is_dense))
        return MPI_ERR_TYPE;
    const size_t offset = call->lists ? (size_t)call->blocks.recv.offsets[own] : own * hp_block_bytes(&block);
    return move(&block, true, buffer->memory + offset, state);
}

static int begin_blocks(hp_block_call_t *call, hp_comm_state_t *state)
{
    const hp_block_arguments_t *a = &call->arguments;
    const bool keeps_own = call->in_place && hp_block_call_pattern(call) != HP_PATTERN_ALLTOALL;
    void *send = NULL;
    int code = MPI_SUCCESS;

    if (keeps_own)
        return begin_own_in_place(call, state);
    if (call->send.blocks)
        code = take_side(call->in_place ? &a->recv : &a->send, &call->send, &call->blocks.send, true,
                         call->in_place, &send, state);
    call->call.send = send;
    if (code == MPI_SUCCESS && call->recv.blocks)
        code = take_side(&a->recv, &call->recv, &call->blocks.recv, false, false, &call->call.recv, state);
    return code;
}

/* ---- reductions ---- */

/* The receive buffer's data is the input, and what comes out must not be in its way. */
static int copy_input(hp_block_call_t *call, hp_comm_state_t *state, size_t elements)
{
    const hp_type_t *type = &call->call.type;
    hp_transport_t *transport = state->comm->transport;

    call->send.memory = allocate(hp_type_span(type, elements));
    if (!call->send.memory)
        return MPI_ERR_NO_MEM;
    char *copy = call->send.memory - type->true_lb;
    hp_comm_state_lock(state);
    const hp_status_t status = transport->ops->copy(transport, copy, call->call.recv, elements, type);
    hp_comm_state_unlock(state);
    call->call.send = copy;
    return hp_comm_state_code(state, status);
}

static void list_vector(hp_block_call_t *call, const hp_comm_state_t *state)
{
    size_t *counts = (size_t *)(uintptr_t)call->blocks.send.counts;
    ptrdiff_t *offsets = (ptrdiff_t *)(uintptr_t)call->blocks.send.offsets, end = 0;

    for (uint32_t i = 0; i < call->send.blocks; i++) {
        counts[i] = (size_t)hp_block_side_count(&call->arguments.recv, i);
        offsets[i] = end;
        end += (ptrdiff_t)(counts[i] * call->call.type.extent);
    }
    counts[call->send.blocks] = counts[state->rank];
    offsets[call->send.blocks] = 0;
}

static size_t elements_of(const hp_block_call_t *call, uint32_t blocks)
{
    size_t elements = 0;
    for (uint32_t i = 0; i < blocks; i++)
        elements += (size_t)hp_block_side_count(&call->arguments.recv, i);
    return elements;
}

static int begin_reduction(hp_block_call_t *call, hp_comm_state_t *state)
{
    const hp_block_arguments_t *a = &call->arguments;
    const MPI_Datatype type = HP_UNHANDLE(MPI_Datatype, call->call.type.handle);
    const size_t in = elements_of(call, call->send.blocks);
    const size_t own = hp_block_call_has_result(call, state)
                           ? (size_t)hp_block_side_count(&a->recv, (uint32_t)state->rank)
                           : 0;
    const size_t out = call->in_place ? in : own;
    int code = MPI_SUCCESS;

    if (call->lists)
        list_vector(call, state);
    call->call.send = a->send.buffer;
    call->call.recv = (void *)(uintptr_t)a->recv.buffer;
    if (!call->in_place)
        code = hp_staging_begin(&call->send.staging, (void *)(uintptr_t)a->send.buffer, (int64_t)in, type,
                                true, state);
    if (code == MPI_SUCCESS && out > 0)
        code =
            hp_staging_begin(&call->recv.staging, call->call.recv, (int64_t)out, type, call->in_place, state);
    if (call->send.staging.host)
        call->call.send = call->send.staging.host;
    if (call->recv.staging.host)
        call->call.recv = call->recv.staging.host;
    return code == MPI_SUCCESS && call->in_place ? copy_input(call, state, in) : code;
}

/* ---- the whole ---- */

/* Gives back what the call has; leaves: what the host MPI still uses is left alone. */
static void release(hp_block_call_t *call, bool leaves)
{
    if (leaves) {
        hp_staging_leave(&call->send.staging);
        hp_staging_leave(&call->recv.staging);
    } else {
        free(call->send.memory);
        free(call->recv.memory);
    }
    call->send.memory = call->recv.memory = NULL;
    hp_staging_end(&call->send.staging, false);
    free(call->lists);
    call->lists = NULL;
}

/* Elements of a block, where all are of one size. */
static size_t equal_count(const hp_block_call_t *call)
{
    const hp_block_arguments_t *a = &call->arguments;
    const bool by_send = hp_block_side_counts(&a->send, call->send.blocks);
    uint64_t each = 0;

    if (hp_block_call_reduces(call))
        return (size_t)a->recv.count;
    hp_block_type_bytes(by_send ? a->send.type : a->recv.type, &each);
    return (size_t)(by_send ? a->send.count : a->recv.count) * each;
}

int hp_block_call_begin(hp_block_call_t *call, hp_comm_state_t *state)
{
    hp_call_t *made = &call->call;

    call->send.memory = call->recv.memory = NULL;
    call->send.staging.host = call->recv.staging.host = NULL;
    made->collective = call->arguments.collective;
    made->root = (uint32_t)call->arguments.root;
    made->recv = NULL;
    if (!make_lists(call))
        return MPI_ERR_NO_MEM;
    made->count = call->lists ? 0 : equal_count(call);
    made->row = call->row;
    const int code = (hp_block_call_reduces(call) ? begin_reduction
                      : call->row > 0             ? begin_rows
                                                  : begin_blocks)(call, state);
    if (code != MPI_SUCCESS) {
        hp_staging_end(&call->recv.staging, false);
        release(call, false);
    }
    return code;
}

int hp_block_call_end(hp_block_call_t *call, const hp_comm_state_t *state, int code)
{
    const bool leaves = code != MPI_SUCCESS && !hp_transport_ended(state->comm->transport);
    int ended = MPI_SUCCESS;

    if (call->recv.memory && code == MPI_SUCCESS && call->row > 0)
        ended = move_rows(&call->arguments.recv, &call->recv, &call->blocks.recv, kept_in_row(call, state),
                          false, state);
    else if (call->recv.memory && code == MPI_SUCCESS)
        ended = move_blocks(&call->arguments.recv, call->recv.blocks, false, call->recv.memory, state);
    release(call, leaves);
    const int written = hp_staging_end(&call->recv.staging, code == MPI_SUCCESS);
    return code != MPI_SUCCESS ? code : ended != MPI_SUCCESS ? ended : written;
}

/* ---- kept ---- */

/* Entries of a side's arrays. */
static uint32_t entries_of(const hp_block_call_t *call, const hp_block_side_t *side,
                           const hp_comm_state_t *state)
{
    if (hp_block_call_reduces(call))
        return (uint32_t)state->size;
    return side == &call->arguments.send ? call->send.blocks : call->recv.blocks;
}

static size_t keep_arrays(hp_block_call_t *call, const hp_comm_state_t *state, char *memory)
{
    hp_block_side_t *const sides[] = {&call->arguments.send, &call->arguments.recv};
    size_t end = 0;

    for (unsigned i = 0; i < 2; i++) {
        const uint32_t entries = hp_block_side_counts(sides[i], 1) ? entries_of(call, sides[i], state) : 0;
        hp_block_side_keep_arrays(sides[i], entries, memory, &end);
    }
    return end;
}

int hp_block_call_keep(hp_block_call_t *call, const hp_comm_state_t *state)
{
    hp_block_side_t *const send = &call->arguments.send, *const recv = &call->arguments.recv;
    int code = MPI_SUCCESS;

    call->kept_send_types = call->kept_recv_types = 0;
    call->kept = malloc(keep_arrays(call, state, NULL) + 1);
    if (!call->kept)
        return MPI_ERR_NO_MEM;
    keep_arrays(call, state, call->kept);
    if (hp_block_call_reduces(call)) /* of a datatype and an operation that nobody can free */
        return code;
    if (hp_block_side_counts(send, call->send.blocks))
        code = hp_block_side_keep_types(send, call->send.blocks, &call->kept_send_types);
    if (code == MPI_SUCCESS && hp_block_side_counts(recv, call->recv.blocks))
        code = hp_block_side_keep_types(recv, call->recv.blocks, &call->kept_recv_types);
    if (code != MPI_SUCCESS)
        hp_block_call_drop(call);
    return code;
}

void hp_block_call_drop(hp_block_call_t *call)
{
    if (!call->kept)
        return;
    hp_block_side_drop_types(&call->arguments.send, call->kept_send_types);
    hp_block_side_drop_types(&call->arguments.recv, call->kept_recv_types);
    free(call->kept);
    call->kept = NULL;
}
