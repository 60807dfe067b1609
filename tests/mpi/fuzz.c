/* fuzz: the differential fuzzer (fuzz.h says how it works).
 *
 * usage: fuzz [--seed S] [--count N] [--seconds T] [--max-bytes B] [--stuck-seconds T] [--expect-taken]
 *             [--only COLLECTIVES] [--bcast LIST] [--reduce LIST] [--allgatherv LIST] ... [--modules LIST]
 *             [--nonblocking PERCENT] [--persistent PERCENT] [--free-communicators] [--thread-multiple]
 *             [--complex-gaps] [--known NAME]
 *
 * --nonblocking: of the cases, so many are sequences of collectives in flight; --persistent: of these
 * collectives, so many are persistent (where mpi.h has them). --free-communicators: with collectives in flight,
 * as is done without the option where the host survives it. --thread-multiple: the level that is asked for.
 * --complex-gaps: also datatypes of complex numbers that the host packs wrongly in all but short messages.
 * --known: each rank writes to NAME.RANK what a recording has to say of it (fuzz_known.h).
 * --only: of these collectives, comma-separated ("bcast,scan"), and Bcast where the host would get the one drawn wrong.
 * LIST: algorithms, or modules for each level ("rules": no hint), comma-separated, from which the hints of a
 * communicator are drawn; leaders, pieces and joins are drawn too. Without --seed the clock
 * gives one. The seed is printed first; a failure prints the case on every rank that sees it, and the command
 * that repeats it. */
#include "fuzz.h"

#include "fuzz_known.h"
#include "host_bugs.h"

#include <getopt.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { PAIRS = 12, RENEW_PAIR = 400, RENEW_MAP = 50, LOOK_AT_CLOCK = 64, TEXT_BYTES = 32768 };

static hp_fuzz_options_t options = {.count = 2000,
                                    .max_bytes = 256 << 10,
                                    .stuck_seconds = 120,
                                    .modules = "rules,p2p,shm,single_copy,native"};
static const char *program, *known_name;

/* What the alarm prints. */
static int64_t case_number;
static bool runs_case;
static int world_rank, world_size; /* may be asked for when the MPI may not */
static hp_fuzz_case_t current;
static bool in_sequence;

/* Which collectives are drawn; a word that is none ends the program. */
static void read_only(const char *list)
{
    size_t known = 0;
    for (int i = 0; i < HP_FUZZ_COLLECTIVES; i++) {
        const char *word = hp_fuzz_collective_info((hp_fuzz_collective_t)i)->word;
        const size_t length = strlen(word);
        options.drawn[i] = !list;
        for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
            if (strcspn(at, ",") == length && strncmp(at, word, length) == 0) {
                options.drawn[i] = true;
                known += length + 1;
            }
    }
    if (list && known != strlen(list) + 1) {
        fprintf(stderr, "--only %s: not all of these are collectives\n", list);
        exit(2);
    }
}

enum { OTHER_OPTIONS = 15, OF_COLLECTIVE = 256 };

