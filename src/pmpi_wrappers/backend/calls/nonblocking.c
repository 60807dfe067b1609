#include "pmpi_wrappers/backend/calls/nonblocking.h"

#include <stddef.h>
#include <stdlib.h>
#include "base/clock.h"
#include "pmpi_wrappers/backend/calls/flight.h"
#include "pmpi_wrappers/backend/glue/host_request.h"

/* A call until its request is freed. */
typedef struct {
    hp_host_request_t host_request; /* the first member */
    hp_flight_t flight;
    MPI_Request *handle; /* where the program wants it */
    MPI_Datatype
        datatype; /* of the flight's packed data, ours: the program may free its own. MPI_DATATYPE_NULL: none */
    hp_block_call_t blocks; /* the flight's, where it has any */
} icall_t;

static icall_t *icall_of(hp_flight_t *flight)
{
    return (icall_t *)((char *)flight - offsetof(icall_t, flight));
}

static void on_free(hp_host_request_t *host_request)
{
    free(host_request);
}

static void on_error(hp_host_request_t *host_request)
{
    const icall_t *icall = (icall_t *)host_request;
    P(Comm_call_errhandler)(icall->flight.comm, host_request->error);
}

static void on_complete(hp_flight_t *flight, int code)
{
    icall_t *icall = icall_of(flight);

    if (icall->datatype != MPI_DATATYPE_NULL)
        P(Type_free)(&icall->datatype);
    hp_block_call_drop(&icall->blocks);
    hp_host_request_complete(&icall->host_request, code);
}

/* The packed data's type, as our own. */
static int keep_datatype(icall_t *icall)
{
    hp_packed_t *packed = &icall->flight.packed;

    if (!packed->bytes || packed->is_root)
        return MPI_SUCCESS;
    const int code = hp_datatype_keep(HP_UNHANDLE(MPI_Datatype, packed->packer.type.handle), &icall->datatype);
    if (code == MPI_SUCCESS)
        packed->packer.type.handle = HP_HANDLE(icall->datatype);
    return code;
}

static int open_request(hp_flight_t *flight)
{
    icall_t *icall = icall_of(flight);

    int code = keep_datatype(icall);
    if (code != MPI_SUCCESS)
        return code;
    code = hp_host_request_start(&icall->host_request);
    if (code == MPI_SUCCESS)
        *icall->handle = icall->host_request.handle;
    else if (icall->datatype != MPI_DATATYPE_NULL)
        P(Type_free)(&icall->datatype);
    return code;
}

static icall_t *create(const hp_ticket_t *ticket, MPI_Comm comm, MPI_Request *host_request)
{
    icall_t *icall = calloc(1, sizeof *icall);
    if (!icall) {
        hp_flight_miss(ticket->state, comm, MPI_ERR_NO_MEM);
        return NULL;
    }
    icall->host_request.on_error = on_error;
    icall->host_request.on_free = on_free;
    icall->flight = (hp_flight_t){.state = ticket->state, .comm = comm, .on_complete = on_complete};
    icall->handle = host_request;
    icall->datatype = MPI_DATATYPE_NULL;
    return icall;
}

static int start(icall_t *icall, const hp_ticket_t *ticket, const hp_call_t *call)
{
    const hp_choice_t *choice = &ticket->choice;
    const int code = hp_flight_start(&icall->flight, choice->algorithm, choice->setting, call, open_request);

    if (code != MPI_SUCCESS) {
        hp_block_call_drop(&icall->blocks);
        free(icall);
    }
    return code;
}

static int run(const hp_ticket_t *ticket, const hp_call_t *call, MPI_Comm comm, MPI_Request *host_request)
{
    icall_t *icall = create(ticket, comm, host_request);
    return icall ? start(icall, ticket, call) : MPI_ERR_NO_MEM;
}

static int run_bcast(const hp_ticket_t *ticket, void *buffer, int64_t count, MPI_Datatype datatype, int root,
                     MPI_Comm comm, MPI_Request *host_request)
{
    icall_t *icall = create(ticket, comm, host_request);
    if (!icall)
        return MPI_ERR_NO_MEM;
    hp_packed_t *packed = &icall->flight.packed;
    const int code = hp_packed_init(packed, ticket, buffer, count, datatype, root, false);
    if (code != MPI_SUCCESS) {
        free(icall);
        return hp_flight_miss(ticket->state, comm, code);
    }
    const hp_call_t call = hp_packed_call(packed, ticket, root);
    return start(icall, ticket, &call);
}

