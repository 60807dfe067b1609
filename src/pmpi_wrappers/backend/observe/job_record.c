#include "pmpi_wrappers/backend/observe/job_record.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "base/log.h"
#include "hier/call/stats.h"
#include "pmpi_wrappers/backend/observe/text_json.h"
#include "pmpi_wrappers/backend/start/job.h"

enum { RECORD_BYTES = 4096 };

/* Of each rank. */
typedef struct {
    double run, collective, taken;
} seconds_t;
enum { SECONDS = sizeof(seconds_t) / sizeof(double) };

/* Over the ranks. */
typedef struct {
    seconds_t least, most, sum;
    bool is_known;
} spread_t;

static time_t began;

static void warn_directory(const char *name)
{
    hp_warn("HANPMPI_RECORD=%s: %s cannot be written: %s; accepted is a directory in which rank 0 can make "
            "files. There "
            "is no record of this run",
            hp_job.knobs.record, name, strerror(errno));
}

void hp_job_record_start(void)
{
    if (!hp_job.knobs.record[0])
        return;
    began = time(NULL);
    if (hp_job.rank == 0 && access(hp_job.knobs.record, W_OK | X_OK) != 0)
        warn_directory(hp_job.knobs.record);
}

static spread_t spread_of(const hp_savings_t *savings)
{
    const seconds_t own = {savings->run_seconds, savings->collective_seconds, savings->taken_seconds};
    spread_t spread = {.is_known = false};

    spread.is_known =
        P(Reduce)(&own, &spread.least, SECONDS, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD) == MPI_SUCCESS &&
        P(Reduce)(&own, &spread.most, SECONDS, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD) == MPI_SUCCESS &&
        P(Reduce)(&own, &spread.sum, SECONDS, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD) == MPI_SUCCESS;
    return spread;
}

/* ---- what was called, by rank 0 ---- */

static json_t *collective_json(hp_collective_t collective)
{
    uint64_t calls, taken, bytes, ns = 0;

    hp_stats_totals(collective, &calls, &taken, &bytes);
    if (!calls)
        return NULL;
    for (unsigned bin = 0; bin < HP_STATS_BINS; bin++)
        ns += hp_stats[collective][bin].taken_ns + hp_stats[collective][bin].passed_ns;
    return json_pack("{s:s,s:I,s:I,s:f}", "name", hp_collective_name(collective), "calls", (json_int_t)calls,
                     "accelerated", (json_int_t)taken, "seconds", (double)ns / 1e9);
}

static json_t *collectives_json(void)
{
    json_t *rows = json_array();

    for (unsigned c = 0; c < HP_COLLECTIVE_COUNT; c++) {
        json_t *row = collective_json((hp_collective_t)c);
        if (row)
            json_array_append_new(rows, row);
    }
    return rows;
}

/* [at most so many bytes, calls]; null: passed through before anybody looked. */
static json_t *sizes_json(void)
{
    json_t *rows = json_array();

    for (unsigned bin = 0; bin < HP_STATS_BINS; bin++) {
        uint64_t calls = 0;
        for (unsigned c = 0; c < HP_COLLECTIVE_COUNT; c++)
            for (unsigned outcome = 0; outcome < HP_OUTCOME_COUNT; outcome++)
                calls += hp_stats[c][bin].calls[outcome];
        if (!calls)
            continue;
        json_t *most =
            bin == HP_STATS_BIN_UNKNOWN ? json_null() : json_integer((json_int_t)((1ull << 4 * bin) - 1));
        json_array_append_new(rows, json_pack("[o,I]", most, (json_int_t)calls));
    }
    return rows;
}

/* Why calls were not accelerated. */
static json_t *passed_json(void)
{
    json_t *reasons = json_object();

    for (unsigned outcome = HP_OUTCOME_TAKEN + 1; outcome < HP_OUTCOME_COUNT; outcome++) {
        uint64_t calls = 0;
        for (unsigned c = 0; c < HP_COLLECTIVE_COUNT; c++)
            calls += hp_stats_outcome((hp_collective_t)c, (hp_outcome_t)outcome);
        if (calls)
            json_object_set_new(reasons, hp_outcome_word((hp_outcome_t)outcome),
                                json_integer((json_int_t)calls));
    }
    return reasons;
}

