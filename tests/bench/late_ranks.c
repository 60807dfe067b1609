/* late_ranks: what the other ranks lose when one comes late, always the same one or another one each time.
 *
 *   LD_PRELOAD=libhanpmpi.so mpirun -np 16 late_ranks COLLECTIVE BYTES RANK|random FACTOR [REPETITIONS]
 *
 * The rank comes FACTOR x the time of the host MPI's collective after the others, whom a barrier of the host MPI lets go
 * together. Measured in turns, on duplicates of MPI_COMM_WORLD: the library with the hint
 * hanpmpi_arrival=1 and 0, and the host MPI's (hanpmpi=off); each after some calls of the same kind, in which the library
 * settles. Lost is how much longer the others are in the call, on average over them, than when all come together: the
 * median of the repetitions. Prints one line of JSON, microseconds. The root is rank 0. Every result is checked. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Calm: until the guard and the second look are done; late: until the next look, the guard's check at 128 calls and a trial behind it
 * are. */
enum { SETTLING_CALLS = 64, SETTLING_CALLS_LATE = 130, REPETITIONS = 15 };
enum { BCAST, REDUCE, ALLREDUCE, COLLECTIVES };
enum { AROUND, PLAIN, HOST, SIDES };
static const char *const names[] = {"bcast", "reduce", "allreduce"}, *const sides[] = {"arrival1", "arrival0",
                                                                                       "host"};

static int rank, size, collective, count, late_rank, repetitions;
static double *from, *to;

static void fail(const char *text)
{
    fprintf(stderr, "late_ranks: %s\n", text);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static void call(MPI_Comm comm)
{
    if (collective == BCAST)
        MPI_Bcast(rank == 0 ? from : to, count, MPI_DOUBLE, 0, comm);
    else if (collective == REDUCE)
        MPI_Reduce(from, to, count, MPI_DOUBLE, MPI_SUM, 0, comm);
    else
        MPI_Allreduce(from, to, count, MPI_DOUBLE, MPI_SUM, comm);
}

static void check(void)
{
    const double wanted = collective == BCAST ? 1 : size * (size + 1) / 2.0;

    if ((collective == BCAST && rank == 0) || (collective == REDUCE && rank > 0))
        return;
    for (int i = 0; i < count; i++)
        if (to[i] != wanted)
            fail("a wrong result");
    memset(to, 0, (size_t)count * sizeof *to);
}

static void wait_until(double seconds)
{
    for (double rest; (rest = seconds - MPI_Wtime()) > 0;)
        nanosleep(&(struct timespec){.tv_nsec = rest < 1e-3 ? (long)(rest * 1e9) : 1000000}, NULL);
}

/* Seconds that the others are in the call, on average; *last: the slowest of them. */
static double once(MPI_Comm comm, int late, double delay, double *last)
{
    double mine[2], sum;

    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    if (rank == late)
        wait_until(begin + delay);
    begin = MPI_Wtime();
    call(comm);
    mine[0] = rank == late ? 0 : MPI_Wtime() - begin;
    check();
    PMPI_Allreduce(&mine[0], &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    PMPI_Allreduce(&mine[0], last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return sum / (size - (late >= 0));
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, (size_t)repetitions, sizeof *values, compare);
    return values[repetitions / 2];
}

/* Of all sides, in turns. late -1: nobody. */
static void measure(MPI_Comm comms[SIDES], int late, double delay, unsigned seed, double means[SIDES],
                    double lasts[SIDES])
{
    double *mean[SIDES], *last[SIDES];

    for (int side = 0; side < SIDES; side++) {
        mean[side] = malloc((size_t)repetitions * sizeof(double));
        last[side] = malloc((size_t)repetitions * sizeof(double));
        for (int i = 0; i < (late < 0 ? SETTLING_CALLS : SETTLING_CALLS_LATE); i++)
            once(comms[side], late == size ? rand_r(&seed) % size : late, delay, &last[side][0]);
    }
    for (int i = 0; i < repetitions; i++) {
        const int now = late == size ? rand_r(&seed) % size : late;
        for (int side = 0; side < SIDES; side++)
            mean[side][i] = once(comms[side], now, delay, &last[side][i]);
    }
    for (int side = 0; side < SIDES; side++) {
        means[side] = median(mean[side]);
        lasts[side] = median(last[side]);
        free(mean[side]);
        free(last[side]);
    }
}

static void print(const char *key, const double values[SIDES], const double less[SIDES])
{
    printf(", \"%s\": {", key);
    for (int side = 0; side < SIDES; side++)
        printf("%s\"%s\": %.0f", side ? ", " : "", sides[side],
               1e6 * (values[side] - (less ? less[side] : 0)));
    printf("}");
}

int main(int argc, char **argv)
{
    MPI_Comm comms[SIDES];
    double calm[SIDES], calm_last[SIDES], late[SIDES], late_last[SIDES];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while (argc > 4 && collective < COLLECTIVES && strcmp(argv[1], names[collective]))
        collective++;
    if (argc < 5 || collective == COLLECTIVES)
        fail("usage: late_ranks bcast|reduce|allreduce BYTES RANK|random FACTOR [REPETITIONS]");
    count = atoi(argv[2]) / (int)sizeof(double);
    late_rank = strcmp(argv[3], "random") ? atoi(argv[3]) : size;
    repetitions = argc > 5 ? atoi(argv[5]) : REPETITIONS;
    if (count < 1 || late_rank < 0 || late_rank > size || repetitions < 1)
        fail("BYTES: 8 or more; RANK: of the job; REPETITIONS: 1 or more");
    from = malloc((size_t)count * sizeof *from);
    to = malloc((size_t)count * sizeof *to);
    for (int i = 0; i < count; i++)
        from[i] = rank + 1;
    for (int side = 0; side < SIDES; side++) {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, side == HOST ? "hanpmpi" : "hanpmpi_arrival",
                     side == HOST ? "off" : (side == AROUND ? "1" : "0"));
        MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comms[side]);
        MPI_Info_free(&info);
    }
    measure(comms, -1, 0, 1, calm, calm_last);
    const double delay = atof(argv[4]) * calm_last[HOST];
    measure(comms, late_rank, delay, 1, late, late_last);
    if (rank == 0) {
        printf("{\"collective\": \"%s\", \"bytes\": %d, \"late\": \"%s\", \"factor\": %s, \"delay\": %.0f",
               names[collective], count * 8, argv[3], argv[4], 1e6 * delay);
        print("calm", calm, NULL);
        print("lost", late, calm);
        print("last", late_last, NULL);
        printf("}\n");
    }
    for (int side = 0; side < SIDES; side++)
        MPI_Comm_free(&comms[side]);
    free(to);
    free(from);
    MPI_Finalize();
}
