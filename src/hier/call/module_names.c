#include "hier/call/module_names.h"

#include <stdio.h>
#include <string.h>
#include "topo_tree/items.h"

static const char *const names[] = {
#define HP_MODULE(id, name, description) #name,
#include "hier/call/modules.def"
#undef HP_MODULE
};

static const char *const descriptions[] = {
#define HP_MODULE(id, name, description) description,
#include "hier/call/modules.def"
#undef HP_MODULE
};

const char *hp_module_name(hp_module_id_t id)
{
    return names[id];
}

const char *hp_module_description(hp_module_id_t id)
{
    return descriptions[id];
}

/* The names as ", p2p, shm, ...": the message skips the first two characters. */
static const char accepted_modules[] =
#define HP_MODULE(id, name, description) ", " #name
#include "hier/call/modules.def"
#undef HP_MODULE
    ;

static hp_module_id_t find_module(const hp_item_t *item)
{
    for (unsigned id = 0; id < HP_MODULE_COUNT; id++)
        if (strlen(names[id]) == item->value_bytes && memcmp(names[id], item->value, item->value_bytes) == 0)
            return (hp_module_id_t)id;
    return HP_MODULE_COUNT;
}

hp_status_t hp_modules_parse(const char *text, hp_modules_t *inout, char *error, unsigned error_bytes)
{
    hp_items_t items = {
        .cursor = text, .accepted = accepted_modules + 2, .error = error, .error_bytes = error_bytes};
    hp_modules_t parsed = *inout;
    hp_item_t item;
    hp_status_t status;

    while ((status = hp_items_next(&items, &item)) == HP_OK) {
        const hp_module_id_t id = find_module(&item);
        if (id == HP_MODULE_COUNT)
            return hp_items_refuse_value(&items, &item);
        if (item.level == HP_LEVEL_NODE && (id == HP_MODULE_SHM || id == HP_MODULE_SINGLE_COPY)) {
            snprintf(error, error_bytes, "%s joins ranks within a node: node accepts p2p, native", names[id]);
            return HP_ERR_ARG;
        }
        parsed.module[item.level] = (uint8_t)id;
    }
    if (status != HP_ERR_NOT_FOUND)
        return status;
    *inout = parsed;
    return HP_OK;
}

const char *hp_modules_format(const hp_modules_t *chosen, uint32_t levels, char *buffer,
                              unsigned buffer_bytes)
{
    unsigned used = 0;

    buffer[0] = '\0';
    for (unsigned level = 0; level < HP_LEVEL_COUNT && used < buffer_bytes; level++)
        if (levels & 1u << level)
            used += (unsigned)snprintf(buffer + used, buffer_bytes - used, "%s%s:%s", used ? " " : "",
                                       hp_level_name((hp_level_t)level),
                                       hp_module_name((hp_module_id_t)chosen->module[level]));
    return buffer;
}

/* The check of HANPMPI_MODULES; knobs.def names it. */
bool hp_knob_check_modules(const char *text, char *error, unsigned error_bytes);
bool hp_knob_check_modules(const char *text, char *error, unsigned error_bytes)
{
    hp_modules_t unused = {{HP_MODULE_P2P}};
    return hp_modules_parse(text, &unused, error, error_bytes) == HP_OK;
}
