/* inter_node: how nodes are joined: the words of HANPMPI_BETWEEN_NODES and of the rules' column.
 *
 * Beside the tree of the level's shape these are the generators of schedules (schedule/generators) that do a collective
 * of ours, so that one more of them is one more word, for rules, hints, the model, the tuner and the tests alike. They
 * are for the outermost level, where the nodes' leaders meet. What one of them cannot do, for the collective, the number
 * of nodes or an operation that does not commute, falls to the tree, on all ranks alike. A schedule from a file is for one
 * collective and one number of nodes.
 * Threads: any; files come and go while no other thread is here. Ownership: static; generators of files are borrowed. */
#ifndef HP_HIER_CALL_INTER_NODE_H
#define HP_HIER_CALL_INTER_NODE_H

#include "hier/call/collective.h"
#include "schedule/generator.h"
#include "topo_tree/shape.h"

enum { HP_INTER_NODE_FILES_MAX = 128, HP_INTER_NODE_NAME_BYTES = 64 };

/* auto: as the rule says; no rule names it. Then every generator; those that are no way to join nodes have no word. Then
 * those that were read from files. */
typedef enum {
    HP_INTER_NODE_auto,
    HP_INTER_NODE_tree,
#define HP_GENERATOR(name) HP_INTER_NODE_##name,
#include "schedule/generators/generators.def"
#undef HP_GENERATOR
    HP_INTER_NODE_FILES,
    HP_INTER_NODE_NONE = HP_INTER_NODE_FILES + HP_INTER_NODE_FILES_MAX
} hp_inter_node_t;

/* Of the i-th word; HP_INTER_NODE_NONE past the last. And the other way round. */
hp_inter_node_t hp_inter_node(unsigned word);
unsigned hp_inter_node_word(hp_inter_node_t inter_node);

/* Has it a word? */
bool hp_inter_node_is_word(hp_inter_node_t inter_node);
const char *hp_inter_node_name(hp_inter_node_t inter_node);
const char *hp_inter_node_description(hp_inter_node_t inter_node);

/* Is it there for the collective, whatever the number of nodes and the operation? Where it is not, the tree is used. */
bool hp_inter_node_serves(hp_inter_node_t inter_node, hp_collective_t collective);

/* What makes its schedules. NULL: auto, the tree, or what has no word. */
const hp_generator_t *hp_inter_node_generator(hp_inter_node_t inter_node);

/* Is it made for the network there is, for the collective? */
bool hp_inter_node_is_placed(hp_inter_node_t inter_node, hp_collective_t collective);

/* What makes the schedules of the trees of a shape. */
const hp_generator_t *hp_inter_node_tree(hp_shape_t shape);

/* Do segments go along trees, as wholes or in pieces? Else each goes through a schedule of its own, cut into blocks. */
bool hp_inter_node_is_tree(hp_inter_node_t inter_node);

/* Can the interpreter (modules/schedule_steps.h) run what it has for the pattern, bcast or allreduce, on whole segments?
 * It knows local steps that copy, and that reduce what has come into scratch. Seen in schedules of few positions. */
bool hp_inter_node_runs(const hp_generator_t *generator, hp_pattern_t pattern);

/* The problem, as the module p2p runs the collective among so many nodes, the first of which is the root; ordered: the
 * operation does not commute; placement: of the network, NULL: none is known; who makes schedules says which of its ranks
 * are the nodes (problem->placed). False: the tree is used. */
bool hp_inter_node_problem(hp_inter_node_t inter_node, hp_collective_t collective, uint32_t nodes,
                           bool ordered, const struct hp_placement *placement, hp_problem_t *problem);

/* ---- from files: before anybody asks for a word, see inter_node_files.h ---- */

/* The slot of that name; a new one, behind those there are, is empty: what asks for it takes the tree.
 * HP_INTER_NODE_NONE: all are taken, or it is another word already, or cannot be a word. */
hp_inter_node_t hp_inter_node_add(const char *name);
/* What the slot stands for, until hp_inter_node_no_files; NULL empties it. */
void hp_inter_node_fill(hp_inter_node_t slot, const hp_generator_t *generator);
void hp_inter_node_no_files(void);

/* Why the interpreter cannot run what was read from a file; NULL: it can. */
const char *hp_inter_node_refusal(const hp_generator_t *generator);

#endif
