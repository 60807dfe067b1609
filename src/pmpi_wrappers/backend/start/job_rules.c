#include "pmpi_wrappers/backend/start/job_rules.h"

#include <stdlib.h>
#include "base/log.h"
#include "hier/planning/model/probes_cache.h"
#include "hier/planning/rules/rules_json.h"
#include "hier/planning/select.h"
#include "hier/planning/foresight.h"
#include "hier/planning/wisdom_file.h"
#include "pmpi_wrappers/backend/glue/machine.h"
#include "pmpi_wrappers/backend/start/job.h"
#include "pmpi_wrappers/backend/start/probe.h"
#include "topo_tree/fingerprint.h"

/* What rank 0 sends ahead of the rules. */
typedef struct {
    uint64_t rule_count, finding_count;
    hp_probes_t probes;
} header_t;

enum { ON, READ, OFF }; /* hp_knob_word_wisdom */

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

/* A made-up machine, or a simulated one, leaves nothing for the real one, and takes nothing from it. */
static bool keeps_probes(void)
{
    return hp_job.knobs.model && !hp_job.knobs.topology[0] && !hp_ranks_take_turns;
}

static bool reads_wisdom(void)
{
    return hp_job.knobs.guard && hp_job.knobs.wisdom != OFF && !hp_job.knobs.topology[0];
}

static void find_cache(hp_cache_t *cache)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;

    P(Get_library_version)(version, &length);
    version[strcspn(version, ",\n")] = '\0'; /* the name and the version stand in front */
    hp_cache_init(cache, hp_job.knobs.cache, machine_name(), version);
}

/* Everybody gets rank 0's rules, or nobody has any. */
static void share_rules(hp_rule_t *rules, size_t count)
{
    bool mine;

    if (hp_job.rank != 0)
        rules = malloc(count * sizeof *rules);
    mine = rules != NULL;
    if (hp_job_all(mine) && hp_job_share(rules, count * sizeof *rules))
        mine = hp_candidates_set_rules(rules, count) == HP_OK;
    else
        mine = false;
    if (!hp_job_all(mine)) {
        hp_candidates_set_rules(NULL, 0);
        if (hp_job.rank == 0)
            hp_warn("HANPMPI_RULES=%s is not used: a rank has no memory for its %zu rules",
                    hp_job.knobs.rules, count);
    }
    if (hp_job.rank != 0)
        free(rules);
}

/* A rank that has no memory for them learns them from the others, when a communicator is set up. */
static void share_findings(hp_finding_t *findings, size_t count)
{
    if (hp_job_share(findings, count * sizeof *findings))
        hp_wisdom_adopt(findings, count);
    hp_foresight_set(findings, count); /* without memory, too: all ranks have to foresee the same */
}

/* What earlier runs have left, on rank 0. */
static void read_cache(header_t *header, hp_finding_t *findings)
{
    hp_cache_t cache;

    find_cache(&cache);
    if (keeps_probes())
        hp_probes_cache_read(&cache, &header->probes);
    if (findings)
        header->finding_count = hp_wisdom_read(&cache, findings);
}

bool hp_job_rules_has_files(void)
{
    return hp_job.knobs.rules[0] ||
           ((keeps_probes() || reads_wisdom()) && hp_cache_may_exist(hp_job.knobs.cache));
}

void hp_job_rules_start(void)
{
    /* All ranks have the same knobs. */
    const bool reads_rules = hp_job.knobs.rules[0];
    static hp_finding_t room[HP_FINDINGS_MAX]; /* of zero pages, unless there is a file */
    hp_finding_t *findings = reads_wisdom() ? room : NULL;
    header_t header = {.rule_count = 0};
    hp_rule_t *rules = NULL;
    size_t count = 0;

    if (!hp_job.has_files || (!reads_rules && !keeps_probes() && !findings))
        return;
    if (hp_job.rank == 0) {
        if (reads_rules)
            read_rules(&rules, &count);
        read_cache(&header, findings);
        header.rule_count = count;
    }
    if (hp_job_share(&header, sizeof header)) {
        hp_probe_learn(&header.probes, true);
        if (header.rule_count)
            share_rules(rules, (size_t)header.rule_count);
        if (header.finding_count)
            share_findings(findings, (size_t)header.finding_count);
    }
    free(rules);
}

void hp_job_rules_finish(void)
{
    const bool has_news = reads_wisdom() && hp_job.knobs.wisdom == ON && hp_wisdom_has_news();
    hp_cache_t cache;

    if (hp_job.rank == 0 && (has_news || (keeps_probes() && hp_probe_is_news())))
        find_cache(&cache);
    if (hp_job.rank == 0 && keeps_probes() && hp_probe_is_news()) {
        hp_probes_t known;
        bool is_fresh;
        hp_probe_known(&known, &is_fresh);
        if (!hp_probes_cache_write(&cache, &known))
            cache.is_named = false; /* the user is warned once */
    }
    if (hp_job.rank == 0 && has_news)
        hp_wisdom_write(&cache);
    hp_wisdom_forget();
    hp_foresight_set(NULL, 0);
    hp_candidates_set_rules(NULL, 0);
}
