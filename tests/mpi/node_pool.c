/* node_pool: what many communicators cost that are used in turns. Each has slots in memory that the ranks share, but a rank uses
 * those of one at a time, so the library lends it the same few again and again.
 *
 * Measured is what the library maps alone (/proc/self/smaps: what it shares, and this rank's part of what others map, too), and
 * the page faults of the whole process in calls, behind the first turn, in which the host MPI has touched its own memory.
 *
 * usage: node_pool MAX_KIB MAX_FAULTS: of each rank, and of a call on average. Skipped where /proc has no such file. */
#include <sys/resource.h>

#include "mpi_check.h"

enum { COMMUNICATORS = 64, TURNS = 3, ELEMENTS = 1 << 18, KINDS = 3 };
static const int sizes[] = {1024, 16384, ELEMENTS}; /* of ints: 4 KiB to 1 MiB */
enum { SIZES = sizeof sizes / sizeof *sizes };

static int mine[ELEMENTS], result[ELEMENTS];

/* KiB of this process's part of the library's shared memory; -1: the kernel does not say. */
static long shared_kib(void)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[512];
    bool ours = false, found = false;
    long kib, sum = 0;

    if (!file)
        return -1;
    while (fgets(line, sizeof line, file)) {
        if (strchr(line, '-') && strchr(line, ' ') > strchr(line, '-') && strchr("0123456789abcdef", line[0]))
            ours = strstr(line, "memfd:hanpmpi") != NULL;
        else if (sscanf(line, "Pss: %ld", &kib) == 1) {
            found = true;
            sum += ours ? kib : 0;
        }
    }
    fclose(file);
    return found ? sum : -1;
}

static long faults(void)
{
    struct rusage used;
    CHECK(getrusage(RUSAGE_SELF, &used) == 0, "getrusage");
    return used.ru_minflt;
}

/* A call of each kind, with values that tell the communicators and turns apart. */
static void call_all(MPI_Comm comm, int count, int value)
{
    const int rank = hp_comm_rank(comm), size = hp_comm_size(comm), root = value % size;
    const int sum = size * (size - 1) / 2 + size * value;

    for (int i = 0; i < count; i++)
        mine[i] = rank + value;
    CHECK_MPI(MPI_Allreduce(mine, result, count, MPI_INT, MPI_SUM, comm));
    CHECK_EQUAL(result[0], sum, "Allreduce");
    CHECK_EQUAL(result[count - 1], sum, "Allreduce");
    CHECK_MPI(MPI_Reduce(mine, result, count, MPI_INT, MPI_SUM, root, comm));
    if (rank == root) {
        CHECK_EQUAL(result[0], sum, "Reduce");
        CHECK_EQUAL(result[count - 1], sum, "Reduce");
    }
    for (int i = 0; rank == root && i < count; i++)
        result[i] = value;
    CHECK_MPI(MPI_Bcast(result, count, MPI_INT, root, comm));
    CHECK_EQUAL(result[0], value, "Bcast");
    CHECK_EQUAL(result[count - 1], value, "Bcast");
}

static void take_turn(const MPI_Comm *comms, int turn)
{
    for (int s = 0; s < SIZES; s++)
        for (int i = 0; i < COMMUNICATORS; i++)
            call_all(comms[i], sizes[s], turn * COMMUNICATORS + i);
}

int main(int argc, char **argv)
{
    MPI_Comm comms[COMMUNICATORS];

    hp_mpi_init(&argc, &argv);
    CHECK_EQUAL(argc, 3, "arguments");
    if (shared_kib() < 0) {
        CHECK_MPI(MPI_Finalize());
        return HP_SKIP;
    }
    for (int i = 0; i < COMMUNICATORS; i++)
        CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    memset(result, 0, sizeof result);
    take_turn(comms, 0);
    const long before = faults();
    for (int turn = 1; turn < TURNS; turn++)
        take_turn(comms, turn);
    const double calls = (double)(TURNS - 1) * SIZES * COMMUNICATORS * KINDS;
    const double faults_of_a_call = (double)(faults() - before) / calls;
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    const long kib = shared_kib();
    const hanpmpi_collective_stats_t taken = hp_lib_stats("allreduce");
    CHECK(!hp_lib_loaded() || taken.taken > 0, "no call was taken");
    if (hp_comm_rank(MPI_COMM_WORLD) == 0)
        printf("%ld KiB of shared memory, %.3f page faults a call\n", kib, faults_of_a_call);
    CHECK(kib <= atol(argv[1]), "%ld KiB of shared memory", kib);
    CHECK(faults_of_a_call <= atof(argv[2]), "%.3f page faults a call", faults_of_a_call);
    for (int i = 0; i < COMMUNICATORS; i++)
        CHECK_MPI(MPI_Comm_free(&comms[i]));
    CHECK_MPI(MPI_Finalize());
    return 0;
}
