/* route: how the library's own messages get from rank to rank of a communicator.
 *
 * Usually over a private communicator of the same ranks: then ranks and tags are as they are. Or over one that many
 * communicators share (comms/shared_comm.h): there a rank has another number, and each receiver has a block of tags for
 * each of its communicators, so that messages of different communicators cannot meet.
 *
 * Threads: plain data, written when the communicator is set up. Ownership: comm and ends are borrowed. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_GLUE_ROUTE_H
#define HP_PMPI_WRAPPERS_BACKEND_GLUE_ROUTE_H

#include <stdint.h>
#include "pmpi_wrappers/backend/glue/mpi_glue.h"

/* Tags that a communicator uses: 0 to one less, which is what MPI guarantees. */
enum { HP_ROUTE_TAGS = 32768 };

typedef struct {
    int rank;      /* in the route's communicator */
    int first_tag; /* of the messages to this rank */
} hp_route_end_t;

typedef struct {
    MPI_Comm comm; /* errors return */
    hp_route_end_t self;
    const hp_route_end_t *ends; /* by rank; NULL: ranks and tags are as they are */
} hp_route_t;

static inline hp_route_t hp_route_direct(MPI_Comm comm, int rank)
{
    return (hp_route_t){.comm = comm, .self = {.rank = rank}};
}

static inline int hp_route_rank(const hp_route_t *route, int rank)
{
    return route->ends ? route->ends[rank].rank : rank;
}

/* The tag of a message to a rank, and of one to this rank. */
static inline int hp_route_send_tag(const hp_route_t *route, int rank, int tag)
{
    return route->ends ? route->ends[rank].first_tag + tag : tag;
}

static inline int hp_route_recv_tag(const hp_route_t *route, int tag)
{
    return route->self.first_tag + tag;
}

#endif
