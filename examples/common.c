/* common: see common.h. */
#include "common.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OPTIONS_MAX = 24, SIZES_TEXT = 512 };

static void print_help(const example_t *e, const char *about, const example_option_t *options, int count)
{
    printf("usage: mpirun -np RANKS %s [OPTION]...\n\n%s\n\n", e->program, about);
    for (int i = 0; i < count; i++) {
        const example_option_t *option = &options[i];
        char name[32];
        snprintf(name, sizeof name, "%s %s", option->name, option->letters ? "LETTER" : "N");
        if (option->letters)
            printf("  --%-16s %s (one of %s, default %c)\n", name, option->help, option->letters,
                   option->letters[*option->value]);
        else
            printf("  --%-16s %s (default %ld)\n", name, option->help, *option->value);
    }
    printf(
        "  --nonblocking      communicate while computing; without it, the same with blocking collectives\n"
        "  --check            compute the result a second time, in another way, and compare\n"
        "  --json             print one line of JSON\n"
        "  --thread-multiple  start MPI with MPI_THREAD_MULTIPLE\n"
        "  --help\n");
}

/* Whether the text is a value of the option, which gets it. */
static bool take_value(const example_option_t *option, const char *text)
{
    char *end;

    if (option->letters) {
        const char *letter = text[0] && !text[1] ? strchr(option->letters, text[0]) : NULL;
        if (letter)
            *option->value = letter - option->letters;
        return letter;
    }
    errno = 0;
    *option->value = strtol(text, &end, 10);
    return !errno && end != text && !*end && *option->value >= option->least &&
           *option->value <= option->most;
}

/* Returns NULL, or what is wrong with the command line. */
static const char *parse(example_t *e, int argc, char **argv, const example_option_t *options, int count,
                         bool *help)
{
    static char problem[128];
    struct option table[OPTIONS_MAX] = {{"nonblocking", no_argument, NULL, 'n'},
                                        {"check", no_argument, NULL, 'c'},
                                        {"json", no_argument, NULL, 'j'},
                                        {"thread-multiple", no_argument, NULL, 't'},
                                        {"help", no_argument, NULL, 'h'}};
    const int first = 5;
    int found, index = 0;

    for (int i = 0; i < count; i++)
        table[first + i] = (struct option){options[i].name, required_argument, NULL, 0};
    opterr = 0;
    while ((found = getopt_long(argc, argv, "", table, &index)) != -1) {
        if (found == 'n') {
            e->nonblocking = true;
        } else if (found == 'c') {
            e->check = true;
        } else if (found == 'j') {
            e->json = true;
        } else if (found == 't') {
            e->thread_multiple = true;
        } else if (found == 'h') {
            *help = true;
        } else if (found == 0) {
            const example_option_t *option = &options[index - first];
            if (take_value(option, optarg))
                continue;
            if (option->letters)
                snprintf(problem, sizeof problem, "--%s: accepted is one letter of %s", option->name,
                         option->letters);
            else
                snprintf(problem, sizeof problem, "--%s: accepted are %ld to %ld", option->name,
                         option->least, option->most);
            return problem;
        } else {
            snprintf(problem, sizeof problem,
                     "%.60s: unknown, or without its number; --help lists the options", argv[optind - 1]);
            return problem;
        }
    }
    if (optind < argc) {
        snprintf(problem, sizeof problem, "%.60s: not an option; --help lists them", argv[optind]);
        return problem;
    }
    return NULL;
}

