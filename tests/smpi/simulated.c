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

/* Absent in the program without the library. */
__attribute__((weak)) const char *hanpmpi_backend(void);
__attribute__((weak)) int hanpmpi_get_stats(const char *collective, hanpmpi_collective_stats_t *out);

typedef enum { BCAST, REDUCE, ALLREDUCE, BARRIER, COLLECTIVES } collective_t;
static const char *const collective_names[COLLECTIVES] = {"bcast", "reduce", "allreduce", "barrier"};

enum { SIZES_MAX = 64 };
typedef struct {
    bool wanted[COLLECTIVES];
    size_t bytes[SIZES_MAX], max_bytes;
    int sizes, root, stride, repeats;
    bool validate, fold, in_place;
    double reduce_bandwidth;
} options_t;

static options_t options = {.repeats = 1, .stride = 1};
static MPI_Comm comm;
static int rank, size, failures;

/* ---- options ---- */

enum { OPTION_ROOT = 256, OPTION_VALIDATE, OPTION_FOLD, OPTION_CHARGE, OPTION_STRIDE, OPTION_IN_PLACE };

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
    while (i < COLLECTIVES && strcmp(text, collective_names[i]) != 0)
        i++;
    if (i == COLLECTIVES)
        argp_error(state,
                   "--collective: '%s' is not accepted; accepted are bcast, reduce, allreduce, barrier",
                   text);
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
    {"collective", 'c', "NAME,...", 0, "bcast, reduce, allreduce, barrier (once, of no bytes)", 0},
    {"bytes", 'b', "N,...", 0, "message sizes, multiples of 8", 0},
    {"repeats", 'r', "N", 0, "measurements of each (1)", 0},
    {"root", OPTION_ROOT, "RANK", 0, "root in the communicator (0)", 0},
    {"stride", OPTION_STRIDE, "N", 0,
     "the communicator is every N-th rank, in N communicators side by side (1)", 0},
    {"in-place", OPTION_IN_PLACE, 0, 0, "reductions with MPI_IN_PLACE", 0},
    {"validate", OPTION_VALIDATE, 0, 0, "check every element of every result", 0},
    {"fold", OPTION_FOLD, 0, 0, "one memory for the buffers of all ranks: large sizes fit, data is garbage",
     0},
    {"reduce-bandwidth", OPTION_CHARGE, "BYTES/S", 0, "charge reductions, the library's and SMPI's (free)",
     0},
    {0},
};

/* ---- data ---- */

static int64_t input(int from, size_t element)
{
    return (int64_t)(from * 1000003LL + (int64_t)element * 7919 + (int64_t)(element >> 7));
}

/* The sum of input over all ranks of the communicator. */
static int64_t sum(size_t element)
{
    const int64_t ranks = size;
    return 1000003LL * (ranks * (ranks - 1) / 2) + ranks * input(0, element);
}

static void fill(int64_t *buffer, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buffer[i] = input(rank, i);
}

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

typedef struct {
    int64_t *send, *recv, *reference;
    MPI_Op op;
} data_t;

static bool has_result(collective_t collective)
{
    return collective != REDUCE || rank == options.root;
}

/* Runs the collective, the library's or, own, SMPI's. */
static void run(collective_t collective, const data_t *data, int64_t *result, size_t bytes, bool own)
{
    const int count = (int)(bytes / sizeof(int64_t));
    const bool in_place = options.in_place && !own && has_result(collective);
    const void *send = in_place ? MPI_IN_PLACE : data->send;

    if (collective == BCAST)
        (own ? PMPI_Bcast : MPI_Bcast)(result, count, MPI_INT64_T, options.root, comm);
    else if (collective == REDUCE)
        (own ? PMPI_Reduce : MPI_Reduce)(send, result, count, MPI_INT64_T, data->op, options.root, comm);
    else if (collective == BARRIER)
        (own ? PMPI_Barrier : MPI_Barrier)(comm);
    else
        (own ? PMPI_Allreduce : MPI_Allreduce)(send, result, count, MPI_INT64_T, data->op, comm);
}

static void prepare(collective_t collective, int64_t *result, size_t bytes, bool in_place)
{
    if (!options.validate)
        return;
    memset(result, 0x5a, bytes);
    if ((collective == BCAST && rank == options.root) ||
        (collective != BCAST && in_place && has_result(collective)))
        fill(result, bytes / sizeof(int64_t));
}

/* A message for the first wrong element. */
static void check(collective_t collective, const data_t *data, size_t bytes)
{
    const size_t count = bytes / sizeof(int64_t);

    prepare(collective, data->reference, bytes, false); /* a barrier: nothing to compare */
    run(collective, data, data->reference, bytes, true);
    if (!has_result(collective))
        return;
    for (size_t i = 0; i < count; i++) {
        const int64_t expected = collective == BCAST ? input(options.root, i) : sum(i);
        if (data->recv[i] == expected && data->recv[i] == data->reference[i])
            continue;
        fprintf(stderr, "%s of %zu bytes, rank %d: element %zu is %lld, expected %lld, SMPI gives %lld\n",
                collective_names[collective], bytes, rank, i, (long long)data->recv[i], (long long)expected,
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
        hanpmpi_get_stats(collective_names[collective], &stats);
    return stats.taken;
}

/* Returns when all ranks of all communicators do: at a millisecond that lies ahead of all. */
static double start_together(void)
{
    double now = MPI_Wtime(), latest;
    PMPI_Allreduce(&now, &latest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    const double start = ((double)(int64_t)(latest * 1e3) + 3) / 1e3;
    sg_actor_sleep_for(start - MPI_Wtime());
    return start;
}

static void measure(collective_t collective, const data_t *data, size_t bytes)
{
    static bool warm[COLLECTIVES];

    /* SMPI prepares a communicator at its first collective, the library at the first one of a size that it
     * takes. */
    if (hanpmpi_backend || !warm[collective])
        run(collective, data, data->recv, bytes, false);
    warm[collective] = true;
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
                collective_names[collective], bytes, size, options.root,
                hanpmpi_backend ? hanpmpi_backend() : "absent", ours ? "true" : "false",
                options.validate ? "true" : "false", wrong, slowest * 1e6);
            fflush(stdout);
        }
        failures = wrong;
    }
}

/* One line, so that all ranks fold onto the same memory. */
static int64_t *allocate(void)
{
    int64_t *buffer = options.fold ? SMPI_SHARED_MALLOC(options.max_bytes) : malloc(options.max_bytes);
    if (!buffer) {
        fprintf(stderr, "out of memory for %zu bytes a rank: try --fold\n", options.max_bytes);
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
    data_t data = {.send = allocate(), .recv = allocate(), .op = MPI_SUM};
    if (options.validate) {
        data.reference = allocate();
        fill(data.send, options.max_bytes / sizeof(int64_t));
    }
    if (options.fold || options.reduce_bandwidth > 0)
        MPI_Op_create(charge_sum, 1, &data.op);
    for (unsigned c = 0; c < COLLECTIVES; c++)
        for (int i = 0; i < (c == BARRIER ? 1 : options.sizes) && options.wanted[c]; i++)
            measure((collective_t)c, &data, c == BARRIER ? 0 : options.bytes[i]);
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
