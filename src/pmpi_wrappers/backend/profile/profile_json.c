#include "pmpi_wrappers/backend/profile/profile_json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "pmpi_wrappers/backend/observe/text_json.h"
#include "pmpi_wrappers/backend/profile/book/shapes.h"
#include "pmpi_wrappers/backend/start/job.h"

enum { FLAGS = JSON_COMPACT | JSON_REAL_PRECISION(9) | JSON_ENSURE_ASCII | JSON_ENCODE_ANY };

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

static json_t *integer(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static const char *name_at(const hp_table_t *names, uint32_t number)
{
    return ((const hp_book_name_t *)hp_table_row(names, number))->text;
}

/* ---- the job ---- */

static json_t *command_json(void)
{
    json_t *words = json_array();
    FILE *file = fopen("/proc/self/cmdline", "re");
    char *word = NULL;
    size_t room = 0;

    while (file && getdelim(&word, &room, '\0', file) > 0)
        json_array_append_new(words, hp_text_json(word));
    free(word);
    if (file)
        fclose(file);
    return words;
}

static const char *level_word(void)
{
    int level = MPI_THREAD_SINGLE;

    P(Query_thread)(&level);
    return level == MPI_THREAD_MULTIPLE     ? "MPI_THREAD_MULTIPLE"
           : level == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED"
           : level == MPI_THREAD_FUNNELED   ? "MPI_THREAD_FUNNELED"
                                            : "MPI_THREAD_SINGLE";
}

static int by_rank(const void *a, const void *b)
{
    const uint64_t x = ((const hp_book_rank_t *)a)->rank, y = ((const hp_book_rank_t *)b)->rank;
    return (x > y) - (x < y);
}

static json_t *rank_json(const hp_book_rank_t *row)
{
    json_t *rank =
        json_pack("{s:I,s:f,s:f,s:I,s:f,s:f}", "rank", (json_int_t)row->rank, "run_s", seconds(row->run_ns),
                  "mpi_s", seconds(row->mpi_ns), "calls", (json_int_t)row->calls, "clock_offset_s",
                  (double)row->clock_offset_ns / 1e9, "clock_error_s", seconds(row->clock_error_ns));

    if (hp_job.knobs.profile_watch) {
        json_object_set_new(rank, "watch_s", json_real(seconds(row->watch_ns)));
        json_object_set_new(rank, "watches_left_out", integer(row->watches_left_out));
    }
    return rank;
}

/* The ranks come in the order of the tree. */
static void add_ranks(json_t *file, hp_book_t *book)
{
    json_t *rows = json_array(), *nodes = json_array(), *node_of_rank = json_array();
    uint32_t threads = 0;

    if (book->ranks.count)
        qsort(book->ranks.rows, book->ranks.count, book->ranks.row_bytes, by_rank);
    for (uint32_t i = 0; i < book->nodes.count; i++)
        json_array_append_new(nodes, hp_text_json(name_at(&book->nodes, i)));
    for (uint32_t i = 0; i < book->ranks.count; i++) {
        const hp_book_rank_t *row = hp_table_row(&book->ranks, i);
        json_array_append_new(rows, rank_json(row));
        json_array_append_new(node_of_rank, integer(row->node));
        threads = row->threads > threads ? row->threads : threads;
    }
    json_object_set_new(file, "nodes", nodes);
    json_object_set_new(file, "node_of_rank", node_of_rank);
    json_object_set_new(file, "threads_seen", integer(threads));
    json_object_set_new(file, "per_rank", rows);
}

static void add_job(json_t *file, const hp_profile_text_t *text)
{
    char mpi[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;

    P(Get_library_version)(mpi, &length);
    mpi[strcspn(mpi, ",\n")] = '\0';
    json_object_set_new(file, "format", json_string("hanpmpi-profile"));
    json_object_set_new(file, "version", json_integer(1));
    json_object_set_new(file, "library", json_string(HANPMPI_VERSION));
    json_object_set_new(file, "mpi", hp_text_json(mpi));
    json_object_set_new(file, "command", command_json());
    json_object_set_new(file, "started", json_string(text->started));
    json_object_set_new(file, "job", json_string(text->job));
    json_object_set_new(file, "ranks", json_integer(hp_job.size));
    json_object_set_new(file, "thread_level", json_string(level_word()));
    json_object_set_new(file, "incomplete", text->incomplete ? json_string(text->incomplete) : json_null());
}

/* ---- tables ---- */

static json_t *calls_json(void)
{
    json_t *rows = json_array();
    for (unsigned i = 0; i < HP_ROW_COUNT; i++)
        json_array_append_new(rows, json_pack("{s:s,s:s}", "name", hp_call_shapes[i].name, "kind",
                                              hp_kind_word((hp_kind_t)hp_call_shapes[i].kind)));
    return rows;
}

static json_t *modules_json(const hp_book_t *book)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < book->modules.count; i++) {
        const hp_book_module_t *row = hp_table_row(&book->modules, i);
        json_array_append_new(
            rows, json_pack("{s:o,s:s}", "path", hp_text_json(row->path), "build_id", row->build_id));
    }
    return rows;
}

