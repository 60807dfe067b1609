/* hanpmpi_info: what a user asks of an installed library: settings, algorithms, rules, backends, topology.
 *
 * Reads the same tables as the library itself (knobs.def, algorithms.def, HP_SHAPE_TABLE, HP_LEVEL_TABLE), so
 * it cannot disagree with it. Also prints the tables in the forms that the manual page and docs/KNOBS.md are
 * made of at build time. Threads: one. Ownership: everything is freed at exit by the system. */
#include <argp.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/knobs.h"
#include "base/log.h"
#include "hier/collectives/algorithm.h"
#include "hier/planning/model/probes_cache.h"
#include "hier/planning/select.h"
#include "explain.h"
#include "rules.h"
#include "topo_tree/draw.h"
#include "topo_tree/fingerprint.h"

enum {
    OPTION_KNOBS = 256,
    OPTION_EXPLAIN,
    OPTION_ALGORITHMS,
    OPTION_BACKENDS,
    OPTION_TOPOLOGY,
    OPTION_RANKS,
    OPTION_ROOT,
    OPTION_MACHINE,
    OPTION_MACHINE_NAME,
    OPTION_PROBES,
    OPTION_COLLECTIVE,
    OPTION_BYTES,
    OPTION_DOT,
    OPTION_SVG,
    OPTION_RULES_JSON,
    OPTION_CHECK_RULES,
    OPTION_KNOBS_MAN,
    OPTION_KNOBS_MARKDOWN,
};

static struct {
    bool algorithms, backends, topology, machine_name, probes, rules_json, knobs_man, knobs_markdown;
    uint32_t ranks, root;
    const char *machine, *dot, *svg, *check_rules, *explain;
    hp_collective_t collective;
    uint64_t bytes;
} options = {.machine = NULL, .collective = HP_BCAST, .bytes = 1 << 20};

const char *argp_program_version = "hanpmpi " HANPMPI_VERSION;

static const struct argp_option argp_options[] = {
    {"knobs", OPTION_KNOBS, NULL, 0,
     "environment variables: value, default, accepted values, who set it (default)", 1},
    {"algorithms", OPTION_ALGORITHMS, NULL, 0, "algorithms of each collective, tree shapes, levels", 1},
    {"explain", OPTION_EXPLAIN, "CALL", 0,
     "what would run such a call and why, e.g. \"allreduce nodes=4 ppn=4 bytes=1M\"", 1},
    {"rules-json", OPTION_RULES_JSON, NULL, 0,
     "the built-in rules as a file for HANPMPI_RULES, to start from", 1},
    {"check-rules", OPTION_CHECK_RULES, "FILE", 0,
     "what each rule of the file means, and what is wrong with it; exit status 1 when something is", 1},
    {"backends", OPTION_BACKENDS, NULL, 0, "the MPI ABIs this installation serves", 1},
    {"topology", OPTION_TOPOLOGY, NULL, 0, "levels of the hierarchy and the tree for a root", 1},
    {"machine-name", OPTION_MACHINE_NAME, NULL, 0,
     "the name of this kind of machine, for the pattern of a rule", 1},
    {"probes", OPTION_PROBES, NULL, 0, "what earlier runs have measured of this machine, for each MPI", 1},
    {"ranks", OPTION_RANKS, "N", 0, "with --topology: number of ranks (default: cores of the machine)", 2},
    {"root", OPTION_ROOT, "RANK", 0, "with --topology: root of the tree (default 0)", 2},
    {"machine", OPTION_MACHINE, "TEXT", 0,
     "with --topology: a synthetic machine such as \"node:2 package:2 core:4\" (default: HANPMPI_TOPOLOGY, "
     "else this machine)",
     2},
    {"collective", OPTION_COLLECTIVE, "NAME", 0,
     "with --topology: whose rules give the shapes: bcast, reduce, allreduce (default bcast)", 2},
    {"bytes", OPTION_BYTES, "N", 0, "with --topology: message size for the rules (default 1M)", 2},
    {"dot", OPTION_DOT, "FILE", 0,
     "with --topology: also write the tree as Graphviz DOT (- is standard output)", 2},
    {"svg", OPTION_SVG, "FILE", 0, "with --topology: also write the tree as an SVG picture", 2},
    {"knobs-man", OPTION_KNOBS_MAN, NULL, OPTION_HIDDEN, NULL, 3},
    {"knobs-markdown", OPTION_KNOBS_MARKDOWN, NULL, OPTION_HIDDEN, NULL, 3},
    {0},
};

