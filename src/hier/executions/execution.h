/* execution: the collectives of a communicator that were called and are not finished.
 *
 * A call becomes an execution. They are started in the order of the calls, which is the same on all ranks:
 *
 *      idle -> submit -> queued -> running -> done -> put -> idle
 *
 * Several run at the same time where they share nothing but messages, and their messages are short: by the modules that they
 * really run (hp_algorithm_t.runs_alone), not by what the communicator could offer. What uses the memory
 * of the node (its counters are in the order of the collectives) or communicators of the host MPI (likewise) runs alone;
 * what comes behind it waits until it is done on this rank. Nobody waits for what was called later, so this cannot
 * deadlock: the oldest collective that is not finished on all ranks runs on all ranks that have called it.
 *
 * One that fails takes those with it that cannot be right any more: what has messages in flight (request.h); what uses
 * the memory of the node, or communicators of the host MPI, behind one that did; all calls behind one that could not
 * be counted. They end with an error, here; the other ranks may wait for ever, as MPI lets them.
 *
 * Threads: as comm.h: whoever calls here has the communicator to itself. Ownership: executions belong to their
 * communicator; one that was got must be put back when it is done. */
#ifndef HP_HIER_EXECUTIONS_EXECUTION_H
#define HP_HIER_EXECUTIONS_EXECUTION_H

#include <stdatomic.h>
#include "hier/executions/plan.h"

typedef enum { HP_PHASE_IDLE, HP_PHASE_QUEUED, HP_PHASE_RUNNING, HP_PHASE_DONE } hp_phase_t;

typedef struct hp_execution hp_execution_t;
struct hp_execution {
    hp_plan_t *plan;       /* what it runs; from its start until it is put */
    hp_request_t *request; /* the plan's */
    hp_phase_t phase;
    hp_status_t status; /* once done */
    const hp_algorithm_t *algorithm;
    hp_call_t call; /* while it runs: collective, count, root and the type's bytes */
    hp_setting_t setting;
    bool alone; /* nothing else of the communicator runs meanwhile (algorithm.h) */
    /* Called just before it is started, and when it is done; either may be NULL. They must not submit; on_done
     * may put the execution back. */
    void (*on_start)(hp_comm_t *comm, hp_execution_t *execution, const hp_call_t *call,
                     const hp_setting_t *setting);
    void (*on_done)(hp_comm_t *comm, hp_execution_t *execution);
    void *owner;             /* for these two */
    hp_trace_call_t *traced; /* likewise */
    uint64_t number;         /* of the call on its communicator, from 1: the same on all ranks */
    uint64_t since_ns;       /* when it was submitted; 0: nobody asks */
    hp_execution_t *next;    /* in its list */
};

/* Of a communicator. */
typedef struct hp_executions {
    hp_execution_t *idle; /* at least one when nothing is in flight */
    uint32_t idle_count;
    hp_plans_t plans;
    hp_execution_t *running, *queued; /* oldest first */
    hp_execution_t **queued_end;      /* where the next one is appended */
    uint32_t running_count;
    uint64_t running_bytes;     /* of their messages */
    _Atomic uint64_t submitted; /* so far; anybody may look */
    bool running_alone;         /* what runs does, and is the only one */
    bool missed_call;           /* one got no memory, so it has no number here, but elsewhere it does */
    bool out_of_step;           /* one that ran alone failed: counters are not as other ranks expect them */
} hp_executions_t;

/* Executions of one communicator that run at the same time, at most. Each has memory for its tasks and scratch
 * buffers; with so many in flight latencies are well hidden. */
enum { HP_RUNNING_MAX = 16 };
/* More than two of them only if their messages are no longer than this together. */
enum { HP_RUNNING_BYTES_MAX = 128 << 10 };

/* Before the first call, and after the last one is done; comm NULL is allowed in the latter. HP_OK, HP_ERR_NO_MEM. */
hp_status_t hp_executions_create(hp_comm_t *comm);
void hp_executions_destroy(hp_comm_t *comm);

/* NULL: out of memory; every later call on this communicator fails then. */
hp_execution_t *hp_execution_get(hp_comm_t *comm);
void hp_execution_put(hp_comm_t *comm, hp_execution_t *execution);
/* A call that other ranks make was not made here: likewise. */
void hp_execution_missed(hp_comm_t *comm);

/* Starts it, or queues it. Callbacks and owner are set before. When it returns the execution may be done. */
void hp_execution_submit(hp_comm_t *comm, hp_execution_t *execution, const hp_algorithm_t *algorithm,
                         const hp_call_t *call, const hp_setting_t *setting);

/* Moves all on, without blocking. Returns whether anything moved. */
bool hp_executions_progress(hp_comm_t *comm);

/* Called by who waits and finds nothing to do: moves on what else there is. Returns whether anything moved. NULL: there is
 * nothing else. */
extern bool (*hp_execution_elsewhere)(hp_comm_t *comm);

/* Progresses everything of the communicator until the execution is done. Returns its status. */
hp_status_t hp_execution_wait(hp_comm_t *comm, hp_execution_t *execution);

/* What moves non-blocking ones on: the words of HANPMPI_PROGRESS. */
enum { HP_PROGRESS_AUTO, HP_PROGRESS_THREAD };

/* Has every call of this rank been counted, and none failed that others' steps depend on? */
static inline bool hp_executions_are_in_step(const hp_comm_t *comm)
{
    return !comm->executions->missed_call && !comm->executions->out_of_step;
}

static inline bool hp_executions_any(const hp_comm_t *comm)
{
    return comm->executions->running || comm->executions->queued;
}

#endif