static void parse(int argc, char **argv)
{
    struct option known[OTHER_OPTIONS + HP_FUZZ_COLLECTIVES] = {
        {"seed", required_argument, NULL, 's'},          {"count", required_argument, NULL, 'n'},
        {"seconds", required_argument, NULL, 't'},       {"max-bytes", required_argument, NULL, 'm'},
        {"stuck-seconds", required_argument, NULL, 'w'}, {"modules", required_argument, NULL, 'M'},
        {"expect-taken", no_argument, NULL, 'e'},        {"nonblocking", required_argument, NULL, 'i'},
        {"persistent", required_argument, NULL, 'p'},    {"thread-multiple", no_argument, NULL, 'T'},
        {"free-communicators", no_argument, NULL, 'f'},  {"only", required_argument, NULL, 'o'},
        {"known", required_argument, NULL, 'k'},         {"complex-gaps", no_argument, NULL, 'g'}};
    struct timespec now;

    for (int i = 0; i < HP_FUZZ_COLLECTIVES; i++) { /* the last stays as it is: the end */
        const char *word = hp_fuzz_collective_info((hp_fuzz_collective_t)i)->word;
        known[OTHER_OPTIONS - 1 + i] = (struct option){word, required_argument, NULL, OF_COLLECTIVE + i};
        options.algorithms[i] = i <= HP_FUZZ_BARRIER ? "auto,han,flags" : "auto,flat,han";
    }
    clock_gettime(CLOCK_REALTIME, &now);
    options.seed = hp_hash((uint64_t)now.tv_sec, (uint64_t)now.tv_nsec, 0) >> 32;
    options.free_communicators = !hp_host_breaks_comm_free();
    program = argv[0];
    for (int letter; (letter = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (letter) {
        case 's':
            options.seed = strtoull(optarg, NULL, 10);
            break;
        case 'n':
            options.count = strtoll(optarg, NULL, 10);
            break;
        case 't':
            options.seconds = strtod(optarg, NULL);
            break;
        case 'm':
            options.max_bytes = strtoll(optarg, NULL, 10);
            break;
        case 'M':
            options.modules = optarg;
            break;
        case 'w':
            options.stuck_seconds = atoi(optarg);
            break;
        case 'i':
            options.nonblocking = atoi(optarg);
            break;
        case 'p':
            options.persistent = HP_HAS_PERSISTENT ? atoi(optarg) : 0;
            break;
        case 'f':
            options.free_communicators = true;
            break;
        case 'T':
            options.thread_multiple = true;
            break;
        case 'e':
            options.expect_taken = true;
            break;
        case 'o':
            options.only = optarg;
            break;
        case 'g':
            options.complex_gaps = true;
            break;
        case 'k':
            known_name = optarg;
            break;
        default:
            if (letter < OF_COLLECTIVE)
                exit(2);
            options.algorithms[letter - OF_COLLECTIVE] = optarg;
            break;
        }
    }
    read_only(options.only);
}

/* The command's options that say what is drawn. */
static void format_options(char *text, size_t text_bytes)
{
    size_t used = (size_t)snprintf(
        text, text_bytes, " --max-bytes %" PRId64 " --modules %s --nonblocking %d --persistent %d%s%s%s",
        options.max_bytes, options.modules, options.nonblocking, options.persistent,
        options.free_communicators ? " --free-communicators" : "",
        options.thread_multiple ? " --thread-multiple" : "", options.complex_gaps ? " --complex-gaps" : "");
    if (options.only && used < text_bytes)
        used += (size_t)snprintf(text + used, text_bytes - used, " --only %s", options.only);
    for (int i = 0; i < HP_FUZZ_COLLECTIVES && used < text_bytes; i++)
        used +=
            (size_t)snprintf(text + used, text_bytes - used, " --%s %s",
                             hp_fuzz_collective_info((hp_fuzz_collective_t)i)->word, options.algorithms[i]);
}

/* The current case and how to come back to it. */
static void describe(char *text, size_t text_bytes)
{
    size_t used = (size_t)snprintf(text, text_bytes, "case %" PRId64 ": ", case_number);

    if (in_sequence) {
        hp_fuzz_sequence_format(text + used, text_bytes - used);
        used = strlen(text);
    } else {
        hp_fuzz_case_format(&current, text + used, text_bytes - used);
        used = strlen(text);
        used += (size_t)snprintf(text + used, text_bytes - used, "; communicator: %s",
                                 current.pair ? current.pair->text : "none");
    }
    if (used < text_bytes)
        used += (size_t)snprintf(text + used, text_bytes - used,
                                 "\n  repeat with: mpirun -np %d %s --seed %" PRIu64 " --count %" PRId64,
                                 world_size, program, options.seed, case_number + 1);
    if (used < text_bytes)
        format_options(text + used, text_bytes - used);
}

/* Not async-signal-safe, and it does not matter: the job hangs and ends here. */
static void report_stuck(int number)
{
    static char text[TEXT_BYTES];
    (void)number;
    describe(text, sizeof text);
    fprintf(stderr, "rank %d is stuck in %s\n", world_rank, text);
    fflush(stderr);
    _exit(1);
}

/* The host MPI may end the job in a call. */
static void report_end(void)
{
    static char text[TEXT_BYTES];

    if (!runs_case)
        return;
    describe(text, sizeof text);
    fprintf(stderr, "rank %d ended in %s\n", world_rank, text);
}

static void show_progress(void)
{
    static int64_t shown;
    int64_t step = (case_number + 1) * 10 / options.count;
    if (step == shown || hp_comm_rank(MPI_COMM_WORLD) != 0)
        return;
    shown = step;
    printf("%d %%\n", (int)step * 10);
    fflush(stdout);
}

/* Rank 0's clock rules, so that all stop at the same case. */
static bool time_is_up(MPI_Comm control, double start)
{
    int up = options.seconds > 0 && MPI_Wtime() - start > options.seconds;
    if (options.seconds > 0 && case_number % LOOK_AT_CLOCK == 0)
        CHECK_MPI(MPI_Bcast(&up, 1, MPI_INT, 0, control));
    else
        up = 0;
    return up;
}

/* A pair, half of the time used at once: a collective that does not block cannot set the library's side up. */
static void create_pair(hp_pair_t *pair, hp_random_t *random)
{
    hp_pair_create(pair, random, &options);
    if (options.nonblocking > 0 && hp_random_below(random, 2) && pair->library != MPI_COMM_NULL) {
        int one = 1, sum = 0;
        CHECK_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, pair->library));
        hp_fuzz_known_call(HP_FUZZ_ALLREDUCE, HP_FUZZ_BLOCKING, false, sizeof one);
        CHECK_EQUAL(sum, pair->size, "the sum of ones");
    }
}

