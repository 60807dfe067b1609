/* is: integer bucket sort, the keys exchanged by MPI_Alltoallv or, in chunks, by MPI_Ialltoallv.
 *
 * After the specification of IS of the NAS Parallel Benchmarks (D. Bailey et al., RNR-94-007). Every rank has its
 * share of the keys, which are averages of four random numbers. Each of ten iterations finds the rank of every key,
 * which is how many keys are smaller; iteration i first changes keys number i and i + 10.
 *
 *      buckets   count the keys of each bucket, add up over all ranks (MPI_Allreduce): who gets which buckets
 *      counts    tell every rank how many keys it gets (MPI_Alltoall)
 *      keys      put them in the order of the buckets, exchange them (MPI_Alltoallv)
 *      ranking   count each value, add up from the smallest
 *
 * What can overlap: a chunk of the keys can travel while the next one is put in order, and be counted while others
 * come in. Here for 3 chunks:
 *
 *      blocking      order 0 1 2 | keys 0 1 2               | count 0 1 2 | rank
 *
 *      non-blocking            | keys 0 | keys 1 | keys 2 |                        in the network
 *                    | order 0 | order 1 | order 2 | count 0 | 1 | 2 | rank        in the processor
 *
 * The ranks of five keys are published for each class and compared in every iteration: the values of these keys are
 * added up behind the buckets. --seed N takes the Nth stretch of the random numbers; the first is the benchmark's.
 *
 * Threads: one. Ownership: is_t has its arrays until is_free. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 10, BUCKET_BITS = 10, BUCKETS = 1 << BUCKET_BITS, PUBLISHED = 5, STEP_KEYS = 1024 };

/* In iteration i the rank of key number `index` is rank + slope * i. */
typedef struct {
    int index, rank, slope;
} published_t;

/* clang-format off */
static const struct {
    int total_bits, value_bits;
    published_t published[PUBLISHED];
} classes[] = {
    {16, 11, {{48427, 0, 1}, {17148, 18, 1}, {23627, 346, 1}, {62548, 64917, -1}, {4431, 65463, -1}}},
    {20, 16, {{357773, 1247, 1}, {934767, 11696, 1}, {875723, 1039987, -1}, {898999, 1043896, -1}, {404505, 1048018, -1}}},
    {23, 19, {{2112377, 103, 1}, {662041, 17522, 1}, {5336171, 123927, 1}, {3642833, 8288933, -1}, {4250760, 8388265, -1}}},
    {25, 21, {{41869, 33422937, -1}, {812306, 10244, 1}, {5102857, 59149, 1}, {18232239, 33135281, -1}, {26860214, 99, 1}}},
};
/* clang-format on */
static const char class_letters[] = "SWAB";

static struct {
    long class, chunks;
} options = {.class = 0, .chunks = 4};

/* How many keys go to, or come from, each rank. */
typedef struct {
    int *counts, *offsets; /* [chunks][size] */
} share_t;

typedef struct {
    int rank, size;
    long chunks;
    long total, values; /* keys of all ranks; values that they may have */
    long first, count;  /* this rank's keys */
    int *keys;          /* [count] */
    int *in_order;      /* [count]: by chunk, in it by bucket */
    int *in_bucket;     /* [chunks][BUCKETS]: how many of this rank's keys */
    int *buckets;       /* [BUCKETS]: how many keys of all ranks; [PUBLISHED] values of keys */
    int *pairs[2];      /* [size][chunks]: keys for each rank, from each rank */
    share_t sends, receives;
    int *received; /* [received_room]: by chunk, in it by rank */
    long received_count, received_room;
    long first_value, end_value; /* those of this rank's buckets */
    int smaller;                 /* keys that are smaller than these */
    int *ranks;                  /* [values]: of its values */
    bool right;                  /* the published ranks */
} is_t;

/* Where a chunk of this rank's keys begins. */
static long chunk_begin(const is_t *s, long chunk)
{
    return example_first_of(s->count, s->chunks, chunk);
}

static int bucket_of(int key)
{
    return key >> (classes[options.class].value_bits - BUCKET_BITS);
}

static void make_keys(int *keys, long seed, long first, long count)
{
    const uint64_t stretch = UINT64_C(1) << classes[options.class].total_bits;
    const double quarter = (double)(1 << classes[options.class].value_bits) / 4;
    uint64_t x = example_npb_at(4 * ((uint64_t)(seed - 1) * stretch + (uint64_t)first));

    for (long i = 0; i < count; i++) {
        double sum = example_npb_next(&x);
        for (int more = 0; more < 3; more++)
            sum += example_npb_next(&x);
        keys[i] = (int)(quarter * sum);
    }
}

