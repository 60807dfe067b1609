#include "topo_tree/network/ibnetdiscover.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "topo_tree/network/fabric.h"
#include "topo_tree/network/lines.h"

/* What a lane of a generation carries, in Gbit/s, without the bits of the encoding (InfiniBand Trade Association,
 * roadmap): 8b/10b up to QDR, 64b/66b from FDR10 on. */
static const struct {
    const char *speed;
    double gbit;
} lanes[] = {{"SDR", 2},  {"DDR", 4},  {"QDR", 8},   {"FDR10", 10}, {"FDR", 13.64},
             {"EDR", 25}, {"HDR", 50}, {"NDR", 100}, {"XDR", 200}};

/* SHARP's, which are inside switches. */
static const char aggregation[] = "Mellanox Technologies Aggregation Node";

typedef struct {
    hp_network_reader_t *reader;
    hp_fabric_t fabric;
    int32_t here; /* the device of the section; -1: there was none yet */
} dump_t;

bool hp_network_is_ibnetdiscover(const char *text)
{
    for (;; text += strcspn(text, "\n")) {
        text += strspn(text, " \t\r\n\f\v");
        if (*text != '#')
            return strncmp(text, "vendid=", 7) == 0;
    }
}

/* What stands between the next two quotes, which is cut out; *rest: behind them. NULL: there are none. */
static char *take_quoted(char *text, char **rest)
{
    char *first = strchr(text, '"'), *last = first ? strchr(first + 1, '"') : NULL;

    if (!last)
        return NULL;
    *last = '\0';
    *rest = last + 1;
    return first + 1;
}

static int32_t find_device(dump_t *dump, const char *id)
{
    const int32_t device = hp_fabric_device(&dump->fabric, id, dump->reader->line);

    if (device < 0)
        hp_network_no_memory(dump->reader);
    return device;
}

/* What follows the word Switch, Ca or Rt. */
static bool take_section(dump_t *dump, const char *word, char *rest)
{
    char *id = take_quoted(rest, &rest), *description = id ? take_quoted(rest, &rest) : NULL;

    if (!description)
        return hp_network_refuse(dump->reader, "a section without %s: expected %.10s PORTS \"ID\" # \"NAME\"",
                                 id ? "a name" : "an id", word);
    dump->here = find_device(dump, id);
    if (dump->here < 0)
        return false;
    hp_device_t *device = &dump->fabric.devices[dump->here];
    if (device->kind != HP_DEVICE_UNKNOWN)
        return hp_network_refuse(dump->reader, "\"%.40s\" is there already: expected one section each", id);
    device->line = dump->reader->line;
    device->kind = word[0] == 'S' ? HP_DEVICE_SWITCH : word[0] == 'R' ? HP_DEVICE_LEFT_OUT : HP_DEVICE_HOST;
    if (device->kind != HP_DEVICE_HOST)
        return true;
    if (strncmp(description, aggregation, sizeof aggregation - 1) == 0)
        device->kind = HP_DEVICE_LEFT_OUT;
    device->host = strndup(description, strcspn(description, " "));
    return device->host || hp_network_no_memory(dump->reader);
}

/* "4xQDR", the last word of a cable's line. */
static bool take_rate(dump_t *dump, char *rest, double *rate)
{
    const char *last = "";
    char *word, *speed;

    while ((word = hp_network_next_word(&rest)))
        last = word;
    const unsigned long width = strtoul(last, &speed, 10);
    if (isdigit((unsigned char)*last) && *speed == 'x' && width >= 1 && width <= 12)
        for (unsigned i = 0; i < sizeof lanes / sizeof *lanes; i++)
            if (strcmp(speed + 1, lanes[i].speed) == 0) {
                *rate = (double)width * lanes[i].gbit * 125;
                return true;
            }
    return hp_network_refuse(dump->reader, "\"%.40s\" at the end: expected a width and a speed such as 4xEDR",
                             last);
}

/* [1](2c9030009e3ff) "S-0002c902004042a8"[1]   # ... */
static bool take_cable(dump_t *dump, char *line)
{
    char *rest, *id = take_quoted(line, &rest);
    hp_cable_t cable = {.line = dump->reader->line};

    if (dump->here < 0)
        return hp_network_refuse(dump->reader, "a port before any section: expected Switch or Ca");
    if (!id)
        return hp_network_refuse(dump->reader, "a port without an id: expected [PORT] \"ID\"[PORT] # ...");
    const int32_t to = find_device(dump, id);
    if (to < 0 || !take_rate(dump, rest, &cable.rate))
        return false;
    cable.from = (uint32_t)dump->here;
    cable.to = (uint32_t)to;
    return hp_fabric_add_cable(&dump->fabric, cable) || hp_network_no_memory(dump->reader);
}

static bool take_line(dump_t *dump, char *line)
{
    static const char *const sections[] = {"Switch", "Ca", "Rt"};

    line += strspn(line, " \t");
    if (*line == '\0' || *line == '#')
        return true;
    if (*line == '[')
        return take_cable(dump, line);
    for (unsigned i = 0; i < sizeof sections / sizeof *sections; i++) {
        const size_t length = strlen(sections[i]);
        if (strncmp(line, sections[i], length) == 0 && isblank((unsigned char)line[length]))
            return take_section(dump, sections[i], line + length);
    }
    const size_t key = strspn(line, "abcdefghijklmnopqrstuvwxyz");
    return (key > 0 && line[key] == '=') ||
           hp_network_refuse(dump->reader,
                             "\"%.40s\" is no line of ibnetdiscover: expected KEY=VALUE, Switch, "
                             "Ca, Rt or [PORT]",
                             line);
}

bool hp_network_take_ibnetdiscover(hp_network_reader_t *reader, char *text, size_t length)
{
    dump_t dump = {.reader = reader, .here = -1};
    hp_network_lines_t lines = {reader, text, text + length, 1};
    bool taken = true;
    char *line;

    reader->network->queue = INFINITY; /* InfiniBand sends where there is room */
    hp_fabric_init(&dump.fabric);
    while (taken && (line = hp_network_next_line(&lines, false)))
        taken = take_line(&dump, line);
    taken = taken && hp_fabric_take(reader, &dump.fabric);
    hp_fabric_fini(&dump.fabric);
    return taken;
}
