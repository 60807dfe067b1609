#include "network.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/words.h"
#include "schedule.h"
#include "schedule/catalog/problem_text.h"
#include "schedule/cost/cost.h"
#include "topo_tree/network/file.h"
#include "topo_tree/network/picture.h"
#include "topo_tree/network/placement.h"

/* Bytes of a block or a vector of which nobody says more. */
#define USUAL_BYTES 65536

typedef struct {
    const info_network_t *asked;
    hp_network_t network;
    hp_placement_order_t order;
    double bytes;
    double *link_bytes; /* NULL: no collective */
    char title[640];
} answer_t;

static bool refuse(const char *option, const char *word, const char *accepted)
{
    fprintf(stderr, "hanpmpi_info: %s: \"%s\" is not accepted: %s\n", option, word, accepted);
    return false;
}

/* ---- the collective ---- */

static uint64_t count_room(const hp_network_t *network)
{
    uint64_t room = 0;

    for (uint32_t i = 0; i < network->node_count; i++)
        room += network->nodes[i].ranks;
    return room;
}

/* What --schedule understands, without bytes=N, and with as many ranks as there is room for unless it says how many. */
static bool take_words(answer_t *answer, char *words, char *problem, size_t problem_bytes)
{
    bool has_ranks = false;
    size_t used = 0;
    char *rest = NULL;

    problem[0] = '\0';
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        int64_t bytes;
        if (strncmp(word, "bytes=", 6) == 0) {
            if (!hp_word_integer(word + 6, &bytes) || bytes < 0)
                return refuse("--collective", word, "a whole number, with K, M, G or KiB, MiB, GiB, is");
            answer->bytes = (double)bytes;
            continue;
        }
        has_ranks = has_ranks || strncmp(word, "ranks=", 6) == 0 || strncmp(word, "nodes=", 6) == 0;
        used += (size_t)snprintf(problem + used, problem_bytes - used, "%s%s", used ? " " : "", word);
        if (used >= problem_bytes)
            return refuse("--collective", word, "a shorter text is");
    }
    if (!has_ranks)
        used += (size_t)snprintf(problem + used, problem_bytes - used, " ranks=%llu",
                                 (unsigned long long)count_room(&answer->network));
    if (used < problem_bytes)
        used += (size_t)snprintf(problem + used, problem_bytes - used, " network=%s order=%s",
                                 answer->asked->file, hp_placement_order_word(answer->order));
    return used < problem_bytes || refuse("--collective", problem, "a shorter text is");
}

static bool find_loads(answer_t *answer, const hp_problem_t *problem, const hp_problem_lent_t *lent,
                       const hp_generator_t *generator)
{
    hp_cost_setting_t setting = {
        .network = &lent->network, .machines = lent->machines, .bytes = answer->bytes, .no_run = true};
    char name[256], size[24];
    hp_cost_t cost;
    hp_status_t status = HP_ERR_NO_MEM;

    answer->link_bytes = calloc(hp_network_links(&answer->network), sizeof *answer->link_bytes);
    setting.link_bytes = answer->link_bytes;
    if (setting.link_bytes)
        status = hp_generator_cost(generator, problem, &setting, &cost);
    if (status != HP_OK) {
        fprintf(stderr, "hanpmpi_info: --collective: %s\n",
                status == HP_ERR_ARG ? "the schedules do not get through: --schedule with --verify says why"
                                     : hp_status_text(status));
        return false;
    }
    hp_problem_text_format(problem, generator, name, sizeof name);
    snprintf(answer->title, sizeof answer->title, "%s: %s, %s of %s, ranks %s", answer->asked->file, name,
             hp_pattern_is(problem->pattern, HP_PATTERN_CUT) ? "a vector" : "blocks",
             hp_word_size((uint64_t)answer->bytes, size, sizeof size),
             hp_placement_order_text(answer->order));
    return true;
}

