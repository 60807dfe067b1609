#include "hier/call/inter_node.h"

#include <ctype.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "schedule/generators/generators.h"
#include "topo_tree/shape.h"

enum { SCRATCH_MAX = 64 };

/* The scratch blocks of a list, as a set; *others: are there blocks elsewhere? */
static uint64_t scratch_of(const hp_schedule_t *schedule, const hp_list_t *list, bool *others)
{
    uint64_t set = 0;

    *others = false;
    for (uint32_t i = 0; i < list->count; i++) {
        const hp_range_t *range = &schedule->ranges[list->first + i];
        *others |= range->space != HP_SPACE_SCRATCH && range->count > 0;
        for (uint32_t k = 0; k < range->count && range->space == HP_SPACE_SCRATCH; k++)
            set |= UINT64_C(1) << hp_range_block(range, k) % SCRATCH_MAX;
    }
    return set;
}

/* Is scratch used as the interpreter has it? What a message stores there is reduced into something once, on the spot, and is
 * not sent. *held: the blocks that hold what has come. */
static bool uses_scratch_well(const hp_schedule_t *schedule, const hp_step_t *step, uint32_t me,
                              uint64_t *held)
{
    const bool local = step->to == (int32_t)me, stores = step->action == HP_ACTION_STORE;
    bool sends_others, receives_others;
    const uint64_t sent = scratch_of(schedule, &step->send, &sends_others),
                   received = scratch_of(schedule, &step->recv, &receives_others);

    if (local && !stores) {
        const bool fine = !sends_others && !(sent & ~*held) && !(received & ~*held) && !(sent & received);
        *held &= ~sent;
        return fine;
    }
    *held |= received;
    return !sent && !(received && (local || !stores));
}

/* Is a message a vector, or a part of one? That is what there is room for. Without memory to find out: no. */
static bool is_of_one_vector(const hp_schedule_t *schedule, const hp_list_t *list)
{
    const uint32_t parts = schedule->cut > 1 ? schedule->cut : 1, blocks = hp_schedule_blocks(schedule, list);
    /* A bit for each part that is there. */
    uint64_t few = 0, *has = parts <= 64 ? &few : calloc(parts / 64 + 1, sizeof *has);
    bool once = has && blocks <= parts;

    for (uint32_t i = 0; i < list->count && once; i++) {
        const hp_range_t *range = &schedule->ranges[list->first + i];
        for (uint32_t k = 0; k < range->count && once; k++) {
            const uint32_t part = hp_range_block(range, k) % parts;
            once = !(has[part / 64] >> part % 64 & 1);
            has[part / 64] |= UINT64_C(1) << part % 64;
        }
    }
    if (has != &few)
        free(has);
    return once;
}

static bool is_plain(const hp_schedule_t *schedule, uint32_t me)
{
    bool plain = schedule->scratch_blocks <= SCRATCH_MAX;
    uint64_t held = 0;

    for (uint32_t i = 0; i < schedule->step_count && plain; i++)
        plain = !schedule->steps[i].sync && uses_scratch_well(schedule, &schedule->steps[i], me, &held);
    return plain;
}

/* Of patterns that have a vector. */
static bool is_plain_with_vector(const hp_schedule_t *schedule, uint32_t me)
{
    bool plain = is_plain(schedule, me);

    for (uint32_t i = 0; i < schedule->step_count && plain; i++)
        plain = is_of_one_vector(schedule, &schedule->steps[i].send) &&
                is_of_one_vector(schedule, &schedule->steps[i].recv);
    return plain;
}

/* Collectives of blocks run any schedule (collectives/exchange.h). */
enum {
    OF_BLOCKS = HP_SERVES(ALLGATHER) | HP_SERVES(REDUCE_SCATTER) | HP_SERVES(ALLTOALL) | HP_SERVES(GATHER) |
                HP_SERVES(SCATTER) | HP_SERVES(SCAN) | HP_SERVES(EXSCAN)
};

bool hp_inter_node_runs(const hp_generator_t *generator, hp_pattern_t pattern)
{
    return hp_generator_holds_for_few(generator, pattern,
                                      OF_BLOCKS & 1u << pattern ? is_plain : is_plain_with_vector);
}

static unsigned can_run[HP_INTER_NODE_FILES]; /* sets of patterns */

