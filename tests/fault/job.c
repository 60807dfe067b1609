/* job: the program that faults happen to. Rounds of Bcast (also of a datatype with holes), Reduce and
 * Allreduce, each result checked.
 *
 *   job [--rounds N] [--bytes B] [--handler fatal|return] [--seconds S] [--act NAME --rank R [--after MS]]
 *
 * --handler return: an error code comes back, is printed, and the program gives up by MPI_Abort, as programs
 * do. --seconds: rounds until that much time has passed on rank 0. --act, what rank R does after so many
 * milliseconds, in whatever it is then: kill      SIGKILL               stop   SIGSTOP, and 5 seconds later
 * SIGCONT from a child or instead of its second round: late      sleeps 2 seconds      exit   leaves, without
 * MPI_Finalize      absent   sleeps for ever
 *
 * Prints "under way" after the first round, and at the end "rank R: N rounds right, T taken"; else "rank R:
 * WRONG ..." or "rank R: error CLASS ...". */
#include <dlfcn.h>
#include <getopt.h>
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include "hanpmpi/hanpmpi.h"

enum { STOPPED_SECONDS = 5, LATE_SECONDS = 2, EXIT_WRONG = 9, EXIT_ERROR = 3 };

static struct {
    int rounds, elements, rank, after_ms;
    double seconds;
    bool returns;
    const char *act;
} options = {.rounds = 3, .elements = 25000, .rank = -1, .after_ms = 100};

static int world_rank, world_size;

static void check(int code, const char *what)
{
    int class;
    char text[MPI_MAX_ERROR_STRING] = "";
    if (code == MPI_SUCCESS)
        return;
    MPI_Error_class(code, &class);
    MPI_Error_string(class, text, &(int){0});
    printf("rank %d: error %s in %s\n", world_rank, text, what);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, EXIT_ERROR);
    exit(EXIT_ERROR);
}

static void expect(int got, int expected, int round, int index, const char *what)
{
    if (got == expected)
        return;
    printf("rank %d: WRONG %s in round %d: element %d is %d instead of %d\n", world_rank, what, round, index,
           got, expected);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, EXIT_WRONG);
    exit(EXIT_WRONG);
}

static void play_round(int round, int *send, int *recv, MPI_Datatype holes, MPI_Comm comm)
{
    const int n = options.elements, root = round % world_size;
    const int all = world_size * (world_size + 1) / 2;

    for (int i = 0; i < n; i++)
        send[i] = world_rank == root ? round + 7 * i : -1;
    check(MPI_Bcast(send, n, MPI_INT, root, comm), "Bcast");
    for (int i = 0; i < n; i++)
        expect(send[i], round + 7 * i, round, i, "Bcast");

    for (int i = 0; i < n; i++)
        send[i] = world_rank == root ? round + 3 * i : i % 2 ? -1 : -2;
    check(MPI_Bcast(send, n / 2, holes, root, comm), "Bcast of a datatype with holes");
    for (int i = 0; i < n / 2 * 2; i++)
        expect(send[i], world_rank == root || i % 2 == 0 ? round + 3 * i : -1, round, i,
               "Bcast of a datatype with holes");

    for (int i = 0; i < n; i++)
        send[i] = (world_rank + 1) * (i % 1000 + round);
    memset(recv, 0, (size_t)n * sizeof *recv);
    check(MPI_Reduce(send, recv, n, MPI_INT, MPI_SUM, root, comm), "Reduce");
    for (int i = 0; i < n && world_rank == root; i++)
        expect(recv[i], all * (i % 1000 + round), round, i, "Reduce");
    check(MPI_Allreduce(send, recv, n, MPI_INT, MPI_SUM, comm), "Allreduce");
    for (int i = 0; i < n; i++)
        expect(recv[i], all * (i % 1000 + round), round, i, "Allreduce");
}

static void on_alarm(int number)
{
    (void)number;
    raise(options.act[0] == 'k' ? SIGKILL : SIGSTOP);
}