static bool run_case(hp_random_t *random, hp_pair_t *pairs, const hp_fuzz_maps_t *maps, char *difference,
                     size_t difference_bytes)
{
    uint64_t number = (uint64_t)(case_number + 1) * HP_FUZZ_STEP_NUMBERS;

    in_sequence = (int)hp_random_below(random, 100) < options.nonblocking;
    if (in_sequence)
        return hp_fuzz_sequence_run(random, pairs, PAIRS, maps, &options, number, difference,
                                    difference_bytes);
    const hp_pair_t *pair = &pairs[hp_random_below(random, PAIRS)];
    hp_fuzz_case_draw(&current, random, pair, maps, &options);
    current.number = number;
    return hp_fuzz_case_run(&current, difference, difference_bytes);
}

static void run_cases(MPI_Comm control)
{
    hp_random_t random = {options.seed};
    hp_pair_t pairs[PAIRS];
    hp_fuzz_maps_t maps;
    double start = MPI_Wtime();

    hp_fuzz_maps_create(&maps, &random, options.complex_gaps);
    for (int i = 0; i < PAIRS; i++)
        create_pair(&pairs[i], &random);
    for (case_number = 0; case_number < options.count && !time_is_up(control, start); case_number++) {
        char difference[512];
        alarm((unsigned)options.stuck_seconds);
        if (hp_random_below(&random, RENEW_PAIR) == 0) {
            hp_pair_t *pair = &pairs[hp_random_below(&random, PAIRS)];
            hp_pair_free(pair);
            create_pair(pair, &random);
        }
        if (hp_random_below(&random, RENEW_MAP) == 0)
            hp_fuzz_maps_renew(&maps, &random);
        runs_case = true;
        const bool is_right = run_case(&random, pairs, &maps, difference, sizeof difference);
        runs_case = false;
        if (!is_right) {
            static char text[TEXT_BYTES]; /* longer than a check's message may be */
            describe(text, sizeof text);
            fprintf(stderr, "rank %d: %s\n", world_rank, text);
            CHECK(false, "%s", difference);
        }
        show_progress();
    }
    alarm(0);
    for (int i = 0; i < PAIRS; i++)
        hp_pair_free(&pairs[i]);
    hp_fuzz_maps_free(&maps);
}

