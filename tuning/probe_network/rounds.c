#include "rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Of hosts: each pair is to be seen in so many situations that contention shows, and not for too long where they
     * are many: at least this many labelings, and at least so many rounds. */
    LABELINGS_LEAST = 4,
    ROUNDS_LEAST = 96,
    /* Of groups: this many orders for each group, and each two alone as long as there are at most so many groups. */
    ORDERS_PER_GROUP = 8,
    ORDERS_MOST = 192,
    ALONE_GROUPS_MOST = 16
};

void *probe_memory(void *old, uint64_t count, uint64_t bytes)
{
    void *memory = realloc(old, (count ? count : 1) * bytes);

    if (!memory) {
        fprintf(stderr, "hanpmpi_probe_network: out of memory for %llu entries\n", (unsigned long long)count);
        exit(1);
    }
    return memory;
}

void probe_rounds_init(probe_rounds_t *rounds, uint32_t hosts)
{
    *rounds = (probe_rounds_t){.hosts = hosts};
}

void probe_rounds_fini(probe_rounds_t *rounds)
{
    free(rounds->to);
    free(rounds->rates);
}

/* One more round, in which nobody sends yet. */
static int32_t *add_round(probe_rounds_t *rounds)
{
    if (rounds->count == rounds->room) {
        rounds->room = rounds->room ? 2 * rounds->room : 64;
        rounds->to = probe_memory(rounds->to, (uint64_t)rounds->room * rounds->hosts, sizeof *rounds->to);
        rounds->rates =
            probe_memory(rounds->rates, (uint64_t)rounds->room * rounds->hosts, sizeof *rounds->rates);
    }
    const uint64_t first = (uint64_t)rounds->count++ * rounds->hosts;
    for (uint32_t h = 0; h < rounds->hosts; h++) {
        rounds->to[first + h] = PROBE_NOBODY;
        rounds->rates[first + h] = 0;
    }
    return rounds->to + first;
}

/* xorshift64* (S. Vigna, An experimental exploration of Marsaglia's xorshift generators): a whole number below
 * limit. */
static uint32_t random_below(uint64_t *state, uint32_t limit)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t)((*state * 2685821657736338717ull >> 32) % limit);
}

static void shuffle(uint32_t *numbers, uint32_t count, uint64_t *state)
{
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = i;
    for (uint32_t i = count; i > 1; i--) {
        const uint32_t other = random_below(state, i), kept = numbers[i - 1];
        numbers[i - 1] = numbers[other];
        numbers[other] = kept;
    }
}

void probe_rounds_of_hosts(probe_rounds_t *rounds, uint64_t seed)
{
    const uint32_t hosts = rounds->hosts;
    uint64_t state = seed * 2 + 1;
    uint32_t *label = probe_memory(NULL, hosts, sizeof *label);

    if (hosts > 1)
        for (uint32_t l = 0; l < LABELINGS_LEAST || rounds->count < ROUNDS_LEAST; l++) {
            shuffle(label, hosts, &state);
            for (uint32_t shift = 1; shift < hosts; shift++) {
                int32_t *to = add_round(rounds);
                for (uint32_t i = 0; i < hosts; i++)
                    to[label[i]] = (int32_t)label[(i + shift) % hosts];
            }
        }
    free(label);
}

/* The hosts of each group one after the other. */
typedef struct {
    uint32_t *hosts, *first; /* first: of each group, and the end */
} members_t;

static void members_init(members_t *members, uint32_t hosts, const uint32_t *group, uint32_t groups)
{
    uint32_t count = 0;

    members->hosts = probe_memory(NULL, hosts, sizeof *members->hosts);
    members->first = probe_memory(NULL, groups + 1, sizeof *members->first);
    for (uint32_t g = 0; g <= groups; g++) {
        members->first[g] = count;
        for (uint32_t h = 0; h < hosts; h++)
            if (group[h] == g)
                members->hosts[count++] = h;
    }
}

static void members_fini(members_t *members)
{
    free(members->hosts);
    free(members->first);
}

/* The hosts of a group to those of another. */
static void send_all(int32_t *to, const members_t *members, uint32_t from, uint32_t target)
{
    const uint32_t size = members->first[target + 1] - members->first[target];

    for (uint32_t i = members->first[from]; i < members->first[from + 1]; i++)
        to[members->hosts[i]] =
            (int32_t)members->hosts[members->first[target] + (i - members->first[from]) % size];
}

/* out: the hosts of a group to others, evenly over them; else all others to them in turns. */
static void spread(int32_t *to, const members_t *members, uint32_t hosts, uint32_t group, bool out)
{
    const uint32_t first = members->first[group], size = members->first[group + 1] - first;
    const uint32_t others = hosts - size;

    for (uint32_t i = 0; i < (out ? size : others); i++) {
        const uint32_t own = members->hosts[first + i % size];
        const uint32_t distance = out ? (uint32_t)((uint64_t)i * others / size) : i;
        const uint32_t other = members->hosts[(first + size + distance) % hosts];
        if (out)
            to[own] = (int32_t)other;
        else
            to[other] = (int32_t)own;
    }
}

void probe_rounds_of_groups(probe_rounds_t *rounds, const uint32_t *group, uint32_t groups, uint64_t seed)
{
    const uint32_t orders = ORDERS_PER_GROUP * groups < ORDERS_MOST ? ORDERS_PER_GROUP * groups : ORDERS_MOST;
    uint64_t state = seed * 2 + 1;
    uint32_t *order = probe_memory(NULL, groups, sizeof *order);
    members_t members;

    members_init(&members, rounds->hosts, group, groups);
    for (uint32_t i = 0; i < orders && groups > 1; i++) {
        shuffle(order, groups, &state);
        int32_t *to = add_round(rounds);
        for (uint32_t g = 0; g < groups; g++)
            send_all(to, &members, order[g], order[(g + 1) % groups]);
    }
    for (uint32_t g = 0; g < 2 * groups && groups > 1; g++)
        spread(add_round(rounds), &members, rounds->hosts, g / 2, g % 2 == 0);
    for (uint32_t g = 0; g < groups && groups <= ALONE_GROUPS_MOST; g++)
        for (uint32_t other = g + 1; other < groups; other++) {
            int32_t *to = add_round(rounds);
            send_all(to, &members, g, other);
            send_all(to, &members, other, g);
        }
    members_fini(&members);
    free(order);
}
