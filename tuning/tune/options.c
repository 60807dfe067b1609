#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/command_line.h"
#include "bench/numbers.h"

/* Short up to this, long from that on. */
enum { SHORT_BYTES = 64 << 10, LONG_BYTES = 1 << 20 };
/* Blocks of all ranks together: as long as the longest message of the default, and what counts of MPI can say. */
enum { BLOCKS_USUAL_BYTES = 16 << 20, BLOCKS_MOST_BYTES = 1 << 30 };

enum {
    KEY_RESULTS = BENCH_KEY_OWN,
    KEY_FACTOR,
    KEY_BLOCKS,
    KEY_PATTERN,
    KEY_NEAR,
    KEY_LEAST,
    KEY_SEARCH,
    KEY_COMPARE,
    KEY_SEGMENTS,
    KEY_BETWEEN,
    KEY_MODULES,
    KEY_TREES,
    KEY_LEADERS,
    KEY_FINALISTS,
    KEY_STEPS,
    KEY_DRY_RUN,
    KEY_RESTART,
    KEY_ROUTINES,
    KEY_SCHEDULES
};

/* All of them. */
#define WORD(name, ...)                #name " "
#define WAYS                           TUNE_SHAPE_TABLE(WORD) BETWEEN_NODES_TABLE(WORD)
#define COLLECTIVE_WORD(id, name, ...) #name " "
#define COLLECTIVES                    TUNE_COLLECTIVE_TABLE(COLLECTIVE_WORD)

static const struct argp_option descriptions[] = {
    {0, 0, 0, 0, "What is tuned:", 1},
    {"collectives", 'c', "LIST", 0, "of " COLLECTIVES "(default: all; the last four with --pattern alone)",
     1},
    {"bytes", 'b', "LIST|MIN:MAX", 0,
     "message sizes, multiples of 4; suffixes K, M, G. A range goes up by --factor (default 4:16M)", 1},
    {"block-bytes", KEY_BLOCKS, "LIST|MIN:MAX", 0,
     "sizes of a block, of collectives that move one for each rank (default: those of --bytes with which the "
     "blocks "
     "of all ranks are up to 16M)",
     1},
    {"factor", KEY_FACTOR, "F", 0, "from one size of a range to the next (default 2)", 1},
    {"pattern", KEY_PATTERN, "RECORDING", 0,
     "tune what a recorded program calls (HANPMPI_PROFILE, HANPMPI_PROFILE_SEQUENCE): its collectives, at "
     "its sizes, on its "
     "communicators; those of blocks that differ on the recorded counts",
     1},
    {"near", KEY_NEAR, "F", 0,
     "with --pattern: two patterns are one if the counts differ by no more than this share of all of them "
     "(default 0.1)",
     1},
    {"least", KEY_LEAST, "F", 0,
     "with --pattern: leave out what takes a smaller share of the recorded time in collectives (default "
     "0.001)",
     1},
    {"routines", KEY_ROUTINES, 0, 0,
     "tune for the network that HANPMPI_NETWORK describes: alltoall, allgather and allreduce from 64 bytes "
     "to 256K, every algorithm, also those that are made for the network, and their parameters; allreduces "
     "of "
     "two algorithms, of those that were the fastest; crossing points to within a hundredth; the rules ask "
     "for "
     "the network. The other options change what they say",
     1},
    {0, 0, 0, 0, "What is tried:", 2},
    {"segments", KEY_SEGMENTS, "LIST", 0, "segment sizes (default 4K,16K,64K,256K,1M)", 2},
    {"between", KEY_BETWEEN, "LIST", 0, "inter-node ways, of " WAYS "(default: all but the knomial ones)", 2},
    {"shapes", KEY_BETWEEN, 0, OPTION_ALIAS, 0, 2},
    {"modules", KEY_MODULES, "LIST", 0,
     "intra-node modules, of shm, single_copy, p2p (default shm,single_copy)", 2},
    {"trees", KEY_TREES, "LIST", 0, "roots that take turns in an allreduce, 1 to 16 (default 1,16)", 2},
    {"leaders", KEY_LEADERS, "LIST", 0,
     "ranks of a node that take turns to lead it, 1 to 16 (default: 1; on one node 1,16); of blocks one "
     "leads, or all "
     "do (default: both)",
     2},
    {0, 0, 0, 0, "How:", 3},
    {"search", KEY_SEARCH, "NAME", 0,
     "exhaustive, heuristic, task, task+heuristic (default task+heuristic; with "
     "--routines exhaustive)",
     3},
    {"compare", KEY_COMPARE, 0, 0,
     "all four, then what each chose beside the best of the exhaustive one, in turns; the rules are the "
     "exhaustive "
     "one's",
     3},
    {"repeat", 'n', "N", 0,
     "times a message of 1 MiB and more is timed (default 3); below twice, from 64 KiB down twenty times "
     "as often",
     3},
    {"finalists", KEY_FINALISTS, "N", 0,
     "configurations of a size that the task searches measure at most (default 3)", 3},
    {"steps", KEY_STEPS, "N", 0,
     "of the binary search between two sizes with other choices (default 2; with --routines 8)", 3},
    {"seconds", 's', "S", 0, "to use at most; the rules cover what was done by then", 3},
    {"budget", 's', 0, OPTION_ALIAS, 0, 3},
    {"dry-run", KEY_DRY_RUN, 0, 0, "print what would be done and how long it would take", 3},
    {"restart", KEY_RESTART, 0, 0, "do not go on where an earlier run was ended", 3},
    {0, 0, 0, 0, "Output:", 4},
    {"output", 'o', "FILE", 0, "the rules, for HANPMPI_RULES (default rules.json)", 4},
    {"results", KEY_RESULTS, "FILE", 0, "every figure (default tune.json beside the rules)", 4},
    {"schedules", KEY_SCHEDULES, "DIRECTORY", 0,
     "with --routines: the algorithms that were found, as files for HANPMPI_SCHEDULES (default schedules "
     "beside the rules)",
     4},
    {"help", BENCH_KEY_HELP, 0, 0, "this", 4},
    {"version", BENCH_KEY_VERSION, 0, 0, "version of hanpmpi_tune", 4},
    {0},
};

