/* file_json: reads the text of a file of schedules, checks it against the limits, and verifies it. */
#include <ctype.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/words.h"
#include "schedule/file.h"
#include "schedule/verify.h"

enum { NAME_BYTES = 64, COMMENT_BYTES = 512, SHOWN_BYTES = 48 };

/* What a generator that was read consists of. */
typedef struct {
    hp_generator_t generator; /* first: hp_schedule_file_free gets its address */
    hp_problem_t problem;
    hp_schedule_t *schedules;
    char name[NAME_BYTES], text[COMMENT_BYTES], parameter_names[HP_PARAMETERS_MAX][NAME_BYTES];
} stored_t;

typedef struct {
    const char *file;
    stored_t *stored;
    bool is_verified; /* it was found right before */
    uint32_t cut;
    uint64_t blocks_moved, contents; /* so far */
    int64_t position, step;          /* where the reader is; -1: in none */
    hp_status_t status;
    char *why;
    size_t why_bytes;
} reader_t;

/* ---- refusing ---- */

static void make_printable(char *line)
{
    for (; *line; line++)
        if ((unsigned char)*line < ' ' || *line == 127)
            *line = '?';
}

/* Says why in one line; returns false. */
__attribute__((format(printf, 3, 4))) static bool refuse(reader_t *reader, hp_status_t status,
                                                         const char *format, ...)
{
    char place[64] = "", reason[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    if (reader->step >= 0)
        snprintf(place, sizeof place, "position %lld, step %lld: ", (long long)reader->position,
                 (long long)reader->step);
    else if (reader->position >= 0)
        snprintf(place, sizeof place, "position %lld: ", (long long)reader->position);
    snprintf(reader->why, reader->why_bytes, "%.300s: %s%s", reader->file, place, reason);
    make_printable(reader->why);
    reader->status = status;
    return false;
}

/* A value as it stands in the file: its beginning. Returns text. */
static const char *show(const json_t *value, char *text)
{
    if (json_is_array(value) || json_is_object(value)) {
        snprintf(text, SHOWN_BYTES, json_is_array(value) ? "[...]" : "{...}");
        return text;
    }
    char *dump = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    snprintf(text, SHOWN_BYTES, "%s", dump ? dump : "?");
    free(dump);
    return text;
}

/* ---- values ---- */

static bool take_number(reader_t *reader, const char *what, const json_t *value, uint32_t least,
                        uint32_t most, uint32_t *out)
{
    char shown[SHOWN_BYTES];

    if (!value)
        return refuse(reader, HP_ERR_ARG, "there is no \"%s\"", what);
    if (!json_is_integer(value) || json_integer_value(value) < (json_int_t)least ||
        json_integer_value(value) > (json_int_t)most)
        return refuse(reader, HP_ERR_ARG, "%s: %s is not a whole number from %u to %u", what,
                      show(value, shown), least, most);
    *out = (uint32_t)json_integer_value(value);
    return true;
}

/* A position or null. */
static bool take_partner(reader_t *reader, const char *what, const json_t *value, int32_t *out)
{
    uint32_t partner;

    *out = HP_NO_POSITION;
    if (json_is_null(value))
        return true;
    if (!take_number(reader, what, value, 0, reader->stored->problem.count - 1, &partner))
        return false;
    *out = (int32_t)partner;
    return true;
}

static const char *const file_keys[] = {"format", "comment",   "pattern",    "positions", "root", "ordered",
                                        "cut",    "in_flight", "parameters", "schedules", NULL};
static const char *const schedule_keys[] = {"scratch", "steps", NULL};

static const char *file_key(unsigned i)
{
    return file_keys[i];
}

static const char *schedule_key(unsigned i)
{
    return schedule_keys[i];
}

static bool check_keys(reader_t *reader, json_t *object, hp_word_fn_t word)
{
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        unsigned i = 0;
        while (word(i) && strcmp(word(i), key) != 0)
            i++;
        if (!word(i))
            return refuse(reader, HP_ERR_ARG, "unknown key \"%.40s\": did you mean \"%s\"?", key,
                          hp_word_nearest(key, word));
    }
    return true;
}

/* ---- the head ---- */

static const char *pattern_word(unsigned i)
{
    return i < HP_PATTERN_COUNT ? hp_pattern_name((hp_pattern_t)i) : NULL;
}

