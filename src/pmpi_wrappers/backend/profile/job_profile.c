#include "pmpi_wrappers/backend/profile/job_profile.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "base/log.h"
#include "pmpi_wrappers/backend/observe/rank_messages.h"
#include "pmpi_wrappers/backend/profile/gather/arrival_gather.h"
#include "pmpi_wrappers/backend/profile/gather/gather.h"
#include "pmpi_wrappers/backend/profile/polling.h"
#include "pmpi_wrappers/backend/profile/profile_json.h"
#include "pmpi_wrappers/backend/profile/recording.h"
#include "pmpi_wrappers/backend/profile/book/requests.h"
#include "pmpi_wrappers/backend/profile/book/ticks.h"
#include "pmpi_wrappers/backend/profile/sequence.h"
#include "pmpi_wrappers/backend/profile/sequence_json.h"
#include "pmpi_wrappers/backend/profile/sites/python.h"
#include "pmpi_wrappers/backend/profile/sites/sites.h"
#include "pmpi_wrappers/backend/profile/unexpected.h"
#include "pmpi_wrappers/backend/profile/watch/watch.h"
#include "pmpi_wrappers/backend/profile/wrappers.h"
#include "pmpi_wrappers/backend/start/job.h"

/* Operations under way at a time that are followed to where they are waited for: 6 MiB of them. */
enum { REQUESTS_MAX = 65536 };

static char path[PATH_MAX];          /* of the file, from the root */
static char part_path[PATH_MAX + 8]; /* what it is called until it is whole */
static char started[32], job[48];    /* of rank 0 */
static pid_t owner;                  /* a child of fork has no part in the recording */

/* ---- start ---- */

static void warn_file(const char *name)
{
    hp_warn(
        "HANPMPI_PROFILE=%s: %s cannot be written: %s; accepted is the name of a file that rank 0 can write. "
        "There is no recording of this run",
        hp_job.knobs.profile, name, strerror(errno));
}

/* The program may change its folder. */
static bool find_path(void)
{
    char here[PATH_MAX] = "";
    const char *name = hp_job.knobs.profile;

    if (name[0] != '/' && !getcwd(here, sizeof here))
        return false;
    errno = ENAMETOOLONG;
    return snprintf(path, sizeof path, "%s%s%s", here, name[0] == '/' ? "" : "/", name) <
               (int)sizeof path - 16 &&
           snprintf(part_path, sizeof part_path, "%s.part", path) < (int)sizeof part_path;
}

/* Whether it can be written is to be known now, not after a day. */
static bool try_file(void)
{
    FILE *file = find_path() ? fopen(part_path, "we") : NULL;

    if (!file) {
        warn_file(part_path);
        return false;
    }
    fclose(file);
    return true;
}

static bool begin_book(void)
{
    hp_recorder_t *recorder = &hp_recorder;

    hp_call_shapes_open();
    hp_ticks_open();
    hp_requests_init(REQUESTS_MAX);
    hp_python_open(&recorder->book, (unsigned)hp_job.knobs.profile_frames);
    return hp_book_init(&recorder->book) && hp_handles_init(&recorder->book) &&
           hp_sites_init(&recorder->book, (unsigned)hp_job.knobs.profile_frames,
                         (const void *)(uintptr_t)hp_mpi_calls[HP_MPI_CALL_Allreduce]) &&
           hp_arrivals_init() && hp_sequence_init((uint32_t)hp_job.knobs.profile_sequence, hp_ticks());
}

/* ---- a rank that does not come to MPI_Finalize ---- */

