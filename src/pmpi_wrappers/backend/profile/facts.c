#include "pmpi_wrappers/backend/profile/facts.h"

#include <stdlib.h>
#include "pmpi_wrappers/backend/glue/datatypes.h"
#include "pmpi_wrappers/backend/glue/device.h"

/* One side of a call. */
typedef struct {
    const void *buffer;
    int8_t count, type, types; /* numbers of arguments */
    char letter;
} side_t;

static side_t send_side(const hp_call_shape_t *shape, const uintptr_t *x)
{
    return (side_t){shape->send < 0 ? NULL : (const void *)x[shape->send], shape->send_count,
                    shape->send_type, shape->send_types, shape->send_letter};
}

static side_t recv_side(const hp_call_shape_t *shape, const uintptr_t *x)
{
    return (side_t){shape->recv < 0 ? NULL : (const void *)x[shape->recv], shape->recv_count,
                    shape->recv_type, shape->recv_types, shape->recv_letter};
}

static inline bool is_list(char letter)
{
    const uint32_t lists = 1u << ('u' - 'a') | 1u << ('v' - 'a') | 1u << ('r' - 'a') | 1u << ('l' - 'a') |
                           1u << ('d' - 'a') | 1u << ('s' - 'a');
    return letter && (lists >> (letter - 'a') & 1u);
}

/* Blocks of a side. */
static inline int blocks_of(char letter, const hp_seen_comm_t *comm)
{
    switch (letter) {
    case 'p':
    case 'u':
    case 'v':
    case 'r':
        return comm ? comm->remote_size : 0;
    case 'l':
        return comm ? comm->size : 0;
    case 'i':
    case 's':
        return comm ? comm->sources : 0;
    case 'o':
    case 'd':
        return comm ? comm->destinations : 0;
    default:
        return 1;
    }
}

static int64_t count_at(const hp_call_shape_t *shape, const uintptr_t *x, int8_t argument, int i)
{
    const int64_t value =
        shape->is_large ? ((const MPI_Count *)x[argument])[i] : ((const int *)x[argument])[i];
    return value > 0 ? value : 0;
}

static int64_t count_of(const hp_call_shape_t *shape, uintptr_t argument)
{
    const int64_t value = shape->is_large ? (int64_t)argument : (int)argument;
    return value > 0 ? value : 0;
}

/* A handle as an argument travels: an int handle may have anything above it. */
static hp_handle_t type_handle(uintptr_t argument)
{
    return HP_HANDLE((MPI_Datatype)argument);
}

/* Does this rank give, or take, what stands there? */
static inline bool is_significant(const hp_call_shape_t *shape, const uintptr_t *x, const side_t *side,
                                  bool is_root)
{
    if (side->count < 0 || (side->type < 0 && side->types < 0) || side->buffer == MPI_IN_PLACE)
        return false;
    if (shape->root < 0 || !shape->recv_letter || !shape->send_letter)
        return true;
    if ((int)x[shape->root] == MPI_PROC_NULL)
        return false;
    if (side->letter == 'p' || side->letter == 'r')
        return is_root;
    return !((int)x[shape->root] == MPI_ROOT);
}

/* Of all blocks of a side with one type. */
static inline uint64_t elements_of(const hp_call_shape_t *shape, const uintptr_t *x, const side_t *side,
                                   int blocks)
{
    uint64_t count = 0;

    if (!is_list(side->letter))
        return (uint64_t)count_of(shape, x[side->count]) * (uint64_t)blocks;
    for (int i = 0; i < blocks; i++)
        count += (uint64_t)count_at(shape, x, side->count, i);
    return count;
}

static inline uint64_t bytes_of(const hp_call_shape_t *shape, const uintptr_t *x, const side_t *side,
                                const hp_seen_comm_t *comm, uint16_t *type, bool *is_derived)
{
    const int blocks = blocks_of(side->letter, comm);
    uint64_t bytes = 0;

    if (side->types >= 0) {
        const MPI_Datatype *datatypes = (const MPI_Datatype *)x[side->types];
        for (int i = 0; i < blocks; i++) {
            const int64_t count = count_at(shape, x, side->count, i);
            if (count == 0)
                continue;
            const hp_seen_type_t seen = hp_handles_type(HP_HANDLE(datatypes[i]));
            bytes += (uint64_t)count * seen.bytes;
            *type = seen.row;
        }
        return bytes;
    }
    const hp_seen_type_t seen = hp_handles_type(type_handle(x[side->type]));
    *type = seen.row;
    *is_derived |= seen.is_derived;
    return elements_of(shape, x, side, blocks) * seen.bytes;
}

static bool is_root(const hp_call_shape_t *shape, const uintptr_t *x, const hp_seen_comm_t *comm)
{
    if (shape->root < 0 || !comm)
        return false;
    return comm->is_inter ? (int)x[shape->root] == MPI_ROOT : (int)x[shape->root] == comm->rank;
}

