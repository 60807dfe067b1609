/* stall: one rank comes late to a collective, or is stopped before it; all results are right in the end.
 *
 * usage: stall late|stopped|behind SECONDS VICTIM blocking|nonblocking
 *   late      the rank VICTIM sleeps for so long before its call
 *   stopped   it is stopped (SIGSTOP) before its call, and goes on after so long
 *   behind    it is late on a communicator without rank 0, which waits for the others in a collective of all
 * Every rank prints "right", rank 0 also when the others began to wait. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ELEMENTS = 200000 };

static int mine[ELEMENTS], sum[ELEMENTS];
static int rank, size;

static void allreduce(MPI_Comm comm, int blocking)
{
    MPI_Request request;

    for (int i = 0; i < ELEMENTS; i++)
        mine[i] = rank + i;
    if (blocking) {
        MPI_Allreduce(mine, sum, ELEMENTS, MPI_INT, MPI_SUM, comm);
        return;
    }
    MPI_Iallreduce(mine, sum, ELEMENTS, MPI_INT, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int is_right(void)
{
    int right = 1;
    for (int i = 0; i < ELEMENTS; i++)
        right &= sum[i] == size * (size - 1) / 2 + size * i;
    return right;
}

/* Made before MPI_Init: lets its parent go on, so long after it was told. */
static int make_waker(int seconds)
{
    int ends[2];
    char word;

    if (pipe(ends) != 0)
        return -1;
    if (fork() == 0) {
        const pid_t parent = getppid();
        close(ends[1]);
        if (read(ends[0], &word, 1) == 1) {
            sleep((unsigned)seconds);
            kill(parent, SIGCONT);
        }
        _exit(0);
    }
    close(ends[0]);
    return ends[1];
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: stall late|stopped|behind SECONDS VICTIM blocking|nonblocking\n");
        return 2;
    }
    const int seconds = atoi(argv[2]), victim = atoi(argv[3]), blocking = strcmp(argv[4], "blocking") == 0;
    const int stops = strcmp(argv[1], "stopped") == 0, behind = strcmp(argv[1], "behind") == 0;
    const int waker = stops ? make_waker(seconds) : -1;
    MPI_Comm others;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &others);
    MPI_Barrier(others);
    allreduce(MPI_COMM_WORLD, 1); /* sets it up */
    if (rank == victim && stops) {
        if (write(waker, "", 1) == 1)
            raise(SIGSTOP);
    } else if (rank == victim) {
        sleep((unsigned)seconds);
    }
    if (behind && rank != 0)
        MPI_Barrier(others);
    allreduce(MPI_COMM_WORLD, blocking);
    printf("%s\n", is_right() ? "right" : "WRONG");
    MPI_Comm_free(&others);
    MPI_Finalize();
    if (stops) {
        close(waker);
        wait(NULL);
    }
    return 0;
}
