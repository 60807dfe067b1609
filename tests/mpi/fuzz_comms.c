#include "fuzz.h"

typedef enum { SAME, REVERSED, SHUFFLED, PARTS, SUBSET, MERGED, KINDS } kind_t;
static const char *const kind_names[KINDS] = {"duplicate", "reversed", "shuffled", "shuffled parts", "shuffled subset",
                                              "merged intercommunicator"};

/* Sizes around and off the datatypes'; 1 byte is less than any basic but a byte. */
static const int64_t segment_sizes[] = {1, 16, 64, 100, 256, 1000, 4096, 32768};

static const char *const shapes[] = {"",
                                     "node:chain package:linear core:linear",
                                     "node:binomial package:binary core:chain",
                                     "node:binary package:binomial core:knomial4",
                                     "node:linear core:binomial"};

/* Two groups split by a random bit, joined and merged; the group that comes first is random as well. */
static MPI_Comm create_merged(uint64_t seed, int rank, int size)
{
    MPI_Comm half, inter, merged;
    int first = 1 + (int)(hp_hash(seed, 1, 0) % (unsigned)(size - 1));
    bool low = rank < first;
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, low, (int)(hp_hash(seed, 2, (uint64_t)rank) >> 34), &half));
    int leader = low ? 0 : first; /* the world rank of each half's rank 0 is known to its members only */
    int leaders[2] = {-1, -1}, mine = rank, here;
    CHECK_MPI(MPI_Comm_rank(half, &here));
    leaders[low] = here == 0 ? mine : -1;
    (void)leader;
    CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, leaders, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK_MPI(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, leaders[!low], 5, &inter));
    CHECK_MPI(MPI_Intercomm_merge(inter, (int)(hp_hash(seed, 3, 0) & 1) ^ low, &merged));
    CHECK_MPI(MPI_Comm_free(&inter));
    CHECK_MPI(MPI_Comm_free(&half));
    return merged;
}
