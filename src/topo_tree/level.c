#include "topo_tree/level.h"

#include <string.h>

static const char *const level_names[] = {
#define X(id, name, text) [id] = name,
    HP_LEVEL_TABLE(X)
#undef X
};

const char *hp_level_name(hp_level_t level)
{
    return (unsigned)level < HP_LEVEL_COUNT ? level_names[level] : NULL;
}

hp_level_t hp_level_find(const char *name)
{
    unsigned level = 0;
    while (level < HP_LEVEL_COUNT && strcmp(name, level_names[level]) != 0)
        level++;
    return (hp_level_t)level;
}
