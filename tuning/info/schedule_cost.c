#include "schedule_cost.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/words.h"
#include "schedule/cost/cost.h"
#include "topo_tree/network/file.h"
#include "topo_tree/network/placement.h"

/* What a send and a receive cost a processor unless somebody says otherwise: little, for any network. */
#define USUAL_OVERHEAD_US 0.3

/* Numbers beside network, order and bytes: all of the processor. */
static const struct {
    const char *name;
    size_t offset; /* in hp_cost_setting_t */
} reals[] = {{"send_us", offsetof(hp_cost_setting_t, processor.send_us)},
             {"recv_us", offsetof(hp_cost_setting_t, processor.recv_us)},
             {"message_rate", offsetof(hp_cost_setting_t, processor.message_rate)},
             {"reduce_rate", offsetof(hp_cost_setting_t, processor.reduce_rate)},
             {"copy_rate", offsetof(hp_cost_setting_t, processor.copy_rate)}};

typedef struct {
    const char *file; /* NULL: the schedules are placed on a network already */
    hp_placement_order_t order;
    hp_cost_setting_t setting;
} question_t;

static bool refuse(const char *word, const char *accepted)
{
    fprintf(stderr, "hanpmpi_info: --cost: \"%s\" is not accepted: %s\n", word, accepted);
    return false;
}

/* ---- the question ---- */

static bool take_whole(const char *word, const char *value, uint32_t most, uint32_t *out)
{
    int64_t number;

    if (!hp_word_integer(value, &number) || number < 0 || number > most)
        return refuse(word, "a whole number, with K, M, G or KiB, MiB, GiB, is");
    *out = (uint32_t)number;
    return true;
}

static bool take_real(const char *word, const char *value, double *out)
{
    char *end;

    errno = 0;
    *out = strtod(value, &end);
    return (end != value && !*end && errno == 0 && isfinite(*out) && *out >= 0) ||
           refuse(word, "a number from 0 on is: microseconds, or bytes in one (0: no limit)");
}

static bool take_order(const char *word, const char *value, hp_placement_order_t *order)
{
    *order = hp_placement_order_find(value);
    return *order != HP_PLACEMENT_ORDERS ||
           refuse(word, "order=block, order=round_robin and order=over_switches are");
}

static bool take_bytes(const char *word, const char *value, double *bytes)
{
    int64_t number;

    if (!hp_word_integer(value, &number) || number < 0)
        return refuse(word, "a whole number, with K, M, G or KiB, MiB, GiB, is");
    *bytes = (double)number;
    return true;
}

static bool take_word(char *word, question_t *question)
{
    hp_cost_setting_t *setting = &question->setting;
    char *equals = strchr(word, '='), *value = equals ? equals + 1 : word + strlen(word);
    const size_t length = equals ? (size_t)(equals - word) : 0;

    if (length == 7 && strncmp(word, "network", length) == 0) {
        question->file = value;
        return true;
    }
    if (length == 5 && strncmp(word, "order", length) == 0)
        return take_order(word, value, &question->order);
    if (length == 5 && strncmp(word, "bytes", length) == 0)
        return take_bytes(word, value, &setting->bytes);
    if (length == 8 && strncmp(word, "segments", length) == 0)
        return take_whole(word, value, 1 << 20, &setting->segments);
    if (length == 6 && strncmp(word, "window", length) == 0)
        return take_whole(word, value, 1 << 20, &setting->window);
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        if (length == strlen(reals[i].name) && strncmp(word, reals[i].name, length) == 0)
            return take_real(word, value, (double *)((char *)setting + reals[i].offset));
    return refuse(
        word,
        "network=FILE, bytes=N, order=block, round_robin or over_switches, segments=N, window=N, send_us, "
        "recv_us, message_rate, reduce_rate and copy_rate are");
}

/* ---- the answer ---- */

