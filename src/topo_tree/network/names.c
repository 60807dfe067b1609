#include "topo_tree/network/names.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A name with its ranges filled in as far as they are. */
typedef struct {
    hp_network_reader_t *reader;
    const char *list, *end; /* end: of the item of the list */
    hp_network_name_fn_t take;
    void *context;
    char name[256];
} names_t;

typedef struct {
    uint32_t first, last;
    int digits; /* of the first: leading zeros stay */
    const char *rest;
} span_t;

/* Decimal digits of at most 9; how many, 0 where it is no such number. */
static size_t take_digits(const char *text, uint32_t *number)
{
    size_t length = 0;

    *number = 0;
    for (; isdigit((unsigned char)text[length]); length++) {
        if (length == 9)
            return 0;
        *number = 10 * *number + (uint32_t)(text[length] - '0');
    }
    return length;
}

/* "08-11" or "08", and the ] or the comma behind it. */
static bool take_span(const char *text, span_t *span)
{
    size_t length = take_digits(text, &span->first);

    span->digits = (int)length;
    span->last = span->first;
    span->rest = text + length;
    if (length > 0 && *span->rest == '-') {
        length = take_digits(span->rest + 1, &span->last);
        span->rest += 1 + length;
    }
    return length > 0 && (*span->rest == ']' || *span->rest == ',') && span->first <= span->last;
}

/* Nothing that is valid has a bracket in a name, so what stands between brackets are spans. */
static bool check_spans(const names_t *names, const char *text, const char **behind)
{
    span_t span = {.rest = text};

    do {
        if (!take_span(span.rest + 1, &span))
            return hp_network_refuse(names->reader, "\"%.40s\": expected a range such as n[0-15]",
                                     names->list);
        if (span.last - span.first >= HP_NETWORK_NODES_MAX)
            return hp_network_refuse(names->reader, "\"%.40s\" are more than %d names", names->list,
                                     HP_NETWORK_NODES_MAX);
    } while (*span.rest == ',');
    *behind = span.rest + 1;
    return true;
}

static bool too_long(const names_t *names)
{
    return hp_network_refuse(names->reader, "\"%.40s...\" is no name: expected less than 256 bytes",
                             names->list);
}

/* text: what is left of the item; used: bytes of the name so far. */
static bool expand(names_t *names, const char *text, size_t used)
{
    const char *behind = text;
    span_t span;

    while (text < names->end && *text != '[') {
        if (used + 1 >= sizeof names->name)
            return too_long(names);
        names->name[used++] = *text++;
    }
    if (text == names->end) {
        names->name[used] = '\0';
        return names->take(names->context, names->name);
    }
    if (!check_spans(names, text, &behind))
        return false;
    span.rest = text;
    do {
        take_span(span.rest + 1, &span);
        for (uint32_t i = span.first; i <= span.last; i++) {
            const int digits =
                snprintf(names->name + used, sizeof names->name - used, "%0*u", span.digits, i);
            if (used + (size_t)digits >= sizeof names->name)
                return too_long(names);
            if (!expand(names, behind, used + (size_t)digits))
                return false;
        }
    } while (*span.rest == ',');
    return true;
}

/* Where the item ends: a comma between brackets is part of it. */
static const char *item_end(const char *text)
{
    bool inside = false;

    for (; *text && (inside || *text != ','); text++)
        inside = *text == '[' || (inside && *text != ']');
    return text;
}

bool hp_network_each_name(hp_network_reader_t *reader, const char *list, hp_network_name_fn_t take,
                          void *context)
{
    names_t names = {.reader = reader, .list = list, .take = take, .context = context};

    for (const char *item = list;; item = names.end + 1) {
        names.end = item_end(item);
        if (!expand(&names, item, 0))
            return false;
        if (!*names.end)
            return true;
    }
}

/* ---- hosts ---- */

typedef struct {
    hp_network_reader_t *reader;
    uint32_t ranks, node_of_switch;
    hp_network_speed_t up, down;
} hosts_t;

static bool take_host(void *context, const char *name)
{
    const hosts_t *hosts = context;
    return hp_network_take_host(hosts->reader, name, hosts->ranks, hosts->node_of_switch, hosts->up,
                                hosts->down);
}

/* The number behind the colon. */
static bool take_ranks(const char *text, uint32_t *ranks)
{
    char *end;
    const unsigned long number = strtoul(text, &end, 10);

    *ranks = (uint32_t)number;
    return isdigit((unsigned char)*text) && !*end && number > 0 && number <= HP_NETWORK_RANKS_MAX;
}

bool hp_network_take_hosts(hp_network_reader_t *reader, const char *list, uint32_t node_of_switch,
                           hp_network_speed_t up, hp_network_speed_t down)
{
    hosts_t hosts = {reader, 1, node_of_switch, up, down};
    const char *colon = strrchr(list, ':');

    if (!colon)
        return hp_network_each_name(reader, list, take_host, &hosts);
    if (!take_ranks(colon + 1, &hosts.ranks))
        return hp_network_refuse(reader,
                                 "\"%.40s\": expected a number of ranks after the colon, from 1 to %d", list,
                                 HP_NETWORK_RANKS_MAX);
    char *names = strndup(list, (size_t)(colon - list));
    if (!names)
        return hp_network_no_memory(reader);
    const bool taken = hp_network_each_name(reader, names, take_host, &hosts);
    free(names);
    return taken;
}
