#include "topology.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "base/cores.h"
#include "hier/collectives/algorithm.h"
#include "hier/planning/select.h"
#include "json.h"
#include "rules.h"
#include "tables.h"
#include "topo_tree/draw.h"

static FILE *open_output(const char *file)
{
    FILE *out = strcmp(file, "-") == 0 ? stdout : fopen(file, "w");
    if (!out)
        fprintf(stderr, "hanpmpi_info: %s: %s\n", file, strerror(errno));
    return out;
}

static int draw_to(const char *file,
                   hp_status_t (*draw)(FILE *, const hp_hierarchy_t *, const hp_shapes_t *, uint32_t),
                   const hp_hierarchy_t *hierarchy, const hp_shapes_t *shapes, uint32_t root)
{
    FILE *out = open_output(file);
    if (!out)
        return 1;
    hp_status_t status = draw(out, hierarchy, shapes, root);
    bool written = fflush(out) == 0 && !ferror(out);
    if (out != stdout)
        written &= fclose(out) == 0;
    if (status != HP_OK || !written) {
        fprintf(stderr, "hanpmpi_info: %s: %s\n", file,
                status != HP_OK ? hp_status_text(status) : "write failed");
        return 1;
    }
    return 0;
}

/* Cores of the machine that was named, or those of this one that a job may use. */
static uint32_t cores_of(const char *text, const hp_synthetic_t *machine)
{
    hp_cores_t cores;

    if (*text)
        return hp_synthetic_cores(machine);
    hp_cores_read(&cores);
    return cores.count < cores.limit ? cores.count : cores.limit;
}

/* One rank a core. NULL: no memory. */
static hp_locality_t *locate(const char *text, const hp_synthetic_t *machine, uint32_t ranks)
{
    hp_locality_t *table = calloc(ranks, sizeof *table);

    for (uint32_t rank = 0; rank < ranks && table; rank++) {
        char cpu[16];
        snprintf(cpu, sizeof cpu, "%u", hp_cores_number(rank));
        if (*text)
            hp_synthetic_locate(machine, rank, &table[rank]);
        else
            hp_locality_read(NULL, cpu, &table[rank]);
    }
    return table;
}

/* What was found: the tree is of `setting`, and runs where the outcome says so. */
typedef struct {
    const info_topology_t *asked;
    uint64_t bytes; /* 0 for a barrier */
    hp_comm_t *comm;
    hp_outcome_t outcome;
    const hp_algorithm_t *algorithm; /* NULL: the host MPI */
    hp_setting_t setting;
} found_t;

static void find(found_t *found)
{
    hp_comm_t *comm = found->comm;
    hp_choice_t choice;

    comm->shares_memory = comm->knobs.shared_memory && hp_comm_may_share(comm);
    comm->reads_peers = comm->shares_memory && comm->knobs.read_peers;
    found->outcome = hp_select(comm, found->asked->collective, found->bytes, &choice);
    if (found->outcome == HP_OUTCOME_TAKEN) {
        found->algorithm = choice.algorithm;
        found->setting = *choice.setting;
    } else {
        hp_setting_default(&found->setting);
        hp_setting_apply(&found->setting, &comm->knobs);
    }
}

/* What the ranks of rank 0's node share. */
static void print_node_memory(const hp_comm_t *comm)
{
    const hp_node_shape_t shape = hp_comm_node_shape(comm);
    char a_rank[24], slots[24], slot[24], pool[24], ring[24];

    if (!comm->shares_memory)
        return;
    printf("memory shared on a node, each communicator: %s reserved by each of %u ranks, of it %s for slots "
           "(levels: %u, each with %d x "
           "%u of %s), which get pages when they are filled\n",
           hp_word_size(hp_node_member_bytes(&shape), a_rank, sizeof a_rank), shape.members,
           hp_word_size(hp_node_slot_bytes(&shape), slots, sizeof slots), shape.levels, HP_FAN_COUNT,
           shape.slots, hp_word_size(shape.slot_bytes, slot, sizeof slot));
    printf("slots that each rank lends to its communicators: %s (%u rings of %s); while there are any, the "
           "communicators' own get pages "
           "for small messages only\n\n",
           hp_word_size(hp_node_pool_bytes(&shape), pool, sizeof pool), shape.pool_rings,
           hp_word_size(hp_node_pool_ring_bytes(&shape), ring, sizeof ring));
}

/* The same; null: nothing is shared. */
static json_t *node_memory_json(const hp_comm_t *comm)
{
    const hp_node_shape_t shape = hp_comm_node_shape(comm);

    if (!comm->shares_memory)
        return json_null();
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "ranks", (json_int_t)shape.members, "levels",
                     (json_int_t)shape.levels, "slots", (json_int_t)shape.slots, "slot_bytes",
                     (json_int_t)shape.slot_bytes, "bytes_per_rank", (json_int_t)hp_node_member_bytes(&shape),
                     "slots_bytes_per_rank", (json_int_t)hp_node_slot_bytes(&shape), "pool_rings",
                     (json_int_t)shape.pool_rings, "pool_bytes_per_rank",
                     (json_int_t)hp_node_pool_bytes(&shape));
}

static bool has_segments(const found_t *found)
{
    return found->algorithm && found->algorithm->traits & HP_TRAIT_PIPELINED &&
           found->asked->collective != HP_BARRIER;
}

