/* select: what runs a call, or why the library leaves it to the host MPI.
 *
 * The guard (guard.h) chooses among the candidates (candidates.h): for each collective and bin of sizes by trying
 * them in the first calls, or by what was found before on a communicator like this one (wisdom.h).
 *
 * Threads: hp_candidates_set_rules at start-up; then as comm.h. Ownership: what is remembered of a communicator hangs
 * on comm->choices. */
#ifndef HP_HIER_PLANNING_SELECT_H
#define HP_HIER_PLANNING_SELECT_H

#include "hier/planning/candidates.h"
#include "hier/planning/wisdom.h"

/* What a communicator remembers of one collective and bin. */
typedef struct {
    hp_candidates_t candidates;
    hp_guard_t guard;
    bool lacks_model; /* its candidates were found before the machine was probed */
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

/* The bin of an earlier call of so many bytes, that the communicator remembers: would hp_select find it, and time nothing? */
static inline bool hp_select_is_settled(const hp_bin_t *bin, uint64_t bytes)
{
    return bytes >= bin->candidates.bytes.from && bytes <= bin->candidates.bytes.to &&
           hp_guard_rests(&bin->guard);
}
/* What hp_select does then. */
hp_outcome_t hp_select_settled(hp_bin_t *bin, hp_choice_t *choice);
/* The two parts of it: the slot, and counting the call. */
static inline unsigned hp_select_slot(const hp_bin_t *bin, unsigned slot)
{
    return bin->candidates.offered & (1u << slot) ? slot : HP_SLOT_RULE;
}
static inline void hp_select_count_settled(hp_bin_t *bin, unsigned slot)
{
    bin->guard.calls++;
    bin->calls[slot]++;
}

/* The same for a call that cannot be timed: it runs as the guard has settled, and as the rules say before it has. Never
 * HP_OUTCOME_MOCKUP. */
hp_outcome_t hp_select_untimed(hp_comm_t *comm, hp_collective_t collective, uint64_t bytes,
                               hp_choice_t *choice);

/* The finding of a bin whose trial is over, of today. text: what was chosen, for people. */
hp_finding_t hp_select_finding(const hp_comm_t *comm, hp_collective_t collective, const hp_bin_t *bin,
                               const char *text);

/* What ranks see of the blocks of a collective whose sizes each of them knows for itself (HP_OWN_SIZES). */
typedef struct {
    uint64_t longest; /* bytes of a block */
    uint64_t peers;   /* with which a rank has blocks that are not empty */
} hp_seen_t;

/* No size tells what runs such a collective, but the longest block that was seen when the ranks last agreed (0: they have not, or each
 * has few peers, so that empty blocks had better not travel), or HANPMPI_ROW_BYTES. */
uint64_t hp_select_longest(const hp_comm_t *comm, hp_collective_t collective);
/* This rank has seen that; the most since the last agreement; and what came out of one: the most of all ranks. */
void hp_select_see(hp_comm_t *comm, hp_collective_t collective, hp_seen_t seen);
hp_seen_t hp_select_seen(const hp_comm_t *comm, hp_collective_t collective);
void hp_select_agree(hp_comm_t *comm, hp_collective_t collective, hp_seen_t seen);
/* The row (collective.h) of such a call that the choice is for; 0: none. */
size_t hp_select_row(const hp_comm_t *comm, hp_collective_t collective, uint32_t root,
                     const hp_choice_t *choice);

/* The machine may have been probed since the bin's candidates were found: what the model would do is then tried against what
 * the trial has chosen. Asked when the ranks have agreed on times. */
void hp_select_offer_model(hp_comm_t *comm, hp_collective_t collective, hp_bin_t *bin);

/* Of a bin whose trial is over: the slot with what is made for the communicator's network, if that took more than twice as
 * long as the model expects on it, and something else was chosen: the network is not as its file says. HP_SLOTS: none. */
unsigned hp_select_denies_network(const hp_comm_t *comm, hp_collective_t collective, const hp_bin_t *bin);

/* Each bin that the communicator has. */
typedef void (*hp_bin_fn_t)(void *context, hp_collective_t collective, unsigned number, const hp_bin_t *bin);
void hp_select_each(const hp_comm_t *comm, hp_bin_fn_t visit, void *context);

/* Gives back what hangs on comm->choices; comm NULL is allowed. */
void hp_select_forget(hp_comm_t *comm);
/* Other knobs, from the next collective on; what was chosen by the old ones is forgotten. */
void hp_select_set_knobs(hp_comm_t *comm, const hp_knobs_t *knobs);

#endif
