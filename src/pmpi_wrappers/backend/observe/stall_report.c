#include "pmpi_wrappers/backend/observe/stall_report.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/words.h"
#include "pmpi_wrappers/backend/start/job.h"

/* Lines of one kind in a text; the JSON has all. */
enum { LINES_MAX = 8 };

/* ---- words ---- */

/* "rank 3 (vc1)" */
static hp_stall_text_t rank_text(int rank)
{
    const char *host = hp_talk_host(rank);
    hp_stall_text_t out;

    snprintf(out.text, sizeof out.text, host ? "rank %d (%s)" : "rank %d", rank, host);
    return out;
}

/* "MPI_Ibcast" */
hp_stall_text_t hp_stall_call(hp_collective_t collective, bool blocking)
{
    const char *name = hp_collective_name(collective);
    hp_stall_text_t out;

    snprintf(out.text, sizeof out.text, "MPI_%s%c%s", blocking ? "" : "I",
             blocking ? toupper((unsigned char)name[0]) : name[0], name + 1);
    return out;
}

/* "collective 7 of communicator 0.1": the rank that leads it, and its count of communicators. */
static hp_stall_text_t number_text(uint64_t comm_id, uint64_t number)
{
    hp_stall_text_t out;
    snprintf(out.text, sizeof out.text, "collective %llu of communicator %llu.%llu",
             (unsigned long long)number, (unsigned long long)(comm_id >> 32),
             (unsigned long long)(comm_id & 0xffffffffu));
    return out;
}

double hp_stall_seconds(uint64_t now_ns, uint64_t since_ns)
{
    return since_ns && now_ns > since_ns ? (double)(now_ns - since_ns) / 1e9 : 0;
}

/* Begins a line. */
static void speaker(FILE *out)
{
    fprintf(out, "hanpmpi: %s: ", rank_text(hp_job.rank).text);
}

static void print_item(FILE *out, const hp_survey_item_t *item, uint64_t now_ns)
{
    char size[24] = "";

    if (item->bytes)
        hp_word_size(item->bytes, size, sizeof size);
    fprintf(out, "%s%s%s, algorithm %s, %s (rank %d of %d there)",
            hp_stall_call(item->collective, item->blocking).text, item->bytes ? " of " : "", size,
            item->algorithm, number_text(item->comm_id, item->number).text, item->comm_rank, item->comm_size);
    if (item->since_ns)
        fprintf(out, ", since %.1f s", hp_stall_seconds(now_ns, item->since_ns));
    fputs(item->queued ? ", waits for its turn\n" : "\n", out);
}

void hp_survey_print(FILE *out, const hp_survey_t *survey, uint64_t now_ns)
{
    if (survey->count == 0 && survey->held == 0)
        fprintf(out, "  nothing is in execution\n");
    for (uint32_t i = 0; i < survey->count; i++) {
        fputs("  in execution: ", out);
        print_item(out, &survey->items[i], now_ns);
    }
    if (survey->left_out)
        fprintf(out, "  and %u more\n", survey->left_out);
    if (survey->held)
        fprintf(out, "  communicators at work, which cannot be looked at now: %u\n", survey->held);
}

/* ---- the text ---- */

static void print_wait(FILE *out, const hp_survey_wait_t *wait)
{
    static const char *const verbs[] = {[HP_PENDING_SEND] = "a message to",
                                        [HP_PENDING_RECV] = "a message from",
                                        [HP_PENDING_FLAG] = "a flag of"};
    const bool one = wait->first == wait->last;

    speaker(out);
    fprintf(out, one ? "  segment %llu waits for " : "  segments %llu to %llu wait for ",
            (unsigned long long)wait->first, (unsigned long long)wait->last);
    if (wait->what == HP_PENDING_NATIVE)
        fprintf(out, "a collective of the host MPI\n");
    else
        fprintf(out, "%s %s\n", verbs[wait->what],
                wait->rank < 0 ? "another rank" : rank_text(wait->rank).text);
}