static bool is_on_device(const hp_call_shape_t *shape, const uintptr_t *x)
{
    const void *send = shape->send < 0 ? NULL : (const void *)x[shape->send];
    const void *recv = shape->recv < 0 ? NULL : (const void *)x[shape->recv];

    return (send && send != MPI_IN_PLACE && hp_device_holds(send)) ||
           (recv && recv != MPI_IN_PLACE && hp_device_holds(recv));
}

/* Of a call with blocks, or with two sides. */
static void add_sides(hp_facts_t *facts, const hp_call_shape_t *shape, const uintptr_t *x,
                      const hp_seen_comm_t *comm)
{
    const side_t sides[2] = {send_side(shape, x), recv_side(shape, x)};

    for (unsigned i = 0; i < 2; i++) {
        uint16_t type = 0;
        facts->has_bytes |= sides[i].count >= 0;
        if (!is_significant(shape, x, &sides[i], facts->is_root))
            continue;
        const uint64_t bytes = bytes_of(shape, x, &sides[i], comm, &type, &facts->is_derived);
        if (i == 0)
            facts->sent = bytes;
        if (bytes >= facts->bytes) {
            facts->bytes = bytes;
            facts->type = type;
        }
    }
}

void hp_facts(hp_facts_t *facts, const hp_call_shape_t *shape, const uintptr_t *x, const hp_seen_comm_t *comm)
{
    *facts = (hp_facts_t){.is_root = shape->root >= 0 && is_root(shape, x, comm)};
    if (!shape->is_simple) {
        add_sides(facts, shape, x, comm);
    } else if (shape->only_count >= 0) {
        const hp_seen_type_t seen = hp_handles_type(type_handle(x[shape->only_type]));
        facts->has_bytes = true;
        facts->type = seen.row;
        facts->is_derived = seen.is_derived;
        facts->bytes = facts->sent = (uint64_t)count_of(shape, x[shape->only_count]) * seen.bytes;
    }
    if (shape->destination >= 0 && (int)x[shape->destination] < 0) /* MPI_PROC_NULL */
        facts->sent = facts->bytes = 0;
    if (shape->op >= 0)
        facts->op = hp_handles_op(HP_HANDLE((MPI_Op)x[shape->op]));
    if (__builtin_expect(hp_device_is_possible(), 0))
        facts->on_device = is_on_device(shape, x);
}

/* ---- for a watch ---- */

/* Blocks at displacements are one piece of memory if they fill what they span. */
static hp_memory_range_t span_of(const hp_call_shape_t *shape, const uintptr_t *x, const side_t *side,
                                 int blocks, uint64_t extent)
{
    int64_t first = INT64_MAX, end = INT64_MIN, sum = 0;

    for (int i = 0; i < blocks; i++) {
        const int64_t count = count_at(shape, x, side->count, i);
        const int64_t at = shape->is_large ? ((const MPI_Aint *)x[side->count + 1])[i]
                                           : ((const int *)x[side->count + 1])[i];
        if (count == 0)
            continue;
        first = at < first ? at : first;
        end = at + count > end ? at + count : end;
        sum += count;
    }
    if (sum == 0 || end - first != sum)
        return (hp_memory_range_t){NULL, 0};
    return (hp_memory_range_t){(char *)side->buffer + first * (int64_t)extent, (size_t)sum * extent};
}

/* Of a reduction whose result is scattered: this rank's block. */
static uint64_t own_elements(const hp_call_shape_t *shape, const uintptr_t *x, const side_t *side,
                             const hp_seen_comm_t *comm)
{
    if (side->letter != 'l')
        return (uint64_t)count_of(shape, x[side->count]);
    return comm ? (uint64_t)count_at(shape, x, side->count, comm->rank) : 0;
}

static hp_memory_range_t range_of(const hp_call_shape_t *shape, const uintptr_t *x, const side_t *side,
                                  const hp_seen_comm_t *comm, bool is_root, bool is_own)
{
    const hp_memory_range_t nothing = {NULL, 0};
    hp_type_t type;

    if (side->type < 0 || !side->buffer || (comm && comm->is_inter) || hp_device_is_possible() ||
        !is_significant(shape, x, side, is_root) ||
        !hp_datatype_describe((MPI_Datatype)x[side->type], &type) || type.extent != type.bytes ||
        type.true_lb != 0)
        return nothing;
    const int blocks = blocks_of(side->letter, comm);
    if (is_list(side->letter) && side->letter != 'l')
        return span_of(shape, x, side, blocks, type.extent);
    const uint64_t count = is_own ? own_elements(shape, x, side, comm) : elements_of(shape, x, side, blocks);
    return count ? (hp_memory_range_t){(char *)side->buffer, count * type.extent} : nothing;
}

/* MPI_Bcast where it receives, MPI_Sendrecv_replace: the only buffer gets something. */
static bool only_receives(const hp_call_shape_t *shape, bool is_root)
{
    return shape->recv < 0 && (shape->root >= 0 ? !is_root : shape->source >= 0 && shape->destination >= 0);
}

