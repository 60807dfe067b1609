/* network: a network from a file, as hanpmpi_info --network shows and draws it, with what a collective puts on its
 * links.
 *
 * Threads: one. Ownership: nothing is kept. */
#ifndef HANPMPI_INFO_NETWORK_H
#define HANPMPI_INFO_NETWORK_H

#include <stdbool.h>

typedef struct {
    const char *file;
    const char *collective; /* "alltoall ring bytes=64K"; NULL: the tree alone */
    const char *order;      /* a word of HP_PLACEMENT_ORDER_TABLE; NULL: block */
    const char *svg;        /* a file to write; "-": standard output, in place of the text; NULL: none */
    bool json;              /* the network as a file in JSON, in place of the text */
} info_network_t;

/* Returns the exit status. */
int info_print_network(const info_network_t *asked);

#endif
