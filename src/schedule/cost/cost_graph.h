/* cost_graph: what of all positions' schedules waits for what, for cost.c and cost_run.c.
 *
 * A step is up to two parts: its send and its receive; a local step is a receive. A part needs others of its position
 * to be complete, and a receive its message. Threads: pure. Ownership: init and fini. */
#ifndef HP_SCHEDULE_COST_GRAPH_H
#define HP_SCHEDULE_COST_GRAPH_H

#include "schedule/cost/cost_terms.h"
#include "schedule/generator.h"

enum { HP_NO_PART = UINT32_MAX };

typedef enum { HP_PART_SEND, HP_PART_RECEIVE, HP_PART_LOCAL } hp_part_kind_t;

typedef struct {
    uint32_t position;
    uint32_t peer;  /* the part at the other end */
    uint32_t next;  /* of a send: the next one to the same position in the stream, which goes out after it */
    uint32_t needs; /* before it may start: parts, its message, the send before it */
    uint32_t first_after; /* in after: the parts that need it */
    uint32_t after_count;
    uint32_t first_link, link_count; /* of a send: in links */
    uint32_t blocks;
    uint8_t kind, stream;
    bool reduces;
} hp_part_t;

typedef struct {
    hp_part_t *parts;
    uint32_t part_count;
    uint32_t *first_part; /* of each position, and one more */
    uint32_t *after;
    uint32_t *links;
} hp_cost_graph_t;

/* machines: of each position; in_flight: steps with messages of a position that may be under way, 0: any number.
 * HP_ERR_ARG: the messages do not meet. */
hp_status_t hp_cost_graph_init(hp_cost_graph_t *graph, const hp_schedule_t *schedules,
                               const hp_problem_t *problem, const hp_network_t *network,
                               const uint32_t *machines, uint32_t in_flight);
void hp_cost_graph_fini(hp_cost_graph_t *graph);

/* How long a part's own work keeps its processor busy. */
typedef struct {
    double overhead_us, reduce_us, copy_us;
} hp_cost_work_t;

hp_cost_work_t hp_cost_work(const hp_part_t *part, const hp_cost_processor_t *processor, double block_bytes);

#endif
