#include "options.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hanpmpi/hanpmpi.h"
#include "command_line.h"
#include "mockups.h"
#include "numbers.h"
#include "options_text.h"

typedef struct {
    bench_options_t *options;
    const char *bytes; /* text of --bytes */
    const char *op;
    double factor;
    int size;
    bool done, force, named_collectives;
    const char *overlap_only; /* an option that was given and needs --overlap */
} reader_t;

static error_t read_collectives(reader_t *reader, const char *argument, struct argp_state *state)
{
    bench_options_t *options = reader->options;
    char *list = strdupa(argument), *rest; /* strtok_r writes into it, and the command line is reported */

    options->collective_count = 0;
    reader->named_collectives = true;
    for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        const bench_collective_t *collective = bench_collective_find(word);
        if (!collective || options->collective_count == BENCH_COLLECTIVES_MAX)
            return BAD(state, "--collective %s: accepted is a list of %s", word, bench_collective_names());
        options->collectives[options->collective_count++] = collective;
    }
    return 0;
}

static error_t read_pattern(reader_t *reader, const char *argument, struct argp_state *state)
{
    int pattern = 0;

    while (bench_pattern_name(pattern) && strcmp(argument, bench_pattern_name(pattern)) != 0)
        pattern++;
    reader->options->pattern = (bench_pattern_t)pattern;
    return bench_pattern_name(pattern)
               ? 0
               : BAD(state, "--pattern %s: accepted are equal, ragged, sparse, hot", argument);
}

static error_t read_arrivals(reader_t *reader, const char *argument, struct argp_state *state)
{
    bench_options_t *options = reader->options;
    char *list = strdupa(argument), *rest; /* strtok_r writes into it, and the command line is reported */

    options->arrival_count = 0;
    for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        int arrival = 0;
        while (arrival < BENCH_ARRIVAL_COUNT &&
               strcmp(word, bench_arrival_name((bench_arrival_t)arrival)) != 0)
            arrival++;
        if (arrival == BENCH_ARRIVAL_COUNT || options->arrival_count == BENCH_ARRIVAL_COUNT)
            return BAD(state, "--arrival %s: accepted is a list of none, ascending, late, random", word);
        options->arrivals[options->arrival_count++] = (bench_arrival_t)arrival;
    }
    return 0;
}

static error_t read_skews(reader_t *reader, const char *argument, struct argp_state *state)
{
    bench_options_t *options = reader->options;
    char *list = strdupa(argument), *rest; /* strtok_r writes into it, and the command line is reported */

    options->skew_count = 0;
    for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
        if (options->skew_count == BENCH_SKEWS_MAX ||
            !bench_read_real(word, 0.001, 1000, &options->skews[options->skew_count++]))
            return BAD(state, "--skew %s: accepted is a list of at most %d multiples from 0.001 to 1000",
                       word, BENCH_SKEWS_MAX);
    return 0;
}

static error_t read_tests(reader_t *reader, const char *argument, struct argp_state *state)
{
    bench_nonblocking_plan_t *plan = &reader->options->plan;
    char *list = strdupa(argument), *rest; /* strtok_r writes into it, and the command line is reported */
    long long tests;

    plan->test_count = 0;
    for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        if (plan->test_count == BENCH_TESTS_MAX || !bench_read_whole(word, 0, BENCH_TESTS_MOST, &tests))
            return BAD(state, "--tests %s: accepted is a list of at most %d numbers from 0 to %d", word,
                       BENCH_TESTS_MAX, BENCH_TESTS_MOST);
        plan->tests[plan->test_count++] = (int)tests;
    }
    reader->overlap_only = "--tests";
    return plan->test_count ? 0 : BAD(state, "--tests needs at least one number");
}

static error_t add_size(reader_t *reader, size_t bytes, struct argp_state *state)
{
    bench_options_t *options = reader->options;
    const bench_type_t *type = options->type;

    if (bytes % type->bytes)
        return BAD(state, "--bytes %zu: accepted are multiples of the %zu bytes of %s", bytes, type->bytes,
                   type->name);
    if (bytes / type->bytes > bench_count_max())
        return BAD(state,
                   "--bytes %zu: this MPI has no MPI_Bcast_c and counts up to %zu elements: accepted are at "
                   "most %zu "
                   "bytes of %s; take a larger datatype or an MPI 4",
                   bytes, bench_count_max(), bench_count_max() * type->bytes, type->name);
    if (options->size_count == BENCH_SIZES_MAX)
        return BAD(state, "--bytes: accepted are at most %d sizes", BENCH_SIZES_MAX);
    options->bytes[options->size_count++] = bytes;
    return 0;
}