static json_t *python_frame_json(const hp_book_module_t *module, uint64_t line)
{
    char text[sizeof *module + 32];

    snprintf(text, sizeof text, "%s:%u %s", module->path, (unsigned)line, module->function);
    return hp_text_json(text);
}

static const hp_book_module_t *module_of(const hp_book_t *book, uint64_t frame)
{
    return hp_table_row(&book->modules, (uint32_t)(frame >> 48));
}

/* A site's frames are all of Python, or none is: the innermost one says which. */
static json_t *sites_json(const hp_book_t *book)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < book->sites.count; i++) {
        const hp_book_site_t *row = hp_table_row(&book->sites, i);
        const bool is_python =
            row->frame[0] != HP_BOOK_NO_FRAME && module_of(book, row->frame[0])->function[0] != '\0';
        json_t *frames = json_array();
        for (unsigned f = 0; f < HP_BOOK_FRAMES && row->frame[f] != HP_BOOK_NO_FRAME; f++) {
            const uint64_t module = row->frame[f] >> 48, offset = row->frame[f] << 16 >> 16;
            json_array_append_new(frames, is_python
                                              ? python_frame_json(module_of(book, row->frame[f]), offset)
                                              : json_pack("[I,I]", (json_int_t)module, (json_int_t)offset));
        }
        json_array_append_new(rows, json_pack("{s:o}", is_python ? "python" : "frames", frames));
    }
    return rows;
}

/* All ranks of a communicator have counted it. A part has what its rank has counted. */
static json_t *comms_json(const hp_book_t *book, bool is_part)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < book->comms.count; i++) {
        const hp_book_comm_t *row = hp_table_row(&book->comms, i);
        const uint64_t counted_by = is_part ? 1 : row->size;
        const uint64_t made = row->size ? (row->made + counted_by - 1) / counted_by : 0;
        json_array_append_new(rows, json_pack("{s:o,s:I,s:I}", "name", hp_text_json(row->name), "size",
                                              (json_int_t)row->size, "made", (json_int_t)made));
    }
    return rows;
}

static json_t *pairs_json(const uint64_t *wide, const uint32_t *narrow, unsigned count)
{
    json_t *pairs = json_array();
    for (unsigned k = 0; k < count; k++) {
        const uint64_t value = wide ? wide[k] : narrow[k];
        if (value)
            json_array_append_new(pairs, json_pack("[i,I]", (int)k, (json_int_t)value));
    }
    return pairs;
}

static json_t *record_json(const hp_book_t *book, const hp_book_record_t *row)
{
    json_t *record = json_pack(
        "{s:i,s:I,s:i,s:o,s:o,s:s,s:i,s:I,s:I,s:I,s:f,s:f,s:f,s:f,s:f,s:o}", "call", row->call, "site",
        (json_int_t)row->site, "comm", row->comm, "type", hp_text_json(name_at(&book->types, row->type)),
        "op", hp_text_json(name_at(&book->ops, row->op)), "memory", row->on_device ? "device" : "host", "bin",
        row->bin, "ranks", (json_int_t)row->ranks, "count", (json_int_t)row->count, "bytes",
        (json_int_t)row->bytes, "time_s", seconds(row->ns), "min_s", seconds(row->least_ns), "max_s",
        seconds(row->most_ns), "rank_min_s", seconds(row->rank_least_ns), "rank_max_s",
        seconds(row->rank_most_ns), "histogram", pairs_json(NULL, row->histogram, HP_BOOK_HISTOGRAM));
    if (record && (row->accelerated || hp_call_shapes[row->call].is_ours))
        json_object_set_new(record, "accelerated", integer(row->accelerated));
    return record;
}

static json_t *records_json(const hp_book_t *book)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < book->records.count; i++)
        json_array_append_new(rows, record_json(book, hp_table_row(&book->records, i)));
    return rows;
}

static json_t *peers_json(const hp_book_t *book)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < book->peers.count; i++) {
        const hp_book_peer_t *row = hp_table_row(&book->peers, i);
        json_array_append_new(rows,
                              json_pack("[I,I,I,I]", (json_int_t)row->source, (json_int_t)row->destination,
                                        (json_int_t)row->messages, (json_int_t)row->bytes));
    }
    return rows;
}

