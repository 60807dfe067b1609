#include "fuzz.h"

typedef enum { SAME, REVERSED, SHUFFLED, PARTS, SUBSET, MERGED, KINDS } kind_t;
static const char *const kind_names[KINDS] = {
    "duplicate", "reversed", "shuffled", "shuffled parts", "shuffled subset", "merged intercommunicator"};

/* Around and off the datatypes' sizes; 1 byte is less than any basic but a byte. */
static const int64_t segment_sizes[] = {1, 16, 64, 100, 256, 1000, 4096, 32768};

static const char *const shapes[] = {
    "", "node:chain package:linear core:linear", "node:binomial package:binary core:chain",
    "node:binary package:binomial core:knomial4", "node:linear core:binomial"};

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

void hp_pair_create(hp_pair_t *pair, hp_random_t *random, const hp_fuzz_options_t *options)
{
    static const char *const keys[] = {HANPMPI_HINT_BCAST, HANPMPI_HINT_REDUCE, HANPMPI_HINT_ALLREDUCE};
    hp_random_t own = {hp_random_next(random)};
    kind_t kind = (kind_t)hp_random_below(&own, hp_comm_size(MPI_COMM_WORLD) > 1 ? KINDS : MERGED);
    char words[HP_FUZZ_COLLECTIVES][48], segment[32];
    MPI_Comm comm;

    pair->segment_bytes = PICK(&own, segment_sizes);
    snprintf(segment, sizeof segment, "%" PRId64, pair->segment_bytes);
    for (int i = 0; i < HP_FUZZ_COLLECTIVES; i++)
        pick_word(options->algorithms[i], &own, words[i], sizeof words[i]);
    const char *shape = PICK(&own, shapes);
    bool late = hp_random_below(&own, 2); /* hints by MPI_Comm_set_info instead of MPI_Comm_dup_with_info */
    snprintf(pair->text, sizeof pair->text,
             "%s, bcast=%s reduce=%s allreduce=%s segment_bytes=%s shapes=\"%s\"%s", kind_names[kind],
             words[0], words[1], words[2], segment, shape, late ? ", hints set late" : "");

    comm = create_kind(kind, &own);
    pair->library = pair->native = MPI_COMM_NULL;
    pair->rank = -1;
    pair->size = 0;
    if (comm == MPI_COMM_NULL)
        return;
    const char *const hints[] = {keys[0],
                                 words[0],
                                 keys[1],
                                 words[1],
                                 keys[2],
                                 words[2],
                                 HANPMPI_HINT_SEGMENT_BYTES,
                                 segment,
                                 shape[0] ? HANPMPI_HINT_SHAPES : NULL,
                                 shape,
                                 NULL};
    if (late) {
        MPI_Info info = hp_info_create(hints);
        CHECK_MPI(MPI_Comm_dup(comm, &pair->library));
        CHECK_MPI(MPI_Comm_set_info(pair->library, info));
        CHECK_MPI(MPI_Info_free(&info));
    } else {
        pair->library = hp_comm_dup_hinted(comm, hints);
    }
    pair->native = hp_comm_dup_native(comm);
    pair->rank = hp_comm_rank(comm);
    pair->size = hp_comm_size(comm);
    CHECK_MPI(MPI_Comm_free(&comm));
}

void hp_pair_free(hp_pair_t *pair)
{
    if (pair->library == MPI_COMM_NULL)
        return;
    CHECK_MPI(MPI_Comm_free(&pair->library));
    CHECK_MPI(MPI_Comm_free(&pair->native));
}
