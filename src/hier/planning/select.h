/* select: what runs a call, or why the library leaves it to the host MPI.
 *
 * Every input is the same on all ranks of the communicator, so all
 * ranks come to the same answer without a message. The order:
 *
 *      1. hints of the communicator, then knobs: an algorithm that they name runs
 *      2. the first rule of the file HANPMPI_RULES that holds
 *      3. the first built-in rule that holds (tuning/default_rules.def)
 *      4. the host MPI
 *
 * Single numbers of a rule (segment_bytes and so on) give way to hints and knobs too. Unless 1. decides, the guard
 * (guard.h) tries the outcome against the host MPI, and that of 3. and 4. also against the model's (model.h).
 *
 * Threads: hp_select_set_rules at start-up; then as comm.h. Ownership: what is remembered of a communicator hangs
 * on comm->choices. */
#ifndef HP_HIER_PLANNING_SELECT_H
#define HP_HIER_PLANNING_SELECT_H

#include "hier/collectives/algorithm.h"
#include "hier/planning/guard.h"
#include "hier/planning/model/model.h"
#include "hier/planning/rules/rule.h"

/* Who decided: id, word for tables, sentence for people. */
#define HP_DECIDER_TABLE(X)                                                                                  \
    X(NOBODY, "none", "no rule holds")                                                                       \
    X(HINT, "hint", "an info key of the communicator")                                                       \
    X(KNOB, "knob", "an environment variable")                                                               \
    X(FILE, "file", "a rule of the file HANPMPI_RULES")                                                      \
    X(RULE, "rule", "a built-in rule")                                                                       \
    X(MODEL, "model", "the model, from probes of this machine")                                              \
    X(GUARD, "guard", "the guard: it was measured to be the fastest")

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

hp_situation_t hp_select_situation(const hp_comm_t *comm);

void hp_select_candidates(const hp_situation_t *situation, hp_collective_t collective, uint64_t bytes,
                          hp_candidates_t *out);

/* Sizes that share a question for the guard: 0, 1, 2-3, 4-7, 8-15, ... */
enum { HP_SIZE_BINS = 65 };
static inline unsigned hp_size_bin(uint64_t bytes)
{
    return bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0;
}

/* What a communicator remembers of one collective and bin. */
typedef struct {
    hp_candidates_t candidates;
    hp_guard_t guard;
    uint64_t calls[HP_SLOTS];
    double us[HP_SLOTS]; /* sum of the calls' times on this rank, where HANPMPI_EXPLAIN has them taken */
    uint64_t agreements; /* of the guard, and the time they took, likewise */
    double agreements_us;
} hp_bin_t;

/* One call's answer. Valid until the communicator's next call or other knobs. */
typedef struct {
    const hp_algorithm_t *algorithm;
    const hp_setting_t *setting;
    hp_bin_t *bin;
    unsigned slot;
    bool is_timed; /* the call's time is to be handed to hp_guard_record */
} hp_choice_t;

/* Counts the call. HP_OUTCOME_TAKEN with *choice, or why not; *choice has a bin then too, or NULL. */
hp_outcome_t hp_select(hp_comm_t *comm, hp_collective_t collective, uint64_t bytes, hp_choice_t *choice);

/* The same for a call that cannot be timed: it runs as the guard has settled, and as the rules say before it has. */
hp_outcome_t hp_select_untimed(hp_comm_t *comm, hp_collective_t collective, uint64_t bytes,
                               hp_choice_t *choice);

/* Before a communicator is set up nothing is known of its nodes. May the call be taken, on whatever nodes its
 * ranks are? HP_OUTCOME_TAKEN (maybe), _HINT, _ONE_NODE or _RULE. one_node: all ranks of the job share a
 * node. knobs: with hints. */
hp_outcome_t hp_select_possible(const hp_knobs_t *knobs, hp_collective_t collective, uint64_t bytes,
                                bool one_node);

/* The rules of the file, before any communicator asks; they are copied. HP_OK or HP_ERR_NO_MEM. NULL, 0: none. */
hp_status_t hp_select_set_rules(const hp_rule_t *rules, size_t count);

/* Each bin that the communicator has. */
typedef void (*hp_bin_fn_t)(void *context, hp_collective_t collective, unsigned number, const hp_bin_t *bin);
void hp_select_each(const hp_comm_t *comm, hp_bin_fn_t visit, void *context);

/* Gives back what hangs on comm->choices; comm NULL is allowed. */
void hp_select_forget(hp_comm_t *comm);
/* Other knobs, from the next collective on; what was chosen by the old ones is forgotten. */
void hp_select_set_knobs(hp_comm_t *comm, const hp_knobs_t *knobs);

#endif
