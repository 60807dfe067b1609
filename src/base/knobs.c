#include "base/knobs.h"

#include <stddef.h>
#include <string.h>

extern char **environ;

static const char prefix[] = "HANPMPI_";

/* Words and checks of the table. They live with what they describe: hier/collectives and topo_tree. */
#define HP_KNOB_INT(...)
#define HP_KNOB_BOOL(...)
#define HP_KNOB_CHOICE(field, name, def, words, ...) extern const char *words(unsigned i);
#define HP_KNOB_TEXT(field, name, def, checker, ...)                                                         \
    extern bool checker(const char *text, char *error, unsigned error_bytes);
#include "base/knobs.def"
#undef HP_KNOB_INT
#undef HP_KNOB_BOOL
#undef HP_KNOB_CHOICE
#undef HP_KNOB_TEXT

/* The check of knobs that name a file: whether it is there is seen when it is opened. */
bool hp_knob_check_file(const char *text, char *error, unsigned error_bytes)
{
    (void)text;
    (void)error;
    (void)error_bytes;
    return true;
}

bool hp_knob_check_signal(const char *text, char *error, unsigned error_bytes)
{
    const bool known = hp_word_signal(text) >= 0;
    if (!known)
        snprintf(error, error_bytes, "accepted: %s", hp_knob_info(HP_KNOB_ID_stats_signal)->accepted);
    return known;
}