/* MIN, then whole elements by the factor, until MAX. */
static error_t read_range(reader_t *reader, const char *text, struct argp_state *state)
{
    char low[32] = "";
    const char *colon = strchr(text, ':');
    const size_t unit = reader->options->type->bytes;
    size_t first, last;
    error_t error = 0;

    snprintf(low, sizeof low, "%.*s", (int)(colon - text), text);
    if (!bench_read_size(low, &first) || !bench_read_size(colon + 1, &last) || first > last)
        return BAD(state,
                   "--bytes %s: accepted are MIN:MAX with MIN <= MAX, in bytes with K, M or G, or a list",
                   text);
    if (first == 0) {
        error = add_size(reader, 0, state);
        first = unit;
    }
    for (double now = (double)((first + unit - 1) / unit * unit); !error && now <= (double)last;
         now *= reader->factor) {
        const size_t bytes = (size_t)(now / (double)unit + 0.5) * unit;
        const bench_options_t *options = reader->options;
        if (!options->size_count || bytes != options->bytes[options->size_count - 1])
            error = add_size(reader, bytes, state);
    }
    return error;
}

static error_t read_sizes(reader_t *reader, struct argp_state *state)
{
    char *list = strdup(reader->bytes), *rest;
    error_t error = 0;

    if (strchr(list, ':'))
        error = read_range(reader, list, state);
    else
        for (char *word = strtok_r(list, ",", &rest); word && !error; word = strtok_r(NULL, ",", &rest)) {
            size_t bytes;
            error = bench_read_size(word, &bytes)
                        ? add_size(reader, bytes, state)
                        : BAD(state, "--bytes %s: accepted are whole numbers of bytes with K, M or G", word);
        }
    free(list);
    return error;
}

static error_t add_hint(reader_t *reader, const char *text, struct argp_state *state)
{
    bench_options_t *options = reader->options;

    if (options->hint_count == BENCH_HINTS_MAX ||
        strncmp(text, HANPMPI_HINT_ENABLE, strlen(HANPMPI_HINT_ENABLE)) != 0 || !strchr(text, '=') ||
        !strchr(text, '=')[1])
        return BAD(state, "--hint %s: accepted is KEY=VALUE with a key of hanpmpi.h, at most %d of them",
                   text, BENCH_HINTS_MAX);
    options->hints[options->hint_count++] = strdup(text);
    return 0;
}

/* Puts the names of the tables into the descriptions. */
static char *complete_description(int key, const char *text, void *input)
{
    char *complete = NULL;

    (void)input;
    if (key == 'c' || key == 'd' || key == 'o')
        if (asprintf(&complete, text,
                     key == 'c'   ? bench_collective_names()
                     : key == 'd' ? bench_type_names()
                                  : bench_op_names(NULL)) > 0)
            return complete;
    return (char *)text;
}

/* Counts and places of blocks are ints, MPI_Alltoallw's places in bytes. */
static error_t check_blocks(const reader_t *reader, struct argp_state *state)
{
    const bench_options_t *options = reader->options;
    const bench_type_t *type = options->type;

    for (int i = 0; i < options->collective_count; i++)
        for (int s = 0; s < options->size_count && options->collectives[i]->has_blocks; s++)
            if (bench_blocks_most(&options->collectives[i]->blocks, options->bytes[s] / type->bytes,
                                  reader->size) > INT_MAX / type->extent)
                return BAD(state,
                           "--bytes %zu: accepted for %s on %d ranks are blocks of less, 2 GiB together",
                           options->bytes[s], options->collectives[i]->name, reader->size);
    return 0;
}

/* Defaults of --guidelines, and what it can be given with. Mock-ups send a message and a share more at most. */
static error_t finish_guidelines(reader_t *reader, struct argp_state *state)
{
    bench_options_t *options = reader->options;

    if (options->overlap || options->cold || options->arrival_count != 1 ||
        options->arrivals[0] != BENCH_ARRIVAL_NONE)
        return BAD(state,
                   "--guidelines: accepted with it are --buffers warm and --arrival none, no --overlap");
    if (!reader->named_collectives)
        options->collective_count = 0;
    for (int i = 0; !reader->named_collectives && bench_collective(i); i++)
        if (bench_mockup(bench_collective(i)->name, 0))
            options->collectives[options->collective_count++] = bench_collective(i);
    for (int i = 0; i < options->collective_count; i++)
        if (!bench_mockup(options->collectives[i]->name, 0))
            return BAD(state, "--collective %s: has no mock-up for --guidelines",
                       options->collectives[i]->name);
    return 0;
}

