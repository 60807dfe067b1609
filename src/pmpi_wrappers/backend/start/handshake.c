#include "pmpi_wrappers/backend/start/handshake.h"

#include <stdio.h>
#include <string.h>
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "event_engine/wait.h"
#include "pmpi_wrappers/backend/glue/machine.h"
#include "pmpi_wrappers/backend/glue/mpi_glue.h"
#include "pmpi_wrappers/backend/start/tally.h"

/* Tag on MPI_COMM_WORLD. Both messages of every pair are received before MPI_Init returns, so the
 * program cannot meet them. */
enum { HANDSHAKE_TAG = 32011 };
static const char magic[8] = "hanpmpi";
enum { VERSION_BYTES = 32, NOBODY = -1 };

/* The first fields of both messages never change from version to version. */
typedef struct {
    char magic[8];
    char version[VERSION_BYTES];
    uint64_t bytes;  /* of this message */
    int32_t missing; /* a rank that did not answer, or NOBODY */
    int32_t other_version;
    int32_t other_settings;
    uint8_t any_threads, any_alone, any_off, any_on;
    hp_tally_t nodes, masks; /* of the subtree */
    hp_knobs_t knobs;
} up_t;

typedef struct {
    char magic[8];
    char version[VERSION_BYTES];
    uint64_t bytes;
    uint8_t work; /* the verdict */
    uint8_t any_threads, any_alone, has_files;
    uint8_t any_off, pad[3];
    uint64_t job;
    hp_tally_t nodes, masks;
    hp_knobs_t knobs;
} down_t;

/* Room for a message of any version: what is longer than expected must arrive, or the MPI ends the job. */
typedef union {
    up_t up;
    down_t down;
    char room[65536];
} message_t;
_Static_assert(sizeof(message_t) == 65536, "there is room");

/* And of the messages: builds between two versions have the same number. */
static const char *version(void)
{
    static char text[VERSION_BYTES];

    if (!text[0])
        snprintf(text, sizeof text, "%s/%zu/%zu", HANPMPI_VERSION, sizeof(up_t), sizeof(down_t));
    return text;
}

/* Receives exactly one message within the time. false: nothing came. *received: its bytes. */
static bool receive(void *message, size_t bytes, int from, uint64_t deadline_ns, int *received)
{
    static const hp_wait_policy_t policy = {.spin_polls = 100, .sleep_after_ns = 1000000, .sleep_ns = 100000};
    hp_wait_t wait = {0, 0};
    MPI_Request request;
    MPI_Status status;
    int complete = 0;

    *received = 0;
    if (P(Irecv)(message, (int)bytes, MPI_BYTE, from, HANDSHAKE_TAG, MPI_COMM_WORLD, &request) != MPI_SUCCESS)
        return false;
    if (hp_ranks_take_turns)
        return P(Wait)(&request, &status) == MPI_SUCCESS &&
               P(Get_count)(&status, MPI_BYTE, received) == MPI_SUCCESS;
    do {
        P(Test)(&request, &complete, &status);
        if (!complete)
            hp_wait_idle(&wait, &policy);
    } while (!complete && (deadline_ns == 0 || hp_clock_ns() < deadline_ns));
    if (!complete) {
        int cancelled = 0;
        P(Cancel)(&request);
        P(Wait)(&request, &status);
        P(Test_cancelled)(&status, &cancelled);
        if (cancelled)
            return false;
    }
    P(Get_count)(&status, MPI_BYTE, received);
    return true;
}

static void first(int32_t *kept, int32_t found)
{
    if (*kept == NOBODY)
        *kept = found;
}

/* One mask on two nodes is two. */
static uint64_t mask_of(const hp_own_facts_t *own)
{
    return hp_hash_add(hp_hash_add(HP_HASH_BASIS, &own->node_id, sizeof own->node_id), &own->mask_id,
                       sizeof own->mask_id);
}