static bool take_collective(answer_t *answer, const hp_catalog_t *catalog)
{
    static hp_problem_lent_t lent;
    char text[HP_PROBLEM_TEXT_BYTES], error[1024], *words = strdup(answer->asked->collective);
    const hp_generator_t *generator;
    hp_problem_t problem;

    if (!words)
        return refuse("--collective", answer->asked->collective, hp_status_text(HP_ERR_NO_MEM));
    bool taken = take_words(answer, words, text, sizeof text);
    free(words);
    hp_problem_lent_init(&lent);
    if (taken && !hp_problem_text_parse(text, catalog, &problem, &lent, &generator, error, sizeof error)) {
        fprintf(stderr,
                "hanpmpi_info: --collective: %s\n(as in \"alltoall ring bytes=64K\": hanpmpi_info "
                "--schedules lists "
                "the algorithms)\n",
                error);
        taken = false;
    }
    taken = taken && find_loads(answer, &problem, &lent, generator);
    hp_problem_lent_fini(&lent);
    return taken;
}

/* ---- as text, as a picture ---- */

static void print_summary(const answer_t *answer)
{
    const hp_network_t *network = &answer->network;
    double most = 0;
    uint32_t busiest = 0;

    printf("%s\n", answer->title);
    printf("%u machines, %u switches, room for %llu ranks", network->machine_count,
           network->node_count - network->machine_count, (unsigned long long)count_room(network));
    if (isinf(network->queue))
        printf(", lossless");
    else if (network->queue > 0)
        printf(", ports that hold %.6g KB", network->queue / 1000);
    putchar('\n');
    for (uint32_t link = 0; answer->link_bytes && link < hp_network_links(network); link++) {
        const double us = answer->link_bytes[link] / hp_network_link(network, link).speed.rate;
        if (us > most) {
            most = us;
            busiest = link;
        }
    }
    if (most > 0) {
        const hp_network_link_t link = hp_network_link(network, busiest);
        printf("busiest link: %s to %s, %.0f bytes, %.2f us: no run of it is shorter\n", link.from, link.to,
               answer->link_bytes[busiest], most);
    }
    printf("\n");
}

static int print_text(const answer_t *answer)
{
    print_summary(answer);
    const hp_status_t status = hp_network_print(stdout, &answer->network, answer->link_bytes);

    if (status == HP_OK)
        return 0;
    fprintf(stderr, "hanpmpi_info: %s: %s\n", answer->asked->file,
            status == HP_ERR_ARG ? "too many rows to show: equal hosts of a switch are one, accepted are 2000"
                                 : hp_status_text(status));
    return 1;
}

/* Makes the picture first, so that a refusal leaves what is there. */
static int draw(const answer_t *answer)
{
    const char *file = answer->asked->svg;
    char *text = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length);
    const hp_status_t status =
        memory ? hp_network_draw(memory, &answer->network, answer->title, answer->link_bytes) : HP_ERR_NO_MEM;
    const bool made = memory && fclose(memory) == 0 && status == HP_OK;
    bool written = false;

    if (made) {
        FILE *out = strcmp(file, "-") == 0 ? stdout : fopen(file, "w");
        written = out && fwrite(text, 1, length, out) == length && fflush(out) == 0;
        if (out && out != stdout)
            written = fclose(out) == 0 && written;
    }
    if (!written)
        fprintf(stderr, "hanpmpi_info: %s: %s\n", file,
                made ? strerror(errno)
                : status == HP_ERR_ARG
                    ? "too many rows to draw: equal hosts of a switch are one, accepted are 2000"
                    : hp_status_text(HP_ERR_NO_MEM));
    free(text);
    return !written;
}

/* ---- as JSON: a file that describes the same network ---- */

static json_t *rate_json(double up, double down)
{
    char text[80];

    if (up == down)
        snprintf(text, sizeof text, "%.17gMB", up);
    else
        snprintf(text, sizeof text, "%.17gMB/%.17gMB", up, down);
    return json_string(text);
}

static json_t *latency_json(double us)
{
    char text[40];

    snprintf(text, sizeof text, "%.17gus", us);
    return json_string(text);
}

static json_t *queue_json(double bytes)
{
    char text[64];

    snprintf(text, sizeof text, "%.17gB", bytes);
    return json_string(isfinite(bytes) ? text : "lossless");
}

