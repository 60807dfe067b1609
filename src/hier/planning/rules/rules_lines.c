/* rules_lines: on which line of a text each rule begins. The JSON library tells only where a syntax error
 * is. */
#include "hier/planning/rules/rules_reading.h"

typedef struct {
    unsigned depth; /* brackets that are open */
    size_t member;  /* commas seen in the outermost object */
    bool in_string, escaped;
    bool expects_element; /* in the array, before the first character of an element */
    uint32_t line;
} scan_t;

static void step_in_string(scan_t *scan, char c)
{
    if (scan->escaped)
        scan->escaped = false;
    else if (c == '\\')
        scan->escaped = true;
    else if (c == '"')
        scan->in_string = false;
}

/* Counts lines, members and brackets. in_array: this is about the elements that are looked for. */
static void step(scan_t *scan, char c, bool in_array)
{
    switch (c) {
    case '"':
        scan->in_string = true;
        break;
    case '[':
    case '{':
        scan->depth++;
        break;
    case ']':
    case '}':
        scan->depth--;
        break;
    case ',':
        if (scan->depth == 1)
            scan->member++;
        scan->expects_element = in_array;
        break;
    case '\n':
        scan->line++;
        break;
    default:
        break;
    }
}

void hp_rules_find_lines(const char *text, size_t length, size_t member, uint32_t *lines, size_t count)
{
    scan_t scan = {.line = 1};
    size_t found = 0;

    for (size_t i = 0; i < length && found < count && scan.member <= member; i++) {
        const char c = text[i];
        if (scan.in_string) {
            step_in_string(&scan, c);
            continue;
        }
        const bool blank = c == ' ' || c == '\t' || c == '\r' || c == '\n';
        if (scan.expects_element && !blank) {
            lines[found++] = scan.line;
            scan.expects_element = false;
        }
        if (scan.member == member && scan.depth == 1 && c == '[')
            scan.expects_element = true;
        step(&scan, c, scan.member == member && scan.depth == 2);
    }
}