/* Joins a child's report with what this rank knows of its subtree. */
static void join(up_t *mine, const up_t *theirs, int child, int received)
{
    if (received < (int)offsetof(up_t, missing) || memcmp(theirs->magic, magic, sizeof magic) != 0 ||
        strncmp(theirs->version, mine->version, VERSION_BYTES) != 0 || theirs->bytes != sizeof *theirs) {
        first(&mine->other_version, child);
        return;
    }
    first(&mine->missing, theirs->missing);
    first(&mine->other_version, theirs->other_version);
    if (hp_knobs_difference(&mine->knobs, &theirs->knobs) != HP_KNOB_COUNT)
        first(&mine->other_settings, child);
    first(&mine->other_settings, theirs->other_settings);
    hp_tally_join(&mine->nodes, &theirs->nodes);
    hp_tally_join(&mine->masks, &theirs->masks);
    mine->any_threads |= theirs->any_threads;
    mine->any_alone |= theirs->any_alone;
    mine->any_off |= theirs->any_off;
    mine->any_on |= theirs->any_on;
}

/* Rank 0 tells the user what it found; returns whether the library is to work. */
static bool judge(const up_t *all)
{
    if (all->missing != NOBODY) {
        hp_warn("rank %d did not answer within HANPMPI_HANDSHAKE_SECONDS=%lld: is the library loaded on "
                "every rank and host? "
                "It is off for this run; results are not affected",
                all->missing, (long long)all->knobs.handshake_seconds);
        return false;
    }
    if (all->other_version != NOBODY) {
        hp_warn("rank %d runs another version of the library than rank 0 (%s): it is off for this run; "
                "install one "
                "version on every host",
                all->other_version, HANPMPI_VERSION);
        return false;
    }
    if (all->other_settings != NOBODY)
        hp_warn("rank %d has other HANPMPI_* settings than rank 0: rank 0's settings hold for all ranks",
                all->other_settings);
    if (all->any_off && all->any_on)
        hp_warn("HANPMPI_ENABLE=0 is set on some ranks and not on others: the library accelerates nothing on "
                "any of them");
    return true;
}

/* What a rank says of the verdict. */
enum { GONE = 0, INCOMPLETE = 1, COMPLETE = 2 };

static MPI_Request begin(const void *message, size_t bytes, int to)
{
    MPI_Request request;

    return P(Isend)(message, (int)bytes, MPI_BYTE, to, HANDSHAKE_TAG, MPI_COMM_WORLD, &request) == MPI_SUCCESS
               ? request
               : MPI_REQUEST_NULL;
}

/* For a message that perhaps nobody receives. It stays where it is, for good. */
static void leave(MPI_Request *request)
{
    int complete = 0;

    if (*request != MPI_REQUEST_NULL)
        P(Test)(request, &complete, MPI_STATUS_IGNORE);
    if (*request != MPI_REQUEST_NULL && !complete)
        P(Request_free)(request);
}

/* Of this rank in the tree, those that reported; the largest subtree last. */
typedef struct {
    int count;
    int rank[32];
    bool has_left[32];
    MPI_Request verdict[32]; /* on its way, if not */
} children_t;

