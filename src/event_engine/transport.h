/* transport.h: all the engine knows of the world: messages in, messages out, reductions, a clock.
 *
 * Two implementations: transport_mpi (src/pmpi_wrappers/backend), the real one, and transport_sim
 * (tests/sim), many ranks in one process under a virtual clock.
 *
 * Matching: messages between two ranks with the same tag match in the order in which they were posted, on
 * both sides (MPI's non-overtaking rule).
 * Threads: one transport belongs to one communicator and is used by one thread at a time.
 * Ownership: the creator of a transport destroys it; the engine only borrows it. */
#ifndef HP_EVENT_ENGINE_TRANSPORT_H
#define HP_EVENT_ENGINE_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"

/* A datatype or an operation of the MPI above, opaque here: both int and pointer handles fit. */
typedef uint64_t hp_handle_t;

typedef struct hp_transport hp_transport_t;

/* How the elements of a buffer lie in memory, in bytes. */
typedef struct {
    hp_handle_t handle;
    size_t bytes;       /* data of one element (MPI's type size) */
    size_t extent;      /* from one element to the next */
    ptrdiff_t true_lb;  /* first byte of data, from the address of the element */
    size_t true_extent; /* first to last byte of data of one element */
} hp_type_t;

/* No gaps, in order as far as the numbers tell: elements may be copied with memcpy. */
static inline bool hp_type_is_dense(const hp_type_t *type)
{
    return type->bytes == type->extent && type->bytes == type->true_extent && type->true_lb == 0;
}

/* Bytes from the first to the last one of data of so many elements. */
static inline size_t hp_type_span(const hp_type_t *type, size_t elements)
{
    return elements ? type->true_extent + (elements - 1) * type->extent : 0;
}

/* Collectives of the host MPI. */
typedef enum { HP_NATIVE_BCAST, HP_NATIVE_REDUCE, HP_NATIVE_ALLREDUCE, HP_NATIVE_BARRIER } hp_native_t;

typedef struct {
    /* Start sending count elements to peer, or receiving at most count elements from it. cookie comes back
     * from poll when the operation is complete (the buffer may then be reused, or has been filled). On an
     * error nothing was started. */
    hp_status_t (*isend)(hp_transport_t *transport, const void *buffer, size_t count, const hp_type_t *type,
                         uint32_t peer, uint32_t tag, void *cookie);
    hp_status_t (*irecv)(hp_transport_t *transport, void *buffer, size_t count, const hp_type_t *type,
                         uint32_t peer, uint32_t tag, void *cookie);

    /* Moves messages on without blocking. Writes the cookies of at most capacity completed operations to
     * done, their number to *count. HP_ERR_TRANSPORT: some operation failed; the caller must then cancel. */
    hp_status_t (*poll)(hp_transport_t *transport, void **done, uint32_t capacity, uint32_t *count);

    /* As poll, but returns only when an operation has completed or failed, or when none is in flight. NULL:
     * the caller polls, and decides what to do between polls. A transport offers it where polling is no way
     * to wait: under a simulated clock that stands still, or runs, for every look. */
    hp_status_t (*wait)(hp_transport_t *transport, void **done, uint32_t capacity, uint32_t *count);

    /* Gives up all operations in flight: none of them comes back from poll. What can be ended uses no buffer any
     * more when it returns. What cannot (the host MPI cancels no sends and no collectives) goes on using its buffers
     * until `ended` says otherwise: whoever owns them keeps them out of use so long. */
    void (*cancel)(hp_transport_t *transport);
    /* Have all operations that were given up ended? Tests them; does not block. NULL: cancel ends all. */
    bool (*ended)(hp_transport_t *transport);

    /* inout = in (op) inout, element by element, in that order of operands. */
    hp_status_t (*reduce)(hp_transport_t *transport, const void *in, void *inout, size_t count,
                          const hp_type_t *type, hp_handle_t op);
    /* A communicator of these ranks, in their order; collective among them, in the same collective. number:
     * tells it from others that are made at that time. It lives as long as the transport. */
    hp_status_t (*team_comm)(hp_transport_t *transport, const uint32_t *ranks, uint32_t count,
                             uint32_t number, hp_handle_t *comm);
    /* Starts a non-blocking collective of the host MPI on the communicator comm. Bcast: of `to`. NULL: not
     * offered. */
    hp_status_t (*icollective)(hp_transport_t *transport, hp_native_t what, hp_handle_t comm,
                               const void *from, void *to, size_t count, const hp_type_t *type,
                               hp_handle_t op, uint32_t root, void *cookie);
    /* Lets the host MPI move its own messages on: for a caller that waits for something else. NULL: not
     * needed. */
    void (*nudge)(hp_transport_t *transport);
    /* Copies count elements; the gaps of the type are left as they are. */
    hp_status_t (*copy)(hp_transport_t *transport, void *to, const void *from, size_t count,
                        const hp_type_t *type);
} hp_transport_ops_t;

/* Implementations embed this as their first member. */
struct hp_transport {
    const hp_transport_ops_t *ops;
    bool host_yields;   /* the host MPI yields the core whenever it finds nothing to do */
    uint32_t cancelled; /* how often everything in flight was given up; the engine counts */
};

/* Is no buffer in use by an operation that was given up? */
static inline bool hp_transport_ended(hp_transport_t *transport)
{
    return transport->cancelled == 0 || !transport->ops->ended || transport->ops->ended(transport);
}

#endif
