/* rules: from choices at sizes to rules for ranges of sizes.
 *
 * Neighbouring sizes with the same choice are one rule. A choice gives way to the one before it where that
 * is not slower by more than TUNE_KEEP: what lies so close together is noise, and each rule more is one
 * more to look at. Between two sizes with other choices a rule ends where the crossing point is. Threads:
 * one. Ownership: plain data; borrows what it is given. */
#ifndef HP_TUNE_RULES_H
#define HP_TUNE_RULES_H

#include <jansson.h>

#include "search.h"

#define TUNE_KEEP 1.02

typedef struct {
    tune_collective_t collective;
    size_t from, to; /* both included */
    int config;
    double us, host_us; /* at the largest size of the range that was measured; host_us 0: not known */
} tune_rule_t;

typedef struct {
    tune_rule_t rules[TUNE_COLLECTIVES * TUNE_SIZES_MAX];
    int count;
} tune_rules_t;

/* What is known of a configuration's time at one of the sizes; < 0: nothing. */
typedef double (*tune_known_fn_t)(const void *context, tune_collective_t collective, int config, int size);

void tune_rules_smooth(const tune_options_t *options, tune_search_t *search, tune_known_fn_t known,
                       const void *context);

/* host_us: by collective and size. Asks the lab for crossing points while there is time. */
void tune_rules_make(tune_rules_t *rules, tune_lab_t *lab, const tune_search_t *search,
                     double host_us[TUNE_COLLECTIVES][TUNE_SIZES_MAX]);

/* The settings of the configuration, as members of a rule. */
void tune_rules_add_settings(json_t *object, const tune_config_t *config);

/* Appends the rules to those of other layouts, and writes them all. network: the fingerprint of the network for which
 * they hold; "": no network is known. false: it cannot be written, and why was said. */
bool tune_rules_write(const tune_rules_t *rules, const tune_list_t *lists, const tune_layout_t *layout,
                      const char *network, json_t *all, const char *file);

#endif
