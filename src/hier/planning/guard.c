#include "hier/planning/guard.h"

#include <string.h>

enum { MOCKUP_AFTER = 64 }; /* calls since the others were settled */
/* Of short calls, whose agreements cost as much as they do, what was found elsewhere holds for longer unseen. */
enum { EARLY_ROUNDS = 2, FIRST_CHECK = 128, TRUST_CHECK = 16, TRUST_CHECK_SHORT = 64, MOST_DOUBLINGS = 16 };

/* A slot that at its fastest takes more than so many times as long as the best at its slowest is out: after one timed
 * round, two, three, and after each further one. Less is enough where it was slow elsewhere, too, and for a mock-up. */
static const double out[] = {2.5, 1.25, 1.1, 1.0}, doubtful = 1.2;
/* Of short calls, after two timed rounds: noise may hit both times. */
static const double out_short = 2.0;
/* After one round, of a slot that takes less than so long: a second one costs little, and on a busy machine one time says
 * little. (Scatter of 4 KiB, 8 virtual hosts x 2 on 2 cores: 0.4 to 0.7 ms by either, once 1.0 by the host MPI.) */
static const double out_brief = 8, brief_us = 5000;
/* What is not at least so much faster than the host MPI is left to it. */
static const double worthwhile = 0.98;
/* Nor what is less than so much faster, and may be so by chance: some of its times lie above the host MPI's middle one. Where many ranks
 * share a core, or the root of a bcast is late, most of a time is waiting, by either alike. (ScaLAPACK's LU, 16 ranks on 2 cores:
 * bcasts of 16 bytes, 316 us by one and 232 by the other, or the other way round.) Nor, where ranks share cores, what is brief: what a
 * call takes of its core goes to the account of all ranks there, and nobody asks those that are not in it. (There, of 40,000 bcasts among
 * 4 hosts the library itself takes 4.7 us each, and LU 1.07 times as long; the guard sees 328 us, and 363 by the host MPI, Open MPI
 * 5.0.11.) */
static const double beyond_noise = 0.8, brief_on_shared_us = 1000;
/* Nor a mock-up that is not so much faster than the best of the others. Many take the very time of the host MPI's
 * collective (alltoall = alltoallv in most MPIs), which noise must not choose between. */
static const double worthwhile_mockup = 0.95;
/* The chosen slot takes so many times as long, or so many times less, than when it was chosen, and so do all calls of the check: a
 * drift. One of eight on the other side of what it took, and the times are those of a machine on which they jump. */
static const double drift = 1.5;
/* Of a time that few calls stand behind. */
static const double drift_rough = 2.0;
/* So many times as long is no jump, whatever some of the eight took: a link that lets the first messages through at once, and then takes
 * what it is made for. */
static const double drift_far = 4.0;
enum { FEW_ROUNDS = 4 };
/* The slowest rank took so many times as long as the fastest, by the median: they did not arrive together. */
static const double together = 3.0;

/* Where the last rank's time counts, the slowest rank's may be so many times that of the host MPI at most: the last one
 * does not see how long the others, who have waited, take to notice that it has come. */
static const double noticing = 1.15;

static unsigned count_slots(uint8_t slots)
{
    return (unsigned)__builtin_popcount(slots);
}

static unsigned nth_slot(uint8_t slots, unsigned n)
{
    unsigned slot = 0;
    for (; slot < HP_SLOTS; slot++)
        if ((slots & (1u << slot)) && n-- == 0)
            break;
    return slot;
}

static const uint8_t mockup = 1u << HP_SLOT_MOCKUP;

/* A mock-up counts as long as it is in. */
static unsigned rounds_of(const hp_guard_t *guard)
{
    const uint8_t slots = (guard->offered & (uint8_t)~mockup) | (guard->open & mockup);
    return count_slots(slots) > 2 ? HP_GUARD_ROUNDS_OF_THREE : HP_GUARD_ROUNDS_OF_TWO;
}

/* That are not timed. */
static unsigned warm_ups(const hp_guard_t *guard)
{
    return guard->is_long ? 1 : 2;
}

static hp_guard_spread_t only(double us)
{
    return (hp_guard_spread_t){us, us, us};
}

static void open(hp_guard_t *guard)
{
    guard->open = guard->offered & (uint8_t)~mockup;
    guard->is_found = guard->is_rough = false;
    guard->round = guard->turn = guard->timed = guard->agreed = 0;
    for (unsigned slot = 0; slot < HP_SLOTS; slot++)
        guard->took[slot] = only(-1);
}

/* Times that jump, as on a busy machine, open the question again and again: each time it is settled for twice as long. What
 * a few long calls have decided is looked at soon: a link may have let the first ones through at once, faster than it is. */
