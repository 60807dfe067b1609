/* file: the schedules of one problem as JSON: an algorithm without recompiling. What is read is verified, so that it
 * can be run as it is.
 *
 *      {
 *        "format": 1,
 *        "comment": "a chain of three",
 *        "pattern": "bcast", "positions": 3, "root": 0,
 *        "cut": 1,
 *        "in_flight": 2,
 *        "parameters": {"blocks": 1},
 *        "schedules": [
 *          {"scratch": 0, "steps": [
 *            [1, null, "store", 0, [["recv", 0]], []]
 *          ]},
 *          ...
 *        ]
 *      }
 *
 * One entry of schedules for each position. A step is [to, from, action, stream, send, recv]; null: nothing is sent, or
 * received. An action is one of HP_ACTION_TABLE, or "sync", whose steps end at the stream. send and recv list ranges:
 * [space, first], [space, first, count] or [space, first, count, run, stride], as in schedule.h. "root" belongs to
 * patterns that have one, "cut" to those that cut a vector, "ordered": true to reductions that keep the operands in
 * order. "in_flight" is the generator's: so many steps of a position are under way at most. It, "comment", "parameters"
 * (what whoever wrote the file chose; a generator that was read accepts just that), "root" and "ordered" may be left
 * out; so may "scratch".
 *
 * The algorithm has the file's name, without ".json". What is larger than the limits below is refused before memory or
 * time is spent on it.
 *
 * Threads: pure, but for the file system. Ownership: the caller frees what was read with hp_schedule_file_free. */
#ifndef HP_SCHEDULE_FILE_H
#define HP_SCHEDULE_FILE_H

#include <stdio.h>
#include "schedule/generator.h"

enum {
    HP_SCHEDULE_FILE_BYTES_MAX = 4 << 20, /* as JSON values up to 90 times as much: test_schedule_file */
    HP_SCHEDULE_FILE_POSITIONS_MAX = 4096,
    HP_SCHEDULE_FILE_BLOCKS_MAX = 1 << 20, /* of a vector, of scratch */
    HP_SCHEDULE_FILE_CONTENT_MIB = 256,    /* memory that the verification may take */
    HP_SCHEDULE_FILE_WHY_BYTES = 1024
};
/* Blocks in all messages times positions: a few seconds of verification. */
#define HP_SCHEDULE_FILE_WORK_MAX (UINT64_C(1) << 31)

/* Writes the schedules of all positions. generator: what made them; its text, its parameters' names and how many
 * steps it has under way are written, too. HP_OK, HP_ERR_NO_MEM, or HP_ERR_ARG where the stream did not take it all. */
hp_status_t hp_schedule_file_write(FILE *out, const hp_schedule_t *schedules, const hp_problem_t *problem,
                                   const hp_generator_t *generator);

/* Reads a text as the file of that name. HP_OK: *generator can be used. HP_ERR_ARG, HP_ERR_NO_MEM: why says "file:
 * position 3, step 5: reason", in one line without control characters. */
hp_status_t hp_schedule_file_parse(const char *file, const char *text, size_t length,
                                   hp_generator_t **generator, char *why, size_t why_bytes);
/* The same of a text that somebody else has read and found right: it is not verified once more. */
hp_status_t hp_schedule_file_parse_verified(const char *file, const char *text, size_t length,
                                            hp_generator_t **generator, char *why, size_t why_bytes);
/* The same of the file. Whatever cannot be read is HP_ERR_ARG, too. */
hp_status_t hp_schedule_file_read(const char *file, hp_generator_t **generator, char *why, size_t why_bytes);
void hp_schedule_file_free(hp_generator_t *generator);

#endif
