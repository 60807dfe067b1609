#include "hier/planning/rules/rules_reading.h"

#include <stdarg.h>
#include <stdio.h>

enum { LINE_BYTES = 2 * HP_KNOB_RANGE_BYTES + 384 };

static void hand_over(hp_rules_reading_t *reading, hp_rules_kind_t kind, char *line)
{
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
    reading->source->line(reading->source->context, kind, line);
}

/* Returns what was written. */
static size_t write_place(char *text, size_t text_bytes, const char *file, hp_rules_place_t place)
{
    int used = snprintf(text, text_bytes, "%.300s", file);

    if (place.line)
        used += snprintf(text + used, text_bytes - (size_t)used, ":%u", place.line);
    if (place.column)
        used += snprintf(text + used, text_bytes - (size_t)used, ":%u", place.column);
    if (place.rule)
        used += snprintf(text + used, text_bytes - (size_t)used, ": rule %u", place.rule);
    used += snprintf(text + used, text_bytes - (size_t)used, ": ");
    return (size_t)used;
}

void hp_rules_report(hp_rules_reading_t *reading, hp_rules_kind_t kind, hp_rules_place_t place,
                     const char *format, ...)
{
    char text[LINE_BYTES];
    va_list arguments;

    if (reading->reported[kind]++ >= HP_RULES_LINES_MAX && !reading->source->reports_all)
        return;
    const size_t used = write_place(text, sizeof text, reading->source->file, place);
    va_start(arguments, format);
    vsnprintf(text + used, sizeof text - used, format, arguments);
    va_end(arguments);
    hand_over(reading, kind, text);
}

void hp_rules_report_rest(hp_rules_reading_t *reading)
{
    static const char *const names[] = {[HP_RULES_PROBLEM] = "problems", [HP_RULES_NOTE] = "notes"};
    char text[LINE_BYTES];

    for (unsigned kind = 0; kind <= HP_RULES_NOTE; kind++) {
        if (reading->reported[kind] <= HP_RULES_LINES_MAX || reading->source->reports_all)
            continue;
        snprintf(text, sizeof text, "%.300s: and %u more %s: hanpmpi_info --check-rules shows all",
                 reading->source->file, reading->reported[kind] - HP_RULES_LINES_MAX, names[kind]);
        hand_over(reading, (hp_rules_kind_t)kind, text);
    }
}
