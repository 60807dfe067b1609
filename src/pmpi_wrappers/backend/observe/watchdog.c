#include "pmpi_wrappers/backend/observe/watchdog.h"

#include <ev.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/words.h"
#include "hier/call/stats.h"
#include "pmpi_wrappers/backend/glue/machine.h"
#include "pmpi_wrappers/backend/start/job.h"
#include "pmpi_wrappers/backend/progress/progress.h"
#include "pmpi_wrappers/backend/observe/stall_report.h"
#include "pmpi_wrappers/backend/observe/survey.h"
#include "pmpi_wrappers/backend/observe/watch_talk.h"

/* An idle tick takes 80 to 110 us (measured with two MPIs on virtual machines), 20 to 35 of them in the MPI, the rest
 * for the kernel to wake the thread: 0.05% of a core. */
static const double tick_s = 0.2, quick_tick_s = 0.005;
static const uint64_t survey_ns = 100000000; /* between two looks for stalled collectives */
static const uint64_t helper_wait_ns =
    30000000; /* for who waits to answer the survey: it looks every 200 us */
static const uint64_t answers_wait_ns = 1000000000;
/* A tick that is so late: this process, or its machine, stood still, and with it all that it would report. */
static const uint64_t late_ns = 1000000000;
enum { PEERS = 64, QUESTIONS = 64, REPORTED = 64 };

static ev_timer ticker;
static ev_signal on_request;
static bool has_signal;
static struct sigaction of_libev; /* once it has the signal */

static uint64_t surveyed_ns, survey_began_ns; /* the latter: 0, none is under way */
static uint64_t last_tick_ns, awake_since_ns;
static uint64_t last_polls, attended_ns; /* progress of non-blocking collectives */
static bool wants_stats;

static hp_talk_question_t questions[QUESTIONS]; /* to be answered from the survey that is under way */
static uint32_t question_count;

/* Reported already: when next. */
static struct {
    hp_talk_what_t what;
    uint64_t next_ns; /* age */
} reported[REPORTED];
static uint32_t reported_count;

/* The report that waits for answers. */
static bool inquires;
static uint64_t inquiry_began_ns;
static hp_survey_t inquiry_survey;
static bool stalled[HP_SURVEY_ITEMS];
static hp_stall_peer_t peers[PEERS];
static uint32_t peer_count;

static uint64_t threshold_ns(void)
{
    return (uint64_t)hp_job.knobs.stall_seconds * 1000000000u;
}

static bool is_same(const hp_talk_what_t *a, const hp_talk_what_t *b)
{
    return a->comm_id == b->comm_id && a->number == b->number;
}

static hp_talk_what_t what_of(const hp_survey_item_t *item)
{
    return (hp_talk_what_t){.comm_id = item->comm_id, .number = item->number};
}

/* ---- answering ---- */

/* The collective asked about, if it is in execution here; else what holds this rank up: the oldest blocking one. */
static const hp_survey_item_t *item_to_describe(const hp_survey_t *survey, const hp_talk_what_t *what)
{
    const hp_survey_item_t *blocking = NULL;

    for (uint32_t i = 0; i < survey->count; i++) {
        const hp_survey_item_t *item = &survey->items[i];
        const hp_talk_what_t this = what_of(item);
        if (is_same(&this, what))
            return item;
        if (item->blocking && !item->queued && (!blocking || item->since_ns < blocking->since_ns))
            blocking = item;
    }
    return blocking;
}

static void describe_item(const hp_survey_item_t *item, hp_talk_answer_t *out)
{
    const uint64_t now = hp_clock_ns();

    out->collective = (int32_t)item->collective;
    out->blocking = item->blocking;
    out->in = what_of(item);
    out->bytes = item->bytes;
    out->since_us = item->since_ns ? (now - item->since_ns) / 1000 : 0;
    out->unattended_us = item->blocking ? 0 : (now - attended_ns) / 1000;
    for (uint32_t i = 0; i < item->wait_count && out->wait_count < HP_TALK_WAITS; i++) {
        bool is_new = item->waits[i].rank >= 0 && item->waits[i].rank != hp_job.rank;
        for (uint32_t k = 0; k < out->wait_count; k++)
            is_new = is_new && out->waits[k] != item->waits[i].rank;
        if (is_new)
            out->waits[out->wait_count++] = item->waits[i].rank;
    }
}

static void answer_from(const hp_survey_t *survey, const hp_talk_what_t *what, hp_talk_answer_t *out)
{
    const hp_survey_item_t *item = item_to_describe(survey, what);
    const hp_entered_t entered = hp_survey_has_entered(what->comm_id, what->number);

    *out = (hp_talk_answer_t){.collective = -1};
    if (item) {
        const hp_talk_what_t in = what_of(item);
        describe_item(item, out);
        if (is_same(&in, what)) {
            out->stand = HP_STAND_IN;
            return;
        }
    }
    /* One whose holder does not answer the survey is not in it. */
    out->stand = entered == HP_ENTERED_UNKNOWN      ? HP_STAND_UNKNOWN
                 : entered == HP_ENTERED_NOT        ? HP_STAND_NOT_THERE
                 : survey->held || survey->left_out ? HP_STAND_IN
                                                    : HP_STAND_THROUGH;
}