static void collect_patterns(void)
{
    static const hp_pattern_t whole[] = {HP_PATTERN_BCAST, HP_PATTERN_ALLREDUCE};

    for (unsigned i = HP_INTER_NODE_tree + 1; i < HP_INTER_NODE_FILES; i++) {
        can_run[i] = hp_generator(i - HP_INTER_NODE_tree - 1)->patterns & OF_BLOCKS;
        for (unsigned k = 0; k < sizeof whole / sizeof *whole; k++)
            if (hp_inter_node_runs(hp_generator(i - HP_INTER_NODE_tree - 1), whole[k]))
                can_run[i] |= 1u << whole[k];
    }
}

/* ---- from files ---- */

typedef struct {
    char name[HP_INTER_NODE_NAME_BYTES];
    const hp_generator_t *generator; /* NULL: an empty slot */
} file_t;

static file_t files[HP_INTER_NODE_FILES_MAX];
static unsigned file_count;

/* NULL: it is none of them. */
static const file_t *file_of(hp_inter_node_t inter_node)
{
    const unsigned i = (unsigned)inter_node - HP_INTER_NODE_FILES;
    return inter_node >= HP_INTER_NODE_FILES && i < file_count ? &files[i] : NULL;
}

static bool can_be_word(const char *name)
{
    const size_t length = strlen(name);
    bool can = length > 0 && length < HP_INTER_NODE_NAME_BYTES && strcmp(name, "auto") != 0 &&
               strcmp(name, "tree") != 0 && !hp_generator_find(name);

    for (size_t i = 0; i < length && can; i++)
        can = isalnum((unsigned char)name[i]) || strchr("_-.", name[i]);
    return can;
}

hp_inter_node_t hp_inter_node_add(const char *name)
{
    unsigned i = 0;

    while (i < file_count && strcmp(files[i].name, name) != 0)
        i++;
    if (i == HP_INTER_NODE_FILES_MAX || !can_be_word(name))
        return HP_INTER_NODE_NONE;
    if (i == file_count) {
        snprintf(files[i].name, sizeof files[i].name, "%s", name);
        files[file_count++].generator = NULL;
    }
    return (hp_inter_node_t)(HP_INTER_NODE_FILES + i);
}

void hp_inter_node_fill(hp_inter_node_t slot, const hp_generator_t *generator)
{
    if (file_of(slot))
        files[slot - HP_INTER_NODE_FILES].generator = generator;
}

void hp_inter_node_no_files(void)
{
    file_count = 0;
}

const char *hp_inter_node_refusal(const hp_generator_t *generator)
{
    const hp_problem_t *problem = generator->problem;
    const bool is_bcast = problem->pattern == HP_PATTERN_BCAST;

    if (OF_BLOCKS & 1u << problem->pattern && problem->root == 0)
        return NULL;
    if (!is_bcast && problem->pattern != HP_PATTERN_ALLREDUCE)
        return "nodes are joined by a bcast, an allreduce or a collective of blocks with root 0";
    if (problem->root != 0)
        return "nodes are joined by schedules with root 0";
    for (uint32_t p = 0; p < problem->count; p++) {
        const hp_schedule_t *schedule = &generator->schedules[p];
        if (!is_plain_with_vector(schedule, p))
            return "nodes are joined by schedules without sync steps, of messages of a vector at most, "
                   "and with scratch only for what comes until it is reduced";
        for (uint32_t i = 0; i < schedule->step_count && is_bcast && p == 0; i++)
            if (schedule->steps[i].from >= 0)
                return "nodes are joined by bcasts whose root receives nothing";
    }
    return NULL;
}

/* ---- what there is ---- */

/* The collectives that a generator is run for. Barriers are a dissemination. Two trees take turns in all of them; through
 * the others a segment goes as a whole, where the interpreter (modules/schedule_steps.h) can do that. */
static unsigned patterns_of(hp_inter_node_t inter_node, const hp_generator_t *generator)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const unsigned trees = HP_SERVES(BCAST) | HP_SERVES(REDUCE) | HP_SERVES(ALLREDUCE);

    if (inter_node == HP_INTER_NODE_double_tree)
        return generator->patterns & trees;
    pthread_once(&once, collect_patterns);
    return inter_node < HP_INTER_NODE_FILES ? can_run[inter_node] : generator->patterns;
}

