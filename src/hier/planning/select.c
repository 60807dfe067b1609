#include "hier/planning/select.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "hier/collectives/exchange.h"

/* ---- what a communicator remembers ---- */

struct hp_choices {
    hp_bin_t *bins[HP_COLLECTIVE_COUNT][HP_SIZE_BINS];
    hp_seen_t seen[HP_COLLECTIVE_COUNT];
    uint64_t longest[HP_COLLECTIVE_COUNT]; /* as agreed */
};

static bool synchronizes(hp_collective_t collective)
{
    const unsigned patterns = HP_SERVES(ALLREDUCE) | HP_SERVES(BARRIER) | HP_SERVES(ALLGATHER) |
                              HP_SERVES(REDUCE_SCATTER) | HP_SERVES(ALLTOALL);
    return patterns & 1u << hp_collective_pattern(collective) && !hp_collective_is(collective, HP_OWN_SIZES);
}

static hp_bin_t *make_bin(hp_comm_t *comm, hp_collective_t collective, unsigned number)
{
    if (!comm->choices && !(comm->choices = calloc(1, sizeof *comm->choices)))
        return NULL;
    hp_bin_t *bin = calloc(1, sizeof *bin);
    if (bin)
        bin->candidates.bytes = (hp_bounds_t){1, 0}; /* none yet */
    return comm->choices->bins[collective][number] = bin;
}

/* A call moves so many bytes: an agreement of the ranks, a short allreduce, is nothing beside it. */
enum { LONG_BYTES = 65536 };

static bool is_long(const hp_comm_t *comm, hp_collective_t collective, uint64_t bytes)
{
    return bytes >= LONG_BYTES / (hp_collective_is(collective, HP_OF_BLOCKS) ? comm->size : 1);
}

/* The slot of a candidate; HP_SLOTS: it is not offered any more. */
static unsigned slot_of(const hp_candidates_t *candidates, uint64_t id)
{
    unsigned slot = 0;
    while (slot < HP_SLOTS &&
           (!(candidates->offered & (1u << slot)) || hp_candidate_id(&candidates->slot[slot]) != id))
        slot++;
    return slot;
}

/* What was found on another communicator like this one stands for a trial, if its choice is offered here, too. */
static void trust(hp_bin_t *bin, const hp_finding_t *finding)
{
    double us[HP_SLOTS];
    const unsigned chosen = slot_of(&bin->candidates, finding->id[finding->chosen]);
    const unsigned second = slot_of(&bin->candidates, finding->id[finding->second]);

    if (chosen == HP_SLOTS || second == HP_SLOTS)
        return;
    for (unsigned slot = 0; slot < HP_SLOTS; slot++)
        us[slot] = -1;
    for (unsigned i = 0; i < HP_SLOTS; i++) {
        const unsigned slot = finding->us[i] >= 0 ? slot_of(&bin->candidates, finding->id[i]) : HP_SLOTS;
        if (slot < HP_SLOTS)
            us[slot] = finding->us[i];
    }
    hp_guard_trust(&bin->guard, chosen, second, us);
}

/* Of neighbouring sizes: what took so many times as long as the best is not likely to win here. */
static const double slow_there = 1.5;

static uint8_t slow_slots(const hp_candidates_t *candidates, const uint64_t id[HP_SLOTS],
                          const double us[HP_SLOTS], unsigned chosen)
{
    uint8_t slow = 0;

    for (unsigned i = 0; i < HP_SLOTS; i++) {
        const bool is_slow = us[chosen] > 0 && us[i] > slow_there * us[chosen];
        const unsigned slot = is_slow ? slot_of(candidates, id[i]) : HP_SLOTS;
        slow |= slot < HP_SLOTS ? (uint8_t)(1u << slot) : 0;
    }
    return slow;
}

/* What this communicator's guards have found for the bins beside this one, or others have. */
static uint8_t doubted(const hp_comm_t *comm, hp_collective_t collective, unsigned number,
                       const hp_candidates_t *candidates)
{
    uint8_t slow = 0;

    for (int side = -1; side <= 1; side += 2) {
        const unsigned beside = number + (unsigned)side;
        const hp_bin_t *bin = beside < HP_SIZE_BINS ? comm->choices->bins[collective][beside] : NULL;
        const hp_finding_t *finding = hp_wisdom_find(comm, collective, beside);
        hp_finding_t here;
        if (bin && !bin->guard.open && bin->guard.offered) {
            here = hp_select_finding(comm, collective, bin, "");
            finding = &here;
        }
        if (finding)
            slow |= slow_slots(candidates, finding->id, finding->us, finding->chosen);
    }
    return slow;
}

