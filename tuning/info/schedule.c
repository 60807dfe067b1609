#include "schedule.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/knobs.h"
#include "hier/call/inter_node_files.h"
#include "json.h"
#include "schedule/catalog/problem_text.h"
#include "schedule/picture/draw.h"
#include "schedule/file.h"
#include "schedule/picture/rounds.h"
#include "schedule/verify.h"
#include "schedule_cost.h"
#include "tables.h"

/* What a text shows of schedules. */
enum { STEPS_SHOWN = 24, BLOCKS_BYTES = 24 };

/* What was asked for, made. */
typedef struct {
    const info_schedule_t *asked;
    hp_problem_t problem;
    const hp_problem_lent_t *lent; /* NULL: of a file of schedules */
    const hp_generator_t *generator;
    hp_schedule_t *schedules;
    char title[512];
} made_t;

void info_read_catalog(hp_catalog_t *catalog)
{
    hp_knobs_t knobs;

    hp_knobs_read(&knobs, NULL, info_print_problem, NULL);
    hp_catalog_init(catalog);
    if (knobs.schedules[0])
        hp_catalog_read(catalog, knobs.schedules, info_print_problem, NULL);
}

static void ignore_problem(void *context, const char *line)
{
    (void)context;
    (void)line;
}

void info_use_schedules(bool says)
{
    static hp_catalog_t catalog;
    hp_knobs_t knobs;

    hp_inter_node_ahead();
    hp_knobs_read(&knobs, NULL, NULL, NULL);
    if (!knobs.schedules[0])
        return;
    const hp_catalog_problem_fn_t problem = says ? info_print_problem : ignore_problem;
    hp_catalog_init(&catalog);
    hp_catalog_read(&catalog, knobs.schedules, problem, NULL);
    hp_inter_node_take(&catalog, knobs.schedules, problem, NULL);
}

/* ---- as text ---- */

static uint32_t sent_by(const hp_schedule_t *schedule, uint32_t position)
{
    uint32_t blocks = 0;

    for (uint32_t i = 0; i < schedule->step_count; i++)
        if (schedule->steps[i].to >= 0 && schedule->steps[i].to != (int32_t)position)
            blocks += hp_schedule_blocks(schedule, &schedule->steps[i].send);
    return blocks;
}

static void print_summary(const made_t *made, const hp_rounds_t *rounds)
{
    const bool is_cut = hp_pattern_is(made->problem.pattern, HP_PATTERN_CUT);
    uint32_t busiest = 0, most = 0, scratch = 0;

    for (uint32_t p = 0; p < made->problem.count; p++) {
        const uint32_t blocks = sent_by(&made->schedules[p], p);
        if (blocks > most) {
            most = blocks;
            busiest = p;
        }
        if (made->schedules[p].scratch_blocks > scratch)
            scratch = made->schedules[p].scratch_blocks;
    }
    printf("%s\n%s\n\n", made->title, made->generator->text);
    printf("  rounds     %u, of one message sent and one received by a rank\n", rounds->rounds);
    printf("  messages   %u\n", rounds->message_count - rounds->local_count);
    if (made->problem.pattern == HP_PATTERN_BARRIER)
        return;
    if (is_cut)
        printf("  blocks     the vector is cut into %u\n", made->schedules[0].cut);
    else
        printf("  blocks     one for each rank\n");
    printf("  sent       %u blocks by the busiest rank, %u\n", most, busiest);
    printf("  scratch    %u blocks at most\n", scratch);
}

/* "3", or "-" where there is none. */
static const char *partner(int32_t position, char text[12])
{
    if (position < 0)
        return "-";
    snprintf(text, 12, "%d", position);
    return text;
}

static void print_step(const hp_schedule_t *schedule, uint32_t i, uint32_t round)
{
    const hp_step_t *step = &schedule->steps[i];
    char to[12], from[12], in_round[12], sends[BLOCKS_BYTES], receives[BLOCKS_BYTES];
    const char *action = step->sync ? "sync" : step->from < 0 ? "-" : hp_action_name(step->action);

    hp_draw_blocks(schedule, &step->send, sends, sizeof sends);
    hp_draw_blocks(schedule, &step->recv, receives, sizeof receives);
    printf("  %4u  %5s  %5s  %-18s  %5s  %-18s  %-12s  %u\n", i,
           partner(round ? (int32_t)round : HP_NO_POSITION, in_round), partner(step->to, to),
           *sends ? sends : "-", partner(step->from, from), *receives ? receives : "-", action, step->stream);
}