const hp_generator_t *hp_inter_node_generator(hp_inter_node_t inter_node)
{
    if (inter_node <= HP_INTER_NODE_tree)
        return NULL;
    if (inter_node >= HP_INTER_NODE_FILES)
        return file_of(inter_node) ? file_of(inter_node)->generator : NULL;

    const hp_generator_t *generator = hp_generator((unsigned)inter_node - HP_INTER_NODE_tree - 1);
    /* A tree of a shape is the tree, and the shape. */
    return hp_shape_find(generator->name) == HP_SHAPE_COUNT && patterns_of(inter_node, generator) ? generator
                                                                                                  : NULL;
}

bool hp_inter_node_is_placed(hp_inter_node_t inter_node, hp_collective_t collective)
{
    const hp_generator_t *generator = hp_inter_node_generator(inter_node);
    return generator && generator->placed & 1u << hp_collective_pattern(collective);
}

const hp_generator_t *hp_inter_node_tree(hp_shape_t shape)
{
    static const hp_generator_t *const trees[] = {
#define X(id, name, text) [HP_SHAPE_##id] = &hp_generator_##name,
        HP_SHAPE_TABLE(X)
#undef X
    };
    return trees[shape];
}

bool hp_inter_node_is_tree(hp_inter_node_t inter_node)
{
    return inter_node == HP_INTER_NODE_double_tree || !hp_inter_node_generator(inter_node);
}

bool hp_inter_node_is_word(hp_inter_node_t inter_node)
{
    return inter_node <= HP_INTER_NODE_tree || hp_inter_node_generator(inter_node) || file_of(inter_node);
}

hp_inter_node_t hp_inter_node(unsigned word)
{
    unsigned i = HP_INTER_NODE_auto;

    for (; i < HP_INTER_NODE_NONE; i++)
        if (hp_inter_node_is_word((hp_inter_node_t)i) && word-- == 0)
            break;
    return (hp_inter_node_t)i;
}

unsigned hp_inter_node_word(hp_inter_node_t inter_node)
{
    unsigned word = 0;

    while (hp_inter_node(word) < inter_node) /* in ascending order */
        word++;
    return word;
}

const char *hp_inter_node_name(hp_inter_node_t inter_node)
{
    const hp_generator_t *generator = hp_inter_node_generator(inter_node);
    const file_t *file = file_of(inter_node);

    return file        ? file->name
           : generator ? generator->name
                       : (inter_node == HP_INTER_NODE_auto ? "auto" : "tree");
}

const char *hp_inter_node_description(hp_inter_node_t inter_node)
{
    const hp_generator_t *generator = hp_inter_node_generator(inter_node);

    if (generator)
        return generator->text;
    if (file_of(inter_node))
        return "the tree: its file cannot be used";
    return inter_node == HP_INTER_NODE_auto
               ? "as the rules say"
               : "the tree of the shape that is set for the level node, segment after segment";
}

bool hp_inter_node_serves(hp_inter_node_t inter_node, hp_collective_t collective)
{
    const hp_generator_t *generator = hp_inter_node_generator(inter_node);
    return !generator || patterns_of(inter_node, generator) & 1u << hp_collective_pattern(collective);
}

bool hp_inter_node_problem(hp_inter_node_t inter_node, hp_collective_t collective, uint32_t nodes,
                           bool ordered, const struct hp_placement *placement, hp_problem_t *problem)
{
    const hp_generator_t *generator = hp_inter_node_generator(inter_node);

    if (!generator || !hp_inter_node_serves(inter_node, collective))
        return false;
    *problem = (hp_problem_t){.pattern = hp_collective_pattern(collective),
                              .count = nodes,
                              .ordered = ordered,
                              .placement = placement};
    hp_generator_usual(generator, problem);
    return hp_generator_serves(generator, problem, NULL, 0);
}

/* The words of the knob; knobs.def names this function. */
const char *hp_knob_word_between_nodes(unsigned i);
const char *hp_knob_word_between_nodes(unsigned i)
{
    const hp_inter_node_t inter_node = hp_inter_node(i);
    return inter_node == HP_INTER_NODE_NONE ? NULL : hp_inter_node_name(inter_node);
}