hp_finding_t hp_select_finding(const hp_comm_t *comm, hp_collective_t collective, const hp_bin_t *bin,
                               const char *text)
{
    hp_finding_t finding = {.place = hp_wisdom_place(comm),
                            .collective = collective,
                            .bin = hp_size_bin(bin->candidates.bytes.from),
                            .chosen = bin->guard.chosen,
                            .second = bin->guard.second,
                            .day = (uint32_t)(time(NULL) / (24 * 60 * 60)),
                            .is_news = true};

    for (unsigned slot = 0; slot < HP_SLOTS; slot++) {
        const bool is_offered = bin->candidates.offered & (1u << slot);
        finding.id[slot] = is_offered ? hp_candidate_id(&bin->candidates.slot[slot]) : 0;
        finding.us[slot] = is_offered ? bin->guard.took[slot].median : -1;
    }
    snprintf(finding.text, sizeof finding.text, "%s", text);
    return finding;
}

static bool is_probed(const hp_comm_t *comm)
{
    const hp_layout_t layout = hp_comm_layout(comm);
    return hp_probes_cover(&comm->probes, &layout);
}

/* Where nobody waits for probes there is no model either: not with the guard off, nor without another one to ask. */
static bool may_have_models(const hp_comm_t *comm)
{
    return comm->knobs.guard && comm->knobs.model && comm->probes_may_come;
}

void hp_select_offer_model(hp_comm_t *comm, hp_collective_t collective, hp_bin_t *bin)
{
    const hp_situation_t situation = hp_candidates_situation(comm);
    hp_candidates_t now;

    if (!bin->lacks_model || bin->guard.open || !is_probed(comm))
        return;
    bin->lacks_model = bin->guard.may_grow = false;
    hp_candidates_find(&situation, collective, bin->candidates.bytes.from, &now);
    bin->candidates.slot[HP_SLOT_RULE].expected_us = now.slot[HP_SLOT_RULE].expected_us;
    if (!(now.offered & (1u << HP_SLOT_MODEL)))
        return;
    bin->candidates.slot[HP_SLOT_MODEL] = now.slot[HP_SLOT_MODEL];
    bin->candidates.offered |= 1u << HP_SLOT_MODEL;
    hp_guard_offer(&bin->guard, HP_SLOT_MODEL);
}

/* On networks that were as described the model was 36% off at most (tests/unit/test_model_blocks.c). */
static const double denies = 2;

unsigned hp_select_denies_network(const hp_comm_t *comm, hp_collective_t collective, const hp_bin_t *bin)
{
    for (unsigned slot = 0; slot < HP_SLOTS && comm->network && !bin->guard.open; slot++) {
        const hp_candidate_t *candidate = &bin->candidates.slot[slot];
        if (slot != bin->guard.chosen && bin->candidates.offered & (1u << slot) && candidate->algorithm &&
            hp_inter_node_is_placed(candidate->setting.inter_node, collective) &&
            candidate->expected_us > 0 && bin->guard.took[slot].median > denies * candidate->expected_us)
            return slot;
    }
    return HP_SLOTS;
}

static void fill(hp_comm_t *comm, hp_collective_t collective, uint64_t bytes, hp_bin_t *bin)
{
    const hp_situation_t situation = hp_candidates_situation(comm);
    const bool is_first = !bin->candidates.offered;

    hp_candidates_find(&situation, collective, bytes, &bin->candidates);
    bin->lacks_model = may_have_models(comm) && !is_probed(comm);
    /* For another part of the bin, with another rule, what the guard found goes on to hold for the slots. */
    if (!is_first)
        return;
    const hp_guard_calls_t calls = {.synchronizes = synchronizes(collective),
                                    .is_long = is_long(comm, collective, bytes),
                                    .shares_cores = comm->shares_cores,
                                    .may_grow = bin->lacks_model,
                                    .doubted =
                                        doubted(comm, collective, hp_size_bin(bytes), &bin->candidates)};
    hp_guard_init(&bin->guard, bin->candidates.offered, HP_SLOT_RULE, calls);
    const hp_finding_t *finding = hp_wisdom_find(comm, collective, hp_size_bin(bytes));
    if (finding && bin->guard.open)
        trust(bin, finding);
}

static hp_bin_t *find_bin(hp_comm_t *comm, hp_collective_t collective, uint64_t bytes)
{
    const unsigned number = hp_size_bin(bytes);
    hp_bin_t *bin = comm->choices ? comm->choices->bins[collective][number] : NULL;

    if (!bin && !(bin = make_bin(comm, collective, number)))
        return NULL;
    if (bytes < bin->candidates.bytes.from || bytes > bin->candidates.bytes.to)
        fill(comm, collective, bytes, bin);
    return bin;
}