static const char doc[] = "Finds the best configuration of the library for each collective and message size "
                          "on the nodes and ranks it "
                          "runs on, and writes them as rules.\n\n"
                          "  LD_PRELOAD=libhanpmpi.so mpirun -np 16 hanpmpi_tune -o rules.json\n"
                          "  HANPMPI_RULES=rules.json LD_PRELOAD=libhanpmpi.so mpirun -np 16 ./program\v"
                          "Every measurement is kept in the file FILE.journal until the end: a run that was "
                          "ended goes on there when "
                          "it is started again with the same options. Exit codes: 0 done (also when the time "
                          "was up or a signal came); "
                          "1 wrong results or a file that cannot be written; 2 bad options.";

typedef struct {
    tune_options_t *options;
    const char *bytes, *blocks; /* texts of --bytes and --block-bytes; NULL: not given */
    const char *rules, *results, *schedules;
    double factor;
    bool done;
} reader_t;

/* Takes one word of a list. */
typedef bool (*take_fn_t)(tune_options_t *options, const char *word);

static error_t read_list(struct argp_state *state, const char *option, const char *argument, take_fn_t take,
                         const char *accepted)
{
    reader_t *reader = state->input;
    char *list = strdupa(argument), *rest;

    for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
        if (!take(reader->options, word))
            return BAD(state, "%s %s: accepted is a list of %s", option, word, accepted);
    return 0;
}

static bool take_collective(tune_options_t *options, const char *word)
{
    const tune_collective_t collective = tune_collective_find(word);
    if (collective < TUNE_COLLECTIVES)
        options->collectives[collective] = true;
    return collective < TUNE_COLLECTIVES;
}

static bool take_way(tune_options_t *options, const char *word)
{
    unsigned i = 0;
    while (i < TUNE_WAYS && strcmp(word, tune_way_name(i)) != 0)
        i++;
    if (i < TUNE_WAYS)
        options->choices.ways[i] = true;
    return i < TUNE_WAYS;
}

static bool take_inside(tune_options_t *options, const char *word)
{
    unsigned i = 0;
    while (i < TUNE_INSIDES && strcmp(word, tune_inside_name(i)) != 0)
        i++;
    if (i < TUNE_INSIDES)
        options->choices.insides[i] = true;
    return i < TUNE_INSIDES;
}

