#include "options.h"

#include <stdlib.h>
#include <string.h>

#include "bench/command_line.h"
#include "bench/numbers.h"

enum { KEY_GAPS = BENCH_KEY_OWN, KEY_FILL, KEY_WARMUP, KEY_JSON, KEY_SMPI, KEY_FLOPS };

static const char *const gaps_names[] = {
#define X(id, name) #name,
    REPLAY_GAPS_TABLE(X)
#undef X
};
static const char *const fill_names[] = {
#define X(id, name) #name,
    REPLAY_FILL_TABLE(X)
#undef X
};

static const struct argp_option descriptions[] = {
    {0, 0, 0, 0, "What is replayed:", 1},
    {"gaps", KEY_GAPS, "WHICH", 0,
     "recorded: as much time between two collectives of a rank as in the recording, and so the same arrival; "
     "none: one "
     "collective after the other (default recorded)",
     1},
    {"fill", KEY_FILL, "HOW", 0,
     "what a rank does in a gap: compute, but for the share of it that the program was in other calls of "
     "MPI, in which it "
     "yields; or sleep (default compute)",
     1},
    {"hint", 'H', "KEY=VALUE", 0,
     "info key for the library's communicators (hanpmpi.h); may be given several times", 1},
    {0, 0, 0, 0, "How often:", 2},
    {"repeat", 'n', "N", 0, "passes of each side whose median counts (default 5)", 2},
    {"warmup", KEY_WARMUP, "N", 0,
     "passes of each side before them, in which the library finds out what is fast (default 2)", 2},
    {0, 0, 0, 0, "Output:", 3},
    {"json", KEY_JSON, "FILE", 0, "everything, with the times of every pass; - is standard output", 3},
    {"smpi", KEY_SMPI, "DIR", 0,
     "replay nothing; write the sequence as a time-independent trace for SimGrid (smpirun -replay DIR/index)",
     3},
    {"flops", KEY_FLOPS, "F", 0,
     "with --smpi: a gap of a second becomes a computation of so many flops, the speed of the recording's "
     "hosts (default "
     "1e9)",
     3},
    {"help", BENCH_KEY_HELP, 0, 0, "this", 3},
    {"version", BENCH_KEY_VERSION, 0, 0, "version of hanpmpi_replay", 3},
    {0},
};

static const char doc[] =
    "Runs the collectives of a recorded program again, with the library and without it in turns, and says "
    "what the program "
    "would gain. Neither the program nor its data is needed; the number of ranks must be the recording's.\n\n"
    "  HANPMPI_PROFILE=out.json HANPMPI_PROFILE_SEQUENCE=10000 LD_PRELOAD=libhanpmpi.so mpirun -np 16 "
    "./program\n"
    "  LD_PRELOAD=libhanpmpi.so mpirun -np 16 hanpmpi_replay out.json\v"
    "Exit codes: 0 done; 1 wrong results or a file that cannot be written; 2 bad options or a recording that "
    "cannot be "
    "replayed.";

typedef struct {
    replay_options_t *options;
    bool done;
} reader_t;

/* The place of a word; -1: it is none of them. */
static int find(const char *const *names, int count, const char *word)
{
    while (count > 0)
        if (strcmp(names[--count], word) == 0)
            return count;
    return -1;
}

static error_t read_count(struct argp_state *state, const char *option, const char *argument, int least,
                          int *count)
{
    enum { MOST = 1000 };
    long long whole;

    if (!bench_read_whole(argument, least, MOST, &whole))
        return BAD(state, "%s %s: accepted are %d to %d", option, argument, least, MOST);
    *count = (int)whole;
    return 0;
}

static error_t read_hint(replay_options_t *options, char *argument, struct argp_state *state)
{
    const char *equals = strchr(argument, '=');
    char **longer;

    if (!equals || equals == argument)
        return BAD(state, "--hint %s: accepted is KEY=VALUE", argument);
    if (!(longer = realloc(options->hints, (size_t)(options->hint_count + 1) * sizeof *longer)))
        return ENOMEM;
    options->hints = longer;
    options->hints[options->hint_count++] = argument;
    return 0;
}

static error_t read_option(int key, char *argument, struct argp_state *state)
{
    reader_t *reader = state->input;
    replay_options_t *options = reader->options;
    int which;

    switch (key) {
    case KEY_GAPS:
        if ((which = find(gaps_names, REPLAY_GAPS, argument)) < 0)
            return BAD(state, "--gaps %s: accepted are none, recorded", argument);
        options->gaps = (replay_gaps_t)which;
        return 0;
    case KEY_FILL:
        if ((which = find(fill_names, REPLAY_FILLS, argument)) < 0)
            return BAD(state, "--fill %s: accepted are sleep, compute", argument);
        options->fill = (replay_fill_t)which;
        return 0;
    case 'H':
        return read_hint(options, argument, state);
    case 'n':
        return read_count(state, "--repeat", argument, 1, &options->repeat);
    case KEY_WARMUP:
        return read_count(state, "--warmup", argument, 1, &options->warmup);
    case KEY_JSON:
        options->json = argument;
        return 0;
    case KEY_SMPI:
        options->smpi = argument;
        return 0;
    case KEY_FLOPS:
        return bench_read_real(argument, 1, 1e18, &options->flops)
                   ? 0
                   : BAD(state, "--flops %s: accepted are 1 to 1e18", argument);
    case ARGP_KEY_ARG:
        if (options->recording)
            return BAD(state, "%s: accepted is one recording, and %s is there already", argument,
                       options->recording);
        options->recording = argument;
        return 0;
    case ARGP_KEY_NO_ARGS:
        return BAD(state, "a recording is missing: hanpmpi_replay FILE, as HANPMPI_PROFILE=FILE writes it");
    default:
        return bench_common_option(key, argument, state, "hanpmpi_replay", &reader->done);
    }
}

replay_options_result_t replay_options_read(replay_options_t *options, int argc, char **argv, bool speak)
{
    const struct argp argp = {
        .options = descriptions, .parser = read_option, .args_doc = "RECORDING", .doc = doc};
    reader_t reader = {.options = options};

    *options = (replay_options_t){
        .gaps = REPLAY_GAPS_RECORDED, .fill = REPLAY_FILL_COMPUTE, .flops = 1e9, .repeat = 5, .warmup = 2};
    const error_t error = bench_parse(&argp, argc, argv, speak, &reader);
    return reader.done ? REPLAY_OPTIONS_DONE : error ? REPLAY_OPTIONS_BAD : REPLAY_OPTIONS_RUN;
}

void replay_options_fini(replay_options_t *options)
{
    free(options->hints);
}

const char *replay_gaps_name(replay_gaps_t gaps)
{
    return gaps_names[gaps];
}

const char *replay_fill_name(replay_fill_t fill)
{
    return fill_names[fill];
}
