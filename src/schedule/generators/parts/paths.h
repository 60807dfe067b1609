/* paths: which links the messages between positions cross, and how many messages each link carries at a time.
 *
 * Links are those of the network, each direction by itself, and two of each position: what it sends and what it receives.
 * A link carries one message at a time for each time that it is as fast as the slowest link that any message crosses; a
 * position as many as its machine's link does. What stays inside a machine crosses only the positions' own links.
 *
 * For generators. Threads: pure. Ownership: init and fini; the problem is borrowed and has a placement. */
#ifndef HP_SCHEDULE_GENERATORS_PARTS_PATHS_H
#define HP_SCHEDULE_GENERATORS_PARTS_PATHS_H

#include "schedule/problem.h"
#include "topo_tree/network/placement.h"

typedef struct {
    const hp_problem_t *problem;
    uint32_t count;     /* positions */
    uint32_t links;     /* of the network, then 2 of each position: out, in */
    uint32_t *below;    /* [node of the network] positions on machines below it, and on it */
    uint32_t *capacity; /* [link] messages at a time, >= 1 */
    uint32_t *load;     /* [link] messages that cross it if each position sends one to each other */
    uint32_t path_most; /* links that a message may cross */
    uint32_t bound;     /* the largest load / capacity, rounded up */
    bool is_equal;      /* all that are crossed carry one message at a time */
} hp_paths_t;

/* HP_OK or HP_ERR_NO_MEM; fini in any case. */
hp_status_t hp_paths_init(hp_paths_t *paths, const hp_problem_t *problem);
void hp_paths_fini(hp_paths_t *paths);

/* The links that a message from one position to another one crosses; returns how many. */
uint32_t hp_paths_links(const hp_paths_t *paths, uint32_t from, uint32_t to, uint32_t *links);

#endif
