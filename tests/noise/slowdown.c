/* slowdown: what noise does to a broadcast and to a reduce: the library's, the host MPI's, and that of a
 * control.
 *
 * Three sides inside one run, interleaved: a duplicate of MPI_COMM_WORLD that the library works on, one with
 * the hint hanpmpi=off, and one on which waitall_tree.c runs the library's tree with MPI_Waitall. The noise
 * comes from libhanpmpi-noise.so, which is switched on and off in between (in a simulation from
 * noise_simulated.c).
 *
 *   mpirun -np 16 slowdown [--collective bcast,reduce] [--bytes 4M] [--noise off,2%,5%,10%] [--blocks 10]
 *                          [--block-seconds 0.5] [--delayed 5,8 --delay-ms 10 --repeat 20]
 *
 * Slow-down: a block is as many calls of one side at one level of noise as fill --block-seconds without
 * noise, each started by the same barriers. All sides and levels of a block number get the same stream of
 * noise, and their order changes from block to block. Delayed ranks: one rank enters the call late; every
 * rank's finishing time. Printed are raw figures, one line each, that study.py turns into tables and
 * pictures:
 *
 *   info   KEY TEXT...
 *   call   COLLECTIVE SIDE NOISE BLOCK SECONDS          slowest rank's time of one call
 *   noise  COLLECTIVE SIDE NOISE BLOCK TIMES SECONDS RANK_SECONDS   interruptions, their sum, of that many
 * seconds x ranks finish COLLECTIVE SIDE DELAYED_RANK REPETITION RANK SECONDS     DELAYED_RANK -1: nobody is
 * delayed
 *
 * Every result is checked; a wrong one ends the program. Exit code: 0; 1 after a wrong result; 2 on a bad
 * option. */
#include <argp.h>
#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef HP_SIMULATED
#include <simgrid/actor.h>
#endif
#include "noise/noise_calls.h"
#include "noise/waitall_tree.h"

enum { LIST_MAX = 16, CALLS_MAX = 2000, ROOT = 0 };

typedef enum { SIDE_OURS, SIDE_HOST, SIDE_CONTROL, SIDE_COUNT } side_t;
static const char *const side_names[] = {"ours", "host", "control"};

static struct {
    bool wanted[HP_PIPELINED_COUNT];
    size_t bytes;
    const char *noise[LIST_MAX];
    int noise_count;
    int blocks, calls, repeat;
    double block_seconds, delay_seconds;
    int delayed[LIST_MAX], delayed_count;
    bool sides[SIDE_COUNT];
    bool unchecked;
} options = {.wanted = {[HP_BCAST] = true, [HP_REDUCE] = true},
             .sides = {true, true, true},
             .bytes = 4 << 20,
             .noise = {"off", "2%", "5%", "10%"},
             .noise_count = 4,
             .blocks = 10,
             .repeat = 20,
             .block_seconds = 0.5,
             .delay_seconds = 0.01};

static const struct argp_option argp_options[] = {
    {"collective", 'c', "LIST", 0, "bcast, reduce (default: both)", 0},
    {"bytes", 'b', "BYTES", 0, "message size, with K or M, a multiple of 8 (default 4M)", 0},
    {"noise", 'n', "LIST", 0, "levels, as HANPMPI_NOISE takes them (default off,2%,5%,10%)", 0},
    {"blocks", 'k', "N", 0, "blocks of each side and level, 0: no slow-down (default 10)", 0},
    {"block-seconds", 's', "SECONDS", 0, "length of a block without noise (default 0.5)", 0},
    {"calls", 'C', "N", 0, "calls of a block, instead of --block-seconds", 0},
    {"delayed", 'd', "RANKS", 0, "ranks to delay, one after the other (default: none)", 0},
    {"delay-ms", 'D', "MS", 0, "by how much (default 10)", 0},
    {"repeat", 'r', "N", 0, "repetitions with a delayed rank (default 20)", 0},
    {"sides", 'S', "LIST", 0, "of ours, host, control (default: all three)", 0},
    {"unchecked", 'u', NULL, 0, "do not look at results (simulations that fold buffers)", 0},
    {0},
};

static int world_rank, world_size;
static MPI_Comm comms[SIDE_COUNT];
static waitall_tree_t tree;
static double *sent, *received; /* of options.bytes */

