#include "schedule/catalog/problem_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/words.h"
#include "schedule/inside.h"
#include "topo_tree/network/file.h"

typedef struct {
    const hp_catalog_t *catalog;
    hp_problem_t *problem;
    const hp_generator_t *generator;
    bool has_root, has_ordered, has_parameter[HP_PARAMETERS_MAX], has_leaders;
    hp_problem_lent_t *lent; /* of node_first: sizes of the nodes from 1 on, until all is read */
    const char *sizes_file;
    bool has_order;
    uint32_t sizes; /* so many numbers came after nodes= */
    bool in_sizes;  /* another may follow */
    char *error;
    size_t error_bytes;
} reader_t;

__attribute__((format(printf, 2, 3))) static bool refuse(reader_t *reader, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reader->error, reader->error_bytes, format, arguments);
    va_end(arguments);
    return false;
}

/* Adds ", word" to a list. */
static void append(char *list, size_t list_bytes, const char *word)
{
    const size_t used = strlen(list);
    snprintf(list + used, list_bytes - used, "%s%s", used ? ", " : "", word);
}

void hp_problem_lent_init(hp_problem_lent_t *lent)
{
    lent->network_file[0] = '\0';
    lent->order = HP_PLACEMENT_BLOCK;
    lent->sizes = NULL;
    hp_network_init(&lent->network);
}

void hp_problem_lent_fini(hp_problem_lent_t *lent)
{
    hp_network_fini(&lent->network);
    free(lent->sizes);
}

/* ---- pattern and algorithm ---- */

static bool take_pattern(reader_t *reader, const char *word)
{
    char accepted[256] = "";

    reader->problem->pattern = word ? hp_pattern_find(word) : HP_PATTERN_COUNT;
    if (reader->problem->pattern != HP_PATTERN_COUNT)
        return true;
    for (unsigned i = 0; i < HP_PATTERN_COUNT; i++)
        append(accepted, sizeof accepted, hp_pattern_name((hp_pattern_t)i));
    return refuse(reader, "\"%.40s\" is no pattern; accepted are %s", word ? word : "", accepted);
}

static bool take_generator(reader_t *reader, const char *word, const hp_generator_t **out)
{
    const hp_pattern_t pattern = reader->problem->pattern;
    const hp_generator_t *generator = word ? hp_catalog_find(reader->catalog, word) : NULL;
    char accepted[384] = "";

    if (generator && (generator->patterns & 1u << pattern)) {
        *out = generator;
        return true;
    }
    for (unsigned i = 0; (generator = hp_catalog_generator(reader->catalog, i)); i++)
        if (generator->patterns & 1u << pattern)
            append(accepted, sizeof accepted, generator->name);
    return refuse(reader, "\"%.40s\" is no algorithm for %s; accepted are %s", word ? word : "",
                  hp_pattern_name(pattern), *accepted ? accepted : "none: there is none");
}

/* ---- name=number ---- */

static bool take_number(reader_t *reader, const char *name, const char *text, uint32_t least, uint32_t most,
                        uint32_t *out)
{
    int64_t number;

    if (!hp_word_integer(text, &number) || number < least || number > most)
        return refuse(reader, "%s=%.40s: accepted are whole numbers from %u to %u", name, text, least, most);
    *out = (uint32_t)number;
    return true;
}

static bool take_root(reader_t *reader, const char *text)
{
    const hp_pattern_t pattern = reader->problem->pattern;

    if (!hp_pattern_is(pattern, HP_PATTERN_ROOTED)) {
        int64_t number;
        return (hp_word_integer(text, &number) && number == 0) ||
               refuse(reader, "root=%.40s: %s has no root", text, hp_pattern_name(pattern));
    }
    reader->has_root = true;
    return take_number(reader, "root", text, 0, HP_PROBLEM_RANKS_MAX - 1, &reader->problem->root);
}

static bool take_size(reader_t *reader, const char *text)
{
    if (reader->sizes == HP_PROBLEM_RANKS_MAX)
        return refuse(reader, "nodes=: more than %d nodes", HP_PROBLEM_RANKS_MAX);
    reader->in_sizes = true;
    return take_number(reader, "nodes", text, 1, HP_PROBLEM_RANKS_MAX,
                       &reader->lent->node_first[++reader->sizes]);
}

static bool take_leaders(reader_t *reader, const char *text)
{
    reader->has_leaders = true;
    reader->problem->leaders = strcmp(text, "all") == 0 ? HP_LEADERS_ALL : 1;
    return reader->problem->leaders == HP_LEADERS_ALL || strcmp(text, "1") == 0 ||
           refuse(reader, "leaders=%.40s: accepted are 1, per node, and all", text);
}

static bool take_inside(reader_t *reader, const char *text)
{
    return take_generator(reader, text, &reader->problem->inside);
}

