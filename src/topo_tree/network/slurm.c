#include "topo_tree/network/slurm.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/words.h"
#include "topo_tree/network/lines.h"
#include "topo_tree/network/names.h"

#define EXPECTED "expected SwitchName=, Nodes=, Switches= and LinkSpeed="

/* The values of a line. */
typedef struct {
    char *name, *nodes, *switches, *link_speed;
} line_t;

static const struct {
    const char *text;
    size_t offset; /* of the value */
} keys[] = {{"SwitchName", offsetof(line_t, name)},
            {"Nodes", offsetof(line_t, nodes)},
            {"Switches", offsetof(line_t, switches)},
            {"LinkSpeed", offsetof(line_t, link_speed)}};

/* Switches that have a line of their own; the others were only named. */
typedef struct {
    hp_network_reader_t *reader;
    bool *has_line; /* of each node */
    uint32_t room;
    uint32_t here; /* the switch of this line */
    hp_network_speed_t speed;
} slurm_t;

bool hp_network_is_slurm(const char *text)
{
    static const char *const first[] = {"SwitchName=", "BlockName=", "BlockSizes="};

    for (;; text += strcspn(text, "\n")) {
        text += strspn(text, " \t\r\n\f\v");
        if (*text != '#')
            break;
    }
    for (unsigned i = 0; i < sizeof first / sizeof *first; i++)
        if (strncasecmp(text, first[i], strlen(first[i])) == 0)
            return true;
    return false;
}

static bool take_word(slurm_t *slurm, char *word, line_t *line)
{
    char *equals = strchr(word, '=');

    if (!equals || !equals[1])
        return hp_network_refuse(slurm->reader, "\"%.40s\" has no value: " EXPECTED, word);
    *equals = '\0';
    for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++) {
        char **value = (char **)((char *)line + keys[i].offset);
        if (strcasecmp(word, keys[i].text) != 0)
            continue;
        if (*value)
            return hp_network_refuse(slurm->reader, "%s= twice: expected each once a line", word);
        *value = equals + 1;
        return true;
    }
    return hp_network_refuse(slurm->reader, "\"%.40s=\" is not known: " EXPECTED ", of topology/tree", word);
}

static bool take_speed(slurm_t *slurm, const char *text)
{
    const size_t digits = strspn(text, "0123456789");

    if (digits == 0 || text[digits] || digits > 9)
        return hp_network_refuse(slurm->reader,
                                 "LinkSpeed=%.40s: expected a whole number, which is read as Mbit/s", text);
    if (strspn(text, "0") == digits)
        return hp_network_refuse(slurm->reader, "LinkSpeed=%.40s carries nothing: expected more than 0",
                                 text);
    slurm->speed.rate = hp_word_number(text, NULL) * 0.125;
    return true;
}

static bool has_line(const slurm_t *slurm, uint32_t node)
{
    return node < slurm->room && slurm->has_line[node];
}

static bool set_line(slurm_t *slurm, uint32_t node)
{
    if (node >= slurm->room) {
        const uint32_t room = 2 * node + 16;
        bool *more = realloc(slurm->has_line, room * sizeof *more);
        if (!more)
            return hp_network_no_memory(slurm->reader);
        memset(more + slurm->room, 0, (room - slurm->room) * sizeof *more);
        slurm->has_line = more;
        slurm->room = room;
    }
    slurm->has_line[node] = true;
    return true;
}

static bool take_below(void *context, const char *name)
{
    slurm_t *slurm = context;
    const int32_t below = hp_network_take_switch(slurm->reader, name, true);

    return below >= 0 &&
           hp_network_take_link(slurm->reader, (uint32_t)below, slurm->here, slurm->speed, slurm->speed);
}

static bool take_line(slurm_t *slurm, const line_t *line)
{
    slurm->speed = slurm->reader->usual;
    if (!line->name)
        return hp_network_refuse(slurm->reader, "a line without SwitchName=: " EXPECTED);
    if (!line->nodes && !line->switches)
        return hp_network_refuse(slurm->reader,
                                 "switch \"%.40s\" has neither Nodes= nor Switches=: expected one of them",
                                 line->name);
    if (line->link_speed && !take_speed(slurm, line->link_speed))
        return false;
    const int32_t here = hp_network_take_switch(slurm->reader, line->name, true);
    if (here < 0)
        return false;
    if (has_line(slurm, (uint32_t)here))
        return hp_network_refuse(slurm->reader, "switch \"%.40s\" is there already: expected each once",
                                 line->name);
    slurm->here = (uint32_t)here;
    return set_line(slurm, slurm->here) &&
           (!line->nodes ||
            hp_network_take_hosts(slurm->reader, line->nodes, slurm->here, slurm->speed, slurm->speed)) &&
           (!line->switches || hp_network_each_name(slurm->reader, line->switches, take_below, slurm));
}

/* The lines may name switches before they describe them. */
static bool check_all(const slurm_t *slurm)
{
    hp_network_reader_t *reader = slurm->reader;

    for (uint32_t i = 0; i < reader->network->node_count; i++) {
        if (reader->network->nodes[i].machine >= 0 || has_line(slurm, i))
            continue;
        hp_network_place_at(reader, reader->lines[i]);
        return hp_network_refuse(reader, "there is no line SwitchName=%.40s: expected one for each switch",
                                 reader->network->nodes[i].name);
    }
    return hp_network_take_all(reader);
}

bool hp_network_take_slurm(hp_network_reader_t *reader, char *text, size_t length)
{
    slurm_t slurm = {.reader = reader};
    hp_network_lines_t lines = {reader, text, text + length, 1};
    bool taken = true;
    char *at, *word;

    while (taken && (at = hp_network_next_line(&lines, true))) {
        line_t line = {NULL};
        bool is_empty = true;
        at[strcspn(at, "#")] = '\0';
        while (taken && (word = hp_network_next_word(&at))) {
            taken = take_word(&slurm, word, &line);
            is_empty = false;
        }
        if (taken && !is_empty)
            taken = take_line(&slurm, &line);
    }
    taken = taken && check_all(&slurm);
    free(slurm.has_line);
    return taken;
}
