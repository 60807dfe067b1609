/* job: what holds for the whole MPI job: settings, start-up handshake, locality of this process.
 *
 * Threads: written inside MPI_Init, read-only afterwards. Ownership: static. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_START_JOB_H
#define HP_PMPI_WRAPPERS_BACKEND_START_JOB_H

#include <stdbool.h>
#include "base/knobs.h"
#include "event_engine/op/op.h"
#include "event_engine/wait.h"
#include "hier/call/collective.h"
#include "pmpi_wrappers/backend/glue/mpi_glue.h"
#include "topo_tree/locality.h"

typedef struct {
    bool is_whole;     /* all ranks have the library */
    bool active;       /* and it accelerates on all of them, and MPI_Finalize has not begun */
    uint32_t nodes;    /* on so many, at most, are the ranks of MPI_COMM_WORLD */
    bool is_timed;     /* this rank times its calls, and keeps what its selections came to, for a report */
    bool watches;      /* somebody wants to know what is in execution, since when (watchdog.h) */
    uint64_t start_ns; /* when MPI_Init was done */
    bool has_threads;  /* MPI_THREAD_MULTIPLE, on this rank */
    bool any_threads;  /* on some rank */
    bool any_alone;    /* some rank has no helper thread that moves collectives on */
    bool has_files;    /* rank 0 has files whose contents all ranks must get (job_rules.h) */
    /* Non-blocking collectives are accelerated wherever a communicator is set up, without asking the other ranks first
     * (host_collectives.h). The same on all ranks. */
    bool nonblocking_at_once;
    int rank, size;
    hp_cores_t cores; /* of this rank, as MPI_Init found them */
    hp_knobs_t knobs;
    const hp_kernel_set_t *kernels; /* NULL: reductions are left to MPI_Reduce_local */
} hp_job_t;

extern hp_job_t hp_job;

/* Reads the knobs, agrees with the other ranks. Collective over MPI_COMM_WORLD, but safe when some rank lacks
 * the library. Sets hp_job.is_whole and hp_job.active. has_files: asked on rank 0, once the knobs are read. */
void hp_job_start(bool (*has_files)(void));

/* Of MPI_COMM_WORLD, in MPI_Init or MPI_Finalize: do all ranks say so? Not after an MPI error. */
bool hp_job_all(bool mine);
/* Rank 0's bytes to all ranks, once the library is active, by hp_handshake_share. false: an MPI error. */
bool hp_job_share(void *data, size_t bytes);

/* How this rank waits for the host MPI's messages, once the ranks have agreed. */
hp_wait_policy_t hp_job_wait_policy(void);

/* The place of this process; read with hwloc at the first call. */
void hp_job_locality(hp_locality_t *out);

#endif
