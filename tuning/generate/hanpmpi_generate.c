/* hanpmpi_generate: writes the schedules that are made for a network into files, which HANPMPI_SCHEDULES names.
 *
 * Threads: one. Ownership: nothing is kept. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "schedule/catalog/problem_text.h"
#include "schedule/file.h"
#include "schedule/verify.h"

const char *argp_program_version = "hanpmpi_generate " HANPMPI_VERSION;

enum { OPTION_ALGORITHM = 256, OPTION_WITH };

static struct {
    const char *network, *directory, *algorithm, *with;
    hp_pattern_t pattern; /* HP_PATTERN_COUNT: each that some algorithm needs a network for */
} options = {.directory = ".", .with = "", .pattern = HP_PATTERN_COUNT};

/* The first algorithm that needs a network for the pattern; NULL: there is none. */
static const hp_generator_t *made_for_network(const hp_catalog_t *catalog, hp_pattern_t pattern)
{
    const hp_generator_t *generator;
    unsigned i = 0;

    while ((generator = hp_catalog_generator(catalog, i++)) && !(generator->placed & 1u << pattern))
        ;
    return generator;
}

static int fail(const char *about, const char *why)
{
    fprintf(stderr, "hanpmpi_generate: %s: %s\n", about, why);
    return 1;
}

/* ---- a file ---- */

/* The text of the schedules, verified; NULL: what is wrong has been said. */
static char *write_text(const hp_problem_t *problem, const hp_generator_t *generator, const char *file,
                        size_t *length)
{
    hp_schedule_t *schedules = hp_schedules_make(generator, problem);
    hp_fault_t fault;
    char *text = NULL;

    FILE *out = schedules ? open_memstream(&text, length) : NULL;
    hp_status_t status = out ? hp_schedules_verify(schedules, problem, &fault) : HP_ERR_NO_MEM;
    if (status == HP_ERR_ARG)
        fail(file, fault.text);
    if (status == HP_OK)
        status = hp_schedule_file_write(out, schedules, problem, generator);
    const bool written = (!out || fclose(out) == 0) && status == HP_OK;
    hp_schedules_free(schedules, problem->count);
    if (written && *length <= HP_SCHEDULE_FILE_BYTES_MAX)
        return text;
    if (written)
        fail(file, "the schedules are larger than a file may be, 4 MiB: fewer ranks are");
    else if (status != HP_ERR_ARG)
        fail(file, hp_status_text(HP_ERR_NO_MEM));
    free(text);
    return NULL;
}

static int write_file(const hp_problem_t *problem, const hp_generator_t *generator)
{
    char file[4096];
    size_t length = 0;

    snprintf(file, sizeof file, "%.3900s/%s_%s.json", options.directory, hp_pattern_name(problem->pattern),
             generator->name);
    char *text = write_text(problem, generator, file, &length);
    if (!text)
        return 1;
    FILE *out = fopen(file, "w");
    bool written = out && fwrite(text, 1, length, out) == length;
    if (out)
        written = fclose(out) == 0 && written;
    free(text);
    if (!written)
        return fail(file, strerror(errno));
    printf("%s: %s of %u ranks\n", file, hp_pattern_name(problem->pattern), problem->count);
    return 0;
}

static int generate(const hp_catalog_t *catalog, hp_pattern_t pattern)
{
    static hp_problem_lent_t lent;
    const hp_generator_t *generator = options.algorithm ? NULL : made_for_network(catalog, pattern);
    char text[HP_PROBLEM_TEXT_BYTES], error[1024];
    hp_problem_t problem;
    int code = 1;

    snprintf(text, sizeof text, "%s %s network=%s %s", hp_pattern_name(pattern),
             generator ? generator->name : options.algorithm, options.network, options.with);
    hp_problem_lent_init(&lent);
    if (strlen(options.network) + strlen(options.with) + 128 > sizeof text)
        fail(options.network, "its name and the words of --with are longer than 383 characters");
    else if (hp_problem_text_parse(text, catalog, &problem, &lent, &generator, error, sizeof error))
        code = write_file(&problem, generator);
    else
        fail(hp_pattern_name(pattern), error);
    hp_problem_lent_fini(&lent);
    return code;
}

/* ---- what is asked for ---- */

static const struct argp_option argp_options[] = {
    {"collective", 'c', "NAME", 0,
     "alltoall, allgather, reduce_scatter, allreduce or bcast; all of them without it", 0},
    {"algorithm", OPTION_ALGORITHM, "NAME", 0,
     "in place of the first that is made for a network; hanpmpi_info --schedules lists them", 0},
    {"with", OPTION_WITH, "WORDS", 0,
     "words of hanpmpi_info --schedule, such as \"ranks=16 order=over_switches root=3 barriers=4 "
     "sizes=FILE\"",
     0},
    {"output", 'o', "DIRECTORY", 0, "where the files go; it is made if it is not there", 0},
    {0}};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    switch (key) {
    case 'c':
        options.pattern = hp_pattern_find(argument);
        if (options.pattern == HP_PATTERN_COUNT)
            argp_error(
                state,
                "--collective=%s: accepted are alltoall, allgather, reduce_scatter, allreduce and bcast",
                argument);
        break;
    case OPTION_ALGORITHM:
        options.algorithm = argument;
        break;
    case OPTION_WITH:
        options.with = argument;
        break;
    case 'o':
        options.directory = argument;
        break;
    case ARGP_KEY_ARG:
        if (options.network)
            argp_error(state, "\"%s\": one NETWORK is enough", argument);
        options.network = argument;
        break;
    case ARGP_KEY_END:
        if (!options.network)
            argp_error(state, "NETWORK is missing: the name of a file");
        if (options.algorithm && options.pattern == HP_PATTERN_COUNT)
            argp_error(state, "--algorithm is of a collective: --collective=NAME is missing");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct argp argp = {
        argp_options,
        parse_option,
        "NETWORK",
        "Writes collective algorithms made for a network as files of schedules.\vExample:\n"
        "  hanpmpi_generate cluster.net --collective alltoall -o schedules\n"
        "  HANPMPI_SCHEDULES=schedules hanpmpi_info --schedules",
        NULL,
        NULL,
        NULL};
    static hp_catalog_t catalog;
    int code = 0;

    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    hp_catalog_init(&catalog);
    if (mkdir(options.directory, 0777) != 0 && errno != EEXIST)
        return fail(options.directory, strerror(errno));
    for (unsigned p = 0; p < HP_PATTERN_COUNT && code == 0; p++) {
        const bool asked = options.pattern == HP_PATTERN_COUNT
                               ? made_for_network(&catalog, (hp_pattern_t)p) != NULL
                               : options.pattern == (hp_pattern_t)p;
        if (!asked)
            continue;
        if (!options.algorithm && !made_for_network(&catalog, (hp_pattern_t)p))
            code = fail(hp_pattern_name((hp_pattern_t)p),
                        "no algorithm for it is made for a network; --algorithm "
                        "names another one");
        else
            code = generate(&catalog, (hp_pattern_t)p);
    }
    return code;
}
