#include "pmpi_wrappers/backend/comms/shared_comm.h"

#include <pthread.h>
#include "pmpi_wrappers/backend/comms/private_comm.h"

/* More blocks than any MPI has tags for: tags are of type int. */
enum { BLOCKS_MAX = 65536, WORD_BITS = 64 };

static MPI_Comm shared = MPI_COMM_NULL;
static int block_count;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the two below */
static uint64_t taken[BLOCKS_MAX / WORD_BITS];
static uint64_t taken_count;

static int count_blocks(void)
{
    int *tag_max, found = 0;

    if (P(Comm_get_attr)(MPI_COMM_WORLD, MPI_TAG_UB, &tag_max, &found) != MPI_SUCCESS || !found)
        return 1; /* what MPI guarantees */
    return (int)(((int64_t)*tag_max + 1) / HP_ROUTE_TAGS);
}

bool hp_shared_comm_init(void)
{
    int mine, all = 0;

    block_count = count_blocks();
    mine = hp_comm_twin(MPI_COMM_WORLD, &shared);
    if (P(Allreduce)(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) == MPI_SUCCESS && all)
        return true;
    shared = MPI_COMM_NULL; /* where it was made it cannot be freed without the others */
    return false;
}

void hp_shared_comm_fini(void)
{
    if (shared != MPI_COMM_NULL)
        P(Comm_free)(&shared);
}

bool hp_shared_comm_exists(void)
{
    return shared != MPI_COMM_NULL;
}

int hp_shared_comm_take_tags(void)
{
    int word = 0, first_tag = -1;

    pthread_mutex_lock(&lock);
    while (word < BLOCKS_MAX / WORD_BITS - 1 && !~taken[word])
        word++;
    if (~taken[word]) {
        const int bit = __builtin_ctzll(~taken[word]), block = word * WORD_BITS + bit;
        if (block < block_count) {
            taken[word] |= 1ull << bit;
            taken_count++;
            first_tag = block * HP_ROUTE_TAGS;
        }
    }
    pthread_mutex_unlock(&lock);
    return first_tag;
}

void hp_shared_comm_return_tags(int first_tag)
{
    const int block = first_tag / HP_ROUTE_TAGS;

    pthread_mutex_lock(&lock);
    taken[block / WORD_BITS] &= ~(1ull << block % WORD_BITS);
    taken_count--;
    pthread_mutex_unlock(&lock);
}

uint64_t hp_shared_comm_count(void)
{
    pthread_mutex_lock(&lock);
    const uint64_t count = taken_count;
    pthread_mutex_unlock(&lock);
    return count;
}

hp_route_t hp_shared_comm_route(const hp_route_end_t *ends, int rank)
{
    return (hp_route_t){.comm = shared, .self = ends[rank], .ends = ends};
}