/* The round that a step ends in, from 1 on; 0: it is a local one. */
static uint32_t *end_rounds(const hp_rounds_t *rounds, uint32_t position, uint32_t step_count)
{
    uint32_t *ends = calloc(step_count + 1, sizeof *ends);

    for (uint32_t i = 0; ends && i < rounds->message_count; i++) {
        const hp_message_t *message = &rounds->messages[i];
        if (message->from == message->to)
            continue;
        if (message->from == position && ends[message->from_step] < message->round + 1)
            ends[message->from_step] = message->round + 1;
        if (message->to == position && ends[message->to_step] < message->round + 1)
            ends[message->to_step] = message->round + 1;
    }
    return ends;
}

static void print_steps(const made_t *made, const hp_rounds_t *rounds, uint32_t position)
{
    const hp_schedule_t *schedule = &made->schedules[position];
    uint32_t *ends = end_rounds(rounds, position, schedule->step_count);

    printf("\nrank %u\n  step  round     to  %-18s   from  %-18s  %-12s  stream\n", position, "sends", "into",
           "action");
    for (uint32_t i = 0; ends && i < schedule->step_count && i < STEPS_SHOWN; i++)
        print_step(schedule, i, ends[i]);
    if (schedule->step_count > STEPS_SHOWN)
        printf("  and %u more\n", schedule->step_count - STEPS_SHOWN);
    free(ends);
}

/* The first, the last, the root and the one beside it. */
static int print_text(const made_t *made)
{
    const uint32_t count = made->problem.count, root = made->problem.root;
    const uint32_t chosen[] = {0, root, (root + 1) % count, count - 1};
    hp_rounds_t rounds;
    const hp_status_t status = hp_rounds_init(&rounds, made->schedules, &made->problem);

    if (status != HP_OK) {
        fprintf(stderr, "hanpmpi_info: %s: %s\n", made->title,
                status == HP_ERR_ARG ? "the schedules do not get through: --verify says why"
                                     : hp_status_text(status));
        return 1;
    }
    print_summary(made, &rounds);
    for (uint32_t p = 0; p < count; p++) {
        bool is_chosen = false;
        for (unsigned i = 0; i < sizeof chosen / sizeof *chosen; i++)
            is_chosen = is_chosen || chosen[i] == p;
        if (is_chosen)
            print_steps(made, &rounds, p);
    }
    if (made->problem.pattern != HP_PATTERN_BARRIER)
        printf("\nblocks: of the result (r); s: of what the rank brings; x: of scratch\n");
    hp_rounds_fini(&rounds);
    return 0;
}

/* ---- as a picture, as a file ---- */

typedef hp_status_t (*write_fn_t)(FILE *out, const made_t *made, char *why, size_t why_bytes);

static hp_status_t write_svg(FILE *out, const made_t *made, char *why, size_t why_bytes)
{
    return hp_draw_schedules(out, made->schedules, &made->problem, made->title, why, why_bytes);
}

static hp_status_t write_json(FILE *out, const made_t *made, char *why, size_t why_bytes)
{
    const hp_status_t status = hp_schedule_file_write(out, made->schedules, &made->problem, made->generator);

    if (status == HP_ERR_NO_MEM)
        snprintf(why, why_bytes, "%s", hp_status_text(status));
    return status;
}

/* Makes the text first, so that a refusal leaves what is there. */
static int write_to(const char *file, const made_t *made, write_fn_t write)
{
    char *text = NULL, why[256] = "";
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length);
    const hp_status_t status = memory ? write(memory, made, why, sizeof why) : HP_ERR_NO_MEM;
    const bool made_it = memory && fclose(memory) == 0 && status == HP_OK;
    bool written = made_it;

    if (made_it) {
        FILE *out = strcmp(file, "-") == 0 ? stdout : fopen(file, "w");
        written = out && fwrite(text, 1, length, out) == length && fflush(out) == 0;
        if (out && out != stdout)
            written = fclose(out) == 0 && written;
    }
    if (!written)
        fprintf(stderr, "hanpmpi_info: %s: %s\n", file,
                made_it ? strerror(errno)
                : *why  ? why
                        : hp_status_text(HP_ERR_NO_MEM));
    free(text);
    return !written;
}

/* ---- the answer ---- */

static int verify(const made_t *made)
{
    hp_fault_t fault;
    const hp_status_t status = hp_schedules_verify(made->schedules, &made->problem, &fault);

    if (status != HP_OK) {
        fprintf(stderr, "hanpmpi_info: %s: %s\n", made->title,
                status == HP_ERR_ARG ? fault.text : hp_status_text(status));
        return 1;
    }
    return 0;
}

