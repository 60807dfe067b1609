/* task_graph: the tasks that the algorithms emit on all ranks, with what waits for what, seen from outside.
 *
 * The program is linked with --wrap for the functions by which an algorithm talks to the engine
 * (CMakeLists.txt lists them): each call is noted here and handed on. After the run the notes of all ranks
 * are joined, the n-th send of a stream (source, destination, tag) with its n-th receive, a counter's setting
 * in the memory of a node with the waits that it ends (but for DONE, which says what may be written again: it
 * is flow control, as the limits of lanes are), and the longest ways through the graph are measured. A
 * collective that has no tasks (hp_request_start_direct) has no graph. They follow from the graph alone and
 * not from the order in which things happened.
 *
 * Threads: single-threaded; one graph at a time. Ownership: task_graph_begin allocates, task_graph_end frees;
 * the job is borrowed in between. */
#ifndef HP_TESTS_COUNTERS_TASK_GRAPH_H
#define HP_TESTS_COUNTERS_TASK_GRAPH_H

#include "sim/job.h"

typedef struct {
    uint64_t segments; /* of the pipeline; the most of any rank, here and below */
    uint64_t messages, bytes;
    uint64_t copies, copied_bytes; /* as tasks: not what a reduction moves out of its way */
    uint64_t pulls, pushes;        /* between members of a node */
    /* Messages of which each can only be sent when the one before is complete; and their bytes. */
    uint64_t chain, chain_bytes;
    /* The same when a message waits for the one before it in its stream too: the rounds of a pipeline. */
    uint64_t rounds;
    uint64_t window;       /* segments in work at a time */
    uint64_t tasks;        /* room for tasks: window x tasks of a segment */
    uint64_t scratch;      /* bytes of scratch buffers at most: window x those of a segment */
    uint64_t scratch_peak; /* and held at the same time in this run */
    uint64_t unmatched;    /* messages that were emitted on one side only */
} task_graph_t;

void task_graph_begin(job_t *job, uint32_t rank_count);
task_graph_t task_graph_end(void);

#endif
