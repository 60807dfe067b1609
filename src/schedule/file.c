/* file: the bytes of a file of schedules, and how one is written. file_json.c reads the text. */
#include "schedule/file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/text_file.h"

/* ---- reading ---- */

static hp_status_t refuse(const char *file, const char *reason, char *why, size_t why_bytes)
{
    snprintf(why, why_bytes, "%.300s: %s", file, reason);
    for (char *c = why; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
    return HP_ERR_ARG;
}

_Static_assert(HP_SCHEDULE_FILE_BYTES_MAX == 4 << 20, "the limit as text, below");

/* What is wrong with what was opened, as a file of schedules. NULL: nothing. */
static const char *wrong_kind(int fd, struct stat *found)
{
    return fd < 0 || fstat(fd, found) != 0               ? strerror(errno)
           : S_ISDIR(found->st_mode)                     ? "a directory, not a file of schedules"
           : !S_ISREG(found->st_mode)                    ? "not a regular file"
           : found->st_size > HP_SCHEDULE_FILE_BYTES_MAX ? "larger than 4 MiB"
                                                         : NULL;
}

hp_status_t hp_schedule_file_read(const char *file, hp_generator_t **generator, char *why, size_t why_bytes)
{
    /* O_NONBLOCK: a pipe that nobody writes to must not stop anybody. */
    const int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat found;
    hp_status_t status;

    *generator = NULL;
    const char *wrong = wrong_kind(fd, &found);
    char *text = wrong ? NULL : malloc((size_t)found.st_size + 1);
    const ssize_t length = text ? hp_text_file_read_all(fd, text, (size_t)found.st_size) : -1;
    if (length >= 0) {
        status = hp_schedule_file_parse(file, text, (size_t)length, generator, why, why_bytes);
    } else if (wrong || text) {
        status = refuse(file, wrong ? wrong : strerror(errno), why, why_bytes);
    } else {
        refuse(file, hp_status_text(HP_ERR_NO_MEM), why, why_bytes);
        status = HP_ERR_NO_MEM;
    }
    free(text);
    if (fd >= 0)
        close(fd);
    return status;
}

/* ---- writing ---- */

/* Writes a value and drops it. before: what stands before it. */
static bool put(FILE *out, const char *before, json_t *value)
{
    const bool written = value && fputs(before, out) >= 0 && json_dumpf(value, out, JSON_ENCODE_ANY) == 0;
    json_decref(value);
    return written;
}

static json_t *range_json(const hp_range_t *range)
{
    const char *space = hp_space_name(range->space);
    const json_int_t first = range->first, count = range->count;

    if (count == 1)
        return json_pack("[s, I]", space, first);
    if (range->count <= range->run)
        return json_pack("[s, I, I]", space, first, count);
    return json_pack("[s, I, I, I, I]", space, first, count, (json_int_t)range->run,
                     (json_int_t)range->stride);
}

static json_t *list_json(const hp_schedule_t *schedule, const hp_list_t *list)
{
    json_t *array = json_array();

    for (uint32_t i = 0; i < list->count; i++)
        json_array_append_new(array, range_json(&schedule->ranges[list->first + i]));
    return array;
}

static json_t *partner_json(int32_t position)
{
    return position < 0 ? json_null() : json_integer(position);
}

static json_t *step_json(const hp_schedule_t *schedule, const hp_step_t *step)
{
    if (step->sync)
        return json_pack("[o, o, s, i]", partner_json(step->to), partner_json(step->from), "sync",
                         step->stream);
    return json_pack("[o, o, s, i, o, o]", partner_json(step->to), partner_json(step->from),
                     hp_action_name(step->action), step->stream, list_json(schedule, &step->send),
                     list_json(schedule, &step->recv));
}

static bool write_head(FILE *out, const hp_problem_t *problem, uint32_t cut, const hp_generator_t *generator)
{
    json_t *parameters = json_object();
    bool written = put(out, "{\n  \"format\": ", json_integer(1)) &&
                   put(out, ",\n  \"comment\": ", json_string(generator->text)) &&
                   put(out, ",\n  \"pattern\": ", json_string(hp_pattern_name(problem->pattern))) &&
                   put(out, ",\n  \"positions\": ", json_integer(problem->count));

    if (hp_pattern_is(problem->pattern, HP_PATTERN_ROOTED))
        written = written && put(out, ",\n  \"root\": ", json_integer(problem->root));
    if (problem->ordered && hp_pattern_is(problem->pattern, HP_PATTERN_REDUCES))
        written = written && put(out, ",\n  \"ordered\": ", json_true());
    if (hp_pattern_is(problem->pattern, HP_PATTERN_CUT))
        written = written && put(out, ",\n  \"cut\": ", json_integer(cut));
    if (generator->in_flight)
        written = written && put(out, ",\n  \"in_flight\": ", json_integer(generator->in_flight));
    for (unsigned i = 0; i < HP_PARAMETERS_MAX && generator->parameters[i].name; i++)
        json_object_set_new(parameters, generator->parameters[i].name, json_integer(problem->parameter[i]));
    return put(out, ",\n  \"parameters\": ", parameters) && written;
}

static bool write_schedule(FILE *out, const hp_schedule_t *schedule)
{
    bool written = put(out, "    {\"scratch\": ", json_integer(schedule->scratch_blocks)) &&
                   fputs(", \"steps\": [", out) >= 0;

    for (uint32_t i = 0; i < schedule->step_count && written; i++)
        written = put(out, i ? ",\n      " : "\n      ", step_json(schedule, &schedule->steps[i]));
    return written && fputs("\n    ]}", out) >= 0;
}

hp_status_t hp_schedule_file_write(FILE *out, const hp_schedule_t *schedules, const hp_problem_t *problem,
                                   const hp_generator_t *generator)
{
    bool written =
        write_head(out, problem, schedules[0].cut, generator) && fputs(",\n  \"schedules\": [\n", out) >= 0;

    for (uint32_t position = 0; position < problem->count && written; position++)
        written = write_schedule(out, &schedules[position]) &&
                  fputs(position + 1 < problem->count ? ",\n" : "\n  ]\n}\n", out) >= 0;
    return written && !ferror(out) ? HP_OK : ferror(out) ? HP_ERR_ARG : HP_ERR_NO_MEM;
}
