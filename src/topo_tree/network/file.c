#include "topo_tree/network/file.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/grow.h"
#include "base/text_file.h"
#include "topo_tree/network/ibnetdiscover.h"
#include "topo_tree/network/json.h"
#include "topo_tree/network/names.h"
#include "topo_tree/network/reader.h"
#include "topo_tree/network/slurm.h"

/* The words of a statement. */
typedef struct {
    char **words;
    uint32_t count, room;
} statement_t;

static const char *const statements = "expected \"hosts NAME ... on SWITCH [RATE [LATENCY]]\", \"A - B [RATE "
                                      "[LATENCY]]\", \"links RATE [LATENCY]\", \"inside RATE [LATENCY]\" or "
                                      "\"queue BYTES\"";

/* The words from the i-th on: [RATE [LATENCY]]. */
static bool take_speeds(hp_network_reader_t *reader, const statement_t *statement, uint32_t i,
                        hp_network_speed_t *there, hp_network_speed_t *back)
{
    if (i < statement->count &&
        !hp_network_take_rates(reader, statement->words[i], &there->rate, &back->rate))
        return false;
    if (i + 1 < statement->count &&
        !hp_network_take_latency(reader, statement->words[i + 1], &there->latency_us))
        return false;
    back->latency_us = there->latency_us;
    return i + 2 >= statement->count ||
           hp_network_refuse(reader, "\"%.40s\" after the latency: expected the statement's end",
                             statement->words[i + 2]);
}

static bool take_hosts(hp_network_reader_t *reader, const statement_t *statement)
{
    hp_network_speed_t up = reader->usual, down = up;
    uint32_t on = 1;

    while (on < statement->count && strcmp(statement->words[on], "on") != 0)
        on++;
    if (on == 1 || on + 1 >= statement->count)
        return hp_network_refuse(reader, "hosts without %s: expected \"hosts NAME ... on SWITCH\"",
                                 on == 1 ? "a name" : "a switch");
    if (!take_speeds(reader, statement, on + 2, &up, &down))
        return false;
    const int32_t node = hp_network_take_switch(reader, statement->words[on + 1], true);
    for (uint32_t i = 1; i < on && node >= 0; i++)
        if (!hp_network_take_hosts(reader, statement->words[i], (uint32_t)node, up, down))
            return false;
    return node >= 0;
}

static bool take_link(hp_network_reader_t *reader, const statement_t *statement)
{
    hp_network_speed_t there = reader->usual, back = there;

    if (!take_speeds(reader, statement, 3, &there, &back))
        return false;
    const int32_t a = hp_network_take_switch(reader, statement->words[0], true);
    const int32_t b = a < 0 ? -1 : hp_network_take_switch(reader, statement->words[2], true);
    return b >= 0 && hp_network_take_link(reader, (uint32_t)a, (uint32_t)b, there, back);
}

static bool take_one_speed(hp_network_reader_t *reader, const statement_t *statement,
                           hp_network_speed_t *speed)
{
    if (statement->count < 2)
        return hp_network_refuse(reader, "%s without a rate: %s", statement->words[0], statements);
    hp_network_speed_t there = {.latency_us = speed->latency_us}, back;
    if (!take_speeds(reader, statement, 1, &there, &back))
        return false;
    if (there.rate != back.rate)
        return hp_network_refuse(reader, "two rates: expected one");
    *speed = there;
    return true;
}

static bool take_queue(hp_network_reader_t *reader, const statement_t *statement)
{
    return statement->count == 2 ? hp_network_take_queue(reader, statement->words[1])
                                 : hp_network_refuse(reader,
                                                     "queue with %" PRIu32
                                                     " words: expected \"queue BYTES\" or \"queue lossless\"",
                                                     statement->count - 1);
}

static bool take_statement(hp_network_reader_t *reader, const statement_t *statement)
{
    if (statement->count == 0)
        return true;
    if (statement->count >= 3 && strcmp(statement->words[1], "-") == 0)
        return take_link(reader, statement);
    if (strcmp(statement->words[0], "hosts") == 0)
        return take_hosts(reader, statement);
    if (strcmp(statement->words[0], "links") == 0)
        return take_one_speed(reader, statement, &reader->usual);
    if (strcmp(statement->words[0], "inside") == 0)
        return take_one_speed(reader, statement, &reader->network->inside);
    if (strcmp(statement->words[0], "queue") == 0)
        return take_queue(reader, statement);
    return hp_network_refuse(reader, "\"%.40s\" begins no statement: %s", statement->words[0], statements);
}