void hp_facts_buffers(const hp_call_shape_t *shape, const uintptr_t *x, const hp_seen_comm_t *comm,
                      hp_memory_range_t *sent, hp_memory_range_t *received)
{
    const bool root = shape->root >= 0 && is_root(shape, x, comm);
    const bool is_reduction = shape->send_count < 0 && shape->recv_count >= 0 && shape->send == 0;
    side_t send = send_side(shape, x);
    const side_t recv = recv_side(shape, x);

    if (is_reduction) { /* one number for both */
        send.count = recv.count;
        send.type = recv.type;
        send.letter = recv.letter;
    }
    *sent = range_of(shape, x, &send, comm, root, false);
    *received = range_of(shape, x, &recv, comm, root, is_reduction);
    if (only_receives(shape, root)) {
        *received = *sent;
        *sent = (hp_memory_range_t){NULL, 0};
    } else if (is_reduction && shape->root >= 0 && !root) {
        *received = (hp_memory_range_t){NULL, 0};
    }
}

/* ---- for a sequence ---- */

enum { FEW_ELEMENTS = 256 };

bool hp_facts_may_fill_pages(const hp_call_shape_t *shape, const uintptr_t *x)
{
    const int8_t number = shape->send_count >= 0 ? shape->send_count : shape->recv_count;
    const char letter = shape->send_count >= 0 ? shape->send_letter : shape->recv_letter;

    return shape->kind == HP_KIND_COLLECTIVE && shape->action == HP_DO_CALL && number >= 0 &&
           (is_list(letter) || count_of(shape, x[number]) >= FEW_ELEMENTS);
}

/* The list of a side, as passed; of several types in bytes. HP_SEQUENCE_NO_COUNTS: no memory. */
static uint32_t list_of(const hp_call_shape_t *shape, const uintptr_t *x, const side_t *side, int blocks)
{
    int64_t few[64] = {0}, *numbers = blocks > 64 ? malloc((size_t)blocks * sizeof *numbers) : few;
    const MPI_Datatype *datatypes = side->types >= 0 ? (const MPI_Datatype *)x[side->types] : NULL;

    if (!numbers)
        return HP_SEQUENCE_NO_COUNTS;
    for (int i = 0; i < blocks; i++) {
        numbers[i] = count_at(shape, x, side->count, i);
        if (datatypes && numbers[i])
            numbers[i] *= (int64_t)hp_handles_type(HP_HANDLE(datatypes[i])).bytes;
    }
    const uint32_t list = hp_sequence_list(numbers, (uint64_t)blocks);
    if (numbers != few)
        free(numbers);
    return list;
}

/* Of Alltoallv and Alltoallw both; elsewhere one list is what there is. */
static bool add_lists(const hp_call_shape_t *shape, const uintptr_t *x, const side_t *send,
                      const side_t *recv, const hp_seen_comm_t *comm, bool is_root, hp_sequence_kind_t *kind)
{
    const bool sends = is_list(send->letter) && is_significant(shape, x, send, is_root);
    const bool receives = is_list(recv->letter) && is_significant(shape, x, recv, is_root);
    bool is_whole = true;

    if (sends) {
        kind->counts = list_of(shape, x, send, blocks_of(send->letter, comm));
        is_whole = kind->counts != HP_SEQUENCE_NO_COUNTS;
    }
    if (receives) {
        const uint32_t list = list_of(shape, x, recv, blocks_of(recv->letter, comm));
        is_whole = is_whole && list != HP_SEQUENCE_NO_COUNTS;
        if (!sends)
            kind->counts = list;
        else if (list != kind->counts)
            kind->recv_counts = list;
    }
    return is_whole;
}

bool hp_facts_kind(const hp_call_shape_t *shape, const uintptr_t *x, const hp_seen_comm_t *comm,
                   const hp_facts_t *facts, hp_sequence_kind_t *kind, bool *is_whole)
{
    const side_t send = send_side(shape, x), recv = recv_side(shape, x);

    *is_whole = true;
    if (!comm || comm->is_inter || shape->waiting == HP_NEIGHBORS)
        return false;
    *kind = (hp_sequence_kind_t){.call = (uint16_t)(shape - hp_call_shapes),
                                 .type = facts->type,
                                 .op = facts->op,
                                 .root = shape->root < 0 ? -1 : (int)x[shape->root],
                                 .counts = HP_SEQUENCE_NO_COUNTS,
                                 .recv_counts = HP_SEQUENCE_NO_COUNTS};
    const bool by_send = is_significant(shape, x, &send, facts->is_root) && !is_list(send.letter);
    const side_t *side = by_send ? &send : &recv;
    if (side->types >= 0 || send.types >= 0) {
        kind->type_bytes = 1;
    } else if (side->type >= 0) {
        const bool is_one = !is_list(side->letter) && is_significant(shape, x, side, facts->is_root);
        const side_t *typed = is_significant(shape, x, side, facts->is_root) ? side : &send;
        kind->count = is_one ? count_of(shape, x[side->count]) : 0;
        kind->type_bytes = is_significant(shape, x, typed, facts->is_root)
                               ? (int64_t)hp_handles_type(type_handle(x[typed->type])).bytes
                               : 0;
    }
    *is_whole = add_lists(shape, x, &send, &recv, comm, facts->is_root, kind);
    return true;
}
