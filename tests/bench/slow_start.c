/* slow_start: an MPI_Ibcast whose overlap is known, to see that the benchmark finds it.
 *
 * Preloaded in front of the MPI; as PMPI_Ibcast, too, which is what the benchmark calls on the host MPI's side. Its transfer begins with the first MPI_Test or MPI_Wait and then takes
 * SLOW_START_US by itself. So without a test during a computation nothing overlaps; with tests all but what was before the first
 * one does. Time is the process's own processor time, and MPI_Wait lets the clock jump: other processes on
 * the machine change nothing. With SLOW_START_CORRUPT rank 1 gets one wrong bit. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double jumped; /* seconds that the clock is ahead of processor time */
static MPI_Request under_way = MPI_REQUEST_NULL;
static double due; /* 0: the transfer has not begun */
static char *first_byte;

double MPI_Wtime(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec + jumped;
}

int PMPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request)
{
    static int (*next)(void *, int, MPI_Datatype, int, MPI_Comm, MPI_Request *);

    if (!next) {
        void *symbol = dlsym(RTLD_NEXT, "PMPI_Ibcast");
        memcpy(&next, &symbol, sizeof next);
    }
    const int code = next(buffer, count, type, root, comm, request);
    under_way = *request;
    due = 0;
    first_byte = count > 0 ? buffer : NULL;
    return code;
}

int MPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request)
{
    return PMPI_Ibcast(buffer, count, type, root, comm, request);
}

static void go_on(void)
{
    const char *us = getenv("SLOW_START_US");
    if (due <= 0)
        due = MPI_Wtime() + 1e-6 * (us ? atof(us) : 0);
}

static int finish(MPI_Request *request, MPI_Status *status)
{
    int rank;

    under_way = MPI_REQUEST_NULL;
    const int code = PMPI_Wait(request, status);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (getenv("SLOW_START_CORRUPT") && rank == 1 && first_byte)
        *first_byte ^= 1;
    return code;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    if (under_way == MPI_REQUEST_NULL || *request != under_way)
        return PMPI_Test(request, flag, status);
    go_on();
    *flag = MPI_Wtime() >= due;
    return *flag ? finish(request, status) : MPI_SUCCESS;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    if (under_way == MPI_REQUEST_NULL || *request != under_way)
        return PMPI_Wait(request, status);
    go_on();
    const double left = due - MPI_Wtime();
    jumped += left > 0 ? left : 0;
    return finish(request, status);
}
