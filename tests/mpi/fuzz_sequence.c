#include "fuzz_blocks.h"
#include "host_bugs.h"

enum { MOST_STEPS = 80, MOST_PAIRS = 3, MOST_COLLECTIVES = 16 };

/* What every rank of the pair does at a step; the steps are the same on all ranks. */
#define STEP_TABLE(X)                                                                                        \
    X(START, "start")              /* a collective goes into flight */                                       \
    X(BLOCK, "block")              /* a blocking one */                                                      \
    X(SHIFT, "Sendrecv")           /* around the ring of ranks */                                            \
    X(SEND, "Send, Recv")          /* one rank to another, below likewise */                                 \
    X(SYNCHRONOUS, "Ssend, Probe") /* the receiver asks first */                                             \
    X(MESSAGE, "Isend, Irecv")     /* into flight */                                                         \
    X(FREE, "Comm_free")           /* of the pair's, with everything still in flight */

typedef enum {
#define X(id, name) id,
    STEP_TABLE(X)
#undef X
} kind_t;

static const char *const names[] = {
#define X(id, name) [id] = name,
    STEP_TABLE(X)
#undef X
};

typedef struct {
    kind_t kind;
    hp_pair_t *pair;
    hp_fuzz_case_t test; /* START, BLOCK */
    hp_fuzz_way_t way;
    bool free_early;
    hp_fuzz_run_t *run; /* START */
    int from, to, bytes;
    uint64_t salt;
} step_t;

/* Of file scope: a hang is reported from a signal handler. */
static struct {
    step_t step[MOST_STEPS];
    int count, at, round;
    hp_pair_t *pair[MOST_PAIRS];
    int pairs;
    hp_fuzz_flight_t flight;
} sequence;

static step_t *add(kind_t kind, hp_pair_t *pair)
{
    CHECK(sequence.count < MOST_STEPS, "more than %d steps", MOST_STEPS);
    step_t *step = &sequence.step[sequence.count++];
    *step = (step_t){.kind = kind, .pair = pair};
    return step;
}

/* Mostly short, so that many are in flight; now and then beyond any eager limit. */
static void draw_traffic(hp_random_t *own, hp_pair_t *pair)
{
    kind_t kinds[] = {SHIFT, SEND, SYNCHRONOUS, MESSAGE, MESSAGE};
    step_t *step = add(kinds[hp_random_below(own, sizeof kinds / sizeof *kinds)], pair);
    uint64_t from = hp_random_next(own), to = hp_random_next(own);

    step->bytes = (int)hp_random_below(own, hp_random_below(own, 5) ? 100 : 200000);
    step->salt = hp_random_next(own);
    if (pair->size > 1) {
        step->from = (int)(from % (unsigned)pair->size);
        step->to = (int)((unsigned)step->from + 1 + to % (unsigned)(pair->size - 1)) % pair->size;
    }
}

static void draw_collective(hp_random_t *own, kind_t kind, hp_pair_t *pair, const hp_fuzz_maps_t *maps,
                            const hp_fuzz_options_t *options, uint64_t number, bool keep)
{
    step_t *step = add(kind, pair);
    uint32_t way = hp_random_below(own, 100);

    hp_fuzz_case_draw(&step->test, own, pair, maps, options);
    if (kind == START && step->test.map && step->test.collective == HP_FUZZ_REDUCE &&
        hp_host_breaks_ireduce(step->test.map))
        step->test.collective = HP_FUZZ_BCAST;
    if (step->test.map && hp_fuzz_is_blocks(step->test.collective) &&
        hp_host_breaks_iblocks(step->test.in_place) &&
        !hp_lib_forced(hp_fuzz_collective_info(step->test.collective)->word))
        step->kind = BLOCK;
    step->test.number = number + (uint64_t)sequence.count;
    step->free_early = hp_random_below(own, 3) == 0;
    step->way = keep && (int)way < options->persistent ? HP_FUZZ_PERSISTENT : HP_FUZZ_NONBLOCKING;
}

