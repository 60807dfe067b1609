#include "topo_tree/network/reader.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/grow.h"
#include "base/words.h"

bool hp_network_refuse(hp_network_reader_t *reader, const char *format, ...)
{
    char reason[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    snprintf(reader->why, reader->why_bytes, "%.300s:%s%s %s", reader->file, reader->place,
             reader->place[0] ? ":" : "", reason);
    for (char *c = reader->why; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
    reader->status = HP_ERR_ARG;
    return false;
}

void hp_network_place_at(hp_network_reader_t *reader, uint32_t line)
{
    snprintf(reader->place, sizeof reader->place, "%u", line);
}

bool hp_network_no_memory(hp_network_reader_t *reader)
{
    hp_network_refuse(reader, "%s", hp_status_text(HP_ERR_NO_MEM));
    reader->status = HP_ERR_NO_MEM;
    return false;
}

/* ---- rates and times ---- */

typedef struct {
    const char *name;
    double factor;
} unit_t;

static const unit_t rate_units[] = {{"bit", 0.125e-6}, {"kbit", 0.125e-3}, {"mbit", 0.125}, {"gbit", 125},
                                    {"tbit", 125000},  {"b", 1e-6},        {"kb", 1e-3},    {"mb", 1},
                                    {"gb", 1000},      {"tb", 1e6},        {NULL, 0}};
static const unit_t byte_units[] = {{"b", 1}, {"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {NULL, 0}};
static const unit_t time_units[] = {{"ns", 1e-3}, {"us", 1}, {"ms", 1e3}, {"s", 1e6}, {NULL, 0}};

/* A plain number and a unit, which may be followed by suffix; length: of text. false: it is none. */
static bool measure(const char *text, size_t length, const unit_t *units, const char *suffix, double *out)
{
    char copy[48], *unit;

    if (length >= sizeof copy || !isdigit((unsigned char)text[0]))
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (copy[0] == '0' && tolower((unsigned char)copy[1]) == 'x')
        return false;
    const double number = hp_word_number(copy, &unit);
    const size_t end = strlen(unit), tail = strlen(suffix);
    if (tail > 0 && end > tail && strcasecmp(unit + end - tail, suffix) == 0)
        unit[end - tail] = '\0';
    while (units->name && strcasecmp(unit, units->name) != 0)
        units++;
    *out = number * units->factor;
    return units->name && isfinite(*out);
}

static bool take_rate(hp_network_reader_t *reader, const char *text, size_t length, double *rate)
{
    if (!measure(text, length, rate_units, "/s", rate))
        return hp_network_refuse(
            reader, "\"%.*s\" is no rate: expected bits or bytes a second such as 10gbit or 1.2GB",
            length < 40 ? (int)length : 40, text);
    if (!(*rate > 0))
        return hp_network_refuse(reader, "a link of rate %.*s carries nothing: expected more than 0",
                                 length < 40 ? (int)length : 40, text);
    return true;
}

bool hp_network_take_rate(hp_network_reader_t *reader, const char *text, double *rate)
{
    return take_rate(reader, text, strlen(text), rate);
}

bool hp_network_take_rates(hp_network_reader_t *reader, const char *text, double *there, double *back)
{
    const char *slash = strchr(text, '/');

    if (slash && strcasecmp(slash, "/s") == 0)
        slash = NULL;
    if (slash && strncasecmp(slash, "/s/", 3) == 0)
        slash += 2;
    if (!slash) {
        const bool taken = hp_network_take_rate(reader, text, there);
        *back = *there;
        return taken;
    }
    return take_rate(reader, text, (size_t)(slash - text), there) &&
           take_rate(reader, slash + 1, strlen(slash + 1), back);
}

bool hp_network_take_latency(hp_network_reader_t *reader, const char *text, double *latency_us)
{
    return measure(text, strlen(text), time_units, "", latency_us) ||
           hp_network_refuse(reader, "\"%.40s\" is no latency: expected a time such as 1.5us", text);
}

bool hp_network_take_queue(hp_network_reader_t *reader, const char *text)
{
    double *queue = &reader->network->queue;

    if (strcasecmp(text, "lossless") == 0) {
        *queue = INFINITY;
        return true;
    }
    return (measure(text, strlen(text), byte_units, "", queue) && *queue > 0) ||
           hp_network_refuse(reader, "\"%.40s\" is no queue: expected bytes such as 64KB, or lossless", text);
}

/* ---- names ---- */

static bool is_name(const char *name)
{
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c) && (unsigned char)*c < 128)
            return false;
    return name[0] != '\0' && name[0] != '-' && strlen(name) < 256;
}

/* The number of what was added, or -1. */
static int32_t add(hp_network_reader_t *reader, const char *name, uint32_t ranks)
{
    if (!is_name(name)) {
        hp_network_refuse(reader, "\"%.40s\" is no name: expected letters, digits and . _ -", name);
        return -1;
    }
    const uint32_t count = reader->network->node_count;
    if (count >= HP_NETWORK_NODES_MAX) {
        hp_network_refuse(reader, "more than %d hosts and switches", HP_NETWORK_NODES_MAX);
        return -1;
    }
    if (!hp_grow(&reader->lines, &reader->line_room, count, sizeof *reader->lines, 64)) {
        hp_network_no_memory(reader);
        return -1;
    }
    reader->lines[count] = reader->line;
    const int32_t node = hp_network_add(reader->network, name, ranks);
    if (node < 0)
        hp_network_no_memory(reader);
    return node;
}

bool hp_network_take_host(hp_network_reader_t *reader, const char *name, uint32_t ranks,
                          uint32_t node_of_switch, hp_network_speed_t up, hp_network_speed_t down)
{
    const int32_t known = hp_network_node(reader->network, name);

    if (known >= 0)
        return hp_network_refuse(reader, "%s \"%.40s\" is there already: expected each host once",
                                 reader->network->nodes[known].machine >= 0 ? "host" : "switch", name);
    const int32_t node = add(reader, name, ranks);
    return node >= 0 && hp_network_take_link(reader, (uint32_t)node, node_of_switch, up, down);
}

int32_t hp_network_take_switch(hp_network_reader_t *reader, const char *name, bool makes)
{
    const int32_t node = hp_network_node(reader->network, name);

    if (node < 0 && makes)
        return add(reader, name, 0);
    if (node < 0)
        hp_network_refuse(reader, "there is no switch \"%.40s\": expected one of \"switches\"", name);
    else if (reader->network->nodes[node].machine >= 0)
        hp_network_refuse(reader, "\"%.40s\" is a host: expected a switch, hosts have one link", name);
    else
        return node;
    return -1;
}

bool hp_network_take_link(hp_network_reader_t *reader, uint32_t a, uint32_t b, hp_network_speed_t there,
                          hp_network_speed_t back)
{
    const hp_network_node_t *nodes = reader->network->nodes;

    if (a == b)
        return hp_network_refuse(reader, "a link from \"%.40s\" to itself: expected two switches",
                                 nodes[a].name);
    if (hp_network_connect(reader->network, a, b, there, back) != HP_OK)
        return hp_network_refuse(reader,
                                 "a link from \"%.40s\" to \"%.40s\" closes a cycle: expected a tree, in "
                                 "which they are connected once",
                                 nodes[a].name, nodes[b].name);
    return true;
}

bool hp_network_take_all(hp_network_reader_t *reader)
{
    const hp_network_t *network = reader->network;
    uint32_t node = 0;
    const hp_network_fault_t fault = hp_network_finish(reader->network, &node);

    reader->place[0] = '\0';
    if (fault == HP_NETWORK_EMPTY)
        return hp_network_refuse(reader, "no hosts: expected at least one");
    if (fault != HP_NETWORK_WHOLE && reader->line > 0)
        hp_network_place_at(reader, reader->lines[node]);
    if (fault == HP_NETWORK_PARTS)
        return hp_network_refuse(reader,
                                 "\"%.40s\" is not connected with \"%.40s\": expected one tree, not parts",
                                 network->nodes[node].name, network->nodes[0].name);
    if (fault == HP_NETWORK_DEAD_END)
        return hp_network_refuse(
            reader, "switch \"%.40s\" leads nowhere: expected hosts on it, or links to two others",
            network->nodes[node].name);
    return true;
}