static void print_stalled(FILE *out, const hp_stall_report_t *report, const hp_survey_item_t *item)
{
    uint32_t behind = 0, shown = 0;

    speaker(out);
    fputs("does not come on: ", out);
    print_item(out, item, report->now_ns);
    for (; shown < item->wait_count && shown < LINES_MAX; shown++)
        print_wait(out, &item->waits[shown]);
    if (shown < item->wait_count || item->more_waits) {
        speaker(out);
        fprintf(out, "  and for others\n");
    }
    if (!item->blocking && report->unattended_ns > 1000000000u) {
        speaker(out);
        fprintf(out,
                "  nothing has moved it on here for %.1f s: the program makes no MPI calls "
                "(HANPMPI_PROGRESS=thread would)\n",
                (double)report->unattended_ns / 1e9);
    }
    for (uint32_t i = 0; i < report->survey->count; i++)
        behind += report->survey->items[i].queued && report->survey->items[i].comm_id == item->comm_id;
    if (behind) {
        speaker(out);
        fprintf(out, "  collectives that wait behind it: %u\n", behind);
    }
}

static void print_waits_of(FILE *out, const hp_talk_answer_t *answer)
{
    for (uint32_t i = 0; i < answer->wait_count && i < HP_TALK_WAITS; i++)
        fprintf(out, "%s%s", i ? ", " : ", waiting for ", rank_text(answer->waits[i]).text);
}

static void print_peer(FILE *out, const hp_stall_peer_t *peer)
{
    const hp_talk_answer_t *answer = &peer->answer;
    const double since = (double)answer->since_us / 1e6;

    speaker(out);
    fprintf(out, "  %s ", rank_text(peer->rank).text);
    switch ((hp_stand_t)answer->stand) {
    case HP_STAND_NO_ANSWER:
        fprintf(out, "does not answer: stopped, dead or swamped");
        break;
    case HP_STAND_SILENT:
        fprintf(out, "cannot be asked");
        break;
    case HP_STAND_NOT_THERE:
        fprintf(out, "has not entered %s: ", number_text(peer->what.comm_id, peer->what.number).text);
        if (answer->collective < 0)
            fprintf(out, "it computes, or is in an MPI call that the library does not run");
        break;
    case HP_STAND_UNKNOWN:
        fprintf(out, "does not know the communicator: not set up there yet, or freed already");
        break;
    case HP_STAND_IN:
        fprintf(out, "has entered");
        break;
    case HP_STAND_THROUGH:
        fprintf(out, "has entered, and is done with %s",
                number_text(peer->what.comm_id, peer->what.number).text);
        break;
    }
    if (answer->stand == HP_STAND_NOT_THERE && answer->collective >= 0)
        fprintf(out, "it is in %s, %s, since %.1f s",
                hp_stall_call((hp_collective_t)answer->collective, answer->blocking).text,
                number_text(answer->in.comm_id, answer->in.number).text, since);
    if (answer->stand == HP_STAND_NOT_THERE || answer->stand == HP_STAND_IN) {
        print_waits_of(out, answer);
        if (answer->unattended_us > 1000000)
            fprintf(out, "; nothing has moved it on there for %.1f s: the program makes no MPI calls",
                    (double)answer->unattended_us / 1e6);
    }
    fputc('\n', out);
}

/* What needs to be seen first: those that do not answer or have not come. */
static bool is_cause(const hp_stall_peer_t *peer)
{
    return peer->answer.stand == HP_STAND_NO_ANSWER || peer->answer.stand == HP_STAND_NOT_THERE ||
           peer->answer.stand == HP_STAND_UNKNOWN;
}

static void print_peers(FILE *out, const hp_stall_report_t *report)
{
    uint32_t shown = 0;

    if (!report->asks) {
        speaker(out);
        fprintf(out, "  what other ranks do is not known: this MPI does not give MPI_THREAD_MULTIPLE\n");
        return;
    }
    for (int causes = 1; causes >= 0; causes--)
        for (uint32_t i = 0; i < report->peer_count; i++) {
            const hp_stall_peer_t *peer = &report->peers[i];
            if (is_cause(peer) == causes && shown < 2 * LINES_MAX) {
                print_peer(out, peer);
                shown++;
            }
        }
    if (shown < report->peer_count) {
        speaker(out);
        fprintf(out, "  and %u more ranks that somebody waits for\n", report->peer_count - shown);
    }
}

void hp_stall_report_print(const hp_stall_report_t *report)
{
    char *text = NULL;
    size_t bytes = 0;

    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return;
    for (uint32_t i = 0; i < report->survey->count; i++)
        if (report->is_stalled[i])
            print_stalled(out, report, &report->survey->items[i]);
    print_peers(out, report);
    if (fclose(out) == 0 &&
        write(STDERR_FILENO, text, bytes) < 0) { /* at once: reports of ranks do not mix */
        /* nobody is left to tell */
    }
    free(text);
}