static void draw(hp_random_t *own, hp_pair_t *pairs, int pair_count, const hp_fuzz_maps_t *maps,
                 const hp_fuzz_options_t *options, uint64_t number)
{
    int collectives = 1 + (int)hp_random_below(own, 1 + hp_random_below(own, MOST_COLLECTIVES));
    bool frees = hp_random_below(own, 8) == 0 && options->free_communicators;
    int blocking_share = (int)hp_random_below(own, 3) * 8, traffic_share = (int)hp_random_below(own, 3) * 12;

    sequence.count = sequence.at = sequence.round = 0;
    sequence.pairs = 1 + (int)hp_random_below(own, MOST_PAIRS);
    for (int i = 0; i < sequence.pairs; i++)
        sequence.pair[i] = &pairs[hp_random_below(own, (uint32_t)pair_count)];
    while (collectives > 0 && sequence.count < MOST_STEPS - 8) {
        hp_pair_t *pair = sequence.pair[hp_random_below(own, (uint32_t)sequence.pairs)];
        int kind = (int)hp_random_below(own, 100);
        if (kind < blocking_share) { /* on one of the sequence's pairs, or any */
            if (kind % 2)
                pair = &pairs[hp_random_below(own, (uint32_t)pair_count)];
            draw_collective(own, BLOCK, pair, maps, options, number, true);
        } else if (kind < blocking_share + traffic_share) {
            draw_traffic(own, pair);
        } else {
            /* A persistent request would outlive the communicator that is freed. */
            draw_collective(own, START, pair, maps, options, number, !(frees && pair == sequence.pair[0]));
            collectives--;
        }
    }
    for (int i = (int)hp_random_below(own, 5); i > 0; i--)
        draw_traffic(own, sequence.pair[hp_random_below(own, (uint32_t)sequence.pairs)]);
    if (frees)
        add(FREE, sequence.pair[0]);
}

/* ---- steps ---- */

static void send(const step_t *step, MPI_Comm comm, int tag)
{
    unsigned char *message = malloc((size_t)step->bytes + 1);
    CHECK(message, "out of memory");
    hp_fuzz_message_fill(message, step->bytes, step->salt);
    if (step->kind == SYNCHRONOUS)
        CHECK_MPI(MPI_Ssend(message, step->bytes, MPI_BYTE, step->to, tag, comm));
    else
        CHECK_MPI(MPI_Send(message, step->bytes, MPI_BYTE, step->to, tag, comm));
    free(message);
}

static void receive(const step_t *step, MPI_Comm comm, int tag)
{
    unsigned char *message = malloc((size_t)step->bytes + 1);
    CHECK(message, "out of memory");
    if (step->kind == SYNCHRONOUS) {
        MPI_Status status;
        int bytes;
        CHECK_MPI(MPI_Probe(step->from, tag, comm, &status));
        CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &bytes));
        CHECK_EQUAL(bytes, step->bytes, "the bytes of a probed message");
    }
    CHECK_MPI(MPI_Recv(message, step->bytes, MPI_BYTE, step->from, tag, comm, MPI_STATUS_IGNORE));
    hp_fuzz_message_check(message, step->bytes, step->salt);
    free(message);
}

static void shift(const step_t *step, MPI_Comm comm, int tag)
{
    int size = step->pair->size, right = (step->pair->rank + 1) % size,
        left = (step->pair->rank + size - 1) % size;
    unsigned char *out = malloc((size_t)step->bytes + 1), *in = malloc((size_t)step->bytes + 1);

    CHECK(out && in, "out of memory");
    hp_fuzz_message_fill(out, step->bytes, step->salt + (unsigned)step->pair->rank);
    CHECK_MPI(MPI_Sendrecv(out, step->bytes, MPI_BYTE, right, tag, in, step->bytes, MPI_BYTE, left, tag, comm,
                           MPI_STATUS_IGNORE));
    hp_fuzz_message_check(in, step->bytes, step->salt + (unsigned)left);
    free(out);
    free(in);
}

static bool do_collective(step_t *step, char *difference, size_t difference_bytes)
{
    if (step->kind == BLOCK)
        return hp_fuzz_case_run(&step->test, difference, difference_bytes);
    step->run = hp_fuzz_run_create(&step->test, step->way, step->free_early);
    hp_fuzz_run_start(step->run);
    if (step->test.map)
        hp_fuzz_flight_add_run(&sequence.flight, step->run);
    return true;
}

static bool do_step(step_t *step, char *difference, size_t difference_bytes)
{
    MPI_Comm comm = step->pair->library;
    int rank = step->pair->rank, tag = (int)(step - sequence.step);

    if (step->kind == START || step->kind == BLOCK)
        return do_collective(step, difference, difference_bytes);
    if (comm == MPI_COMM_NULL)
        return true;
    switch (step->kind) {
    case FREE:
        CHECK_MPI(MPI_Comm_free(&step->pair->library));
        break;
    case SHIFT:
        shift(step, comm, tag);
        break;
    case MESSAGE:
        if (rank == step->to && step->from != step->to)
            hp_fuzz_flight_receive(&sequence.flight, comm, step->from, tag, step->bytes, step->salt);
        if (rank == step->from && step->from != step->to)
            hp_fuzz_flight_send(&sequence.flight, comm, step->to, tag, step->bytes, step->salt);
        break;
    default:
        if (rank == step->from && step->from != step->to)
            send(step, comm, tag);
        if (rank == step->to && step->from != step->to)
            receive(step, comm, tag);
        break;
    }
    return true;
}

/* All collectives in flight, in the order of their starts. */
static bool check_all(bool persistent_only, char *difference, size_t difference_bytes)
{
    bool agree = true;
    for (sequence.at = 0; sequence.at < sequence.count && agree; sequence.at++) {
        step_t *step = &sequence.step[sequence.at];
        if (step->run && (!persistent_only || step->way == HP_FUZZ_PERSISTENT))
            agree = hp_fuzz_run_check(step->run, difference, difference_bytes);
        if (!agree)
            return false;
    }
    return true;
}

