/* places: tables of localities for tests of the topology room.
 *
 * Threads: tests are single-threaded. Ownership: the caller frees the tables. */
#ifndef HP_TESTS_UNIT_PLACES_H
#define HP_TESTS_UNIT_PLACES_H

#include "check.h"
#include "topo_tree/locality.h"

#define PLACES_ALL_LEVELS ((1u << HP_LEVEL_COUNT) - 1)

/* count ranks on the machine that text describes. */
static inline hp_locality_t *places_synthetic(const char *text, uint32_t count)
{
    hp_synthetic_t machine;
    char error[256] = "";
    hp_locality_t *table = malloc(count * sizeof *table);
    assert_non_null(table);
    if (hp_synthetic_parse(text, &machine, error, sizeof error) != HP_OK)
        fail_msg("%s: %s", text, error);
    for (uint32_t rank = 0; rank < count; rank++)
        hp_synthetic_locate(&machine, rank, &table[rank]);
    return table;
}

/* count ranks anywhere: few to many different ids a level, some of them unknown. */
static inline hp_locality_t *places_random(check_random_t *random, uint32_t count)
{
    static const uint32_t variety[] = {1, 2, 3, 5, 1000};
    uint32_t bound[HP_LEVEL_COUNT], unknown_percent = check_random_below(random, 2) * 20;
    hp_locality_t *table = malloc(count * sizeof *table);
    assert_non_null(table);
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        bound[level] = variety[check_random_below(random, ARRAY_LENGTH(variety))];
    for (uint32_t rank = 0; rank < count; rank++) {
        for (unsigned level = 0; level < HP_LEVEL_COUNT; level++) {
            /* Large and descending, so that neither the size of an id nor its order can matter. */
            table[rank].id[level] = HP_ID_UNKNOWN / 2 - 7919u * check_random_below(random, bound[level]);
            if (level != HP_LEVEL_NODE && check_random_below(random, 100) < unknown_percent)
                table[rank].id[level] = HP_ID_UNKNOWN;
        }
    }
    return table;
}

/* The lowest rank of rank's group at level, by comparing it with everybody. */
static inline uint32_t places_lead(const hp_locality_t *table, hp_level_t level, uint32_t rank)
{
    uint32_t lead = 0;
    while (memcmp(table[lead].id, table[rank].id, (level + 1) * sizeof table->id[0]) != 0)
        lead++;
    return lead;
}

#endif