static bool take_segment(tune_options_t *options, const char *word)
{
    tune_choices_t *choices = &options->choices;
    size_t *place = &choices->segments[choices->segment_count];
    return choices->segment_count < TUNE_CHOICES_MAX && bench_read_size(word, place) && *place >= 64 &&
           *place <= (size_t)1 << 30 && *place % 4 == 0 &&
           (choices->segment_count++ == 0 || *place > *(place - 1));
}

static bool take_turns(int *turns, int *count, const char *word)
{
    long long whole;
    if (*count == TUNE_CHOICES_MAX || !bench_read_whole(word, 1, 16, &whole) ||
        (*count && whole <= turns[*count - 1]))
        return false;
    turns[(*count)++] = (int)whole;
    return true;
}

static bool take_trees(tune_options_t *options, const char *word)
{
    return take_turns(options->choices.trees, &options->choices.tree_count, word);
}

static bool take_leaders(tune_options_t *options, const char *word)
{
    return take_turns(options->choices.leaders, &options->choices.leader_count, word);
}

static bool take_size(tune_sizes_t *sizes, const char *word)
{
    size_t *place = &sizes->bytes[sizes->count];
    return sizes->count < TUNE_SIZES_MAX && bench_read_size(word, place) && *place >= 4 &&
           *place <= (size_t)1 << 30 && *place % 4 == 0 && (sizes->count++ == 0 || *place > *(place - 1));
}

static bool take_message(tune_options_t *options, const char *word)
{
    return take_size(&options->messages, word);
}

static bool take_block(tune_options_t *options, const char *word)
{
    return take_size(&options->blocks, word);
}

/* Multiples of 4 from MIN to MAX. */
static bool take_range(tune_sizes_t *sizes, const char *text, double factor)
{
    char low[32], word[32];
    size_t first, last;

    snprintf(low, sizeof low, "%.*s", (int)strcspn(text, ":"), text);
    if (!bench_read_size(low, &first) || !bench_read_size(strchr(text, ':') + 1, &last) || first < 4 ||
        first > last)
        return false;
    for (double now = (double)first; now <= (double)last; now *= factor) {
        const size_t bytes = (size_t)(now / 4 + 0.5) * 4;
        snprintf(word, sizeof word, "%zu", bytes);
        if ((!sizes->count || bytes > sizes->bytes[sizes->count - 1]) && !take_size(sizes, word))
            return false;
    }
    return true;
}

static void default_ways(tune_options_t *options)
{
    for (int way = 0; way < TUNE_WAYS; way++)
        options->choices.ways[way] = way != TUNE_WAY_knomial4 && way != TUNE_WAY_knomial8;
}

static bool any(const bool *flags, int count)
{
    while (count > 0)
        if (flags[--count])
            return true;
    return false;
}

/* Not of patterns alone. */
static bool has_sizes(unsigned collective)
{
    return tune_collective_family((tune_collective_t)collective) != TUNE_OF_OWN_SIZES;
}

/* What was not asked for. Leaders wait for the layout: tune_options_read does not know it. */
static void fill_in(tune_options_t *options, struct argp_state *state)
{
    tune_choices_t *choices = &options->choices;

    if (options->routines && !options->pattern && !any(options->collectives, TUNE_COLLECTIVES))
        read_list(state, "", "alltoall,allgather,allreduce", take_collective, "");
    if (!any(options->collectives, TUNE_COLLECTIVES))
        for (unsigned c = 0; c < TUNE_COLLECTIVES; c++)
            options->collectives[c] = options->pattern || has_sizes(c);
    if (!choices->segment_count)
        read_list(state, "", "4K,16K,64K,256K,1M", take_segment, "");
    if (!choices->tree_count)
        read_list(state, "", "1,16", take_trees, "");
    if (!any(choices->insides, TUNE_INSIDES))
        read_list(state, "", "shm,single_copy", take_inside, "");
    if (!any(choices->ways, TUNE_WAYS))
        default_ways(options);
    if (!any(options->searches, TUNE_SEARCHES))
        options->searches[options->routines ? TUNE_SEARCH_EXHAUSTIVE : TUNE_SEARCH_TASK_HEURISTIC] = true;
    if (options->crossing_steps < 0)
        options->crossing_steps = options->routines ? 8 : 2;
    choices->routines = options->routines;
    for (int i = 0; i < TUNE_SEARCHES; i++)
        options->searches[i] |= options->compare;
    options->rules_from = TUNE_SEARCH_EXHAUSTIVE;
    while (!options->searches[options->rules_from])
        options->rules_from++;
}

