/* picture: a network as text and as SVG, for people: the tree, the rate of each link, and what crosses it.
 *
 * Hosts of one switch that follow each other and do not differ, in what crosses their links either, are one row.
 *
 * Threads: writes to the given stream only. Ownership: nothing is kept. */
#ifndef HP_TOPO_TREE_NETWORK_PICTURE_H
#define HP_TOPO_TREE_NETWORK_PICTURE_H

#include <stdio.h>
#include "topo_tree/network.h"

enum { HP_NETWORK_ROWS_MAX = 2000 };

/* Of a finished network. link_bytes: bytes for each link, or NULL. HP_ERR_ARG: more than HP_NETWORK_ROWS_MAX rows.
 * Whether the stream took it all, ferror tells the caller. */
hp_status_t hp_network_print(FILE *out, const hp_network_t *network, const double *link_bytes);
hp_status_t hp_network_draw(FILE *out, const hp_network_t *network, const char *title,
                            const double *link_bytes);

#endif