/* What iteration 1 ... 10 does to keys number first ... first + count. */
static void change_keys(int *keys, long first, long count, long values, int iteration)
{
    if (iteration >= first && iteration < first + count)
        keys[iteration - first] = iteration;
    if (iteration + ITERATIONS >= first && iteration + ITERATIONS < first + count)
        keys[iteration + ITERATIONS - first] = (int)values - iteration;
}

static void make_shares(const is_t *s, share_t *shares)
{
    shares->counts = example_allocate((size_t)(s->chunks * s->size), sizeof(int));
    shares->offsets = example_allocate((size_t)(s->chunks * s->size), sizeof(int));
}

static void is_make(is_t *s, const example_t *e)
{
    *s = (is_t){
        .rank = e->rank, .size = e->size, .chunks = e->nonblocking ? options.chunks : 1, .right = true};
    s->total = 1L << classes[options.class].total_bits;
    s->values = 1L << classes[options.class].value_bits;
    s->first = example_first_of(s->total, s->size, s->rank);
    s->count = example_first_of(s->total, s->size, s->rank + 1) - s->first;
    s->keys = example_allocate((size_t)s->count, sizeof(int));
    s->in_order = example_allocate((size_t)s->count, sizeof(int));
    s->in_bucket = example_allocate((size_t)s->chunks * BUCKETS, sizeof(int));
    s->buckets = example_allocate(BUCKETS + PUBLISHED, sizeof(int));
    for (int i = 0; i < 2; i++)
        s->pairs[i] = example_allocate((size_t)(s->size * s->chunks), sizeof(int));
    make_shares(s, &s->sends);
    make_shares(s, &s->receives);
    s->ranks = example_allocate((size_t)s->values, sizeof(int));
    make_keys(s->keys, e->seed, s->first, s->count);
}

static void is_free(is_t *s)
{
    free(s->keys);
    free(s->in_order);
    free(s->in_bucket);
    free(s->buckets);
    free(s->pairs[0]);
    free(s->pairs[1]);
    free(s->sends.counts);
    free(s->sends.offsets);
    free(s->receives.counts);
    free(s->receives.offsets);
    free(s->received);
    free(s->ranks);
}

/* Counts this rank's keys in each bucket, and has the values of the published keys that it holds. */
static void count_buckets(is_t *s)
{
    memset(s->in_bucket, 0, (size_t)s->chunks * BUCKETS * sizeof(int));
    memset(s->buckets, 0, (BUCKETS + PUBLISHED) * sizeof(int));
    for (long chunk = 0; chunk < s->chunks; chunk++) {
        int *in_bucket = s->in_bucket + chunk * BUCKETS;
        for (long i = chunk_begin(s, chunk); i < chunk_begin(s, chunk + 1); i++)
            in_bucket[bucket_of(s->keys[i])]++;
        for (int b = 0; b < BUCKETS; b++)
            s->buckets[b] += in_bucket[b];
    }
    for (int i = 0; i < PUBLISHED; i++) {
        const long place = classes[options.class].published[i].index - s->first;
        if (place >= 0 && place < s->count)
            s->buckets[BUCKETS + i] = s->keys[place];
    }
}

/* Deals the buckets out so that every rank gets about as many keys; counts this rank's keys for each. */
static void deal_buckets(is_t *s)
{
    const long width = s->values / BUCKETS;
    long before = 0;

    s->first_value = s->end_value = 0;
    memset(s->pairs[0], 0, (size_t)(s->size * s->chunks) * sizeof(int));
    for (int b = 0; b < BUCKETS; before += s->buckets[b++]) {
        const int owner = before == s->total ? s->size - 1 : (int)(before * s->size / s->total);
        if (owner == s->rank && s->end_value == 0) {
            s->first_value = b * width;
            s->smaller = (int)before;
        }
        if (owner == s->rank)
            s->end_value = (b + 1) * width;
        for (long chunk = 0; chunk < s->chunks; chunk++)
            s->pairs[0][owner * s->chunks + chunk] += s->in_bucket[chunk * BUCKETS + b];
    }
}

/* From the counts of MPI_Alltoall to those of MPI_Alltoallv, chunk by chunk. Returns how many keys these are. */
static long lay_out(const is_t *s, const int *pairs, const share_t *shares)
{
    int offset = 0;
    for (long chunk = 0; chunk < s->chunks; chunk++) {
        for (int rank = 0; rank < s->size; rank++) {
            shares->counts[chunk * s->size + rank] = pairs[rank * s->chunks + chunk];
            shares->offsets[chunk * s->size + rank] = offset;
            offset += pairs[rank * s->chunks + chunk];
        }
    }
    return offset;
}

