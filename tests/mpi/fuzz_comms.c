#include "fuzz_known.h"

#include "between_nodes.h" /* generated */

#include <stdatomic.h>

typedef enum { SAME, REVERSED, SHUFFLED, PARTS, SUBSET, MERGED, KINDS } kind_t;
static const char *const kind_names[KINDS] = {
    "duplicate", "reversed", "shuffled", "shuffled parts", "shuffled subset", "merged intercommunicator"};

/* Around and off the datatypes' sizes; 1 byte is less than any basic but a byte. */
static const int64_t segment_sizes[] = {1, 16, 64, 100, 256, 1000, 4096, 32768};

static const char *const shapes[] = {
    "", "node:chain package:linear core:linear", "node:binomial package:binary core:chain",
    "node:binary package:binomial core:knomial4", "node:linear core:binomial"};

/* What a segment is cut into between nodes: the hint, and what it comes to. */
typedef struct {
    const char *text;
    int64_t bytes;
} piece_t;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

#define PICK(random, table) ((table)[hp_random_below(random, sizeof(table) / sizeof *(table))])

/* Two groups in ascending or descending order, joined and merged; which of them comes first is random, too.
 */
static MPI_Comm create_merged(hp_random_t *random, int rank, int size)
{
    MPI_Comm half, inter, merged;
    int first = 1 + (int)hp_random_below(random, (uint32_t)size - 1); /* of the upper group */
    bool descending = hp_random_below(random, 2), upper_first = hp_random_below(random, 2),
         upper = rank >= first;
    int leaders[] = {descending ? first - 1 : 0, descending ? size - 1 : first};

    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, upper, descending ? -rank : rank, &half));
    CHECK_MPI(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, leaders[!upper], 5, &inter));
    CHECK_MPI(MPI_Intercomm_merge(inter, upper == !upper_first, &merged));
    CHECK_MPI(MPI_Comm_free(&inter));
    CHECK_MPI(MPI_Comm_free(&half));
    return merged;
}

static MPI_Comm create_kind(kind_t kind, hp_random_t *random)
{
    int rank = hp_comm_rank(MPI_COMM_WORLD), size = hp_comm_size(MPI_COMM_WORLD), color = 0, key = rank;
    uint64_t draw = hp_random_next(random);
    MPI_Comm comm;

    switch (kind) {
    case MERGED:
        return create_merged(random, rank, size);
    case REVERSED:
        key = -rank;
        break;
    case PARTS:
        color = (int)(hp_hash(draw, 1, (uint64_t)rank) % 3 % 2);
        key = (int)(hp_hash(draw, 2, (uint64_t)rank) >> 34);
        break;
    case SUBSET: /* rank draw % size is in it, whatever the others are */
        color = hp_hash(draw, 3, (uint64_t)rank) % 3 == 0 && rank != (int)(draw % (unsigned)size)
                    ? MPI_UNDEFINED
                    : 0;
        key = (int)(hp_hash(draw, 2, (uint64_t)rank) >> 34);
        break;
    case SHUFFLED:
        key = (int)(hp_hash(draw, 2, (uint64_t)rank) >> 34);
        break;
    default:
        break;
    }
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, color, key, &comm));
    return comm;
}

/* One word of a comma-separated list. */
static void pick_word(const char *list, hp_random_t *random, char *word, size_t word_bytes)
{
    uint32_t words = 1;
    for (const char *at = list; *at; at++)
        words += *at == ',';
    for (uint32_t skip = hp_random_below(random, words); skip; skip--)
        list = strchr(list, ',') + 1;
    snprintf(word, word_bytes, "%.*s", (int)strcspn(list, ","), list);
}

/* The hint's value: every level has a module of the list; native joins the nodes too, now and then. Empty for
 * "rules". */