static bool take_network(reader_t *reader, const char *text)
{
    hp_problem_lent_t *lent = reader->lent;

    snprintf(lent->network_file, sizeof lent->network_file, "%s", text);
    return *text || refuse(reader, "network=: expected the name of a file");
}

static bool take_order(reader_t *reader, const char *text)
{
    char accepted[128] = "";

    reader->has_order = true;
    reader->lent->order = hp_placement_order_find(text);
    if (reader->lent->order != HP_PLACEMENT_ORDERS)
        return true;
    for (unsigned i = 0; i < HP_PLACEMENT_ORDERS; i++)
        append(accepted, sizeof accepted, hp_placement_order_word((hp_placement_order_t)i));
    return refuse(reader, "order=%.40s: accepted are %s", text, accepted);
}

static bool take_sizes(reader_t *reader, const char *text)
{
    reader->sizes_file = text;
    return reader->problem->pattern == HP_PATTERN_ALLTOALL ||
           refuse(reader, "sizes=%.40s: they are of an alltoall, not of %s", text,
                  hp_pattern_name(reader->problem->pattern));
}

/* "ranks, root, ordered, radix": what may stand there. */
static const char *accepted_words(const reader_t *reader, char *list, size_t list_bytes)
{
    const hp_pattern_t pattern = reader->problem->pattern;

    snprintf(list, list_bytes, "ranks=N");
    if (hp_pattern_is(pattern, HP_PATTERN_ROOTED))
        append(list, list_bytes, "root=N");
    if (hp_pattern_is(pattern, HP_PATTERN_REDUCES))
        append(list, list_bytes, "ordered");
    for (unsigned i = 0; i < HP_PARAMETERS_MAX && reader->generator->parameters[i].name; i++) {
        char word[80];
        snprintf(word, sizeof word, "%.64s=N", reader->generator->parameters[i].name);
        append(list, list_bytes, word);
    }
    append(list, list_bytes, "nodes=N");
    append(list, list_bytes, "leaders=1");
    append(list, list_bytes, "leaders=all");
    append(list, list_bytes, "inside=ALGORITHM");
    append(list, list_bytes, "network=FILE");
    append(list, list_bytes, "order=WORD");
    if (pattern == HP_PATTERN_ALLTOALL)
        append(list, list_bytes, "sizes=FILE");
    return list;
}

static bool take_word(reader_t *reader, char *word)
{
    const hp_problem_t *problem = reader->problem;
    char accepted[256], *value = strchr(word, '=');
    const bool is_size = reader->in_sizes && !value && word[strspn(word, "0123456789")] == '\0';

    if (is_size)
        return take_size(reader, word);
    reader->in_sizes = false;
    if (!value && strcmp(word, "ordered") == 0 && hp_pattern_is(problem->pattern, HP_PATTERN_REDUCES))
        return reader->has_ordered = reader->problem->ordered = true;
    if (!value)
        return refuse(reader, "\"%.40s\" is not understood; accepted are %s", word,
                      accepted_words(reader, accepted, sizeof accepted));
    *value++ = '\0';
    if (strcmp(word, "ranks") == 0)
        return take_number(reader, word, value, 1, HP_PROBLEM_RANKS_MAX, &reader->problem->count);
    if (strcmp(word, "root") == 0)
        return take_root(reader, value);
    if (strcmp(word, "nodes") == 0 && reader->sizes == 0)
        return take_size(reader, value);
    if (strcmp(word, "leaders") == 0)
        return take_leaders(reader, value);
    if (strcmp(word, "inside") == 0)
        return take_inside(reader, value);
    if (strcmp(word, "network") == 0)
        return take_network(reader, value);
    if (strcmp(word, "order") == 0)
        return take_order(reader, value);
    if (strcmp(word, "sizes") == 0)
        return take_sizes(reader, value);
    for (unsigned i = 0; i < HP_PARAMETERS_MAX && reader->generator->parameters[i].name; i++)
        if (strcmp(word, reader->generator->parameters[i].name) == 0) {
            reader->has_parameter[i] = true;
            return take_number(reader, word, value, 0, UINT32_MAX, &reader->problem->parameter[i]);
        }
    return refuse(reader, "\"%.40s=\" is not understood; accepted are %s", word,
                  accepted_words(reader, accepted, sizeof accepted));
}

/* ---- what was left out ---- */

