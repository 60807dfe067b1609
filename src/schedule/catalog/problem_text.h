/* problem_text: a problem and an algorithm for it as people write them: "allgather bruck ranks=12 radix=3",
 * "bcast binomial ranks=16 root=5 blocks=4", "reduce chain ranks=8 ordered".
 *
 * First the pattern, then the algorithm, then, in any order: ranks=N (the number of positions), root=N, ordered (the
 * operation does not commute), nodes=N (that divide the ranks), or nodes=5,4,3 (of so many ranks), leaders=all (1 per node
 * otherwise), inside=ALGORITHM (inside.h; direct messages otherwise), network=FILE and order=WORD
 * (topo_tree/network/placement.h; ranks are otherwise as many as it has room for), sizes=FILE (of an alltoall: a row of
 * whole numbers for each rank, the bytes that it has for each), and the algorithm's parameters, which have their usual values otherwise. ranks, root and ordered of an
 * algorithm from a file are those of the file if they are not given; ranks are the sum of the nodes' if it is not.
 *
 * Threads: pure, but for the file system. Ownership: init and fini of what the problem borrows. */
#ifndef HP_SCHEDULE_CATALOG_PROBLEM_TEXT_H
#define HP_SCHEDULE_CATALOG_PROBLEM_TEXT_H

#include "schedule/catalog/catalog.h"
#include "topo_tree/network/placement.h"

enum { HP_PROBLEM_RANKS_MAX = 4096, HP_PROBLEM_TEXT_BYTES = 512 };

/* What a problem that was read borrows. */
typedef struct {
    uint32_t node_first[HP_PROBLEM_RANKS_MAX + 1];
    char network_file[HP_PROBLEM_TEXT_BYTES]; /* "": none */
    hp_network_t network;
    hp_placement_order_t order;
    uint32_t machines[HP_PROBLEM_RANKS_MAX];
    hp_placement_t placement;
    uint64_t *sizes;
} hp_problem_lent_t;

void hp_problem_lent_init(hp_problem_lent_t *lent);
void hp_problem_lent_fini(hp_problem_lent_t *lent);

/* True: *problem is one that **generator serves; it borrows from *lent, which was initialized.
 * False: error says what is wrong and what is accepted. */
bool hp_problem_text_parse(const char *text, const hp_catalog_t *catalog, hp_problem_t *problem,
                           hp_problem_lent_t *lent, const hp_generator_t **generator, char *error,
                           size_t error_bytes);

/* The same backwards: "allgather bruck ranks=12 radix=3"; the names of files are not known any more. Returns text. */
const char *hp_problem_text_format(const hp_problem_t *problem, const hp_generator_t *generator, char *text,
                                   size_t text_bytes);

#endif
