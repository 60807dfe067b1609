/* profile: a program that knows which MPI calls it makes, from which line, with how many bytes, and to whom it
 * sends; what a recording says of it is compared with that. profile.py runs it.
 *
 *   profile NAME            everything; each rank writes what it knows to NAME.RANK
 *   profile NAME threads    several threads send at the same time
 *   profile NAME many CALLS 10,648 call sites, 1,000 communicators, and as many calls more from all of these sites; each
 *                           rank writes to NAME.RANK by how much that made its memory grow
 *   profile NAME order      communicators of the same ranks, which not all ranks use in the same order
 *   profile NAME fresh      three calls that receive into new memory, and two into that of the third
 *   profile NAME times      calls that take long enough for a clock to be looked at before and after
 *   profile NAME abort|exit|term|kill   ends without MPI_Finalize */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LINES = 1000, RANKS = 16, REPEATS = 20, ROOM = 4096 };

static struct {
    const char *name;
    long calls, bytes;
    double seconds;
} known[LINES]; /* by line */
static struct {
    long messages, bytes;
} sent[RANKS];
static double seconds; /* in MPI */
static int rank, size;
static double send[ROOM], recv[ROOM];

/* A call of this rank: at least so many bytes go in or out, as hanpmpi-profile(5) counts them. */
#define DO(name, bytes, arguments) DO_AT(__LINE__, name, bytes, arguments)
#define DO_AT(line, what, size_of_it, arguments)                                                             \
    do {                                                                                                     \
        known[line].name = #what;                                                                            \
        known[line].calls++;                                                                                 \
        known[line].bytes += (long)(size_of_it);                                                             \
        const double entered_ = MPI_Wtime();                                                                 \
        MPI_##what arguments;                                                                                \
        const double took_ = MPI_Wtime() - entered_;                                                         \
        known[line].seconds += took_;                                                                        \
        seconds += took_;                                                                                    \
    } while (0)

static void count_message(int to, long bytes)
{
    sent[to].messages++;
    sent[to].bytes += bytes;
}

static void write_known(const char *name)
{
    char path[4096];

    snprintf(path, sizeof path, "%s.%d", name, rank);
    FILE *file = fopen(path, "w");
    if (!file)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int line = 0; line < LINES; line++)
        if (known[line].name)
            fprintf(file, "call %s %d %ld %ld %.9f\n", known[line].name, line, known[line].calls,
                    known[line].bytes, known[line].seconds);
    for (int to = 0; to < size; to++)
        if (sent[to].messages)
            fprintf(file, "sent %d %ld %ld\n", to, sent[to].messages, sent[to].bytes);
    fprintf(file, "seconds %.6f\n", seconds);
    fclose(file);
}

/* ---- collectives ---- */

static void blocking(MPI_Comm comm, int root)
{
    int ranks, me, counts[RANKS], displs[RANKS], total = 0;

    MPI_Comm_size(comm, &ranks);
    MPI_Comm_rank(comm, &me);
    for (int i = 0; i < ranks; i++) {
        counts[i] = i + 1;
        displs[i] = total;
        total += counts[i];
    }
    DO(Barrier, 0, (comm));
    DO(Bcast, 100 * sizeof(int), (send, 100, MPI_INT, root, comm));
    DO(Reduce, 5 * sizeof(double), (send, recv, 5, MPI_DOUBLE, MPI_MAX, root, comm));
    DO(Allreduce, 3 * sizeof(double), (send, recv, 3, MPI_DOUBLE, MPI_SUM, comm));
    DO(Allreduce, 3 * sizeof(double), (MPI_IN_PLACE, recv, 3, MPI_DOUBLE, MPI_SUM, comm));
    DO(Allgather, ranks * 2 * sizeof(int), (send, 2, MPI_INT, recv, 2, MPI_INT, comm));
    DO(Allgather, ranks * 2 * sizeof(int), (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, recv, 2, MPI_INT, comm));
    DO(Allgatherv, total * sizeof(int), (send, counts[me], MPI_INT, recv, counts, displs, MPI_INT, comm));
    DO(Alltoall, ranks * 7, (send, 7, MPI_CHAR, recv, 7, MPI_CHAR, comm));
    DO(Gather, me == root ? ranks * 8 : 8, (send, 1, MPI_DOUBLE, recv, 1, MPI_DOUBLE, root, comm));
    DO(Gatherv, (me == root ? total : counts[me]) * sizeof(int),
       (send, counts[me], MPI_INT, recv, counts, displs, MPI_INT, root, comm));
    DO(Scatter, me == root ? ranks * 8 : 8, (send, 1, MPI_DOUBLE, recv, 1, MPI_DOUBLE, root, comm));
    DO(Scatterv, (me == root ? total : counts[me]) * sizeof(int),
       (send, counts, displs, MPI_INT, recv, counts[me], MPI_INT, root, comm));
    DO(Scan, 16, (send, recv, 2, MPI_DOUBLE, MPI_SUM, comm));
    DO(Exscan, 16, (send, recv, 2, MPI_DOUBLE, MPI_SUM, comm));
    DO(Reduce_scatter, total * sizeof(double), (send, recv, counts, MPI_DOUBLE, MPI_SUM, comm));
    DO(Reduce_scatter_block, ranks * 3 * sizeof(double), (send, recv, 3, MPI_DOUBLE, MPI_SUM, comm));
}