/* One number is that of the nodes, several are their sizes, whose sum is the number of ranks. */
static bool complete_nodes(reader_t *reader)
{
    hp_problem_t *problem = reader->problem;
    uint32_t *first = reader->lent->node_first, sum = 0;

    if (reader->sizes == 0)
        return (!reader->has_leaders && !problem->inside) ||
               refuse(reader, "%s= is of nodes, and nodes=N is missing",
                      reader->has_leaders ? "leaders" : "inside");
    problem->node_first = first;
    problem->node_count = reader->sizes == 1 ? first[1] : reader->sizes;
    problem->leaders = reader->has_leaders ? problem->leaders : 1;
    if (reader->sizes == 1) {
        if (problem->count % problem->node_count != 0)
            return refuse(reader,
                          "nodes=%u: so many do not share %u ranks evenly; nodes=4,4,3 names their sizes",
                          problem->node_count, problem->count);
        for (uint32_t n = 1; n <= problem->node_count; n++)
            first[n] = problem->count / problem->node_count;
    }
    first[0] = 0;
    for (uint32_t n = 1; n <= problem->node_count; n++)
        first[n] = sum += first[n];
    if (sum > HP_PROBLEM_RANKS_MAX)
        return refuse(reader, "nodes=: the nodes have %u ranks: accepted are 1 to %d", sum,
                      HP_PROBLEM_RANKS_MAX);
    problem->count = problem->count ? problem->count : sum;
    return sum == problem->count ||
           refuse(reader, "nodes=: the nodes have %u ranks, not %u", sum, problem->count);
}

/* Read when all words are: as many ranks as there is room for, unless somebody has said how many. */
static bool complete_network(reader_t *reader)
{
    hp_problem_lent_t *lent = reader->lent;
    hp_problem_t *problem = reader->problem;
    char why[HP_NETWORK_WHY_BYTES];
    uint64_t room = 0;

    if (!lent->network_file[0])
        return !reader->has_order || refuse(reader, "order= is of a network, and network=FILE is missing");
    if (hp_network_read(&lent->network, lent->network_file, why, sizeof why) != HP_OK)
        return refuse(reader, "network: %s", why);
    for (uint32_t m = 0; m < lent->network.machine_count; m++)
        room += lent->network.nodes[lent->network.machines[m]].ranks;
    if (problem->count == 0 && reader->sizes < 2 && room > HP_PROBLEM_RANKS_MAX)
        return refuse(reader, "network=%.200s has room for %llu ranks: ranks=N names at most %d",
                      lent->network_file, (unsigned long long)room, HP_PROBLEM_RANKS_MAX);
    if (problem->count == 0 && reader->sizes < 2)
        problem->count = (uint32_t)room;
    return true;
}

static bool complete_placement(reader_t *reader)
{
    hp_problem_lent_t *lent = reader->lent;

    if (!lent->network_file[0])
        return true;
    if (hp_placement_lay(&lent->network, reader->problem->count, lent->order, lent->machines) != HP_OK)
        return refuse(reader, "%s", hp_status_text(HP_ERR_NO_MEM));
    lent->placement = (hp_placement_t){&lent->network, lent->machines, reader->problem->count};
    reader->problem->placement = &lent->placement;
    return true;
}

/* The next number; *line counts lines from 1 on. false: there is none. */
static bool next_number(const char **at, uint32_t *line, uint64_t *number)
{
    const char *text = *at;
    char *end;

    for (; *text && strchr(" \t\r\n,", *text); text++)
        *line += *text == '\n';
    errno = 0;
    *number = strtoull(text, &end, 10);
    *at = end;
    return end != text && *text != '-' && errno == 0;
}

static bool parse_sizes(reader_t *reader, const char *text)
{
    const uint64_t wanted = (uint64_t)reader->problem->count * reader->problem->count;
    uint32_t line = 1;

    for (uint64_t i = 0; i < wanted; i++)
        if (!next_number(&text, &line, &reader->lent->sizes[i]))
            return refuse(reader, "%.200s:%u: expected %u rows of %u whole numbers, the bytes of each block",
                          reader->sizes_file, line, reader->problem->count, reader->problem->count);
    if (text[strspn(text, " \t\r\n,")] != '\0')
        return refuse(reader, "%.200s:%u: more than %u rows of %u numbers", reader->sizes_file, line,
                      reader->problem->count, reader->problem->count);
    reader->problem->sizes = reader->lent->sizes;
    return true;
}

static bool complete_sizes(reader_t *reader)
{
    enum { FILE_BYTES_MAX = 256 << 20 };
    const uint64_t count = reader->problem->count;

    if (!reader->sizes_file)
        return true;
    FILE *file = fopen(reader->sizes_file, "r");
    if (!file)
        return refuse(reader, "%.200s: %s", reader->sizes_file, strerror(errno));
    char *text = NULL;
    size_t room = 0;
    const ssize_t length = getdelim(&text, &room, '\0', file);
    fclose(file);
    reader->lent->sizes = calloc(count * count, sizeof *reader->lent->sizes);
    const bool has_memory = reader->lent->sizes && length <= FILE_BYTES_MAX;
    const bool taken = has_memory ? parse_sizes(reader, length > 0 ? text : "")
                                  : refuse(reader, "%s", hp_status_text(HP_ERR_NO_MEM));
    free(text);
    return taken;
}

