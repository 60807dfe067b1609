/* hanpmpi_info: what a user asks of an installed library: settings, algorithms, rules, backends, topology.
 *
 * Reads the same tables as the library itself (knobs.def, algorithms.def, HP_SHAPE_TABLE, HP_LEVEL_TABLE), so
 * it cannot disagree with it. Also prints the tables in the forms that the manual page and docs/KNOBS.md are
 * made of at build time. Threads: one. Ownership: everything is freed at exit by the system. */
#include <argp.h>
#include <stdbool.h>
#include <string.h>
#include "base/words.h"
#include "explain.h"
#include "json.h"
#include "network.h"
#include "rules.h"
#include "schedule.h"
#include "tables.h"
#include "topology.h"
#include "wisdom.h"

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
    OPTION_WISDOM,
    OPTION_FORGET,
    OPTION_SCHEDULE,
    OPTION_SCHEDULES,
    OPTION_VERIFY,
    OPTION_COST,
    OPTION_NETWORK,
    OPTION_ORDER,
    OPTION_COLLECTIVE,
    OPTION_BYTES,
    OPTION_DOT,
    OPTION_SVG,
    OPTION_JSON,
    OPTION_RULES_JSON,
    OPTION_CHECK_RULES,
    OPTION_KNOBS_MAN,
    OPTION_KNOBS_MARKDOWN,
};

/* What is asked for: one thing a run. */
typedef enum {
    ASKS_KNOBS,
    ASKS_ALGORITHMS,
    ASKS_EXPLAIN,
    ASKS_RULES,
    ASKS_CHECK,
    ASKS_BACKENDS,
    ASKS_TOPOLOGY,
    ASKS_MACHINE_NAME,
    ASKS_PROBES,
    ASKS_WISDOM,
    ASKS_FORGET,
    ASKS_SCHEDULE,
    ASKS_SCHEDULES,
    ASKS_NETWORK,
    ASKS_KNOBS_MAN,
    ASKS_KNOBS_MARKDOWN
} asks_t;

static struct {
    asks_t asks;
    bool json, json_may_have_file; /* json was the last word */
    const char *json_file, *svg;
    const char *check_rules, *explain, *collective;
    info_topology_t topology;
    info_schedule_t schedule;
    info_network_t network;
} options = {.topology = {.collective = HP_BCAST, .bytes = 1 << 20}};

/* Read by the C library: hidden, as this project's names are, there would be no --version. */
__attribute__((visibility("default"))) const char *argp_program_version = "hanpmpi " HANPMPI_VERSION;

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
    {"wisdom", OPTION_WISDOM, NULL, 0,
     "what earlier runs have found to be fastest on this machine, for each MPI and layout", 1},
    {"forget", OPTION_FORGET, NULL, 0, "removes that", 1},
    {"schedule", OPTION_SCHEDULE, "TEXT", 0,
     "rounds, messages and steps of an algorithm, e.g. \"allgather ring ranks=12\", or of a file.json", 1},
    {"schedules", OPTION_SCHEDULES, NULL, 0,
     "the algorithms for --schedule: patterns, constraints, parameters", 1},
    {"network", OPTION_NETWORK, "FILE", 0,
     "the network that the file describes, and what a collective puts on its links; with --json: as a file",
     1},
    {"ranks", OPTION_RANKS, "N", 0, "with --topology: number of ranks (default: the cores that may be used)",
     2},
    {"root", OPTION_ROOT, "RANK", 0, "with --topology: root of the tree (default 0)", 2},
    {"machine", OPTION_MACHINE, "TEXT", 0,
     "with --topology: a synthetic machine such as \"node:2 package:2 core:4\" (default: HANPMPI_TOPOLOGY, "
     "else this machine)",
     2},
    {"collective", OPTION_COLLECTIVE, "NAME", 0,
     "with --topology: whose rules give the shapes (default bcast); with --network: a text such as "
     "\"alltoall ring bytes=64K\"",
     2},
    {"order", OPTION_ORDER, "ORDER", 0,
     "with --network: how ranks are laid on machines: block, round_robin, over_switches (default block)", 2},
    {"bytes", OPTION_BYTES, "N", 0, "with --topology: message size for the rules (default 1M)", 2},
    {"dot", OPTION_DOT, "FILE", 0,
     "with --topology: also write the tree as Graphviz DOT (- is standard output)", 2},
    {"svg", OPTION_SVG, "FILE", 0,
     "with --topology: also write the tree as an SVG picture; with --schedule: the rounds; with --network: "
     "the "
     "tree of switches (- is standard output)",
     2},
    {"cost", OPTION_COST, "TEXT", 0,
     "with --schedule: how long it takes on a network, e.g. \"network=cluster.net bytes=64K\"", 2},
    {"verify", OPTION_VERIFY, NULL, 0,
     "with --schedule: prove that it is right; exit status 1 when it is not", 2},
    {"json", OPTION_JSON, "FILE", OPTION_ARG_OPTIONAL,
     "print it as JSON: knobs, algorithms, explain, backends, machine name, probes, wisdom, topology, "
     "schedules, network; with "
     "--schedule: "
     "write it as a file for HANPMPI_SCHEDULES (standard output if no file is named)",
     3},
    {NULL, 'h', NULL, 0, "give this help list", -1},
    {"knobs-man", OPTION_KNOBS_MAN, NULL, OPTION_HIDDEN, NULL, 4},
    {"knobs-markdown", OPTION_KNOBS_MARKDOWN, NULL, OPTION_HIDDEN, NULL, 4},
    {0},
};

