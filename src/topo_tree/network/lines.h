/* lines: a text line by line, for the forms of a network's description that have one statement a line.
 *
 * Threads: one call at a time. Ownership: the text is the caller's, and is cut into lines and words. */
#ifndef HP_TOPO_TREE_NETWORK_LINES_H
#define HP_TOPO_TREE_NETWORK_LINES_H

#include "topo_tree/network/reader.h"

typedef struct {
    hp_network_reader_t *reader;
    char *at, *end;
    uint32_t line; /* of at, from 1 on */
} hp_network_lines_t;

/* The next line, ended by a 0 and without its carriage return; the reader says its number. joins: a backslash at a
 * line's end continues it. NULL: there is none. */
char *hp_network_next_line(hp_network_lines_t *lines, bool joins);
/* The next word of a line, which blanks end; *at goes behind it. NULL: there is none. */
char *hp_network_next_word(char **at);

#endif
