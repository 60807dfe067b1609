/* module: how the data of one segment moves between the ranks of one level (HAN; X. Luo 2020, chapter 5).
 *
 * A hierarchical collective is a pipeline. On each level that a rank takes part in there is a stage: the team
 * of ranks, and the module that moves data among them. The pipeline (collectives/pipeline.h) calls the
 * modules of the stages segment by segment:
 *
 *      reduce   from the innermost stage outward: members' values -> the leader (position 0 of the team)
 *      bcast    from the outermost stage inward:  the leader's value -> members
 *
 * A module answers by emitting tasks; it never waits. What it needs (lanes, addresses) it makes once a
 * collective, in prepare. The table modules.def gives the knob's words, the listing of hanpmpi_info and the
 * tests. To add a module write a file and a row. Threads: as comm.h. Ownership: stages and what modules keep
 * of them lie in start->arena until the collective is done. */
#ifndef HP_HIER_MODULES_MODULE_H
#define HP_HIER_MODULES_MODULE_H

#include "hier/call/collective.h"
#include "hier/call/setting.h"
#include "hier/comm/start.h"
#include "topo_tree/team.h"

typedef struct hp_module hp_module_t;

/* A collective's use of the memory that the ranks of this node share. Lanes: see request.h; of all rotations
 * together, because a counter may be set by one lane only. */
typedef struct {
    hp_node_memory_t *memory;
    uint64_t first_step, end_step;
    char *slots[HP_LEVEL_COUNT][HP_FAN_COUNT]; /* own ones of a collective of one step, where it fills them */
    bool has_waited; /* some slot was not free when tasks were emitted: they wait for that */
    int32_t set[HP_LEVEL_COUNT][HP_FAN_COUNT]; /* own counters */
    int32_t set_done;
    int32_t *done;             /* [member] waits */
    const hp_around_t *around; /* who takes no part; NULL: all do */
} hp_node_use_t;

/* One level of one rotation of a collective, on one rank. */
typedef struct {
    const hp_module_t *module;
    const hp_start_t *start; /* of the collective */
    hp_collective_t collective;
    bool commutative;
    hp_team_t team;
    bool inter_node;
    bool innermost; /* members are single ranks: each contributes what the program handed in, where it lies */
    bool outermost; /* the leader is the root */
    /* Rotations of the collective: this one has every rotation_count-th segment. With several of them another
     * rotation's leader may be another rank. */
    uint32_t rotation_count;
    bool result_at_root; /* the outermost team's leader gets the result of a reduce: it has a buffer for it */
    hp_node_use_t *node; /* within a node whose ranks share memory, else NULL */
    uint32_t node_level; /* of the team in that memory; 0 is the outermost */
    void *own;           /* the module's */
    /* What the module's functions emit for one segment at most, beside what finish emits for the last one.
     * Set by prepare. */
    uint32_t tasks, edges, scratch, finish_tasks;
} hp_stage_t;

/* One segment on its way through the stages of a rank. */
typedef struct {
    uint64_t index;      /* of the segment in the collective */
    uint64_t step;       /* of the node's memory */
    size_t count;        /* elements; 0 in a barrier */
    size_t offset;       /* bytes from the start of a buffer */
    bool in_place;       /* own and result are the same memory */
    hp_operand_t own;    /* this rank's contribution */
    hp_operand_t result; /* where the result goes, on ranks that get one; the buffer of a bcast */
    /* Where the value is that goes on to the next stage, and the task that put it there (NULL: it was there
     * from the start). */
    hp_operand_t value;
    hp_task_t *ready;
    /* In place: the task after which that memory may be written. NULL: nothing reads it. */
    hp_task_t *own_read;
    /* The last task of each stage that reads memory of the node: when these are complete this rank is done
     * with the step. */
    hp_task_t *node_reads[2 * HP_LEVEL_COUNT];
    uint32_t node_read_count;
} hp_flow_t;

/* Where a value is wanted. */
typedef struct {
    bool given;  /* false: anywhere */
    bool shared; /* others of the node read it there: best written once */
    hp_operand_t at;
    hp_task_t *free; /* not to be written before this task; NULL: it may be */
} hp_place_t;

struct hp_module {
    /* Can it serve this level? The same answer on all ranks. */
    bool (*serves)(const hp_comm_t *comm, bool inter_node, const hp_call_t *call);
    /* Makes what the stage needs. HP_OK, HP_ERR_NO_MEM or another error. */
    hp_status_t (*prepare)(hp_stage_t *stage, const hp_call_t *call, const hp_setting_t *setting);
    /* What is to be done at each start of the collective that was prepared. NULL: nothing. */
    void (*begin)(const hp_stage_t *stage, const hp_call_t *call);
    /* Where the stage wants this rank's value to be when an inner stage makes it. NULL: anywhere. */
    hp_place_t (*place)(const hp_stage_t *stage, hp_segment_t *segment, const hp_flow_t *flow);
    /* Members hand flow->value over; the leader's flow->value becomes the team's. */
    void (*reduce)(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow, hp_place_t into);
    /* The leader's flow->result goes to the members' flow->result. */
    void (*bcast)(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow);
    /* Outermost stage of an allreduce or a barrier: both in one. NULL, or fuses says no: the two above are
     * called. */
    bool (*fuses)(const hp_stage_t *stage);
    void (*allreduce)(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow);
    /* Last of the last segment: emits what must be waited for before this rank may leave. May be NULL. */
    void (*finish)(const hp_stage_t *stage, hp_segment_t *segment);
};

#define HP_MODULE(id, name, description) extern const hp_module_t hp_module_##name;
#include "hier/call/modules.def"
#undef HP_MODULE

/* Has a task made the value, elsewhere than in the program's buffers? */
static inline bool hp_flow_is_made(const hp_flow_t *flow)
{
    return flow->value.base != flow->own.base && flow->value.base != flow->result.base;
}

static inline void hp_flow_reads_node(hp_flow_t *flow, hp_task_t *task)
{
    flow->node_reads[flow->node_read_count++] = task;
}

#endif
