/* knobs: the settings of the library, read from HANPMPI_* environment variables.
 *
 * One table (knobs.def) gives parsing, defaults, ranges, help and the manual page. A bad value is reported
 * once, naming the variable, the value and what is accepted; then the default holds. Threads: hp_knobs_read
 * once at start-up; afterwards the structure is read-only. Ownership: hp_knobs_t is plain data (it travels
 * between ranks as bytes); the caller owns it. */
#ifndef HP_BASE_KNOBS_H
#define HP_BASE_KNOBS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "base/words.h"

enum { HP_KNOB_TEXT_BYTES = 160 };
/* What a setting accepts, as text: of the longest list of words. */
enum { HP_KNOB_RANGE_BYTES = 640 };

typedef struct {
#define HP_KNOB_INT(field, ...)    int64_t field;
#define HP_KNOB_BOOL(field, ...)   int64_t field;
#define HP_KNOB_CHOICE(field, ...) int64_t field; /* index of the word */
#define HP_KNOB_TEXT(field, ...)   char field[HP_KNOB_TEXT_BYTES];
#include "base/knobs.def"
#undef HP_KNOB_INT
#undef HP_KNOB_BOOL
#undef HP_KNOB_CHOICE
#undef HP_KNOB_TEXT
} hp_knobs_t;

typedef enum {
#define HP_KNOB_INT(field, ...)    HP_KNOB_ID_##field,
#define HP_KNOB_BOOL(field, ...)   HP_KNOB_ID_##field,
#define HP_KNOB_CHOICE(field, ...) HP_KNOB_ID_##field,
#define HP_KNOB_TEXT(field, ...)   HP_KNOB_ID_##field,
#include "base/knobs.def"
#undef HP_KNOB_INT
#undef HP_KNOB_BOOL
#undef HP_KNOB_CHOICE
#undef HP_KNOB_TEXT
    HP_KNOB_COUNT
} hp_knob_id_t;

typedef enum { HP_KNOB_KIND_INT, HP_KNOB_KIND_BOOL, HP_KNOB_KIND_CHOICE, HP_KNOB_KIND_TEXT } hp_knob_kind_t;
typedef enum { HP_KNOB_SCOPE_JOB, HP_KNOB_SCOPE_RANK } hp_knob_scope_t;

/* Checks a text: true, or false with what is wrong and what is accepted in error. */
typedef bool (*hp_knob_check_fn_t)(const char *text, char *error, unsigned error_bytes);

typedef struct {
    const char *variable; /* "HANPMPI_SEGMENT_BYTES" */
    hp_knob_kind_t kind;
    hp_knob_scope_t scope;
    int64_t default_value, minimum, maximum; /* INT, BOOL; CHOICE: default_value only */
    const char *default_text;                /* TEXT */
    hp_word_fn_t word;                       /* CHOICE */
    hp_knob_check_fn_t check;                /* TEXT */
    const char *accepted;                    /* TEXT: what the check accepts, for people */
    const char *text;                        /* one sentence for people */
    uint32_t offset;                         /* of the value in hp_knobs_t */
} hp_knob_info_t;

const hp_knob_info_t *hp_knob_info(hp_knob_id_t id);

/* Fills *out with the defaults. */
void hp_knobs_defaults(hp_knobs_t *out);

/* Receives one line per problem found while reading. */
typedef void (*hp_knob_problem_fn_t)(void *context, const char *line);

/* Fills *out from the environment. set (may be NULL; HP_KNOB_COUNT entries) tells which ones the environment
 * set. Bad values and HANPMPI_* variables that are not in the table go to problem (may be NULL), the latter
 * with the nearest known name. */
void hp_knobs_read(hp_knobs_t *out, bool *set, hp_knob_problem_fn_t problem, void *context);

/* Parses one value as the table says and stores it. Returns false with a reason in error and leaves *knobs
 * alone. Used for per-communicator hints as well, which take the same words. */
bool hp_knob_parse(hp_knobs_t *knobs, hp_knob_id_t id, const char *value, char *error, unsigned error_bytes);

/* The value of a knob as text, as it would be written in the environment. Returns buffer. */
const char *hp_knob_format(const hp_knobs_t *knobs, hp_knob_id_t id, char *buffer, unsigned buffer_bytes);
/* The accepted values as text: "0..1024", "auto, native, tree". Returns buffer. */
const char *hp_knob_range(hp_knob_id_t id, char *buffer, unsigned buffer_bytes);

/* Copies the JOB knobs of from over those of to; the RANK knobs of to stay. */
void hp_knobs_adopt(hp_knobs_t *to, const hp_knobs_t *from);
/* The first JOB knob in which the two differ, or HP_KNOB_COUNT. */
hp_knob_id_t hp_knobs_difference(const hp_knobs_t *a, const hp_knobs_t *b);

#endif