static uint64_t parse_number(struct argp_state *state, const char *option, const char *text, uint64_t most)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*end == 'K' || *end == 'M' || *end == 'G')
        value <<= *end == 'K' ? 10 : *end == 'M' ? 20 : 30, end++;
    if (end == text || *end || errno || *text == '-' || value > most)
        argp_error(state, "%s %s: accepted are whole numbers from 0 to %llu", option, text,
                   (unsigned long long)most);
    return value;
}

static hp_collective_t parse_collective(struct argp_state *state, const char *text)
{
    for (unsigned c = 0; c < HP_COLLECTIVE_COUNT; c++)
        if (strcmp(text, hp_collective_name((hp_collective_t)c)) == 0)
            return (hp_collective_t)c;
    argp_error(state, "--collective %s: accepted are bcast, reduce, allreduce", text);
    return HP_BCAST;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    switch (key) {
    case OPTION_KNOBS: /* what it does anyway */
        break;
    case OPTION_ALGORITHMS:
        options.algorithms = true;
        break;
    case OPTION_EXPLAIN:
        options.explain = argument;
        break;
    case OPTION_RULES_JSON:
        options.rules_json = true;
        break;
    case OPTION_CHECK_RULES:
        options.check_rules = argument;
        break;
    case OPTION_BACKENDS:
        options.backends = true;
        break;
    case OPTION_TOPOLOGY:
        options.topology = true;
        break;
    case OPTION_RANKS:
        options.ranks = (uint32_t)parse_number(state, "--ranks", argument, 1 << 20);
        break;
    case OPTION_ROOT:
        options.root = (uint32_t)parse_number(state, "--root", argument, 1 << 20);
        break;
    case OPTION_MACHINE:
        options.machine = argument;
        break;
    case OPTION_MACHINE_NAME:
        options.machine_name = true;
        break;
    case OPTION_PROBES:
        options.probes = true;
        break;
    case OPTION_COLLECTIVE:
        options.collective = parse_collective(state, argument);
        break;
    case OPTION_BYTES:
        options.bytes = parse_number(state, "--bytes", argument, INT64_MAX);
        break;
    case OPTION_DOT:
        options.dot = argument;
        break;
    case OPTION_SVG:
        options.svg = argument;
        break;
    case OPTION_KNOBS_MAN:
        options.knobs_man = true;
        break;
    case OPTION_KNOBS_MARKDOWN:
        options.knobs_markdown = true;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- knobs ---- */

static void print_problem(void *context, const char *line)
{
    (void)context;
    hp_warn("%s", line);
}

static void print_knobs(void)
{
    hp_knobs_t knobs, defaults;
    bool set[HP_KNOB_COUNT];
    char value[HP_KNOB_TEXT_BYTES], standard[HP_KNOB_TEXT_BYTES], range[512];

    hp_knobs_read(&knobs, set, print_problem, NULL);
    printf("%-26s %-12s %-22s %-12s %s\n", "variable", "value", "default", "set by", "accepted");
    hp_knobs_defaults(&defaults);
    for (unsigned id = 0; id < HP_KNOB_COUNT; id++) {
        const hp_knob_info_t *info = hp_knob_info((hp_knob_id_t)id);
        hp_knob_format(&knobs, (hp_knob_id_t)id, value, sizeof value);
        hp_knob_format(&defaults, (hp_knob_id_t)id, standard, sizeof standard);
        printf("%-26s %-12s %-22s %-12s %s\n", info->variable, *value ? value : "(empty)",
               *standard ? standard : "(empty)", set[id] ? "environment" : "default",
               hp_knob_range((hp_knob_id_t)id, range, sizeof range));
        printf("    %s%s\n", info->text,
               info->scope == HP_KNOB_SCOPE_JOB ? " [one value for all ranks: rank 0's]" : "");
    }
}

/* Text for troff: a backslash and a leading dot mean something there. */
static void print_troff(const char *text)
{
    for (; *text; text++)
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else
            putchar(*text);
}

static void print_knobs_man(void)
{
    hp_knobs_t defaults;
    char standard[HP_KNOB_TEXT_BYTES], range[512];

    hp_knobs_defaults(&defaults);
    for (unsigned id = 0; id < HP_KNOB_COUNT; id++) {
        const hp_knob_info_t *info = hp_knob_info((hp_knob_id_t)id);
        hp_knob_format(&defaults, (hp_knob_id_t)id, standard, sizeof standard);
        printf(".TP\n.B %s\n", info->variable);
        print_troff(info->text);
        printf(".\nDefault: ");
        print_troff(*standard ? standard : "empty");
        printf(". Accepted: ");
        print_troff(hp_knob_range((hp_knob_id_t)id, range, sizeof range));
        printf(".%s\n", info->scope == HP_KNOB_SCOPE_JOB ? "\nOne value for all ranks: rank 0's." : "");
    }
}

static void print_knobs_markdown(void)
{
    hp_knobs_t defaults;
    char standard[HP_KNOB_TEXT_BYTES], range[512];

    hp_knobs_defaults(&defaults);
    printf("# Environment variables\n\nMade from src/base/knobs.def by `hanpmpi_info --knobs-markdown`. "
           "\"Job\": one value for all "
           "ranks, rank 0's;\n\"rank\": each rank its own.\n\n| variable | default | accepted | scope | "
           "meaning |\n|---|---|---|---|---|\n");
    for (unsigned id = 0; id < HP_KNOB_COUNT; id++) {
        const hp_knob_info_t *info = hp_knob_info((hp_knob_id_t)id);
        hp_knob_format(&defaults, (hp_knob_id_t)id, standard, sizeof standard);
        printf("| `%s` | %s | %s | %s | %s |\n", info->variable, *standard ? standard : "(empty)",
               hp_knob_range((hp_knob_id_t)id, range, sizeof range),
               info->scope == HP_KNOB_SCOPE_JOB ? "job" : "rank", info->text);
    }
}

/* ---- algorithms ---- */

static void print_algorithms(void)
{
    const hp_algorithm_t *algorithm;

    for (unsigned c = 0; c < HP_COLLECTIVE_COUNT; c++) {
        printf("%s: HANPMPI_%s or info key hanpmpi_%s\n", hp_collective_name((hp_collective_t)c),
               c == HP_BCAST    ? "BCAST"
               : c == HP_REDUCE ? "REDUCE"
                                : "ALLREDUCE",
               hp_collective_name((hp_collective_t)c));
        printf("  %-20s %s\n  %-20s %s\n", "auto", "what the rules say for the size and the number of nodes",
               "native", "the host MPI");
        for (unsigned i = 0; (algorithm = hp_algorithm((hp_collective_t)c, i)); i++)
            printf("  %-20s %s\n", algorithm->name, algorithm->description);
    }
    printf("shapes: HANPMPI_SHAPES or info key hanpmpi_shapes, \"level:shape ...\"\n");
    for (unsigned shape = 0; shape < HP_SHAPE_COUNT; shape++)
        printf("  %-20s %s\n", hp_shape_info((hp_shape_t)shape)->name,
               hp_shape_info((hp_shape_t)shape)->description);
    printf("between nodes: HANPMPI_BETWEEN_NODES, where the module p2p of han joins them\n");
    for (unsigned i = 0; hp_inter_node_name(i); i++)
        printf("  %-20s %s\n", hp_inter_node_name(i), hp_inter_node_description(i));
    printf("levels:");
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        printf(" %s", hp_level_name((hp_level_t)level));
    printf("\n");
}

/* ---- backends ---- */

static int print_backends(void)
{
    char program[PATH_MAX], directory[PATH_MAX + 64];
    static const char *const places[] = {HANPMPI_LIBDIR_FROM_BIN, "../lib"}; /* installed, build tree */
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);

    if (length < 0) {
        fprintf(stderr, "hanpmpi_info: cannot find its own file: %s\n", strerror(errno));
        return 1;
    }
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(directory, sizeof directory, "%s/%s/hanpmpi", program, places[i]);
        DIR *dir = opendir(directory);
        if (!dir)
            continue;
        char *resolved = realpath(directory, NULL);
        printf("backends in %s\n", resolved ? resolved : directory);
        free(resolved);
        for (struct dirent *entry; (entry = readdir(dir));) {
            char abi[64];
            if (sscanf(entry->d_name, "libhanpmpi-%63[^.].so", abi) == 1)
                printf("  %-8s %s\n", abi,
                       strcmp(abi, "openmpi") == 0  ? "Open MPI 4, 5"
                       : strcmp(abi, "mpich") == 0  ? "MPICH 3.4 and later, Intel MPI, MVAPICH, Cray MPICH"
                       : strcmp(abi, "mpiabi") == 0 ? "any MPI through the MPI 5 standard ABI"
                                                    : "");
        }
        closedir(dir);
        return 0;
    }
    fprintf(stderr, "hanpmpi_info: no backends installed near %s: install the library with cmake --install\n",
            program);
    return 1;
}

