#include "hier/planning/explain.h"

#include <jansson.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/words.h"
#include "hier/call/stats.h"
#include "hier/planning/model/model_blocks.h"

typedef struct row {
    hp_layout_t layout;
    hp_collective_t collective;
    unsigned number; /* of the bin */
    unsigned communicators;
    hp_bin_t bin;
    double bound_us; /* 0: not known */
    struct row *next;
} row_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the two below */
static row_t *rows;                                      /* in the order of layout, collective, bin */
static bool lacks_memory;

enum { TEXT_BYTES = 160 };

/* ---- words ---- */

static const char *bin_text(unsigned number, char *text, size_t room)
{
    char size[24];
    if (number == 0)
        snprintf(text, room, "0 B");
    else
        snprintf(text, room, "from %s", hp_word_size(1ull << (number - 1), size, sizeof size));
    return text;
}

static const char *layout_text(const hp_layout_t *layout, char *text, size_t room)
{
    const char *sharing = layout->most_ranks == 1 || layout->shares_memory ? "" : ", no shared memory";
    if (layout->least_ranks == layout->most_ranks)
        snprintf(text, room, "%u node%s of %u rank%s%s", layout->nodes, layout->nodes > 1 ? "s" : "",
                 layout->most_ranks, layout->most_ranks > 1 ? "s" : "", sharing);
    else
        snprintf(text, room, "%u nodes of %u to %u ranks%s", layout->nodes, layout->least_ranks,
                 layout->most_ranks, sharing);
    return text;
}

/* What takes the place of a module that the ranks of the nodes cannot use (hp_module_choose). */
static hp_module_id_t inside(const hp_setting_t *setting, const hp_layout_t *layout)
{
    hp_module_id_t module = (hp_module_id_t)setting->modules.module[HP_LEVEL_CORE];
    if (module == HP_MODULE_SINGLE_COPY && !layout->reads_peers)
        module = HP_MODULE_SHM;
    return module == HP_MODULE_SHM && !layout->shares_memory ? HP_MODULE_P2P : module;
}

static __attribute__((format(printf, 3, 4))) void append(char *text, size_t room, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text + used, room - used, format, arguments);
    va_end(arguments);
}

/* What joins the nodes: the tree where the word has nothing for it. */
static const char *joins(const hp_setting_t *s, hp_collective_t collective, const hp_layout_t *layout)
{
    hp_problem_t problem;

    if (s->modules.module[HP_LEVEL_NODE] != HP_MODULE_P2P)
        return hp_module_name((hp_module_id_t)s->modules.module[HP_LEVEL_NODE]);
    return hp_inter_node_problem(s->inter_node, collective, layout->nodes, false, &problem)
               ? hp_inter_node_name(s->inter_node)
               : hp_shape_info(s->shapes.shape[HP_LEVEL_NODE])->name;
}

/* Of a collective of blocks: what its schedule is made by; blocks are not cut. */
static void append_schedule(char *text, size_t room, const hp_candidate_t *candidate,
                            hp_collective_t collective, const hp_layout_t *layout)
{
    const hp_setting_t *s = &candidate->setting;
    hp_model_blocks_schedule_t schedule;

    if (hp_collective_is(collective, HP_OWN_SIZES) || /* which depends on the blocks */
        !hp_model_blocks_schedule(layout, candidate->algorithm, s, &schedule)) {
        append(text, room, ", %s", joins(s, collective, layout));
        return;
    }
    append(text, room, ", %s", schedule.generator->name);
    if (schedule.has_inside)
        append(text, room, ", %s inside", hp_shape_info(s->shapes.shape[HP_LEVEL_CORE])->name);
    if (schedule.all_lead)
        append(text, room, ", all lead");
}