bool example_init(example_t *e, const char *program, const char *about, int argc, char **argv,
                  const example_option_t *own, int own_count, int *exit_code)
{
    const example_option_t shared[] = {
        {"seed", "for the input that is made", &e->seed, 0, INT_MAX},
        {"tests", "MPI_Test calls in each iteration, while computing (--nonblocking)", &e->tests, 0, 1000000},
        {"late", "microseconds that a rank, another one each time, comes late to a collective", &e->late, 0,
         10000000},
        {"warm-up", "blocking collectives before the clock starts", &e->warm_up, 0, 100000}};
    const int shared_count = sizeof shared / sizeof shared[0], count = own_count + shared_count;
    example_option_t options[OPTIONS_MAX];
    const char *problem;
    bool help = false;
    int provided = MPI_THREAD_SINGLE;

    *e = (example_t){.program = program, .seed = 1, .warm_up = 5};
    memcpy(options, own, (size_t)own_count * sizeof *own);
    memcpy(options + own_count, shared, sizeof shared);
    problem = parse(e, argc, argv, options, count, &help);

    MPI_Init_thread(NULL, NULL, e->thread_multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &e->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &e->size);
    if (!problem && e->thread_multiple && provided < MPI_THREAD_MULTIPLE)
        problem = "--thread-multiple: this MPI has no MPI_THREAD_MULTIPLE";
    if (problem || help) {
        if (e->rank == 0 && problem)
            fprintf(stderr, "%s: %s\n", program, problem);
        else if (e->rank == 0)
            print_help(e, about, options, count);
        MPI_Finalize();
        *exit_code = problem ? EXIT_BAD_OPTION : EXIT_RIGHT;
        return false;
    }

    /* The ranks should have been started with the same options; that they really have them is cheap to ensure. */
    long values[OPTIONS_MAX] = {0};
    for (int i = 0; i < count; i++)
        values[i] = *options[i].value;
    values[count] = e->nonblocking;
    values[count + 1] = e->check;
    MPI_Bcast(values, count + 2, MPI_LONG, 0, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        *options[i].value = values[i];
    e->nonblocking = values[count];
    e->check = values[count + 1];
    return true;
}

void example_start_clock(example_t *e)
{
    MPI_Barrier(MPI_COMM_WORLD);
    e->in_mpi = 0;
    e->begin = MPI_Wtime();
}

double example_stop_clock(const example_t *e)
{
    return MPI_Wtime() - e->begin;
}

void example_come_late(example_t *e)
{
    const struct timespec time = {e->late / 1000000, e->late % 1000000 * 1000};
    if (e->late && e->had_late++ % e->size == e->rank)
        nanosleep(&time, NULL);
}

example_progress_t example_progress(example_t *e, MPI_Request *requests, int request_count, long tests,
                                    long steps)
{
    return (example_progress_t){
        .example = e, .requests = requests, .request_count = request_count, .tests = tests, .steps = steps};
}

void example_step(example_progress_t *p)
{
    p->steps_done++;
    while (p->tests_done < p->tests && p->tests_done * p->steps < p->steps_done * p->tests) {
        int i = 0, complete;
        p->tests_done++;
        while (i < p->request_count && p->requests[i] == MPI_REQUEST_NULL)
            i++;
        if (i == p->request_count)
            return;
        /* One is tested, all move on: progress is the whole process's. */
        TIMED(p->example, MPI_Test(&p->requests[i], &complete, MPI_STATUS_IGNORE));
    }
}

int example_report(const example_t *e, double total, uint64_t checksum, bool right, const char *format, ...)
{
    double mean[2] = {e->in_mpi, total}, slowest[2] = {e->in_mpi, total};
    int all_right = right;
    char sizes[SIZES_TEXT];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(sizes, sizeof sizes, format, arguments);
    va_end(arguments);
    MPI_Allreduce(MPI_IN_PLACE, mean, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, slowest, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &all_right, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    mean[0] /= e->size;
    mean[1] /= e->size;

    const char *form = e->nonblocking ? "nonblocking" : "blocking";
    const double compute = mean[1] - mean[0], balance = mean[0] > 0 ? compute / mean[0] : 0;
    if (e->rank == 0 && e->json) {
        printf("{\"program\": \"%s\", \"form\": \"%s\", \"ranks\": %d, %s, \"tests\": %ld, \"seed\": %ld, "
               "\"compute_seconds\": %.6f, \"communication_seconds\": %.6f, "
               "\"communication_slowest_seconds\": %.6f, "
               "\"total_seconds\": %.6f, \"balance\": %.3f, \"checksum\": \"%016llx\", \"checked\": %s}\n",
               e->program, form, e->size, sizes, e->tests, e->seed, compute, mean[0], slowest[0], slowest[1],
               balance, (unsigned long long)checksum,
               !e->check   ? "null"
               : all_right ? "true"
                           : "false");
    } else if (e->rank == 0) {
        printf("%s, %s, %d ranks: %.3f s, of them %.3f s computing, %.3f s in MPI (mean of the ranks; "
               "slowest %.3f s): balance %.2f; ",
               e->program, form, e->size, slowest[1], compute, mean[0], slowest[0], balance);
        for (const char *c = sizes; *c; c++) {
            if (*c != '"' && *c != ':')
                putchar(*c == '_' ? ' ' : *c);
        }
        printf("; checksum %016llx, %s\n", (unsigned long long)checksum,
               !e->check   ? "not checked"
               : all_right ? "right"
                           : "WRONG");
    }
    return e->check && !all_right ? EXIT_WRONG : EXIT_RIGHT;
}

uint64_t example_npb_at(uint64_t numbers)
{
    uint64_t x = 314159265, factor = 1220703125;
    for (; numbers; numbers >>= 1, factor *= factor) {
        if (numbers & 1)
            x *= factor;
    }
    return x & ((UINT64_C(1) << 46) - 1);
}

void *example_allocate(size_t count, size_t bytes)
{
    void *memory = calloc(count ? count : 1, bytes);
    if (!memory) {
        fprintf(stderr, "no memory for %zu times %zu bytes\n", count, bytes);
        MPI_Abort(MPI_COMM_WORLD, EXIT_WRONG);
        abort();
    }
    return memory;
}
