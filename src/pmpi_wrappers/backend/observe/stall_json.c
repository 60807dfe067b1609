/* stall_json: the reports of the watchdog for programs (stall_report.h). */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <time.h>
#include "base/log.h"
#include "pmpi_wrappers/backend/start/job.h"
#include "pmpi_wrappers/backend/observe/stall_report.h"
#include "pmpi_wrappers/backend/observe/text_json.h"

static const char *const what_words[] = {[HP_PENDING_SEND] = "send",
                                         [HP_PENDING_RECV] = "receive",
                                         [HP_PENDING_FLAG] = "flag",
                                         [HP_PENDING_NATIVE] = "collective of the host MPI"};
static const char *const stand_words[] = {[HP_STAND_NO_ANSWER] = "no answer",
                                          [HP_STAND_SILENT] = "not asked",
                                          [HP_STAND_NOT_THERE] = "not entered",
                                          [HP_STAND_UNKNOWN] = "unknown communicator",
                                          [HP_STAND_IN] = "entered",
                                          [HP_STAND_THROUGH] = "done"};

static json_t *rank_json(int rank)
{
    const char *host = hp_talk_host(rank);
    return json_pack("{s:i,s:o}", "rank", rank, "host", host ? hp_text_json(host) : json_null());
}

static json_t *item_json(const hp_stall_report_t *report, uint32_t index)
{
    const hp_survey_item_t *item = &report->survey->items[index];
    json_t *waits = json_array();

    for (uint32_t i = 0; i < item->wait_count; i++) {
        const hp_survey_wait_t *wait = &item->waits[i];
        json_t *row = wait->rank < 0 ? json_object() : rank_json(wait->rank);
        json_object_set_new(row, "what", json_string(what_words[wait->what]));
        json_object_set_new(row, "segments",
                            json_pack("[I,I]", (json_int_t)wait->first, (json_int_t)wait->last));
        json_array_append_new(waits, row);
    }
    return json_pack("{s:s,s:b,s:s,s:I,s:{s:I,s:i,s:i},s:I,s:f,s:b,s:b,s:o}", "call",
                     hp_stall_call(item->collective, item->blocking).text, "blocking", item->blocking,
                     "algorithm", item->algorithm, "bytes", (json_int_t)item->bytes, "communicator", "id",
                     (json_int_t)item->comm_id, "size", item->comm_size, "rank", item->comm_rank, "number",
                     (json_int_t)item->number, "seconds", hp_stall_seconds(report->now_ns, item->since_ns),
                     "queued", item->queued, "stalled", report->is_stalled[index], "waits", waits);
}

static json_t *peer_json(const hp_stall_peer_t *peer)
{
    const hp_talk_answer_t *answer = &peer->answer;
    json_t *row = rank_json(peer->rank);

    json_object_set_new(row, "state", json_string(stand_words[answer->stand]));
    json_object_set_new(row, "communicator", json_integer((json_int_t)peer->what.comm_id));
    json_object_set_new(row, "number", json_integer((json_int_t)peer->what.number));
    if (peer->is_answered && answer->collective >= 0) {
        json_t *waits = json_array();
        for (uint32_t i = 0; i < answer->wait_count && i < HP_TALK_WAITS; i++)
            json_array_append_new(waits, json_integer(answer->waits[i]));
        json_object_set_new(
            row, "in",
            json_pack("{s:s,s:I,s:I,s:f,s:o}", "call",
                      hp_stall_call((hp_collective_t)answer->collective, answer->blocking).text,
                      "communicator", (json_int_t)answer->in.comm_id, "number", (json_int_t)answer->in.number,
                      "seconds", (double)answer->since_us / 1e6, "waits_for", waits));
    }
    return row;
}

static json_t *report_json(const hp_stall_report_t *report)
{
    json_t *root = rank_json(hp_job.rank), *items = json_array(), *peers = json_array();

    for (uint32_t i = 0; i < report->survey->count; i++)
        json_array_append_new(items, item_json(report, i));
    for (uint32_t i = 0; i < report->peer_count; i++)
        json_array_append_new(peers, peer_json(&report->peers[i]));
    json_object_set_new(root, "version", json_integer(1));
    json_object_set_new(root, "unix_time", json_integer((json_int_t)time(NULL)));
    json_object_set_new(root, "asked_others", json_boolean(report->asks));
    json_object_set_new(root, "collectives", items);
    json_object_set_new(root, "ranks", peers);
    return root;
}

void hp_stall_report_write(const hp_stall_report_t *report)
{
    static bool is_reported;
    char name[HP_KNOB_TEXT_BYTES + 32];

    if (!hp_job.knobs.stall_json[0])
        return;
    snprintf(name, sizeof name, "%s.%d.jsonl", hp_job.knobs.stall_json, hp_job.rank);
    json_t *root = report_json(report);
    FILE *out = fopen(name, "ae");
    const bool written = out && json_dumpf(root, out, JSON_COMPACT) == 0 && fputc('\n', out) != EOF;
    if ((!out || fclose(out) != 0 || !written) && !is_reported) {
        hp_warn("HANPMPI_STALL_JSON: %s cannot be written: %s", name, strerror(errno));
        is_reported = true;
    }
    json_decref(root);
}