/* Figures of all ranks together, before MPI_Finalize. */
static void summarise(double seconds)
{
    int rank = hp_comm_rank(MPI_COMM_WORLD), size = hp_comm_size(MPI_COMM_WORLD);
    uint64_t mine[HP_FUZZ_COLLECTIVES][2], *all = calloc((size_t)size, sizeof mine);
    CHECK(all, "out of memory");
    for (int i = 0; i < HP_FUZZ_COLLECTIVES; i++) {
        const char *word = hp_fuzz_collective_info((hp_fuzz_collective_t)i)->word;
        hanpmpi_collective_stats_t stats = {0};
        if (hp_lib_knows(word))
            stats = hp_lib_stats(word);
        mine[i][0] = stats.calls;
        mine[i][1] = stats.taken;
    }
    CHECK_MPI(MPI_Gather(mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD));
    if (rank == 0) {
        printf("%" PRId64 " collectives, twice each, on %d ranks in %.1f s: no difference\n", case_number,
               size, seconds);
        printf("library: %s\n", hp_lib_backend());
        for (int i = 0; i < HP_FUZZ_COLLECTIVES; i++) {
            const hp_fuzz_collective_info_t *info = hp_fuzz_collective_info((hp_fuzz_collective_t)i);
            uint64_t calls = 0, taken = 0;
            if (!hp_lib_knows(info->word))
                continue;
            for (int r = 0; r < size; r++) {
                calls += all[(r * HP_FUZZ_COLLECTIVES + i) * 2];
                taken += all[(r * HP_FUZZ_COLLECTIVES + i) * 2 + 1];
            }
            printf("  %-20s %10" PRIu64 " calls, half of them on the host's side; %10" PRIu64 " taken\n",
                   info->word, calls, taken);
            if (options.expect_taken && size > 1 && options.drawn[i] && info->taken)
                CHECK(taken > 0, "the library took no %s", info->word);
        }
    }
    free(all);
}

int main(int argc, char **argv)
{
    MPI_Comm control;

    int level = MPI_THREAD_SINGLE;
    parse(argc, argv);
    if (options.thread_multiple)
        CHECK_MPI(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
    else
        CHECK_MPI(MPI_Init(&argc, &argv));
    if (options.thread_multiple && level < MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        return HP_SKIP;
    }
    control = hp_comm_dup_native(MPI_COMM_WORLD);
    CHECK_MPI(MPI_Bcast(&options.seed, 1, MPI_UINT64_T, 0, control));
    if (hp_comm_rank(control) == 0) {
        printf("seed %" PRIu64 "\n", options.seed);
        fflush(stdout);
    }
    world_rank = hp_comm_rank(control);
    world_size = hp_comm_size(control);
    signal(SIGALRM, report_stuck);
    atexit(report_end);
    hp_basics_init();
    hp_operations_init();
    hp_entered_init();
    double start = MPI_Wtime();
    run_cases(control);
    hp_entered_fini();
    hp_operations_fini();
    hp_basics_fini();
    summarise(MPI_Wtime() - start);
    if (known_name)
        hp_fuzz_known_write(known_name);
    CHECK_MPI(MPI_Comm_free(&control));
    CHECK_MPI(MPI_Finalize());

    hanpmpi_resources_t held = hp_lib_resources();
    CHECK_EQUAL(held.communicators, 0, "communicators held after MPI_Finalize");
    CHECK_EQUAL(held.duplicates, 0, "private duplicates held after MPI_Finalize");
    CHECK_EQUAL(held.requests, 0, "requests held after MPI_Finalize");
    CHECK_EQUAL(held.buffers, 0, "buffers held after MPI_Finalize");
    return 0;
}