static int print_json(const hp_network_t *network)
{
    json_t *switches = json_array(), *hosts = json_array(), *links = json_array();
    json_t *file = json_pack("{s:i}", "format", 1);

    if (isfinite(network->inside.rate))
        json_object_set_new(file, "inside",
                            json_pack("{s:o, s:o}", "rate",
                                      rate_json(network->inside.rate, network->inside.rate), "latency",
                                      latency_json(network->inside.latency_us)));
    for (uint32_t i = 0; i < network->node_count; i++) {
        const hp_network_node_t *node = &network->nodes[i];
        const char *above = node->parent >= 0 ? network->nodes[node->parent].name : NULL;
        if (node->machine < 0)
            json_array_append_new(switches, json_string(node->name));
        if (node->machine >= 0 || !above)
            continue;
        json_array_append_new(links, json_pack("{s:[s, s], s:o, s:o}", "between", node->name, above, "rate",
                                               rate_json(node->up.rate, node->down.rate), "latency",
                                               latency_json(node->up.latency_us)));
    }
    for (uint32_t m = 0; m < network->machine_count; m++) {
        const hp_network_node_t *node = &network->nodes[network->machines[m]];
        char name[320];
        snprintf(name, sizeof name, "%s:%u", node->name, node->ranks);
        json_array_append_new(hosts, json_pack("{s:[s], s:s, s:o, s:o}", "names", name, "switch",
                                               network->nodes[node->parent].name, "rate",
                                               rate_json(node->up.rate, node->down.rate), "latency",
                                               latency_json(node->up.latency_us)));
    }
    if (network->queue > 0)
        json_object_set_new(file, "queue", queue_json(network->queue));
    json_object_set_new(file, "switches", switches);
    json_object_set_new(file, "hosts", hosts);
    json_object_set_new(file, "links", links);
    const bool written =
        json_dumpf(file, stdout, JSON_INDENT(1)) == 0 && putchar('\n') != EOF && fflush(stdout) == 0;
    json_decref(file);
    if (!written)
        fprintf(stderr, "hanpmpi_info: standard output: %s\n", strerror(errno));
    return !written;
}

/* ---- the answer ---- */

static bool take_order(answer_t *answer)
{
    const char *order =
        answer->asked->order ? answer->asked->order : hp_placement_order_word(HP_PLACEMENT_BLOCK);
    char accepted[128] = "one of";
    size_t used = strlen(accepted);

    answer->order = hp_placement_order_find(order);
    if (answer->order != HP_PLACEMENT_ORDERS)
        return true;
    for (unsigned i = 0; i < HP_PLACEMENT_ORDERS && used < sizeof accepted; i++)
        used += (size_t)snprintf(accepted + used, sizeof accepted - used, " %s",
                                 hp_placement_order_word((hp_placement_order_t)i));
    return refuse("--order", order, accepted);
}

static int show(answer_t *answer)
{
    const info_network_t *asked = answer->asked;
    hp_catalog_t catalog;
    bool taken = true;

    snprintf(answer->title, sizeof answer->title, "%s", asked->file);
    if (asked->collective) {
        info_read_catalog(&catalog);
        taken = take_collective(answer, &catalog);
        hp_catalog_fini(&catalog);
    }
    if (!taken)
        return 1;
    if (asked->json)
        return print_json(&answer->network);
    int code = asked->svg && strcmp(asked->svg, "-") == 0 ? 0 : print_text(answer);
    if (code == 0 && asked->svg)
        code = draw(answer);
    return code;
}

int info_print_network(const info_network_t *asked)
{
    answer_t answer = {.asked = asked, .bytes = USUAL_BYTES};
    char why[HP_NETWORK_WHY_BYTES];
    int code = 1;

    if (!take_order(&answer))
        return 1;
    hp_network_init(&answer.network);
    if (hp_network_read(&answer.network, asked->file, why, sizeof why) == HP_OK)
        code = show(&answer);
    else
        fprintf(stderr, "hanpmpi_info: %s\n", why);
    hp_network_fini(&answer.network);
    free(answer.link_bytes);
    return code;
}
