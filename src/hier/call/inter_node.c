#include "hier/call/inter_node.h"

#include <stddef.h>

static const char *const names[] = {
#define X(id, name, serves, text) #name,
    HP_INTER_NODE_TABLE(X)
#undef X
};

static const char *const descriptions[] = {
#define X(id, name, serves, text) text,
    HP_INTER_NODE_TABLE(X)
#undef X
};

static const unsigned served[] = {
#define X(id, name, serves, text) serves,
    HP_INTER_NODE_TABLE(X)
#undef X
};

const char *hp_inter_node_name(unsigned i)
{
    return i < HP_INTER_NODE_COUNT ? names[i] : NULL;
}

const char *hp_inter_node_description(unsigned i)
{
    return i < HP_INTER_NODE_COUNT ? descriptions[i] : NULL;
}

bool hp_inter_node_serves(hp_inter_node_t inter_node, hp_collective_t collective)
{
    return served[inter_node] & 1u << collective;
}

/* The words of the knob; knobs.def names this function. */
const char *hp_knob_word_between_nodes(unsigned i);
const char *hp_knob_word_between_nodes(unsigned i)
{
    return hp_inter_node_name(i);
}
