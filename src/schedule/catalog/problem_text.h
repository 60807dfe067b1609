/* problem_text: a problem and an algorithm for it as people write them: "allgather bruck ranks=12 radix=3",
 * "bcast binomial ranks=16 root=5 blocks=4", "reduce chain ranks=8 ordered".
 *
 * First the pattern, then the algorithm, then, in any order: ranks=N (the number of positions), root=N, ordered (the
 * operation does not commute), nodes=N (that divide the ranks), or nodes=5,4,3 (of so many ranks), leaders=all (1 per node
 * otherwise), inside=ALGORITHM (inside.h; direct messages otherwise), and the algorithm's parameters, which have their usual values otherwise. ranks, root and ordered of an
 * algorithm from a file are those of the file if they are not given; ranks are the sum of the nodes' if it is not.
 *
 * Threads: pure. Ownership: nothing is allocated. */
#ifndef HP_SCHEDULE_CATALOG_PROBLEM_TEXT_H
#define HP_SCHEDULE_CATALOG_PROBLEM_TEXT_H

#include "schedule/catalog/catalog.h"

enum { HP_PROBLEM_RANKS_MAX = 4096, HP_PROBLEM_TEXT_BYTES = 512 };

/* True: *problem is one that **generator serves; node_first, with room for HP_PROBLEM_RANKS_MAX + 1, is borrowed by it.
 * False: error says what is wrong and what is accepted. */
bool hp_problem_text_parse(const char *text, const hp_catalog_t *catalog, hp_problem_t *problem,
                           uint32_t *node_first, const hp_generator_t **generator, char *error,
                           size_t error_bytes);

/* The same backwards: "allgather bruck ranks=12 radix=3". Returns text. */
const char *hp_problem_text_format(const hp_problem_t *problem, const hp_generator_t *generator, char *text,
                                   size_t text_bytes);

#endif