/* A word that is there before the verdict is that the rank has left. Then it must not get one: its program is running. */
static bool has_left(int child)
{
    uint8_t word;
    int found = 0, received;

    return P(Iprobe)(child, HANDSHAKE_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
           found && receive(&word, sizeof word, child, 0, &received);
}

static void tell(children_t *children, const down_t *verdict)
{
    for (int i = children->count; i-- > 0;) {
        children->has_left[i] = has_left(children->rank[i]);
        children->verdict[i] =
            children->has_left[i] ? MPI_REQUEST_NULL : begin(verdict, sizeof *verdict, children->rank[i]);
    }
}

/* After a verdict that the library is to work: has every rank got it? One that waited too long for it has left, and says so.
 * Without a time limit: all have the library. */
static bool all_were_told(int rank, int parent, children_t *children)
{
    uint8_t mine = COMPLETE, theirs[32];
    int received;

    for (int i = 0; i < children->count; i++) {
        if (children->has_left[i] || !receive(&theirs[i], sizeof theirs[i], children->rank[i], 0, &received))
            theirs[i] = GONE;
        if (theirs[i] == GONE)
            leave(&children->verdict[i]);
        else
            P(Wait)(&children->verdict[i], MPI_STATUS_IGNORE);
        if (theirs[i] != COMPLETE)
            mine = INCOMPLETE;
    }
    if (rank != 0) {
        const bool asks = mine == COMPLETE;
        P(Send)(&mine, sizeof mine, MPI_BYTE, parent, HANDSHAKE_TAG, MPI_COMM_WORLD);
        if (asks && !receive(&mine, sizeof mine, parent, 0, &received))
            mine = INCOMPLETE;
    }
    for (int i = children->count; i-- > 0;)
        if (theirs[i] == COMPLETE) /* the others know */
            P(Send)(&mine, sizeof mine, MPI_BYTE, children->rank[i], HANDSHAKE_TAG, MPI_COMM_WORLD);
    if (rank == 0 && mine != COMPLETE)
        hp_warn("rank 0, or one that others report to, was so late in MPI_Init that they did not wait for it "
                "any more: the library "
                "is off for this run; results are not affected (HANPMPI_HANDSHAKE_SECONDS sets how long they "
                "wait)");
    return mine == COMPLETE;
}

static void introduce(up_t *mine, const hp_own_facts_t *own, const hp_knobs_t *knobs)
{
    memcpy(mine->magic, magic, sizeof magic);
    snprintf(mine->version, sizeof mine->version, "%s", version());
    mine->bytes = sizeof *mine;
    mine->missing = mine->other_version = mine->other_settings = NOBODY;
    mine->any_threads = own->threads;
    mine->any_alone = own->is_alone;
    mine->any_off = !knobs->enable;
    mine->any_on = (bool)knobs->enable;
    hp_tally_add(&mine->nodes, own->node_id, 1);
    hp_tally_add(&mine->masks, mask_of(own), 1);
    mine->knobs = *knobs;
}

static void rule(down_t *verdict, const up_t *all, const hp_own_facts_t *own, const hp_knobs_t *knobs)
{
    snprintf(verdict->version, sizeof verdict->version, "%s", version());
    verdict->bytes = sizeof *verdict;
    verdict->work = judge(all);
    verdict->nodes = all->nodes;
    verdict->masks = all->masks;
    verdict->any_threads = all->any_threads;
    verdict->any_alone = all->any_alone;
    verdict->any_off = all->any_off;
    verdict->has_files = own->has_files;
    verdict->job = own->job_id;
    verdict->knobs = *knobs;
}

/* The lowest bit of a rank: its parent lacks it, its children have a lower one besides. Of rank 0: the first that nobody has. */
static int own_bit(int rank, int size)
{
    int bit = 1;

    while (bit < size && !(rank & bit))
        bit *= 2;
    return bit;
}

/* Such a rank greets its parent before it waits for them: what an MPI does at the first message of two ranks (a connection, which
 * takes Open MPI up to 10 ms) is done in all levels of the tree at the same time. The others report at once. */
static bool has_children(int rank, int size)
{
    return rank % 2 == 0 && rank + 1 < size;
}

/* What a child reports, after its greeting; another version may send none. */
static bool hear(message_t *theirs, int child, int size, uint64_t deadline_ns, int *received)
{
    if (!receive(theirs, sizeof *theirs, child, deadline_ns, received))
        return false;
    return !has_children(child, size) || *received > 0 ||
           receive(theirs, sizeof *theirs, child, deadline_ns, received);
}

/* Tells the parent of this rank's subtree and waits for its verdict. No verdict is a no. */
static void ask(const up_t *mine, int parent, uint64_t deadline_ns, down_t *verdict)
{
    static message_t theirs;          /* static: it is large */
    static const uint8_t gone = GONE; /* static: it may leave later */
    MPI_Request report = begin(mine, sizeof *mine, parent), word;
    int received;

    if (report == MPI_REQUEST_NULL)
        return;
    if (receive(&theirs, sizeof theirs, parent, deadline_ns, &received)) {
        *verdict = theirs.down;
        if (received < (int)offsetof(down_t, work) || verdict->bytes != sizeof *verdict ||
            strncmp(verdict->version, version(), VERSION_BYTES) != 0)
            verdict->work = 0;
        if (verdict->work)
            P(Wait)(&report, MPI_STATUS_IGNORE);
        else /* another version may not receive it */
            leave(&report);
        return;
    }
    leave(&report);
    word = begin(&gone, sizeof gone, parent); /* it may still come, and then waits for a word of this rank */
    leave(&word);
    if (parent == 0)
        hp_warn(
            "rank 0 did not answer: is the library loaded on every rank and host? It is off for this run; "
            "results are not affected");
}

bool hp_handshake(int rank, int size, const hp_own_facts_t *own, hp_knobs_t *inout, hp_agreed_t *agreed)
{
    const uint64_t limit_ns = (uint64_t)inout->handshake_seconds * 1000000000u;
    const uint64_t deadline = hp_clock_ns() + limit_ns;
    children_t children = {0};
    MPI_Request greeting = MPI_REQUEST_NULL;
    const int bit = own_bit(rank, size);
    int received;
    static up_t mine; /* static: padding is zero, and they are large */
    static down_t verdict;
    static message_t theirs;

    introduce(&mine, own, inout);
    if (rank != 0 && has_children(rank, size))
        greeting = begin(NULL, 0, rank - bit);
    for (int down = 1; down < bit && rank + down < size; down *= 2) {
        const int child = rank + down;
        if (!hear(&theirs, child, size, deadline, &received)) {
            first(&mine.missing, child);
            continue;
        }
        join(&mine, &theirs.up, child, received);
        children.rank[children.count++] = child;
    }
    memcpy(verdict.magic, magic, sizeof magic);
    if (rank == 0)
        rule(&verdict, &mine, own, inout);
    else /* longer than the parent's own limit, so that a verdict it still gives is not missed */
        ask(&mine, rank - bit, deadline + 3 * limit_ns, &verdict);
    /* Not to a child that did not report: without the library it would never receive the message, and some
     * MPIs call that an error at MPI_Finalize. If it was only late its own limit brings it to the same
     * verdict: with a rank missing the answer is no. */
    tell(&children, &verdict);
    if (verdict.work)
        verdict.work = all_were_told(rank, rank - bit, &children);
    else
        for (int i = 0; i < children.count; i++)
            leave(&children.verdict[i]);
    if (verdict.work && greeting != MPI_REQUEST_NULL)
        P(Wait)(&greeting, MPI_STATUS_IGNORE);
    else
        leave(&greeting);
    *agreed = (hp_agreed_t){.nodes = (uint32_t)verdict.nodes.kinds,
                            .beside = hp_tally_ranks(&verdict.nodes, own->node_id),
                            .sharers = hp_tally_ranks(&verdict.masks, mask_of(own)),
                            .any_threads = verdict.any_threads,
                            .any_alone = verdict.any_alone,
                            .any_off = verdict.any_off,
                            .has_files = verdict.has_files,
                            .verbose = verdict.knobs.verbose,
                            .job = verdict.job};
    if (verdict.work)
        hp_knobs_adopt(inout, &verdict.knobs);
    return verdict.work;
}

bool hp_handshake_share(int rank, int size, void *data, size_t bytes)
{
    int bit = own_bit(rank, size), received;

    if (rank != 0 && (!receive(data, bytes, rank - bit, 0, &received) || received != (int)bytes))
        return false;
    for (bit /= 2; bit > 0; bit /= 2)
        if (rank + bit < size &&
            P(Send)(data, (int)bytes, MPI_BYTE, rank + bit, HANDSHAKE_TAG, MPI_COMM_WORLD) != MPI_SUCCESS)
            return false;
    return true;
}

void hp_handshake_drain(void)
{
    static message_t late;
    MPI_Status status;
    int found;

    while (P(Iprobe)(MPI_ANY_SOURCE, HANDSHAKE_TAG, MPI_COMM_WORLD, &found, &status) == MPI_SUCCESS && found)
        P(Recv)(&late, sizeof late, MPI_BYTE, status.MPI_SOURCE, HANDSHAKE_TAG, MPI_COMM_WORLD, &status);
}
