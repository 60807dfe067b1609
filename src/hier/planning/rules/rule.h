/* rule: one row of "what runs for which calls", from the built-in table or a file.
 *
 * Rules come from two places: tuning/default_rules.def, compiled in, and a file in JSON (rules_json.h).
 * Both are the same plain structure: rank 0 reads the file, the others get its rules as bytes. Threads:
 * pure. Ownership: plain data, no pointers. */
#ifndef HP_HIER_PLANNING_RULES_RULE_H
#define HP_HIER_PLANNING_RULES_RULE_H

#include "hier/call/setting.h"
#include "hier/collectives/algorithm.h"
#include "hier/comm/layout.h"

typedef struct {
    uint64_t from, to; /* both included; to: UINT64_MAX where there is no end */
} hp_bounds_t;

typedef enum { HP_RANKS_ANY, HP_RANKS_EVEN, HP_RANKS_UNEVEN } hp_evenness_t;

/* Ranks of a node share memory; or send each other messages, or there are none. */
typedef enum { HP_MEMORY_ANY, HP_MEMORY_SHARED, HP_MEMORY_APART } hp_rule_memory_t;

/* Their words in files of rules, by number; of both, the first one is meant where there is none. */
enum { HP_RULE_WORDS = 3 };
extern const char *const hp_evenness_words[HP_RULE_WORDS], *const hp_rule_memory_words[HP_RULE_WORDS];

enum { HP_MACHINE_BYTES = 64 };

/* What a rule asks of the network (hier/comm/layout.h). Bounds are those of its traits, blocking rounded up. */
typedef struct {
    bool asks;                          /* without a network the rule does not hold */
    char fingerprint[HP_MACHINE_BYTES]; /* pattern (fnmatch); "": any */
    hp_bounds_t hosts_per_switch, blocking;
} hp_rule_network_t;

typedef struct {
    hp_collective_t collective;
    hp_bounds_t nodes, bytes;
    hp_bounds_t ranks;      /* of a node; least and most ranks of the communicator's nodes are in it */
    hp_evenness_t evenness; /* of the nodes' ranks */
    hp_rule_memory_t memory;
    char machine[HP_MACHINE_BYTES]; /* pattern (fnmatch) for the machine's fingerprint; "": any */
    hp_rule_network_t network;
    hp_algorithm_id_t algorithm;
    hp_setting_t setting; /* of algorithms */
    uint32_t line;        /* in the file; 0: compiled in */
} hp_rule_t;

/* Does the rule hold for calls of so many bytes on such a communicator? The machine is not looked at. */
bool hp_rule_matches(const hp_rule_t *rule, hp_collective_t collective, const hp_layout_t *layout,
                     uint64_t bytes);

/* Is the memory of the nodes as it asks? */
bool hp_rule_suits_memory(const hp_rule_t *rule, const hp_layout_t *layout);

/* Can the rule be followed, and does it hold for any call? Its algorithm's limits, its numbers (docs/pitfalls.md
 * 32). false: why, in error. Used for the rules of a file when it is read, and for the compiled ones by a
 * test. */
bool hp_rule_check(const hp_rule_t *rule, char *error, unsigned error_bytes);

/* The compiled rules. */
const hp_rule_t *hp_rules_default(size_t *count);

#endif
