/* arrival: which ranks of a communicator habitually come late to its long collectives.
 *
 * Found out by looks, which are rare: the first one after a few long calls, later ones ever further apart, at counts that
 * are the same on all ranks.
 *
 *      call       ... 12 |        13 14 15 ... 20        | 21 ...
 *                   meet, note the time of each entry, compare
 *
 * The ranks meet in two short allreduces, which all leave at nearly the same time: from there on each rank counts the time with
 * its own clock. When they compare, sums over the ranks say how the entries of each call are spread. Late is who enters
 * clearly behind the mean: by a part of what a call takes, by more than the spread and by more than the meeting is exact, and
 * this in nearly all of the calls. Who was late before is so still for less; so chance changes nothing to and fro. Between two
 * looks nothing is sent, and nothing but the calls is counted.
 *
 * What follows from it: collectives run around these ranks (comm/around.h).
 *
 * Threads: as comm.h; what is kept for the report: from any thread, and read when no communicator is left. Ownership: plain
 * data that hangs on comm->arrival, which hp_comm_destroy frees. */
#ifndef HP_HIER_PLANNING_ARRIVAL_H
#define HP_HIER_PLANNING_ARRIVAL_H

#include <jansson.h>
#include <stdio.h>
#include "hier/collectives/algorithm.h"
#include "hier/comm/comm.h"

/* Calls of a look; those before the first one; the longest pause between two, and that while somebody is late. A look takes four
 * short allreduces, six when somebody is late. */
enum { HP_ARRIVAL_CALLS = 8, HP_ARRIVAL_FIRST = 12, HP_ARRIVAL_PAUSE = 256, HP_ARRIVAL_PAUSE_LATE = 64 };
/* Late ranks at most; no more than a quarter of all, either, nor than half of a node that has several. */
enum { HP_ARRIVAL_LATE_MAX = 8 };
/* Sums over the ranks that are compared. */
enum { HP_ARRIVAL_SUMS = 2 * HP_ARRIVAL_CALLS + 2 };
/* From so many bytes on calls are long: a look is nothing beside them. */
enum { HP_ARRIVAL_BYTES = 65536 };

typedef enum { HP_ARRIVAL_GO_ON, HP_ARRIVAL_MEET, HP_ARRIVAL_COMPARE } hp_arrival_step_t;

/* What the report says of a rank. */
typedef struct {
    uint32_t rank;
    uint32_t looks;  /* in which it was late */
    double late_us;  /* sum of how late it was in these, on average */
    uint64_t around; /* calls that went around it */
} hp_arrival_row_t;

typedef struct hp_arrival {
    uint64_t calls, next; /* long ones so far; the one behind which the next look begins */
    unsigned seen;        /* calls of the look that is going on; */
    bool is_looking;
    uint64_t met_ns;                              /* when it began */
    double met_us;                                /* how long the meeting took: so exact it is */
    double entered_us[HP_ARRIVAL_CALLS], took_us; /* of its calls: the entry; the shortest one */
    bool is_late;                                 /* this rank, as agreed */
    uint32_t looks;
    unsigned collectives;                       /* bit 1 << hp_collective_t: those of its calls */
    hp_arrival_row_t rows[HP_ARRIVAL_LATE_MAX]; /* of ranks that were late, the first ones that were */
    uint32_t row_count;
} hp_arrival_t;

/* Hangs it on the communicator. HP_OK, HP_ERR_NO_MEM. */
hp_status_t hp_arrival_create(hp_comm_t *comm);

/* Is it a call that counts? The same answer on all ranks. The communicator has had it hung on. */
static inline bool hp_arrival_counts(const hp_comm_t *comm, hp_collective_t collective, uint64_t bytes)
{
    return collective < HP_BARRIER && bytes >= HP_ARRIVAL_BYTES && comm->knobs.arrival;
}
/* Of one that counts: is the time of its entry wanted? */
static inline bool hp_arrival_is_looking(const hp_comm_t *comm)
{
    return comm->arrival->is_looking;
}

/* Behind each call that counts. entered_ns, left_ns: where hp_arrival_is_looking said so. What all ranks are to do now. */
hp_arrival_step_t hp_arrival_count(hp_comm_t *comm, hp_collective_t collective, uint64_t entered_ns,
                                   uint64_t left_ns);
/* They have met: twice, one directly behind the other; when they did the second time, from begin to end. */
void hp_arrival_met(hp_comm_t *comm, uint64_t begin_ns, uint64_t end_ns);
/* They cannot meet, or compare: a call has failed here. Nobody looks any more. */
void hp_arrival_lost(hp_comm_t *comm);
/* They compare. What this rank has to add; and, of the sums over all ranks: by how many microseconds it was late, on average; 0: it
 * was not. */
void hp_arrival_sums(const hp_comm_t *comm, double sums[HP_ARRIVAL_SUMS]);
double hp_arrival_lateness(const hp_comm_t *comm, const double sums[HP_ARRIVAL_SUMS]);
/* late_us: of each rank; NULL: nobody was late. Writes to late the ranks that collectives are to go around from now on, in
 * ascending order; returns how many, HP_ARRIVAL_LATE_MAX at most. */
uint32_t hp_arrival_choose(hp_comm_t *comm, const double *late_us, uint32_t late[HP_ARRIVAL_LATE_MAX]);
/* Do they already? */
bool hp_arrival_is_same(const hp_comm_t *comm, const uint32_t *late, uint32_t count);

/* The algorithm that runs the call: `algorithm`, or the one around the late ranks where that is possible. *setting becomes the one
 * that it runs with, which may be made in *room. */
const hp_algorithm_t *hp_arrival_algorithm(hp_comm_t *comm, const hp_algorithm_t *algorithm,
                                           const hp_call_t *call, const hp_setting_t **setting,
                                           hp_setting_t *room);

/* ---- the report ---- */

/* Keeps what the looks on the communicator have found, before it goes. */
void hp_arrival_keep(const hp_comm_t *comm);
void hp_arrival_print(FILE *out);
json_t *hp_arrival_json(void); /* NULL: no memory */
void hp_arrival_fini(void);

#endif