/* ---- machine ---- */

static void print_machine_name(void)
{
    char name[HP_FINGERPRINT_BYTES];
    puts(hp_machine_fingerprint(name, sizeof name));
}

static void print_one_mpi(void *context, const hp_probes_cache_t *cache, const hp_probes_t *probes)
{
    (void)context;
    printf("%s on %s\n", cache->mpi, cache->machine);
#define X(field, unit, most, text)                                                                           \
    if (probes->field > 0)                                                                                   \
        printf("  %-16s %12.6g %-5s %s\n", #field, probes->field, unit, text);                               \
    else                                                                                                     \
        printf("  %-16s %12s %-5s %s\n", #field, "unknown", "", text);
    HP_PROBE_TABLE(X)
#undef X
}

static void print_probes(void)
{
    hp_knobs_t knobs;
    hp_probes_cache_t cache;
    char name[HP_FINGERPRINT_BYTES];

    hp_knobs_read(&knobs, NULL, print_problem, NULL);
    hp_log_set_level((int)knobs.verbose);
    hp_probes_cache_init(&cache, knobs.cache, hp_machine_fingerprint(name, sizeof name), "");
    if (!cache.directory[0])
        printf("no probes are kept: HANPMPI_CACHE is off, or neither XDG_CACHE_HOME nor HOME is set\n");
    else if (hp_probes_cache_each(&cache, print_one_mpi, NULL) <= 0)
        printf("no probes of %s in %s: a run with HANPMPI_MODEL=1 writes them\n", cache.machine,
               cache.directory);
}

/* ---- topology ---- */

static FILE *open_output(const char *file)
{
    FILE *out = strcmp(file, "-") == 0 ? stdout : fopen(file, "w");
    if (!out)
        fprintf(stderr, "hanpmpi_info: %s: %s\n", file, strerror(errno));
    return out;
}

static int draw_to(const char *file,
                   hp_status_t (*draw)(FILE *, const hp_hierarchy_t *, const hp_shapes_t *, uint32_t),
                   const hp_hierarchy_t *hierarchy, const hp_shapes_t *shapes)
{
    FILE *out = open_output(file);
    if (!out)
        return 1;
    hp_status_t status = draw(out, hierarchy, shapes, options.root);
    bool written = fflush(out) == 0 && !ferror(out);
    if (out != stdout)
        written &= fclose(out) == 0;
    if (status != HP_OK || !written) {
        fprintf(stderr, "hanpmpi_info: %s: %s\n", file,
                status != HP_OK ? hp_status_text(status) : "write failed");
        return 1;
    }
    return 0;
}

static int print_topology(void)
{
    hp_knobs_t knobs;
    hp_synthetic_t machine;
    char error[256];

    hp_knobs_read(&knobs, NULL, print_problem, NULL);
    const char *text = options.machine ? options.machine : knobs.topology;
    if (*text && hp_synthetic_parse(text, &machine, error, sizeof error) != HP_OK) {
        fprintf(stderr, "hanpmpi_info: --machine \"%s\": %s\n", text, error);
        return 1;
    }
    uint32_t ranks = options.ranks;
    if (!ranks && *text) {
        ranks = 1;
        for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
            ranks *= machine.count[level] ? machine.count[level] : 1;
    } else if (!ranks) {
        ranks = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    }
    if (options.root >= ranks) {
        fprintf(stderr, "hanpmpi_info: --root %u: accepted are 0 to %u\n", options.root, ranks - 1);
        return 1;
    }
    hp_locality_t *table = malloc(ranks * sizeof *table);
    if (!table)
        return 1;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        char cpu[16];
        snprintf(cpu, sizeof cpu, "%u", rank % (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
        if (*text)
            hp_synthetic_locate(&machine, rank, &table[rank]);
        else
            hp_locality_read(NULL, cpu, &table[rank]);
    }
    hp_comm_t *comm;
    hp_choice_t choice;
    hp_setting_t setting;
    if (hp_comm_create(0, ranks, table, &knobs, NULL, &comm) != HP_OK) {
        fprintf(stderr, "hanpmpi_info: out of memory for %u ranks\n", ranks);
        return 1;
    }
    hp_outcome_t outcome = hp_select(comm, options.collective, options.bytes, &choice);
    printf("%s of %llu bytes on %u ranks: ", hp_collective_name(options.collective),
           (unsigned long long)options.bytes, ranks);
    if (outcome == HP_OUTCOME_TAKEN) {
        setting = *choice.setting;
        printf("%s, segments of %zu bytes\n\n", choice.algorithm->name, setting.segment_bytes);
    } else {
        printf("passed through (%s); the tree that would be used:\n\n", hp_outcome_text(outcome));
        hp_setting_default(&setting);
        hp_setting_apply(&setting, &comm->knobs);
    }
    hp_draw_levels(stdout, comm->hierarchy, &setting.shapes);
    printf("\n");
    int code = hp_draw_tree_text(stdout, comm->hierarchy, &setting.shapes, options.root) == HP_OK ? 0 : 1;
    if (options.dot)
        code |= draw_to(options.dot, hp_draw_tree_dot, comm->hierarchy, &setting.shapes);
    if (options.svg)
        code |= draw_to(options.svg, hp_draw_tree_svg, comm->hierarchy, &setting.shapes);
    hp_select_forget(comm);
    hp_comm_destroy(comm);
    free(table);
    return code;
}

int main(int argc, char **argv)
{
    const struct argp argp = {
        argp_options,
        parse_option,
        NULL,
        "Shows the settings, algorithms, backends and trees of hanpmpi.\vExamples:\n"
        "  hanpmpi_info\n  hanpmpi_info --algorithms\n"
        "  hanpmpi_info --topology --machine \"node:2 package:2 core:4\" --root 5 --svg tree.svg",
        NULL,
        NULL,
        NULL};
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    int code = 0;
    if (options.knobs_man)
        print_knobs_man();
    else if (options.knobs_markdown)
        print_knobs_markdown();
    else if (options.algorithms)
        print_algorithms();
    else if (options.explain)
        code = info_explain(options.explain);
    else if (options.rules_json)
        code = info_write_rules();
    else if (options.check_rules)
        code = info_check_rules(options.check_rules);
    else if (options.backends)
        code = print_backends();
    else if (options.machine_name)
        print_machine_name();
    else if (options.probes)
        print_probes();
    else if (options.topology)
        code = print_topology();
    else
        print_knobs();
    return code;
}
