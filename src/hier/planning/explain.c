#include "hier/planning/explain.h"

#include <jansson.h>
#include <stdarg.h>
#include <string.h>
#include "base/words.h"
#include "hier/call/stats.h"
#include "hier/modules/leader_rounds.h"
#include "hier/planning/arrival.h"
#include "hier/planning/kept.h"
#include "hier/planning/model/model_blocks.h"

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

/* The network of a communicator that is gone is not there any more: what was made for one ran there, if it was chosen. */
static bool ran_placed(const hp_setting_t *s, hp_collective_t collective, const hp_layout_t *layout)
{
    return layout->network_hash && !layout->network && hp_inter_node_is_placed(s->inter_node, collective);
}

/* What joins the nodes: the tree where the word has nothing for it. */
static const char *joins(const hp_setting_t *s, hp_collective_t collective, const hp_layout_t *layout)
{
    hp_problem_t problem;

    if (s->modules.module[HP_LEVEL_NODE] != HP_MODULE_P2P)
        return hp_module_name((hp_module_id_t)s->modules.module[HP_LEVEL_NODE]);
    if (collective == HP_BARRIER)
        return "dissemination";
    if (ran_placed(s, collective, layout))
        return hp_inter_node_name(s->inter_node);
    return hp_inter_node_problem(s->inter_node, collective, layout->nodes, false,
                                 layout->network ? &layout->network->places : NULL, &problem)
               ? hp_inter_node_name(s->inter_node)
               : hp_shape_info(s->shapes.shape[HP_LEVEL_NODE])->name;
}

