/* simulated: measures and checks collectives on a simulated machine. One source, built with the library and
 * without it.
 *
 *   smpirun -np 1024 -platform P.xml -hostfile P.hosts ... simulated --collective bcast --bytes 8,65536
 *
 * Per collective and size: a warm-up, then all ranks start at one simulated instant, and the time is that of
 * the last one to finish. Rank 0 prints one line of JSON a measurement. With --validate every element of
 * every result is checked against arithmetic and against what SMPI's own PMPI_X gives for the same input; 1
 * is the exit code when one is wrong.
 *
 * Reductions cost no simulated time: neither the library's nor SMPI's. --reduce-bandwidth charges both the
 * same, by an operation of the program's own. */
#include <argp.h>
#include <mpi.h>
#include <simgrid/actor.h>
#include <simgrid/host.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hanpmpi/hanpmpi.h"
#include "simulated_collectives.h"

/* Absent in the program without the library. */
__attribute__((weak)) const char *hanpmpi_backend(void);
__attribute__((weak)) int hanpmpi_get_stats(const char *collective, hanpmpi_collective_stats_t *out);

enum { SIZES_MAX = 64, COLLECTIVES_MAX = 16 };
typedef struct {
    bool wanted[COLLECTIVES_MAX];
    size_t bytes[SIZES_MAX], max_bytes;
    int sizes, root, stride, repeats;
    bool validate, fold, in_place;
    double reduce_bandwidth;
} options_t;

#define COLLECTIVE_NAMES                                                                                     \
    "bcast, reduce, allreduce, barrier, allgather, alltoall, gather, scatter, reduce_scatter_block, "        \
    "alltoallv, gatherv, scatterv"

static options_t options = {.repeats = 1, .stride = 1};
static MPI_Comm comm;
static int rank, size, failures;

/* ---- options ---- */

enum {
    OPTION_ROOT = 256,
    OPTION_VALIDATE,
    OPTION_FOLD,
    OPTION_CHARGE,
    OPTION_STRIDE,
    OPTION_IN_PLACE,
    OPTION_PAIRS
};

static void add_size(const char *text, struct argp_state *state)
{
    char *end;
    unsigned long long bytes = strtoull(text, &end, 10);
    if (*end || end == text || bytes % sizeof(int64_t) || bytes == 0 || options.sizes == SIZES_MAX)
        argp_error(state, "--bytes: '%s' is not accepted; accepted are multiples of 8, at most %d of them",
                   text, SIZES_MAX);
    options.bytes[options.sizes++] = (size_t)bytes;
    if (bytes > options.max_bytes)
        options.max_bytes = (size_t)bytes;
}

static void add_collective(const char *text, struct argp_state *state)
{
    unsigned i = 0;
    while (i < simulated_collective_count && strcmp(text, simulated_collectives[i].name) != 0)
        i++;
    if (i == simulated_collective_count)
        argp_error(state, "--collective: '%s' is not accepted; accepted are " COLLECTIVE_NAMES, text);
    else
        options.wanted[i] = true;
}

static void for_each(char *list, struct argp_state *state, void (*take)(const char *, struct argp_state *))
{
    char *rest = NULL;
    for (char *item = strtok_r(list, ",", &rest); item; item = strtok_r(NULL, ",", &rest))
        take(item, state);
}

