/* hanpmpi_probe_network: measures between hosts, and writes the tree of switches that explains it as a network file
 * (hanpmpi-network(5)).
 *
 *   mpirun -np 16 --map-by node hanpmpi_probe_network -o cluster.net
 *
 * One rank of each host sends and receives (traffic.h), the others sleep. Rank 0 says who sends to whom (rounds.h)
 * and finds the tree (infer.h). Knows MPI alone; works with the library in front of it or without. Threads: one. */
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bench/command_line.h"
#include "infer.h"
#include "traffic.h"

enum { KEY_WINDOW = BENCH_KEY_OWN, KEY_SEED, EXIT_WRONG = 1, EXIT_BAD_OPTION = 2, SLEEP_US = 20000 };
enum { WINDOW_LEAST_MS = 5, WINDOW_MOST_MS = 10000, WINDOW_MS = 100 };

typedef struct {
    const char *output; /* NULL: standard output */
    long window_ms, seed;
    bool done;
} options_t;

/* The hosts in the order of their first ranks. */
typedef struct {
    int count, mine, my_place; /* my_place: of this rank among those of its host */
    char *names;               /* MPI_MAX_PROCESSOR_NAME bytes each */
    int *ranks;                /* of each host: how many it has */
} hosts_t;

/* ---- command line ---- */

static error_t take_number(struct argp_state *state, const char *option, const char *text, long least,
                           long most, long *out)
{
    char *end;

    errno = 0;
    *out = strtol(text, &end, 10);
    return *end || end == text || errno || *out < least || *out > most
               ? BAD(state, "%s %s: accepted are %ld to %ld", option, text, least, most)
               : 0;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    options_t *options = state->input;

    switch (key) {
    case 'o':
        options->output = argument;
        return 0;
    case KEY_WINDOW:
        return take_number(state, "--window-ms", argument, WINDOW_LEAST_MS, WINDOW_MOST_MS,
                           &options->window_ms);
    case KEY_SEED:
        return take_number(state, "--seed", argument, 0, 1000000, &options->seed);
    default:
        return bench_common_option(key, argument, state, "hanpmpi_probe_network", &options->done);
    }
}

static const struct argp_option option_table[] = {
    {"output", 'o', "FILE", 0, "file to write (default: standard output)", 0},
    {"window-ms", KEY_WINDOW, "N", 0, "milliseconds that the hosts send in a round (default 100)", 0},
    {"seed", KEY_SEED, "N", 0, "of who sends to whom (default 1)", 0},
    {"help", BENCH_KEY_HELP, NULL, 0, "give this help list", -1},
    {"version", BENCH_KEY_VERSION, NULL, 0, "print the version", -1},
    {0},
};

/* ---- hosts ---- */

static void find_hosts(hosts_t *hosts)
{
    char own[MPI_MAX_PROCESSOR_NAME] = "";
    int rank, size, length;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(own, &length);
    char *all = probe_memory(NULL, (uint64_t)size, sizeof own);
    MPI_Allgather(own, sizeof own, MPI_CHAR, all, sizeof own, MPI_CHAR, MPI_COMM_WORLD);
    *hosts = (hosts_t){.names = probe_memory(NULL, (uint64_t)size, sizeof own),
                       .ranks = probe_memory(NULL, (uint64_t)size, sizeof *hosts->ranks)};
    for (int r = 0; r < size; r++) {
        const char *name = all + (size_t)r * sizeof own;
        int h = 0;
        while (h < hosts->count && strcmp(hosts->names + (size_t)h * sizeof own, name) != 0)
            h++;
        if (h == hosts->count) {
            strcpy(hosts->names + (size_t)hosts->count++ * sizeof own, name);
            hosts->ranks[h] = 0;
        }
        if (r == rank) {
            hosts->mine = h;
            hosts->my_place = hosts->ranks[h];
        }
        hosts->ranks[h]++;
    }
    free(all);
}

static const char *name_of(const hosts_t *hosts, uint32_t host)
{
    return hosts->names + (size_t)host * MPI_MAX_PROCESSOR_NAME;
}

/* ---- measuring ---- */

/* Rounds from the first-th on. Rank 0 has them. */
static void run_rounds(traffic_t *traffic, probe_rounds_t *rounds, uint32_t first)
{
    uint32_t count = rounds->count;
    int32_t *to = probe_memory(NULL, (uint64_t)traffic->hosts, sizeof *to);

    MPI_Bcast(&count, 1, MPI_UINT32_T, 0, traffic->comm);
    for (uint32_t round = first; round < count; round++) {
        const size_t at = (size_t)round * (size_t)traffic->hosts;
        if (traffic->rank == 0)
            memcpy(to, rounds->to + at, (size_t)traffic->hosts * sizeof *to);
        MPI_Bcast(to, traffic->hosts, MPI_INT32_T, 0, traffic->comm);
        traffic_run(traffic, to, traffic->rank == 0 ? rounds->rates + at : NULL);
    }
    free(to);
}

