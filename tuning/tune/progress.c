#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR_WIDTH = 30, LINE_SECONDS = 10 };

static const double bar_seconds = 0.2;

void tune_progress_init(tune_progress_t *progress, int planned, double plan_seconds, double now)
{
    *progress = (tune_progress_t){.bar = isatty(STDERR_FILENO),
                                  .planned = planned,
                                  .plan_seconds = plan_seconds,
                                  .started = now,
                                  .said = now};
}

void tune_duration_text(char text[32], double seconds)
{
    const long whole = (long)(seconds + 0.5);

    if (whole >= 3600)
        snprintf(text, 32, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
    else
        snprintf(text, 32, "%ld:%02ld", whole / 60, whole % 60);
}

/* 1204 as 1,204 */
static void number_text(char text[32], int number)
{
    char digits[16];
    const int length = snprintf(digits, sizeof digits, "%d", number);
    int at = 0;

    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
}

void tune_progress_text(char *text, size_t room, int done, int planned, double seconds_left,
                        tune_collective_t collective, size_t bytes)
{
    char done_text[32], planned_text[32], size[32], left[48] = "", duration[32];

    number_text(done_text, done);
    number_text(planned_text, planned);
    tune_bytes_text(bytes, size);
    if (seconds_left >= 0) {
        tune_duration_text(duration, seconds_left);
        snprintf(left, sizeof left, ", %s left", duration);
    }
    snprintf(text, room, "%d%% %s of %s%s, %s %s", planned > 0 ? (int)(100.0 * done / planned) : 100,
             done_text, planned_text, left, tune_collective_name(collective), size);
}

/* The plan's seconds that remain, as long as the plan's seconds took until now. */
static double seconds_left(const tune_progress_t *progress, double now)
{
    if (progress->done_seconds <= 0)
        return -1;
    const double remain = progress->plan_seconds - progress->done_seconds;
    return remain <= 0 ? 0 : remain * (now - progress->started) / progress->done_seconds;
}

static void draw(const tune_progress_t *progress, const char *text)
{
    char bar[BAR_WIDTH + 1];
    const int filled = progress->planned > 0 ? BAR_WIDTH * progress->done / progress->planned : BAR_WIDTH;

    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r\033[K[%s] %s", bar, text);
    fflush(stderr);
}

void tune_progress_step(tune_progress_t *progress, tune_collective_t collective, size_t bytes, double seconds,
                        bool is_new, double now)
{
    char text[160];

    progress->done++;
    /* A search that adapts itself may need more than was planned. */
    if (progress->done > progress->planned)
        progress->planned = progress->done;
    if (is_new)
        progress->done_seconds += seconds;
    else
        progress->plan_seconds -= seconds;
    if (now - progress->said < (progress->bar ? bar_seconds : LINE_SECONDS))
        return;
    progress->said = now;
    tune_progress_text(text, sizeof text, progress->done, progress->planned, seconds_left(progress, now),
                       collective, bytes);
    if (progress->bar)
        draw(progress, text);
    else
        fprintf(stderr, "hanpmpi_tune: %s\n", text);
}

void tune_progress_end(const tune_progress_t *progress)
{
    if (progress->bar)
        fputs("\r\033[K", stderr);
}