int hp_nonblocking_run(const hp_ticket_t *ticket, const hp_block_call_t *call, MPI_Comm comm,
                       MPI_Request *host_request)
{
    icall_t *icall = create(ticket, comm, host_request);
    if (!icall)
        return MPI_ERR_NO_MEM;
    icall->blocks = *call;
    icall->flight.blocks = &icall->blocks;
    int code = hp_block_call_keep(&icall->blocks, ticket->state);
    if (code == MPI_SUCCESS)
        code = hp_block_call_begin(&icall->blocks, ticket->state);
    if (code == MPI_SUCCESS)
        return start(icall, ticket, &icall->blocks.call);
    hp_block_call_drop(&icall->blocks);
    free(icall);
    return hp_flight_miss(ticket->state, comm, code);
}

int hp_nonblocking_finish(const hp_ticket_t *ticket, int code)
{
    hp_ticket_count(ticket, ticket->start_ns ? hp_clock_ns() - ticket->start_ns : 0);
    return code;
}

/* ---- the wrapped functions ---- */

/* Each decides, and starts the call. Where it passes, nothing has happened. */

static int accelerate_bcast(hp_ticket_t *ticket, void *buffer, int64_t count, MPI_Datatype datatype, int root,
                            MPI_Comm comm, MPI_Request *host_request)
{
    if (hp_decide_bcast(ticket, buffer, count, datatype, root, comm) != HP_OUTCOME_TAKEN)
        return ticket->error;
    return run_bcast(ticket, buffer, count, datatype, root, comm, host_request);
}

static int accelerate_reduce(hp_ticket_t *ticket, const void *send, void *recv, int64_t count,
                             MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm,
                             MPI_Request *host_request)
{
    hp_call_t call = {.collective = HP_REDUCE};
    if (hp_decide_reduction(ticket, &call, send, recv, count, datatype, op, root, comm) != HP_OUTCOME_TAKEN)
        return ticket->error;
    return run(ticket, &call, comm, host_request);
}

static int accelerate_allreduce(hp_ticket_t *ticket, const void *send, void *recv, int64_t count,
                                MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *host_request)
{
    hp_call_t call = {.collective = HP_ALLREDUCE};
    if (hp_decide_reduction(ticket, &call, send, recv, count, datatype, op, 0, comm) != HP_OUTCOME_TAKEN)
        return ticket->error;
    return run(ticket, &call, comm, host_request);
}

#define DEFINE(function, host, accelerate, parameters, arguments)                                            \
    int function(HP_LIST parameters, MPI_Request *host_request)                                              \
    {                                                                                                        \
        hp_ticket_t ticket = {.nonblocking = true};                                                          \
        int code = accelerate(&ticket, HP_LIST arguments, host_request);                                     \
        if (hp_ticket_passes(&ticket))                                                                       \
            code = P(host)(HP_LIST arguments, host_request);                                                 \
        return hp_nonblocking_finish(&ticket, code);                                                         \
    }

#define HP_COUNT int
#define HP_COLLECTIVE(name, host, parameters, arguments)                                                     \
    DEFINE(hp_mpi_i##name, I##name, accelerate_##name, parameters, arguments)
#include "pmpi_wrappers/backend/calls/collectives.def"
#undef HP_COLLECTIVE
#undef HP_COUNT
#if HP_HAS_LARGE_COUNT
#define HP_COUNT MPI_Count
#define HP_COLLECTIVE(name, host, parameters, arguments)                                                     \
    DEFINE(hp_mpi_i##name##_c, I##name##_c, accelerate_##name, parameters, arguments)
#include "pmpi_wrappers/backend/calls/collectives.def"
#undef HP_COLLECTIVE
#undef HP_COUNT
#endif

int hp_mpi_ibarrier(MPI_Comm comm, MPI_Request *host_request)
{
    hp_ticket_t ticket = {.nonblocking = true};
    const hp_call_t call = hp_call_barrier();
    int code;

    if (hp_decide_barrier(&ticket, comm) == HP_OUTCOME_TAKEN)
        code = run(&ticket, &call, comm, host_request);
    else
        code = hp_ticket_passes(&ticket) ? P(Ibarrier)(comm, host_request) : ticket.error;
    return hp_nonblocking_finish(&ticket, code);
}