static uint64_t parse_number(struct argp_state *state, const char *option, const char *text, int64_t most)
{
    int64_t value;

    if (!hp_word_integer(text, &value) || value < 0 || value > most)
        argp_error(state, "%s %s: accepted are whole numbers from 0 to %lld, with K, M, G or KiB, MiB, GiB",
                   option, text, (long long)most);
    return (uint64_t)value;
}

static hp_collective_t parse_collective(struct argp_state *state, const char *text)
{
    hp_collective_t collective = HP_BCAST;

    if (!info_find_collective(text, &collective))
        argp_error(state, "--collective %s: accepted are %s", text, info_collective_names());
    return collective;
}

/* "--json FILE", where "--json" alone is accepted as well. */
static error_t parse_word(char *argument)
{
    if (!options.json_may_have_file)
        return ARGP_ERR_UNKNOWN;
    options.json_may_have_file = false;
    options.json_file = argument;
    return 0;
}

/* What only some questions take. */
static void check_options(struct argp_state *state)
{
    const bool schedule = options.asks == ASKS_SCHEDULE;

    if (options.json && (options.asks == ASKS_CHECK || options.asks == ASKS_FORGET))
        argp_error(state, "--json: accepted with --knobs, --algorithms, --explain, --backends, "
                          "--machine-name, --probes, --wisdom, --topology, --schedule, --schedules, "
                          "--network and --rules-json");
    if (options.json_file && !schedule)
        argp_error(state, "--json %s: a file is accepted with --schedule", options.json_file);
    if ((options.schedule.verify || options.schedule.cost) && !schedule)
        argp_error(state, "--%s: accepted with --schedule", options.schedule.cost ? "cost" : "verify");
    if (options.network.order && options.asks != ASKS_NETWORK)
        argp_error(state, "--order: accepted with --network");
    if (options.asks == ASKS_NETWORK)
        options.network.collective = options.collective;
    else if (options.collective)
        options.topology.collective = parse_collective(state, options.collective);
    options.network.json = options.json;
    options.topology.svg = options.schedule.svg = options.network.svg = options.svg;
    options.schedule.json = options.json_file ? options.json_file : options.json ? "-" : NULL;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    if (key == ARGP_KEY_ARG)
        return parse_word(argument);
    if (key < ARGP_KEY_END) /* an option, not argp's own */
        options.json_may_have_file = key == OPTION_JSON && !argument;
    switch (key) {
    case 'h':
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        break;
    case OPTION_JSON:
        options.json = true;
        options.json_file = argument ? argument : options.json_file;
        break;
    case OPTION_KNOBS:
        options.asks = ASKS_KNOBS;
        break;
    case OPTION_ALGORITHMS:
        options.asks = ASKS_ALGORITHMS;
        break;
    case OPTION_EXPLAIN:
        options.asks = ASKS_EXPLAIN;
        options.explain = argument;
        break;
    case OPTION_RULES_JSON:
        options.asks = ASKS_RULES;
        break;
    case OPTION_CHECK_RULES:
        options.asks = ASKS_CHECK;
        options.check_rules = argument;
        break;
    case OPTION_BACKENDS:
        options.asks = ASKS_BACKENDS;
        break;
    case OPTION_TOPOLOGY:
        options.asks = ASKS_TOPOLOGY;
        break;
    case OPTION_MACHINE_NAME:
        options.asks = ASKS_MACHINE_NAME;
        break;
    case OPTION_PROBES:
        options.asks = ASKS_PROBES;
        break;
    case OPTION_WISDOM:
        options.asks = ASKS_WISDOM;
        break;
    case OPTION_FORGET:
        options.asks = ASKS_FORGET;
        break;
    case OPTION_SCHEDULE:
        options.asks = ASKS_SCHEDULE;
        options.schedule.text = argument;
        break;
    case OPTION_SCHEDULES:
        options.asks = ASKS_SCHEDULES;
        break;
    case OPTION_COST:
        options.schedule.cost = argument;
        break;
    case OPTION_VERIFY:
        options.schedule.verify = true;
        break;
    case OPTION_KNOBS_MAN:
        options.asks = ASKS_KNOBS_MAN;
        break;
    case OPTION_KNOBS_MARKDOWN:
        options.asks = ASKS_KNOBS_MARKDOWN;
        break;
    case OPTION_RANKS:
        options.topology.ranks = (uint32_t)parse_number(state, "--ranks", argument, 1 << 20);
        break;
    case OPTION_ROOT:
        options.topology.root = (uint32_t)parse_number(state, "--root", argument, 1 << 20);
        break;
    case OPTION_MACHINE:
        options.topology.machine = argument;
        break;
    case OPTION_COLLECTIVE:
        options.collective = argument;
        break;
    case OPTION_NETWORK:
        options.asks = ASKS_NETWORK;
        options.network.file = argument;
        break;
    case OPTION_ORDER:
        options.network.order = argument;
        break;
    case OPTION_BYTES:
        options.topology.bytes = parse_number(state, "--bytes", argument, INT64_MAX);
        break;
    case OPTION_DOT:
        options.topology.dot = argument;
        break;
    case OPTION_SVG:
        options.svg = argument;
        break;
    case ARGP_KEY_END:
        check_options(state);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static int answer(void)
{
    switch (options.asks) {
    case ASKS_KNOBS:
        return options.json ? info_json_knobs() : (info_print_knobs(), 0);
    case ASKS_ALGORITHMS:
        return options.json ? info_json_algorithms() : (info_print_algorithms(), 0);
    case ASKS_EXPLAIN:
        return info_explain(options.explain, options.json);
    case ASKS_RULES:
        return info_write_rules();
    case ASKS_CHECK:
        return info_check_rules(options.check_rules);
    case ASKS_BACKENDS:
        return options.json ? info_json_backends() : info_print_backends();
    case ASKS_TOPOLOGY:
        options.topology.json = options.json;
        return info_print_topology(&options.topology);
    case ASKS_MACHINE_NAME:
        return options.json ? info_json_machine_name() : (info_print_machine_name(), 0);
    case ASKS_PROBES:
        return options.json ? info_json_probes() : (info_print_probes(), 0);
    case ASKS_WISDOM:
        return options.json ? info_json_wisdom() : info_print_wisdom();
    case ASKS_FORGET:
        return info_forget_wisdom();
    case ASKS_SCHEDULE:
        return info_print_schedule(&options.schedule);
    case ASKS_SCHEDULES:
        return options.json ? info_json_schedules() : info_print_schedules();
    case ASKS_NETWORK:
        return info_print_network(&options.network);
    case ASKS_KNOBS_MAN:
        info_print_knobs_man();
        return 0;
    case ASKS_KNOBS_MARKDOWN:
        info_print_knobs_markdown();
        return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    const struct argp argp = {
        argp_options,
        parse_option,
        NULL,
        "Shows the settings, algorithms, backends and trees of hanpmpi.\vExamples:\n"
        "  hanpmpi_info\n  hanpmpi_info --algorithms\n"
        "  hanpmpi_info --topology --machine \"node:2 package:2 core:4\" --root 5 --svg tree.svg\n"
        "  hanpmpi_info --schedule \"allgather ring ranks=12\" --verify --svg ring.svg\n"
        "  hanpmpi_info --network cluster.net --collective \"alltoall ring bytes=64K\" --svg cluster.svg",
        NULL,
        NULL,
        NULL};
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, NULL);
    info_use_schedules(options.asks != ASKS_SCHEDULE && options.asks != ASKS_SCHEDULES &&
                       options.asks != ASKS_NETWORK); /* which say it themselves */
    return answer();
}
