/* exports: what the two fronts have in common, the preloaded one (front.c) and the linked one
 * (pmpi_wrappers/smpi): how an exported function is written, and the backend that hanpmpi.h asks.
 *
 * Threads: hp_front is written inside MPI_Init and MPI_Finalize. Ownership: static. */
#ifndef HP_PMPI_WRAPPERS_FRONT_EXPORTS_H
#define HP_PMPI_WRAPPERS_FRONT_EXPORTS_H

#include <stdbool.h>
#include <stdint.h>
#include "pmpi_wrappers/arguments.h"
#include "pmpi_wrappers/backend_api.h"

#define EXPORT __attribute__((visibility("default")))

typedef struct {
    const hp_backend_t *backend; /* after MPI_Init, when one serves this process */
    bool active;                 /* between MPI_Init and MPI_Finalize */
} hp_front_t;

extern hp_front_t hp_front;

#endif
