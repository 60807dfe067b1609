/* mpi_glue: the MPI of this backend: its types from mpi.h, its functions through the table that the front
 * resolved.
 *
 * HP_MPI_HEADER names the header. Only headers are used: the backend is never linked with an MPI.
 * Threads: the table is written once, in hanpmpi_backend_open. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_GLUE_MPI_GLUE_H
#define HP_PMPI_WRAPPERS_BACKEND_GLUE_MPI_GLUE_H

#include HP_MPI_HEADER
#include <string.h>
#include "event_engine/transport.h"
#include "pmpi_wrappers/backend_api.h"

extern hp_function_t hp_mpi_calls[HP_MPI_CALL_COUNT];

/* Looks for what says how ranks wait in the host MPI. find: a symbol of it. */
void hp_host_waiting_open(hp_find_fn_t find);
/* Does it yield the core whenever it finds nothing to do? Open MPI does, in each call that makes progress, where it knows that there
 * are more ranks than cores (mpi_yield_when_idle); others spin. After MPI_Init of the host MPI. */
bool hp_host_yields(void);

/* P(Isend)(...) calls PMPI_Isend of the host MPI, with the types of its mpi.h. */
#define P(name)        ((__typeof__(&PMPI_##name))hp_mpi_calls[HP_MPI_CALL_##name])
#define P_EXISTS(name) (hp_mpi_calls[HP_MPI_CALL_##name] != NULL)

/* The _c functions came with MPI 4; some headers that say 3.1 have them all the same, none that say 4 lack
 * them. */
#define HP_HAS_LARGE_COUNT (MPI_VERSION >= 4)

/* MPI handles (int or pointer) as the engine's opaque ones, and back. */
#define HP_HANDLE(mpi_handle)                                                                                \
    ({                                                                                                       \
        hp_handle_t handle_ = 0;                                                                             \
        __typeof__(mpi_handle) value_ = (mpi_handle);                                                        \
        _Static_assert(sizeof value_ <= sizeof handle_, "an MPI handle does not fit");                       \
        memcpy(&handle_, &value_, sizeof value_);                                                            \
        handle_;                                                                                             \
    })
#define HP_UNHANDLE(type, engine_handle)                                                                     \
    ({                                                                                                       \
        hp_handle_t handle_ = (engine_handle);                                                               \
        type value_;                                                                                         \
        memcpy(&value_, &handle_, sizeof value_);                                                            \
        value_;                                                                                              \
    })

#endif
