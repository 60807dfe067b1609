/* backend_api: what the front and a backend say to each other. No MPI type: the front knows none.
 *
 * The front (libhanpmpi.so) is one file for any MPI; a backend (hanpmpi/libhanpmpi-<abi>.so) is compiled for
 * one mpi.h. The front finds the MPI, finds the functions, loads the backend of its ABI and forwards the
 * wrapped calls to it. Threads: backend_open is called once, inside MPI_Init. Ownership: both sides'
 * structures are static. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_API_H
#define HP_PMPI_WRAPPERS_BACKEND_API_H

#include "hanpmpi/hanpmpi.h"

typedef void (*hp_function_t)(void);
/* Any symbol of the host MPI; NULL: it has none of that name. */
typedef hp_function_t (*hp_find_fn_t)(const char *symbol);

typedef enum {
#define HP_WRAPPED(name, arguments) HP_WRAPPED_##name,
#include "pmpi_wrappers/wrapped.def"
#undef HP_WRAPPED
    HP_WRAPPED_COUNT
} hp_wrapped_t;

typedef enum {
#define HP_MPI_CALL(name) HP_MPI_CALL_##name,
#include "pmpi_wrappers/mpi_calls.def"
#undef HP_MPI_CALL
    HP_MPI_CALL_COUNT
} hp_mpi_call_t;

typedef struct {
    const char *version;                     /* of the library; both sides must agree */
    const char *abi;                         /* "openmpi", "mpich", "mpiabi" */
    hp_function_t wrapped[HP_WRAPPED_COUNT]; /* replacements; NULL: straight to the host MPI */
    /* After the host MPI's MPI_Init succeeded, before it returns to the program. Returns 1 when the library is
     * active. */
    int (*after_init)(void);
    /* After that: what is to be called instead of target, the function that is called otherwise, so that the call is
     * recorded. target itself: nothing is. */
    hp_function_t (*record)(hp_wrapped_t which, hp_function_t target);
    /* At the beginning of MPI_Finalize: gives everything back to the MPI. */
    void (*before_finalize)(void);
    int (*get_stats)(const char *collective, hanpmpi_collective_stats_t *out);
    int (*get_outcome)(const char *collective, unsigned outcome, const char **word, uint64_t *calls);
    void (*get_resources)(hanpmpi_resources_t *out);
} hp_backend_t;

/* The one symbol of a backend: takes the functions of the host MPI (HP_MPI_CALL_COUNT entries, NULL where
 * the MPI lacks one) and returns its description. */
typedef const hp_backend_t *(*hp_backend_open_fn_t)(const hp_function_t *mpi_calls, hp_find_fn_t find);
#define HP_BACKEND_OPEN_SYMBOL "hanpmpi_backend_open"

/* A program that exports this text has the backends <text>-<abi>.so of the same folder instead: those that can do
 * more, for a tool (tuning/tune/tasks). */
#define HP_BACKEND_KIND_SYMBOL "hanpmpi_backend_kind"

#endif
