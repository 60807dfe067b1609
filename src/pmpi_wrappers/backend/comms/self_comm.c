#include "pmpi_wrappers/backend/comms/self_comm.h"

#include <pthread.h>
#include <stdatomic.h>
#include "pmpi_wrappers/backend/comms/private_comm.h"

static MPI_Comm self = MPI_COMM_NULL;

static void make(void)
{
    hp_comm_twin(MPI_COMM_SELF, &self);
}

MPI_Comm hp_self_comm(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make);
    return self;
}

void hp_self_comm_free(void)
{
    if (self != MPI_COMM_NULL)
        P(Comm_free)(&self);
}

bool hp_self_is_committed(MPI_Datatype datatype)
{
    const MPI_Comm comm = hp_self_comm();
    return comm == MPI_COMM_NULL || hp_datatype_is_committed(datatype, comm);
}

/* A number from one place to the other. Returns the MPI's code. */
static int call(hp_collective_t collective, int *from, MPI_Datatype send, int *to, MPI_Datatype recv,
                MPI_Comm comm)
{
    const int one[] = {1}, none[] = {0};
    const MPI_Datatype sends[] = {send}, recvs[] = {recv};

    switch (collective) {
    case HP_ALLGATHER:
        return P(Allgather)(from, 1, send, to, 1, recv, comm);
    case HP_ALLGATHERV:
        return P(Allgatherv)(from, 1, send, to, one, none, recv, comm);
    case HP_ALLTOALL:
        return P(Alltoall)(from, 1, send, to, 1, recv, comm);
    case HP_ALLTOALLV:
        return P(Alltoallv)(from, one, none, send, to, one, none, recv, comm);
    case HP_ALLTOALLW:
        return P(Alltoallw)(from, one, none, sends, to, one, none, recvs, comm);
    case HP_GATHER:
        return P(Gather)(from, 1, send, to, 1, recv, 0, comm);
    case HP_GATHERV:
        return P(Gatherv)(from, 1, send, to, one, none, recv, 0, comm);
    case HP_SCATTER:
        return P(Scatter)(from, 1, send, to, 1, recv, 0, comm);
    case HP_SCATTERV:
        return P(Scatterv)(from, one, none, send, to, 1, recv, 0, comm);
    default:
        return MPI_ERR_OTHER; /* not asked: taken as refused */
    }
}

static bool ask(hp_collective_t collective, hp_mistake_t mistake)
{
    const MPI_Comm comm = hp_self_comm();
    MPI_Datatype uncommitted;
    int from = 0, to = 0;

    if (comm == MPI_COMM_NULL || P(Type_contiguous)(1, MPI_INT, &uncommitted) != MPI_SUCCESS)
        return true;
    const int code = call(collective, &from, mistake == HP_UNCOMMITTED_SEND ? uncommitted : MPI_INT,
                          mistake == HP_ONE_BUFFER ? &from : &to,
                          mistake == HP_UNCOMMITTED_RECV ? uncommitted : MPI_INT, comm);
    P(Type_free)(&uncommitted);
    return code != MPI_SUCCESS;
}

bool hp_self_refuses(hp_collective_t collective, hp_mistake_t mistake)
{
    enum { UNKNOWN, NO, YES };
    static _Atomic char answers[HP_COLLECTIVE_COUNT][HP_MISTAKE_COUNT];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* one collective at a time */
    _Atomic char *answer = &answers[collective][mistake];

    if (atomic_load_explicit(answer, memory_order_relaxed) == UNKNOWN) {
        pthread_mutex_lock(&lock);
        if (atomic_load_explicit(answer, memory_order_relaxed) == UNKNOWN)
            atomic_store_explicit(answer, ask(collective, mistake) ? YES : NO, memory_order_relaxed);
        pthread_mutex_unlock(&lock);
    }
    return atomic_load_explicit(answer, memory_order_relaxed) == YES;
}
