/* helper_thread: what the library's own thread does (HANPMPI_PROGRESS=thread); helper_thread.py sets that, or not.
 *
 * usage: helper_thread CASE [SECONDS]; the cases are in the table below. Prints nothing when all is well, but for the
 * case computing, in which rank 0 tells how many of its collectives were finished without an MPI call, within so many
 * seconds (10). */
#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mpi_check.h"

enum { ELEMENTS = 1 << 16, ROUNDS = 60, KINDS = 4 };

/* What is in flight together, on every rank. */
typedef struct {
    int root[ELEMENTS], sum[ELEMENTS], mine[ELEMENTS], total[ELEMENTS];
    MPI_Request requests[KINDS];
} work_t;
static work_t work;
static double patience_s = 10; /* on a quiet machine it takes milliseconds */

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void start(MPI_Comm comm, int round)
{
    const int rank = hp_comm_rank(comm), size = hp_comm_size(comm);

    for (int i = 0; i < ELEMENTS; i++) {
        work.mine[i] = rank + i + round;
        work.root[i] = rank == 0 ? i + round : -1;
        work.sum[i] = work.total[i] = -1;
    }
    CHECK_MPI(MPI_Ibcast(work.root, ELEMENTS, MPI_INT, 0, comm, &work.requests[0]));
    CHECK_MPI(MPI_Iallreduce(work.mine, work.sum, ELEMENTS, MPI_INT, MPI_SUM, comm, &work.requests[1]));
    CHECK_MPI(
        MPI_Ireduce(work.mine, work.total, ELEMENTS, MPI_INT, MPI_MAX, size - 1, comm, &work.requests[2]));
    CHECK_MPI(MPI_Ibarrier(comm, &work.requests[3]));
}

static void wait_all(void)
{
    MPI_Status statuses[KINDS]; /* MPI_STATUSES_IGNORE draws a warning of the compiler with some headers */
    CHECK_MPI(MPI_Waitall(KINDS, work.requests, statuses));
}

static int sum_at(MPI_Comm comm, int round, int i)
{
    const int size = hp_comm_size(comm);
    return size * (size - 1) / 2 + size * (i + round);
}

static void check(MPI_Comm comm, int round)
{
    const int rank = hp_comm_rank(comm), size = hp_comm_size(comm);

    for (int i = 0; i < ELEMENTS; i++) {
        CHECK_EQUAL(work.root[i], i + round, "Ibcast");
        CHECK_EQUAL(work.sum[i], sum_at(comm, round, i), "Iallreduce");
        if (rank == size - 1)
            CHECK_EQUAL(work.total[i], size - 1 + i + round, "Ireduce");
    }
}

/* A pure computation, until the sum is there or the time is over. Returns whether it is there. */
static bool compute(MPI_Comm comm, double seconds)
{
    const volatile int *sum = work.sum;
    const double until = now_s() + seconds;
    int there = 0;

    while (there < ELEMENTS && now_s() < until)
        while (there < ELEMENTS && sum[there] == sum_at(comm, 0, there))
            there++;
    return there == ELEMENTS;
}

/* The communicator is set up by the first blocking collective. */
static void set_up(MPI_Comm comm)
{
    int one = 1, all;
    CHECK_MPI(MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm));
}

static void case_computing(void)
{
    int complete[KINDS], finished = 0;

    set_up(MPI_COMM_WORLD);
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    start(MPI_COMM_WORLD, 0);
    const double until = now_s() + 2 * patience_s;
    const bool summed = compute(MPI_COMM_WORLD, patience_s);
    do
        usleep(400000); /* the last ones behind it, still without a call; the cores may be busy */
    while (summed && hp_lib_resources().requests > 0 && now_s() < until);
    for (int i = 0; i < KINDS; i++) {
        CHECK_MPI(MPI_Request_get_status(work.requests[i], &complete[i], MPI_STATUS_IGNORE));
        finished += summed && complete[i];
    }
    wait_all();
    check(MPI_COMM_WORLD, 0);
    if (hp_comm_rank(MPI_COMM_WORLD) == 0)
        printf("finished %d of %d\n", finished, KINDS);
}

/* Nanoseconds of processor time that the library's thread has had; -1: there is none. */
static long long thread_ns(void)
{
    DIR *tasks = opendir("/proc/self/task");
    long long ns = -1;

    CHECK(tasks, "/proc/self/task cannot be read");
    for (struct dirent *task; (task = readdir(tasks));) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *file = fopen(path, "r");
        if (!file)
            continue;
        const bool ours = fgets(name, sizeof name, file) && strcmp(name, "hanpmpi\n") == 0;
        fclose(file);
        if (!ours)
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", task->d_name);
        file = fopen(path, "r");
        CHECK(file && fscanf(file, "%lld", &ns) == 1, "%s cannot be read", path);
        fclose(file);
    }
    closedir(tasks);
    return ns;
}

/* The helper thread's share of a core, while this one sleeps. What else runs here can only add to it: where it is too much, it is
 * measured again. */
static double idle_share(double most)
{
    const double seconds = 3;
    double least = 1;

    for (int attempt = 0; attempt < 3 && least >= most; attempt++) {
        const long long before = thread_ns();
        CHECK(before >= 0, "there is no helper thread");
        sleep((unsigned)seconds);
        const double share = (double)(thread_ns() - before) / 1e9 / seconds;
        least = share < least ? share : least;
    }
    return least;
}

