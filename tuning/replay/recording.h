/* recording: what a job's recording (HANPMPI_PROFILE, hanpmpi-profile) says of its collectives: the sequence, call by
 * call and rank by rank, and the sums that stand beside it. Only what a replay and the tuner need is read; the rest of
 * the file is theirs who read it.
 *
 * Threads: one, rank 0's. Ownership: replay_recording_fini frees everything, names included. */
#ifndef HP_REPLAY_RECORDING_H
#define HP_REPLAY_RECORDING_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* One kind of call: all that its arguments say. */
typedef struct {
    const char *call;        /* "MPI_Allreduce" */
    const char *type, *op;   /* op: "" where there is none */
    int comm, root;          /* index; a rank of the communicator, or -1 */
    int64_t site;            /* where it was called, replay_site_text; 0: not known */
    int64_t type_bytes;      /* of data in one element */
    int64_t count;           /* elements */
    int64_t *counts;         /* by rank of the communicator; NULL: none */
    int64_t *receive_counts; /* NULL: as counts */
} replay_kind_t;

typedef struct {
    int *world_ranks; /* in the order of its ranks */
    int size;
} replay_comm_t;

enum { REPLAY_NO_START = -1 };

typedef struct {
    int kind;
    int started; /* of a wait: the event that it completes; else REPLAY_NO_START */
    double gap_s, took_s;
    int64_t faults; /* of pages, in the call */
} replay_event_t;

typedef struct {
    replay_event_t *events;
    int count;
    int64_t skipped; /* calls before the first event of which nothing is known */
} replay_rank_t;

typedef struct {
    json_t *document;
    const char *command; /* words of the program, joined */
    const char *mpi;
    int ranks;
    replay_kind_t *kinds;
    replay_comm_t *comms;
    replay_rank_t *rank; /* by world rank */
    int kind_count, comm_count;
    double run_s;         /* of the rank that ran longest; 0: not known */
    double collectives_s; /* of the whole run, the mean of the ranks; 0: not known */
    double others_share;  /* of the time outside collectives: in other calls of MPI, the mean of the ranks */
    uint64_t accelerated; /* calls of collectives that the library ran, of all ranks */
} replay_recording_t;

enum { REPLAY_ERROR_BYTES = 512 };

/* false: why, in error. The recording is to be given back all the same. */
bool replay_recording_read(replay_recording_t *recording, const char *file, char error[REPLAY_ERROR_BYTES]);
void replay_recording_fini(replay_recording_t *recording);

/* "module+0x1234": of a call's site the innermost return address, as addr2line takes it; of one in Python "file:line function"; "": not
 * known. Returns text. */
const char *replay_site_text(const replay_recording_t *recording, int64_t site, char *text,
                             size_t text_bytes);

/* Zeroed, with room for one element more than that. Without memory the program ends. */
void *replay_allocate(size_t count, size_t bytes);

#endif