static void answer_questions(const hp_survey_t *survey)
{
    for (uint32_t i = 0; i < question_count; i++) {
        hp_talk_answer_t answer;
        answer_from(survey, &questions[i].what, &answer);
        hp_talk_answer(&questions[i], &answer);
    }
    question_count = 0;
}

static const hp_survey_t nothing; /* in execution here, at the end */

static void answer_last(const hp_talk_what_t *what, hp_talk_answer_t *out)
{
    answer_from(&nothing, what, out);
}

/* ---- asking ---- */

static void inquire(int rank, const hp_talk_what_t *what)
{
    if (rank < 0 || rank == hp_job.rank || peer_count == PEERS)
        return;
    for (uint32_t i = 0; i < peer_count; i++)
        if (peers[i].rank == rank && is_same(&peers[i].what, what))
            return;
    hp_stall_peer_t *peer = &peers[peer_count++];
    *peer = (hp_stall_peer_t){.rank = rank, .what = *what, .answer = {.collective = -1}};
    peer->number = hp_talk_ask(rank, what);
    peer->answer.stand = peer->number ? HP_STAND_NO_ANSWER : HP_STAND_SILENT;
}

static void inquire_all(void)
{
    peer_count = 0;
    for (uint32_t i = 0; i < inquiry_survey.count; i++) {
        const hp_survey_item_t *item = &inquiry_survey.items[i];
        const hp_talk_what_t what = what_of(item);
        for (uint32_t k = 0; stalled[i] && k < item->wait_count; k++)
            inquire(item->waits[k].rank, &what);
    }
}

static void take_answers(void)
{
    hp_talk_answer_t answer;
    int from;

    while (hp_talk_take_answer(&answer, &from))
        for (uint32_t i = 0; inquires && i < peer_count; i++) {
            hp_stall_peer_t *peer = &peers[i];
            if (peer->rank != from || peer->number != answer.question)
                continue;
            peer->is_answered = true;
            peer->answer = answer;
            if (answer.stand != HP_STAND_IN && answer.stand != HP_STAND_NOT_THERE)
                break;
            for (uint32_t k = 0; k < answer.wait_count && k < HP_TALK_WAITS; k++)
                inquire(answer.waits[k], &answer.in);
            break;
        }
}

static bool all_answered(void)
{
    bool all = true;
    for (uint32_t i = 0; i < peer_count; i++)
        all = all && (peers[i].is_answered || !peers[i].number);
    return all;
}

static void report(void)
{
    const hp_stall_report_t text = {.survey = &inquiry_survey,
                                    .is_stalled = stalled,
                                    .now_ns = hp_clock_ns(),
                                    .unattended_ns = hp_clock_ns() - attended_ns,
                                    .peers = peers,
                                    .peer_count = peer_count,
                                    .asks = hp_talk_is_open()};
    hp_stall_report_print(&text);
    hp_stall_report_write(&text);
    inquires = false;
}

/* ---- what is stalled ---- */

/* Is it time to report it, for the first time or again? */
static bool is_due(const hp_survey_item_t *item, uint64_t now)
{
    const uint64_t since = item->since_ns > awake_since_ns ? item->since_ns : awake_since_ns;
    const uint64_t age = now > since ? now - since : 0;
    const hp_talk_what_t what = what_of(item);
    uint32_t i = 0;

    if (!item->since_ns || item->queued || age < threshold_ns())
        return false;
    while (i < reported_count && !is_same(&reported[i].what, &what))
        i++;
    if (i == REPORTED)
        return false;
    if (i < reported_count && age < reported[i].next_ns)
        return false;
    if (i == reported_count) {
        reported[reported_count++].what = what;
        reported[i].next_ns = threshold_ns();
    }
    while (reported[i].next_ns <= age)
        reported[i].next_ns *= 2;
    return true;
}

static void forget_finished(const hp_survey_t *survey)
{
    for (uint32_t i = 0; i < reported_count;) {
        bool is_there = survey->held || survey->left_out;
        for (uint32_t k = 0; k < survey->count && !is_there; k++) {
            const hp_talk_what_t what = what_of(&survey->items[k]);
            is_there = is_same(&what, &reported[i].what);
        }
        if (is_there)
            i++;
        else
            reported[i] = reported[--reported_count];
    }
}

static void find_stalled(const hp_survey_t *survey, uint64_t now)
{
    bool any = false;

    if (!hp_job.knobs.stall_seconds || inquires)
        return;
    forget_finished(survey);
    for (uint32_t i = 0; i < survey->count; i++)
        any |= stalled[i] = is_due(&survey->items[i], now);
    if (!any)
        return;
    inquiry_survey = *survey;
    inquires = true;
    inquiry_began_ns = now;
    inquire_all();
}

