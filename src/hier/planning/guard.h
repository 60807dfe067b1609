/* guard: the promise never to be slower than the host MPI, kept by measuring.
 *
 * For one communicator, collective and bin of sizes there are slots: what the rules say, the host MPI, what the
 * model would do, a mock-up. The first calls run all but the mock-up in turns,
 *
 *      call   0 | 1 2 | 3 4 5 6 7 8 ...                     with two slots, the rules' A and the MPI's B
 *      slot   A | B A | A B B A A B ...
 *             warm-up | timed
 *
 * and are timed on every rank. Then the ranks agree: the times' maximum and minimum over the ranks (one allreduce
 * of a few doubles) are the same everywhere, and so is what follows from them. A slot is out as soon as its fastest
 * time is clearly above the best one's slowest; the fewer the times, the clearer. Short calls come to that after two timed
 * rounds and at the end, because an agreement takes as long as they do; long ones after each round. Of long ones the ranks
 * agree on each call: so they begin the next one together, and what a slow candidate left undone (the root of a bcast is
 * ready long before the last rank) is not counted as the next one's. The winner stays. At calls ever further apart (128, 256,
 * 512, ... calls) the last eight are timed and agreed on; when they take another time than they did at first, the question is
 * open again, and the first check after it comes after twice as many calls as the one before. So messages of its own are
 * bounded by the logarithm of the calls. On a machine whose times jump some checks will find another time; it counts when all
 * of the eight lie on one side of what the slot took, or their median is four times that. The first check after a trial tells
 * as well whether the slot was worth it: of two that take the same the trial chooses the one that happened to be fast. Like STAR-MPI (A. Faraj, X. Yuan,
 * D. Lowenthal, STAR-MPI: Self Tuned Adaptive Routines for MPI Collective Operations, ICS 2006), but the host MPI's
 * collective is always among the candidates.
 *
 * What was found before (wisdom.h) stands for a trial; the first such check then comes after 16 calls, after 64 of short ones,
 * and after 16 long ones where the trial was short.
 * That check, and the first one after a short trial, says what the chosen slot takes; the question is open again if another
 * one was faster than that. What was found for a neighbouring bin of sizes is a reason for doubt: a slot that was slow there is
 * out at the first sign of it here.
 *
 * A mock-up is the collective made of the host MPI's other ones: for an MPI that breaks its performance guidelines
 * (tuning/mockups.def). Most MPIs keep most of them, and some mock-ups take many times as long (an allreduce made of a reduce and
 * a bcast), so it waits until the others have been settled for long, and its trial is short: one call to warm up and two that are
 * timed, and unless it is clearly the fastest then, it is out.
 *
 * What a call took. Ranks that arrive together: the slowest rank's time. Ranks that do not: an early rank's time is
 * mostly waiting for the late ones, whatever runs. In an allreduce or a barrier nobody leaves before the last one
 * has come, so there the last one's time, the shortest, is what the collective took; but the slowest rank's must not
 * be much longer than with the host MPI.
 *
 * Threads: as comm.h. Ownership: plain data in a cell of the selection. */
#ifndef HP_HIER_PLANNING_GUARD_H
#define HP_HIER_PLANNING_GUARD_H

#include <stdbool.h>
#include <stdint.h>

/* The order is the order of trust: the first of equals wins, but for the host MPI (guard.c). */
enum { HP_SLOT_RULE, HP_SLOT_NATIVE, HP_SLOT_MODEL, HP_SLOT_MOCKUP /* stays the last */, HP_SLOTS };

/* A round is a call in each slot. The first one is without the host MPI, which does not gain by it, and not timed: what is
 * used for the first time is slow, memory of the node that nobody has touched most of all. Short calls have two such
 * rounds. So a question takes 17 calls at most, with two slots and with three; later a mock-up that is out has taken three, and one that
 * stays in costs five calls at most. */
enum { HP_GUARD_ROUNDS_OF_TWO = 9, HP_GUARD_ROUNDS_OF_THREE = 6, HP_GUARD_TIMES = 20 };
enum { HP_GUARD_SEEN = 2 };

/* What the calls of a slot took in a trial, microseconds; < 0: not tried. */
typedef struct {
    double least, median, most;
} hp_guard_spread_t;