/* Of what is not cut into segments: what its schedule is made by. */
static void append_schedule(char *text, size_t room, const hp_candidate_t *candidate,
                            hp_collective_t collective, const hp_layout_t *layout)
{
    const hp_setting_t *s = &candidate->setting;
    hp_model_blocks_schedule_t schedule;

    if (ran_placed(s, collective, layout) ||
        hp_collective_is(collective, HP_OWN_SIZES) || /* which depends on the blocks */
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
    if (!(candidate->algorithm->traits & HP_TRAIT_PIPELINED))
        return text;
    if (layout->nodes > 1)
        append(text, room, ", %s", joins(s, collective, layout));
    if (layout->most_ranks > 1)
        append(text, room, ", %s", hp_module_name(inside(s, layout)));
    if (collective == HP_BARRIER && hp_leader_rounds_of(layout->nodes, layout->least_ranks, s).count)
        append(text, room, ", all lead");
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

/* ---- the table ---- */

/* What the guard measured, or else the mean. */
static double measured_us(const hp_bin_t *bin, unsigned slot)
{
    return hp_kept_was_tried(bin) && bin->guard.took[slot].median >= 0 ? bin->guard.took[slot].median
                                                                       : hp_kept_mean_us(bin, slot);
}

static uint64_t all_calls(const hp_bin_t *bin)
{
    uint64_t calls = 0;
    for (unsigned slot = 0; slot < HP_SLOTS; slot++)
        calls += bin->calls[slot];
    return calls;
}

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
    else if (bin->guard.took[slot].median >= 0)
        snprintf(text, room, "measured %s us", us_text(bin->guard.took[slot].median, us, sizeof us));
    else
        snprintf(text, room, "not tried");
    return text;
}

static void print_row(FILE *out, const hp_kept_t *row)
{
    const hp_bin_t *bin = &row->bin;
    const unsigned chosen = hp_kept_chosen(bin);
    const hp_candidate_t *candidate = &bin->candidates.slot[chosen];
    const double measured = measured_us(bin, chosen);
    char size[32], what[TEXT_BYTES], expected[24], took[24], share[24] = "-", why[64];

    hp_explain_candidate(candidate, row->collective, &row->layout, what, sizeof what);
    if (row->bound_us > 0 && measured > 0)
        snprintf(share, sizeof share, "%.2f", row->bound_us / measured);
    fprintf(out, "  %-10s %-13s %9llu  %-42s %-6s %9s %9s %6s\n", hp_collective_name(row->collective),
            bin_text(row->number, size, sizeof size), (unsigned long long)all_calls(bin), what,
            hp_decider_word(hp_kept_decider(bin)), us_text(candidate->expected_us, expected, sizeof expected),
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

void hp_explain_print(FILE *out, unsigned rank)
{
    char text[96];
    const hp_kept_t *before = NULL;

    fprintf(out,
            "hanpmpi: what ran, and why. Calls of rank %u; microseconds: expected by the model, measured by "
            "the guard on the\n"
            "slowest rank, else the mean of rank %u; of bound: share of the least time that is possible\n",
            rank, rank);
    for (const hp_kept_t *row = hp_kept_first(); row; before = row, row = row->next) {
        if (!before || hp_kept_compare_layouts(&before->layout, &row->layout))
            fprintf(out, "  -- communicators of %s\n  %-10s %-13s %9s  %-42s %-6s %9s %9s %6s\n",
                    layout_text(&row->layout, text, sizeof text), "collective", "bytes", "calls", "runs",
                    "by", "expected", "measured", "bound");
        print_row(out, row);
    }
    print_outcomes(out);
    if (hp_kept_lacks())
        fprintf(out, "  some communicators are missing: no memory\n");
}

/* ---- JSON ---- */

static void put_us(json_t *object, const char *key, double us)
{
    if (us >= 0)
        json_object_set_new(object, key, json_real(us));
}

static json_t *candidate_json(const hp_candidate_t *candidate, hp_collective_t collective,
                              const hp_layout_t *layout)
{
    char what[TEXT_BYTES];
    json_t *object = json_object();

    json_object_set_new(object, "algorithm",
                        json_string(candidate->algorithm ? candidate->algorithm->name
                                    : candidate->mockup  ? "mockup"
                                                         : "native"));
    json_object_set_new(object, "what",
                        json_string(hp_explain_candidate(candidate, collective, layout, what, sizeof what)));
    json_object_set_new(object, "from", json_string(hp_decider_word(candidate->by)));
    if (candidate->line)
        json_object_set_new(object, "line", json_integer(candidate->line));
    if (candidate->algorithm)
        json_object_set_new(object, "segment_bytes",
                            json_integer((json_int_t)candidate->setting.segment_bytes));
    put_us(object, "expected_us", candidate->expected_us);
    return object;
}

static json_t *slot_json(const hp_kept_t *row, unsigned slot)
{
    json_t *object = candidate_json(&row->bin.candidates.slot[slot], row->collective, &row->layout);

    json_object_set_new(object, "calls", json_integer((json_int_t)row->bin.calls[slot]));
    put_us(object, "guard_us", hp_kept_was_tried(&row->bin) ? row->bin.guard.took[slot].median : -1);
    put_us(object, "mean_us", hp_kept_mean_us(&row->bin, slot));
    json_object_set_new(object, "chosen", json_boolean(slot == hp_kept_chosen(&row->bin)));
    return object;
}

static json_t *layout_json(const hp_layout_t *layout)
{
    return json_pack("{s:i,s:[i,i],s:b}", "nodes", (int)layout->nodes, "ranks_per_node",
                     (int)layout->least_ranks, (int)layout->most_ranks, "shares_memory",
                     (int)layout->shares_memory);
}

static json_t *row_json(const hp_kept_t *row)
{
    json_t *candidates = json_array();

    for (unsigned slot = 0; slot < HP_SLOTS; slot++)
        if (row->bin.candidates.offered & (1u << slot))
            json_array_append_new(candidates, slot_json(row, slot));
    json_t *object =
        json_pack("{s:o,s:i,s:s,s:[I,I],s:s,s:b,s:i,s:o}", "layout", layout_json(&row->layout),
                  "communicators", (int)row->communicators, "collective", hp_collective_name(row->collective),
                  "bytes", (json_int_t)(row->number ? 1ull << (row->number - 1) : 0),
                  (json_int_t)(row->number ? (1ull << (row->number - 1)) * 2 - 1 : 0), "by",
                  hp_decider_word(hp_kept_decider(&row->bin)), "settled", (int)!row->bin.guard.open,
                  "reopened", (int)row->bin.guard.reopened, "candidates", candidates);
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

bool hp_explain_write(FILE *out, unsigned rank, const hp_savings_t *savings)
{
    json_t *list = json_array();

    for (const hp_kept_t *row = hp_kept_first(); row; row = row->next)
        json_array_append_new(list, row_json(row));
    json_t *document =
        json_pack("{s:s,s:s,s:i,s:f,s:o,s:o,s:o,s:o}", "program", "hanpmpi", "version", HANPMPI_VERSION,
                  "rank", (int)rank, "seconds", savings->run_seconds, "savings", hp_savings_json(savings),
                  "selections", list, "outcomes", outcomes_json(), "late", hp_arrival_json());
    if (!document)
        return false;
    const bool written = json_dumpf(document, out, JSON_INDENT(1)) == 0 && fputc('\n', out) != EOF;
    json_decref(document);
    return written;
}

/* ---- before a run ---- */

/* ---- before a run ---- */

/* 0: not known. */
static double bound_us(const hp_situation_t *situation, hp_collective_t collective, uint64_t bytes)
{
    return situation->probes ? hp_model_bound_us(situation->probes, &situation->layout, collective, bytes)
                             : 0;
}

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
    const double bound = bound_us(situation, collective, bytes);
    if (bound > 0)
        fprintf(out, "  the least time that is possible: %s us\n", us_text(bound, us, sizeof us));
    if (candidates.offered & (candidates.offered - 1))
        fprintf(out, "  The guard tries these in the first calls of a communicator and keeps the fastest; "
                     "HANPMPI_GUARD=0 keeps the first.\n");
}

json_t *hp_explain_ahead_json(const hp_situation_t *situation, hp_collective_t collective, uint64_t bytes)
{
    const double bound = bound_us(situation, collective, bytes);
    hp_candidates_t candidates;
    json_t *list = json_array();

    hp_candidates_find(situation, collective, bytes, &candidates);
    for (unsigned slot = 0; slot < HP_SLOTS; slot++) {
        if (!(candidates.offered & (1u << slot)))
            continue;
        json_t *object = candidate_json(&candidates.slot[slot], collective, &situation->layout);
        json_object_set_new(object, "runs", json_boolean(slot == HP_SLOT_RULE));
        json_array_append_new(list, object);
    }
    json_t *object =
        json_pack("{s:o,s:s,s:I,s:o}", "layout", layout_json(&situation->layout), "collective",
                  hp_collective_name(collective), "bytes", (json_int_t)bytes, "candidates", list);
    if (object)
        put_us(object, "bound_us", bound > 0 ? bound : -1);
    return object;
}
