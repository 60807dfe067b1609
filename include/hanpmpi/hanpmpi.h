/* hanpmpi.h: what a program may ask libhanpmpi, if it wants to; no program needs to.
 *
 * A program linked with -lhanpmpi calls these directly. One that must also run without the library looks
 * them up with dlsym(RTLD_DEFAULT, "hanpmpi_get_stats").
 *
 * Threads: every function here may be called from any thread at any time, and none blocks or communicates. */
#ifndef HANPMPI_HANPMPI_H
#define HANPMPI_HANPMPI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Per-communicator hints: info keys for MPI_Comm_set_info and MPI_Comm_dup_with_info. Rank 0's values hold
 * for the whole communicator. A key takes the values of the variable of its name (man 7 hanpmpi):
 * hanpmpi_trees is HANPMPI_TREES for one communicator.
 *   hanpmpi                "off": every call passes through; "on": as the rules and the other hints say
 *   hanpmpi_bcast, hanpmpi_allgather and so on, one for each collective, in small letters
 *                          an algorithm, as in HANPMPI_BCAST and so on: "auto", "native", or a name that
 *                          `hanpmpi_info --algorithms` lists
 *   hanpmpi_segment_bytes  bytes of a segment, as in HANPMPI_SEGMENT_BYTES ("32K")
 *   hanpmpi_shapes         tree shape per level, as in HANPMPI_SHAPES ("node:chain core:linear")
 *   hanpmpi_modules        module per level, as in HANPMPI_MODULES ("node:p2p core:shm")
 *   hanpmpi_between_nodes  how the module p2p joins the nodes: "tree", "double_tree", "ring", ...
 *   hanpmpi_trees          roots on different nodes that take turns in an allreduce
 *   hanpmpi_leaders        leaders of each node
 *   hanpmpi_ib_segment_bytes, hanpmpi_ir_segment_bytes
 *                          bytes of the pieces in which a segment is broadcast, or reduced, between nodes
 *   hanpmpi_sends_per_child, hanpmpi_recvs_per_parent, hanpmpi_window_segments
 *                          sends and receives in flight on a link, segments in work
 *   hanpmpi_guard          "0": what the rules say, without trying anything else
 *   hanpmpi_arrival        "1": the ranks look who comes late, as with HANPMPI_ARRIVAL=1
 */
#define HANPMPI_HINT_ENABLE               "hanpmpi"
#define HANPMPI_HINT_BCAST                "hanpmpi_bcast"
#define HANPMPI_HINT_REDUCE               "hanpmpi_reduce"
#define HANPMPI_HINT_ALLREDUCE            "hanpmpi_allreduce"
#define HANPMPI_HINT_BARRIER              "hanpmpi_barrier"
#define HANPMPI_HINT_ALLGATHER            "hanpmpi_allgather"
#define HANPMPI_HINT_ALLGATHERV           "hanpmpi_allgatherv"
#define HANPMPI_HINT_ALLTOALL             "hanpmpi_alltoall"
#define HANPMPI_HINT_ALLTOALLV            "hanpmpi_alltoallv"
#define HANPMPI_HINT_ALLTOALLW            "hanpmpi_alltoallw"
#define HANPMPI_HINT_REDUCE_SCATTER       "hanpmpi_reduce_scatter"
#define HANPMPI_HINT_REDUCE_SCATTER_BLOCK "hanpmpi_reduce_scatter_block"
#define HANPMPI_HINT_GATHER               "hanpmpi_gather"
#define HANPMPI_HINT_GATHERV              "hanpmpi_gatherv"
#define HANPMPI_HINT_SCATTER              "hanpmpi_scatter"
#define HANPMPI_HINT_SCATTERV             "hanpmpi_scatterv"
#define HANPMPI_HINT_SCAN                 "hanpmpi_scan"
#define HANPMPI_HINT_EXSCAN               "hanpmpi_exscan"
#define HANPMPI_HINT_SEGMENT_BYTES        "hanpmpi_segment_bytes"
#define HANPMPI_HINT_IB_SEGMENT_BYTES     "hanpmpi_ib_segment_bytes"
#define HANPMPI_HINT_IR_SEGMENT_BYTES     "hanpmpi_ir_segment_bytes"
#define HANPMPI_HINT_SHAPES               "hanpmpi_shapes"
#define HANPMPI_HINT_MODULES              "hanpmpi_modules"
#define HANPMPI_HINT_BETWEEN_NODES        "hanpmpi_between_nodes"
#define HANPMPI_HINT_TREES                "hanpmpi_trees"
#define HANPMPI_HINT_LEADERS              "hanpmpi_leaders"
#define HANPMPI_HINT_SENDS_PER_CHILD      "hanpmpi_sends_per_child"
#define HANPMPI_HINT_RECVS_PER_PARENT     "hanpmpi_recvs_per_parent"
#define HANPMPI_HINT_WINDOW_SEGMENTS      "hanpmpi_window_segments"
#define HANPMPI_HINT_GUARD                "hanpmpi_guard"
#define HANPMPI_HINT_ARRIVAL              "hanpmpi_arrival"

/* The library's version, "0.1.0". */
const char *hanpmpi_version(void);

/* The MPI that was found under the library: "openmpi", "mpich", "mpiabi"; "none" before MPI_Init or when the
 * library is not active. */
const char *hanpmpi_backend(void);

typedef struct {
    uint64_t calls; /* calls intercepted on this process: MPI_X, MPI_X_c, from any language */
    uint64_t taken; /* of these, run by the library; the others went to the host MPI */
    uint64_t bytes; /* sum over the taken calls of count times type size, in bytes */
} hanpmpi_collective_stats_t;

/* Fills *out for one collective: "bcast", "reduce_scatter_block" and so on. Returns 0; -1 when the name is not one of
 * these. Figures are zero while the library is not active. */
int hanpmpi_get_stats(const char *collective, hanpmpi_collective_stats_t *out);

/* What became of the calls of one collective on this process. Outcome 0 is "taken"; the others are the
 * reasons for passing a call through, by the words that HANPMPI_STATS=1 prints. Sets *word (static) and
 * *calls; returns 0, or -1 when there is no such collective or outcome: ask for 0, 1, 2, ... until then. */
int hanpmpi_get_outcome(const char *collective, unsigned outcome, const char **word, uint64_t *calls);

typedef struct {
    uint64_t communicators; /* communicators the library knows (has cached anything about) */
    uint64_t duplicates;    /* private duplicates alive */
    uint64_t requests;      /* non-blocking operations in flight */
    uint64_t buffers;       /* scratch buffers handed out */
} hanpmpi_resources_t;

/* What the library holds at this moment; after MPI_Finalize all four are zero. Returns 0. */
int hanpmpi_get_resources(hanpmpi_resources_t *out);

#ifdef __cplusplus
}
#endif

#endif
