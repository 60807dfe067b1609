#include "tables.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/log.h"
#include "hier/collectives/algorithm.h"
#include "hier/planning/select.h"
#include "topo_tree/fingerprint.h"

/* ---- knobs ---- */

void info_print_problem(void *context, const char *line)
{
    (void)context;
    hp_warn("%s", line);
}

void info_print_knobs(void)
{
    hp_knobs_t knobs, defaults;
    bool set[HP_KNOB_COUNT];
    char value[HP_KNOB_TEXT_BYTES], standard[HP_KNOB_TEXT_BYTES], range[HP_KNOB_RANGE_BYTES];

    hp_knobs_read(&knobs, set, info_print_problem, NULL);
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

void info_print_knobs_man(void)
{
    hp_knobs_t defaults;
    char standard[HP_KNOB_TEXT_BYTES], range[HP_KNOB_RANGE_BYTES];

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

void info_print_knobs_markdown(void)
{
    hp_knobs_t defaults;
    char standard[HP_KNOB_TEXT_BYTES], range[HP_KNOB_RANGE_BYTES];

    hp_knobs_defaults(&defaults);
    printf("# Environment variables\n\nMade from src/base/knobs.def by `hanpmpi_info --knobs-markdown`. "
           "\"Job\": one value for all "
           "ranks, rank 0's;\n\"rank\": each rank its own. Words may be in capitals; yes, true and 1 mean "
           "on, and "
           "no, false and 0 off.\n\n| variable | default | accepted | scope | "
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

/* Of modules.def, which the library has too. */
static const info_word_t modules[] = {
#define HP_MODULE(id, name, text) {#name, text},
#include "hier/call/modules.def"
#undef HP_MODULE
};

const info_word_t *info_modules(size_t *count)
{
    *count = sizeof modules / sizeof *modules;
    return modules;
}

const char *info_variable_of(hp_collective_t collective)
{
    static const hp_knob_id_t knobs[] = {
#define X(id, name, ...) [HP_##id] = HP_KNOB_ID_##name,
        HP_COLLECTIVE_TABLE(X)
#undef X
    };
    return hp_knob_info(knobs[collective])->variable;
}

bool info_find_collective(const char *name, hp_collective_t *out)
{
    for (unsigned c = 0; c < HP_COLLECTIVE_COUNT; c++)
        if (strcmp(name, hp_collective_name((hp_collective_t)c)) == 0) {
            *out = (hp_collective_t)c;
            return true;
        }
    return false;
}

const char *info_collective_names(void)
{
    static const char *const names =
#define X(id, name, ...) ", " #name
        HP_COLLECTIVE_TABLE(X);
#undef X
    return names + 2;
}

void info_print_algorithms(void)
{
    const hp_algorithm_t *algorithm;

    for (unsigned c = 0; c < HP_COLLECTIVE_COUNT; c++) {
        const char *name = hp_collective_name((hp_collective_t)c);
        printf("%s: %s or info key hanpmpi_%s\n", name, info_variable_of((hp_collective_t)c), name);
        printf("  %-20s %s\n  %-20s %s\n", "auto", "what the rules say for the size and the number of nodes",
               "native", "the host MPI");
        for (unsigned i = 0; (algorithm = hp_algorithm((hp_collective_t)c, i)); i++)
            printf("  %-20s %s\n", algorithm->name, algorithm->description);
    }
    printf("shapes: HANPMPI_SHAPES or info key hanpmpi_shapes, \"level:shape ...\"\n");
    for (unsigned shape = 0; shape < HP_SHAPE_COUNT; shape++)
        printf("  %-20s %s\n", hp_shape_info((hp_shape_t)shape)->name,
               hp_shape_info((hp_shape_t)shape)->description);
    printf("modules: HANPMPI_MODULES or info key hanpmpi_modules, \"level:module ...\"\n");
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        printf("  %-20s %s\n", modules[i].name, modules[i].description);
    printf("inter-node: HANPMPI_BETWEEN_NODES or info key hanpmpi_between_nodes: how the module p2p of han "
           "joins the "
           "nodes\n");
    for (unsigned i = 0; hp_inter_node(i) != HP_INTER_NODE_NONE; i++)
        printf("  %-20s %s\n", hp_inter_node_name(hp_inter_node(i)),
               hp_inter_node_description(hp_inter_node(i)));
    printf("levels:");
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        printf(" %s", hp_level_name((hp_level_t)level));
    printf("\n");
}

/* ---- backends ---- */

bool info_backends_folder(char *folder)
{
    char program[PATH_MAX], place[2 * PATH_MAX];
    static const char *const places[] = {HANPMPI_LIBDIR_FROM_BIN, "../lib"}; /* installed, build tree */
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);

    if (length < 0) {
        fprintf(stderr, "hanpmpi_info: cannot find its own file: %s\n", strerror(errno));
        return false;
    }
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(place, sizeof place, "%s/%s/hanpmpi", program, places[i]);
        if (realpath(place, folder))
            return true;
    }
    fprintf(stderr, "hanpmpi_info: no backends installed near %s: install the library with cmake --install\n",
            program);
    return false;
}

void info_backends_each(const char *folder, info_word_fn_t each, void *context)
{
    DIR *dir = opendir(folder);

    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char abi[64];
        if (sscanf(entry->d_name, "libhanpmpi-%63[^.].so", abi) != 1)
            continue;
        each(context, abi,
             strcmp(abi, "openmpi") == 0  ? "Open MPI 4, 5"
             : strcmp(abi, "mpich") == 0  ? "MPICH 3.4 and later, Intel MPI, MVAPICH, Cray MPICH"
             : strcmp(abi, "mpiabi") == 0 ? "any MPI through the MPI 5 standard ABI"
                                          : "");
    }
    if (dir)
        closedir(dir);
}

static void print_backend(void *unused, const char *abi, const char *description)
{
    (void)unused;
    printf("  %-8s %s\n", abi, description);
}

int info_print_backends(void)
{
    char folder[PATH_MAX];

    if (!info_backends_folder(folder))
        return 1;
    printf("backends in %s\n", folder);
    info_backends_each(folder, print_backend, NULL);
    return 0;
}

/* ---- machine ---- */

void info_print_machine_name(void)
{
    char name[HP_FINGERPRINT_BYTES];
    puts(hp_machine_fingerprint(name, sizeof name));
}

static void print_one_mpi(void *context, const hp_cache_t *cache, const hp_probes_t *probes)
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

void info_find_cache(hp_cache_t *out)
{
    hp_knobs_t knobs;
    char name[HP_FINGERPRINT_BYTES];

    hp_knobs_read(&knobs, NULL, info_print_problem, NULL);
    hp_log_set_level((int)knobs.verbose);
    hp_cache_init(out, knobs.cache, hp_machine_fingerprint(name, sizeof name), "");
}

void info_print_probes(void)
{
    hp_cache_t cache;

    info_find_cache(&cache);
    if (!cache.directory[0])
        printf("no probes are kept: HANPMPI_CACHE is off, or neither XDG_CACHE_HOME nor HOME is set\n");
    else if (hp_probes_cache_each(&cache, print_one_mpi, NULL) <= 0)
        printf("no probes of %s in %s: a run with HANPMPI_MODEL=1 writes them\n", cache.machine,
               cache.directory);
}