const char *hp_explain_candidate(const hp_candidate_t *candidate, hp_collective_t collective,
                                 const hp_layout_t *layout, char *text, size_t room)
{
    const hp_setting_t *s = &candidate->setting;
    char size[24];

    if (!candidate->algorithm) {
        snprintf(text, room, candidate->mockup ? "mock-up: %s" : "the host MPI", candidate->mockup);
        return text;
    }
    snprintf(text, room, "%s", candidate->algorithm->name);
    if (candidate->algorithm->traits & HP_TRAIT_SCHEDULE)
        append_schedule(text, room, candidate, collective, layout);
    if (candidate->algorithm->traits & HP_TRAIT_FLAGS || hp_collective_is(collective, HP_OF_BLOCKS))
        return text;
    if (layout->nodes > 1)
        append(text, room, ", %s", joins(s, collective, layout));
    if (layout->most_ranks > 1 && candidate->algorithm->traits & HP_TRAIT_PIPELINED)
        append(text, room, ", %s", hp_module_name(inside(s, layout)));
    if (collective == HP_BARRIER)
        return text;
    append(text, room, ", %s", hp_word_size(s->segment_bytes, size, sizeof size));
    if (collective == HP_ALLREDUCE && s->trees > 1 && layout->nodes > 1)
        append(text, room, ", %u trees", s->trees < layout->nodes ? s->trees : layout->nodes);
    if (s->leaders > 1 && layout->most_ranks > 1)
        append(text, room, ", %u leaders", s->leaders < layout->most_ranks ? s->leaders : layout->most_ranks);
    if (s->ib_segment_bytes && collective != HP_REDUCE)
        append(text, room, ", ib %s", hp_word_size(s->ib_segment_bytes, size, sizeof size));
    if (s->ir_segment_bytes && collective != HP_BCAST)
        append(text, room, ", ir %s", hp_word_size(s->ir_segment_bytes, size, sizeof size));
    return text;
}

/* ---- what a run came to ---- */

/* Settled or not: what would run next. */
static unsigned chosen_slot(const hp_bin_t *bin)
{
    return bin->guard.open || !(bin->candidates.offered & (1u << bin->guard.chosen)) ? HP_SLOT_RULE
                                                                                     : bin->guard.chosen;
}

static bool was_tried(const hp_bin_t *bin)
{
    return (bin->guard.offered & (bin->guard.offered - 1)) && bin->guard.expected_us[HP_SLOT_RULE] >= 0;
}

static hp_decider_t decider_of(const hp_bin_t *bin)
{
    if (bin->guard.is_found)
        return HP_DECIDER_WISDOM;
    return was_tried(bin) && !bin->guard.open ? HP_DECIDER_GUARD : bin->candidates.slot[chosen_slot(bin)].by;
}

/* On this rank, over all calls; < 0: none. */
static double mean_us(const hp_bin_t *bin, unsigned slot)
{
    return bin->calls[slot] ? bin->us[slot] / (double)bin->calls[slot] : -1;
}

/* What the guard measured, or else the mean. */
static double measured_us(const hp_bin_t *bin, unsigned slot)
{
    return was_tried(bin) && bin->guard.expected_us[slot] >= 0 ? bin->guard.expected_us[slot]
                                                               : mean_us(bin, slot);
}

static uint64_t all_calls(const hp_bin_t *bin)
{
    uint64_t calls = 0;
    for (unsigned slot = 0; slot < HP_SLOTS; slot++)
        calls += bin->calls[slot];
    return calls;
}

static int compare_layouts(const hp_layout_t *a, const hp_layout_t *b)
{
    if (a->nodes != b->nodes)
        return a->nodes < b->nodes ? -1 : 1;
    if (a->most_ranks != b->most_ranks)
        return a->most_ranks < b->most_ranks ? -1 : 1;
    if (a->least_ranks != b->least_ranks)
        return a->least_ranks < b->least_ranks ? -1 : 1;
    return a->shares_memory - b->shares_memory;
}

static int compare(const row_t *a, const row_t *b)
{
    const int layouts = compare_layouts(&a->layout, &b->layout);
    if (layouts)
        return layouts;
    if (a->collective != b->collective)
        return a->collective < b->collective ? -1 : 1;
    return a->number == b->number ? 0 : a->number < b->number ? -1 : 1;
}

/* Was the same chosen, from the same? */
static bool is_alike(const hp_bin_t *a, const hp_bin_t *b)
{
    bool alike = chosen_slot(a) == chosen_slot(b) && decider_of(a) == decider_of(b) &&
                 a->candidates.offered == b->candidates.offered;
    for (unsigned slot = 0; slot < HP_SLOTS && alike; slot++)
        alike = !(a->candidates.offered & (1u << slot)) ||
                (a->candidates.slot[slot].algorithm == b->candidates.slot[slot].algorithm &&
                 hp_setting_same(&a->candidates.slot[slot].setting, &b->candidates.slot[slot].setting));
    return alike;
}

