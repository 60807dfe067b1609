#include "hier/planning/guard.h"

#include <string.h>

enum { EARLY_ROUNDS = 2, FIRST_CHECK = 128 };

/* After two timed rounds a slot that at its fastest takes more than twice as long as the best at its slowest is out,
 * if its calls are long enough to matter: the rest of the trial would cost more than it could tell. */
static const double long_us = 1000;
static const double hopeless = 2.0;
/* What is not at least so much faster than the host MPI is left to it. */
static const double worthwhile = 0.98;
/* The chosen slot takes so many times as long, or so many times less, than when it was chosen: a drift. */
static const double drift = 1.5;
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

static unsigned rounds_of(const hp_guard_t *guard)
{
    return count_slots(guard->offered) > 2 ? HP_GUARD_ROUNDS_OF_THREE : HP_GUARD_ROUNDS_OF_TWO;
}

static void open(hp_guard_t *guard)
{
    guard->open = guard->offered;
    guard->round = guard->turn = guard->timed = 0;
    for (unsigned slot = 0; slot < HP_SLOTS; slot++)
        guard->expected_us[slot] = -1;
}

static void settle(hp_guard_t *guard, unsigned slot)
{
    guard->open = 0;
    guard->chosen = (uint8_t)slot;
    guard->settled_us = guard->expected_us[slot];
    guard->calls = 0;
    guard->due = FIRST_CHECK;
    guard->timed = 0;
}

void hp_guard_init(hp_guard_t *guard, uint8_t offered, unsigned preferred, bool synchronizes)
{
    memset(guard, 0, sizeof *guard);
    guard->offered = offered;
    guard->synchronizes = synchronizes;
    open(guard);
    if (count_slots(offered) == 1) {
        settle(guard, preferred);
        guard->due = UINT32_MAX;
    }
}

/* The slots of this round. */
static uint8_t slots_of_round(const hp_guard_t *guard)
{
    const uint8_t own = guard->open & (uint8_t) ~(1u << HP_SLOT_NATIVE);
    return guard->round == 0 && own ? own : guard->open;
}

unsigned hp_guard_try(hp_guard_t *guard, bool *is_timed)
{
    if (!guard->open) { /* the last calls before a check for drift */
        *is_timed = guard->offered & (guard->offered - 1);
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
        if (guard->round >= HP_GUARD_WARM_UPS)
            keep(guard, hp_guard_try(guard, &is_timed), us);
        if (++guard->turn == count_slots(slots_of_round(guard))) {
            guard->turn = 0;
            guard->round++;
        }
        is_due = guard->turn == 0 &&
                 (guard->round == HP_GUARD_WARM_UPS + EARLY_ROUNDS || guard->round >= rounds_of(guard));
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

typedef struct {
    double least, median, most; /* < 0: no times */
} spread_t;

static spread_t spread_of(const hp_guard_t *guard, unsigned slot, bool fastest)
{
    double values[HP_GUARD_TIMES];
    const unsigned count = times_of(guard, slot, fastest, values);

    if (!count)
        return (spread_t){-1, -1, -1};
    const double middle = median(values, count); /* they are in order now */
    return (spread_t){values[0], middle, values[count - 1]};
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

static void check_drift(hp_guard_t *guard)
{
    const double now = spread_of(guard, guard->chosen, last_rank_counts(guard)).median;

    guard->timed = 0;
    if (now > guard->settled_us * drift || now * drift < guard->settled_us) {
        guard->reopened++;
        open(guard);
    } else if (guard->due < UINT32_MAX / 2) {
        guard->due *= 2;
    } else {
        guard->calls = 0;
    }
}

/* Takes the slots out that are hopeless. Returns the best. */
static unsigned judge(hp_guard_t *guard)
{
    const bool last = last_rank_counts(guard);
    spread_t spreads[HP_SLOTS];
    unsigned best = HP_SLOTS;

    for (unsigned slot = 0; slot < HP_SLOTS; slot++) {
        if (!(guard->open & (1u << slot)))
            continue;
        spreads[slot] = spread_of(guard, slot, last);
        guard->expected_us[slot] = spreads[slot].median;
        if (best == HP_SLOTS || spreads[slot].median < spreads[best].median)
            best = slot;
    }
    for (unsigned slot = 0; slot < HP_SLOTS; slot++)
        if ((guard->open & (1u << slot)) && spreads[slot].least > hopeless * spreads[best].most &&
            spreads[slot].least > long_us)
            guard->open &= (uint8_t) ~(1u << slot);
    return best;
}

/* Is the slot worth more than leaving the calls to the host MPI? */
static bool is_worthwhile(const hp_guard_t *guard, unsigned slot)
{
    if (guard->expected_us[slot] > worthwhile * guard->expected_us[HP_SLOT_NATIVE])
        return false;
    return !last_rank_counts(guard) ||
           spread_of(guard, slot, false).median <= noticing * spread_of(guard, HP_SLOT_NATIVE, false).median;
}

void hp_guard_agreed(hp_guard_t *guard)
{
    if (!guard->open) {
        check_drift(guard);
        return;
    }
    unsigned best = judge(guard);
    if ((guard->open & (1u << HP_SLOT_NATIVE)) && !is_worthwhile(guard, best))
        best = HP_SLOT_NATIVE;
    if (count_slots(guard->open) == 1 || guard->round >= rounds_of(guard))
        settle(guard, best);
}
