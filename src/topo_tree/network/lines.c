#include "topo_tree/network/lines.h"

#include <string.h>

char *hp_network_next_line(hp_network_lines_t *lines, bool joins)
{
    char *line = lines->at;

    if (line >= lines->end)
        return NULL;
    lines->reader->line = lines->line;
    hp_network_place_at(lines->reader, lines->line);
    for (;; lines->at++) {
        char *stop = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
        lines->line++;
        lines->at = stop ? stop : lines->end;
        if (lines->at > line && lines->at[-1] == '\r')
            lines->at[-1] = ' ';
        char *last = lines->at;
        while (last > line && last[-1] == ' ')
            last--;
        if (!stop || !joins || last == line || last[-1] != '\\')
            break;
        last[-1] = ' ';
        *stop = ' ';
    }
    *lines->at = '\0';
    lines->at++;
    return line;
}

char *hp_network_next_word(char **at)
{
    char *word = *at + strspn(*at, " \t\f\v");

    if (!*word)
        return NULL;
    *at = word + strcspn(word, " \t\f\v");
    if (**at)
        *(*at)++ = '\0';
    return word;
}
