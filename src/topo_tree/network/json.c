#include "topo_tree/network/json.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include "topo_tree/network/names.h"

enum { FORMAT = 1 };

static bool check_keys(hp_network_reader_t *reader, const json_t *object, const char *const *known)
{
    const char *key;
    json_t *value;

    if (!json_is_object(object))
        return hp_network_refuse(reader, "no object: expected {...}");
    json_object_foreach((json_t *)object, key, value)
    {
        unsigned i = 0;
        while (known[i] && strcmp(known[i], key) != 0)
            i++;
        if (known[i])
            continue;
        char list[160] = "";
        for (i = 0; known[i]; i++) {
            const size_t used = strlen(list);
            snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", known[i]);
        }
        return hp_network_refuse(reader, "unknown key \"%.40s\": expected %s", key, list);
    }
    return true;
}

/* The text of a key; NULL with found: it is not there. */
static bool take_text(hp_network_reader_t *reader, const json_t *object, const char *key, bool must,
                      const char **text)
{
    const json_t *value = json_object_get(object, key);

    *text = json_string_value(value);
    if (*text && strlen(*text) == json_string_length(value))
        return true;
    if (!value && !must)
        return true;
    return hp_network_refuse(reader, "%s \"%s\": expected a text", value ? "no text in" : "there is no", key);
}

static bool take_speeds(hp_network_reader_t *reader, const json_t *object, hp_network_speed_t *there,
                        hp_network_speed_t *back)
{
    const char *rate, *latency;

    if (!take_text(reader, object, "rate", false, &rate) ||
        !take_text(reader, object, "latency", false, &latency))
        return false;
    if (rate && !hp_network_take_rates(reader, rate, &there->rate, &back->rate))
        return false;
    if (latency && !hp_network_take_latency(reader, latency, &there->latency_us))
        return false;
    back->latency_us = there->latency_us;
    return true;
}

/* An object of a rate and a latency, where there is one. */
static bool take_speed(hp_network_reader_t *reader, const json_t *root, const char *key,
                       hp_network_speed_t *speed)
{
    static const char *const keys[] = {"rate", "latency", NULL};
    const json_t *object = json_object_get(root, key);
    hp_network_speed_t there = *speed, back = there;

    if (!object)
        return true;
    snprintf(reader->place, sizeof reader->place, " %s", key);
    if (!check_keys(reader, object, keys) || !take_speeds(reader, object, &there, &back))
        return false;
    if (there.rate != back.rate)
        return hp_network_refuse(reader, "two rates: expected one");
    *speed = there;
    return true;
}

static bool take_queue(hp_network_reader_t *reader, const json_t *root)
{
    const char *queue;

    reader->place[0] = '\0';
    return take_text(reader, root, "queue", false, &queue) &&
           (!queue || hp_network_take_queue(reader, queue));
}

static bool take_switch(hp_network_reader_t *reader, const json_t *value)
{
    const char *name = json_string_value(value);

    if (!name)
        return hp_network_refuse(reader, "no text: expected a name");
    if (hp_network_node(reader->network, name) >= 0)
        return hp_network_refuse(reader, "switch \"%.40s\" is there already: expected each once", name);
    return hp_network_take_switch(reader, name, true) >= 0;
}

static bool take_hosts(hp_network_reader_t *reader, const json_t *value)
{
    static const char *const keys[] = {"names", "switch", "rate", "latency", NULL};
    hp_network_speed_t up = reader->usual, down = up;
    const char *on;

    if (!check_keys(reader, value, keys) || !take_text(reader, value, "switch", true, &on) ||
        !take_speeds(reader, value, &up, &down))
        return false;
    const int32_t node = hp_network_take_switch(reader, on, false);
    const json_t *names = json_object_get(value, "names");
    if (node >= 0 && json_array_size(names) == 0)
        return hp_network_refuse(reader, "no \"names\": expected an array of host names");
    for (size_t i = 0; i < json_array_size(names) && node >= 0; i++) {
        const char *name = json_string_value(json_array_get(names, i));
        if (!name)
            return hp_network_refuse(reader, "names[%zu] is no text: expected a host name", i);
        if (!hp_network_take_hosts(reader, name, (uint32_t)node, up, down))
            return false;
    }
    return node >= 0;
}

static bool take_link(hp_network_reader_t *reader, const json_t *value)
{
    static const char *const keys[] = {"between", "rate", "latency", NULL};
    hp_network_speed_t there = reader->usual, back = there;
    const json_t *ends = json_object_get(value, "between");
    int32_t nodes[2] = {-1, -1};

    if (!check_keys(reader, value, keys) || !take_speeds(reader, value, &there, &back))
        return false;
    for (unsigned i = 0; i < 2; i++) {
        const char *name = json_string_value(json_array_get(ends, i));
        if (!name || json_array_size(ends) != 2)
            return hp_network_refuse(reader, "no \"between\": expected an array of two switches");
        nodes[i] = hp_network_take_switch(reader, name, false);
        if (nodes[i] < 0)
            return false;
    }
    return hp_network_take_link(reader, (uint32_t)nodes[0], (uint32_t)nodes[1], there, back);
}

typedef bool (*take_fn_t)(hp_network_reader_t *reader, const json_t *value);

static bool take_array(hp_network_reader_t *reader, const json_t *root, const char *key, take_fn_t take)
{
    const json_t *array = json_object_get(root, key);

    snprintf(reader->place, sizeof reader->place, " %s", key);
    if (array && !json_is_array(array))
        return hp_network_refuse(reader, "no array: expected [...]");
    for (size_t i = 0; i < json_array_size(array); i++) {
        snprintf(reader->place, sizeof reader->place, " %s[%zu]", key, i);
        if (!take(reader, json_array_get(array, i)))
            return false;
    }
    return true;
}

static bool take_format(hp_network_reader_t *reader, const json_t *root)
{
    const json_t *format = json_object_get(root, "format");

    return (json_is_integer(format) && json_integer_value(format) == FORMAT) ||
           hp_network_refuse(reader, "%s: expected \"format\": %d",
                             format ? "a format that is not known" : "there is no \"format\"", FORMAT);
}

bool hp_network_take_json(hp_network_reader_t *reader, const char *text, size_t length)
{
    static const char *const keys[] = {"format",   "comment", "usual", "inside", "queue",
                                       "switches", "hosts",   "links", NULL};
    json_error_t error = {.text = ""};
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);

    if (!root) {
        snprintf(reader->place, sizeof reader->place, "%d", error.line);
        if (error.text[0])
            return hp_network_refuse(reader, "%s: expected JSON", error.text);
        return hp_network_no_memory(reader);
    }
    const bool fine = check_keys(reader, root, keys) && take_format(reader, root) &&
                      take_speed(reader, root, "usual", &reader->usual) &&
                      take_speed(reader, root, "inside", &reader->network->inside) &&
                      take_queue(reader, root) && take_array(reader, root, "switches", take_switch) &&
                      take_array(reader, root, "hosts", take_hosts) &&
                      take_array(reader, root, "links", take_link) && hp_network_take_all(reader);
    json_decref(root);
    return fine;
}