static double parse_number(const char *text, double least, double most, const char *option,
                           struct argp_state *state)
{
    char *end;
    double value = strtod(text, &end);
    if (*end == 'K' || *end == 'M')
        value *= *end++ == 'K' ? 1024 : 1048576;
    if (end == text || *end || !(value >= least && value <= most))
        argp_error(state, "--%s %s: accepted are %g to %g", option, text, least, most);
    return value;
}

static void parse_collectives(char *list, struct argp_state *state)
{
    memset(options.wanted, 0, sizeof options.wanted);
    for (char *word = strtok(list, ","); word; word = strtok(NULL, ","))
        if (strcmp(word, "bcast") == 0)
            options.wanted[HP_BCAST] = true;
        else if (strcmp(word, "reduce") == 0)
            options.wanted[HP_REDUCE] = true;
        else
            argp_error(state, "--collective %s: accepted are bcast and reduce", word);
}

static void parse_sides(char *list, struct argp_state *state)
{
    memset(options.sides, 0, sizeof options.sides);
    for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
        int side = 0;
        while (side < SIDE_COUNT && strcmp(word, side_names[side]) != 0)
            side++;
        if (side == SIDE_COUNT)
            argp_error(state, "--sides %s: accepted are ours, host, control", word);
        else
            options.sides[side] = true;
    }
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    switch (key) {
    case 'c':
        parse_collectives(argument, state);
        break;
    case 'b':
        options.bytes = (size_t)parse_number(argument, 8, 1 << 30, "bytes", state);
        if (options.bytes % sizeof(double))
            argp_error(state, "--bytes %s: accepted are multiples of 8", argument);
        break;
    case 'n':
        options.noise_count = 0;
        for (char *word = strtok(argument, ","); word && options.noise_count < LIST_MAX;
             word = strtok(NULL, ","))
            options.noise[options.noise_count++] = word;
        break;
    case 'k':
        options.blocks = (int)parse_number(argument, 0, 10000, "blocks", state);
        break;
    case 's':
        options.block_seconds = parse_number(argument, 1e-6, 1000, "block-seconds", state);
        break;
    case 'C':
        options.calls = (int)parse_number(argument, 1, CALLS_MAX, "calls", state);
        break;
    case 'd':
        for (char *word = strtok(argument, ","); word && options.delayed_count < LIST_MAX;
             word = strtok(NULL, ","))
            options.delayed[options.delayed_count++] =
                (int)parse_number(word, 0, world_size - 1, "delayed", state);
        break;
    case 'D':
        options.delay_seconds = parse_number(argument, 0, 10000, "delay-ms", state) / 1000;
        break;
    case 'r':
        options.repeat = (int)parse_number(argument, 1, 10000, "repeat", state);
        break;
    case 'S':
        parse_sides(argument, state);
        break;
    case 'u':
        options.unchecked = true;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* Whole numbers that are small enough for exact sums. Calls have different ones, so that data left from the
 * call before is noticed. */
static double element(size_t i, int rank, int call)
{
    return (double)((i * 7 + (size_t)rank * 13 + (size_t)call * 5) % 1000);
}

/* Of a large message some elements of every segment are looked at: all would take longer than the call. */
static size_t element_step(void)
{
    return 1 + options.bytes / sizeof(double) / 4096;
}

static void fill(hp_collective_t collective, int call)
{
    const size_t count = options.bytes / sizeof(double), step = element_step();
    for (size_t i = 0; i < count && !options.unchecked; i += step) {
        sent[i] = element(i, world_rank, call);
        received[i] = collective == HP_BCAST && world_rank == ROOT ? sent[i] : -1;
    }
}

static void check(hp_collective_t collective, side_t side, int call)
{
    const size_t count = options.bytes / sizeof(double), step = element_step();
    if (options.unchecked || (collective == HP_REDUCE && world_rank != ROOT))
        return;
    for (size_t i = 0; i < count; i += step) {
        double expected = collective == HP_BCAST ? element(i, ROOT, call) : 0;
        for (int rank = 0; collective == HP_REDUCE && rank < world_size; rank++)
            expected += element(i, rank, call);
        if (received[i] != expected) {
            fprintf(stderr, "slowdown: %s of %s: element %zu on rank %d is %g, not %g\n",
                    hp_collective_name(collective), side_names[side], i, world_rank, received[i], expected);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

#ifdef HP_SIMULATED
static void sleep_for(double seconds)
{
    sg_actor_sleep_for(seconds);
}

/* Buffers whose contents nobody looks at lie on top of each other: a thousand ranks would not fit. */
static double *buffer_create(void)
{
    return options.unchecked ? SMPI_SHARED_MALLOC(options.bytes) : calloc(1, options.bytes);
}

static void buffer_destroy(double *buffer)
{
    if (options.unchecked)
        SMPI_SHARED_FREE(buffer);
    else
        free(buffer);
}
#else
static void sleep_for(double seconds)
{
    usleep((useconds_t)(1e6 * seconds));
}

static double *buffer_create(void)
{
    return calloc(1, options.bytes);
}

static void buffer_destroy(double *buffer)
{
    free(buffer);
}
#endif

/* One call; this rank's time from the barrier on. late: seconds by which this rank enters it late. */
static double once(hp_collective_t collective, side_t side, int call, double late)
{
    const int count = (int)(options.bytes / sizeof(double));

    fill(collective, call);
    MPI_Barrier(comms[SIDE_HOST]);
    MPI_Barrier(comms[SIDE_HOST]);
    const double start = MPI_Wtime();
    if (late > 0)
        sleep_for(late);
    if (side == SIDE_CONTROL && collective == HP_BCAST)
        waitall_tree_bcast(&tree, received, options.bytes);
    else if (side == SIDE_CONTROL)
        waitall_tree_sum(&tree, sent, received, (size_t)count);
    else if (collective == HP_BCAST)
        MPI_Bcast(received, count, MPI_DOUBLE, ROOT, comms[side]);
    else
        MPI_Reduce(sent, received, count, MPI_DOUBLE, MPI_SUM, ROOT, comms[side]);
    const double seconds = MPI_Wtime() - start;
    check(collective, side, call);
    return seconds;
}

/* How many calls of a side fill a block; also warms up. */
static int calls_of_a_block(hp_collective_t collective, side_t side)
{
    const int warm_ups = options.calls ? 1 : 4;
    double mine = 0, slowest;
    for (int i = 0; i < warm_ups; i++)
        mine = once(collective, side, i, 0);
    if (options.calls)
        return options.calls;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, comms[SIDE_HOST]);
    return (int)fmin(fmax(ceil(options.block_seconds / slowest), 2), CALLS_MAX);
}

static void run_block(hp_collective_t collective, side_t side, const char *level, int block, int calls)
{
    static double mine[CALLS_MAX], slowest[CALLS_MAX];
    uint64_t count_before, count_after;
    double before, after, noise[3], all_noise[3];

    if (noise_calls.set(level) != 0)
        MPI_Abort(MPI_COMM_WORLD, 2);
    noise_calls.totals(&count_before, &before);
    MPI_Barrier(comms[SIDE_HOST]);
    noise[2] = -MPI_Wtime();
    if (noise_calls.start((uint64_t)block) != 0)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; i < calls; i++)
        mine[i] = once(collective, side, i, 0);
    noise_calls.stop();
    noise[2] += MPI_Wtime();
    noise_calls.totals(&count_after, &after);
    noise[0] = (double)(count_after - count_before);
    noise[1] = after - before;
    MPI_Reduce(mine, slowest, calls, MPI_DOUBLE, MPI_MAX, 0, comms[SIDE_HOST]);
    MPI_Reduce(noise, all_noise, 3, MPI_DOUBLE, MPI_SUM, 0, comms[SIDE_HOST]);
    if (world_rank != 0)
        return;
    for (int i = 0; i < calls; i++)
        printf("call %s %s %s %d %.9f\n", hp_collective_name(collective), side_names[side], level, block,
               slowest[i]);
    printf("noise %s %s %s %d %.0f %.6f %.6f\n", hp_collective_name(collective), side_names[side], level,
           block, all_noise[0], all_noise[1], all_noise[2]);
    fflush(stdout);
}

static void slow_down(hp_collective_t collective)
{
    int calls[SIDE_COUNT];
    const int runs = SIDE_COUNT * options.noise_count;
#ifdef HP_SIMULATED
    const bool calm_once = true; /* without noise a simulation always gives the same */
#else
    const bool calm_once = false;
#endif

    for (int side = 0; side < SIDE_COUNT; side++)
        calls[side] = options.sides[side] ? calls_of_a_block(collective, (side_t)side) : 0;
    for (int block = 0; block < options.blocks; block++)
        for (int i = 0; i < runs; i++) {
            const int run =
                (i + block * 5) % runs; /* neither a side nor a level always comes after the same */
            const side_t side = (side_t)(run % SIDE_COUNT);
            const char *level = options.noise[run / SIDE_COUNT];
            if (options.sides[side] && !(calm_once && block > 0 && strcmp(level, "off") == 0))
                run_block(collective, side, level, block, calls[side]);
        }
}

static void finishing_times(hp_collective_t collective)
{
    double *all = malloc((size_t)world_size * sizeof *all);

    for (int repetition = options.blocks ? 0 : -1; repetition < options.repeat;
         repetition++) /* -1 warms up */
        for (int which = -1; which < options.delayed_count; which++)
            for (int side = 0; side < SIDE_COUNT; side++) {
                if (!options.sides[side])
                    continue;
                const int delayed = which < 0 ? -1 : options.delayed[which];
                const double late = delayed == world_rank ? options.delay_seconds : 0;
                const double mine = once(collective, (side_t)side, repetition + 1, late);
                MPI_Gather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, comms[SIDE_HOST]);
                for (int rank = 0; rank < world_size && world_rank == 0 && repetition >= 0; rank++)
                    printf("finish %s %s %d %d %d %.9f\n", hp_collective_name(collective), side_names[side],
                           delayed, repetition, rank, all[rank]);
            }
    fflush(stdout);
    free(all);
}

/* The parent of every rank in the tree, for the pictures. */
static void print_tree(hp_collective_t collective)
{
    int *parents = malloc((size_t)world_size * sizeof *parents);
    const int mine = tree.neighbors.parent;

    MPI_Gather(&mine, 1, MPI_INT, parents, 1, MPI_INT, 0, comms[SIDE_HOST]);
    if (world_rank == 0) {
        printf("info tree_%s %s\ninfo parents_%s", hp_collective_name(collective), tree.description,
               hp_collective_name(collective));
        for (int rank = 0; rank < world_size; rank++)
            printf(" %d", parents[rank]);
        printf("\n");
    }
    free(parents);
}

static void make_comms(void)
{
    MPI_Info off;
    MPI_Info_create(&off);
    MPI_Info_set(off, "hanpmpi", "off");
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[SIDE_OURS]);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, off, &comms[SIDE_HOST]);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, off, &comms[SIDE_CONTROL]);
    MPI_Info_free(&off);
}

