/* compare: the library against the host MPI's own, inside one run, interleaved A B A B.
 *
 * One duplicate of MPI_COMM_WORLD runs through the library (with hints, if given), another has the hint
 * hanpmpi=off. Each repetition is started by the same barrier on both sides and costs what its slowest rank
 * takes. Printed: median over the repetitions, the ratio host/library of the medians, the spread of the ratio
 * (quartiles of pairwise ratios), and the fraction of the lower bound reached when the bandwidth of a node's
 * link is known (--link, or measured with
 * --measure-link between ranks on different hosts).
 *
 *   mpirun -np 16 compare [--collective bcast] [--bytes 65536,4194304] [--repeat 20] [--root R]
 * [--measure-link]
 *                         [--hint key=value]... [--cold]
 *
 * Without the library loaded both sides are the host's own: a check of the method. */
#include <argp.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES_MAX = 64, HINTS_MAX = 16, REPEAT_MAX = 10000 };

static struct {
    const char *collectives;
    size_t bytes[SIZES_MAX];
    int size_count;
    int repeat, root;
    bool measure_link, cold;
    char *hints[HINTS_MAX];
    int hint_count;
} options = {.collectives = "bcast,reduce,allreduce", .repeat = 20};

static int world_rank, world_size, node_count;

static const struct argp_option argp_options[] = {
    {"collective", 'c', "LIST", 0, "bcast, reduce, allreduce (default: all three)", 0},
    {"bytes", 'b', "LIST", 0, "message sizes in bytes, suffixes K and M (default 8 to 4M)", 0},
    {"repeat", 'r', "N", 0, "repetitions of each side (default 20)", 0},
    {"root", 'R', "RANK", 0, "root of bcast and reduce (default 0)", 0},
    {"hint", 'H', "KEY=VALUE", 0, "info key for the library's communicator, may be given several times", 0},
    {"measure-link", 'l', NULL, 0,
     "measure the bandwidth between two nodes and print fractions of the lower bound", 0},
    {"cold", 'C', NULL, 0, "another part of a large buffer each time", 0},
    {0},
};

static size_t parse_size(const char *text)
{
    char *end;
    size_t value = strtoull(text, &end, 10);
    return *end == 'K' ? value << 10 : *end == 'M' ? value << 20 : value;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    switch (key) {
    case 'c':
        options.collectives = argument;
        break;
    case 'b':
        for (char *at = strtok(argument, ","); at && options.size_count < SIZES_MAX; at = strtok(NULL, ","))
            options.bytes[options.size_count++] = parse_size(at);
        break;
    case 'r':
        options.repeat = atoi(argument);
        if (options.repeat < 1 || options.repeat > REPEAT_MAX)
            argp_error(state, "--repeat %s: accepted are 1 to %d", argument, REPEAT_MAX);
        break;
    case 'R':
        options.root = atoi(argument);
        break;
    case 'H':
        if (options.hint_count == HINTS_MAX || !strchr(argument, '='))
            argp_error(state, "--hint %s: KEY=VALUE, at most %d of them", argument, HINTS_MAX);
        options.hints[options.hint_count++] = argument;
        break;
    case 'l':
        options.measure_link = true;
        break;
    case 'C':
        options.cold = true;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double *values, int count, double q)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[(int)(q * (count - 1) + 0.5)];
}

/* Doubles small enough that sums are exact. */
static void fill(double *values, size_t count, int rank)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (double)((i * 7 + (size_t)rank * 13) % 1000);
}