static void draw_modules(const char *list, hp_random_t *random, char *text, size_t text_bytes)
{
    static const char *const levels[] = {"package", "numa", "l3", "core"};
    char word[48];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        pick_word(list, random, word, sizeof word);
        if (strcmp(word, "rules") != 0)
            used += (size_t)snprintf(text + used, text_bytes - used, "%s:%s ", levels[i], word);
    }
    pick_word(list, random, word, sizeof word);
    if (strcmp(word, "native") == 0)
        snprintf(text + used, text_bytes - used, "node:native");
}

static int *world_ranks(MPI_Comm comm)
{
    int size = hp_comm_size(comm), *ranks = malloc(sizeof *ranks * 2 * (size_t)size);
    MPI_Group group, world;

    CHECK(ranks, "out of memory");
    for (int i = 0; i < size; i++)
        ranks[size + i] = i;
    CHECK_MPI(MPI_Comm_group(comm, &group));
    CHECK_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_MPI(MPI_Group_translate_ranks(group, size, ranks + size, world, ranks));
    CHECK_MPI(MPI_Group_free(&group));
    CHECK_MPI(MPI_Group_free(&world));
    return ranks;
}

void hp_pair_create(hp_pair_t *pair, hp_random_t *random, const hp_fuzz_options_t *options)
{
    static const char *const leaders[] = {"", "", "1", "2", "3", "16"};
    static const piece_t pieces[] = {{"", INT64_MAX}, {"", INT64_MAX}, {"1", 1}, {"100", 100}, {"1000", 1000}, {"8K", 8192}};
#define NAME(name, ...) #name,
    static const char *const joins[] = {"", "", "tree", BETWEEN_NODES_TABLE(NAME)};
#undef NAME
    hp_random_t own = {hp_random_next(random)};
    kind_t kind = (kind_t)hp_random_below(&own, hp_comm_size(MPI_COMM_WORLD) > 1 ? KINDS : MERGED);
    char words[HP_FUZZ_COLLECTIVES][48], keys[HP_FUZZ_COLLECTIVES][48], segment[32], modules[160];
    MPI_Comm comm;

    pair->segment_bytes = PICK(&own, segment_sizes);
    snprintf(segment, sizeof segment, "%" PRId64, pair->segment_bytes);
    for (int i = 0; i < HP_FUZZ_COLLECTIVES; i++)
        pick_word(options->algorithms[i], &own, words[i], sizeof words[i]);
    const char *shape = PICK(&own, shapes), *leader = PICK(&own, leaders);
    const piece_t *ib = &PICK(&own, pieces), *ir = &PICK(&own, pieces);
    const char *join = PICK(&own, joins);
    pair->piece_bytes = least(pair->segment_bytes, least(ib->bytes, ir->bytes));
    draw_modules(options->modules, &own, modules, sizeof modules);
    bool late = hp_random_below(&own, 2); /* hints by MPI_Comm_set_info instead of MPI_Comm_dup_with_info */
    size_t used = (size_t)snprintf(pair->text, sizeof pair->text, "%s,", kind_names[kind]);
    for (int i = 0; i < HP_FUZZ_COLLECTIVES; i++)
        if (strcmp(words[i], "auto") != 0)
            used += (size_t)snprintf(pair->text + used, sizeof pair->text - used, " %s=%s",
                                     hp_fuzz_collective_info((hp_fuzz_collective_t)i)->word, words[i]);
    snprintf(pair->text + used, sizeof pair->text - used,
             " segment_bytes=%s shapes=\"%s\" modules=\"%s\" leaders=%s between_nodes=%s ib_segment_bytes=%s "
             "ir_segment_bytes=%s%s",
             segment, shape, modules, leader, join, ib->text, ir->text, late ? ", hints set late" : "");

    comm = create_kind(kind, &own);
    pair->library = pair->native = MPI_COMM_NULL;
    pair->rank = -1;
    pair->size = 0;
    pair->world_ranks = NULL;
    if (comm == MPI_COMM_NULL)
        return;
    const char *hints[2 * (HP_FUZZ_COLLECTIVES + 8)] = {HANPMPI_HINT_SEGMENT_BYTES, segment};
    size_t given = 2;
    for (int i = 0; i < HP_FUZZ_COLLECTIVES; i++) {
        const char *word = hp_fuzz_collective_info((hp_fuzz_collective_t)i)->word;
        snprintf(keys[i], sizeof keys[i], "hanpmpi_%s", word);
        if (!hp_lib_knows(word)) /* neither does it know the hint */
            continue;
        hints[given++] = keys[i];
        hints[given++] = words[i];
    }
    const char *const optional[][2] = {
        {HANPMPI_HINT_SHAPES, shape},        {HANPMPI_HINT_MODULES, modules},
        {HANPMPI_HINT_LEADERS, leader},      {HANPMPI_HINT_BETWEEN_NODES, join},
        {HANPMPI_HINT_IB_SEGMENT_BYTES, ib->text}, {HANPMPI_HINT_IR_SEGMENT_BYTES, ir->text}};
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
        if (optional[i][1][0]) {
            hints[given++] = optional[i][0];
            hints[given++] = optional[i][1];
        }
    if (late) {
        MPI_Info info = hp_info_create(hints);
        CHECK_MPI(MPI_Comm_dup(comm, &pair->library));
        CHECK_MPI(MPI_Comm_set_info(pair->library, info));
        CHECK_MPI(MPI_Info_free(&info));
    } else {
        pair->library = hp_comm_dup_hinted(comm, hints);
    }
    CHECK_MPI(MPI_Comm_set_errhandler(pair->library, MPI_ERRORS_RETURN)); /* an error is said with its case */
    pair->native = hp_comm_dup_native(comm);
    CHECK_MPI(MPI_Comm_set_name(pair->library, HP_FUZZ_KNOWN_COMM));
    CHECK_MPI(MPI_Comm_set_name(pair->native, HP_FUZZ_KNOWN_COMM));
    pair->rank = hp_comm_rank(comm);
    pair->size = hp_comm_size(comm);
    pair->world_ranks = world_ranks(comm);
    CHECK_MPI(MPI_Comm_free(&comm));
}