static bool complete(reader_t *reader)
{
    const hp_generator_t *generator = reader->generator;
    hp_problem_t *problem = reader->problem, usual;
    char why[256];

    if (generator->problem) {
        problem->count = problem->count ? problem->count : generator->problem->count;
        problem->root = reader->has_root ? problem->root : generator->problem->root;
        problem->ordered = reader->has_ordered || generator->problem->ordered;
    }
    if (!complete_network(reader))
        return false;
    if (problem->count == 0 && reader->sizes < 2)
        return refuse(reader, "ranks=N is missing: accepted are whole numbers from 1 to %d",
                      HP_PROBLEM_RANKS_MAX);
    if (!complete_nodes(reader) || !complete_placement(reader) || !complete_sizes(reader))
        return false;
    if (problem->root >= problem->count)
        return refuse(reader, "root=%u: accepted are whole numbers from 0 to %u", problem->root,
                      problem->count - 1);
    if (problem->inside) {
        usual = hp_inside_problem(problem, 0);
        hp_generator_usual(problem->inside, &usual);
        problem->inside_parameter = usual.parameter[0];
    }
    usual = *problem;
    hp_generator_usual(generator, &usual);
    for (unsigned i = 0; i < HP_PARAMETERS_MAX; i++)
        if (!reader->has_parameter[i])
            problem->parameter[i] = usual.parameter[i];
    return hp_generator_serves(generator, problem, why, sizeof why) ||
           refuse(reader, "%s cannot do that: %s", generator->name, why);
}

bool hp_problem_text_parse(const char *text, const hp_catalog_t *catalog, hp_problem_t *problem,
                           hp_problem_lent_t *lent, const hp_generator_t **generator, char *error,
                           size_t error_bytes)
{
    char copy[HP_PROBLEM_TEXT_BYTES], *rest = NULL, *word;
    reader_t reader = {
        .catalog = catalog, .problem = problem, .lent = lent, .error = error, .error_bytes = error_bytes};

    *problem = (hp_problem_t){0};
    if (strlen(text) >= sizeof copy)
        return refuse(&reader, "longer than %d characters", HP_PROBLEM_TEXT_BYTES - 1);
    snprintf(copy, sizeof copy, "%s", text);
    if (!take_pattern(&reader, strtok_r(copy, " ,", &rest)) ||
        !take_generator(&reader, strtok_r(NULL, " ,", &rest), &reader.generator))
        return false;
    while ((word = strtok_r(NULL, " ,", &rest)))
        if (!take_word(&reader, word))
            return false;
    *generator = reader.generator;
    return complete(&reader);
}

/* " nodes=3", " nodes=5,4,3 leaders=all", " nodes=3 inside=bruck". */
static size_t format_nodes(const hp_problem_t *problem, char *text, size_t text_bytes)
{
    size_t used = (size_t)snprintf(text, text_bytes, " nodes=");

    if (hp_problem_nodes_are_equal(problem))
        used += (size_t)snprintf(text + used, text_bytes - used, "%u", problem->node_count);
    for (uint32_t n = 0; n < problem->node_count && !hp_problem_nodes_are_equal(problem) && used < text_bytes;
         n++)
        used += (size_t)snprintf(text + used, text_bytes - used, "%s%u", n > 0 ? "," : "",
                                 hp_problem_node_size(problem, n));
    if (problem->leaders == HP_LEADERS_ALL && used < text_bytes)
        used += (size_t)snprintf(text + used, text_bytes - used, " leaders=all");
    if (problem->inside && used < text_bytes)
        used += (size_t)snprintf(text + used, text_bytes - used, " inside=%s", problem->inside->name);
    return used;
}

const char *hp_problem_text_format(const hp_problem_t *problem, const hp_generator_t *generator, char *text,
                                   size_t text_bytes)
{
    size_t used = (size_t)snprintf(text, text_bytes, "%s %s ranks=%u", hp_pattern_name(problem->pattern),
                                   generator->name, problem->count);

    if (hp_pattern_is(problem->pattern, HP_PATTERN_ROOTED) && used < text_bytes)
        used += (size_t)snprintf(text + used, text_bytes - used, " root=%u", problem->root);
    for (unsigned i = 0; i < HP_PARAMETERS_MAX && generator->parameters[i].name && used < text_bytes; i++)
        used += (size_t)snprintf(text + used, text_bytes - used, " %s=%u", generator->parameters[i].name,
                                 problem->parameter[i]);
    if (hp_problem_has_nodes(problem) && used < text_bytes)
        used += format_nodes(problem, text + used, text_bytes - used);
    if (problem->ordered && used < text_bytes)
        snprintf(text + used, text_bytes - used, " ordered");
    return text;
}
