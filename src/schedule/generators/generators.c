#include "schedule/generators/generators.h"

#include <string.h>

static const hp_generator_t *const generators[] = {
#define HP_GENERATOR(name) &hp_generator_##name,
#include "schedule/generators/generators.def"
#undef HP_GENERATOR
};

const hp_generator_t *hp_generator(unsigned i)
{
    return i < sizeof generators / sizeof *generators ? generators[i] : NULL;
}

const hp_generator_t *hp_generator_find(const char *name)
{
    for (unsigned i = 0; hp_generator(i); i++)
        if (strcmp(name, generators[i]->name) == 0)
            return generators[i];
    return NULL;
}
