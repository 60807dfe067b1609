#include "hier/modules/between.h"

#include <stddef.h>

static const char *const names[] = {
#define X(id, name, serves, text) #name,
    HP_BETWEEN_TABLE(X)
#undef X
};

static const char *const descriptions[] = {
#define X(id, name, serves, text) text,
    HP_BETWEEN_TABLE(X)
#undef X
};

static const unsigned served[] = {
#define X(id, name, serves, text) serves,
    HP_BETWEEN_TABLE(X)
#undef X
};

const char *hp_between_name(unsigned i)
{
    return i < HP_BETWEEN_COUNT ? names[i] : NULL;
}

const char *hp_between_description(unsigned i)
{
    return i < HP_BETWEEN_COUNT ? descriptions[i] : NULL;
}

bool hp_between_serves(hp_between_t between, hp_collective_t collective)
{
    return served[between] & 1u << collective;
}

/* The words of the knob; knobs.def names this function. */
const char *hp_knob_word_between_nodes(unsigned i);
const char *hp_knob_word_between_nodes(unsigned i)
{
    return hp_between_name(i);
}