static void put_together(row_t *row, const hp_bin_t *bin)
{
    row->communicators++;
    for (unsigned slot = 0; slot < HP_SLOTS; slot++) {
        row->bin.calls[slot] += bin->calls[slot];
        row->bin.us[slot] += bin->us[slot];
    }
    row->bin.guard.reopened += bin->guard.reopened;
    row->bin.agreements += bin->agreements;
    row->bin.agreements_us += bin->agreements_us;
}

static void keep_bin(void *context, hp_collective_t collective, unsigned number, const hp_bin_t *bin)
{
    const hp_comm_t *comm = context;
    const uint64_t bytes = number ? 1ull << (number - 1) : 0;
    row_t like = {.layout = hp_comm_layout(comm), .collective = collective, .number = number};
    row_t **place = &rows;

    if (!all_calls(bin))
        return;
    while (*place && compare(*place, &like) < 0)
        place = &(*place)->next;
    for (row_t *row = *place; row && compare(row, &like) == 0; row = row->next)
        if (is_alike(&row->bin, bin)) {
            put_together(row, bin);
            return;
        }
    row_t *row = malloc(sizeof *row);
    if (!row) {
        lacks_memory = true;
        return;
    }
    like.communicators = 1;
    like.bin = *bin;
    like.bound_us = hp_model_bound_us(&comm->probes, &like.layout, collective, bytes);
    like.next = *place;
    *row = like;
    *place = row;
}

void hp_explain_keep(const hp_comm_t *comm)
{
    pthread_mutex_lock(&lock);
    hp_select_each(comm, keep_bin, (void *)comm);
    pthread_mutex_unlock(&lock);
}

void hp_explain_fini(void)
{
    while (rows) {
        row_t *row = rows;
        rows = row->next;
        free(row);
    }
    lacks_memory = false;
}

/* ---- the table ---- */

static const char *us_text(double us, char *text, size_t room)
{
    if (us < 0)
        snprintf(text, room, "-");
    else
        snprintf(text, room, us < 10 ? "%.2f" : us < 1000 ? "%.1f" : "%.0f", us);
    return text;
}

/* Why a slot was not chosen. */
static const char *rejection(const hp_bin_t *bin, unsigned slot, char *text, size_t room)
{
    char us[24];
    if (bin->guard.open)
        snprintf(text, room, "still being measured");
    else if (bin->guard.expected_us[slot] >= 0)
        snprintf(text, room, "measured %s us", us_text(bin->guard.expected_us[slot], us, sizeof us));
    else
        snprintf(text, room, "not tried");
    return text;
}

static void print_row(FILE *out, const row_t *row)
{
    const hp_bin_t *bin = &row->bin;
    const unsigned chosen = chosen_slot(bin);
    const hp_candidate_t *candidate = &bin->candidates.slot[chosen];
    const double measured = measured_us(bin, chosen);
    char size[32], what[TEXT_BYTES], expected[24], took[24], share[24] = "-", why[64];

    hp_explain_candidate(candidate, row->collective, &row->layout, what, sizeof what);
    if (row->bound_us > 0 && measured > 0)
        snprintf(share, sizeof share, "%.2f", row->bound_us / measured);
    fprintf(out, "  %-10s %-13s %9llu  %-42s %-6s %9s %9s %6s\n", hp_collective_name(row->collective),
            bin_text(row->number, size, sizeof size), (unsigned long long)all_calls(bin), what,
            hp_decider_word(decider_of(bin)), us_text(candidate->expected_us, expected, sizeof expected),
            us_text(measured, took, sizeof took), share);
    for (unsigned slot = 0; slot < HP_SLOTS; slot++) {
        const hp_candidate_t *other = &bin->candidates.slot[slot];
        if (slot == chosen || !(bin->candidates.offered & (1u << slot)))
            continue;
        hp_explain_candidate(other, row->collective, &row->layout, what, sizeof what);
        fprintf(out, "  %-10s %-13s %9llu  not %s: %s\n", "", "", (unsigned long long)bin->calls[slot], what,
                rejection(bin, slot, why, sizeof why));
    }
}

static void print_outcomes(FILE *out)
{
    for (unsigned c = 0; c < HP_COLLECTIVE_COUNT; c++) {
        const char *name = hp_collective_name((hp_collective_t)c);
        for (unsigned outcome = HP_OUTCOME_TAKEN + 1; outcome < HP_OUTCOME_COUNT; outcome++) {
            const uint64_t calls = hp_stats_outcome((hp_collective_t)c, (hp_outcome_t)outcome);
            if (calls)
                fprintf(out, "  %-10s passed through %llu times: %s\n", name, (unsigned long long)calls,
                        hp_outcome_text((hp_outcome_t)outcome));
        }
    }
}