/* The persistent ones once more, with other values. */
static bool run_again(hp_random_t *own, uint64_t number, char *difference, size_t difference_bytes)
{
    for (sequence.at = 0; sequence.at < sequence.count; sequence.at++) {
        step_t *step = &sequence.step[sequence.at];
        if (!step->run || step->way != HP_FUZZ_PERSISTENT)
            continue;
        hp_fuzz_run_renew(step->run, number + MOST_STEPS + 1 + (uint64_t)sequence.at);
        hp_fuzz_run_start(step->run);
        if (step->test.map)
            hp_fuzz_flight_add_run(&sequence.flight, step->run);
        if (hp_random_below(own, 3) == 0)
            hp_fuzz_flight_poke(&sequence.flight, own, false);
    }
    while (hp_fuzz_flight_pending(&sequence.flight) > 0)
        hp_fuzz_flight_poke(&sequence.flight, own, true);
    bool agree = check_all(true, difference, difference_bytes);
    hp_fuzz_flight_clear(&sequence.flight);
    return agree;
}

bool hp_fuzz_sequence_run(hp_random_t *random, hp_pair_t *pairs, int pair_count, const hp_fuzz_maps_t *maps,
                          const hp_fuzz_options_t *options, uint64_t number, char *difference,
                          size_t difference_bytes)
{
    hp_random_t common = {hp_random_next(random)};
    hp_random_t own = {hp_hash(common.state, 1, (uint64_t)hp_comm_rank(MPI_COMM_WORLD))};
    uint32_t eagerness = hp_random_below(&own, 4); /* of this rank to complete between the steps */
    bool agree = true, persistent = false;

    draw(&common, pairs, pair_count, maps, options, number);
    for (sequence.at = 0; sequence.at < sequence.count && agree; sequence.at++) {
        agree = do_step(&sequence.step[sequence.at], difference, difference_bytes);
        persistent = persistent || sequence.step[sequence.at].way == HP_FUZZ_PERSISTENT;
        if (agree && hp_random_below(&own, 8) < eagerness)
            hp_fuzz_flight_poke(&sequence.flight, &own, hp_random_below(&own, 2));
        if (!agree)
            return false;
    }
    while (hp_fuzz_flight_pending(&sequence.flight) > 0)
        hp_fuzz_flight_poke(&sequence.flight, &own, true);
    if (!check_all(false, difference, difference_bytes))
        return false;
    hp_fuzz_flight_clear(&sequence.flight);
    sequence.round = 1;
    if (persistent && !run_again(&own, number, difference, difference_bytes))
        return false;

    for (int i = 0; i < sequence.count; i++)
        if (sequence.step[i].run)
            hp_fuzz_run_free(sequence.step[i].run);
    if (sequence.count && sequence.step[sequence.count - 1].kind == FREE) {
        hp_pair_free(sequence.pair[0]);
        hp_pair_create(sequence.pair[0], random, options);
    }
    return true;
}

const char *hp_fuzz_sequence_format(char *buffer, size_t buffer_bytes)
{
    static const char *const ways[] = {"", "I, ", "persistent, "};
    size_t used = (size_t)snprintf(
        buffer, buffer_bytes, "a sequence of %d steps, at step %d%s%s%s, %d requests in flight",
        sequence.count, sequence.at, sequence.round ? ", persistent ones again" : "",
        sequence.flight.method ? ", in MPI_" : "", sequence.flight.method ? sequence.flight.method : "",
        hp_fuzz_flight_pending(&sequence.flight));

    for (int i = 0; i < sequence.pairs && used < buffer_bytes; i++)
        used += (size_t)snprintf(buffer + used, buffer_bytes - used, "\n  communicator %d: %s", i,
                                 sequence.pair[i]->text);
    for (int i = 0; i < sequence.count && used < buffer_bytes; i++) {
        const step_t *step = &sequence.step[i];
        char text[900] = "";
        int pair = 0;
        while (pair < sequence.pairs && sequence.pair[pair] != step->pair)
            pair++;
        if (step->kind == START || step->kind == BLOCK)
            hp_fuzz_case_format(&step->test, text, sizeof text);
        else if (step->kind != FREE)
            snprintf(text, sizeof text, "%d -> %d, %d bytes", step->from, step->to, step->bytes);
        used += (size_t)snprintf(buffer + used, buffer_bytes - used, "\n  %2d %s on %d: %s%s%s", i,
                                 names[step->kind], pair, step->kind == START ? ways[step->way] : "", text,
                                 step->kind == START && step->free_early && step->way == HP_FUZZ_NONBLOCKING
                                     ? ", freed early"
                                     : "");
    }
    return buffer;
}