static void write_title(made_t *made)
{
    hp_problem_text_format(&made->problem, made->generator, made->title, sizeof made->title);
    if (!made->problem.placement)
        return;
    const char *slash = strrchr(made->lent->network_file, '/');
    const size_t used = strlen(made->title);
    snprintf(made->title + used, sizeof made->title - used, " network=%s order=%s",
             slash ? slash + 1 : made->lent->network_file, hp_placement_order_word(made->lent->order));
}

static int answer(made_t *made)
{
    const info_schedule_t *asked = made->asked;
    const bool takes_output =
        (asked->svg && strcmp(asked->svg, "-") == 0) || (asked->json && strcmp(asked->json, "-") == 0);

    write_title(made);
    made->schedules = hp_schedules_make(made->generator, &made->problem);
    if (!made->schedules) {
        fprintf(stderr, "hanpmpi_info: %s: out of memory\n", made->title);
        return 1;
    }
    int code = asked->verify ? verify(made) : 0;
    if (code == 0 && !takes_output)
        code = print_text(made);
    if (code == 0 && asked->verify && !takes_output)
        printf(
            "\nverified: every message is received, nobody waits for ever, every rank ends with what it is "
            "owed\n");
    if (code == 0 && asked->cost)
        code = info_print_cost(asked->cost, made->schedules, &made->problem);
    if (code == 0 && asked->svg)
        code = write_to(asked->svg, made, write_svg);
    if (code == 0 && asked->json)
        code = write_to(asked->json, made, write_json);
    hp_schedules_free(made->schedules, made->problem.count);
    return code;
}

/* Is the text the name of a file? A problem begins with a pattern. */
static bool is_file(const char *text)
{
    const size_t length = strlen(text), first = strcspn(text, " ,");
    char word[32];

    snprintf(word, sizeof word, "%.*s", first < sizeof word ? (int)first : 0, text);
    return hp_pattern_find(word) == HP_PATTERN_COUNT &&
           (strchr(text, '/') || (length > 5 && strcmp(text + length - 5, ".json") == 0));
}

static int answer_file(made_t *made)
{
    char why[HP_SCHEDULE_FILE_WHY_BYTES];
    hp_generator_t *generator;

    if (hp_schedule_file_read(made->asked->text, &generator, why, sizeof why) != HP_OK) {
        fprintf(stderr, "hanpmpi_info: %s\n", why);
        return 1;
    }
    made->generator = generator;
    made->problem = *generator->problem;
    const int code = answer(made);
    hp_schedule_file_free(generator);
    return code;
}

int info_print_schedule(const info_schedule_t *asked)
{
    static hp_catalog_t catalog;
    static hp_problem_lent_t lent;
    made_t made = {.asked = asked};
    char error[1024];
    int code = 1;

    if (is_file(asked->text))
        return answer_file(&made);
    info_read_catalog(&catalog);
    hp_problem_lent_init(&lent);
    made.lent = &lent;
    if (hp_problem_text_parse(asked->text, &catalog, &made.problem, &lent, &made.generator, error,
                              sizeof error))
        code = answer(&made);
    else
        fprintf(stderr,
                "hanpmpi_info: --schedule: %s\n(as in \"allgather ring ranks=12\", or the name of a file: "
                "hanpmpi_info --schedules lists the algorithms)\n",
                error);
    hp_problem_lent_fini(&lent);
    hp_catalog_fini(&catalog);
    return code;
}

/* ---- the list ---- */

/* What a pattern of a generator needs: "keeps order" and "direct" are what it can, the others are what it must have. */
static void pattern_notes(const hp_generator_t *generator, hp_pattern_t pattern, char *text,
                          size_t text_bytes)
{
    const struct {
        uint32_t set;
        const char *note;
    } notes[] = {{generator->ordered, "keeps order"}, {generator->power_of_two, "power of two"},
                 {generator->even, "even"},           {generator->equal, "equal blocks"},
                 {generator->direct, "direct"},       {generator->placed, "network"}};
    size_t used = 0;

    text[0] = '\0';
    for (unsigned i = 0; i < sizeof notes / sizeof *notes && used < text_bytes; i++)
        if (notes[i].set & 1u << pattern)
            used += (size_t)snprintf(text + used, text_bytes - used, "%s%s", used ? ", " : "", notes[i].note);
}

