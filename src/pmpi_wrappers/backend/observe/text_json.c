#include "pmpi_wrappers/backend/observe/text_json.h"

#include <stdlib.h>
#include <string.h>

json_t *hp_text_json(const char *text)
{
    json_t *value = json_string(text);
    char *plain = value ? NULL : strdup(text);

    for (char *at = plain; at && *at; at++)
        *at = (unsigned char)*at < 0x80 ? *at : '?';
    if (plain)
        value = json_string(plain);
    free(plain);
    return value;
}