static bool take_pattern(reader_t *reader, const json_t *value)
{
    char shown[SHOWN_BYTES];

    if (!value)
        return refuse(reader, HP_ERR_ARG, "there is no \"pattern\"");
    const char *name = json_string_value(value);
    if (!name)
        return refuse(reader, HP_ERR_ARG, "pattern: %s is not a text", show(value, shown));
    const hp_pattern_t pattern = hp_pattern_find(name);
    if (pattern == HP_PATTERN_COUNT)
        return refuse(reader, HP_ERR_ARG, "pattern: %s is not one: did you mean \"%s\"?", show(value, shown),
                      hp_word_nearest(name, pattern_word));
    reader->stored->problem.pattern = pattern;
    return true;
}

static bool take_root(reader_t *reader, const json_t *value)
{
    hp_problem_t *problem = &reader->stored->problem;

    if (!value)
        return true;
    if (!hp_pattern_is(problem->pattern, HP_PATTERN_ROOTED))
        return refuse(reader, HP_ERR_ARG, "root: %s has none", hp_pattern_name(problem->pattern));
    return take_number(reader, "root", value, 0, problem->count - 1, &problem->root);
}

static bool take_ordered(reader_t *reader, const json_t *value)
{
    hp_problem_t *problem = &reader->stored->problem;
    char shown[SHOWN_BYTES];

    if (!value)
        return true;
    if (!json_is_boolean(value))
        return refuse(reader, HP_ERR_ARG, "ordered: %s is neither true nor false", show(value, shown));
    if (!hp_pattern_is(problem->pattern, HP_PATTERN_REDUCES))
        return refuse(reader, HP_ERR_ARG, "ordered: %s does not reduce", hp_pattern_name(problem->pattern));
    problem->ordered = json_is_true(value);
    return true;
}

static bool take_cut(reader_t *reader, const json_t *value)
{
    const hp_problem_t *problem = &reader->stored->problem;

    if (hp_pattern_is(problem->pattern, HP_PATTERN_CUT))
        return take_number(reader, "cut", value, 1, HP_SCHEDULE_FILE_BLOCKS_MAX, &reader->cut);
    return !value || refuse(reader, HP_ERR_ARG, "cut: %s has a block for each position",
                            hp_pattern_name(problem->pattern));
}

/* Does it consist of letters, digits, '_', '-' and '.', and fit a name? */
static bool is_name(const char *text, size_t length)
{
    if (length == 0 || length >= NAME_BYTES)
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("_-.", text[i]))
            return false;
    return true;
}

/* Each becomes a parameter that accepts nothing else. */
static bool take_parameters(reader_t *reader, json_t *object)
{
    stored_t *stored = reader->stored;
    unsigned i = 0;
    const char *key;
    json_t *value;

    if (object && !json_is_object(object))
        return refuse(reader, HP_ERR_ARG, "parameters: {\"name\": number} is accepted");
    if (json_object_size(object) > HP_PARAMETERS_MAX)
        return refuse(reader, HP_ERR_ARG, "parameters: %zu of them, at most %d are accepted",
                      json_object_size(object), HP_PARAMETERS_MAX);
    json_object_foreach(object, key, value)
    {
        uint32_t number;
        if (!is_name(key, strlen(key)))
            return refuse(reader, HP_ERR_ARG,
                          "parameters: \"%.40s\" is no name (1 to %d letters, digits, _, - and .)", key,
                          NAME_BYTES - 1);
        if (!take_number(reader, key, value, 1, INT32_MAX, &number))
            return false;
        snprintf(stored->parameter_names[i], NAME_BYTES, "%s", key);
        stored->problem.parameter[i] = number;
        stored->generator.parameters[i] = (hp_parameter_t){.name = stored->parameter_names[i],
                                                           .least = number,
                                                           .most = number,
                                                           .usual = number,
                                                           .text = "as in the file"};
        i++;
    }
    return true;
}

static bool take_comment(reader_t *reader, const json_t *value)
{
    char shown[SHOWN_BYTES];

    if (value && !json_is_string(value))
        return refuse(reader, HP_ERR_ARG, "comment: %s is not a text", show(value, shown));
    const char *comment = value ? json_string_value(value) : "from a file";
    size_t length = strnlen(comment, COMMENT_BYTES - 1);
    while ((comment[length] & 0xc0) == 0x80) /* it would be cut within a character of UTF-8 */
        length--;
    memcpy(reader->stored->text, comment, length);
    make_printable(reader->stored->text);
    return true;
}

