#include "topo_tree/fingerprint.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include "topo_tree/hwloc_load.h"

/* Words that say nothing, as they stand in lower case between hyphens. */
static const char *const empty_words[] = {"r", "tm", "cpu", "processor"};

static bool is_empty_word(const char *word, size_t bytes)
{
    for (size_t i = 0; i < sizeof empty_words / sizeof *empty_words; i++)
        if (strlen(empty_words[i]) == bytes && memcmp(empty_words[i], word, bytes) == 0)
            return true;
    return false;
}

static bool is_kept(unsigned char letter)
{
    return (isascii(letter) && isalnum(letter)) || letter == '.' || letter == '_';
}

/* Appends the words of text, each with a hyphen before it, as far as they fit. The clock rate behind an @ is
 * left out: it is not always there. */
static void add_words(char *out, size_t out_bytes, const char *text)
{
    size_t used = strlen(out);

    while (*text && *text != '@') {
        size_t bytes = 0;
        while (text[bytes] && is_kept((unsigned char)text[bytes]))
            bytes++;
        char word[HP_FINGERPRINT_BYTES];
        const size_t kept = bytes < sizeof word ? bytes : sizeof word - 1;
        for (size_t i = 0; i < kept; i++)
            word[i] = (char)tolower((unsigned char)text[i]);
        if (kept > 0 && !is_empty_word(word, kept)) {
            if (used + kept + 1 >= out_bytes)
                return;
            out[used++] = '-';
            memcpy(out + used, word, kept);
            out[used += kept] = '\0';
        }
        text += bytes ? bytes : 1;
    }
}

const char *hp_fingerprint_format(const char *architecture, const char *processor, uint32_t packages,
                                  uint32_t cores, char *out, unsigned out_bytes)
{
    char name[HP_FINGERPRINT_BYTES] = "", end[32];

    snprintf(end, sizeof end, "-%up-%uc", packages, cores);
    add_words(name, sizeof name - strlen(end), architecture);
    if (!name[0])
        add_words(name, sizeof name - strlen(end), "unknown");
    add_words(name, sizeof name - strlen(end), processor);
    snprintf(out, out_bytes, "%s%s", name + 1, end); /* the first hyphen goes */
    return out;
}

static uint32_t count_of(hwloc_topology_t topology, hwloc_obj_type_t type)
{
    const int count = hwloc_get_nbobjs_by_type(topology, type);
    return count > 0 ? (uint32_t)count : 1;
}

static const char *processor_of(hwloc_topology_t topology)
{
    const hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
    const char *model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
    if (!model) /* a machine without packages has it at its root */
        model = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), "CPUModel");
    return model ? model : "unknown";
}

const char *hp_machine_fingerprint_of(const char *xml_path, char *out, unsigned out_bytes)
{
    struct utsname system;
    const char *architecture = uname(&system) == 0 ? system.machine : "unknown";
    hwloc_topology_t topology = hp_hwloc_load(xml_path);

    if (!topology)
        return hp_fingerprint_format(architecture, "unknown", 1, 1, out, out_bytes);
    if (xml_path) {
        const char *written = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), "Architecture");
        architecture = written ? written : "unknown";
    }
    hp_fingerprint_format(architecture, processor_of(topology), count_of(topology, HWLOC_OBJ_PACKAGE),
                          count_of(topology, HWLOC_OBJ_CORE), out, out_bytes);
    hwloc_topology_destroy(topology);
    return out;
}

const char *hp_machine_fingerprint(char *out, unsigned out_bytes)
{
    return hp_machine_fingerprint_of(NULL, out, out_bytes);
}