static void close_rank(hp_book_t *book, const hp_trace_clock_t *clock)
{
    char host[MPI_MAX_PROCESSOR_NAME + 1] = "";
    const hp_watch_cost_t watching = hp_watch_cost();
    int length = 0;

    hp_polling_close();
    P(Get_processor_name)(host, &length);
    const hp_book_rank_t row = {.rank = (uint64_t)hp_job.rank,
                                .run_ns = hp_recorder.end_ns - hp_recorder.start_ns,
                                .mpi_ns = hp_recorder.mpi_ns,
                                .calls = hp_recorder.calls,
                                .clock_offset_ns = clock->ahead_ns[HP_CLOCK_AT_START],
                                .clock_error_ns = clock->error_ns[HP_CLOCK_AT_FINISH],
                                .watch_ns = watching.ns,
                                .watches_left_out = watching.left_out,
                                .node = hp_book_name(&book->nodes, host),
                                .threads = hp_recorder.threads};
    const uint32_t number = hp_table_add(&book->ranks, &row, book->ranks.key_words);
    if (number != HP_TABLE_FULL)
        *(hp_book_rank_t *)hp_table_row(&book->ranks, number) = row;
    hp_book_close(book);
}

/* What this rank alone has. */
static void leave_fragment(const char *why)
{
    char name[PATH_MAX + 32], part[PATH_MAX + 32], text[128];

    if (!hp_recorder.exists || getpid() != owner)
        return;
    hp_recorder.exists = false;
    hp_recorder.end_ns = hp_machine_clock_ns();
    snprintf(name, sizeof name, "%s.rank-%d", path, hp_job.rank);
    snprintf(part, sizeof part, "%s.part-%d", path,
             hp_job.rank); /* the launcher may kill this process meanwhile */
    snprintf(text, sizeof text, "rank %d %s: this is its part alone", hp_job.rank, why);
    FILE *file = fopen(part, "we");
    close_rank(&hp_recorder.book, &(hp_trace_clock_t){.at_ns = {0}});
    const bool written =
        file && hp_profile_write(file, &hp_recorder.book,
                                 &(hp_profile_text_t){
                                     .started = started, .job = job, .incomplete = text, .is_part = true});
    if (!file || fclose(file) != 0 || !written || rename(part, name) != 0)
        hp_warn("HANPMPI_PROFILE: rank %d %s, and what it recorded cannot be written to %s: %s", hp_job.rank,
                why, name, strerror(errno));
    else
        hp_warn("HANPMPI_PROFILE: rank %d %s; what it recorded is in %s", hp_job.rank, why, name);
}

static void on_exit_without_finalize(void)
{
    leave_fragment("has ended without MPI_Finalize");
}

static void on_abort(int code)
{
    char why[64];
    snprintf(why, sizeof why, "has called MPI_Abort with code %d", code);
    leave_fragment(why);
}

/* The launcher ends the others when one rank has gone. The process ends in any case: also if what it was doing when
 * the signal came keeps it from writing. */
static void on_term(int number)
{
    signal(SIGALRM, SIG_DFL);
    signal(number, SIG_DFL);
    alarm(5);
    leave_fragment("was ended by SIGTERM");
    raise(number);
}

static void watch_the_end(void)
{
    struct sigaction now;

    atexit(on_exit_without_finalize);
    if (sigaction(SIGTERM, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
        sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_term, .sa_flags = SA_NODEFER}, NULL);
}

static void unwatch_the_end(void)
{
    struct sigaction now;

    if (sigaction(SIGTERM, NULL, &now) == 0 && now.sa_handler == on_term)
        signal(SIGTERM, SIG_DFL);
}

static void open_unexpected(void)
{
    if (!hp_job.knobs.profile_unexpected || hp_unexpected_open() || hp_job.rank != 0)
        return;
    hp_warn("HANPMPI_PROFILE_UNEXPECTED=1: this MPI does not say how many messages are unexpected (it has no "
            "such "
            "variable in MPI_T): the recording lacks that");
}

/* What rank 0 says of the job. */
typedef struct {
    int64_t go; /* its file can be written */
    int64_t seconds, ns, pid;
} beginning_t;