static bool add_word(hp_network_reader_t *reader, statement_t *statement, char *word)
{
    if (!hp_grow(&statement->words, &statement->room, statement->count, sizeof *statement->words, 16))
        return hp_network_no_memory(reader);
    statement->words[statement->count++] = word;
    return true;
}

static void enter_line(hp_network_reader_t *reader, uint32_t line)
{
    reader->line = line;
    hp_network_place_at(reader, line);
}

/* text ends with a 0, which is not among the length bytes; it is cut into words. */
static bool take_text(hp_network_reader_t *reader, char *text, size_t length, statement_t *statement)
{
    char *end = text + length;
    bool fine = true;

    enter_line(reader, 1);
    for (char *at = text; at <= end && fine;) {
        char *word = at;
        while (at < end && !isspace((unsigned char)*at) && !strchr(";#", *at))
            at++;
        const char stop = at < end ? *at : '\n';
        if (stop == '#')
            while (at < end && *at != '\n')
                at++;
        *(stop == '#' ? word + strcspn(word, "#") : at) = '\0';
        if (*word)
            fine = add_word(reader, statement, word);
        if (fine && (stop == ';' || stop == '\n' || stop == '#')) {
            fine = take_statement(reader, statement);
            statement->count = 0;
        }
        if (stop == '\n' || stop == '#')
            enter_line(reader, reader->line + 1);
        at++;
    }
    return fine && hp_network_take_all(reader);
}

/* A 0 would end a line early, so none is accepted in any form that is cut into lines. */
static bool check_bytes(hp_network_reader_t *reader, const char *text, size_t length)
{
    const char *zero = memchr(text, '\0', length);
    uint32_t line = 1;

    if (!zero)
        return true;
    for (const char *c = text; c < zero; c++)
        line += *c == '\n';
    hp_network_place_at(reader, line);
    return hp_network_refuse(reader, "a byte 0: expected text");
}

/* text: as in take_text. */
static void take_lines(hp_network_reader_t *reader, char *text, size_t length)
{
    statement_t statement = {.words = NULL};

    if (hp_network_is_slurm(text))
        hp_network_take_slurm(reader, text, length);
    else if (hp_network_is_ibnetdiscover(text))
        hp_network_take_ibnetdiscover(reader, text, length);
    else
        take_text(reader, text, length, &statement);
    free(statement.words);
}

hp_status_t hp_network_parse(hp_network_t *network, const char *file, const char *text, size_t length,
                             char *why, size_t why_bytes)
{
    hp_network_reader_t reader = {.network = network,
                                  .file = file,
                                  .usual = {.rate = HP_NETWORK_RATE},
                                  .status = HP_OK,
                                  .why = why,
                                  .why_bytes = why_bytes};
    size_t blanks = 0;

    while (blanks < length && isspace((unsigned char)text[blanks]))
        blanks++;
    if (blanks < length && text[blanks] == '{') {
        hp_network_take_json(&reader, text, length);
    } else if (check_bytes(&reader, text, length)) {
        char *copy = malloc(length + 1);
        if (copy) {
            memcpy(copy, text, length);
            copy[length] = '\0';
            take_lines(&reader, copy, length);
        } else {
            hp_network_no_memory(&reader);
        }
        free(copy);
    }
    free(reader.lines);
    return reader.status;
}

hp_status_t hp_network_read_text(hp_network_t *network, const char *file, char **text, size_t *length,
                                 char *why, size_t why_bytes)
{
    hp_network_reader_t reader = {.file = file, .why = why, .why_bytes = why_bytes};
    const char *reason;
    hp_status_t status = hp_text_file_read(file, HP_NETWORK_FILE_BYTES_MAX, text, length, &reason);

    if (status != HP_OK) {
        hp_network_refuse(&reader, "%s: expected a network as text or JSON", reason);
        return status;
    }
    status = hp_network_parse(network, file, *text, *length, why, why_bytes);
    if (status != HP_OK) {
        free(*text);
        *text = NULL;
    }
    return status;
}

hp_status_t hp_network_read(hp_network_t *network, const char *file, char *why, size_t why_bytes)
{
    char *text;
    size_t length;
    const hp_status_t status = hp_network_read_text(network, file, &text, &length, why, why_bytes);

    free(text);
    return status;
}
