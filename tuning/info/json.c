#include "json.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "base/knobs.h"
#include "hier/collectives/algorithm.h"
#include "hier/planning/select.h"
#include "tables.h"
#include "topo_tree/fingerprint.h"

int info_print_json(json_t *object)
{
    int code = 1;

    if (object && json_object_set_new(object, "program", json_string("hanpmpi_info")) == 0 &&
        json_object_set_new(object, "version", json_string(HANPMPI_VERSION)) == 0 &&
        json_dumpf(object, stdout, JSON_INDENT(1)) == 0 && putchar('\n') != EOF && fflush(stdout) == 0)
        code = 0;
    else
        fprintf(stderr, "hanpmpi_info: standard output: %s\n", object ? strerror(errno) : "out of memory");
    json_decref(object);
    return code;
}

/* ---- settings ---- */

int info_json_knobs(void)
{
    hp_knobs_t knobs, defaults;
    bool set[HP_KNOB_COUNT];
    json_t *rows = json_array();

    hp_knobs_read(&knobs, set, info_print_problem, NULL);
    hp_knobs_defaults(&defaults);
    for (unsigned i = 0; i < HP_KNOB_COUNT; i++) {
        const hp_knob_id_t id = (hp_knob_id_t)i;
        const hp_knob_info_t *info = hp_knob_info(id);
        char value[HP_KNOB_TEXT_BYTES], standard[HP_KNOB_TEXT_BYTES], range[HP_KNOB_RANGE_BYTES];
        json_array_append_new(
            rows,
            json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "variable", info->variable, "value",
                      hp_knob_format(&knobs, id, value, sizeof value), "default",
                      hp_knob_format(&defaults, id, standard, sizeof standard), "set_by",
                      set[i] ? "environment" : "default", "accepted", hp_knob_range(id, range, sizeof range),
                      "scope", info->scope == HP_KNOB_SCOPE_JOB ? "job" : "rank", "text", info->text));
    }
    return info_print_json(json_pack("{s:o}", "knobs", rows));
}

/* ---- algorithms ---- */

static void append_word(void *array, const char *name, const char *description)
{
    json_array_append_new(array, json_pack("{s:s, s:s}", "name", name, "description", description));
}

static json_t *collectives(void)
{
    json_t *all = json_object();

    for (unsigned c = 0; c < HP_COLLECTIVE_COUNT; c++) {
        const hp_collective_t collective = (hp_collective_t)c;
        const hp_algorithm_t *algorithm;
        json_t *rows = json_array();
        append_word(rows, "auto", "what the rules say for the size and the number of nodes");
        append_word(rows, "native", "the host MPI");
        for (unsigned i = 0; (algorithm = hp_algorithm(collective, i)); i++)
            append_word(rows, algorithm->name, algorithm->description);
        json_object_set_new(
            all, hp_collective_name(collective),
            json_pack("{s:s, s:o}", "variable", info_variable_of(collective), "algorithms", rows));
    }
    return all;
}

int info_json_algorithms(void)
{
    json_t *shapes = json_array(), *modules = json_array(), *between = json_array(), *levels = json_array();
    size_t count;
    const info_word_t *words = info_modules(&count);

    for (unsigned shape = 0; shape < HP_SHAPE_COUNT; shape++)
        append_word(shapes, hp_shape_info((hp_shape_t)shape)->name,
                    hp_shape_info((hp_shape_t)shape)->description);
    for (size_t i = 0; i < count; i++)
        append_word(modules, words[i].name, words[i].description);
    for (unsigned i = 0; hp_inter_node(i) != HP_INTER_NODE_NONE; i++)
        append_word(between, hp_inter_node_name(hp_inter_node(i)),
                    hp_inter_node_description(hp_inter_node(i)));
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        json_array_append_new(levels, json_string(hp_level_name((hp_level_t)level)));
    return info_print_json(json_pack("{s:o, s:o, s:o, s:o, s:o}", "collectives", collectives(), "shapes",
                                     shapes, "modules", modules, "between_nodes", between, "levels", levels));
}

/* ---- installation and machine ---- */

int info_json_backends(void)
{
    char folder[PATH_MAX];
    json_t *rows = json_array();

    if (!info_backends_folder(folder)) {
        json_decref(rows);
        return 1;
    }
    info_backends_each(folder, append_word, rows);
    return info_print_json(json_pack("{s:s, s:o}", "folder", folder, "backends", rows));
}

int info_json_machine_name(void)
{
    char name[HP_FINGERPRINT_BYTES];
    return info_print_json(json_pack("{s:s}", "machine", hp_machine_fingerprint(name, sizeof name)));
}

static void append_probes(void *rows, const hp_cache_t *cache, const hp_probes_t *probes)
{
    json_t *values = json_object();

#define X(field, unit, most, text)                                                                           \
    json_object_set_new(values, #field, probes->field > 0 ? json_real(probes->field) : json_null());
    HP_PROBE_TABLE(X)
#undef X
    json_array_append_new(rows, json_pack("{s:s, s:o}", "mpi", cache->mpi, "probes", values));
}

int info_json_probes(void)
{
    hp_cache_t cache;
    json_t *rows = json_array();

    info_find_cache(&cache);
    if (cache.directory[0])
        hp_probes_cache_each(&cache, append_probes, rows);
    return info_print_json(
        json_pack("{s:s, s:s, s:o}", "machine", cache.machine, "directory", cache.directory, "mpis", rows));
}
