/* json: the JSON form of file.h. Threads: one call at a time. Ownership: the reader's. */
#ifndef HP_TOPO_TREE_NETWORK_JSON_H
#define HP_TOPO_TREE_NETWORK_JSON_H

#include "topo_tree/network/reader.h"

/* false: refused. */
bool hp_network_take_json(hp_network_reader_t *reader, const char *text, size_t length);

#endif
