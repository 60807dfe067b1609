#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static int log_level = HP_LOG_WARN;
static char log_who[32];

void hp_log_set_level(int level)
{
    log_level = level;
}

int hp_log_level(void)
{
    return log_level;
}

void hp_log_set_who(const char *who)
{
    snprintf(log_who, sizeof log_who, "%s", who ? who : "");
}

void hp_log_write(hp_log_level_t level, const char *format, ...)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    char line[1024];
    va_list args;

    if ((int)level > log_level)
        return;
    int used = snprintf(line, sizeof line, "hanpmpi: %s%s%s: ", log_who, *log_who ? ": " : "", names[level]);
    va_start(args, format);
    int text = vsnprintf(line + used, sizeof line - (size_t)used - 1, format, args);
    va_end(args);
    if (text < 0)
        return;
    size_t length = (size_t)used + (size_t)text;
    if (length > sizeof line - 2)
        length = sizeof line - 2;
    line[length++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, length);
    (void)written; /* nobody is left to tell */
}
