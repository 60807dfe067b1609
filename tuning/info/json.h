/* json: what hanpmpi_info --json prints: the tables of tables.h as one object.
 *
 * Threads: one. Ownership: nothing is kept. */
#ifndef HANPMPI_INFO_JSON_H
#define HANPMPI_INFO_JSON_H

#include <jansson.h>

/* Each returns the exit status. */
int info_json_knobs(void);
int info_json_algorithms(void);
int info_json_backends(void);
int info_json_machine_name(void);
int info_json_probes(void);

/* Prints an object, to which it adds "program" and "version", and takes it over. NULL: there was no memory for it. */
int info_print_json(json_t *object);

#endif
