#include "hier/selection/rules_reading.h"

#include <stdarg.h>

enum { LINE_BYTES = 768 };

static void hand_over(hp_rules_reading_t *reading, hp_rules_kind_t kind, char *line)
{
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
    reading->source->line(reading->source->context, kind, line);
}

void hp_rules_tell(hp_rules_reading_t *reading, hp_rules_kind_t kind, uint32_t line, uint32_t number,
                   const char *format, ...)
{
    const char *file = reading->source->file;
    char text[LINE_BYTES];
    va_list arguments;

    if (reading->told[kind]++ >= HP_RULES_LINES_MAX && !reading->source->tells_all)
        return;
    int used = number ? snprintf(text, sizeof text, "%.300s:%u: rule %u: ", file, line, number)
                      : snprintf(text, sizeof text, "%.300s: ", file);
    va_start(arguments, format);
    vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
    va_end(arguments);
    hand_over(reading, kind, text);
}

void hp_rules_tell_rest(hp_rules_reading_t *reading)
{
    static const char *const names[] = {[HP_RULES_PROBLEM] = "problems", [HP_RULES_NOTE] = "notes"};
    char text[LINE_BYTES];

    for (unsigned kind = 0; kind <= HP_RULES_NOTE; kind++) {
        if (reading->told[kind] <= HP_RULES_LINES_MAX || reading->source->tells_all)
            continue;
        snprintf(text, sizeof text, "%.300s: and %u more %s: hanpmpi_info --check-rules shows all",
                 reading->source->file, reading->told[kind] - HP_RULES_LINES_MAX, names[kind]);
        hand_over(reading, (hp_rules_kind_t)kind, text);
    }
}
