#include "pmpi_wrappers/backend/comms/private_comm.h"

#include <stdatomic.h>

static _Atomic uint64_t count;

static bool create(MPI_Comm comm, MPI_Group group, MPI_Comm *out)
{
    if (P(Comm_create)(comm, group, out) != MPI_SUCCESS)
        *out = MPI_COMM_NULL;
    if (*out == MPI_COMM_NULL)
        return false;
    P(Comm_set_errhandler)(*out, MPI_ERRORS_RETURN);
    return true;
}

bool hp_comm_twin(MPI_Comm comm, MPI_Comm *twin)
{
    MPI_Group group;

    *twin = MPI_COMM_NULL;
    if (P(Comm_group)(comm, &group) != MPI_SUCCESS)
        return false;
    const bool made = create(comm, group, twin);
    P(Group_free)(&group);
    return made;
}

bool hp_private_comm_create(MPI_Comm comm, MPI_Group group, MPI_Errhandler users, MPI_Comm *out)
{
    P(Comm_set_errhandler)(comm, MPI_ERRORS_RETURN);
    const bool made = create(comm, group, out);
    P(Comm_set_errhandler)(comm, users == MPI_ERRHANDLER_NULL ? MPI_ERRORS_ARE_FATAL : users);
    if (made)
        atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    return made;
}

void hp_private_comm_free(MPI_Comm *comm)
{
    if (*comm == MPI_COMM_NULL)
        return;
    P(Comm_free)(comm);
    atomic_fetch_sub_explicit(&count, 1, memory_order_relaxed);
}

uint64_t hp_private_comm_count(void)
{
    return atomic_load_explicit(&count, memory_order_relaxed);
}
