#include "recording.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 1, PATH_BYTES = 128 };
/* Times a type's bytes, which are an int, they fit in 64 bits. */
#define COUNT_MAX (INT64_MAX >> 32)

typedef struct {
    replay_recording_t *recording;
    const char *file;
    char *error;
} reader_t;

__attribute__((format(printf, 2, 3))) static bool refuse(const reader_t *reader, const char *format, ...)
{
    va_list values;
    const int used = snprintf(reader->error, REPLAY_ERROR_BYTES, "%.200s: ", reader->file);

    va_start(values, format);
    vsnprintf(reader->error + used, REPLAY_ERROR_BYTES - (size_t)used, format, values);
    va_end(values);
    return false;
}

void *replay_allocate(size_t count, size_t bytes)
{
    void *memory = calloc(count + 1, bytes);
    if (!memory) {
        fprintf(stderr, "no memory for the recording: record fewer calls (HANPMPI_PROFILE_SEQUENCE)\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

static const char *text_of(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* A member that has to be an array. */
static bool array_of(const reader_t *reader, json_t *object, const char *key, const char *path,
                     json_t **array)
{
    *array = json_object_get(object, key);
    return json_is_array(*array) ? true : refuse(reader, "%s%s: expected is an array", path, key);
}

/* A whole number from least to most. */
static bool whole_of(const reader_t *reader, json_t *value, const char *path, int64_t least, int64_t most,
                     int64_t *whole)
{
    if (!json_is_integer(value) || json_integer_value(value) < least || json_integer_value(value) > most)
        return refuse(reader, "%s: expected is a whole number from %lld to %lld", path, (long long)least,
                      (long long)most);
    *whole = json_integer_value(value);
    return true;
}

/* ---- the sums ---- */

static bool is_collective(json_t *calls, int64_t call)
{
    return strcmp(text_of(json_array_get(calls, (size_t)call), "kind"), "collective") == 0;
}

static void read_sums(replay_recording_t *recording)
{
    json_t *calls = json_object_get(recording->document, "calls"), *each;
    double run_s = 0, mpi_s = 0; /* of all ranks */
    size_t i;

    json_array_foreach(json_object_get(recording->document, "per_rank"), i, each)
    {
        const double mine_s = json_number_value(json_object_get(each, "run_s"));
        recording->run_s = mine_s > recording->run_s ? mine_s : recording->run_s;
        run_s += mine_s;
        mpi_s += json_number_value(json_object_get(each, "mpi_s"));
    }
    json_array_foreach(json_object_get(recording->document, "records"), i, each)
    {
        if (!is_collective(calls, json_integer_value(json_object_get(each, "call"))))
            continue;
        recording->collectives_s +=
            json_number_value(json_object_get(each, "time_s")) / (double)recording->ranks;
        recording->accelerated += (uint64_t)json_integer_value(json_object_get(each, "accelerated"));
    }
    const double collectives_s = recording->collectives_s * recording->ranks;
    if (mpi_s > collectives_s && run_s >= mpi_s)
        recording->others_share = (mpi_s - collectives_s) / (run_s - collectives_s);
}

static const char *join_words(json_t *words)
{
    size_t bytes = 1, i;
    json_t *word;

    json_array_foreach(words, i, word) bytes += json_string_length(word) + 1;
    char *text = replay_allocate(bytes, 1), *at = text;
    json_array_foreach(words, i, word) at +=
        sprintf(at, "%s%s", i ? " " : "", json_is_string(word) ? json_string_value(word) : "");
    return text;
}

/* ---- the sequence ---- */

static bool read_comm(const reader_t *reader, json_t *object, const char *path, replay_comm_t *comm)
{
    json_t *list, *each;
    int64_t rank;
    size_t i;
    bool good = true;

    if (!array_of(reader, object, "world_ranks", path, &list))
        return false;
    bool *is_member = replay_allocate((size_t)reader->recording->ranks, sizeof *is_member);
    comm->world_ranks = replay_allocate(json_array_size(list), sizeof *comm->world_ranks);
    json_array_foreach(list, i, each)
    {
        good = whole_of(reader, each, path, 0, reader->recording->ranks - 1, &rank) &&
               (!is_member[rank] || refuse(reader, "%sworld_ranks: rank %d is there twice", path, (int)rank));
        if (!good)
            break;
        is_member[rank] = true;
        comm->world_ranks[comm->size++] = (int)rank;
    }
    free(is_member);
    return good && (comm->size > 0 || refuse(reader, "%sworld_ranks: expected is at least one rank", path));
}

static bool read_counts(const reader_t *reader, json_t *object, const char *key, const char *path, int size,
                        int64_t **counts)
{
    json_t *list = json_object_get(object, key), *each;
    char where[PATH_BYTES];
    size_t i;

    *counts = NULL;
    if (!list || json_is_null(list))
        return true;
    snprintf(where, sizeof where, "%.100s%.20s", path, key);
    if (json_array_size(list) != (size_t)size)
        return refuse(reader, "%s: expected is a list of %d numbers, one for each rank of the communicator",
                      where, size);
    *counts = replay_allocate((size_t)size, sizeof **counts);
    json_array_foreach(list, i,
                       each) if (!whole_of(reader, each, where, 0, COUNT_MAX, *counts + i)) return false;
    return true;
}

static bool member_of(const reader_t *reader, json_t *object, const char *path, const char *key,
                      int64_t least, int64_t most, int64_t *whole)
{
    json_t *value = json_object_get(object, key);
    char where[PATH_BYTES];

    snprintf(where, sizeof where, "%.100s%.20s", path, key);
    return whole_of(reader, value, where, least, most, whole);
}

/* The same; without the member *whole stays as it is. */
static bool optional_of(const reader_t *reader, json_t *object, const char *path, const char *key,
                        int64_t least, int64_t most, int64_t *whole)
{
    return !json_object_get(object, key) || member_of(reader, object, path, key, least, most, whole);
}

static bool read_kind(const reader_t *reader, json_t *object, const char *path, replay_kind_t *kind)
{
    const replay_recording_t *recording = reader->recording;
    json_t *calls = json_object_get(recording->document, "calls");
    int64_t call, comm = -1, root = -1;

    if (!member_of(reader, object, path, "call", 0, (int64_t)json_array_size(calls) - 1, &call) ||
        !optional_of(reader, object, path, "comm", -1, recording->comm_count - 1, &comm))
        return false;
    kind->call = text_of(json_array_get(calls, (size_t)call), "name");
    kind->type = text_of(object, "type");
    kind->op = text_of(object, "op");
    kind->comm = (int)comm;
    kind->root = -1;
    if (comm < 0) /* a wait */
        return true;
    const int size = recording->comms[comm].size;
    if (!optional_of(reader, object, path, "root", -1, size - 1, &root) ||
        !optional_of(reader, object, path, "count", 0, COUNT_MAX, &kind->count) ||
        !optional_of(reader, object, path, "type_bytes", 0, INT_MAX, &kind->type_bytes) ||
        !optional_of(reader, object, path, "site", 0, INT_MAX, &kind->site))
        return false;
    kind->root = (int)root;
    return read_counts(reader, object, "counts", path, size, &kind->counts) &&
           read_counts(reader, object, "receive_counts", path, size, &kind->receive_counts);
}

const char *replay_site_text(const replay_recording_t *recording, int64_t site, char *text, size_t text_bytes)
{
    json_t *sites = json_object_get(recording->document, "sites");
    json_t *modules = json_object_get(recording->document, "modules");
    json_t *row = json_array_get(sites, (size_t)site);
    json_t *frame = json_array_get(json_object_get(row, "frames"), 0);
    json_t *module = json_array_get(modules, (size_t)json_integer_value(json_array_get(frame, 0)));
    const char *python = json_string_value(json_array_get(json_object_get(row, "python"), 0));
    const char *path = python ? python : text_of(module, "path"), *slash = strrchr(path, '/');

    snprintf(text, text_bytes, "%s", python ? (slash ? slash + 1 : python) : "");
    if (site > 0 && path[0] && !python)
        snprintf(text, text_bytes, "%s+0x%llx", slash ? slash + 1 : path,
                 (unsigned long long)json_integer_value(json_array_get(frame, 1)));
    return text;
}

static bool read_event(const reader_t *reader, json_t *list, const char *path, int number,
                       replay_event_t *event)
{
    int64_t kind, started = REPLAY_NO_START, faults = 0;

    if (json_array_size(list) < 3 || !json_is_number(json_array_get(list, 1)) ||
        !json_is_number(json_array_get(list, 2)))
        return refuse(reader,
                      "%s: expected is [kind, gap_s, took_s], [kind, gap_s, took_s, event] or [kind, gap_s, "
                      "took_s, -1, faults]",
                      path);
    if (!whole_of(reader, json_array_get(list, 0), path, 0, reader->recording->kind_count - 1, &kind) ||
        (json_array_size(list) > 3 &&
         !whole_of(reader, json_array_get(list, 3), path, REPLAY_NO_START, number - 1, &started)) ||
        (json_array_size(list) > 4 &&
         !whole_of(reader, json_array_get(list, 4), path, 0, INT64_MAX, &faults)))
        return false;
    *event = (replay_event_t){.kind = (int)kind,
                              .started = (int)started,
                              .gap_s = json_number_value(json_array_get(list, 1)),
                              .took_s = json_number_value(json_array_get(list, 2)),
                              .faults = faults};
    return event->gap_s >= 0 && event->took_s >= 0 ? true : refuse(reader, "%s: a time below 0", path);
}

static bool read_rank(const reader_t *reader, json_t *object, size_t number)
{
    replay_recording_t *recording = reader->recording;
    json_t *events, *each;
    int64_t rank;
    char path[PATH_BYTES];
    size_t i;

    snprintf(path, sizeof path, "sequence.ranks[%zu].", number);
    if (!whole_of(reader, json_object_get(object, "rank"), "sequence.ranks[].rank", 0, recording->ranks - 1,
                  &rank) ||
        !array_of(reader, object, "events", path, &events))
        return false;
    replay_rank_t *mine = &recording->rank[rank];
    if (mine->events)
        return refuse(reader, "sequence.ranks: rank %d is there twice", (int)rank);
    mine->skipped = json_integer_value(json_object_get(object, "skipped"));
    mine->events = replay_allocate(json_array_size(events), sizeof *mine->events);
    json_array_foreach(events, i, each)
    {
        snprintf(path, sizeof path, "sequence.ranks[%zu].events[%zu]", number, i);
        if (!read_event(reader, each, path, (int)i, &mine->events[mine->count]))
            return false;
        mine->count++;
    }
    return true;
}

static bool read_sequence(const reader_t *reader)
{
    replay_recording_t *recording = reader->recording;
    json_t *sequence = json_object_get(recording->document, "sequence"), *comms, *kinds, *ranks, *each;
    char path[PATH_BYTES];
    size_t i;

    if (!json_is_object(sequence))
        return refuse(reader, "has no sequence of calls: record the program again with "
                              "HANPMPI_PROFILE_SEQUENCE=10000, which keeps "
                              "the last 10000 collectives of each rank");
    if (!array_of(reader, sequence, "communicators", "sequence.", &comms) ||
        !array_of(reader, sequence, "kinds", "sequence.", &kinds) ||
        !array_of(reader, sequence, "ranks", "sequence.", &ranks))
        return false;
    recording->comms = replay_allocate(json_array_size(comms), sizeof *recording->comms);
    json_array_foreach(comms, i, each)
    {
        snprintf(path, sizeof path, "sequence.communicators[%zu].", i);
        if (!read_comm(reader, each, path, &recording->comms[recording->comm_count++]))
            return false;
    }
    recording->kinds = replay_allocate(json_array_size(kinds), sizeof *recording->kinds);
    json_array_foreach(kinds, i, each)
    {
        snprintf(path, sizeof path, "sequence.kinds[%zu].", i);
        if (!read_kind(reader, each, path, &recording->kinds[recording->kind_count++]))
            return false;
    }
    json_array_foreach(ranks, i, each) if (!read_rank(reader, each, i)) return false;
    for (int rank = 0; rank < recording->ranks; rank++)
        if (!recording->rank[rank].events)
            return refuse(reader, "sequence.ranks: rank %d is missing%s", rank,
                          json_is_string(json_object_get(recording->document, "incomplete"))
                              ? "; the recording is incomplete"
                              : "");
    return true;
}

bool replay_recording_read(replay_recording_t *recording, const char *file, char error[REPLAY_ERROR_BYTES])
{
    const reader_t reader = {recording, file, error};
    json_error_t wrong;
    int64_t number;

    *recording = (replay_recording_t){0};
    recording->document = json_load_file(file, 0, &wrong);
    if (!recording->document)
        return wrong.line > 0 ? refuse(&reader, "line %d: %s", wrong.line, wrong.text)
                              : refuse(&reader, "%s", wrong.text);
    if (strcmp(text_of(recording->document, "format"), "hanpmpi-profile") != 0)
        return refuse(&reader, "is no recording: expected is \"format\": \"hanpmpi-profile\", as "
                               "HANPMPI_PROFILE=FILE writes it");
    if (json_integer_value(json_object_get(recording->document, "version")) != VERSION)
        return refuse(&reader, "version: accepted is %d; record with this version of the library", VERSION);
    if (!whole_of(&reader, json_object_get(recording->document, "ranks"), "ranks", 1, INT_MAX, &number))
        return false;
    recording->ranks = (int)number;
    recording->rank = replay_allocate((size_t)number, sizeof *recording->rank);
    recording->command = join_words(json_object_get(recording->document, "command"));
    recording->mpi = text_of(recording->document, "mpi");
    read_sums(recording);
    return read_sequence(&reader);
}

void replay_recording_fini(replay_recording_t *recording)
{
    for (int i = 0; i < recording->kind_count; i++) {
        free(recording->kinds[i].counts);
        free(recording->kinds[i].receive_counts);
    }
    for (int i = 0; i < recording->comm_count; i++)
        free(recording->comms[i].world_ranks);
    for (int i = 0; i < recording->ranks && recording->rank; i++)
        free(recording->rank[i].events);
    free(recording->kinds);
    free(recording->comms);
    free(recording->rank);
    free((char *)recording->command);
    json_decref(recording->document);
    *recording = (replay_recording_t){0};
}
