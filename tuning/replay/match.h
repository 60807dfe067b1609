/* match: from a recording to what can be run again: which call of one rank belongs to which of the others, and what
 * all of them say of it together.
 *
 * Ranks record for themselves, and keep the last calls only. Of a communicator the calls are matched from the first
 * one on where no rank has lost any, and else from the last one back; those that are not there on all members are left
 * out, with the waits that belong to them. What is left is a part of an execution that came to its end, each call of
 * it whole, so it cannot deadlock. Calls that are not replayed (neighbourhoods, files) and what was left out become
 * gaps.
 *
 * Threads: one, rank 0's. Ownership: replay_plan_fini frees; the plan borrows from the recording. */
#ifndef HP_REPLAY_MATCH_H
#define HP_REPLAY_MATCH_H

#include "bench/collectives.h"
#include "recording.h"

/* One call, of all ranks of its communicator. Equal ones are one. */
typedef struct {
    const bench_collective_t *collective;
    const char *type, *op; /* as recorded; op "": none */
    int name;              /* of the plan */
    int64_t site;          /* of its first rank */
    int comm, root;        /* root: 0 where there is none */
    bool nonblocking;
    size_t type_bytes, count; /* elements, of a block where there are blocks of one size */
    int *lengths;             /* of blocks that differ, elements: replay_length; NULL: they do not */
} replay_call_t;

typedef struct {
    int call;      /* of a wait: the call that it completes */
    int started;   /* of a wait: the step; else REPLAY_NO_START */
    bool is_first; /* the first time that this call is made, on all its ranks */
    double gap_s, took_s;
    int64_t faults; /* of pages, in the call */
} replay_step_t;

typedef struct {
    replay_step_t *steps;
    int count;
} replay_track_t;

typedef struct {
    const replay_recording_t *recording;
    const char **names; /* of the calls, as recorded: "MPI_Allreduce"; a row of the result each */
    replay_call_t *calls;
    replay_track_t *tracks; /* by world rank */
    int name_count, call_count;
    uint64_t unmatched;       /* events that are not there on all members */
    uint64_t unknown;         /* events that cannot be replayed, */
    const char *unknown_name; /* such as this one */
} replay_plan_t;

/* Elements of the block from rank s to rank d of the call's communicator. */
size_t replay_length(const replay_plan_t *plan, const replay_call_t *call, int s, int d);

/* false: why, in error. The plan is to be given back all the same. */
bool replay_match(replay_plan_t *plan, const replay_recording_t *recording, char error[REPLAY_ERROR_BYTES]);
void replay_plan_fini(replay_plan_t *plan);

/* The collective that a call's name stands for, such as "MPI_Iallreduce"; NULL: it is not replayed. */
const bench_collective_t *replay_collective(const char *call, bool *nonblocking);

#endif
