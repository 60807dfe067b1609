/* rows: the nodes of a network in the order in which they are shown: from the top down, hosts of a switch before the
 * switches on it; equal hosts that follow each other are one row.
 *
 * Threads: pure. Ownership: init and fini; the network and its loads are the caller's. */
#ifndef HP_TOPO_TREE_NETWORK_ROWS_H
#define HP_TOPO_TREE_NETWORK_ROWS_H

#include "topo_tree/network.h"

typedef struct {
    uint32_t first, last;  /* nodes; of a switch the same */
    uint32_t hosts;        /* 0: a switch */
    uint32_t depth, above; /* above: the row of its switch */
    bool is_last;          /* of those on its switch */
    double
        place; /* from 0 on: rows without any below them each have a whole number, the others are amidst theirs */
} hp_network_row_t;

typedef struct {
    const hp_network_t *network;
    const double *link_bytes; /* NULL: nothing is known */
    hp_network_row_t *rows;
    uint32_t count;
} hp_network_rows_t;

/* Of a finished network. HP_ERR_ARG: more than rows_max. fini is called in any case. */
hp_status_t hp_network_rows_init(hp_network_rows_t *rows, const hp_network_t *network,
                                 const double *link_bytes, uint32_t rows_max);
void hp_network_rows_fini(hp_network_rows_t *rows);

#endif
