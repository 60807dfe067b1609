/* candidates: all that may run a call of a collective and a size on a communicator, and who named it.
 *
 * Every input is the same on all ranks of the communicator, so all ranks come to the same answer without a message. The order:
 *
 *      1. hints of the communicator, then knobs: an algorithm that they name runs
 *      2. the first rule of the file HANPMPI_RULES that holds
 *      3. the first built-in rule that holds (tuning/default_rules.def); where a network is described and no guard measures, in place
 *         of that rule's algorithm what the model expects to be fastest there: the rules were made where nodes share no links
 *      4. the host MPI
 *
 * Single numbers of a rule (segment_bytes and so on) give way to hints and knobs too. Unless 1. decides, the guard
 * (guard.h) tries the outcome against the host MPI, and that of 3. and 4. also against the model's (model.h) and a mock-up
 * (tuning/mockups.def).
 *
 * Threads: hp_candidates_set_rules at start-up; else pure. Ownership: the rules are kept, the rest is plain data. */
#ifndef HP_HIER_PLANNING_CANDIDATES_H
#define HP_HIER_PLANNING_CANDIDATES_H

#include "hier/collectives/algorithm.h"
#include "hier/planning/guard.h"
#include "hier/planning/model/model.h"
#include "hier/planning/rules/rule.h"

/* Sizes that share a question for the guard: 0, 1, 2-3, 4-7, 8-15, ... */
enum { HP_SIZE_BINS = 65 };
static inline unsigned hp_size_bin(uint64_t bytes)
{
    return bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0;
}

/* Who decided: id, word for tables, sentence for people. */
#define HP_DECIDER_TABLE(X)                                                                                  \
    X(NOBODY, "none", "no rule holds")                                                                       \
    X(HINT, "hint", "an info key of the communicator")                                                       \
    X(KNOB, "knob", "an environment variable")                                                               \
    X(FILE, "file", "a rule of the file HANPMPI_RULES")                                                      \
    X(RULE, "rule", "a built-in rule")                                                                       \
    X(NETWORK, "network", "the model, on the network that is described")                                     \
    X(MODEL, "model", "the model, from probes of this machine")                                              \
    X(GUARD, "guard", "the guard: it was measured to be the fastest")                                        \
    X(WISDOM, "wisdom", "the guard of another communicator like this one, or of an earlier run")

typedef enum {
#define X(id, word, text) HP_DECIDER_##id,
    HP_DECIDER_TABLE(X)
#undef X
        HP_DECIDER_COUNT
} hp_decider_t;

const char *hp_decider_word(hp_decider_t decider);
const char *hp_decider_text(hp_decider_t decider);

/* What may run a call. */
typedef struct {
    const hp_algorithm_t *algorithm; /* NULL: the host MPI */
    const char *mockup; /* its other collectives, "reduce + bcast"; NULL: the one that is called */
    hp_setting_t setting;
    hp_decider_t by;
    uint32_t line;       /* of the rule in its file; 0: none */
    hp_outcome_t reason; /* without algorithm: why */
    double expected_us;  /* by the model; < 0: not known */
} hp_candidate_t;

/* All that may run calls of some sizes. */
typedef struct {
    hp_bounds_t bytes;             /* the sizes for which this holds */
    uint8_t offered;               /* slots that are filled: bit 1 << slot */
    hp_candidate_t slot[HP_SLOTS]; /* [HP_SLOT_RULE] is always there */
} hp_candidates_t;

/* What the answer depends on, beside the call. */
typedef struct {
    const hp_knobs_t *knobs;     /* the job's, with the communicator's hints over them */
    const hp_knobs_t *job_knobs; /* without hints */
    hp_layout_t layout;
    const hp_probes_t *probes; /* NULL: none */
} hp_situation_t;

hp_situation_t hp_candidates_situation(const hp_comm_t *comm);

void hp_candidates_find(const hp_situation_t *situation, hp_collective_t collective, uint64_t bytes,
                        hp_candidates_t *out);

/* The same for candidates that run in the same way, in this version of the library; 0: the host MPI. */
uint64_t hp_candidate_id(const hp_candidate_t *candidate);

/* Before a communicator is set up nothing is known of its nodes. May the call be taken, on whichever its ranks
 * are? HP_OUTCOME_TAKEN (maybe), _HINT, _ONE_NODE or _RULE. nodes: at most so many hold them. knobs: with
 * hints. */
hp_outcome_t hp_candidates_possible(const hp_knobs_t *knobs, hp_collective_t collective, uint64_t bytes,
                                    uint32_t nodes);

/* Does a knob, or a hint, name what runs the collective? Then there is nothing to try. */
bool hp_candidates_is_named(const hp_knobs_t *knobs, hp_collective_t collective);

/* The rules of the file, before any communicator asks; they are copied. HP_OK or HP_ERR_NO_MEM. NULL, 0: none. */
hp_status_t hp_candidates_set_rules(const hp_rule_t *rules, size_t count);

#endif
