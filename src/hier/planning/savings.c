#include "hier/planning/savings.h"

#include "hier/call/stats.h"
#include "hier/planning/kept.h"

/* Calls of what was not chosen, and the agreements. */
static void add_cost(hp_savings_t *savings, const hp_bin_t *bin)
{
    const unsigned chosen = hp_kept_chosen(bin);
    const double usual_us = hp_kept_mean_us(bin, chosen);

    savings->agreement_count += bin->agreements;
    savings->agreement_seconds += bin->agreements_us / 1e6;
    for (unsigned slot = 0; slot < HP_SLOTS; slot++) {
        const double more_us = hp_kept_mean_us(bin, slot) - usual_us;
        if (slot == chosen || !bin->calls[slot])
            continue;
        savings->trial_calls += bin->calls[slot];
        if (usual_us >= 0 && more_us > 0)
            savings->trial_seconds += more_us * (double)bin->calls[slot] / 1e6;
    }
}

/* The slot in which the host MPI's collective runs; the rules may have named it themselves. HP_SLOTS: none. */
static unsigned host_slot(const hp_bin_t *bin)
{
    unsigned slot = 0;
    while (slot < HP_SLOTS && (!(bin->candidates.offered & (1u << slot)) || bin->candidates.slot[slot].algorithm ||
                               bin->candidates.slot[slot].mockup))
        slot++;
    return slot;
}

static void add_gain(hp_savings_t *savings, const hp_bin_t *bin)
{
    const unsigned chosen = hp_kept_chosen(bin), slot = host_slot(bin);
    const hp_guard_spread_t *took = &bin->guard.took[chosen], *host = &bin->guard.took[slot % HP_SLOTS];
    const double calls = (double)bin->calls[chosen];

    if (chosen == slot)
        return;
    if (slot == HP_SLOTS || bin->guard.open || took->median < 0 || host->median < 0) {
        savings->unknown_calls += bin->calls[chosen];
        return;
    }
    savings->calls += bin->calls[chosen];
    savings->seconds += (host->median - took->median) * calls / 1e6;
    savings->least_seconds += (host->least - took->most) * calls / 1e6;
    savings->most_seconds += (host->most - took->least) * calls / 1e6;
}

hp_savings_t hp_savings(double run_seconds)
{
    hp_savings_t savings = {.run_seconds = run_seconds, .setup_seconds = (double)hp_stats_setup_ns / 1e9};

    for (unsigned c = 0; c < HP_COLLECTIVE_COUNT; c++)
        for (unsigned bin = 0; bin < HP_STATS_BINS; bin++) {
            savings.taken_seconds += (double)hp_stats[c][bin].taken_ns / 1e9;
            savings.collective_seconds +=
                (double)(hp_stats[c][bin].taken_ns + hp_stats[c][bin].passed_ns) / 1e9;
        }
    for (const hp_kept_t *row = hp_kept_first(); row; row = row->next) {
        add_cost(&savings, &row->bin);
        add_gain(&savings, &row->bin);
    }
    return savings;
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

void hp_savings_print(FILE *out, const hp_savings_t *s, unsigned rank)
{
    const double spent = s->setup_seconds + s->trial_seconds + s->agreement_seconds;

    fprintf(out,
            "  %.3f s of the %.3f s since MPI_Init were in collectives (%.1f%%, rank %u); of these %.1f%% in calls "
            "that the library ran\n",
            s->collective_seconds, s->run_seconds, percent(s->collective_seconds, s->run_seconds), rank,
            percent(s->taken_seconds, s->collective_seconds));
    if (s->calls)
        fprintf(out,
                "  about %.3f s saved (%.3f to %.3f) in %llu calls, by what the host MPI took in trials, here or earlier\n",
                s->seconds, s->least_seconds, s->most_seconds, (unsigned long long)s->calls);
    if (s->unknown_calls)
        fprintf(out, "  %llu calls that the library ran were not compared with the host MPI\n",
                (unsigned long long)s->unknown_calls);
    if (spent > 0)
        fprintf(out,
                "  %.3f s spent on finding out: %.3f setting up, %.3f in %llu calls of what was not chosen, %.3f "
                "agreeing %llu times\n",
                spent, s->setup_seconds, s->trial_seconds, (unsigned long long)s->trial_calls, s->agreement_seconds,
                (unsigned long long)s->agreement_count);
}

json_t *hp_savings_json(const hp_savings_t *s)
{
    return json_pack("{s:f,s:f,s:f,s:f,s:f,s:I,s:I,s:f,s:f,s:I,s:f,s:I}", "collective_seconds", s->collective_seconds,
                     "taken_seconds", s->taken_seconds, "seconds", s->seconds, "least_seconds", s->least_seconds,
                     "most_seconds", s->most_seconds, "calls", (json_int_t)s->calls, "unknown_calls",
                     (json_int_t)s->unknown_calls, "setup_seconds", s->setup_seconds, "trial_seconds",
                     s->trial_seconds, "trial_calls", (json_int_t)s->trial_calls, "agreement_seconds",
                     s->agreement_seconds, "agreements", (json_int_t)s->agreement_count);
}