/* Who gets what: all that both forms do before the keys travel. */
static void prepare(example_t *e, is_t *s, int iteration)
{
    change_keys(s->keys, s->first, s->count, s->values, iteration);
    count_buckets(s);
    example_come_late(e);
    TIMED(e, MPI_Allreduce(MPI_IN_PLACE, s->buckets, BUCKETS + PUBLISHED, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    deal_buckets(s);
    TIMED(e, MPI_Alltoall(s->pairs[0], (int)s->chunks, MPI_INT, s->pairs[1], (int)s->chunks, MPI_INT,
                          MPI_COMM_WORLD));
    lay_out(s, s->pairs[0], &s->sends);
    s->received_count = lay_out(s, s->pairs[1], &s->receives);
    if (s->received_count > s->received_room) {
        free(s->received);
        s->received_room = s->received_count + s->received_count / 16;
        s->received = example_allocate((size_t)s->received_room, sizeof(int));
    }
    memset(s->ranks + s->first_value, 0, (size_t)(s->end_value - s->first_value) * sizeof(int));
}

static void order_chunk(is_t *s, long chunk, example_progress_t *progress)
{
    const long end = chunk_begin(s, chunk + 1);
    long next[BUCKETS], place = chunk_begin(s, chunk);

    for (int b = 0; b < BUCKETS; place += s->in_bucket[chunk * BUCKETS + b++])
        next[b] = place;
    for (long i = chunk_begin(s, chunk); i < end; i++) {
        s->in_order[next[bucket_of(s->keys[i])]++] = s->keys[i];
        if (i % STEP_KEYS == 0)
            example_step(progress);
    }
}

static void count_chunk(is_t *s, long chunk, example_progress_t *progress)
{
    const int *offsets = s->receives.offsets + chunk * s->size;
    const long end = chunk + 1 < s->chunks ? offsets[s->size] : s->received_count;

    for (long i = offsets[0]; i < end; i++) {
        s->ranks[s->received[i]]++;
        if (i % STEP_KEYS == 0)
            example_step(progress);
    }
}

/* From how many keys have a value to how many are smaller. */
static void counts_to_ranks(int *values, long count, int smaller)
{
    for (long value = 0; value < count; value++) {
        const int keys = values[value];
        values[value] = smaller;
        smaller += keys;
    }
}

static void rank_values(is_t *s, const example_t *e, int iteration)
{
    const published_t *published = classes[options.class].published;

    counts_to_ranks(s->ranks + s->first_value, s->end_value - s->first_value, s->smaller);
    for (int i = 0; e->seed == 1 && i < PUBLISHED; i++) {
        const int value = s->buckets[BUCKETS + i];
        const int rank = published[i].rank + published[i].slope * iteration;
        if (value >= s->first_value && value < s->end_value)
            s->right = s->right && s->ranks[value] == rank;
    }
}

static void run_blocking(example_t *e, is_t *s)
{
    example_progress_t none = {0};

    for (int iteration = 1; iteration <= ITERATIONS; iteration++) {
        prepare(e, s, iteration);
        example_come_late(e);
        order_chunk(s, 0, &none);
        TIMED(e, MPI_Alltoallv(s->in_order, s->sends.counts, s->sends.offsets, MPI_INT, s->received,
                               s->receives.counts, s->receives.offsets, MPI_INT, MPI_COMM_WORLD));
        count_chunk(s, 0, &none);
        rank_values(s, e, iteration);
    }
}

static void run_nonblocking(example_t *e, is_t *s)
{
    MPI_Request *requests = example_allocate((size_t)s->chunks, sizeof *requests);

    for (int iteration = 1; iteration <= ITERATIONS; iteration++) {
        prepare(e, s, iteration);
        example_come_late(e);
        for (long chunk = 0; chunk < s->chunks; chunk++)
            requests[chunk] = MPI_REQUEST_NULL;
        example_progress_t progress = example_progress(e, requests, (int)s->chunks, e->tests,
                                                       (s->count + s->received_count) / STEP_KEYS);
        for (long chunk = 0; chunk < s->chunks; chunk++) {
            const long at = chunk * s->size;
            order_chunk(s, chunk, &progress);
            TIMED(e, MPI_Ialltoallv(s->in_order, s->sends.counts + at, s->sends.offsets + at, MPI_INT,
                                    s->received, s->receives.counts + at, s->receives.offsets + at, MPI_INT,
                                    MPI_COMM_WORLD, &requests[chunk]));
        }
        for (long chunk = 0; chunk < s->chunks; chunk++) {
            TIMED(e, MPI_Wait(&requests[chunk], MPI_STATUS_IGNORE));
            count_chunk(s, chunk, &progress);
        }
        rank_values(s, e, iteration);
    }
    free(requests);
}

static uint64_t sum_of_keys(const int *keys, long count)
{
    uint64_t sum = 0;
    for (long i = 0; i < count; i++)
        sum += example_hash(0, (uint64_t)keys[i], 1);
    return sum;
}

/* Puts the keys in the places that their ranks say: all are there, none smaller than one before, on this rank and the
 * ranks before. */
static bool is_sorted(const is_t *s)
{
    int *sorted = example_allocate((size_t)s->received_count, sizeof *sorted),
        *used = example_allocate((size_t)s->values, sizeof *used);
    uint64_t missing = sum_of_keys(s->keys, s->count);
    int largest = -1, before = -1;
    bool right = true;

    for (long i = 0; i < s->received_count && right; i++) {
        const int value = s->received[i];
        const long place = s->ranks[value] - s->smaller + used[value]++;
        right = place >= 0 && place < s->received_count;
        if (right)
            sorted[place] = value;
    }
    missing -= sum_of_keys(sorted, s->received_count);
    MPI_Allreduce(MPI_IN_PLACE, &missing, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (long i = 0; i < s->received_count; i++) {
        right = right && sorted[i] >= largest;
        largest = sorted[i];
    }
    MPI_Exscan(&largest, &before, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    right = right && missing == 0 && (s->rank == 0 || s->received_count == 0 || before <= sorted[0]);
    free(sorted);
    free(used);
    return right;
}

/* Rank 0 makes all keys and counts them by itself; every rank compares its values. */
static bool is_as_alone(const example_t *e, const is_t *s)
{
    int *expected = example_allocate((size_t)s->values, sizeof *expected);
    bool right = true;

    if (e->rank == 0) {
        int *keys = example_allocate((size_t)s->total, sizeof *keys);
        make_keys(keys, e->seed, 0, s->total);
        for (int iteration = 1; iteration <= ITERATIONS; iteration++)
            change_keys(keys, 0, s->total, s->values, iteration);
        for (long i = 0; i < s->total; i++)
            expected[keys[i]]++;
        counts_to_ranks(expected, s->values, 0);
        free(keys);
    }
    MPI_Bcast(expected, (int)s->values, MPI_INT, 0, MPI_COMM_WORLD);
    for (long value = s->first_value; value < s->end_value; value++)
        right = right && s->ranks[value] == expected[value];
    free(expected);
    return right;
}

/* Of the rank of every value: the same on any number of ranks. */
static uint64_t checksum_of(const is_t *s)
{
    uint64_t sum = 0;
    for (long value = s->first_value; value < s->end_value; value++)
        sum += example_hash(1, (uint64_t)value, (uint64_t)s->ranks[value]);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

int main(int argc, char **argv)
{
    const example_option_t own[] = {
        {"class", "size: 2^16, 2^20, 2^23, 2^25 keys", &options.class, .letters = class_letters},
        {"chunks", "pieces that the keys are exchanged in (--nonblocking)", &options.chunks, 1, 1000},
    };
    example_t e;
    is_t s;
    int exit_code;

    if (!example_init(&e, "is", "Integer sort: keys by MPI_Alltoallv or, in chunks, by MPI_Ialltoallv.", argc,
                      argv, own, sizeof own / sizeof own[0], &exit_code))
        return exit_code;

    is_make(&s, &e);
    const int even = (int)(s.total / s.size / s.size);
    for (long i = 0; i < e.warm_up; i++)
        MPI_Alltoall(s.keys, even, MPI_INT, s.in_order, even, MPI_INT, MPI_COMM_WORLD);

    example_start_clock(&e);
    if (e.nonblocking)
        run_nonblocking(&e, &s);
    else
        run_blocking(&e, &s);
    const double total = example_stop_clock(&e);

    const uint64_t checksum = checksum_of(&s);
    const bool right = !e.check || (is_sorted(&s) & is_as_alone(&e, &s) & s.right);
    exit_code = example_report(&e, total, checksum, right,
                               "\"class\": \"%c\", \"keys\": %ld, \"values\": %ld, \"chunks\": %ld, "
                               "\"message_bytes\": %ld",
                               class_letters[options.class], s.total, s.values, s.chunks,
                               s.total / s.size / s.size / s.chunks * (long)sizeof(int));
    is_free(&s);
    MPI_Finalize();
    return exit_code;
}
