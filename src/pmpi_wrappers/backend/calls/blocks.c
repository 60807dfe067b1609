#include "pmpi_wrappers/backend/calls/blocks.h"

#include "pmpi_wrappers/backend/calls/collectives.h"
#include "pmpi_wrappers/backend/calls/flight.h"
#include "pmpi_wrappers/backend/calls/nonblocking.h"
#include "pmpi_wrappers/backend/calls/persistent.h"
#include "pmpi_wrappers/backend/progress/host_collectives.h"
#include "pmpi_wrappers/backend/progress/host_mockup.h"

/* Each of the following does what was decided. Where it passes, nothing has happened. */

static int run(hp_ticket_t *ticket, hp_block_call_t *call, MPI_Comm comm)
{
    if (ticket->outcome == HP_OUTCOME_MOCKUP)
        return hp_host_mockup(&call->arguments, (uint32_t)ticket->state->size, comm);
    if (ticket->outcome != HP_OUTCOME_TAKEN)
        return ticket->error;
    int code = hp_block_call_begin(call, ticket->state);
    if (code != MPI_SUCCESS)
        return hp_flight_miss(ticket->state, comm, code);
    code = hp_collective_run(ticket, &call->call, comm);
    return hp_collective_report_end(comm, code, hp_block_call_end(call, ticket->state, code));
}

static int start(hp_ticket_t *ticket, const hp_block_call_t *call, MPI_Comm comm, MPI_Request *request)
{
    return ticket->outcome == HP_OUTCOME_TAKEN ? hp_nonblocking_run(ticket, call, comm, request)
                                               : ticket->error;
}

static int make(hp_ticket_t *ticket, const hp_block_call_t *call, MPI_Comm comm, MPI_Request *request)
{
    return ticket->outcome == HP_OUTCOME_TAKEN ? hp_persistent_make(ticket, call, comm, request)
                                               : ticket->error;
}

/* The host MPI's mpi.h may be older than its library: the types of its functions are written out. */
#define HOST(host) hp_mpi_calls[HP_MPI_CALL_##host]

#define DEFINE(id, name, host, suffix, parameters, given, from, to, operation, place)                        \
    static inline hp_block_arguments_t arguments_of_##name##suffix parameters                                \
    {                                                                                                        \
        (void)comm;                                                                                          \
        return (hp_block_arguments_t){                                                                       \
            .collective = HP_##id, .send = from, .recv = to, .op = (operation), .root = (place)};            \
    }                                                                                                        \
    static __attribute__((noinline)) int decide_##name##suffix parameters                                    \
    {                                                                                                        \
        hp_ticket_t ticket = {0};                                                                            \
        hp_block_call_t call = {.arguments = arguments_of_##name##suffix given};                             \
        hp_decide_blocks(&ticket, &call, comm);                                                              \
        int code = run(&ticket, &call, comm);                                                                \
        if (hp_ticket_passes(&ticket)) {                                                                     \
            code = hp_collective_begin_passed(&ticket, comm);                                                \
            if (code == MPI_SUCCESS)                                                                         \
                code = ((int(*) parameters)HOST(host##suffix))given;                                         \
        }                                                                                                    \
        return hp_collective_finish(&ticket, code, comm);                                                    \
    }                                                                                                        \
    int hp_mpi_##name##suffix parameters                                                                     \
    {                                                                                                        \
        const hp_block_arguments_t arguments = arguments_of_##name##suffix given;                            \
        if (!hp_blocks_pass_at_once(&arguments, comm))                                                       \
            return decide_##name##suffix given;                                                              \
        const int code = hp_host_collective_begin(comm);                                                     \
        return code == MPI_SUCCESS ? ((int(*) parameters)HOST(host##suffix))given : code;                    \
    }                                                                                                        \
    int hp_mpi_i##name##suffix(HP_LIST parameters, MPI_Request *request)                                     \
    {                                                                                                        \
        typedef int (*host_fn_t)(HP_LIST parameters, MPI_Request *);                                         \
        hp_ticket_t ticket = {.nonblocking = true};                                                          \
        hp_block_call_t call = {.arguments = arguments_of_##name##suffix given};                             \
        hp_decide_blocks(&ticket, &call, comm);                                                              \
        int code = start(&ticket, &call, comm, request);                                                     \
        if (hp_ticket_passes(&ticket))                                                                       \
            code = ((host_fn_t)HOST(I##name##suffix))(HP_LIST given, request);                               \
        return hp_nonblocking_finish(&ticket, code);                                                         \
    }                                                                                                        \
    int hp_mpi_##name##_init##suffix(HP_LIST parameters, MPI_Info info, MPI_Request *request)                \
    {                                                                                                        \
        typedef int (*host_fn_t)(HP_LIST parameters, MPI_Info, MPI_Request *);                               \
        hp_ticket_t ticket = {.nonblocking = true, .persistent = true};                                      \
        hp_block_call_t call = {.arguments = arguments_of_##name##suffix given};                             \
        hp_decide_blocks(&ticket, &call, comm);                                                              \
        const int code = make(&ticket, &call, comm, request);                                                \
        if (!hp_persistent_passes(&ticket))                                                                  \
            return code;                                                                                     \
        return ((host_fn_t)HOST(host##_init##suffix))(HP_LIST given, info, request);                         \
    }

#define HP_COUNT        int
#define HP_DISPLACEMENT int
#define HP_BLOCKS(id, name, host, parameters, arguments, send, recv, op, root)                               \
    DEFINE(id, name, host, , parameters, arguments, send, recv, op, root)
#include "pmpi_wrappers/backend/calls/block_collectives.def"
#undef HP_BLOCKS
#undef HP_COUNT
#undef HP_DISPLACEMENT
#define HP_COUNT        MPI_Count
#define HP_DISPLACEMENT MPI_Aint
#define HP_BLOCKS(id, name, host, parameters, arguments, send, recv, op, root)                               \
    DEFINE(id, name, host, _c, parameters, arguments, send, recv, op, root)
#include "pmpi_wrappers/backend/calls/block_collectives.def"
#undef HP_BLOCKS
#undef HP_COUNT
#undef HP_DISPLACEMENT