static bool take_head(reader_t *reader, json_t *root)
{
    uint32_t format;

    if (!json_is_object(root) || !json_object_get(root, "schedules"))
        return refuse(reader, HP_ERR_ARG,
                      "not a file of schedules: {\"format\": 1, \"pattern\": ..., \"positions\": ..., "
                      "\"schedules\": [...]} is (man 5 hanpmpi-schedules)");
    if (!take_number(reader, "format", json_object_get(root, "format"), 1, 1, &format))
        return false;
    return check_keys(reader, root, file_key) && take_comment(reader, json_object_get(root, "comment")) &&
           take_pattern(reader, json_object_get(root, "pattern")) &&
           take_number(reader, "positions", json_object_get(root, "positions"), 1,
                       HP_SCHEDULE_FILE_POSITIONS_MAX, &reader->stored->problem.count) &&
           take_root(reader, json_object_get(root, "root")) &&
           take_ordered(reader, json_object_get(root, "ordered")) &&
           take_cut(reader, json_object_get(root, "cut")) &&
           (!json_object_get(root, "in_flight") ||
            take_number(reader, "in_flight", json_object_get(root, "in_flight"), 1, INT32_MAX,
                        &reader->stored->generator.in_flight)) &&
           take_parameters(reader, json_object_get(root, "parameters"));
}

/* ---- steps ---- */

/* The position's blocks of a space. */
static uint32_t blocks_of(const reader_t *reader, hp_space_t space)
{
    const hp_problem_t *problem = &reader->stored->problem;
    const uint32_t position = (uint32_t)reader->position;

    return space == HP_SPACE_SCRATCH ? reader->stored->schedules[position].scratch_blocks
                                     : hp_problem_blocks(problem, reader->cut, space, position);
}

/* Its last block, of which there may be too many to count in 32 bits. */
static uint64_t last_of(const hp_range_t *range)
{
    const uint64_t i = range->count - 1;
    return range->first + i / range->run * range->stride + i % range->run;
}

static bool check_range(reader_t *reader, const hp_range_t *range)
{
    const uint32_t blocks = blocks_of(reader, range->space);

    if (range->count > range->run && range->stride < range->run)
        return refuse(reader, HP_ERR_ARG, "a stride of %u for runs of %u blocks: they overlap", range->stride,
                      range->run);
    const uint64_t last = last_of(range);
    if (last >= blocks)
        return refuse(reader, HP_ERR_ARG, "block %llu of %s is not there: %s has %u blocks",
                      (unsigned long long)last, hp_space_name(range->space), hp_space_name(range->space),
                      blocks);
    return true;
}

static bool take_range(reader_t *reader, const char *what, const json_t *value, hp_range_t *range)
{
    const size_t size = json_array_size(value);
    char shown[SHOWN_BYTES];

    if (!json_is_array(value) || (size != 2 && size != 3 && size != 5))
        return refuse(reader, HP_ERR_ARG,
                      "%s: a range is [space, first], [space, first, count] or [space, first, count, run, "
                      "stride]",
                      what);
    const char *name = json_string_value(json_array_get(value, 0));
    const hp_space_t space = name ? hp_space_find(name) : HP_SPACE_COUNT;
    if (space == HP_SPACE_COUNT)
        return refuse(reader, HP_ERR_ARG, "%s: %s is no space (accepted: send, recv, scratch)", what,
                      show(json_array_get(value, 0), shown));
    *range = hp_range(space, 0, 1);
    if (!take_number(reader, "first", json_array_get(value, 1), 0, UINT32_MAX, &range->first) ||
        (size > 2 && !take_number(reader, "count", json_array_get(value, 2), 1, UINT32_MAX, &range->count)))
        return false;
    range->run = range->stride = range->count;
    if (size == 5 &&
        (!take_number(reader, "run", json_array_get(value, 3), 1, UINT32_MAX, &range->run) ||
         !take_number(reader, "stride", json_array_get(value, 4), 1, UINT32_MAX, &range->stride)))
        return false;
    return check_range(reader, range);
}

/* Work and memory of the verification so far. */
static bool count_blocks(reader_t *reader, uint64_t blocks)
{
    const uint32_t count = reader->stored->problem.count;

    reader->blocks_moved += blocks;
    return reader->blocks_moved * (count < 64 ? 64 : count) <= HP_SCHEDULE_FILE_WORK_MAX ||
           refuse(reader, HP_ERR_ARG,
                  "too large to be verified: more than %llu blocks in messages of %u positions",
                  (unsigned long long)(HP_SCHEDULE_FILE_WORK_MAX / (count < 64 ? 64 : count)), count);
}

static bool count_contents(reader_t *reader, uint64_t blocks)
{
    const uint64_t content_bytes = 24 + (reader->stored->problem.count + 63) / 64 * 8;

    reader->contents += blocks;
    return reader->contents * content_bytes <= (uint64_t)HP_SCHEDULE_FILE_CONTENT_MIB << 20 ||
           refuse(reader, HP_ERR_ARG,
                  "too large to be verified: the blocks of all positions would take more than %d MiB",
                  HP_SCHEDULE_FILE_CONTENT_MIB);
}