int main(int argc, char **argv)
{
    const struct argp argp = {argp_options, parse_option, NULL, "What noise does to a collective.",
                              NULL,         NULL,         NULL};
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    if (!noise_calls_find() && options.blocks) {
        if (world_rank == 0)
            fprintf(
                stderr,
                "slowdown: libhanpmpi-noise.so is not loaded: add it to LD_PRELOAD, or give --blocks 0\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Get_library_version(version, &length);
    version[strcspn(version, "\n,")] = '\0';
    if (world_rank == 0)
        printf("info mpi %s\ninfo ranks %d\ninfo bytes %zu\ninfo delay_seconds %g\n", version, world_size,
               options.bytes, options.delay_seconds);
    sent = buffer_create();
    received = buffer_create();
    make_comms();
    for (int collective = 0; collective < HP_PIPELINED_COUNT; collective++) {
        if (!options.wanted[collective])
            continue;
        waitall_tree_create(&tree, comms[SIDE_CONTROL], (hp_collective_t)collective, options.bytes, ROOT);
        print_tree((hp_collective_t)collective);
        if (options.blocks)
            slow_down((hp_collective_t)collective);
        if (options.delayed_count)
            finishing_times((hp_collective_t)collective);
        waitall_tree_destroy(&tree);
    }
    for (int side = 0; side < SIDE_COUNT; side++)
        MPI_Comm_free(&comms[side]);
    buffer_destroy(sent);
    buffer_destroy(received);
    MPI_Finalize();
    return 0;
}
