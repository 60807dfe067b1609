/* part: what one rank has to know to play its part in a replay. Rank 0 matches the recording and hands the parts out.
 *
 * Threads: one. Ownership: replay_part_fini frees. */
#ifndef HP_REPLAY_PART_H
#define HP_REPLAY_PART_H

#include "match.h"

enum { REPLAY_NAME_BYTES = 64 };

/* A call, the same on all ranks. */
typedef struct {
    char collective[REPLAY_NAME_BYTES], type[REPLAY_NAME_BYTES], op[REPLAY_NAME_BYTES];
    int name, comm, root;
    int nonblocking, has_lengths;
    size_t type_bytes, count;
} replay_part_call_t;

/* A step of this rank's; see replay_step_t. */
typedef struct {
    int call, started, is_first;
    double gap_s;
    int64_t faults; /* of pages, in the recorded call */
} replay_part_step_t;

typedef struct {
    int call_count, comm_count, name_count, step_count;
    double others_share; /* of a gap: replay_recording_t */
    replay_part_call_t *calls;
    char (*names)[REPLAY_NAME_BYTES];
    int *comm_sizes;
    int **comm_ranks; /* world ranks */
    int *position;    /* this rank's, by communicator; -1: it is no member */
    replay_part_step_t *steps;
    /* By call, by rank of its communicator: of calls with lengths of which this rank is a member; else NULL. Where a
     * rank sends or receives nothing of the list it is all 0. */
    int **send_counts, **recv_counts;
} replay_part_t;

/* plan: rank 0's. Collective over comm, whose ranks are those of the recording. */
void replay_part_share(replay_part_t *part, const replay_plan_t *plan, MPI_Comm comm);
void replay_part_fini(replay_part_t *part);

#endif
