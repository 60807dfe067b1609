#include "schedule/catalog/problem_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/words.h"

typedef struct {
    const hp_catalog_t *catalog;
    hp_problem_t *problem;
    const hp_generator_t *generator;
    bool has_root, has_ordered, has_parameter[HP_PARAMETERS_MAX];
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

static bool take_algorithm(reader_t *reader, const char *word)
{
    const hp_pattern_t pattern = reader->problem->pattern;
    const hp_generator_t *generator = word ? hp_catalog_find(reader->catalog, word) : NULL;
    char accepted[384] = "";

    if (generator && (generator->patterns & 1u << pattern)) {
        reader->generator = generator;
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
    return list;
}

static bool take_word(reader_t *reader, char *word)
{
    const hp_problem_t *problem = reader->problem;
    char accepted[256], *value = strchr(word, '=');

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
    for (unsigned i = 0; i < HP_PARAMETERS_MAX && reader->generator->parameters[i].name; i++)
        if (strcmp(word, reader->generator->parameters[i].name) == 0) {
            reader->has_parameter[i] = true;
            return take_number(reader, word, value, 0, UINT32_MAX, &reader->problem->parameter[i]);
        }
    return refuse(reader, "\"%.40s=\" is not understood; accepted are %s", word,
                  accepted_words(reader, accepted, sizeof accepted));
}

/* ---- what was left out ---- */

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
    if (problem->count == 0)
        return refuse(reader, "ranks=N is missing: accepted are whole numbers from 1 to %d",
                      HP_PROBLEM_RANKS_MAX);
    if (problem->root >= problem->count)
        return refuse(reader, "root=%u: accepted are whole numbers from 0 to %u", problem->root,
                      problem->count - 1);
    usual = *problem;
    hp_generator_usual(generator, &usual);
    for (unsigned i = 0; i < HP_PARAMETERS_MAX; i++)
        if (!reader->has_parameter[i])
            problem->parameter[i] = usual.parameter[i];
    return hp_generator_serves(generator, problem, why, sizeof why) ||
           refuse(reader, "%s cannot do that: %s", generator->name, why);
}

bool hp_problem_text_parse(const char *text, const hp_catalog_t *catalog, hp_problem_t *problem,
                           const hp_generator_t **generator, char *error, size_t error_bytes)
{
    char copy[HP_PROBLEM_TEXT_BYTES], *rest = NULL, *word;
    reader_t reader = {.catalog = catalog, .problem = problem, .error = error, .error_bytes = error_bytes};

    *problem = (hp_problem_t){0};
    if (strlen(text) >= sizeof copy)
        return refuse(&reader, "longer than %d characters", HP_PROBLEM_TEXT_BYTES - 1);
    snprintf(copy, sizeof copy, "%s", text);
    if (!take_pattern(&reader, strtok_r(copy, " ,", &rest)) ||
        !take_algorithm(&reader, strtok_r(NULL, " ,", &rest)))
        return false;
    while ((word = strtok_r(NULL, " ,", &rest)))
        if (!take_word(&reader, word))
            return false;
    *generator = reader.generator;
    return complete(&reader);
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
    if (problem->ordered && used < text_bytes)
        snprintf(text + used, text_bytes - used, " ordered");
    return text;
}