static error_t check_guideline_sizes(const reader_t *reader, struct argp_state *state)
{
    const bench_options_t *options = reader->options;
    const bench_type_t *type = options->type;

    for (int s = 0; s < options->size_count && options->guidelines; s++)
        if (options->bytes[s] / type->bytes + (size_t)reader->size > INT_MAX / type->extent)
            return BAD(state, "--bytes %zu: accepted with --guidelines is less than 2 GiB",
                       options->bytes[s]);
    return 0;
}

/* What options mean together. */
static error_t finish(reader_t *reader, struct argp_state *state)
{
    bench_options_t *options = reader->options;
    bool reduces = false;
    error_t error = 0;

    if (!options->collective_count || !options->arrival_count || !options->skew_count)
        return BAD(state, "--collective, --arrival and --skew need at least one name or number");
    if (!reader->bytes)
        reader->bytes = options->guidelines ? "8:1M" : "8:4M";
    if (reader->factor == 0)
        reader->factor = options->guidelines ? 8 : 2;
    if (options->guidelines && (error = finish_guidelines(reader, state)))
        return error;
    for (int i = 0; i < options->collective_count; i++)
        reduces |= options->collectives[i]->reduces;
    options->op = reader->op ? bench_op_find(reader->op) : bench_op_default(options->type);
    if (!options->op)
        return BAD(state, "--op %s: accepted are %s", reader->op, bench_op_names(NULL));
    if (reduces && !bench_op_applies(options->op, options->type))
        return BAD(state, "--op %s: accepted on %s are %s", reader->op, options->type->name,
                   bench_op_names(options->type));
    if (options->json && options->csv && strcmp(options->json, "-") == 0 && strcmp(options->csv, "-") == 0)
        return BAD(state, "--json - and --csv -: only one of them can have the standard output");
    if (reader->overlap_only && !options->overlap)
        return BAD(state, "%s: is for non-blocking collectives: give --overlap too", reader->overlap_only);
    if (options->overlap && (options->arrival_count > 1 || options->arrivals[0] != BENCH_ARRIVAL_NONE))
        return BAD(state, "--overlap: accepted with it is --arrival none only");
    if (options->plan.persistent && (options->cold || options->root == BENCH_ROTATE))
        return BAD(state, "--persistent: accepted with it are --buffers warm and a --root that stays");
    if (options->raw && !options->json)
        return BAD(state, "--raw: is for the JSON file: give --json FILE too");
    /* Behind --force, a hint that was given wins: an info object keeps the last value. */
    for (int i = 0; reader->force && bench_collective(i) && bench_collective(i)->hint; i++) {
        char hint[128];
        bool given = false;
        const size_t length = strlen(bench_collective(i)->hint);
        for (int h = 0; h < options->hint_count; h++)
            given |= strncmp(options->hints[h], bench_collective(i)->hint, length) == 0 &&
                     options->hints[h][length] == '=';
        snprintf(hint, sizeof hint, "%s=%s", bench_collective(i)->hint, bench_collective(i)->forced);
        if (!given)
            error = add_hint(reader, hint, state);
    }
    if (!error)
        error = read_sizes(reader, state);
    if (!error)
        error = check_blocks(reader, state);
    if (!error)
        error = check_guideline_sizes(reader, state);
    if (!error && !options->size_count)
        return BAD(state,
                   "--bytes %s: accepted are sizes and ranges that hold a multiple of the %zu bytes of %s",
                   reader->bytes, options->type->bytes, options->type->name);
    return error;
}