/* What the guard's questions have cost: calls of what was not chosen, as far as they took longer, and the
 * agreements. */
typedef struct {
    uint64_t calls, agreements;
    double us;
} guard_cost_t;

static guard_cost_t guard_cost(void)
{
    guard_cost_t cost = {0, 0, 0};

    for (const row_t *row = rows; row; row = row->next) {
        const unsigned chosen = chosen_slot(&row->bin);
        const double usual_us = mean_us(&row->bin, chosen);
        cost.agreements += row->bin.agreements;
        cost.us += row->bin.agreements_us;
        for (unsigned slot = 0; slot < HP_SLOTS; slot++) {
            const double more_us = mean_us(&row->bin, slot) - usual_us;
            if (slot == chosen || !row->bin.calls[slot])
                continue;
            cost.calls += row->bin.calls[slot];
            if (usual_us >= 0 && more_us > 0)
                cost.us += more_us * (double)row->bin.calls[slot];
        }
    }
    return cost;
}

void hp_explain_print(FILE *out, unsigned rank, double run_seconds)
{
    const guard_cost_t cost = guard_cost();
    char text[96];
    const row_t *before = NULL;

    fprintf(out,
            "hanpmpi: what ran, and why. Calls of rank %u; microseconds: expected by the model, measured by "
            "the guard on the\n"
            "slowest rank, else the mean of rank %u; of bound: share of the least time that is possible\n",
            rank, rank);
    for (const row_t *row = rows; row; before = row, row = row->next) {
        if (!before || compare_layouts(&before->layout, &row->layout))
            fprintf(out, "  -- communicators of %s\n  %-10s %-13s %9s  %-42s %-6s %9s %9s %6s\n",
                    layout_text(&row->layout, text, sizeof text), "collective", "bytes", "calls", "runs",
                    "by", "expected", "measured", "bound");
        print_row(out, row);
    }
    print_outcomes(out);
    if (cost.agreements)
        fprintf(out,
                "  The guard made %llu calls with what was not chosen, and the ranks agreed %llu times: %.2f "
                "ms in all, "
                "%.3f%% of the run\n",
                (unsigned long long)cost.calls, (unsigned long long)cost.agreements, cost.us / 1000,
                cost.us / run_seconds / 1e4);
    if (lacks_memory)
        fprintf(out, "  some communicators are missing: no memory\n");
}

/* ---- JSON ---- */

static void put_us(json_t *object, const char *key, double us)
{
    if (us >= 0)
        json_object_set_new(object, key, json_real(us));
}

static json_t *candidate_json(const row_t *row, unsigned slot)
{
    const hp_candidate_t *candidate = &row->bin.candidates.slot[slot];
    char what[TEXT_BYTES];
    json_t *object = json_object();

    json_object_set_new(object, "algorithm",
                        json_string(candidate->algorithm ? candidate->algorithm->name
                                    : candidate->mockup  ? "mockup"
                                                         : "native"));
    json_object_set_new(
        object, "what",
        json_string(hp_explain_candidate(candidate, row->collective, &row->layout, what, sizeof what)));
    json_object_set_new(object, "from", json_string(hp_decider_word(candidate->by)));
    if (candidate->line)
        json_object_set_new(object, "line", json_integer(candidate->line));
    if (candidate->algorithm)
        json_object_set_new(object, "segment_bytes",
                            json_integer((json_int_t)candidate->setting.segment_bytes));
    json_object_set_new(object, "calls", json_integer((json_int_t)row->bin.calls[slot]));
    put_us(object, "expected_us", candidate->expected_us);
    put_us(object, "guard_us", was_tried(&row->bin) ? row->bin.guard.expected_us[slot] : -1);
    put_us(object, "mean_us", mean_us(&row->bin, slot));
    json_object_set_new(object, "chosen", json_boolean(slot == chosen_slot(&row->bin)));
    return object;
}