/* False: there will be no recording. */
static bool share_beginning(beginning_t *beginning)
{
    struct timespec now;
    time_t seconds;
    struct tm utc;

    clock_gettime(CLOCK_REALTIME, &now);
    beginning->seconds = now.tv_sec;
    beginning->ns = now.tv_nsec;
    beginning->pid = getpid();
    if (P(Bcast)(beginning, (int)sizeof *beginning, MPI_BYTE, 0, MPI_COMM_WORLD) != MPI_SUCCESS ||
        !beginning->go)
        return false;
    seconds = (time_t)beginning->seconds;
    strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &utc));
    snprintf(job, sizeof job, "%llx-%llx-%llx", (unsigned long long)beginning->seconds,
             (unsigned long long)beginning->ns, (unsigned long long)beginning->pid);
    return true;
}

void hp_job_profile_start(void)
{
    beginning_t beginning = {.go = 1};

    if (!hp_job.is_whole)
        hp_job.knobs.profile[0] = '\0';
    if (!hp_job.knobs.profile[0])
        return;
    if (hp_job.rank == 0)
        beginning.go = try_file();
    else
        find_path();
    if (!share_beginning(&beginning) || !hp_gather_clocks_begin()) {
        hp_job.knobs.profile[0] = '\0';
        return;
    }
    owner = getpid();
    hp_recorder.on_abort = on_abort;
    hp_recorder.exists = begin_book();
    if (!hp_recorder.exists)
        hp_warn("HANPMPI_PROFILE: no memory: this rank records nothing");
    else {
        watch_the_end();
        hp_watch_open(&hp_recorder.book, (hp_watch_mode_t)hp_job.knobs.profile_watch);
        open_unexpected();
    }
    hp_recorder.start_ns = hp_machine_clock_ns();
}

hp_function_t hp_job_profile_record(hp_wrapped_t which, hp_function_t target)
{
    return hp_recorder.exists ? hp_wrapper_of(which, target) : target;
}

/* ---- finish ---- */

static bool write_file(hp_book_t *book)
{
    char missing[96];
    const bool is_whole = book->ranks.count == (uint32_t)hp_job.size;
    hp_profile_text_t text = {.started = started,
                              .job = job,
                              .incomplete = is_whole ? NULL : missing,
                              .write_sequence = hp_job.knobs.profile_sequence ? hp_sequence_write : NULL};

    snprintf(missing, sizeof missing, "%u of %d ranks are missing: they had no memory",
             (unsigned)hp_job.size - book->ranks.count, hp_job.size);
    errno = 0;
    FILE *file = fopen(part_path, "we");
    bool written = file && hp_profile_write(file, book, &text);
    if (!file)
        hp_sequence_refuse();
    if (file && fflush(file) != 0)
        written = false;
    if (file && fclose(file) != 0)
        written = false;
    if (written && rename(part_path, path) == 0) {
        hp_info("HANPMPI_PROFILE: the recording of %d ranks is in %s", hp_job.size, path);
        return true;
    }
    const int error = errno;
    unlink(part_path);
    errno = error;
    warn_file(path);
    return false;
}

void hp_job_profile_finish(void)
{
    hp_book_t *book = &hp_recorder.book;
    const bool records = hp_recorder.exists;
    hp_trace_clock_t clock;

    if (!hp_job.knobs.profile[0])
        return;
    hp_recording_lock();
    hp_watch_fini();
    hp_unexpected_fini();
    hp_recorder.exists = false;
    hp_recording_unlock();
    unwatch_the_end();
    hp_recorder.end_ns = hp_machine_clock_ns();
    if (hp_gather_clocks_end(&clock) && hp_arrivals_gather(book, &clock)) {
        if (records)
            close_rank(book, &clock);
        hp_sequence_keep_slacks(book);
        hp_gather_books(book);
        if (hp_job.rank == 0)
            write_file(book);
        else if (hp_job.knobs.profile_sequence)
            hp_sequence_send(book);
    }
    hp_book_fini(book);
    if (records)
        hp_handles_fini();
    hp_sites_fini();
    hp_python_fini();
    hp_requests_fini();
    hp_arrivals_fini();
    hp_sequence_fini();
    hp_sequence_forget_slacks();
}
