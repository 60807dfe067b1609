#include "call_sites.h"

#include <stdio.h>
#include <string.h>

/* The pattern's calls from the place. */
static double calls_from(const tune_pattern_t *pattern, const char *place)
{
    for (int i = 0; i < pattern->place_count; i++)
        if (strcmp(pattern->places[i].text, place) == 0)
            return pattern->places[i].calls;
    return 0;
}

static int chosen_for(const tune_lab_t *lab, const tune_search_t *decided, const tune_pattern_t *pattern)
{
    return decided->choices[pattern->collective][tune_pattern_size(lab->options, pattern)].config;
}

/* The mean call of the site with a configuration, or with each pattern's rule (-1). < 0: one was not measured. */
static double mean_us(const tune_lab_t *lab, const tune_search_t *decided, const tune_call_site_t *site,
                      int config)
{
    const tune_patterns_t *patterns = lab->options->patterns;
    double us = 0;

    for (int i = 0; i < patterns->count; i++) {
        const tune_pattern_t *pattern = &patterns->list[i];
        const double calls = pattern->collective == site->collective ? calls_from(pattern, site->place) : 0;
        const int run = config >= 0 || calls <= 0 ? config : chosen_for(lab, decided, pattern);
        if (calls <= 0)
            continue;
        const double once_us = run < 0 ? -1 : tune_pattern_us(lab, i, run);
        if (once_us < 0)
            return -1;
        us += calls * once_us / site->calls;
    }
    return us;
}

/* Is the place of the pattern the first of its collective with that text? */
static bool is_first(const tune_patterns_t *patterns, int pattern, const char *place)
{
    for (int i = 0; i < pattern; i++)
        if (patterns->list[i].collective == patterns->list[pattern].collective &&
            calls_from(&patterns->list[i], place) > 0)
            return false;
    return true;
}

/* The number-th place of all patterns, with its calls. */
static bool find(const tune_patterns_t *patterns, int number, tune_call_site_t *site)
{
    for (int i = 0; i < patterns->count; i++)
        for (int k = 0; k < patterns->list[i].place_count; k++) {
            const tune_pattern_t *pattern = &patterns->list[i];
            if (!is_first(patterns, i, pattern->places[k].text) || number-- > 0)
                continue;
            *site = (tune_call_site_t){
                .collective = pattern->collective, .place = pattern->places[k].text, .config = -1, .us = -1};
            for (int other = i; other < patterns->count; other++)
                if (patterns->list[other].collective == site->collective)
                    site->calls += calls_from(&patterns->list[other], site->place);
            return true;
        }
    return false;
}

bool tune_call_site(const tune_lab_t *lab, const tune_search_t *decided, int number, tune_call_site_t *site)
{
    if (!find(lab->options->patterns, number, site))
        return false;
    for (int config = 0; config < lab->lists[site->collective].count; config++) {
        const double us = mean_us(lab, decided, site, config);
        if (us < 0 || (site->config >= 0 && us >= site->us))
            continue;
        site->config = config;
        site->us = us;
    }
    site->rule_us = mean_us(lab, decided, site, -1);
    site->host_us = mean_us(lab, decided, site, 0);
    return true;
}

const char *tune_config_hints(tune_collective_t collective, const tune_config_t *config,
                              char text[TUNE_HINTS_BYTES])
{
    tune_setting_t settings[TUNE_SETTINGS_MAX];
    const int count = tune_config_settings(config, settings);
    int used = snprintf(text, TUNE_HINTS_BYTES, "hanpmpi_%s=%s", tune_collective_name(collective),
                        tune_config_algorithm(config));

    for (int i = 0; i < count && used < TUNE_HINTS_BYTES; i++)
        used += snprintf(text + used, TUNE_HINTS_BYTES - (size_t)used, " hanpmpi_%s=%s", settings[i].key,
                         settings[i].text);
    return text;
}