void hp_pair_free(hp_pair_t *pair)
{
    if (pair->native == MPI_COMM_NULL)
        return;
    if (pair->library != MPI_COMM_NULL) /* a sequence may have freed it */
        CHECK_MPI(MPI_Comm_free(&pair->library));
    CHECK_MPI(MPI_Comm_free(&pair->native));
    free(pair->world_ranks);
}

/* ---- who has entered ---- */

static MPI_Win window;
static _Atomic uint64_t **entered; /* by world rank; NULL on other machines */

void hp_entered_init(void)
{
    int size = hp_comm_size(MPI_COMM_WORLD), local_size;
    MPI_Comm machine;
    _Atomic uint64_t *own;

    CHECK_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine));
    CHECK_MPI(MPI_Win_allocate_shared(sizeof *own, sizeof *own, MPI_INFO_NULL, machine, &own, &window));
    atomic_store(own, 0);
    int *ranks = world_ranks(machine);
    local_size = hp_comm_size(machine);
    entered = calloc((size_t)size, sizeof *entered);
    CHECK(entered, "out of memory");
    for (int i = 0; i < local_size; i++) {
        MPI_Aint bytes;
        int unit;
        CHECK_MPI(MPI_Win_shared_query(window, i, &bytes, &unit, &entered[ranks[i]]));
    }
    free(ranks);
    CHECK_MPI(PMPI_Barrier(machine)); /* all are 0 */
    CHECK_MPI(MPI_Comm_free(&machine));
}

void hp_entered_fini(void)
{
    free(entered);
    CHECK_MPI(MPI_Win_free(&window));
}

void hp_entered_publish(uint64_t number)
{
    atomic_store(entered[hp_comm_rank(MPI_COMM_WORLD)], number);
}

int hp_entered_missing(const hp_pair_t *pair, uint64_t number)
{
    for (int i = 0; i < pair->size; i++) {
        const _Atomic uint64_t *other = entered[pair->world_ranks[i]];
        if (other && atomic_load(other) < number)
            return i;
    }
    return -1;
}