/* ---- the file ---- */

static json_t *time_json(time_t when)
{
    char text[32] = "";
    struct tm utc;

    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&when, &utc));
    return json_string(text);
}

static json_t *command_json(void)
{
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);

    if (length < 0)
        return json_null();
    path[length] = '\0';
    return hp_text_json(path);
}

static json_t *spread_json(const spread_t *spread)
{
    const double ranks = hp_job.size, mean = spread->sum.collective / ranks;

    return json_pack("{s:f,s:f,s:f,s:f,s:f,s:f}", "mean", mean, "least", spread->least.collective, "most",
                     spread->most.collective, "share",
                     spread->sum.run > 0 ? spread->sum.collective / spread->sum.run : 0, "skew",
                     mean > 0 ? (spread->most.collective - spread->least.collective) / mean : 0,
                     "accelerated_mean", spread->sum.taken / ranks);
}

static json_t *record_json(const hp_savings_t *savings, const spread_t *spread, const char *host)
{
    char mpi[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;

    P(Get_library_version)(mpi, &length);
    mpi[strcspn(mpi, ",\n")] = '\0';
    json_t *record =
        json_pack("{s:s,s:i,s:s,s:o,s:o,s:i,s:i,s:o,s:o,s:o,s:b}", "format", "hanpmpi-record", "version", 1,
                  "library", HANPMPI_VERSION, "mpi", hp_text_json(mpi), "host", hp_text_json(host), "pid",
                  (int)getpid(), "ranks", hp_job.size, "command", command_json(), "started", time_json(began),
                  "finished", time_json(time(NULL)), "active", savings != NULL);
    if (!record || !savings)
        return record;
    if (hp_job.nodes < INT32_MAX)
        json_object_set_new(record, "nodes", json_integer(hp_job.nodes));
    json_object_set_new(record, "run_seconds", json_real(savings->run_seconds));
    if (spread->is_known)
        json_object_set_new(record, "collective_seconds", spread_json(spread));
    json_object_set_new(record, "savings", hp_savings_json(savings));
    json_object_set_new(record, "collectives", collectives_json());
    json_object_set_new(record, "sizes", sizes_json());
    json_object_set_new(record, "passed_through", passed_json());
    return record;
}

/* Within the limit: what is longest and least goes first. */
static char *text_of(json_t *record)
{
    static const char *const spare[] = {"passed_through", "collectives", "sizes", "command"};
    enum { FLAGS = JSON_COMPACT | JSON_REAL_PRECISION(6) };
    char *text = json_dumps(record, FLAGS);

    for (unsigned i = 0; text && strlen(text) + 1 > RECORD_BYTES && i < sizeof spare / sizeof *spare; i++) {
        free(text);
        json_object_del(record, spare[i]);
        json_object_set_new(record, "shortened", json_true());
        text = json_dumps(record, FLAGS);
    }
    return text;
}

static void write_record(json_t *record, const char *host)
{
    char path[PATH_MAX], part[PATH_MAX + 8];
    char *text = record ? text_of(record) : NULL;

    snprintf(path, sizeof path, "%s/hanpmpi-%s-%d-%lld.json", hp_job.knobs.record, host, (int)getpid(),
             (long long)began);
    snprintf(part, sizeof part, "%s.part", path);
    errno = ENOMEM;
    FILE *file = text ? fopen(part, "we") : NULL;
    bool written = file && fprintf(file, "%s\n", text) > 0;
    if (file && fclose(file) != 0)
        written = false;
    if (!written || rename(part, path) != 0) {
        const int error = errno;
        if (file)
            unlink(part);
        errno = error;
        warn_directory(path);
    }
    free(text);
}

void hp_job_record_finish(const hp_savings_t *savings)
{
    char host[MPI_MAX_PROCESSOR_NAME + 1] = "";
    spread_t spread = {.is_known = false};
    int length = 0;

    if (!hp_job.knobs.record[0])
        return;
    if (savings)
        spread = spread_of(savings);
    if (hp_job.rank != 0)
        return;
    P(Get_processor_name)(host, &length);
    json_t *record = record_json(savings, &spread, host);
    write_record(record, host);
    json_decref(record);
}