static bool take_list(reader_t *reader, const char *what, const json_t *list, uint64_t *blocks)
{
    hp_schedule_t *schedule = &reader->stored->schedules[reader->position];
    size_t i;
    json_t *value;

    *blocks = 0;
    if (list && !json_is_array(list))
        return refuse(reader, HP_ERR_ARG, "%s is not a list of ranges", what);
    json_array_foreach((json_t *)list, i, value)
    {
        hp_range_t range;
        if (!take_range(reader, what, value, &range) || !count_blocks(reader, range.count))
            return false;
        *blocks += range.count;
        if (what[0] == 's')
            hp_schedule_sends(schedule, range);
        else
            hp_schedule_receives(schedule, range);
    }
    return true;
}

static bool take_action(reader_t *reader, const json_t *value, hp_action_t *action, bool *sync)
{
    const char *name = json_string_value(value);
    char shown[SHOWN_BYTES];

    *sync = name && strcmp(name, "sync") == 0;
    *action = *sync ? HP_ACTION_STORE : name ? hp_action_find(name) : HP_ACTION_COUNT;
    return *action != HP_ACTION_COUNT ||
           refuse(reader, HP_ERR_ARG, "%s is no action (accepted: store, reduce_left, reduce_right, sync)",
                  show(value, shown));
}

/* largest: blocks of the position's largest message so far. */
static bool take_step(reader_t *reader, const json_t *value, uint64_t *largest)
{
    hp_schedule_t *schedule = &reader->stored->schedules[reader->position];
    const size_t size = json_array_size(value);
    int32_t to, from;
    uint32_t stream;
    uint64_t sent, received;
    hp_action_t action;
    bool sync;

    if (!json_is_array(value) || (size != 4 && size != 6))
        return refuse(reader, HP_ERR_ARG,
                      "a step is [to, from, action, stream, send, recv], without the last two if it is sync");
    if (!take_partner(reader, "to", json_array_get(value, 0), &to) ||
        !take_partner(reader, "from", json_array_get(value, 1), &from) ||
        !take_action(reader, json_array_get(value, 2), &action, &sync) ||
        !take_number(reader, "stream", json_array_get(value, 3), 0, HP_STREAMS_MAX - 1, &stream))
        return false;
    schedule->stream = (uint8_t)stream;
    hp_schedule_step(schedule, to, from, action);
    if (schedule->status == HP_OK)
        schedule->steps[schedule->step_count - 1].sync = sync;
    if (!take_list(reader, "send", json_array_get(value, 4), &sent) ||
        !take_list(reader, "recv", json_array_get(value, 5), &received))
        return false;
    if (schedule->status != HP_OK)
        return refuse(reader, schedule->status, "%s", hp_status_text(schedule->status));
    if (sent > *largest && !count_contents(reader, sent - *largest))
        return false;
    *largest = sent > *largest ? sent : *largest;
    return true;
}

static bool take_schedule(reader_t *reader, json_t *object)
{
    hp_schedule_t *schedule = &reader->stored->schedules[reader->position];
    const json_t *scratch = json_object_get(object, "scratch"), *steps = json_object_get(object, "steps");
    uint64_t largest = 0;
    size_t i;
    json_t *value;

    if (!json_is_object(object) || !json_is_array(steps))
        return refuse(reader, HP_ERR_ARG, "a schedule is {\"scratch\": blocks, \"steps\": [...]}");
    schedule->cut = reader->cut;
    if (!check_keys(reader, object, schedule_key) ||
        (scratch &&
         !take_number(reader, "scratch", scratch, 0, HP_SCHEDULE_FILE_BLOCKS_MAX, &schedule->scratch_blocks)))
        return false;
    for (unsigned space = 0; space < HP_SPACE_COUNT; space++)
        if (!count_contents(reader, blocks_of(reader, (hp_space_t)space)))
            return false;
    json_array_foreach((json_t *)steps, i, value)
    {
        reader->step = (int64_t)i;
        if (!take_step(reader, value, &largest))
            return false;
    }
    reader->step = -1;
    return true;
}

static bool take_schedules(reader_t *reader, json_t *list)
{
    stored_t *stored = reader->stored;
    size_t i;
    json_t *value;

    if (json_array_size(list) != stored->problem.count)
        return refuse(reader, HP_ERR_ARG, "schedules: %zu of them for %u positions", json_array_size(list),
                      stored->problem.count);
    stored->schedules = calloc(stored->problem.count, sizeof *stored->schedules);
    if (!stored->schedules)
        return refuse(reader, HP_ERR_NO_MEM, "%s", hp_status_text(HP_ERR_NO_MEM));
    json_array_foreach(list, i, value)
    {
        reader->position = (int64_t)i;
        if (!take_schedule(reader, value))
            return false;
    }
    reader->position = -1;
    return true;
}

