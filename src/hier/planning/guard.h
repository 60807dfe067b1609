/* guard: the promise never to be slower than the host MPI, kept by measuring.
 *
 * For one communicator, collective and bin of sizes there are slots: what the rules say, the host MPI, what the
 * model would do. The first calls run them in turns,
 *
 *      call   0 | 1 2 | 3 4 5 6 7 8 ...                     with two slots, the rules' A and the MPI's B
 *      slot   A | B A | A B B A A B ...
 *             warm-up | timed; after two rounds slots without hope are out
 *
 * and are timed on every rank. Then the ranks agree: the times' maximum and minimum over the ranks (one allreduce
 * of a few doubles) are the same everywhere, and so is what follows from them. The winner stays. At calls ever
 * further apart (128, 256, 512, ... calls) the last eight are timed and agreed on; when they take another time than
 * they did at first, the question is open again. So messages of its own are bounded by the logarithm of the
 * calls. Like STAR-MPI (A. Faraj, X. Yuan, D. Lowenthal, STAR-MPI: Self Tuned Adaptive Routines for MPI Collective
 * Operations, ICS 2006), but the MPI's own collective is always among the candidates.
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
enum { HP_SLOT_RULE, HP_SLOT_NATIVE, HP_SLOT_MODEL, HP_SLOTS };

/* A round is a call in each slot. The first two are not timed: what is used for the first time is slow, memory of
 * the node that nobody has touched most of all; the very first is without the host MPI, which does not gain by it.
 * So a question takes 17 calls at most, with two slots and with three. */
enum { HP_GUARD_WARM_UPS = 2, HP_GUARD_ROUNDS_OF_TWO = 9, HP_GUARD_ROUNDS_OF_THREE = 6, HP_GUARD_TIMES = 14 };

typedef struct {
    uint8_t open;                 /* slots still in question (bit 1 << slot); 0: settled */
    uint8_t offered;              /* slots there are */
    uint8_t chosen;               /* once settled */
    bool synchronizes;            /* nobody leaves this collective before all have come */
    uint8_t round, turn;          /* of the trial */
    uint8_t timed;                /* times taken so far */
    uint8_t reopened;             /* how often drift did */
    uint32_t calls, due;          /* since it was settled; the next check for drift */
    double settled_us;            /* what the chosen slot took then */
    double expected_us[HP_SLOTS]; /* of the last trial; < 0: not tried */
    uint8_t slot_of[HP_GUARD_TIMES];
    double us[2 * HP_GUARD_TIMES]; /* each time, and its negative: the maximum over ranks of both */
} hp_guard_t;

/* offered: slots there are, at least one. preferred: used when there is no question. */
void hp_guard_init(hp_guard_t *guard, uint8_t offered, unsigned preferred, bool synchronizes);

/* The slot of the next call. *is_timed: hand its time to hp_guard_record. */
static inline unsigned hp_guard_next(hp_guard_t *guard, bool *is_timed);

/* The slot that the calls so far speak for, without taking part in a trial. */
static inline unsigned hp_guard_verdict(const hp_guard_t *guard)
{
    return guard->open && !guard->reopened ? HP_SLOT_RULE : guard->chosen;
}

/* true: after this call the ranks must agree: replace the `count` doubles at guard->us by their maxima over all
 * ranks, then call hp_guard_agreed. The same answer on all ranks. */
bool hp_guard_record(hp_guard_t *guard, double us, unsigned *count);
void hp_guard_agreed(hp_guard_t *guard);

/* The slow part of hp_guard_next. */
unsigned hp_guard_try(hp_guard_t *guard, bool *is_timed);

enum { HP_GUARD_CHECK_CALLS = 8 }; /* calls timed before a check for drift */

static inline unsigned hp_guard_next(hp_guard_t *guard, bool *is_timed)
{
    *is_timed = false;
    if (__builtin_expect(!guard->open && ++guard->calls + HP_GUARD_CHECK_CALLS <= guard->due, 1))
        return guard->chosen;
    return hp_guard_try(guard, is_timed);
}

#endif
