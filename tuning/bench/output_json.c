#include "output_json.h"

#include <string.h>
#include <time.h>

#include "output_guidelines.h"
#include "output_overlap.h"

extern char **environ;

static json_t *side(const bench_output_t *output, const bench_row_t *row, bench_side_t which)
{
    const bench_side_result_t *times = &row->result->side[which];
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:o, s:f, s:f}", "t_min_us", bench_json_quantiles(&times->min), "t_avg_us",
                  bench_json_quantiles(&times->avg), "t_max_us", bench_json_quantiles(&times->max),
                  "from_first_us", bench_json_quantiles(&times->from_first), "busbw_mbps",
                  bench_bus_bandwidth(row, output->job, which), "reached", row->bound.us / times->max.median);
    if (output->options->raw)
        json_object_set_new(object, "raw_t_max_us",
                            bench_json_times(times->times_us, row->result->repetitions));
    return object;
}

json_t *bench_json_row(const bench_output_t *output, const bench_row_t *row)
{
    const bench_case_t *what = row->what;
    const bench_result_t *result = row->result;
    json_t *object = json_pack(
        "{s:s, s:s, s:I, s:s, s:s, s:f, s:i, s:i, s:b, s:o, s:{s:f, s:f, s:f, s:f, s:f}}", "collective",
        what->collective->name, "datatype", what->type->name, "bytes", (json_int_t)what->bytes, "buffers",
        what->cold ? "cold" : "warm", "arrival", bench_arrival_name(what->arrival), "skew_us",
        result->skew_us, "repetitions", result->repetitions, "warmup_repetitions", result->warmup_repetitions,
        "stable", (int)result->stable, "host", side(output, row, BENCH_HOST), "bound", "us", row->bound.us,
        "latency_us", row->bound.latency_us, "link_us", row->bound.link_us, "memory_us", row->bound.memory_us,
        "copy_bytes_per_second", row->copy_bytes_per_second);

    if (what->cold)
        json_object_set_new(object, "cold_region_bytes", json_integer((json_int_t)what->region_bytes));
    bench_json_case(what, object);
    if (what->arrival != BENCH_ARRIVAL_NONE)
        json_object_set_new(object, "skew", json_real(what->skew));
    if (output->job->side_count == BENCH_SIDES) {
        json_object_set_new(object, "library", side(output, row, BENCH_LIBRARY));
        json_object_set_new(object, "ratio", json_real(result->ratio));
        json_object_set_new(object, "pair_ratios", bench_json_quantiles(&result->pair_ratios));
        json_object_set_new(object, "taken", json_real(result->taken));
        json_object_set_new(object, "passed_because",
                            result->reason ? json_string(result->reason) : json_null());
    }
    if (row->nonblocking)
        bench_overlap_json(output, row, object);
    return object;
}

/* The HANPMPI_* variables that are set. */
static json_t *knobs(void)
{
    json_t *object = json_object();
    for (char **variable = environ; *variable; variable++) {
        const char *equals = strchr(*variable, '=');
        char name[128];
        if (strncmp(*variable, "HANPMPI_", 8) != 0 || !equals)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(equals - *variable), *variable);
        json_object_set_new(object, name, json_string(equals + 1));
    }
    return object;
}

static json_t *nodes(const bench_job_t *job)
{
    json_t *list = json_array();
    for (int node = 0; node < job->node_count; node++) {
        int ranks = 0;
        for (int r = 0; r < job->size; r++)
            ranks += job->node_of[r] == node;
        json_array_append_new(list,
                              json_pack("{s:s, s:i}", "name",
                                        job->names + (size_t)node * MPI_MAX_PROCESSOR_NAME, "ranks", ranks));
    }
    return list;
}

static json_t *strings(char *const *texts, int count)
{
    json_t *list = json_array();
    for (int i = 0; count < 0 ? texts[i] != NULL : i < count; i++)
        json_array_append_new(list, json_string(texts[i]));
    return list;
}

json_t *bench_json_document(const bench_output_t *output)
{
    const bench_job_t *job = output->job;
    const bench_machine_t *machine = output->machine;
    char version[MPI_MAX_LIBRARY_VERSION_STRING], when[32] = "";
    const time_t now = time(NULL);
    struct tm utc;
    int length;

    MPI_Get_library_version(version, &length);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    json_t *document = json_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:i, s:o, s:{s:s, s:s, s:i, s:I, s:I}, s:{s:f, s:f, s:f}, "
        "s:{s:I, s:f, s:i, s:i}}",
        "program", "hanpmpi_bench", "version", HANPMPI_VERSION, "ended", when, "mpi", version, "command",
        strings(output->argv, -1), "knobs", knobs(), "hints",
        strings(output->options->hints, output->options->hint_count), "ranks", job->size, "nodes", nodes(job),
        "machine", "processor", machine->processor, "kernel", machine->kernel, "cores", machine->cores,
        "memory_bytes", (json_int_t)machine->memory_bytes, "last_level_cache_bytes",
        (json_int_t)machine->cache_bytes, "limits", "node_latency_us", output->limits->node_latency_us,
        "link_latency_us", output->limits->link_latency_us, "link_bytes_per_second",
        output->limits->link_bytes_per_second, "settings", "seed", (json_int_t)output->options->seed,
        "seconds", output->options->seconds, "repeat", output->options->repeat, "warmup",
        output->options->warmup);
    json_object_set_new(document, "library",
                        job->library_version ? json_pack("{s:s, s:s}", "version", job->library_version,
                                                         "backend", job->library_backend)
                                             : json_null());
    if (output->options->guidelines)
        bench_guidelines_json(output, document);
    else
        json_object_set(document, "rows", output->rows);
    return document;
}
