#include "journal.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int find_kind(const char *name)
{
    int kind = 0;
    while (kind < TUNE_KINDS && strcmp(tune_kind_name((unsigned)kind), name) != 0)
        kind++;
    return kind;
}

/* false: it is not one of this run's. */
static bool read_key(json_t *line, const tune_list_t *lists, tune_record_t *record)
{
    const char *kind, *collective, *config, *other = NULL;
    json_int_t bytes;

    if (json_unpack(line, "{s:s, s:s, s:s, s?s, s:I, s:F}", "kind", &kind, "collective", &collective,
                    "configuration", &config, "other", &other, "bytes", &bytes, "seconds",
                    &record->seconds) != 0)
        return false;
    const tune_collective_t which = tune_collective_find(collective);
    const int what = find_kind(kind);
    if (which == TUNE_COLLECTIVES || what == TUNE_KINDS)
        return false;
    record->key = (tune_key_t){.kind = (tune_kind_t)what,
                               .collective = which,
                               .config = tune_space_find(&lists[which], config),
                               .other = other ? tune_space_find(&lists[which], other) : -1,
                               .bytes = (size_t)bytes};
    return record->key.config >= 0 && (!other || record->key.other >= 0);
}

static void read_line(const char *text, const tune_list_t *lists, tune_book_t *book)
{
    json_t *line = json_loads(text, 0, NULL);
    json_t *us = json_object_get(line, "us");
    tune_record_t record = {.seconds = 0};

    if (json_is_array(us) && read_key(line, lists, &record) && !tune_book_find(book, &record.key)) {
        record.count = (int)json_array_size(us);
        record.us = malloc((size_t)(record.count + 1) * sizeof *record.us);
        for (int i = 0; record.us && i < record.count; i++)
            record.us[i] = json_number_value(json_array_get(us, (size_t)i));
        if (record.us)
            tune_book_add(book, &record);
    }
    json_decref(line);
}

/* How much of the file is whole lines, *end; whether its first line is `holds_for`. */
static bool read_file(FILE *file, const char *holds_for, const tune_list_t *lists, tune_book_t *book,
                      long *end)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    bool first = true, ours = true;

    *end = 0;
    while (ours && (length = getline(&line, &room, file)) > 0 && line[length - 1] == '\n') {
        line[length - 1] = '\0';
        if (first)
            ours = strcmp(line, holds_for) == 0;
        else
            read_line(line, lists, book);
        first = false;
        *end += length;
    }
    free(line);
    return ours;
}

static tune_journal_result_t cannot_write(tune_journal_t *journal)
{
    fprintf(stderr, "hanpmpi_tune: cannot write %s: %s; give another file with --output\n", journal->name,
            strerror(errno));
    if (journal->file)
        fclose(journal->file);
    journal->file = NULL;
    return TUNE_JOURNAL_FAILED;
}

tune_journal_result_t tune_journal_open(tune_journal_t *journal, const char *name, const char *holds_for,
                                        bool restart, const tune_list_t *lists, tune_book_t *book)
{
    long end = 0;

    *journal = (tune_journal_t){.name = name, .lists = lists, .file = fopen(name, restart ? "w+" : "a+")};
    if (!journal->file)
        return cannot_write(journal);
    rewind(journal->file);
    if (!read_file(journal->file, holds_for, lists, book, &end)) {
        fprintf(stderr,
                "hanpmpi_tune: %s is of another layout, MPI, version or --repeat: remove it, start with "
                "--restart, or "
                "give another --output\n",
                name);
        fclose(journal->file);
        journal->file = NULL;
        return TUNE_JOURNAL_OTHER;
    }
    if (fflush(journal->file) != 0 || ftruncate(fileno(journal->file), end) != 0 ||
        fseek(journal->file, 0, SEEK_END) != 0)
        return cannot_write(journal);
    if (end == 0 && (fprintf(journal->file, "%s\n", holds_for) < 0 || fflush(journal->file) != 0))
        return cannot_write(journal);
    return TUNE_JOURNAL_OPEN;
}

void tune_journal_add(tune_journal_t *journal, const tune_record_t *record)
{
    const tune_key_t *key = &record->key;
    const tune_list_t *list = &journal->lists[key->collective];
    json_t *us = json_array();

    for (int i = 0; i < record->count; i++)
        json_array_append_new(us, json_real(record->us[i]));
    json_t *line =
        json_pack("{s:s, s:s, s:s, s:I, s:f, s:o}", "kind", tune_kind_name(key->kind), "collective",
                  tune_collective_name(key->collective), "configuration", list->configs[key->config].id,
                  "bytes", (json_int_t)key->bytes, "seconds", record->seconds, "us", us);
    if (key->other >= 0)
        json_object_set_new(line, "other", json_string(list->configs[key->other].id));
    /* Figures that cannot be kept are still good for this run. */
    if (json_dumpf(line, journal->file, JSON_COMPACT | JSON_REAL_PRECISION(9)) != 0 ||
        fputc('\n', journal->file) == EOF || fflush(journal->file) != 0)
        fprintf(stderr, "hanpmpi_tune: cannot write %s: %s; a run that is ended cannot go on from here\n",
                journal->name, strerror(errno));
    json_decref(line);
}

void tune_journal_close(tune_journal_t *journal, bool remove_it)
{
    if (journal->file)
        fclose(journal->file);
    journal->file = NULL;
    if (remove_it && unlink(journal->name) != 0)
        fprintf(stderr, "hanpmpi_tune: cannot remove %s: %s\n", journal->name, strerror(errno));
}