static void print_setting(const question_t *question, const hp_problem_t *problem)
{
    const hp_cost_setting_t *setting = &question->setting;
    const bool is_cut = hp_pattern_is(problem->pattern, HP_PATTERN_CUT);
    char size[24];

    printf("\ncost on %s: %u machines, ranks %s; a %s of %s", question->file ? question->file : "its network",
           setting->network->machine_count,
           question->file ? hp_placement_order_text(question->order) : "as they are placed",
           is_cut ? "vector" : "block", hp_word_size((uint64_t)setting->bytes, size, sizeof size));
    if (setting->segments > 1)
        printf(" in %u segments", setting->segments);
    printf("\n  a processor sends in %g us and receives in %g us", setting->processor.send_us,
           setting->processor.recv_us);
    const struct {
        const char *does;
        double rate;
    } rates[] = {{"moves", setting->processor.message_rate},
                 {"reduces", setting->processor.reduce_rate},
                 {"copies", setting->processor.copy_rate}};
    for (unsigned i = 0; i < sizeof rates / sizeof *rates; i++)
        if (rates[i].rate > 0)
            printf(", %s %g bytes/us", rates[i].does, rates[i].rate);
    printf("\n");
}

static void print_cost(const question_t *question, const hp_cost_t *cost)
{
    const hp_network_link_t link = hp_network_link(question->setting.network, cost->link);

    printf("  time       %.2f us; estimated without a run: %.2f us\n", cost->us, cost->estimate_us);
#define X(field, text)                                                                                       \
    if (cost->share_us.field > 0)                                                                            \
        printf("    %-44s %10.2f us\n", text, cost->share_us.field);
    HP_COST_SHARE_TABLE(X)
#undef X
    printf("  chain      %u messages, alone %.2f us\n", cost->rounds, cost->chain_us);
    printf("  busiest rank: sends %llu messages, %.0f bytes; receives %llu, %.0f bytes; reduces %.0f bytes\n",
           (unsigned long long)cost->most.sent, cost->most.sent_bytes,
           (unsigned long long)cost->most.received, cost->most.received_bytes, cost->most.reduced_bytes);
    if (strcmp(link.from, link.to) == 0)
        printf("  busiest link: inside %s, ", link.from);
    else
        printf("  busiest link: %s to %s, ", link.from, link.to);
    printf("%.0f bytes, %.2f us\n", cost->link_bytes, cost->link_us);
}

static int answer(question_t *question, const hp_schedule_t *schedules, const hp_problem_t *problem)
{
    uint32_t *machines = calloc(problem->count, sizeof *machines);
    hp_status_t status = HP_ERR_NO_MEM;
    hp_cost_t cost;

    if (machines && question->file)
        status = hp_placement_lay(question->setting.network, problem->count, question->order, machines);
    for (uint32_t p = 0; p < problem->count && machines && !question->file; p++) {
        machines[p] = hp_problem_machine(problem, p);
        status = HP_OK;
    }
    if (status == HP_OK) {
        question->setting.machines = machines;
        status = hp_schedules_cost(schedules, problem, &question->setting, &cost);
    }
    free(machines);
    if (status != HP_OK) {
        fprintf(stderr, "hanpmpi_info: --cost: %s\n",
                status == HP_ERR_ARG ? "the schedules do not get through: --verify says why"
                                     : hp_status_text(status));
        return 1;
    }
    print_setting(question, problem);
    print_cost(question, &cost);
    return 0;
}

int info_print_cost(const char *text, const hp_schedule_t *schedules, const hp_problem_t *problem)
{
    question_t question = {.setting.processor = {.send_us = USUAL_OVERHEAD_US, .recv_us = USUAL_OVERHEAD_US}};
    char *copy = strdup(text), *rest = NULL, why[HP_NETWORK_WHY_BYTES];
    hp_network_t network;
    int code = 1;

    if (!copy)
        return 1;
    hp_network_init(&network);
    bool taken = true;
    for (char *word = strtok_r(copy, " ", &rest); word && taken; word = strtok_r(NULL, " ", &rest))
        taken = take_word(word, &question);
    if (taken && !question.file && !problem->placement)
        taken = refuse(text, "network=FILE is missing, as in \"network=cluster.net bytes=64K\"");
    if (taken && question.file && hp_network_read(&network, question.file, why, sizeof why) != HP_OK) {
        fprintf(stderr, "hanpmpi_info: --cost: %s\n", why);
        taken = false;
    }
    question.setting.network = question.file        ? &network
                               : problem->placement ? problem->placement->network
                                                    : NULL;
    if (taken)
        code = answer(&question, schedules, problem);
    hp_network_fini(&network);
    free(copy);
    return code;
}