/* "2 to 8", "1 to the number of ranks". */
static void parameter_range(const hp_parameter_t *parameter, char *text, size_t text_bytes)
{
    if (parameter->most == 0)
        snprintf(text, text_bytes, "%u to the number of ranks", parameter->least);
    else if (parameter->most == parameter->least)
        snprintf(text, text_bytes, "%u", parameter->least);
    else
        snprintf(text, text_bytes, "%u to %u", parameter->least, parameter->most);
}

static void print_generator(const hp_generator_t *generator)
{
    char text[64];
    bool first = true;

    printf("\n%s: %s\n  ", generator->name, generator->text);
    for (unsigned p = 0; p < HP_PATTERN_COUNT; p++) {
        if (!(generator->patterns & 1u << p))
            continue;
        pattern_notes(generator, (hp_pattern_t)p, text, sizeof text);
        printf("%s%s%s%s%s", first ? "" : ", ", hp_pattern_name((hp_pattern_t)p), *text ? " (" : "", text,
               *text ? ")" : "");
        first = false;
    }
    printf("\n");
    if (generator->problem)
        printf("  from a file: ranks=%u root=%u\n", generator->problem->count, generator->problem->root);
    for (unsigned i = 0; i < HP_PARAMETERS_MAX && generator->parameters[i].name; i++) {
        const hp_parameter_t *parameter = &generator->parameters[i];
        parameter_range(parameter, text, sizeof text);
        printf("  %s=N: %s; %s, usually %u\n", parameter->name, parameter->text, text, parameter->usual);
    }
}

int info_print_schedules(void)
{
    static hp_catalog_t catalog;
    const hp_generator_t *generator;

    info_read_catalog(&catalog);
    printf(
        "Algorithms for --schedule \"PATTERN ALGORITHM ranks=N ...\". keeps order: the operation need not "
        "commute.\n"
        "What the number of ranks must be: power of two, even. equal blocks: of one size. direct: no block\n"
        "goes through another rank, so that each needs to know the sizes of its own alone. network: made "
        "for\n"
        "one, which network=FILE names.\n");
    for (unsigned i = 0; (generator = hp_catalog_generator(&catalog, i)); i++)
        print_generator(generator);
    hp_catalog_fini(&catalog);
    if (fflush(stdout) == 0)
        return 0;
    fprintf(stderr, "hanpmpi_info: standard output: %s\n", strerror(errno));
    return 1;
}

static json_t *patterns_json(const hp_generator_t *generator)
{
    json_t *rows = json_array();

    for (unsigned p = 0; p < HP_PATTERN_COUNT; p++)
        if (generator->patterns & 1u << p)
            json_array_append_new(
                rows,
                json_pack("{s:s, s:b, s:b, s:b, s:b, s:b, s:b}", "pattern", hp_pattern_name((hp_pattern_t)p),
                          "keeps_order", (generator->ordered >> p & 1) != 0, "power_of_two",
                          (generator->power_of_two >> p & 1) != 0, "even", (generator->even >> p & 1) != 0,
                          "equal_blocks", (generator->equal >> p & 1) != 0, "direct",
                          (generator->direct >> p & 1) != 0, "network", (generator->placed >> p & 1) != 0));
    return rows;
}

/* most: null, where it is the number of ranks. */
static json_t *parameters_json(const hp_generator_t *generator)
{
    json_t *rows = json_array();

    for (unsigned i = 0; i < HP_PARAMETERS_MAX && generator->parameters[i].name; i++) {
        const hp_parameter_t *parameter = &generator->parameters[i];
        json_array_append_new(rows, json_pack("{s:s, s:s, s:I, s:o, s:I}", "name", parameter->name, "text",
                                              parameter->text, "least", (json_int_t)parameter->least, "most",
                                              parameter->most ? json_integer(parameter->most) : json_null(),
                                              "usual", (json_int_t)parameter->usual));
    }
    return rows;
}

int info_json_schedules(void)
{
    static hp_catalog_t catalog;
    const hp_generator_t *generator;
    json_t *rows = json_array();

    info_read_catalog(&catalog);
    for (unsigned i = 0; (generator = hp_catalog_generator(&catalog, i)); i++)
        json_array_append_new(rows,
                              json_pack("{s:s, s:s, s:b, s:o, s:o}", "name", generator->name, "text",
                                        generator->text, "built_in", generator->problem == NULL, "patterns",
                                        patterns_json(generator), "parameters", parameters_json(generator)));
    const int code = info_print_json(json_pack("{s:o}", "schedules", rows));
    hp_catalog_fini(&catalog);
    return code;
}