/* ---- live statistics ---- */

static void print_stats(const hp_survey_t *survey)
{
    char *text = NULL;
    size_t bytes = 0;

    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return;
    hp_stats_print(out, (unsigned)hp_job.rank);
    hp_survey_print(out, survey, hp_clock_ns());
    if (fclose(out) == 0 && write(STDERR_FILENO, text, bytes) < 0) { /* at once: those of ranks do not mix */
        /* nobody is left to tell */
    }
    free(text);
    wants_stats = false;
}

static void on_signal(struct ev_loop *loop, ev_signal *watcher, int events)
{
    (void)watcher;
    (void)events;
    wants_stats = true;
    ev_feed_event(loop, &ticker, EV_TIMER);
}

/* ---- the tick ---- */

static void use_survey(uint64_t now)
{
    const hp_survey_t *survey = hp_survey_end();

    survey_began_ns = 0;
    surveyed_ns = now;
    answer_questions(survey);
    if (wants_stats)
        print_stats(survey);
    find_stalled(survey, now);
}

static void observe_progress(uint64_t now)
{
    const uint64_t polls = hp_progress_polls();

    if (polls != last_polls || !hp_progress_is_due())
        attended_ns = now;
    last_polls = polls;
    if (now - last_tick_ns > late_ns)
        awake_since_ns = now;
    last_tick_ns = now;
}

static void on_tick(struct ev_loop *loop, ev_timer *timer, int events)
{
    const uint64_t now = hp_clock_ns();
    (void)events;

    observe_progress(now);
    if (hp_talk_is_open()) {
        while (!survey_began_ns && question_count < QUESTIONS &&
               hp_talk_take_question(&questions[question_count]))
            question_count++;
        take_answers();
    }
    const bool due = hp_job.knobs.stall_seconds && now - surveyed_ns >= survey_ns;
    if (!survey_began_ns && (question_count || wants_stats || due)) {
        hp_survey_begin();
        survey_began_ns = now;
    }
    if (survey_began_ns && (hp_survey_is_complete() || now - survey_began_ns > helper_wait_ns))
        use_survey(now);
    if (inquires && (all_answered() || now - inquiry_began_ns > answers_wait_ns))
        report();
    timer->repeat = survey_began_ns || inquires ? quick_tick_s : hp_job.knobs.stall_seconds ? tick_s : 0;
    ev_timer_again(loop, timer);
}

/* ---- its life ---- */

/* What the program does with a signal is its own business. */
static void start_signal(struct ev_loop *loop)
{
    const int number = hp_word_signal(hp_job.knobs.stats_signal);
    struct sigaction now;

    if (number <= 0)
        return;
    if (sigaction(number, NULL, &now) != 0 || now.sa_handler != SIG_DFL) {
        hp_warn(
            "HANPMPI_STATS_SIGNAL=%s: the program, or its MPI, handles that signal itself: it is left alone",
            hp_job.knobs.stats_signal);
        return;
    }
    ev_signal_init(&on_request, on_signal, number);
    ev_signal_start(loop, &on_request);
    sigaction(number, NULL, &of_libev);
    has_signal = true;
}

/* libev gives the signal its default action, which for most ends the process: one that comes late is ignored instead. If
 * the program has made a handler of its own meanwhile, it keeps it. */
static void stop_signal(struct ev_loop *loop)
{
    struct sigaction now;

    if (!has_signal)
        return;
    has_signal = false;
    sigaction(on_request.signum, NULL, &now);
    if (now.sa_handler == of_libev.sa_handler)
        now.sa_handler = SIG_IGN;
    ev_signal_stop(loop, &on_request);
    sigaction(on_request.signum, &now, NULL);
}

void hp_watchdog_open(bool may_call_mpi)
{
    if (hp_job.watches)
        hp_survey_init();
    if (hp_job.knobs.stall_seconds && !hp_ranks_take_turns)
        hp_talk_open(may_call_mpi);
}

void hp_watchdog_close(void)
{
    if (hp_job.knobs.stall_seconds && !hp_ranks_take_turns)
        hp_talk_close(answer_last);
}

void hp_watchdog_start(struct ev_loop *loop)
{
    last_tick_ns = attended_ns = surveyed_ns = hp_clock_ns();
    ev_timer_init(&ticker, on_tick, 0, hp_job.knobs.stall_seconds ? tick_s : 0);
    if (hp_job.knobs.stall_seconds)
        ev_timer_again(loop, &ticker);
    start_signal(loop);
}

void hp_watchdog_stop(struct ev_loop *loop)
{
    ev_timer_stop(loop, &ticker);
    stop_signal(loop);
    answer_questions(&nothing); /* that the thread had taken */
}
