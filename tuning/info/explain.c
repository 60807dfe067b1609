#include "explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/words.h"
#include "hier/planning/explain.h"
#include "hier/planning/model/probes_cache.h"
#include "json.h"
#include "rules.h"
#include "tables.h"
#include "topo_tree/fingerprint.h"

typedef struct {
    hp_collective_t collective;
    hp_layout_t layout;
    uint64_t bytes;
} question_t;

typedef struct {
    const question_t *question;
    const hp_knobs_t *knobs;
    json_t *answers; /* NULL: the answers are printed as text */
} asked_t;

static int refuse(const char *word)
{
    fprintf(stderr,
            "hanpmpi_info: --explain: \"%s\" is not understood; accepted: a collective (%s),\n"
            "nodes=N, ppn=N or ppn=LEAST-MOST (ranks on a node), bytes=N (with K, M, G), as in "
            "\"allreduce nodes=4 ppn=4 bytes=1M\"\n",
            word, info_collective_names());
    return 1;
}

static bool number_of(const char *text, int64_t least, int64_t most, int64_t *out)
{
    return hp_word_integer(text, out) && *out >= least && *out <= most;
}

/* "4" or "3-7". */
static bool ranks_of(char *text, hp_layout_t *layout)
{
    int64_t least, most;
    char *hyphen = strchr(text, '-');

    if (hyphen)
        *hyphen++ = '\0';
    if (!number_of(text, 1, 1 << 20, &least) || !number_of(hyphen ? hyphen : text, least, 1 << 20, &most))
        return false;
    layout->least_ranks = (uint32_t)least;
    layout->most_ranks = (uint32_t)most;
    return true;
}

static bool word_of(char *word, question_t *question)
{
    int64_t number;

    if (strncmp(word, "nodes=", 6) == 0 && number_of(word + 6, 1, 1 << 20, &number)) {
        question->layout.nodes = (uint32_t)number;
        return true;
    }
    if (strncmp(word, "bytes=", 6) == 0 && number_of(word + 6, 0, INT64_MAX, &number)) {
        question->bytes = (uint64_t)number;
        return true;
    }
    return (strncmp(word, "ppn=", 4) == 0 && ranks_of(word + 4, &question->layout)) ||
           info_find_collective(word, &question->collective);
}

/* mpi: whose probes these are; NULL: there are none. */
static void answer(const asked_t *asked, const char *mpi, const hp_probes_t *probes)
{
    const hp_situation_t situation = {.knobs = asked->knobs,
                                      .job_knobs = asked->knobs,
                                      .layout = asked->question->layout,
                                      .probes = probes};
    const hp_collective_t collective = asked->question->collective;

    if (asked->answers) {
        json_t *object = hp_explain_ahead_json(&situation, collective, asked->question->bytes);
        json_object_set_new(object, "mpi", mpi ? json_string(mpi) : json_null());
        json_array_append_new(asked->answers, object);
        return;
    }
    if (mpi)
        printf("%s, by its probes:\n", mpi);
    hp_explain_ahead(stdout, &situation, collective, asked->question->bytes);
}

static void answer_for_mpi(void *context, const hp_cache_t *cache, const hp_probes_t *probes)
{
    answer(context, cache->mpi, probes);
}

int info_explain(const char *text, bool json)
{
    question_t question = {.collective = HP_COLLECTIVE_COUNT, .layout = {.nodes = 1}, .bytes = 8};
    char *copy = strdup(text), *rest = NULL, machine[HP_FINGERPRINT_BYTES];
    hp_cache_t cache;
    hp_knobs_t knobs;

    if (!copy)
        return 1;
    question.layout.least_ranks = question.layout.most_ranks = 1;
    for (char *word = strtok_r(copy, " ,", &rest); word; word = strtok_r(NULL, " ,", &rest))
        if (!word_of(word, &question)) {
            const int code = refuse(word);
            free(copy);
            return code;
        }
    free(copy);
    if (question.collective == HP_COLLECTIVE_COUNT)
        return refuse(text);
    if (question.collective == HP_BARRIER)
        question.bytes = 0;
    hp_knobs_read(&knobs, NULL, info_print_problem, NULL);
    question.layout.shares_memory = knobs.shared_memory;
    question.layout.reads_peers = knobs.shared_memory && knobs.read_peers;
    question.layout.slot_bytes = (size_t)knobs.slot_bytes;
    info_use_rules(&knobs);
    const asked_t asked = {&question, &knobs, json ? json_array() : NULL};
    hp_cache_init(&cache, knobs.cache, hp_machine_fingerprint(machine, sizeof machine), "");
    if (!knobs.model || !cache.directory[0] ||
        hp_probes_cache_each(&cache, answer_for_mpi, (void *)&asked) <= 0)
        answer(&asked, NULL, NULL);
    hp_candidates_set_rules(NULL, 0);
    return json ? info_print_json(json_pack("{s:o}", "answers", asked.answers)) : 0;
}
