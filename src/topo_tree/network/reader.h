/* reader: what the forms of a network's description share: names, rates, times and where they stand.
 *
 * Threads: one call at a time. Ownership: the reader points to the caller's network and text. */
#ifndef HP_TOPO_TREE_NETWORK_READER_H
#define HP_TOPO_TREE_NETWORK_READER_H

#include <stddef.h>
#include "topo_tree/network.h"

typedef struct {
    hp_network_t *network;
    const char *file;
    char place[64]; /* where in the file: "12", "links[3]"; "": nowhere in particular */
    hp_network_speed_t usual;
    uint32_t *lines; /* of each node: where it was first named. NULL: there are no lines */
    uint32_t line, line_room;
    hp_status_t status;
    char *why;
    size_t why_bytes;
} hp_network_reader_t;

/* Says why, and where, in one line; returns false. */
__attribute__((format(printf, 2, 3))) bool hp_network_refuse(hp_network_reader_t *reader, const char *format,
                                                             ...);

/* The line that a refusal names. */
void hp_network_place_at(hp_network_reader_t *reader, uint32_t line);
bool hp_network_no_memory(hp_network_reader_t *reader);

/* "10gbit", "100 Mbit/s" without the blank, "1.2GB": bits or bytes in a second, of 1000 each. */
bool hp_network_take_rate(hp_network_reader_t *reader, const char *text, double *rate);
/* "10gbit/1gbit": there and back. One is both. */
bool hp_network_take_rates(hp_network_reader_t *reader, const char *text, double *there, double *back);
/* "1.5us". */
bool hp_network_take_latency(hp_network_reader_t *reader, const char *text, double *latency_us);

/* "64KB", of 1000 each, or "lossless". */
bool hp_network_take_queue(hp_network_reader_t *reader, const char *text);

/* Adds a host to a switch. */
bool hp_network_take_host(hp_network_reader_t *reader, const char *name, uint32_t ranks,
                          uint32_t node_of_switch, hp_network_speed_t up, hp_network_speed_t down);
/* A switch; one that was not named before is made where makes says so. -1: refused. */
int32_t hp_network_take_switch(hp_network_reader_t *reader, const char *name, bool makes);
bool hp_network_take_link(hp_network_reader_t *reader, uint32_t a, uint32_t b, hp_network_speed_t there,
                          hp_network_speed_t back);
/* Is it one tree? */
bool hp_network_take_all(hp_network_reader_t *reader);

#endif