static int print_text(const found_t *found)
{
    const hp_hierarchy_t *hierarchy = found->comm->hierarchy;
    char size[24];

    printf("%s of %s on %u ranks: ", hp_collective_name(found->asked->collective),
           hp_word_size(found->bytes, size, sizeof size), found->comm->size);
    if (has_segments(found))
        printf("%s, segments of %s\n\n", found->algorithm->name,
               hp_word_size(found->setting.segment_bytes, size, sizeof size));
    else if (found->algorithm)
        printf("%s\n\n", found->algorithm->name);
    else
        printf("passed through (%s); the tree that would be used:\n\n", hp_outcome_text(found->outcome));
    hp_draw_levels(stdout, hierarchy, &found->setting.shapes);
    printf("\n");
    print_node_memory(found->comm);
    return hp_draw_tree_text(stdout, hierarchy, &found->setting.shapes, found->asked->root) == HP_OK ? 0 : 1;
}

static json_t *levels_json(const found_t *found)
{
    const hp_hierarchy_t *hierarchy = found->comm->hierarchy;
    json_t *levels = json_array();

    for (uint32_t i = 0; i < hp_hierarchy_level_count(hierarchy); i++) {
        const hp_level_t level = hp_hierarchy_level(hierarchy, i);
        json_array_append_new(levels,
                              json_pack("{s:s, s:I, s:s}", "level", hp_level_name(level), "groups",
                                        (json_int_t)hp_hierarchy_group_count(hierarchy, i + 1), "shape",
                                        hp_shape_info(found->setting.shapes.shape[level])->name));
    }
    return levels;
}

/* Each rank with its node and its parent; the root's parent is null. */
static json_t *tree_json(const found_t *found)
{
    const hp_hierarchy_t *hierarchy = found->comm->hierarchy;
    json_t *tree = json_array();

    for (uint32_t rank = 0; rank < found->comm->size; rank++) {
        hp_neighbors_t neighbors;
        if (hp_neighbors_init(&neighbors, hierarchy, &found->setting.shapes, found->asked->root, rank) !=
            HP_OK)
            break;
        json_array_append_new(tree,
                              json_pack("{s:I, s:I, s:o}", "rank", (json_int_t)rank, "node",
                                        (json_int_t)hp_hierarchy_node_of(hierarchy, rank), "parent",
                                        neighbors.parent < 0 ? json_null() : json_integer(neighbors.parent)));
        hp_neighbors_fini(&neighbors);
    }
    return tree;
}

static int print_json(const found_t *found)
{
    return info_print_json(json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:s, s:s, s:o, s:o, s:o, s:o}", "collective",
        hp_collective_name(found->asked->collective), "bytes", (json_int_t)found->bytes, "ranks",
        (json_int_t)found->comm->size, "nodes", (json_int_t)hp_hierarchy_node_count(found->comm->hierarchy),
        "root", (json_int_t)found->asked->root, "algorithm",
        found->algorithm ? found->algorithm->name : "native", "outcome", hp_outcome_text(found->outcome),
        "segment_bytes",
        has_segments(found) ? json_integer((json_int_t)found->setting.segment_bytes) : json_null(), "levels",
        levels_json(found), "node_memory", node_memory_json(found->comm), "tree", tree_json(found)));
}

static int print(found_t *found)
{
    const info_topology_t *asked = found->asked;

    find(found);
    int code = asked->json ? print_json(found) : print_text(found);
    if (asked->dot)
        code |= draw_to(asked->dot, hp_draw_tree_dot, found->comm->hierarchy, &found->setting.shapes,
                        asked->root);
    if (asked->svg)
        code |= draw_to(asked->svg, hp_draw_tree_svg, found->comm->hierarchy, &found->setting.shapes,
                        asked->root);
    return code;
}

int info_print_topology(const info_topology_t *asked)
{
    hp_knobs_t knobs;
    hp_synthetic_t machine;
    found_t found = {.asked = asked, .bytes = asked->collective == HP_BARRIER ? 0 : asked->bytes};
    char error[256];
    int code = 1;

    hp_knobs_read(&knobs, NULL, info_print_problem, NULL);
    const char *text = asked->machine ? asked->machine : knobs.topology;
    if (*text && hp_synthetic_parse(text, &machine, error, sizeof error) != HP_OK) {
        fprintf(stderr, "hanpmpi_info: --machine \"%s\": %s\n", text, error);
        return 1;
    }
    const uint32_t ranks = asked->ranks ? asked->ranks : cores_of(text, &machine);
    if (asked->root >= ranks) {
        fprintf(stderr, "hanpmpi_info: --root %u: accepted are 0 to %u\n", asked->root, ranks - 1);
        return 1;
    }
    hp_locality_t *table = locate(text, &machine, ranks);
    if (table && hp_comm_create(0, ranks, table, &knobs, NULL, &found.comm) == HP_OK) {
        info_use_rules(&knobs);
        code = print(&found);
        hp_candidates_set_rules(NULL, 0);
        hp_select_forget(found.comm);
        hp_comm_destroy(found.comm);
    } else {
        fprintf(stderr, "hanpmpi_info: out of memory for %u ranks\n", ranks);
    }
    free(table);
    return code;
}
