/* transport_mpi: the engine's transport over PMPI_Isend, PMPI_Irecv and PMPI_Testsome (or, where ranks take
 * turns, PMPI_Waitany) along a route. Where the route shares its communicator there are no communicators of teams: several
 * threads would make them at once (comms/shared_comm.h).
 *
 * Threads: as transport.h. Ownership: init allocates nothing; fini frees the request arrays; what the route borrows is the
 * caller's. What still has not ended at fini is left to the host MPI: its buffers stay. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_GLUE_TRANSPORT_MPI_H
#define HP_PMPI_WRAPPERS_BACKEND_GLUE_TRANSPORT_MPI_H

#include <stdbool.h>
#include "pmpi_wrappers/backend/glue/route.h"

/* Requests that one poll tests, at most: more cost time that other ranks wait for. */
enum { HP_TRANSPORT_MPI_TESTED = 64 };

/* An operation that cancel could not end. */
typedef struct {
    MPI_Request request;
    unsigned char kind;
} hp_given_up_t;

typedef struct {
    hp_transport_t base;
    hp_route_t route;
    int in_flight, capacity;
    uint32_t small_sends; /* since the host MPI was last made to take its fragments back */
    int next_window;      /* where the next poll begins when more is in flight than one poll tests */
    MPI_Request *requests;
    void **cookies;
    unsigned char *kind; /* of what is in flight */
    hp_given_up_t *given_up;
    int given_up_count;
    bool is_out_of_sight; /* there was no memory to remember one of them: none counts as ended any more */
    MPI_Comm *teams;      /* made for the module native */
    int team_count;
    int mpi_error; /* the first MPI error code seen, MPI_SUCCESS if none */
} hp_transport_mpi_t;

void hp_transport_mpi_init(hp_transport_mpi_t *transport, const hp_route_t *route);
void hp_transport_mpi_fini(hp_transport_mpi_t *transport);

#endif
