/* handshake: the ranks of MPI_COMM_WORLD agree, inside MPI_Init, that all of them run this library with the
 * same settings.
 *
 * Why point-to-point and why here: a rank without the library (LD_PRELOAD lost on one host, docs/pitfalls.md 8) takes
 * part in nothing, so a collective would hang or match one of its own. A tree of small messages with a time
 * limit finds out; here, because all ranks leave MPI_Init at about the same time, while a first collective
 * may come minutes apart.
 *
 *   up    binomial tree to rank 0, after an empty message that opens the connection: "my subtree is complete, same
 *         version, same settings, so many ranks on each of these nodes and with each of these masks, no threads"
 *   down  rank 0's verdict and its settings. A rank that was late for `up` still gets it, so all agree.
 *   up    "my subtree has got it": a rank does not wait for ever, since its parent may be without the library, and a parent
 *         that is later than that must not be active alone
 *   down  rank 0's word that all have, or not
 *
 * Threads: one, inside MPI_Init. Ownership: nothing kept. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_START_HANDSHAKE_H
#define HP_PMPI_WRAPPERS_BACKEND_START_HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/knobs.h"
#include "pmpi_wrappers/backend/start/tally.h"

/* What a rank knows of itself. */
typedef struct {
    uint64_t node_id, mask_id; /* mask_id: of hp_cores_t */
    bool threads;              /* it has MPI_THREAD_MULTIPLE */
    bool is_alone;             /* no helper thread of this rank moves collectives on */
    bool has_files;            /* of rank 0: files whose contents all ranks must get */
    uint64_t job_id;           /* of rank 0: another one in each job */
} hp_own_facts_t;

enum { HP_NODES_MANY = HP_TALLY_MANY };

/* What all ranks know afterwards. */
typedef struct {
    uint32_t nodes; /* different node_ids; HP_NODES_MANY if there are more than a message holds */
    /* Ranks with this one's node_id, and those of them with its mask_id; 0: there are more than a message holds. */
    uint32_t beside, sharers;
    bool any_threads; /* some rank has threads */
    bool any_alone;   /* some rank is */
    bool any_off;     /* HANPMPI_ENABLE=0 on some rank */
    bool has_files;   /* rank 0 has */
    int64_t verbose;  /* rank 0's HANPMPI_VERBOSE */
    uint64_t job;     /* rank 0's job_id */
} hp_agreed_t;

/* inout: this rank's knobs; afterwards with rank 0's values of the JOB knobs. Returns true when all
 * ranks have the library. Warnings are given by rank 0 alone; without rank 0 by the ranks that wait for it. */
bool hp_handshake(int rank, int size, const hp_own_facts_t *own, hp_knobs_t *inout, hp_agreed_t *agreed);

/* After a handshake that succeeded, on all ranks: rank 0's bytes reach all of them, along the same tree. The ranks that wait
 * let others run; in a collective of an MPI that spins they would not. false: an MPI error. */
bool hp_handshake_share(int rank, int size, void *data, size_t bytes);

/* After a handshake that failed, before MPI_Finalize: receives what late ranks sent. */
void hp_handshake_drain(void);

#endif