static int read_number(const char *name, const char *text, int minimum, struct argp_state *state)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (*end || end == text || value < minimum || value > INT32_MAX)
        argp_error(state, "--%s: '%s' is not accepted; accepted are numbers from %d", name, text, minimum);
    return (int)value;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    char *end;
    switch (key) {
    case 'c':
        for_each(text, state, add_collective);
        return 0;
    case 'b':
        for_each(text, state, add_size);
        return 0;
    case 'r':
        options.repeats = read_number("repeats", text, 1, state);
        return 0;
    case OPTION_ROOT:
        options.root = read_number("root", text, 0, state);
        return 0;
    case OPTION_STRIDE:
        options.stride = read_number("stride", text, 1, state);
        return 0;
    case OPTION_VALIDATE:
        options.validate = true;
        return 0;
    case OPTION_FOLD:
        options.fold = true;
        return 0;
    case OPTION_IN_PLACE:
        options.in_place = true;
        return 0;
    case OPTION_PAIRS:
        simulated_pairs_percent = read_number("pairs", text, 1, state);
        return 0;
    case OPTION_CHARGE:
        options.reduce_bandwidth = strtod(text, &end);
        if (*end || options.reduce_bandwidth <= 0)
            argp_error(state, "--reduce-bandwidth: '%s' is not accepted; accepted are bytes per second",
                       text);
        return 0;
    case ARGP_KEY_END:
        if (options.sizes == 0 || !memchr(options.wanted, true, sizeof options.wanted))
            argp_error(state, "say --collective and --bytes");
        if (options.validate && options.fold)
            argp_error(state, "--validate and --fold exclude each other: folded buffers hold garbage");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option option_table[] = {
    {"collective", 'c', "NAME,...", 0,
     COLLECTIVE_NAMES " (barrier once, of no bytes; alltoallv with 5% of the pairs, but see --pairs)", 0},
    {"bytes", 'b', "N,...", 0, "sizes of a vector, or of one block, multiples of 8", 0},
    {"repeats", 'r', "N", 0, "measurements of each (1)", 0},
    {"root", OPTION_ROOT, "RANK", 0, "root in the communicator (0)", 0},
    {"stride", OPTION_STRIDE, "N", 0,
     "the communicator is every N-th rank, in N communicators side by side (1)", 0},
    {"in-place", OPTION_IN_PLACE, 0, 0, "reduce and allreduce with MPI_IN_PLACE", 0},
    {"pairs", OPTION_PAIRS, "PERCENT", 0,
     "of alltoallv: so many of the pairs have a block for each other (5)", 0},
    {"validate", OPTION_VALIDATE, 0, 0, "check every element of every result", 0},
    {"fold", OPTION_FOLD, 0, 0, "one memory for the buffers of all ranks: large sizes fit, data is garbage",
     0},
    {"reduce-bandwidth", OPTION_CHARGE, "BYTES/S", 0, "charge reductions, the library's and SMPI's (free)",
     0},
    {0},
};

/* ---- data ---- */

typedef const simulated_collective_t *collective_t;

typedef struct {
    int64_t *send, *recv, *reference;
    MPI_Op op;
} data_t;

static void charge_sum(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    if (!options.fold)
        for (int i = 0; i < *count; i++)
            ((int64_t *)inout)[i] += ((const int64_t *)in)[i];
    if (options.reduce_bandwidth > 0)
        smpi_execute_flops((double)*count * sizeof(int64_t) / options.reduce_bandwidth *
                           sg_host_get_speed(sg_host_self()));
}

static void fill(int64_t *buffer, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buffer[i] = simulated_input(rank, i);
}

static size_t elements(bool all, size_t bytes)
{
    return bytes / sizeof(int64_t) * (all ? (size_t)size : 1);
}

static bool has_result(collective_t collective)
{
    return collective->expected && (!collective->at_root || rank == options.root);
}

/* Runs the collective, the library's or, own, SMPI's. */
static void run(collective_t collective, const data_t *data, int64_t *result, size_t bytes, bool own)
{
    const bool in_place = options.in_place && collective->in_place && !own && has_result(collective);

    collective->run(&(simulated_call_t){.send = in_place ? MPI_IN_PLACE : data->send,
                                        .recv = result,
                                        .count = (int)(bytes / sizeof(int64_t)),
                                        .op = data->op,
                                        .root = options.root,
                                        .rank = rank,
                                        .size = size,
                                        .comm = comm,
                                        .own = own});
}

static void prepare(collective_t collective, int64_t *result, size_t bytes, bool in_place)
{
    const size_t count = elements(collective->receives_all, bytes);

    if (!options.validate)
        return;
    memset(result, 0x5a, count * sizeof *result);
    if (collective->one_buffer ? rank == options.root
                               : in_place && collective->in_place && has_result(collective))
        fill(result, count);
}

static bool comes(collective_t collective, int block)
{
    return !collective->comes || collective->comes(block, rank);
}

/* A message for the first wrong element. */
static void check(collective_t collective, const data_t *data, size_t bytes)
{
    const size_t count = elements(false, bytes);
    const simulated_call_t call = {.count = (int)count, .root = options.root, .rank = rank, .size = size};

    prepare(collective, data->reference, bytes, false); /* a barrier: nothing to compare */
    run(collective, data, data->reference, bytes, true);
    for (size_t i = 0; has_result(collective) && i < elements(collective->receives_all, bytes); i++) {
        const int block = (int)(i / count);
        const int64_t expected =
            comes(collective, block) ? collective->expected(&call, block, i % count) : data->reference[i];
        if (data->recv[i] == expected && data->recv[i] == data->reference[i])
            continue;
        fprintf(stderr, "%s of %zu bytes, rank %d: element %zu is %lld, expected %lld, SMPI gives %lld\n",
                collective->name, bytes, rank, i, (long long)data->recv[i], (long long)expected,
                (long long)data->reference[i]);
        failures++;
        return;
    }
}

/* ---- measuring ---- */

static uint64_t taken(collective_t collective)
{
    hanpmpi_collective_stats_t stats = {0};
    if (hanpmpi_get_stats)
        hanpmpi_get_stats(collective->name, &stats);
    return stats.taken;
}

/* Returns when all ranks of all communicators do: at a millisecond that lies ahead of all. The first allreduce takes longer: in it
 * SMPI prepares the communicator, 4 ms for 1,024 ranks. */
static double start_together(void)
{
    static bool prepared;
    double now = MPI_Wtime(), latest;

    for (int times = prepared ? 1 : 2; times > 0; times--, now = MPI_Wtime())
        PMPI_Allreduce(&now, &latest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    prepared = true;
    const double start = ((double)(int64_t)(latest * 1e3) + 3) / 1e3;
    if (now > start) {
        fprintf(stderr, "a start that a rank is %g us late for\n", (now - start) * 1e6);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    sg_actor_sleep_for(start - now);
    return start;
}

static void measure(collective_t collective, const data_t *data, size_t bytes)
{
    static collective_t warm;

    /* SMPI prepares a communicator at its first collective, the library at the first one of a size that it
     * takes. */
    if (hanpmpi_backend || warm != collective)
        run(collective, data, data->recv, bytes, false);
    warm = collective;
    for (int i = 0; i < options.repeats; i++) {
        prepare(collective, data->recv, bytes, options.in_place);
        const uint64_t taken_before = taken(collective);
        const double start = start_together();
        run(collective, data, data->recv, bytes, false);
        double mine = MPI_Wtime() - start, slowest;
        const bool ours = taken(collective) > taken_before;
        PMPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (options.validate)
            check(collective, data, bytes);
        int wrong;
        PMPI_Allreduce(&failures, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        int world_rank;
        MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
        if (world_rank == 0) {
            printf(
                "{\"collective\": \"%s\", \"bytes\": %zu, \"ranks\": %d, \"root\": %d, \"library\": \"%s\", "
                "\"taken\": %s, \"checked\": %s, \"wrong\": %d, \"us\": %.17g}\n",
                collective->name, bytes, size, options.root, hanpmpi_backend ? hanpmpi_backend() : "absent",
                ours ? "true" : "false", options.validate ? "true" : "false", wrong, slowest * 1e6);
            fflush(stdout);
        }
        failures = wrong;
    }
}

/* The most elements that a wanted collective sends, or receives. */
static size_t most_elements(bool sends)
{
    size_t most = 0;
    for (unsigned c = 0; c < simulated_collective_count; c++) {
        const collective_t collective = &simulated_collectives[c];
        const size_t count =
            elements(sends ? collective->sends_all : collective->receives_all, options.max_bytes);
        if (options.wanted[c] && count > most)
            most = count;
    }
    return most;
}

/* In one line, so that all ranks fold onto the same memory. */
static int64_t *allocate(size_t count)
{
    int64_t *buffer =
        options.fold ? SMPI_SHARED_MALLOC(count * sizeof *buffer) : malloc(count * sizeof *buffer);
    if (!buffer) {
        fprintf(stderr, "out of memory for %zu bytes a rank: try --fold\n", count * sizeof *buffer);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return buffer;
}

static void release(int64_t *buffer)
{
    if (options.fold)
        SMPI_SHARED_FREE(buffer);
    else
        free(buffer);
}

int main(int argc, char **argv)
{
    const struct argp argp = {option_table, parse, NULL, "Collectives on a simulated machine",
                              NULL,         NULL,  NULL};
    argp_err_exit_status = 2;
    if (argp_parse(&argp, argc, argv, 0, NULL, NULL) != 0)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    comm = MPI_COMM_WORLD; /* a split among a thousand ranks takes the simulator half a minute */
    if (options.stride > 1)
        MPI_Comm_split(MPI_COMM_WORLD, rank % options.stride, rank, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (options.root >= size) {
        if (rank == 0)
            fprintf(stderr, "--root: %d is not accepted; accepted are 0 to %d\n", options.root, size - 1);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const size_t sent = most_elements(true), received = most_elements(false);
    data_t data = {.send = allocate(sent), .recv = allocate(received), .op = MPI_SUM};
    if (options.validate) {
        data.reference = allocate(received);
        fill(data.send, sent);
    }
    if (options.fold || options.reduce_bandwidth > 0)
        MPI_Op_create(charge_sum, 1, &data.op);
    for (unsigned c = 0; c < simulated_collective_count; c++) {
        const collective_t collective = &simulated_collectives[c];
        for (int i = 0; i < (collective->expected ? options.sizes : 1) && options.wanted[c]; i++)
            measure(collective, &data, collective->expected ? options.bytes[i] : 0);
    }
    if (data.op != MPI_SUM)
        MPI_Op_free(&data.op);
    release(data.send);
    release(data.recv);
    if (options.validate)
        release(data.reference);
    if (comm != MPI_COMM_WORLD)
        MPI_Comm_free(&comm);
    MPI_Finalize();
    return failures != 0;
}