static const hp_knob_info_t infos[HP_KNOB_COUNT] = {
#define COMMON(field, name, knob_kind, knob_scope, help)                                                     \
    .variable = "HANPMPI_" #name, .kind = HP_KNOB_KIND_##knob_kind, .scope = HP_KNOB_SCOPE_##knob_scope,     \
    .text = help, .offset = offsetof(hp_knobs_t, field)
#define HP_KNOB_INT(field, name, def, min, max, scope, help)                                                 \
    [HP_KNOB_ID_##field] = {COMMON(field, name, INT, scope, help), .default_value = def, .minimum = min,     \
                            .maximum = max},
#define HP_KNOB_BOOL(field, name, def, min, max, scope, help)                                                \
    [HP_KNOB_ID_##field] = {COMMON(field, name, BOOL, scope, help), .default_value = def, .minimum = min,    \
                            .maximum = max},
#define HP_KNOB_CHOICE(field, name, def, words, unused, scope, help)                                         \
    [HP_KNOB_ID_##field] = {COMMON(field, name, CHOICE, scope, help), .default_value = def, .word = words},
#define HP_KNOB_TEXT(field, name, def, checker, accepts, scope, help)                                        \
    [HP_KNOB_ID_##field] = {COMMON(field, name, TEXT, scope, help), .default_text = def, .check = checker,   \
                            .accepted = accepts},
#include "base/knobs.def"
#undef HP_KNOB_INT
#undef HP_KNOB_BOOL
#undef HP_KNOB_CHOICE
#undef HP_KNOB_TEXT
#undef COMMON
};

const hp_knob_info_t *hp_knob_info(hp_knob_id_t id)
{
    return &infos[id];
}

static int64_t *value_at(hp_knobs_t *knobs, hp_knob_id_t id)
{
    return (int64_t *)((char *)knobs + infos[id].offset);
}

static char *text_at(hp_knobs_t *knobs, hp_knob_id_t id)
{
    return (char *)knobs + infos[id].offset;
}

static void set_default(hp_knobs_t *knobs, hp_knob_id_t id)
{
    if (infos[id].kind == HP_KNOB_KIND_TEXT)
        snprintf(text_at(knobs, id), HP_KNOB_TEXT_BYTES, "%s", infos[id].default_text);
    else
        *value_at(knobs, id) = infos[id].default_value;
}

bool hp_knob_parse(hp_knobs_t *knobs, hp_knob_id_t id, const char *value, char *error, unsigned error_bytes)
{
    const hp_knob_info_t *info = &infos[id];
    char range[HP_KNOB_RANGE_BYTES];
    int64_t number;
    unsigned index;
    bool truth;

    switch (info->kind) {
    case HP_KNOB_KIND_BOOL:
        if (hp_word_boolean(value, &truth)) {
            *value_at(knobs, id) = truth;
            return true;
        }
        break;
    case HP_KNOB_KIND_INT:
        if (hp_word_integer(value, &number) && number >= info->minimum && number <= info->maximum) {
            *value_at(knobs, id) = number;
            return true;
        }
        break;
    case HP_KNOB_KIND_CHOICE:
        if (hp_word_find(value, info->word, &index)) {
            *value_at(knobs, id) = index;
            return true;
        }
        break;
    case HP_KNOB_KIND_TEXT:
        if (strlen(value) >= HP_KNOB_TEXT_BYTES) {
            snprintf(error, error_bytes, "longer than %d characters", HP_KNOB_TEXT_BYTES - 1);
            return false;
        }
        if (!info->check(value, error, error_bytes))
            return false;
        snprintf(text_at(knobs, id), HP_KNOB_TEXT_BYTES, "%s", value);
        return true;
    }
    snprintf(error, error_bytes, "accepted: %s", hp_knob_range(id, range, sizeof range));
    return false;
}

const char *hp_knob_format(const hp_knobs_t *knobs, hp_knob_id_t id, char *buffer, unsigned buffer_bytes)
{
    const char *place = (const char *)knobs + infos[id].offset;
    int64_t value;

    if (infos[id].kind == HP_KNOB_KIND_TEXT) {
        snprintf(buffer, buffer_bytes, "%s", place);
        return buffer;
    }
    memcpy(&value, place, sizeof value);
    if (infos[id].kind == HP_KNOB_KIND_CHOICE)
        snprintf(buffer, buffer_bytes, "%s", infos[id].word((unsigned)value));
    else
        snprintf(buffer, buffer_bytes, "%lld", (long long)value);
    return buffer;
}

const char *hp_knob_range(hp_knob_id_t id, char *buffer, unsigned buffer_bytes)
{
    const hp_knob_info_t *info = &infos[id];
    unsigned used = 0;

    buffer[0] = '\0';
    switch (info->kind) {
    case HP_KNOB_KIND_INT:
        snprintf(buffer, buffer_bytes, "%lld..%lld", (long long)info->minimum, (long long)info->maximum);
        break;
    case HP_KNOB_KIND_BOOL:
        snprintf(buffer, buffer_bytes, HP_WORD_BOOLEANS);
        break;
    case HP_KNOB_KIND_CHOICE:
        for (unsigned i = 0; info->word(i) && used < buffer_bytes; i++)
            used +=
                (unsigned)snprintf(buffer + used, buffer_bytes - used, "%s%s", i ? ", " : "", info->word(i));
        break;
    case HP_KNOB_KIND_TEXT:
        snprintf(buffer, buffer_bytes, "%s", info->accepted);
        break;
    }
    return buffer;
}

static hp_knob_id_t find_variable(const char *name, size_t length)
{
    for (unsigned id = 0; id < HP_KNOB_COUNT; id++)
        if (strlen(infos[id].variable) == length && memcmp(infos[id].variable, name, length) == 0)
            return (hp_knob_id_t)id;
    return HP_KNOB_COUNT;
}

/* Those of libhanpmpi-noise.so (tuning/noise), which reads and checks their values itself. */
static const char *const noise_variables[] = {
#define HP_NOISE_VARIABLE(name) name,
#include "base/noise_variables.def"
#undef HP_NOISE_VARIABLE
};

enum { NOISE_VARIABLES = sizeof noise_variables / sizeof *noise_variables };

static const char *variable(unsigned i)
{
    if (i < HP_KNOB_COUNT)
        return infos[i].variable;
    return i < HP_KNOB_COUNT + NOISE_VARIABLES ? noise_variables[i - HP_KNOB_COUNT] : NULL;
}

static void report_unknown(const char *name, hp_knob_problem_fn_t problem, void *context)
{
    char line[256];

    snprintf(line, sizeof line, "unknown variable %.80s: did you mean %s? (hanpmpi_info lists all)", name,
             hp_word_nearest(name, variable));
    problem(context, line);
}

void hp_knobs_defaults(hp_knobs_t *out)
{
    memset(out, 0, sizeof *out); /* padding too: the structure is sent as bytes */
    for (unsigned id = 0; id < HP_KNOB_COUNT; id++)
        set_default(out, (hp_knob_id_t)id);
}

static bool is_of_noise(const char *name)
{
    for (unsigned i = 0; i < NOISE_VARIABLES; i++)
        if (strcmp(name, noise_variables[i]) == 0)
            return true;
    return false;
}

void hp_knobs_read(hp_knobs_t *out, bool *set, hp_knob_problem_fn_t problem, void *context)
{
    hp_knobs_defaults(out);
    for (unsigned id = 0; set && id < HP_KNOB_COUNT; id++)
        set[id] = false;
    for (char **entry = environ; entry && *entry; entry++) {
        const char *equals = strchr(*entry, '=');
        if (!equals || strncmp(*entry, prefix, sizeof prefix - 1) != 0)
            continue;
        char name[96], error[HP_KNOB_RANGE_BYTES + 32], line[HP_KNOB_RANGE_BYTES + 384];
        snprintf(name, sizeof name, "%.*s", (int)(equals - *entry), *entry);
        hp_knob_id_t id = find_variable(*entry, (size_t)(equals - *entry));
        if (id == HP_KNOB_COUNT) {
            if (problem && !is_of_noise(name))
                report_unknown(name, problem, context);
        } else if (hp_knob_parse(out, id, equals + 1, error, sizeof error)) {
            if (set)
                set[id] = true;
        } else if (problem) {
            char standard[HP_KNOB_TEXT_BYTES];
            hp_knobs_t defaults;
            set_default(&defaults, id);
            snprintf(line, sizeof line, "%s=%.160s is not accepted (%s); using the default \"%s\"", name,
                     equals + 1, error, hp_knob_format(&defaults, id, standard, sizeof standard));
            problem(context, line);
        }
    }
}

void hp_knobs_adopt(hp_knobs_t *to, const hp_knobs_t *from)
{
    for (unsigned id = 0; id < HP_KNOB_COUNT; id++) {
        if (infos[id].scope != HP_KNOB_SCOPE_JOB)
            continue;
        size_t bytes = infos[id].kind == HP_KNOB_KIND_TEXT ? HP_KNOB_TEXT_BYTES : sizeof(int64_t);
        memcpy((char *)to + infos[id].offset, (const char *)from + infos[id].offset, bytes);
    }
}

hp_knob_id_t hp_knobs_difference(const hp_knobs_t *a, const hp_knobs_t *b)
{
    char a_text[HP_KNOB_TEXT_BYTES], b_text[HP_KNOB_TEXT_BYTES];
    for (unsigned id = 0; id < HP_KNOB_COUNT; id++)
        if (infos[id].scope == HP_KNOB_SCOPE_JOB &&
            strcmp(hp_knob_format(a, (hp_knob_id_t)id, a_text, sizeof a_text),
                   hp_knob_format(b, (hp_knob_id_t)id, b_text, sizeof b_text)) != 0)
            return (hp_knob_id_t)id;
    return HP_KNOB_COUNT;
}
