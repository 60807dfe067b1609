/* inter_node_files: the schedules of a catalog's files become ways to join nodes (inter_node.h).
 *
 * Threads: as hp_inter_node_add. Ownership: the catalog's generators are borrowed, until hp_inter_node_no_files. */
#ifndef HP_HIER_CALL_INTER_NODE_FILES_H
#define HP_HIER_CALL_INTER_NODE_FILES_H

#include "hier/call/inter_node.h"
#include "schedule/catalog/catalog.h"

/* Before the settings are read, on every rank by itself: where HANPMPI_SCHEDULES is set HANPMPI_BETWEEN_NODES may name a
 * file of it, the same on all ranks, whether they see the directory or not. No file is looked at. */
void hp_inter_node_ahead(void);

/* Adds a word for each file whose schedules can join nodes, and for each that is broken an empty one, behind those that
 * there are; fills the words that are there already. A word that was there and cannot be filled is reported, and so is
 * what there is no room for. directory: for the reports. */
void hp_inter_node_take(const hp_catalog_t *catalog, const char *directory, hp_catalog_problem_fn_t problem,
                        void *context);

#endif