static uint32_t first_check(const hp_guard_t *guard)
{
    const uint32_t first = guard->is_long && guard->is_rough ? TRUST_CHECK : FIRST_CHECK;
    return first << (guard->reopened < MOST_DOUBLINGS ? guard->reopened : MOST_DOUBLINGS);
}

static void settle(hp_guard_t *guard, unsigned slot, unsigned second)
{
    guard->open = 0;
    guard->chosen = (uint8_t)slot;
    guard->second = (uint8_t)second;
    guard->settled_us = guard->took[slot].median;
    guard->is_confirmed = false;
    guard->calls = 0;
    guard->due = first_check(guard);
    guard->timed = guard->agreed = 0;
}

void hp_guard_init(hp_guard_t *guard, uint8_t offered, unsigned preferred, hp_guard_calls_t calls)
{
    memset(guard, 0, sizeof *guard);
    guard->offered = offered;
    guard->synchronizes = calls.synchronizes;
    guard->is_long = calls.is_long;
    guard->shares_cores = calls.shares_cores;
    guard->may_grow = calls.may_grow;
    guard->doubted = calls.doubted;
    open(guard);
    if (count_slots(guard->open) == 1)
        settle(guard, preferred, preferred);
    if (count_slots(offered) == 1 && !calls.may_grow)
        guard->due = UINT32_MAX;
}

void hp_guard_offer(hp_guard_t *guard, unsigned slot)
{
    guard->may_grow = false;
    guard->offered |= (uint8_t)(1u << slot);
    guard->open = (uint8_t)(1u << guard->chosen | 1u << slot);
    guard->is_found = guard->is_rough = false;
    guard->round = guard->turn = guard->timed = guard->agreed = 0;
    guard->took[slot] = only(-1);
}

double hp_guard_spent_us(const hp_guard_t *guard)
{
    double sum = 0;

    for (unsigned i = guard->agreed; i < guard->timed; i++)
        sum += guard->us[2 * i];
    if (guard->open || !guard->timed)
        return sum;
    /* Each check comes after twice as many calls as the one before. */
    return sum / guard->timed * (guard->due / 2);
}

void hp_guard_trust(hp_guard_t *guard, unsigned chosen, unsigned second, const double us[HP_SLOTS])
{
    for (unsigned slot = 0; slot < HP_SLOTS; slot++)
        guard->took[slot] = only(us[slot]);
    settle(guard, chosen, second);
    guard->due = guard->is_long ? TRUST_CHECK : TRUST_CHECK_SHORT;
    guard->is_found = guard->is_rough = true;
}

/* Is what takes so long worth not leaving the calls to the host MPI, as far as the ranks have agreed on times? */
static bool beats_host(const hp_guard_t *guard, hp_guard_spread_t took)
{
    const double hosts = guard->took[HP_SLOT_NATIVE].median;
    const bool is_brief = guard->shares_cores && hosts < brief_on_shared_us;

    return took.median <= (took.most > hosts || is_brief ? beyond_noise : worthwhile) * hosts;
}

bool hp_guard_break_off(hp_guard_t *guard)
{
    unsigned best = HP_SLOTS;

    if (!guard->open || guard->round < warm_ups(guard) + EARLY_ROUNDS)
        return false;
    for (unsigned slot = 0; slot < HP_SLOT_MOCKUP; slot++) {
        if (!(guard->open & (1u << slot)))
            continue;
        if (guard->took[slot].median < 0)
            return false;
        if (best == HP_SLOTS || guard->took[slot].median < guard->took[best].median)
            best = slot;
    }
    if (best == HP_SLOTS)
        return false;
    if ((guard->open & (1u << HP_SLOT_NATIVE)) && !beats_host(guard, guard->took[best]))
        best = HP_SLOT_NATIVE;
    settle(guard, best, best);
    return true;
}

/* The slots of this round. */
static uint8_t slots_of_round(const hp_guard_t *guard)
{
    const uint8_t others = guard->open & (uint8_t)~mockup, own = others & (uint8_t) ~(1u << HP_SLOT_NATIVE);

    return guard->round > 0 ? guard->open : own ? own : others;
}

unsigned hp_guard_try(hp_guard_t *guard, bool *is_timed)
{
    if (!guard->open) { /* the last calls before a check for drift */
        *is_timed = guard->may_grow || count_slots(guard->offered) > 1;
        if (!*is_timed) /* nothing to choose: count on */
            guard->calls = 0;
        return guard->chosen;
    }
    /* Every other round backwards, so that what changes slowly hits all slots alike. */
    const uint8_t slots = slots_of_round(guard);
    *is_timed = true;
    return nth_slot(slots, guard->round % 2 ? count_slots(slots) - 1 - guard->turn : guard->turn);
}