static bool name_files(tune_options_t *options, const reader_t *reader)
{
    const char *slash = strrchr(reader->rules, '/');
    const int folder = slash ? (int)(slash + 1 - reader->rules) : 0;

    options->rules = strdup(reader->rules);
    if (reader->results)
        options->results = strdup(reader->results);
    else if (asprintf(&options->results, "%.*stune.json", folder, reader->rules) < 0)
        options->results = NULL;
    if (asprintf(&options->journal, "%s.journal", reader->rules) < 0)
        options->journal = NULL;
    if (reader->schedules)
        options->schedules = strdup(reader->schedules);
    else if (asprintf(&options->schedules, "%.*sschedules", folder, reader->rules) < 0)
        options->schedules = NULL;
    return options->rules && options->results && options->journal && options->schedules;
}

static error_t read_sizes(struct argp_state *state, const char *option, const char *text, double factor,
                          tune_sizes_t *sizes, take_fn_t take)
{
    if (strchr(text, ':'))
        return take_range(sizes, text, factor)
                   ? 0
                   : BAD(state, "%s %s: accepted is MIN:MAX with 4 <= MIN <= MAX <= 1G, at most %d sizes",
                         option, text, TUNE_SIZES_MAX);
    if (read_list(state, option, text, take, "ascending multiples of 4 from 4 to 1G, with K, M or G"))
        return EINVAL;
    return sizes->count ? 0 : BAD(state, "%s %s: accepted is at least one size", option, text);
}

/* What does not go together. */
static error_t check_pattern(const reader_t *reader, struct argp_state *state)
{
    const tune_options_t *options = reader->options;

    if (options->pattern && (reader->bytes || reader->blocks))
        return BAD(state, "--pattern has the sizes of the recording: accepted is --pattern without --bytes "
                          "and --block-bytes");
    for (unsigned c = 0; c < TUNE_COLLECTIVES && !options->pattern; c++)
        if (options->collectives[c] && !has_sizes(c))
            return BAD(state,
                       "--collectives %s: each rank knows its own sizes alone; accepted with --pattern",
                       tune_collective_name((tune_collective_t)c));
    return 0;
}

static error_t finish(reader_t *reader, struct argp_state *state)
{
    tune_options_t *options = reader->options;
    error_t error = check_pattern(reader, state);

    if (error)
        return error;
    error = read_sizes(state, "--bytes",
                       reader->bytes       ? reader->bytes
                       : options->routines ? "64,512,1K,2K,4K,8K,16K,32K,64K,128K,256K"
                                           : "4:16M",
                       reader->factor, &options->messages, take_message);

    if (!error && reader->blocks)
        error =
            read_sizes(state, "--block-bytes", reader->blocks, reader->factor, &options->blocks, take_block);
    if (error)
        return error;
    fill_in(options, state);
    return name_files(options, reader) ? 0 : ENOMEM;
}

static error_t read_search(tune_options_t *options, const char *argument, struct argp_state *state)
{
    static const char *const names[] = {
#define X(id, name, tasks, heuristic, text) name,
        TUNE_SEARCH_TABLE(X)
#undef X
    };
    for (int i = 0; i < TUNE_SEARCHES; i++)
        if (strcmp(argument, names[i]) == 0) {
            memset(options->searches, 0, sizeof options->searches);
            options->searches[i] = true;
            return 0;
        }
    return BAD(state, "--search %s: accepted are exhaustive, heuristic, task, task+heuristic", argument);
}

static error_t read_count(int *value, const char *option, const char *argument, int least, int most,
                          struct argp_state *state)
{
    long long whole;
    if (!bench_read_whole(argument, least, most, &whole))
        return BAD(state, "%s %s: accepted are %d to %d", option, argument, least, most);
    *value = (int)whole;
    return 0;
}

