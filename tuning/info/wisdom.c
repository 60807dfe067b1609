#include "wisdom.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "base/words.h"
#include "hier/planning/candidates.h"
#include "hier/planning/wisdom_file.h"
#include "json.h"
#include "tables.h"

enum { PLACE_BYTES = 192 };

static const char *place_text(const hp_wisdom_place_t *place, char text[PLACE_BYTES])
{
    char ranks[32], network[64] = "";

    if (place->least_ranks == place->most_ranks)
        snprintf(ranks, sizeof ranks, "%u", place->most_ranks);
    else
        snprintf(ranks, sizeof ranks, "%u to %u", place->least_ranks, place->most_ranks);
    if (place->between_rate > 0)
        snprintf(network, sizeof network, ", between them %.3g us and %.3g MB/s", place->between_us,
                 place->between_rate);
    snprintf(text, PLACE_BYTES, "%u node%s of %s rank%s on %u cores%s%s", place->nodes,
             place->nodes > 1 ? "s" : "", ranks, place->most_ranks > 1 ? "s" : "", place->cores,
             place->most_ranks > 1 && !place->shares_memory ? ", no shared memory" : "", network);
    return text;
}

/* What the host MPI's took; < 0: it was not tried. */
static double host_us(const hp_finding_t *finding)
{
    for (unsigned slot = 0; slot < HP_SLOTS; slot++)
        if (finding->id[slot] == 0 && finding->us[slot] >= 0)
            return finding->us[slot];
    return -1;
}

static const char *number_text(double number, char text[24])
{
    if (number < 0)
        strcpy(text, "-");
    else
        snprintf(text, 24, number < 100 ? "%.3g" : "%.0f", number);
    return text;
}

static const char *bytes_text(unsigned bin, char text[24])
{
    return hp_word_size(bin ? 1ull << (bin - 1) : 0, text, 24);
}

static void print_finding(const hp_finding_t *finding)
{
    const double us = finding->us[finding->chosen], host = host_us(finding);
    const time_t day = (time_t)finding->day * 24 * 60 * 60;
    char bytes[24], took[24], host_took[24], ratio[24], date[16];
    struct tm calendar;

    strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&day, &calendar));
    printf("    %-20s %9s  %-40s %9s %9s %6s  %s\n", hp_collective_name((hp_collective_t)finding->collective),
           bytes_text(finding->bin, bytes), finding->text, number_text(us, took),
           number_text(host, host_took), number_text(host >= 0 && us > 0 ? host / us : -1, ratio), date);
}

static void print_one_mpi(void *context, const hp_cache_t *cache)
{
    static hp_finding_t findings[HP_FINDINGS_MAX];
    const size_t count = hp_wisdom_read(cache, findings);
    char place[PLACE_BYTES], before[PLACE_BYTES] = "";

    (void)context;
    printf("%s on %s\n", cache->mpi, cache->machine);
    if (count == 0)
        printf("  the file cannot be used (HANPMPI_VERBOSE=2 says why); the next run replaces it\n");
    for (size_t i = 0; i < count; i++) {
        if (strcmp(place_text(&findings[i].place, place), before) != 0) {
            printf("  %s\n    %-20s %9s  %-40s %9s %9s %6s  %s\n", place, "collective", "from", "runs", "us",
                   "host MPI", "ratio", "found");
            strcpy(before, place);
        }
        print_finding(&findings[i]);
    }
}

static void print_none(const hp_cache_t *cache)
{
    if (!cache->directory[0])
        printf("no wisdom is kept: HANPMPI_CACHE is off, or neither XDG_CACHE_HOME nor HOME is set\n");
    else
        printf("no wisdom of %s in %s: a run with HANPMPI_WISDOM=on writes it\n", cache->machine,
               cache->directory);
}

int info_print_wisdom(void)
{
    hp_cache_t cache;

    info_find_cache(&cache);
    if (hp_wisdom_each(&cache, print_one_mpi, NULL) <= 0)
        print_none(&cache);
    return 0;
}

static void append_one_mpi(void *rows, const hp_cache_t *cache)
{
    static hp_finding_t findings[HP_FINDINGS_MAX];
    const size_t count = hp_wisdom_read(cache, findings);
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, hp_wisdom_json(&findings[i]));
    json_array_append_new(rows, json_pack("{s:s, s:o}", "mpi", cache->mpi, "findings", list));
}

int info_json_wisdom(void)
{
    hp_cache_t cache;
    json_t *rows = json_array();

    info_find_cache(&cache);
    hp_wisdom_each(&cache, append_one_mpi, rows);
    return info_print_json(
        json_pack("{s:s, s:s, s:o}", "machine", cache.machine, "directory", cache.directory, "mpis", rows));
}

static void forget_one_mpi(void *failed, const hp_cache_t *cache)
{
    if (hp_wisdom_remove(cache)) {
        printf("forgotten: %s on %s\n", cache->mpi, cache->machine);
        return;
    }
    fprintf(stderr, "hanpmpi_info: the wisdom of %s in %s cannot be removed: %s\n", cache->mpi,
            cache->directory, strerror(errno));
    *(int *)failed = 1;
}

int info_forget_wisdom(void)
{
    hp_cache_t cache;
    int failed = 0;

    info_find_cache(&cache);
    if (hp_wisdom_each(&cache, forget_one_mpi, &failed) <= 0)
        print_none(&cache);
    return failed;
}