static json_t *row_json(const row_t *row)
{
    const hp_layout_t *layout = &row->layout;
    json_t *candidates = json_array();

    for (unsigned slot = 0; slot < HP_SLOTS; slot++)
        if (row->bin.candidates.offered & (1u << slot))
            json_array_append_new(candidates, candidate_json(row, slot));
    json_t *object =
        json_pack("{s:{s:i,s:[i,i],s:b},s:i,s:s,s:[I,I],s:s,s:b,s:i,s:o}", "layout", "nodes",
                  (int)layout->nodes, "ranks_per_node", (int)layout->least_ranks, (int)layout->most_ranks,
                  "shares_memory", (int)layout->shares_memory, "communicators", (int)row->communicators,
                  "collective", hp_collective_name(row->collective), "bytes",
                  (json_int_t)(row->number ? 1ull << (row->number - 1) : 0),
                  (json_int_t)(row->number ? (1ull << (row->number - 1)) * 2 - 1 : 0), "by",
                  hp_decider_word(decider_of(&row->bin)), "settled", (int)!row->bin.guard.open, "reopened",
                  (int)row->bin.guard.reopened, "candidates", candidates);
    if (object)
        put_us(object, "bound_us", row->bound_us > 0 ? row->bound_us : -1);
    return object;
}

static json_t *outcomes_json(void)
{
    json_t *all = json_object();

    for (unsigned c = 0; c < HP_COLLECTIVE_COUNT; c++) {
        json_t *of_one = json_object();
        for (unsigned outcome = 0; outcome < HP_OUTCOME_COUNT; outcome++)
            json_object_set_new(
                of_one, hp_outcome_word((hp_outcome_t)outcome),
                json_integer((json_int_t)hp_stats_outcome((hp_collective_t)c, (hp_outcome_t)outcome)));
        json_object_set_new(all, hp_collective_name((hp_collective_t)c), of_one);
    }
    return all;
}

bool hp_explain_write(FILE *out, unsigned rank, double run_seconds)
{
    const guard_cost_t cost = guard_cost();
    json_t *list = json_array();

    for (const row_t *row = rows; row; row = row->next)
        json_array_append_new(list, row_json(row));
    json_t *document = json_pack("{s:s,s:s,s:i,s:f,s:{s:I,s:I,s:f},s:o,s:o}", "program", "hanpmpi", "version",
                                 HANPMPI_VERSION, "rank", (int)rank, "seconds", run_seconds, "guard", "calls",
                                 (json_int_t)cost.calls, "agreements", (json_int_t)cost.agreements, "us",
                                 cost.us, "selections", list, "outcomes", outcomes_json());
    if (!document)
        return false;
    const bool written = json_dumpf(document, out, JSON_INDENT(1)) == 0 && fputc('\n', out) != EOF;
    json_decref(document);
    return written;
}

/* ---- before a run ---- */

void hp_explain_ahead(FILE *out, const hp_situation_t *situation, hp_collective_t collective, uint64_t bytes)
{
    static const char *const roles[HP_SLOTS] = {[HP_SLOT_RULE] = "runs",
                                                [HP_SLOT_NATIVE] = "against",
                                                [HP_SLOT_MODEL] = "and",
                                                [HP_SLOT_MOCKUP] = "and"};
    const hp_layout_t *layout = &situation->layout;
    hp_candidates_t candidates;
    char text[TEXT_BYTES], size[24], us[24];

    hp_candidates_find(situation, collective, bytes, &candidates);
    fprintf(out, "%s of %s on %s\n", hp_collective_name(collective), hp_word_size(bytes, size, sizeof size),
            layout_text(layout, text, sizeof text));
    for (unsigned slot = 0; slot < HP_SLOTS; slot++) {
        const hp_candidate_t *candidate = &candidates.slot[slot];
        if (!(candidates.offered & (1u << slot)))
            continue;
        fprintf(out, "  %-8s %-42s %s", roles[slot],
                hp_explain_candidate(candidate, collective, layout, text, sizeof text),
                candidate->by == HP_DECIDER_GUARD ? "tried beside it by the guard"
                                                  : hp_decider_text(candidate->by));
        if (candidate->line)
            fprintf(out, ", line %u", candidate->line);
        if (candidate->expected_us >= 0)
            fprintf(out, "; expected: %s us", us_text(candidate->expected_us, us, sizeof us));
        fputc('\n', out);
    }
    const double bound =
        situation->probes ? hp_model_bound_us(situation->probes, layout, collective, bytes) : 0;
    if (bound > 0)
        fprintf(out, "  the least time that is possible: %s us\n", us_text(bound, us, sizeof us));
    if (candidates.offered & (candidates.offered - 1))
        fprintf(out, "  The guard tries these in the first calls of a communicator and keeps the fastest; "
                     "HANPMPI_GUARD=0 keeps the first.\n");
}