/* Block i of rank r has r + i + 1 elements. */
static void alltoallv(void)
{
    int counts[RANKS], displs[RANKS], total = 0;
    MPI_Datatype types[RANKS];

    for (int i = 0; i < size; i++) {
        counts[i] = rank + i + 1;
        displs[i] = 100 * i;
        total += counts[i];
        types[i] = MPI_INT;
    }
    DO(Alltoallv, total * sizeof(int),
       (send, counts, displs, MPI_INT, recv, counts, displs, MPI_INT, MPI_COMM_WORLD));
    DO(Alltoallw, total * sizeof(int),
       (send, counts, displs, types, recv, counts, displs, types, MPI_COMM_WORLD));
}

static void nonblocking(void)
{
    MPI_Request request;
    int flag = 0;

    DO(Iallreduce, 8, (send, recv, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request));
    DO(Wait, 0, (&request, MPI_STATUS_IGNORE));
    DO(Ibarrier, 0, (MPI_COMM_WORLD, &request));
    while (!flag)
        DO(Test, 0, (&request, &flag, MPI_STATUS_IGNORE));
#if MPI_VERSION >= 4
    DO(Allreduce_c, 8, (send, recv, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    MPI_Comm freed; /* before what was made on it is started */
    DO(Comm_dup, 0, (MPI_COMM_WORLD, &freed));
    DO(Bcast_init, 40, (send, 5, MPI_DOUBLE, 0, freed, MPI_INFO_NULL, &request));
    DO(Comm_free, 0, (&freed));
    for (int i = 0; i < 3; i++) {
        DO(Start, 40, (&request));
        DO(Wait, 0, (&request, MPI_STATUS_IGNORE));
    }
    MPI_Request_free(&request);
#endif
}

/* ---- point-to-point ---- */

static void messages(void)
{
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Request requests[2];
    MPI_Status status, statuses[2];
    int index, done, indices[2];

    DO(Irecv, 800, (recv, 100, MPI_DOUBLE, before, 1, MPI_COMM_WORLD, &requests[0]));
    DO(Isend, 80, (send, 10, MPI_DOUBLE, next, 1, MPI_COMM_WORLD, &requests[1]));
    count_message(next, 80);
    DO(Waitall, 0, (2, requests, statuses));
    DO(Irecv, 8, (recv, 1, MPI_DOUBLE, before, 2, MPI_COMM_WORLD, &requests[0]));
    DO(Issend, 8, (send, 1, MPI_DOUBLE, next, 2, MPI_COMM_WORLD, &requests[1]));
    count_message(next, 8);
    DO(Waitany, 0, (2, requests, &index, &status));
    DO(Waitany, 0, (2, requests, &index, &status));
    DO(Irecv, 8, (recv, 1, MPI_DOUBLE, before, 3, MPI_COMM_WORLD, &requests[0]));
    DO(Isend, 8, (send, 1, MPI_DOUBLE, next, 3, MPI_COMM_WORLD, &requests[1]));
    count_message(next, 8);
    for (int left = 2; left > 0; left -= done)
        DO(Waitsome, 0, (2, requests, &done, indices, statuses));
    DO(Sendrecv, 160,
       (send, 20, MPI_DOUBLE, next, 4, recv, ROOM, MPI_DOUBLE, before, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    count_message(next, 160);
    if (rank == 0) {
        DO(Send, 33, (send, 33, MPI_CHAR, size - 1, 5, MPI_COMM_WORLD));
        count_message(size - 1, 33);
        DO(Send, 0, (send, 33, MPI_CHAR, MPI_PROC_NULL, 5, MPI_COMM_WORLD));
    }
    if (rank == size - 1) {
        DO(Probe, 0, (MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status));
        DO(Recv, 33, (recv, ROOM, MPI_DOUBLE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    DO(Send_init, 56, (send, 7, MPI_DOUBLE, next, 6, MPI_COMM_WORLD, &requests[0]));
    DO(Recv_init, 64, (recv, 8, MPI_DOUBLE, before, 6, MPI_COMM_WORLD, &requests[1]));
    for (int i = 0; i < 3; i++) {
        DO(Startall, 120, (2, requests));
        count_message(next, 56);
        DO(Waitall, 0, (2, requests, statuses));
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* From one place each: numbers change, and handles are freed and may come again for something else. */
static void remade(void)
{
    MPI_Datatype type;
    MPI_Comm comm;
    int me;

    for (int i = 0; i < REPEATS; i++) {
        const int bytes = (1 + i % 3) * 8, is_turned = i % 2;
        MPI_Type_contiguous(1 + i % 3, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        MPI_Type_set_name(type, "caf\xe9"); /* no UTF-8 */
        DO(Comm_split, 0, (MPI_COMM_WORLD, 0, is_turned ? -rank : rank, &comm));
        MPI_Comm_rank(comm, &me);
        for (int j = 0; j < 6; j++) {
            DO(Bcast, (1 + j / 3) * bytes, (send, 1 + j / 3, type, 0, comm));
            DO(Gather, (me == j / 5 ? size : 1) * bytes, (send, 1, type, recv, 1, type, j / 5, comm));
        }
        for (int j = 0; j < 3 && me == 0; j++) {
            DO(Send, bytes, (send, 1, type, size - 1, 8, comm));
            count_message(is_turned ? 0 : size - 1, bytes);
        }
        for (int j = 0; j < 3 && me == size - 1; j++)
            DO(Recv, bytes, (recv, 1, type, 0, 8, comm, MPI_STATUS_IGNORE));
        DO(Comm_free, 0, (&comm));
        MPI_Type_free(&type);
    }
}

static void everything(void)
{
    MPI_Comm half, turned;

    DO(Comm_split, 0, (MPI_COMM_WORLD, rank % 2, rank, &half));
    MPI_Comm_set_name(half, "half");
    DO(Comm_split, 0, (MPI_COMM_WORLD, 0, -rank, &turned)); /* peers are others there */
    for (int i = 0; i < REPEATS; i++) {
        blocking(MPI_COMM_WORLD, i % size);
        blocking(half, 0);
        alltoallv();
        nonblocking();
        messages();
        if (rank == 0) /* time enough that what a call costs beside is nothing */
            usleep(20000);
        DO(Barrier, 0, (MPI_COMM_WORLD));
    }
    remade();
    int turned_rank;
    MPI_Comm_rank(turned, &turned_rank);
    DO(Sendrecv, 8,
       (send, 1, MPI_DOUBLE, (turned_rank + 1) % size, 7, recv, 1, MPI_DOUBLE,
        (turned_rank + size - 1) % size, 7, turned, MPI_STATUS_IGNORE));
    count_message((rank + size - 1) % size, 8);
    MPI_Pcontrol(0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(1);
    DO(Comm_free, 0, (&half));
    DO(Comm_free, 0, (&turned));
}

/* ---- threads ---- */

enum { THREADS = 4, THREAD_MESSAGES = 2000 };

static void times(void)
{
    enum { LONG = 1 << 18, ROUNDS = 400 };
    static double out[LONG], in[LONG];
    MPI_Request requests[2];
    const int peer = size - 1 - rank;

    for (int i = 0; i < ROUNDS; i++) {
        DO(Bcast, sizeof out, (out, LONG, MPI_DOUBLE, 0, MPI_COMM_WORLD));
        DO(Allreduce, sizeof out, (out, in, LONG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        DO(Sendrecv, sizeof out,
           (out, LONG, MPI_DOUBLE, peer, 0, in, LONG, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD,
            MPI_STATUS_IGNORE));
        DO(Irecv, sizeof in, (in, LONG, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, &requests[0]));
        DO(Isend, sizeof out, (out, LONG, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, &requests[1]));
        DO(Waitall, 0, (2, requests, MPI_STATUSES_IGNORE));
    }
}

/* Rank 0 sends before rank 1 receives. */
static void unexpected(void)
{
    enum { MESSAGES = 10 };
    double value = 0;

    for (int i = 0; rank == 0 && i < MESSAGES; i++)
        MPI_Send(&value, 1, MPI_DOUBLE, 1, i, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; rank == 1 && i < MESSAGES; i++) {
        MPI_Recv(&value, 1, MPI_DOUBLE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(5000); /* longer than a look is apart from the next */
    }
}

/* Waits by testing, which mostly finds nothing. */
static void polls(void)
{
    enum { ROUNDS = 20000 };
    const int peer = size - 1 - rank;
    MPI_Request requests[2];
    MPI_Comm other;
    int flag, index;

    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_set_name(other, "other");
    for (int i = 0; i < 2; i++)
        DO(Irecv, sizeof(double), (&recv[i], 1, MPI_DOUBLE, peer, 5 + i, other, &requests[i]));
    for (int i = 0; i < ROUNDS; i++) {
        DO(Test, 0, (&requests[0], &flag, MPI_STATUS_IGNORE));
        DO(Testany, 0, (2, requests, &index, &flag, MPI_STATUS_IGNORE));
        DO(Iprobe, 0, (peer, 9, i % 3 ? MPI_COMM_WORLD : other, &flag, MPI_STATUS_IGNORE));
        if (i % 2)
            DO(Testall, 0, (2, requests, &flag, MPI_STATUSES_IGNORE));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(rank == 0 ? 5000 : 0);
    for (int i = 0; i < 2; i++) {
        DO(Send, sizeof(double), (send, 1, MPI_DOUBLE, peer, 5 + i, other));
        count_message(peer, sizeof(double));
        do
            DO(Test, 0, (&requests[i], &flag, MPI_STATUS_IGNORE));
        while (!flag);
    }
    MPI_Comm_free(&other);
}

static void order(void)
{
    MPI_Comm first, second;
    int value = rank;

    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
    if (rank < 2)
        MPI_Sendrecv_replace(&value, 1, MPI_INT, 1 - rank, 7, 1 - rank, 7, second, MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; i++)
        MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, first);
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, second);
    MPI_Comm_free(&first);
    MPI_Comm_free(&second);
}

static void fresh(void)
{
    enum { COUNT = 1 << 16, NEW = 3, AGAIN = 2 };
    const size_t bytes = (size_t)size * COUNT * sizeof(double);
    double *block = calloc(COUNT, sizeof *block), *all = NULL;

    for (int i = 0; i < NEW + AGAIN; i++) {
        if (i < NEW) {
            if (all)
                munmap(all, bytes);
            all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (!block || all == MAP_FAILED)
                MPI_Abort(MPI_COMM_WORLD, 1);
            madvise(all, bytes, MADV_NOHUGEPAGE);
        }
        MPI_Allgather(block, COUNT, MPI_DOUBLE, all, COUNT, MPI_DOUBLE, MPI_COMM_WORLD);
    }
    munmap(all, bytes);
    free(block);
}

static void *send_to_self(void *argument)
{
    const int tag = *(const int *)argument;
    double out = 0, in;
    MPI_Request requests[2];

    for (int i = 0; i < THREAD_MESSAGES; i++) {
        MPI_Irecv(&in, 1, MPI_DOUBLE, rank, tag, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&out, 1, MPI_DOUBLE, rank, tag, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t all[THREADS];
    int tags[THREADS];

    for (int i = 0; i < THREADS; i++) {
        tags[i] = i;
        pthread_create(&all[i], NULL, send_to_self, &tags[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
}

/* ---- many ---- */

static MPI_Comm many_comm;

/* No two call sites are alike, or the compiler would make them one. */
#define S(n)                                                                                                 \
    case n:                                                                                                  \
        NEXT;                                                                                                \
        __asm__ volatile("" ::"i"(n));                                                                       \
        break;
#define SITES                                                                                                \
    S(0)                                                                                                     \
    S(1)                                                                                                     \
    S(2)                                                                                                     \
    S(3) S(4) S(5) S(6) S(7) S(8) S(9) S(10) S(11) S(12) S(13) S(14) S(15) S(16) S(17) S(18) S(19) S(20) S(21)
#define LEVEL(name)                                                                                          \
    __attribute__((noinline, noclone)) static void name(int which)                                           \
    {                                                                                                        \
        switch (which % 22) {                                                                                \
            SITES                                                                                            \
        }                                                                                                    \
        __asm__ volatile("");                                                                                \
    }
#define NEXT MPI_Barrier(many_comm)
LEVEL(third)
#undef NEXT
#define NEXT third(which / 22)
LEVEL(second)
#undef NEXT
#define NEXT second(which / 22)
LEVEL(first)

static long memory_kib(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (!file || fscanf(file, "%ld %ld", &pages, &resident) != 2)
        MPI_Abort(MPI_COMM_WORLD, 1);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void many(long calls, const char *name)
{
    enum { SITES_OF_IT = 22 * 22 * 22, FIRST = 3 * SITES_OF_IT };
    char path[4096];
    long before = 0;
    double start = 0;

    for (int i = 0; i < 1000; i++) {
        MPI_Comm_dup(MPI_COMM_SELF, &many_comm);
        snprintf(path, sizeof path, "number %d", i);
        MPI_Comm_set_name(many_comm, path);
        MPI_Barrier(many_comm);
        MPI_Comm_free(&many_comm);
    }
    many_comm = MPI_COMM_SELF;
    for (long i = 0; i < FIRST + calls; i++) {
        if (i == FIRST) {
            before = memory_kib();
            start = MPI_Wtime();
        }
        first((int)(i % SITES_OF_IT));
    }
    snprintf(path, sizeof path, "%s.%d", name, rank);
    FILE *file = fopen(path, "w");
    if (!file)
        MPI_Abort(MPI_COMM_WORLD, 1);
    fprintf(file, "grown %ld\nns %.1f\n", memory_kib() - before, 1e9 * (MPI_Wtime() - start) / (double)calls);
    fclose(file);
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "";
    int level;

    MPI_Init_thread(&argc, &argv, strcmp(what, "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "threads") == 0) {
        if (level != MPI_THREAD_MULTIPLE)
            return 77;
        threads();
    } else if (strcmp(what, "many") == 0) {
        many(argc > 3 ? atol(argv[3]) : 0, argv[1]);
    } else if (strcmp(what, "order") == 0) {
        order();
    } else if (strcmp(what, "fresh") == 0) {
        fresh();
    } else if (strcmp(what, "unexpected") == 0) {
        unexpected();
    } else if (strcmp(what, "polls") == 0) {
        polls();
        write_known(argv[1]);
    } else if (strcmp(what, "times") == 0) {
        times();
        write_known(argv[1]);
    } else if (what[0]) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (strcmp(what, "abort") == 0 && rank == 0)
            MPI_Abort(MPI_COMM_WORLD, 3);
        if (strcmp(what, "exit") == 0)
            exit(0);
        if (strcmp(what, "term") == 0)
            raise(SIGTERM);
        if (strcmp(what, "kill") == 0 && rank == 1)
            raise(SIGKILL);
        pause();
    } else {
        everything();
        write_known(argv[1]);
    }
    MPI_Finalize();
    return 0;
}