static void check(const double *values, size_t count, const char *what, bool sum)
{
    for (size_t i = 0; i < count; i++) {
        double expected = 0;
        if (sum)
            for (int r = 0; r < world_size; r++)
                expected += (double)((i * 7 + (size_t)r * 13) % 1000);
        else
            expected = (double)((i * 7 + (size_t)options.root * 13) % 1000);
        if (values[i] != expected) {
            fprintf(stderr, "compare: %s: element %zu of rank %d is %g, not %g\n", what, i, world_rank,
                    values[i], expected);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

static double once(const char *collective, double *send, double *recv, size_t bytes, MPI_Comm comm)
{
    const bool whole = bytes % sizeof(double) == 0;
    const int count = (int)(whole ? bytes / sizeof(double) : bytes);
    const MPI_Datatype type = whole ? MPI_DOUBLE : MPI_BYTE;
    const MPI_Op op = whole ? MPI_SUM : MPI_BOR;

    MPI_Barrier(comm);
    MPI_Barrier(comm);
    double start = MPI_Wtime();
    if (strcmp(collective, "bcast") == 0)
        MPI_Bcast(recv, count, type, options.root, comm);
    else if (strcmp(collective, "reduce") == 0)
        MPI_Reduce(send, recv, count, type, op, options.root, comm);
    else
        MPI_Allreduce(send, recv, count, type, op, comm);
    double mine = MPI_Wtime() - start, slowest;
    PMPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, comm);
    return slowest;
}

static int different_node_rank(void)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "", *names;
    int length, other = -1;

    MPI_Get_processor_name(name, &length);
    names = malloc((size_t)world_size * sizeof name);
    MPI_Allgather(name, sizeof name, MPI_CHAR, names, sizeof name, MPI_CHAR, MPI_COMM_WORLD);
    for (int r = 0; r < world_size; r++) {
        bool seen = false;
        for (int s = 0; s < r && !seen; s++)
            seen = strcmp(names + (size_t)s * sizeof name, names + (size_t)r * sizeof name) == 0;
        node_count += !seen;
        if (other < 0 && strcmp(names, names + (size_t)r * sizeof name) != 0)
            other = r;
    }
    free(names);
    return other;
}

/* Bytes per second of a stream from rank 0 to the first rank on another node, 0 when there is none. */
static double measure_link(int other)
{
    enum { MESSAGES = 16, BYTES = 1 << 20 };
    char *buffer = calloc(MESSAGES, BYTES);
    double seconds = 0, best = 0;

    for (int trial = 0; trial < 3 && other > 0; trial++) {
        MPI_Request requests[MESSAGES];
        MPI_Status statuses[MESSAGES]; /* not MPI_STATUSES_IGNORE: a compiler warning of MPICH's header */
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        if (world_rank == 0 || world_rank == other) {
            for (int i = 0; i < MESSAGES; i++)
                if (world_rank == 0)
                    MPI_Isend(buffer + (size_t)i * BYTES, BYTES, MPI_BYTE, other, 1, MPI_COMM_WORLD,
                              &requests[i]);
                else
                    MPI_Irecv(buffer + (size_t)i * BYTES, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD,
                              &requests[i]);
            MPI_Waitall(MESSAGES, requests, statuses);
        }
        if (world_rank == other) {
            seconds = MPI_Wtime() - start;
            if (MESSAGES * (double)BYTES / seconds > best)
                best = MESSAGES * (double)BYTES / seconds;
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (other > 0)
        PMPI_Bcast(&best, 1, MPI_DOUBLE, other, MPI_COMM_WORLD);
    free(buffer);
    return best;
}

static void compare(const char *collective, size_t bytes, MPI_Comm ours, MPI_Comm hosts, double link)
{
    enum { COLD_BYTES = 64 << 20 };
    static double our_times[REPEAT_MAX], host_times[REPEAT_MAX], ratios[REPEAT_MAX];
    const size_t stride = options.cold ? (bytes + 4095) / 4096 * 4096 + 4096 : 0;
    const size_t places = options.cold ? COLD_BYTES / stride + 1 : 1;
    const size_t room = bytes + places * stride + sizeof(double);
    char *send = malloc(room), *recv = malloc(room);
    const size_t count = bytes / sizeof(double);
    const bool is_bcast = strcmp(collective, "bcast") == 0;

    memset(send, 0, room);
    memset(recv, 0, room);
    for (int i = -2; i < options.repeat; i++) { /* two rounds to warm up */
        const size_t at = (size_t)(i + 2) % places * stride;
        double *s = (double *)(send + at), *r = (double *)(recv + at), times[2];
        for (int side = 0; side < 2; side++) {
            const int which = (i & 1) ? !side : side; /* A B B A: neither side always comes second */
            fill(s, count, world_rank);
            if (is_bcast)
                fill(r, count, world_rank);
            times[which] = once(collective, s, r, bytes, which ? hosts : ours);
            if (bytes % sizeof(double) == 0 &&
                (is_bcast || world_rank == options.root || collective[0] == 'a'))
                check(r, count < 4096 || i < 0 ? count : 4096, collective, !is_bcast);
        }
        if (i >= 0) {
            our_times[i] = times[0];
            host_times[i] = times[1];
            ratios[i] = times[1] / times[0];
        }
    }
    const double us = 1e6 * quantile(our_times, options.repeat, 0.5);
    const double host_us = 1e6 * quantile(host_times, options.repeat, 0.5);
    const double low = quantile(ratios, options.repeat, 0.25), high = quantile(ratios, options.repeat, 0.75);
    if (world_rank == 0) {
        printf("%-10s %10zu %12.1f %12.1f %8.2f   %5.2f-%-5.2f", collective, bytes, us, host_us, host_us / us,
               low, high);
        if (link > 0 && node_count > 1) {
            double bound = (double)bytes / link * 1e6;
            if (collective[0] == 'a')
                bound *= 2.0 * (node_count - 1) / node_count;
            printf(" %10.1f %8.2f %8.2f", bound, bound / us, bound / host_us);
        }
        printf("\n");
        fflush(stdout);
    }
    free(send);
    free(recv);
}

static MPI_Comm make_comm(bool library)
{
    MPI_Comm comm;
    MPI_Info info;

    MPI_Info_create(&info);
    if (!library)
        MPI_Info_set(info, "hanpmpi", "off");
    for (int i = 0; library && i < options.hint_count; i++) {
        char *equals = strchr(options.hints[i], '=');
        *equals = '\0';
        MPI_Info_set(info, options.hints[i], equals + 1);
        *equals = '=';
    }
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Info_free(&info);
    return comm;
}

int main(int argc, char **argv)
{
    const struct argp argp = {
        argp_options, parse_option, NULL, "The library against the host MPI's own collectives, in one run.",
        NULL,         NULL,         NULL};
    MPI_Init(&argc, &argv);
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    if (options.size_count == 0)
        for (size_t bytes = 8; bytes <= 4 << 20; bytes *= 8)
            options.bytes[options.size_count++] = bytes;
    MPI_Comm ours = make_comm(true), hosts = make_comm(false);
    const int other = different_node_rank();
    const double link = options.measure_link ? measure_link(other) : 0;
    if (world_rank == 0) {
        printf("%d ranks on %d nodes, root %d, %d repetitions, maximum over ranks, median", world_size,
               node_count, options.root, options.repeat);
        if (link > 0)
            printf("; link %.1f MB/s", link / 1e6);
        printf("\n%-10s %10s %12s %12s %8s   %-11s", "collective", "bytes", "library us", "host us", "ratio",
               "quartiles");
        if (link > 0)
            printf(" %10s %8s %8s", "bound us", "library", "host");
        printf("\n");
    }
    char *list = strdup(options.collectives);
    for (char *collective = strtok(list, ","); collective; collective = strtok(NULL, ","))
        for (int i = 0; i < options.size_count; i++)
            compare(collective, options.bytes[i], ours, hosts, link);
    free(list);
    MPI_Comm_free(&ours);
    MPI_Comm_free(&hosts);
    MPI_Finalize();
    return 0;
}
