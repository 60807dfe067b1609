#include "hier/call/collective.h"

const char *hp_collective_name(hp_collective_t collective)
{
    static const char *const names[] = {
#define X(id, name) #name,
        HP_COLLECTIVE_TABLE(X)
#undef X
    };
    return names[collective];
}

const char *hp_outcome_word(hp_outcome_t outcome)
{
    static const char *const words[] = {
#define X(id, word, text) word,
        HP_OUTCOME_TABLE(X)
#undef X
    };
    return words[outcome];
}

const char *hp_outcome_text(hp_outcome_t outcome)
{
    static const char *const texts[] = {
#define X(id, word, text) text,
        HP_OUTCOME_TABLE(X)
#undef X
    };
    return texts[outcome];
}

/* HANPMPI_NONBLOCKING. */
const char *hp_knob_word_nonblocking(unsigned i);
const char *hp_knob_word_nonblocking(unsigned i)
{
    static const char *const words[] = {"auto", "on", "off"};
    return i < sizeof words / sizeof *words ? words[i] : NULL;
}
