/* text_json: texts of others in JSON: names of hosts, files, datatypes and communicators need not be UTF-8.
 *
 * Threads: any. Ownership: the caller's. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_OBSERVE_TEXT_JSON_H
#define HP_PMPI_WRAPPERS_BACKEND_OBSERVE_TEXT_JSON_H

#include <jansson.h>

/* With a ? for each byte beyond ASCII where the text is no UTF-8. NULL: no memory. */
json_t *hp_text_json(const char *text);

#endif
