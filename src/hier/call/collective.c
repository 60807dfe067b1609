#include "hier/call/collective.h"

static const struct {
    const char *name;
    hp_pattern_t pattern;
    unsigned traits;
} collectives[] = {
#define X(id, name, pattern, traits) {#name, HP_PATTERN_##pattern, traits},
    HP_COLLECTIVE_TABLE(X)
#undef X
};

const char *hp_collective_name(hp_collective_t collective)
{
    return collectives[collective].name;
}

hp_pattern_t hp_collective_pattern(hp_collective_t collective)
{
    return collectives[collective].pattern;
}

bool hp_collective_is(hp_collective_t collective, unsigned traits)
{
    return (collectives[collective].traits & traits) == traits;
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

/* HANPMPI_MOCKUPS. */
const char *hp_knob_word_mockups(unsigned i);
const char *hp_knob_word_mockups(unsigned i)
{
    static const char *const words[] = {"on", "off", "force"};
    return i < sizeof words / sizeof *words ? words[i] : NULL;
}

/* HANPMPI_WISDOM. */
const char *hp_knob_word_wisdom(unsigned i);
const char *hp_knob_word_wisdom(unsigned i)
{
    static const char *const words[] = {"on", "read", "off"};
    return i < sizeof words / sizeof *words ? words[i] : NULL;
}

/* HANPMPI_PROFILE_WATCH: hp_watch_mode_t. */
const char *hp_knob_word_profile_watch(unsigned i);
const char *hp_knob_word_profile_watch(unsigned i)
{
    static const char *const words[] = {"off", "words", "pages", "all"};
    return i < sizeof words / sizeof *words ? words[i] : NULL;
}

/* HANPMPI_NONBLOCKING. */
const char *hp_knob_word_nonblocking(unsigned i);
const char *hp_knob_word_nonblocking(unsigned i)
{
    static const char *const words[] = {"auto", "on", "off"};
    return i < sizeof words / sizeof *words ? words[i] : NULL;
}

hp_block_entries_t hp_collective_blocks(hp_collective_t collective, uint32_t root, uint32_t size,
                                        uint32_t rank)
{
    const hp_problem_t problem = {.pattern = hp_collective_pattern(collective), .count = size, .root = root};

    return (hp_block_entries_t){.send = hp_problem_blocks(&problem, 1, HP_SPACE_SEND, rank),
                                .recv = hp_problem_blocks(&problem, 1, HP_SPACE_RECV, rank)};
}