static hp_outcome_t take_slot(hp_choice_t *choice, unsigned slot)
{
    hp_bin_t *bin = choice->bin;

    choice->slot = hp_select_slot(bin, slot);
    const hp_candidate_t *candidate = &bin->candidates.slot[choice->slot];
    bin->calls[choice->slot]++;
    choice->algorithm = candidate->algorithm;
    choice->setting = &candidate->setting;
    return candidate->reason;
}

hp_outcome_t hp_select(hp_comm_t *comm, hp_collective_t collective, uint64_t bytes, hp_choice_t *choice)
{
    *choice = (hp_choice_t){.bin = find_bin(comm, collective, bytes)};
    if (!choice->bin)
        return HP_OUTCOME_FAILED;
    return take_slot(choice, hp_guard_next(&choice->bin->guard, &choice->is_timed));
}

hp_outcome_t hp_select_settled(hp_bin_t *bin, hp_choice_t *choice)
{
    *choice = (hp_choice_t){.bin = bin};
    bin->guard.calls++;
    return take_slot(choice, bin->guard.chosen);
}

hp_outcome_t hp_select_untimed(hp_comm_t *comm, hp_collective_t collective, uint64_t bytes,
                               hp_choice_t *choice)
{
    *choice = (hp_choice_t){.bin = find_bin(comm, collective, bytes)};
    if (!choice->bin)
        return HP_OUTCOME_FAILED;
    const hp_outcome_t outcome = take_slot(choice, hp_guard_verdict(&choice->bin->guard));
    return outcome == HP_OUTCOME_MOCKUP ? HP_OUTCOME_HINT : outcome; /* by force, of blocking calls alone */
}

/* ---- sizes that each rank knows for itself ---- */

/* Rows of longer blocks would mostly be empty, and long messages gain nothing by going through others. */
enum { ROW_BYTES_MAX = 4096 };

uint64_t hp_select_longest(const hp_comm_t *comm, hp_collective_t collective)
{
    return comm->knobs.row_bytes >= 0 ? (uint64_t)comm->knobs.row_bytes
           : comm->choices            ? comm->choices->longest[collective]
                                      : 0;
}

void hp_select_see(hp_comm_t *comm, hp_collective_t collective, hp_seen_t seen)
{
    if (!comm->choices)
        return;
    hp_seen_t *most = &comm->choices->seen[collective];
    most->longest = seen.longest > most->longest ? seen.longest : most->longest;
    most->peers = seen.peers > most->peers ? seen.peers : most->peers;
}

hp_seen_t hp_select_seen(const hp_comm_t *comm, hp_collective_t collective)
{
    return comm->choices ? comm->choices->seen[collective] : (hp_seen_t){0};
}

/* With fewer of the ranks as peers direct messages are faster than rows: 16 nodes x 16 ranks, 8 B, about 12%. */
enum { PEERS_PART = 8 };

void hp_select_agree(hp_comm_t *comm, hp_collective_t collective, hp_seen_t seen)
{
    if (!comm->choices)
        return;
    comm->choices->seen[collective] = (hp_seen_t){0};
    comm->choices->longest[collective] = seen.peers > comm->size / PEERS_PART ? seen.longest : 0;
}

size_t hp_select_row(const hp_comm_t *comm, hp_collective_t collective, uint32_t root,
                     const hp_choice_t *choice)
{
    const uint64_t longest = hp_select_longest(comm, collective);
    const hp_call_t call = {
        .collective = collective, .row = (longest + 7) / 8 * 8, .root = root, .commutative = true};

    if (!choice->algorithm || !(choice->algorithm->traits & HP_TRAIT_ROWS) || longest == 0 ||
        (longest > ROW_BYTES_MAX && comm->knobs.row_bytes < 0))
        return 0;
    return hp_exchange_carries(comm, &call, choice->algorithm->traits & HP_TRAIT_NODES, choice->setting)
               ? call.row
               : 0;
}

void hp_select_each(const hp_comm_t *comm, hp_bin_fn_t visit, void *context)
{
    for (unsigned c = 0; c < HP_COLLECTIVE_COUNT && comm->choices; c++)
        for (unsigned number = 0; number < HP_SIZE_BINS; number++)
            if (comm->choices->bins[c][number])
                visit(context, (hp_collective_t)c, number, comm->choices->bins[c][number]);
}

void hp_select_forget(hp_comm_t *comm)
{
    if (!comm)
        return;
    for (unsigned c = 0; c < HP_COLLECTIVE_COUNT && comm->choices; c++)
        for (unsigned number = 0; number < HP_SIZE_BINS; number++)
            free(comm->choices->bins[c][number]);
    free(comm->choices);
    comm->choices = NULL;
}

void hp_select_set_knobs(hp_comm_t *comm, const hp_knobs_t *knobs)
{
    comm->knobs = *knobs;
    hp_select_forget(comm);
}