typedef struct {
    uint8_t open;                 /* slots still in question (bit 1 << slot); 0: settled */
    uint8_t offered;              /* slots there are */
    uint8_t chosen;               /* once settled */
    uint8_t second;               /* likewise: the best of the others if that is the mock-up, else the same */
    bool synchronizes;            /* nobody leaves this collective before all have come */
    bool is_long;                 /* a call takes much longer than an agreement */
    bool shares_cores;            /* ranks share cores */
    bool may_grow;                /* a slot may be offered later, so that one alone is timed, too */
    bool is_found;                /* what holds was found elsewhere */
    bool is_confirmed;            /* a check has found what was chosen worth it */
    bool is_rough;                /* few calls stand behind settled_us, or none of this communicator */
    uint8_t doubted;              /* slots that were slow elsewhere */
    uint8_t round, turn;          /* of the trial */
    uint8_t timed, agreed;        /* times taken so far, and those that the ranks have agreed on before */
    uint32_t reopened;            /* how often drift did */
    uint32_t calls, due;          /* since it was settled; the next check for drift */
    double settled_us;            /* what the chosen slot took then */
    hp_guard_spread_t took[HP_SLOTS]; /* in the last trial, as the ranks agreed; of what was found elsewhere the median alone */
    uint8_t slot_of[HP_GUARD_TIMES];
    /* Each time, and its negative: the maximum over ranks of both; and room for what the caller has agreed on with them. */
    double us[2 * HP_GUARD_TIMES + HP_GUARD_SEEN];
} hp_guard_t;

/* What a guard is told of its calls. */
typedef struct {
    bool synchronizes; /* nobody leaves before all have come */
    bool is_long;      /* a call takes much longer than an agreement */
    bool shares_cores; /* ranks share cores */
    bool may_grow;     /* a slot may be offered later */
    uint8_t doubted;   /* slots that were much slower than the best for calls of nearly this size */
} hp_guard_calls_t;

/* offered: slots there are, at least one. preferred: used when there is no question. */
void hp_guard_init(hp_guard_t *guard, uint8_t offered, unsigned preferred, hp_guard_calls_t calls);

/* No trial: what another guard has found. us: what its slots took; < 0: not known. */
void hp_guard_trust(hp_guard_t *guard, unsigned chosen, unsigned second, const double us[HP_SLOTS]);

/* The trial is over, and there is one more slot: it is tried against the chosen one. */
void hp_guard_offer(hp_guard_t *guard, unsigned slot);

/* Nobody calls any more. true: an open trial has tried twice or more what is still in question, and is settled by that. */
bool hp_guard_break_off(hp_guard_t *guard);

/* What the calls since the last agreement took, about. To be asked when the ranks have agreed on the times, before
 * hp_guard_agreed: then it is the same on all of them. */
double hp_guard_spent_us(const hp_guard_t *guard);

/* The slot of the next call. *is_timed: hand its time to hp_guard_record. */
static inline unsigned hp_guard_next(hp_guard_t *guard, bool *is_timed);

/* The slot that the trials so far speak for, without taking part in one: the rules' before the first. Never the mock-up. */
static inline unsigned hp_guard_verdict(const hp_guard_t *guard)
{
    return guard->second;
}

/* true: after this call the ranks must agree: replace the `count` doubles at guard->us by their maxima over all
 * ranks, then call hp_guard_agreed. The same answer on all ranks. */
bool hp_guard_record(hp_guard_t *guard, double us, unsigned *count);
void hp_guard_agreed(hp_guard_t *guard);
/* They cannot, because a call has failed here: the times are lost, what was chosen stays. */
void hp_guard_lost(hp_guard_t *guard);

/* The slow part of hp_guard_next. */
unsigned hp_guard_try(hp_guard_t *guard, bool *is_timed);

enum { HP_GUARD_CHECK_CALLS = 8 }; /* calls timed before a check for drift */

/* Does the next call neither take part in a trial nor in a check? */
static inline bool hp_guard_rests(const hp_guard_t *guard)
{
    return !guard->open && guard->calls + 1 + HP_GUARD_CHECK_CALLS <= guard->due;
}

static inline unsigned hp_guard_next(hp_guard_t *guard, bool *is_timed)
{
    *is_timed = false;
    if (__builtin_expect(!guard->open && ++guard->calls + HP_GUARD_CHECK_CALLS <= guard->due, 1))
        return guard->chosen;
    return hp_guard_try(guard, is_timed);
}

#endif
