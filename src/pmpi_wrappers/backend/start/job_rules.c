#include "pmpi_wrappers/backend/start/job_rules.h"

#include <stdlib.h>
#include "base/log.h"
#include "hier/planning/model/probes_cache.h"
#include "hier/planning/rules/rules_json.h"
#include "hier/planning/select.h"
#include "pmpi_wrappers/backend/start/job.h"
#include "pmpi_wrappers/backend/start/probe.h"
#include "topo_tree/fingerprint.h"

/* What rank 0 sends ahead of the rules. */
typedef struct {
    uint64_t rule_count;
    hp_probes_t probes;
} header_t;

static void print_line(void *context, hp_rules_kind_t kind, const char *line)
{
    (void)context;
    if (kind == HP_RULES_PROBLEM)
        hp_warn("%s", line);
    else
        hp_info("%s", line);
}

/* Read with hwloc once: that takes milliseconds. */
static const char *machine_name(void)
{
    static char name[HP_FINGERPRINT_BYTES];
    return name[0] ? name : hp_machine_fingerprint(name, sizeof name);
}

static void read_rules(hp_rule_t **rules, size_t *count)
{
    const hp_rules_source_t source = {
        .file = hp_job.knobs.rules, .machine = machine_name(), .line = print_line};

    if (hp_rules_read(&source, rules, count) == HP_OK)
        hp_info("HANPMPI_RULES=%s: %zu rules", hp_job.knobs.rules, *count);
}

/* A made-up machine leaves nothing for the real one. */
static bool keeps_probes(void)
{
    return hp_job.knobs.model && !hp_job.knobs.topology[0];
}

static void find_cache(hp_probes_cache_t *cache)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;

    P(Get_library_version)(version, &length);
    version[strcspn(version, ",\n")] = '\0'; /* the name and the version stand in front */
    hp_probes_cache_init(cache, hp_job.knobs.cache, machine_name(), version);
}

/* Everybody gets rank 0's rules, or nobody has any. */
static void share_rules(hp_rule_t *rules, size_t count)
{
    int mine, all = 0;

    if (hp_job.rank != 0)
        rules = malloc(count * sizeof *rules);
    mine = rules != NULL;
    if (P(Allreduce)(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) == MPI_SUCCESS && all &&
        P(Bcast)(rules, (int)(count * sizeof *rules), MPI_BYTE, 0, MPI_COMM_WORLD) == MPI_SUCCESS)
        mine = hp_select_set_rules(rules, count) == HP_OK;
    else
        mine = 0;
    if (P(Allreduce)(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) != MPI_SUCCESS || !all) {
        hp_select_set_rules(NULL, 0);
        if (hp_job.rank == 0)
            hp_warn("HANPMPI_RULES=%s is not used: a rank has no memory for its %zu rules",
                    hp_job.knobs.rules, count);
    }
    if (hp_job.rank != 0)
        free(rules);
}

void hp_job_rules_start(void)
{
    header_t header = {.rule_count = 0};
    hp_rule_t *rules = NULL;
    size_t count = 0;

    if (!hp_job.knobs.rules[0] && !keeps_probes())
        return;
    if (hp_job.rank == 0) {
        if (hp_job.knobs.rules[0])
            read_rules(&rules, &count);
        if (keeps_probes()) {
            hp_probes_cache_t cache;
            find_cache(&cache);
            hp_probes_cache_read(&cache, &header.probes);
        }
        header.rule_count = count;
    }
    if (P(Bcast)(&header, sizeof header, MPI_BYTE, 0, MPI_COMM_WORLD) == MPI_SUCCESS) {
        hp_probe_learn(&header.probes, true);
        if (header.rule_count)
            share_rules(rules, (size_t)header.rule_count);
    }
    free(rules);
}

void hp_job_rules_finish(void)
{
    if (hp_job.rank == 0 && keeps_probes() && hp_probe_is_news()) {
        hp_probes_cache_t cache;
        hp_probes_t known;
        hp_probe_known(&known);
        find_cache(&cache);
        hp_probes_cache_write(&cache, &known);
    }
    hp_select_set_rules(NULL, 0);
}