/* Options of the space, and what all programs have. ARGP_ERR_UNKNOWN: none of them. */
static error_t read_space(int key, char *argument, struct argp_state *state)
{
    switch (key) {
    case 'c':
        return read_list(state, "--collectives", argument, take_collective, COLLECTIVES);
    case KEY_SEGMENTS:
        return read_list(state, "--segments", argument, take_segment,
                         "at most 16 ascending multiples of 4 from 64 to 1G, with K, M or G");
    case KEY_BETWEEN:
        return read_list(state, "--between", argument, take_way, WAYS);
    case KEY_MODULES:
        return read_list(state, "--modules", argument, take_inside, "shm, single_copy, p2p");
    case KEY_TREES:
        return read_list(state, "--trees", argument, take_trees, "ascending numbers from 1 to 16");
    case KEY_LEADERS:
        return read_list(state, "--leaders", argument, take_leaders, "ascending numbers from 1 to 16");
    default:
        return bench_common_option(key, argument, state, "hanpmpi_tune", &((reader_t *)state->input)->done);
    }
}

static error_t read_option(int key, char *argument, struct argp_state *state)
{
    reader_t *reader = state->input;
    tune_options_t *options = reader->options;

    switch (key) {
    case 'b':
        reader->bytes = argument;
        return 0;
    case KEY_BLOCKS:
        reader->blocks = argument;
        return 0;
    case KEY_PATTERN:
        options->pattern = argument;
        return 0;
    case KEY_NEAR:
        return bench_read_real(argument, 0, 2, &options->near)
                   ? 0
                   : BAD(state, "--near %s: accepted are 0 to 2", argument);
    case KEY_LEAST:
        return bench_read_real(argument, 0, 1, &options->least)
                   ? 0
                   : BAD(state, "--least %s: accepted are 0 to 1", argument);
    case KEY_FACTOR:
        return bench_read_real(argument, 1.1, 1e9, &reader->factor)
                   ? 0
                   : BAD(state, "--factor %s: accepted are 1.1 and more", argument);
    case KEY_SEARCH:
        return read_search(options, argument, state);
    case KEY_COMPARE:
        options->compare = true;
        return 0;
    case 'n':
        return read_count(&options->repeat, "--repeat", argument, 1, 1000, state);
    case KEY_FINALISTS:
        return read_count(&options->finalists, "--finalists", argument, 0, 100, state);
    case KEY_STEPS:
        return read_count(&options->crossing_steps, "--steps", argument, 0, 20, state);
    case 's':
        return bench_read_real(argument, 0.001, 1e7, &options->seconds)
                   ? 0
                   : BAD(state, "--seconds %s: accepted are 0.001 and more", argument);
    case KEY_DRY_RUN:
        options->dry_run = true;
        return 0;
    case KEY_ROUTINES:
        options->routines = true;
        return 0;
    case KEY_RESTART:
        options->restart = true;
        return 0;
    case 'o':
        reader->rules = argument;
        return 0;
    case KEY_RESULTS:
        reader->results = argument;
        return 0;
    case KEY_SCHEDULES:
        reader->schedules = argument;
        return 0;
    case ARGP_KEY_SUCCESS:
        return finish(reader, state);
    default:
        return read_space(key, argument, state);
    }
}

tune_options_result_t tune_options_read(tune_options_t *options, int argc, char **argv, bool speak)
{
    const struct argp argp = {.options = descriptions, .parser = read_option, .doc = doc};
    reader_t reader = {.options = options, .factor = 2, .rules = "rules.json"};

    *options =
        (tune_options_t){.repeat = 3, .finalists = 3, .crossing_steps = -1, .near = 0.1, .least = 0.001};
    const error_t error = bench_parse(&argp, argc, argv, speak, &reader);
    return reader.done ? TUNE_OPTIONS_DONE : error ? TUNE_OPTIONS_BAD : TUNE_OPTIONS_RUN;
}

/* "tune.json", "tune.json.2", ...: the file of a class of communicators. */
static char *numbered(const char *name, int number)
{
    char *text = NULL;

    if ((number == 0 ? asprintf(&text, "%s", name) : asprintf(&text, "%s.%d", name, number + 1)) < 0 ||
        !text) {
        fputs("hanpmpi_tune: no memory for the names of files\n", stderr);
        exit(EXIT_FAILURE);
    }
    return text;
}

