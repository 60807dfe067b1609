#include "hier/collectives/algorithm.h"

#include <string.h>
#include "hier/collectives/block_copies.h"
#include "hier/collectives/block_flags.h"
#include "hier/collectives/exchange.h"
#include "hier/collectives/flags.h"
#include "hier/collectives/pipeline.h"

static const hp_algorithm_t algorithms[] = {
#define HP_ALGORITHM(id, collective, name, starts, traits, nodes_most, description)                          \
    {HP_##id, #name, hp_##starts##_start, hp_##starts##_runs_alone, traits, nodes_most, description},
#include "hier/collectives/algorithms.def"
#undef HP_ALGORITHM
};

const hp_algorithm_t *hp_algorithm(hp_collective_t collective, unsigned i)
{
    for (size_t k = 0; k < sizeof algorithms / sizeof *algorithms; k++)
        if (algorithms[k].collective == collective && i-- == 0)
            return &algorithms[k];
    return NULL;
}

const hp_algorithm_t *hp_algorithm_of(hp_algorithm_id_t id)
{
    return id == HP_ALGORITHM_NATIVE ? NULL : &algorithms[id - 1];
}

hp_algorithm_id_t hp_algorithm_id(const hp_algorithm_t *algorithm)
{
    return algorithm ? (hp_algorithm_id_t)(algorithm - algorithms + 1) : HP_ALGORITHM_NATIVE;
}

const hp_algorithm_t *hp_algorithm_find(hp_collective_t collective, const char *name)
{
    const hp_algorithm_t *algorithm;
    for (unsigned i = 0; (algorithm = hp_algorithm(collective, i)); i++)
        if (strcmp(algorithm->name, name) == 0)
            break;
    return algorithm;
}

const hp_algorithm_t *hp_algorithm_with(hp_collective_t collective, uint32_t trait)
{
    const hp_algorithm_t *algorithm;
    for (unsigned i = 0; (algorithm = hp_algorithm(collective, i)); i++)
        if (algorithm->traits & trait)
            break;
    return algorithm;
}

const hp_algorithm_t *hp_algorithm_around(hp_collective_t collective)
{
#define AROUND(id)                                                                                           \
    [id] = {                                                                                                 \
        id,                                                                                                  \
        "han",                                                                                               \
        hp_pipeline_around_start,                                                                            \
        hp_pipeline_runs_alone,                                                                              \
        HP_TRAIT_PIPELINED,                                                                                  \
        UINT64_MAX,                                                                                          \
        "hierarchical pipeline around ranks that come late"                                                  \
    }
    static const hp_algorithm_t ways[HP_BARRIER] = {AROUND(HP_BCAST), AROUND(HP_REDUCE),
                                                    AROUND(HP_ALLREDUCE)};
#undef AROUND
    return &ways[collective];
}

static const char *knob_word(hp_collective_t collective, unsigned i)
{
    if (i == HP_WORD_AUTO)
        return "auto";
    if (i == HP_WORD_NATIVE)
        return "native";
    const hp_algorithm_t *algorithm = hp_algorithm(collective, i - HP_FIRST_ALGORITHM_WORD);
    return algorithm ? algorithm->name : NULL;
}

/* The words of the knobs; knobs.def names these functions. */
#define X(id, name, ...)                                                                                     \
    const char *hp_knob_word_##name(unsigned i);                                                             \
    const char *hp_knob_word_##name(unsigned i)                                                              \
    {                                                                                                        \
        return knob_word(HP_##id, i);                                                                        \
    }
HP_COLLECTIVE_TABLE(X)
#undef X