static error_t read_option(int key, char *argument, struct argp_state *state)
{
    reader_t *reader = state->input;
    bench_options_t *options = reader->options;
    long long whole;

    switch (key) {
    case 'c':
        return read_collectives(reader, argument, state);
    case 'b':
        reader->bytes = argument;
        return 0;
    case KEY_PATTERN:
        return read_pattern(reader, argument, state);
    case KEY_FACTOR:
        return bench_read_real(argument, 1.01, 1e9, &reader->factor)
                   ? 0
                   : BAD(state, "--factor %s: accepted are 1.01 and more", argument);
    case 'd':
        options->type = bench_type_find(argument);
        return options->type ? 0 : BAD(state, "--datatype %s: accepted are %s", argument, bench_type_names());
    case 'o':
        reader->op = argument;
        return bench_op_find(argument)
                   ? 0
                   : BAD(state, "--op %s: accepted are %s", argument, bench_op_names(NULL));
    case 'R':
        if (strcmp(argument, "rotate") == 0)
            options->root = BENCH_ROTATE;
        else if (bench_read_whole(argument, 0, reader->size - 1, &whole))
            options->root = (int)whole;
        else
            return BAD(state, "--root %s: accepted are 0 to %d, and rotate", argument, reader->size - 1);
        return 0;
    case 'B':
        options->warm = strcmp(argument, "warm") == 0 || strcmp(argument, "both") == 0;
        options->cold = strcmp(argument, "cold") == 0 || strcmp(argument, "both") == 0;
        return options->warm || options->cold
                   ? 0
                   : BAD(state, "--buffers %s: accepted are warm, cold, both", argument);
    case KEY_COLD_BYTES:
        return bench_read_size(argument, &options->cold_bytes) && options->cold_bytes
                   ? 0
                   : BAD(state, "--cold-bytes %s: accepted are whole numbers of bytes from 1, with K, M or G",
                         argument);
    case 'a':
        return read_arrivals(reader, argument, state);
    case KEY_SKEW:
        return read_skews(reader, argument, state);
    case KEY_SEED:
        if (!bench_read_whole(argument, 0, INT64_MAX, &whole))
            return BAD(state, "--seed %s: accepted are whole numbers from 0", argument);
        options->seed = (uint64_t)whole;
        return 0;
    case 'H':
        return add_hint(reader, argument, state);
    case KEY_FORCE:
        reader->force = true;
        return 0;
    case KEY_SYNC:
        options->sync_library = strcmp(argument, "library") == 0;
        return options->sync_library || strcmp(argument, "host") == 0
                   ? 0
                   : BAD(state, "--sync %s: accepted are host, library", argument);
    case 's':
        return bench_read_real(argument, 0.001, 86400, &options->seconds)
                   ? 0
                   : BAD(state, "--seconds %s: accepted are 0.001 to 86400", argument);
    case 'n':
        if (!bench_read_whole(argument, 1, BENCH_REPEAT_MAX, &whole))
            return BAD(state, "--repeat %s: accepted are 1 to %d", argument, BENCH_REPEAT_MAX);
        options->repeat = (int)whole;
        return 0;
    case KEY_WARMUP:
        if (!bench_read_whole(argument, 1, 1000, &whole))
            return BAD(state, "--warmup %s: accepted are 1 to 1000", argument);
        options->warmup = (int)whole;
        return 0;
    case KEY_OVERLAP:
        options->overlap = true;
        return 0;
    case KEY_PERSISTENT:
        reader->overlap_only = "--persistent";
        options->plan.persistent = true;
        return bench_has_persistent()
                   ? 0
                   : BAD(state, "--persistent: needs MPI 4; this is %d.%d", MPI_VERSION, MPI_SUBVERSION);
    case KEY_TESTS:
        return read_tests(reader, argument, state);
    case KEY_COMPUTE:
        reader->overlap_only = "--compute";
        return bench_read_real(argument, 0.01, 100, &options->plan.compute_factor)
                   ? 0
                   : BAD(state, "--compute %s: accepted are 0.01 to 100", argument);
    case KEY_GUIDELINES:
        options->guidelines = true;
        return 0;
    case KEY_RAW:
        options->raw = true;
        return 0;
    case KEY_JSON:
        options->json = argument;
        return 0;
    case KEY_CSV:
        options->csv = argument;
        return 0;
    case ARGP_KEY_SUCCESS:
        return finish(reader, state);
    default:
        return bench_common_option(key, argument, state, "hanpmpi_bench", &reader->done);
    }
}

bench_options_result_t bench_options_read(bench_options_t *options, int argc, char **argv, int size,
                                          bool speak)
{
    const struct argp argp = {.options = bench_option_descriptions,
                              .parser = read_option,
                              .doc = bench_options_doc,
                              .help_filter = complete_description};
    reader_t reader = {.options = options, .size = size};

    *options = (bench_options_t){.repeat = 0,
                                 .warmup = 5,
                                 .seconds = 1,
                                 .warm = true,
                                 .pattern = BENCH_RAGGED,
                                 .seed = 1,
                                 .arrivals = {BENCH_ARRIVAL_NONE},
                                 .arrival_count = 1,
                                 .skews = {0.5, 1},
                                 .skew_count = 2,
                                 .type = bench_type_find("MPI_DOUBLE"),
                                 .plan = {.tests = {0, 20}, .test_count = 2, .compute_factor = 1}};
    while (!bench_collective(options->collective_count)->has_blocks) { /* they come first */
        options->collectives[options->collective_count] = bench_collective(options->collective_count);
        options->collective_count++;
    }
    const error_t error = bench_parse(&argp, argc, argv, speak, &reader);
    return reader.done ? BENCH_OPTIONS_DONE : error ? BENCH_OPTIONS_BAD : BENCH_OPTIONS_RUN;
}

void bench_options_fini(bench_options_t *options)
{
    for (int i = 0; i < options->hint_count; i++)
        free(options->hints[i]);
}