static bool verify(reader_t *reader)
{
    hp_fault_t fault;
    const hp_status_t status =
        hp_schedules_verify(reader->stored->schedules, &reader->stored->problem, &fault);

    return status == HP_OK ||
           refuse(reader, status, "%s", status == HP_ERR_ARG ? fault.text : hp_status_text(status));
}

/* ---- all of it ---- */

static bool take_name(reader_t *reader)
{
    const char *slash = strrchr(reader->file, '/'), *name = slash ? slash + 1 : reader->file;
    size_t length = strlen(name);

    if (length > 5 && strcmp(name + length - 5, ".json") == 0)
        length -= 5;
    if (!is_name(name, length))
        return refuse(reader, HP_ERR_ARG,
                      "its name cannot be an algorithm's (1 to %d letters, digits, _, - and .)",
                      NAME_BYTES - 1);
    snprintf(reader->stored->name, NAME_BYTES, "%.*s", (int)length, name);
    return true;
}

/* Without memory the JSON library fails with no word of what or where. */
static bool refuse_text(reader_t *reader, const json_error_t *error)
{
    if (json_error_code(error) == json_error_out_of_memory || !error->text[0])
        return refuse(reader, HP_ERR_NO_MEM, "%s", hp_status_text(HP_ERR_NO_MEM));
    return refuse(reader, HP_ERR_ARG, "line %d, column %d: %s", error->line, error->column, error->text);
}

static bool take_text(reader_t *reader, const char *text, size_t length)
{
    json_error_t error = {.text = ""};

    if (length > HP_SCHEDULE_FILE_BYTES_MAX)
        return refuse(reader, HP_ERR_ARG, "larger than %d MiB", HP_SCHEDULE_FILE_BYTES_MAX >> 20);
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        return refuse_text(reader, &error);
    const bool taken = take_head(reader, root) && take_schedules(reader, json_object_get(root, "schedules"));
    json_decref(root);
    return taken && (reader->is_verified || verify(reader));
}

static bool all_are_direct(const stored_t *stored)
{
    for (uint32_t i = 0; i < stored->problem.count; i++)
        if (!hp_schedule_is_direct(&stored->schedules[i], &stored->problem, i))
            return false;
    return true;
}

static void complete(stored_t *stored)
{
    const hp_problem_t *problem = &stored->problem;
    hp_generator_t *generator = &stored->generator;

    generator->name = stored->name;
    generator->text = stored->text;
    generator->patterns = 1u << problem->pattern;
    generator->ordered = problem->ordered ? generator->patterns : 0;
    generator->direct = all_are_direct(stored) ? generator->patterns : 0;
    generator->schedules = stored->schedules;
    generator->problem = problem;
}

static hp_status_t parse(const char *file, const char *text, size_t length, bool is_verified,
                         hp_generator_t **generator, char *why, size_t why_bytes)
{
    stored_t *stored = calloc(1, sizeof *stored);
    reader_t reader = {.file = file,
                       .stored = stored,
                       .is_verified = is_verified,
                       .position = -1,
                       .step = -1,
                       .why = why,
                       .why_bytes = why_bytes};

    *generator = NULL;
    if (!stored) {
        refuse(&reader, HP_ERR_NO_MEM, "%s", hp_status_text(HP_ERR_NO_MEM));
        return HP_ERR_NO_MEM;
    }
    if (take_name(&reader) && take_text(&reader, text, length)) {
        complete(stored);
        *generator = &stored->generator;
        return HP_OK;
    }
    hp_schedule_file_free(&stored->generator);
    return reader.status;
}

hp_status_t hp_schedule_file_parse(const char *file, const char *text, size_t length,
                                   hp_generator_t **generator, char *why, size_t why_bytes)
{
    return parse(file, text, length, false, generator, why, why_bytes);
}

hp_status_t hp_schedule_file_parse_verified(const char *file, const char *text, size_t length,
                                            hp_generator_t **generator, char *why, size_t why_bytes)
{
    return parse(file, text, length, true, generator, why, why_bytes);
}

void hp_schedule_file_free(hp_generator_t *generator)
{
    stored_t *stored = (stored_t *)generator;

    if (stored)
        hp_schedules_free(stored->schedules, stored->problem.count);
    free(stored);
}