static void set_alarm(void)
{
    const bool stop = strcmp(options.act, "stop") == 0;
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    if (!stop && strcmp(options.act, "kill") != 0)
        return;
    const pid_t self = getpid();
    if (stop && fork() == 0) { /* the child calls no MPI: it sleeps and signals */
        usleep((useconds_t)options.after_ms * 1000);
        sleep(STOPPED_SECONDS);
        kill(self, SIGCONT);
        _exit(0);
    }
    sigaction(SIGALRM, &action, NULL);
    const struct timeval delay = {.tv_sec = options.after_ms / 1000,
                                  .tv_usec = options.after_ms % 1000 * 1000};
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = delay}, NULL);
}

static void act_instead(void)
{
    if (strcmp(options.act, "late") == 0)
        sleep(LATE_SECONDS);
    if (strcmp(options.act, "exit") == 0)
        _exit(0);
    while (strcmp(options.act, "absent") == 0)
        pause();
}

static void read_options(int argc, char **argv)
{
    static const struct option known[] = {{"rounds", 1, NULL, 'n'},  {"bytes", 1, NULL, 'b'},
                                          {"handler", 1, NULL, 'h'}, {"seconds", 1, NULL, 's'},
                                          {"act", 1, NULL, 'a'},     {"rank", 1, NULL, 'r'},
                                          {"after", 1, NULL, 'm'},   {NULL, 0, NULL, 0}};
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;)
        switch (option) {
        case 'n':
            options.rounds = atoi(optarg);
            break;
        case 'b':
            options.elements = atoi(optarg) / (int)sizeof(int);
            break;
        case 'h':
            options.returns = strcmp(optarg, "return") == 0;
            break;
        case 's':
            options.seconds = atof(optarg);
            break;
        case 'a':
            options.act = optarg;
            break;
        case 'r':
            options.rank = atoi(optarg);
            break;
        case 'm':
            options.after_ms = atoi(optarg);
            break;
        default:
            exit(2);
        }
}

/* With the figures of the library where it is loaded. */
static unsigned long long taken(void)
{
    unsigned long long sum = 0;
    hanpmpi_collective_stats_t stats = {0};
    int (*get)(const char *, hanpmpi_collective_stats_t *) =
        (int (*)(const char *, hanpmpi_collective_stats_t *))dlsym(RTLD_DEFAULT, "hanpmpi_get_stats");
    static const char *const names[] = {"bcast", "reduce", "allreduce"};
    for (int i = 0; get && i < 3; i++)
        if (get(names[i], &stats) == 0)
            sum += stats.taken;
    return sum;
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Datatype holes;
    MPI_Info info;
    int round = 0, more = 1;

    read_options(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (options.returns)
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Info_create(&info);
    MPI_Info_set(info, "hanpmpi_segment_bytes", "16K");
    check(MPI_Comm_set_info(comm, info), "Comm_set_info");
    MPI_Info_free(&info);
    MPI_Type_create_resized(MPI_INT, 0, 2 * (MPI_Aint)sizeof(int), &holes);
    MPI_Type_commit(&holes);
    int *send = malloc(((size_t)options.elements + 1) * sizeof *send);
    int *recv = malloc(((size_t)options.elements + 1) * sizeof *recv);

    const bool acts = options.act && world_rank == options.rank;
    const double start = MPI_Wtime();
    if (acts)
        set_alarm();
    while (more) {
        if (acts && round == 1)
            act_instead();
        play_round(round++, send, recv, holes, comm);
        if (round == 1 && world_rank == 0)
            puts("under way");
        fflush(stdout);
        if (options.seconds > 0) {
            more = MPI_Wtime() - start < options.seconds;
            check(PMPI_Bcast(&more, 1, MPI_INT, 0, comm), "Bcast");
        } else {
            more = round < options.rounds;
        }
    }
    printf("rank %d: %d rounds right, %llu taken\n", world_rank, round, taken());
    fflush(stdout);
    free(send);
    free(recv);
    MPI_Type_free(&holes);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