static json_t *waits_json(const hp_book_t *book)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < book->waits.count; i++) {
        const hp_book_wait_t *row = hp_table_row(&book->waits, i);
        json_array_append_new(rows,
                              json_pack("{s:i,s:I,s:i,s:I,s:I,s:I,s:f,s:f}", "post_call", row->post_call,
                                        "post_site", (json_int_t)row->post_site, "wait_call", row->wait_call,
                                        "wait_site", (json_int_t)row->wait_site, "count",
                                        (json_int_t)row->count, "bytes", (json_int_t)row->bytes, "between_s",
                                        seconds(row->between_ns), "wait_s", seconds(row->wait_ns)));
    }
    return rows;
}

static json_t *arrivals_json(const hp_book_t *book)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < book->arrivals.count; i++) {
        const hp_book_arrival_t *row = hp_table_row(&book->arrivals, i);
        json_t *late = json_array();
        for (unsigned k = 0; k < HP_BOOK_LATE; k++)
            if (row->late[k].times)
                json_array_append_new(late,
                                      json_pack("[I,I,f]", (json_int_t)row->late[k].rank,
                                                (json_int_t)row->late[k].times, seconds(row->late[k].ns)));
        json_array_append_new(
            rows, json_pack("{s:i,s:I,s:i,s:I,s:I,s:f,s:f,s:f,s:o}", "call", row->call, "site",
                            (json_int_t)row->site, "comm", row->comm, "bin", (json_int_t)row->bin, "samples",
                            (json_int_t)row->samples, "waited_s", seconds(row->waited_ns), "transfer_s",
                            seconds(row->transfer_ns), "skew_s", seconds(row->skew_ns), "late", late));
    }
    return rows;
}

static json_t *slacks_json(const hp_book_t *book)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < book->slacks.count; i++) {
        const hp_book_slack_t *row = hp_table_row(&book->slacks, i);
        json_array_append_new(rows, json_pack("{s:i,s:I,s:i,s:s,s:I,s:f,s:I,s:f}", "call", row->call, "site",
                                              (json_int_t)row->site, "bin", row->bin, "how",
                                              hp_book_how_word((hp_book_how_t)row->how), "samples",
                                              (json_int_t)row->after, "after_s", seconds(row->after_ns),
                                              "before_samples", (json_int_t)row->before, "before_s",
                                              seconds(row->before_ns)));
    }
    return rows;
}

static json_t *unexpected_json(const hp_book_unexpected_t *found)
{
    if (!found->samples)
        return json_null();
    return json_pack("{s:I,s:I,s:I,s:I}", "samples", (json_int_t)found->samples, "with_any",
                     (json_int_t)found->with_any, "messages", (json_int_t)found->messages, "most",
                     (json_int_t)found->most);
}

static json_t *lost_json(const hp_book_t *book)
{
    json_t *lost = json_object();
#define X(id) json_object_set_new(lost, #id, integer(book->lost[HP_LOST_##id]));
    HP_BOOK_LOST(X)
#undef X
    return lost;
}

/* ---- the file ---- */

/* Large tables one at a time: as a whole they would take ten times the book's memory. The value is given up. */
static bool write_key(FILE *out, const char *key, json_t *value)
{
    const bool written = value && fprintf(out, ",\n\"%s\":", key) > 0 && json_dumpf(value, out, FLAGS) == 0;
    json_decref(value);
    return written;
}

static bool write_head(FILE *out, hp_book_t *book, const hp_profile_text_t *text)
{
    json_t *head = json_object();

    add_job(head, text);
    add_ranks(head, book);
    json_object_set_new(head, "lost", lost_json(book));
    json_object_set_new(head, "simultaneous", pairs_json(book->simultaneous, NULL, HP_BOOK_SIMULTANEOUS));
    json_object_set_new(head, "unexpected", unexpected_json(&book->unexpected));
    char *whole = json_dumps(head, FLAGS);
    json_decref(head);
    if (!whole)
        return false;
    whole[strlen(whole) - 1] = '\0'; /* the object goes on */
    const bool written = fputs(whole, out) >= 0;
    free(whole);
    return written;
}

bool hp_profile_write(FILE *out, hp_book_t *book, const hp_profile_text_t *text)
{
    bool written =
        write_head(out, book, text) && write_key(out, "calls", calls_json()) &&
        write_key(out, "modules", modules_json(book)) && write_key(out, "sites", sites_json(book)) &&
        write_key(out, "communicators", comms_json(book, text->is_part)) &&
        write_key(out, "records", records_json(book)) && write_key(out, "peers", peers_json(book)) &&
        write_key(out, "waits", waits_json(book)) && write_key(out, "arrival", arrivals_json(book)) &&
        (!book->slacks.count || write_key(out, "slack", slacks_json(book)));

    if (written)
        written = fputs(",\n\"sequence\":", out) >= 0;
    if (text->write_sequence) /* in any case: the other ranks wait to be asked */
        written = text->write_sequence(out, book) && written;
    else
        written = written && fputs("null", out) >= 0;
    return written && fputs("}\n", out) >= 0;
}