/* On the ranks that measure; rank 0 gets the tree. */
static void probe(const options_t *options, MPI_Comm comm, probe_tree_t *tree)
{
    traffic_t traffic;
    probe_rounds_t rounds;

    traffic_init(&traffic, comm, 1e3 * (double)options->window_ms);
    uint32_t *group = probe_memory(NULL, (uint64_t)traffic.hosts, sizeof *group), of_hosts = 0, groups = 0;
    probe_rounds_init(&rounds, (uint32_t)traffic.hosts);
    if (traffic.hosts > 1)
        traffic_choose_chunk(&traffic);
    if (traffic.rank == 0) {
        probe_rounds_of_hosts(&rounds, (uint64_t)options->seed);
        fprintf(stderr, "%d hosts: %u rounds of %ld ms, all pairs\n", traffic.hosts, rounds.count,
                options->window_ms);
    }
    run_rounds(&traffic, &rounds, 0);
    if (traffic.rank == 0) {
        of_hosts = rounds.count;
        groups = probe_find_groups(&rounds, group);
        probe_rounds_of_groups(&rounds, group, groups, (uint64_t)options->seed);
        fprintf(stderr, "%u groups of hosts: %u rounds between them\n", groups, rounds.count - of_hosts);
    }
    MPI_Bcast(&of_hosts, 1, MPI_UINT32_T, 0, comm);
    run_rounds(&traffic, &rounds, of_hosts);
    if (traffic.rank == 0)
        probe_find_tree(&rounds, group, groups, tree);
    probe_rounds_fini(&rounds);
    free(group);
    traffic_fini(&traffic);
}

/* ---- the file ---- */

/* "29.9MB", or "29.9MB/15MB" where the directions differ by more than a measurement does. */
static void print_rates(FILE *out, double there, double back)
{
    if (there > 0.9 * back && back > 0.9 * there)
        fprintf(out, " %.4gMB", (there + back) / 2);
    else
        fprintf(out, " %.4gMB/%.4gMB", there, back);
}

static bool are_alike(const hosts_t *hosts, const probe_tree_t *tree, uint32_t a, uint32_t b)
{
    return tree->on[a] == tree->on[b] && tree->host_up[a] == tree->host_up[b] &&
           tree->host_down[a] == tree->host_down[b] && hosts->ranks[a] == hosts->ranks[b];
}

static void print_tree(FILE *out, const hosts_t *hosts, const probe_tree_t *tree)
{
    bool *is_said = probe_memory(NULL, tree->hosts, sizeof *is_said);

    memset(is_said, 0, tree->hosts * sizeof *is_said);
    fprintf(
        out,
        "# measured by hanpmpi_probe_network %s: what messages reach, MB/s. Latencies are not measured.\n",
        HANPMPI_VERSION);
    for (uint32_t h = 0; h < tree->hosts; h++) {
        if (is_said[h])
            continue;
        fprintf(out, "hosts");
        for (uint32_t other = h; other < tree->hosts; other++)
            if (are_alike(hosts, tree, h, other)) {
                is_said[other] = true;
                fprintf(out, " %s", name_of(hosts, other));
                if (hosts->ranks[other] > 1)
                    fprintf(out, ":%d", hosts->ranks[other]);
            }
        fprintf(out, " on s%u", tree->on[h]);
        print_rates(out, tree->host_up[h], tree->host_down[h]);
        fprintf(out, "\n");
    }
    for (uint32_t s = 0; s < tree->switches; s++) {
        if (tree->above[s] < 0)
            continue;
        fprintf(out, "s%u - s%d", s, tree->above[s]);
        print_rates(out, tree->up[s], tree->down[s]);
        fprintf(out, "\n");
    }
    free(is_said);
}

/* On rank 0; returns the exit status. */
static int write_tree(const options_t *options, const hosts_t *hosts, const probe_tree_t *tree)
{
    FILE *out = options->output ? fopen(options->output, "w") : stdout;
    bool written = out != NULL;

    if (out) {
        print_tree(out, hosts, tree);
        written = fflush(out) == 0 && !ferror(out);
    }
    if (out && out != stdout)
        written = fclose(out) == 0 && written;
    if (!written)
        fprintf(stderr, "hanpmpi_probe_network: %s: %s\n",
                options->output ? options->output : "standard output", strerror(errno));
    return written ? 0 : EXIT_WRONG;
}

/* Ranks that do not measure would take the others' cores if they waited as MPI does. */
static void wait_asleep(void)
{
    MPI_Request all;
    int done = 0;

    for (MPI_Ibarrier(MPI_COMM_WORLD, &all); !done; MPI_Test(&all, &done, MPI_STATUS_IGNORE))
        usleep(SLEEP_US);
}

static int run(const options_t *options, int rank)
{
    probe_tree_t tree;
    hosts_t hosts;
    MPI_Comm comm;
    int code = 0;

    find_hosts(&hosts);
    MPI_Comm_split(MPI_COMM_WORLD, hosts.my_place == 0 ? 0 : MPI_UNDEFINED, hosts.mine, &comm);
    if (hosts.count < 2) {
        if (rank == 0)
            fprintf(
                stderr,
                "hanpmpi_probe_network: all ranks are on host %s: expected ranks on several hosts, as with "
                "mpirun --map-by node\n",
                hosts.names);
        code = EXIT_WRONG;
    } else if (comm != MPI_COMM_NULL) {
        probe(options, comm, &tree);
        if (rank == 0) {
            code = write_tree(options, &hosts, &tree);
            probe_tree_fini(&tree);
        }
    }
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
    wait_asleep();
    MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
    free(hosts.names);
    free(hosts.ranks);
    return code;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        option_table,
        parse_option,
        NULL,
        "Measures between hosts and writes the tree of switches that explains it, as a network file for "
        "hanpmpi_info --network.\vExample:\n  mpirun -np 16 --map-by node hanpmpi_probe_network -o "
        "cluster.net",
        NULL,
        NULL,
        NULL};
    options_t options = {.window_ms = WINDOW_MS, .seed = 1};
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const bool is_bad = bench_parse(&argp, argc, argv, rank == 0, &options) != 0;
    int code = is_bad && !options.done ? EXIT_BAD_OPTION : 0;
    if (code == 0 && !options.done)
        code = run(&options, rank);
    MPI_Finalize();
    return code;
}