static void keep(hp_guard_t *guard, unsigned slot, double us)
{
    guard->slot_of[guard->timed] = (uint8_t)slot;
    guard->us[2 * guard->timed] = us;
    guard->us[2 * guard->timed + 1] = -us;
    guard->timed++;
}

bool hp_guard_record(hp_guard_t *guard, double us, unsigned *count)
{
    bool is_due;

    if (guard->open) {
        bool is_timed;
        if (guard->round >= warm_ups(guard))
            keep(guard, hp_guard_try(guard, &is_timed), us);
        if (++guard->turn == count_slots(slots_of_round(guard))) {
            guard->turn = 0;
            guard->round++;
        }
        is_due = guard->is_long ? guard->timed > 0
                                : guard->turn == 0 && (guard->round == warm_ups(guard) + EARLY_ROUNDS ||
                                                       guard->round >= rounds_of(guard));
    } else {
        keep(guard, guard->chosen, us);
        is_due = guard->calls >= guard->due;
    }
    *count = 2u * guard->timed;
    return is_due;
}

static double median(double *values, unsigned count)
{
    for (unsigned i = 1; i < count; i++) {
        const double value = values[i];
        unsigned k = i;
        for (; k > 0 && values[k - 1] > value; k--)
            values[k] = values[k - 1];
        values[k] = value;
    }
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* A slot's times, of the slowest rank or of the fastest. Returns how many. */
static unsigned times_of(const hp_guard_t *guard, unsigned slot, bool fastest, double *values)
{
    unsigned count = 0;

    for (unsigned i = 0; i < guard->timed; i++)
        if (guard->slot_of[i] == slot)
            values[count++] = fastest ? -guard->us[2 * i + 1] : guard->us[2 * i];
    return count;
}

/* trimmed: four and more count without the least and the most. In a trial, what the slot before left of a link's allowance, or in its
 * queues, may be in one of them. */
static hp_guard_spread_t spread_of(const hp_guard_t *guard, unsigned slot, bool fastest, bool trimmed)
{
    enum { ENOUGH = 4 };
    double values[HP_GUARD_TIMES];
    const unsigned count = times_of(guard, slot, fastest, values), left_out = trimmed && count >= ENOUGH;

    if (!count)
        return only(-1);
    const double middle = median(values, count); /* they are in order now */
    return (hp_guard_spread_t){values[left_out], middle, values[count - 1 - left_out]};
}

/* Does the last rank's time count, or the slowest one's? See the head of guard.h. One answer for all slots. */
static bool last_rank_counts(const hp_guard_t *guard)
{
    double ratios[HP_GUARD_TIMES];

    if (!guard->synchronizes || !guard->timed)
        return false;
    for (unsigned i = 0; i < guard->timed; i++) {
        const double least = -guard->us[2 * i + 1];
        ratios[i] = guard->us[2 * i] / (least > 0 ? least : 1e-3);
    }
    return median(ratios, guard->timed) > together;
}

/* What the best of the slots that were not chosen took; < 0: none was tried. */
static double other_us(const hp_guard_t *guard)
{
    double best = -1;

    for (unsigned slot = 0; slot < HP_SLOTS; slot++)
        if (slot != guard->chosen && guard->took[slot].median >= 0 &&
            (best < 0 || guard->took[slot].median < best))
            best = guard->took[slot].median;
    return best;
}

/* Has what holds become doubtful, now that the chosen slot takes so long? */
static bool has_changed(const hp_guard_t *guard, hp_guard_spread_t now)
{
    const double before = guard->settled_us, other = other_us(guard);
    const bool is_slower =
        (now.least > before && now.median > before * (guard->is_rough ? drift_rough : drift)) ||
        now.median > before * drift_far;

    if (guard->is_rough)
        return is_slower && (other < 0 || now.median > other);
    return is_slower || (now.most < before && now.median * drift < before);
}

/* Of two that take the same the trial chooses the one that happened to be fast in it. The first check after it tells: it looks at the chosen
 * slot alone. (ScaLAPACK's LU, bcasts of 16 bytes: in the trial 553 us, and 1,145 by the host MPI; then 783 and 1,224.) */
static bool has_lost(const hp_guard_t *guard, hp_guard_spread_t now)
{
    return !guard->is_confirmed && guard->chosen != HP_SLOT_NATIVE &&
           guard->took[HP_SLOT_NATIVE].median >= 0 && !beats_host(guard, now);
}

/* What the chosen slot takes is known better now. */
static void settle_at(hp_guard_t *guard, hp_guard_spread_t took)
{
    guard->took[guard->chosen] = took;
    guard->settled_us = took.median;
}

/* Is it time to try it, and was it not? */
static bool awaits_mockup(const hp_guard_t *guard)
{
    return guard->offered & mockup && guard->took[HP_SLOT_MOCKUP].median < 0 && guard->calls >= MOCKUP_AFTER;
}

static void check_drift(hp_guard_t *guard)
{
    const bool last = last_rank_counts(guard);
    const hp_guard_spread_t now = spread_of(guard, guard->chosen, last, false);
    const hp_guard_spread_t as_in_trial = spread_of(guard, guard->chosen, last, true);

    guard->timed = 0;
    if (count_slots(guard->offered) == 1 || guard->settled_us < 0) /* whatever it takes */
        settle_at(guard, now);
    if (has_lost(guard, as_in_trial) || has_changed(guard, now)) {
        guard->reopened++;
        open(guard);
        return;
    }
    guard->is_confirmed = true;
    if (awaits_mockup(guard)) {
        settle_at(guard, now);
        hp_guard_offer(guard, HP_SLOT_MOCKUP);
        return;
    }
    if (guard->is_rough)
        settle_at(guard, now);
    guard->is_rough = false;
    if (guard->due < UINT32_MAX / 2)
        guard->due *= 2;
    else
        guard->calls = 0;
}

/* How many times as long as the best one a slot must take to be out after so many timed rounds. */
static double limit_of(const hp_guard_t *guard, unsigned slot)
{
    const unsigned rounds = guard->round - warm_ups(guard), last = sizeof out / sizeof *out;
    const bool is_brief = rounds == 1 && guard->took[slot].median < brief_us;
    const double usual = !guard->is_long ? out_short
                         : is_brief      ? out_brief
                                         : out[(rounds < last ? rounds : last) - 1];

    return (guard->doubted | mockup) & (1u << slot) && doubtful < usual ? doubtful : usual;
}

/* Takes the slots out that are hopeless. Returns the best but for the mock-up. */
static unsigned judge(hp_guard_t *guard)
{
    const bool last = last_rank_counts(guard);
    hp_guard_spread_t *const took = guard->took;
    unsigned best = HP_SLOTS, fastest = HP_SLOTS;

    for (unsigned slot = 0; slot < HP_SLOTS; slot++) {
        if (!(guard->open & (1u << slot)))
            continue;
        took[slot] = spread_of(guard, slot, last, true);
        if (fastest == HP_SLOTS || took[slot].median < took[fastest].median)
            fastest = slot;
        if (slot != HP_SLOT_MOCKUP) /* the last one */
            best = fastest;
    }
    for (unsigned slot = 0; slot < HP_SLOTS; slot++)
        if ((guard->open & (1u << slot)) && slot != fastest &&
            took[slot].least > limit_of(guard, slot) * took[fastest].most)
            guard->open &= (uint8_t) ~(1u << slot);
    return best;
}

/* Is the slot worth more than leaving the calls to another one: the host MPI, or the best beside a mock-up? */
static bool is_worthwhile(const hp_guard_t *guard, unsigned slot, unsigned other)
{
    const double share = slot == HP_SLOT_MOCKUP ? worthwhile_mockup : worthwhile;

    if (guard->took[slot].median > share * guard->took[other].median)
        return false;
    if (other == HP_SLOT_NATIVE && !beats_host(guard, guard->took[slot]))
        return false;
    return !last_rank_counts(guard) || spread_of(guard, slot, false, true).median <=
                                           noticing * spread_of(guard, other, false, true).median;
}

void hp_guard_lost(hp_guard_t *guard)
{
    settle(guard, guard->chosen, guard->second);
}

void hp_guard_agreed(hp_guard_t *guard)
{
    if (!guard->open) {
        check_drift(guard);
        return;
    }
    guard->agreed = guard->timed;
    if (guard->turn) /* the round goes on */
        return;
    const bool is_over = guard->round >= rounds_of(guard);
    unsigned best = judge(guard);
    if ((guard->open & (1u << HP_SLOT_NATIVE)) && !is_worthwhile(guard, best, HP_SLOT_NATIVE))
        best = HP_SLOT_NATIVE;
    const bool is_early = guard->round < warm_ups(guard) + EARLY_ROUNDS;
    if ((guard->open & mockup) && !is_early && !is_worthwhile(guard, HP_SLOT_MOCKUP, best))
        guard->open &= (uint8_t)~mockup;
    guard->is_rough = guard->round < warm_ups(guard) + FEW_ROUNDS;
    if (count_slots(guard->open) == 1 || is_over)
        settle(guard, guard->open & mockup ? HP_SLOT_MOCKUP : best, best);
}