void tune_options_narrow(tune_options_t *options, const tune_options_t *all, int number,
                         const bool *collectives, const bool *on_patterns, const tune_sizes_t *sizes,
                         const tune_patterns_t *patterns)
{
    *options = *all;
    memcpy(options->collectives, collectives, sizeof options->collectives);
    memcpy(options->on_patterns, on_patterns, sizeof options->on_patterns);
    memcpy(options->own, sizes, sizeof options->own);
    options->patterns = patterns;
    options->rules = numbered(all->rules, 0); /* one file for all */
    options->schedules = numbered(all->schedules, 0);
    options->results = numbered(all->results, number);
    options->journal = numbered(all->journal, number);
}

/* One node: its ranks may all lead in turn; several: one each. Of a barrier and of blocks one leads, or all do. */
static void fit_leaders(tune_choices_t *choices, const tune_layout_t *layout)
{
    choices->one_leads = choices->all_lead = !choices->leader_count;
    for (int i = 0; i < choices->leader_count; i++)
        *(choices->leaders[i] > 1 ? &choices->all_lead : &choices->one_leads) = true;
    if (choices->leader_count)
        return;
    choices->leaders[choices->leader_count++] = 1;
    if (layout->nodes == 1)
        choices->leaders[choices->leader_count++] = 16;
}

/* Those of the messages, as far as all ranks' blocks are not too long: at least one. */
static void fit_blocks(tune_options_t *options, size_t ranks)
{
    tune_sizes_t *blocks = &options->blocks;

    *blocks = options->messages;
    while (blocks->count > 1 && blocks->bytes[blocks->count - 1] > BLOCKS_USUAL_BYTES / ranks)
        blocks->count--;
}

bool tune_options_fit(tune_options_t *options, const tune_layout_t *layout, bool speak)
{
    const size_t ranks = (size_t)layout->ranks;
    bool moves_blocks = false;

    fit_leaders(&options->choices, layout);
    if (options->patterns) /* what was recorded fits */
        return true;
    if (!options->blocks.count)
        fit_blocks(options, ranks);
    for (int c = 0; c < TUNE_COLLECTIVES; c++)
        moves_blocks |=
            options->collectives[c] && tune_collective_family((tune_collective_t)c) == TUNE_OF_BLOCKS;
    const size_t longest = options->blocks.bytes[options->blocks.count - 1];
    const bool fits = !moves_blocks || longest <= BLOCKS_MOST_BYTES / ranks;
    if (!fits && speak)
        fprintf(stderr,
                "hanpmpi_tune: blocks of %zu bytes are too long for %zu ranks: accepted are, for all ranks "
                "together, up to 1G; give --block-bytes\n",
                longest, ranks);
    return fits;
}

const tune_sizes_t *tune_sizes(const tune_options_t *options, unsigned collective)
{
    static const tune_sizes_t nothing = {.count = 1};

    if (options->patterns)
        return &options->own[collective];
    switch (tune_collective_family((tune_collective_t)collective)) {
    case TUNE_OF_NOTHING:
    case TUNE_OF_OWN_SIZES:
        return &nothing;
    case TUNE_OF_BLOCKS:
        return &options->blocks;
    case TUNE_OF_SEGMENTS:
    case TUNE_OF_ONE_BLOCK:
        break;
    }
    return &options->messages;
}

void tune_options_fini(tune_options_t *options)
{
    free(options->rules);
    free(options->schedules);
    free(options->results);
    free(options->journal);
}

size_t tune_key_bytes(const tune_options_t *options, const tune_key_t *key)
{
    return tune_kind_has_pattern(key->kind) ? tune_pattern_bytes(&options->patterns->list[key->bytes])
                                            : key->bytes;
}

int tune_repetitions(const tune_options_t *options, tune_kind_t kind, size_t bytes)
{
    const int times = bytes <= SHORT_BYTES ? 20 : bytes < LONG_BYTES ? 2 : 1;
    /* What pairs decide lies close together. */
    return times * options->repeat * (tune_kind_is_pair(kind) ? 2 : 1);
}

int tune_repetitions_of(const tune_options_t *options, tune_kind_t kind, size_t bytes, double us)
{
    const double most_us = 1e6;
    const int wanted = tune_repetitions(options, kind, bytes),
              least = wanted < options->repeat ? wanted : options->repeat;

    return wanted * us <= most_us ? wanted : least * us >= most_us ? least : (int)(most_us / us);
}