/* Nothing is in flight, before and after something was. */
static void case_idle(void)
{
    const double most = 0.001;

    for (int round = 0; round < 2; round++) {
        const double share = idle_share(most);
        CHECK(share < most, "the idle helper thread takes %.3f%% of a core", 100 * share);
        set_up(MPI_COMM_WORLD);
        start(MPI_COMM_WORLD, 0);
        wait_all();
        check(MPI_COMM_WORLD, 0);
    }
}

/* The program's thread waits in all the ways there are while the other one looks, too. */
static void case_waits(void)
{
    MPI_Comm comm;
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    set_up(comm);
    for (int round = 0; round < ROUNDS; round++) {
        int index, complete = 0, value = round;
        MPI_Status statuses[KINDS];
        start(comm, round);
        switch (round % 6) {
        case 0:
            wait_all();
            break;
        case 1:
            for (int i = KINDS - 1; i >= 0; i--)
                CHECK_MPI(MPI_Wait(&work.requests[i], MPI_STATUS_IGNORE));
            break;
        case 2:
            for (int i = 0; i < KINDS; i++)
                CHECK_MPI(MPI_Waitany(KINDS, work.requests, &index, MPI_STATUS_IGNORE));
            break;
        case 3:
            while (!complete)
                CHECK_MPI(MPI_Testall(KINDS, work.requests, &complete, statuses));
            break;
        case 4: /* blocking ones meanwhile, on this communicator and on another one */
            CHECK_MPI(MPI_Bcast(&value, 1, MPI_INT, 0, comm));
            CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
            wait_all();
            break;
        default:
            hp_spin_us(100);
            wait_all();
            break;
        }
        check(comm, round);
        if (round % 20 == 19) { /* one that has just had something in flight goes */
            CHECK_MPI(MPI_Comm_free(&comm));
            CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
            set_up(comm);
        }
    }
    CHECK_MPI(MPI_Comm_free(&comm));
}

/* A child without the thread ends by itself, and the parent goes on. */
static void case_forks(void)
{
    int status;

    set_up(MPI_COMM_WORLD);
    start(MPI_COMM_WORLD, 0);
    const pid_t child = fork();
    if (child == 0)
        exit(7); /* runs what was registered for the end of the process */
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7,
          "the child of a fork did not end as it should");
    wait_all();
    check(MPI_COMM_WORLD, 0);
}

/* The program leaves in the middle. */
static void case_exits(void)
{
    set_up(MPI_COMM_WORLD);
    start(MPI_COMM_WORLD, 0);
    exit(3);
}

static volatile sig_atomic_t signals_seen;

static void on_signal(int number)
{
    (void)number;
    signals_seen++;
}

/* HANPMPI_STATS_SIGNAL: the statistics come while something is in execution. */
static void signals(int expected)
{
    set_up(MPI_COMM_WORLD);
    if (hp_comm_rank(MPI_COMM_WORLD) == 0) { /* the others are not there yet */
        start(MPI_COMM_WORLD, 0);
        CHECK_EQUAL(kill(getpid(), SIGUSR2), 0, "kill");
        hp_spin_us(500000);
    }
    if (hp_comm_rank(MPI_COMM_WORLD) != 0) {
        hp_spin_us(1000000);
        start(MPI_COMM_WORLD, 0);
    }
    wait_all();
    check(MPI_COMM_WORLD, 0);
    if (hp_comm_rank(MPI_COMM_WORLD) == 0)
        CHECK_EQUAL(signals_seen, expected, "signals that came to the program");
}

static void case_signal(void)
{
    signals(0);
}

static void case_signal_own(void)
{
    signals(1);
}

static void case_aborts(void)
{
    set_up(MPI_COMM_WORLD);
    start(MPI_COMM_WORLD, 0);
    MPI_Abort(MPI_COMM_WORLD, 5);
}

static const struct {
    const char *name;
    void (*run)(void);
    int level; /* -1: MPI_Init */
} cases[] = {
    {"computing", case_computing, -1},
    {"computing_funneled", case_computing, MPI_THREAD_FUNNELED},
    {"idle", case_idle, -1},
    {"waits", case_waits, -1},
    {"forks", case_forks, -1},
    {"exits", case_exits, -1},
    {"aborts", case_aborts, -1},
    {"signal", case_signal, -1},
    {"signal_own", case_signal_own, -1},
};

int main(int argc, char **argv)
{
    if (argc == 3)
        patience_s = atof(argv[2]);
    for (size_t i = 0; (argc == 2 || argc == 3) && i < sizeof cases / sizeof *cases; i++) {
        int level;
        if (strcmp(argv[1], cases[i].name) != 0)
            continue;
        if (cases[i].run == case_signal_own)
            signal(SIGUSR2, on_signal);
        CHECK_MPI(cases[i].level < 0 ? MPI_Init(&argc, &argv)
                                     : MPI_Init_thread(&argc, &argv, cases[i].level, &level));
        cases[i].run();
        CHECK_MPI(MPI_Finalize());
        CHECK_EQUAL(hp_lib_resources().requests, 0, "requests held after MPI_Finalize");
        return 0;
    }
    fprintf(stderr, "usage: helper_thread CASE [SECONDS]\n");
    return 2;
}
