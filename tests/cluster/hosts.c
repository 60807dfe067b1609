/* hosts: what a job sees of its hosts. Rank 0 prints a line "host NAME RANKS" for each, in rank order, and
 * with --stream a line "stream NAME NAME MB/S" from the first host to each other one: one way, between their
 * first ranks, the others waiting in a message of theirs. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOSTS_MAX = 100, NAME_MAX_BYTES = 64, MESSAGE_BYTES = 1 << 20, MESSAGES = 4 };

typedef struct {
    char name[NAME_MAX_BYTES];
    int first_rank, ranks;
} host_t;

static int gather_hosts(host_t *hosts, int size)
{
    char mine[MPI_MAX_PROCESSOR_NAME] = "", *all = malloc((size_t)size * NAME_MAX_BYTES);
    int length, count = 0;
    MPI_Get_processor_name(mine, &length);
    mine[NAME_MAX_BYTES - 1] = '\0';
    MPI_Allgather(mine, NAME_MAX_BYTES, MPI_CHAR, all, NAME_MAX_BYTES, MPI_CHAR, MPI_COMM_WORLD);
    for (int rank = 0; rank < size; rank++) {
        const char *name = all + (size_t)rank * NAME_MAX_BYTES;
        int i = 0;
        while (i < count && strcmp(hosts[i].name, name) != 0)
            i++;
        if (i == HOSTS_MAX)
            MPI_Abort(MPI_COMM_WORLD, 1);
        if (i == count) {
            hosts[count].first_rank = rank;
            hosts[count].ranks = 0;
            strcpy(hosts[count++].name, name);
        }
        hosts[i].ranks++;
    }
    free(all);
    return count;
}

/* MB/s from rank `from` to rank `to`, valid on `from`. The first message uses up what the link lets through
 * unshaped. */
static double stream(int rank, int from, int to)
{
    static char message[MESSAGE_BYTES];
    double start = 0;
    for (int i = 0; i <= MESSAGES && (rank == from || rank == to); i++) {
        if (i == 1) {
            if (rank == to)
                MPI_Send(message, 0, MPI_CHAR, from, 1, MPI_COMM_WORLD);
            else
                MPI_Recv(message, 0, MPI_CHAR, to, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            start = MPI_Wtime();
        }
        if (rank == from)
            MPI_Send(message, MESSAGE_BYTES, MPI_CHAR, to, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(message, MESSAGE_BYTES, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == to)
        MPI_Send(message, 0, MPI_CHAR, from, 1, MPI_COMM_WORLD);
    if (rank == from)
        MPI_Recv(message, 0, MPI_CHAR, to, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double seconds = MPI_Wtime() - start;
    MPI_Barrier(MPI_COMM_WORLD);
    return MESSAGES * (double)MESSAGE_BYTES / seconds / 1e6;
}

int main(int argc, char **argv)
{
    static host_t hosts[HOSTS_MAX];
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int count = gather_hosts(hosts, size);
    for (int i = 0; i < count && rank == 0; i++)
        printf("host %s %d\n", hosts[i].name, hosts[i].ranks);
    for (int i = 1; i < count && argc > 1 && strcmp(argv[1], "--stream") == 0; i++) {
        const double speed = stream(rank, hosts[0].first_rank, hosts[i].first_rank);
        if (rank == 0)
            printf("stream %s %s %.1f\n", hosts[0].name, hosts[i].name, speed);
    }
    MPI_Finalize();
    return 0;
}
