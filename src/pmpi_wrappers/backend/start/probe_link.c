#include "pmpi_wrappers/backend/start/probe_link.h"

#include <sched.h>
#include <stdlib.h>
#include "base/clock.h"
#include "event_engine/wait.h"

/* Above the tags of hp_start_tag, beside those of the transport and of node_setup. */
enum { PROBE_TAG = 32765 };

typedef enum { ECHO, BURST, STREAM, FLAG, HAND_OVER, COPY, DISMISS } order_t;

/* One repetition alone may have been interrupted. */
enum { REPETITIONS_LEAST = 3 };

/* A round trip takes 70 us on a virtual cluster of 1 Gbit/s and less elsewhere: 2 ms at most, but on slow
 * ones. */
enum { ROUND_TRIPS = 20, BURST_MESSAGES = 16, BURSTS = 3, BURST_BYTES = 4096 };
static const double latency_limit_us = 2000;

/* The stream: pieces, and how many of them are under way; 256 KiB fill any network's pipe (100 Gbit/s x 20
 * us). */
enum { PIECES = 16, UNDER_WAY = 4, PIECE_BYTES = HP_PROBE_BYTES / PIECES, COPY_BYTES = 16384 };

enum { FLAG_TRIPS = 16 };
static const double flag_limit_us = 600, hand_over_limit_us = 150, copies_us = 700;

static void copy_cached(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

static double now_us(void)
{
    return (double)hp_clock_ns() / 1000;
}

int hp_probe_wait(MPI_Request *request, unsigned nap_us)
{
    /* 300 us of yielding are as long as the longest pause between two orders on one node. */
    const hp_wait_policy_t policy = {
        .spin_polls = 50, .sleep_after_ns = 300000, .sleep_ns = nap_us * (uint64_t)1000};
    hp_wait_t wait = {0, 0};
    int complete = 0;

    int code = P(Test)(request, &complete, MPI_STATUS_IGNORE);
    while (code == MPI_SUCCESS && !complete) {
        hp_wait_idle(&wait, &policy);
        code = P(Test)(request, &complete, MPI_STATUS_IGNORE);
    }
    return code;
}

static int start_send(const hp_probe_site_t *site, const void *bytes, size_t count, int peer,
                      MPI_Request *request)
{
    return P(Isend)(bytes, (int)count, MPI_BYTE, hp_route_rank(site->route, peer),
                    hp_route_send_tag(site->route, peer, PROBE_TAG), site->route->comm, request);
}

static int start_recv(const hp_probe_site_t *site, void *bytes, size_t count, int peer, MPI_Request *request)
{
    return P(Irecv)(bytes, (int)count, MPI_BYTE, hp_route_rank(site->route, peer),
                    hp_route_recv_tag(site->route, PROBE_TAG), site->route->comm, request);
}

static int send(const hp_probe_site_t *site, const void *bytes, size_t count, int peer)
{
    return P(Send)(bytes, (int)count, MPI_BYTE, hp_route_rank(site->route, peer),
                   hp_route_send_tag(site->route, peer, PROBE_TAG), site->route->comm);
}

static int receive(const hp_probe_site_t *site, void *bytes, size_t count, int peer)
{
    return P(Recv)(bytes, (int)count, MPI_BYTE, hp_route_rank(site->route, peer),
                   hp_route_recv_tag(site->route, PROBE_TAG), site->route->comm, MPI_STATUS_IGNORE);
}

static int send_word(const hp_probe_site_t *site, int peer, uint64_t word)
{
    return send(site, &word, sizeof word, peer);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- short messages ---- */

int hp_probe_latency(const hp_probe_site_t *site, int peer, double *us)
{
    double trips[ROUND_TRIPS];
    int count = 0, code = MPI_SUCCESS;
    uint64_t word;

    const double start = now_us();
    for (int i = -1; i < ROUND_TRIPS && code == MPI_SUCCESS; i++) { /* the first wakes the peer */
        const double before = now_us();
        if (count >= REPETITIONS_LEAST && before - start > latency_limit_us)
            break;
        code = send_word(site, peer, ECHO);
        if (code == MPI_SUCCESS)
            code = receive(site, &word, sizeof word, peer);
        if (i >= 0)
            trips[count++] = now_us() - before;
    }
    qsort(trips, (size_t)count, sizeof *trips, by_value);
    *us = count > 0 ? trips[count / 2] / 2 : 0;
    return code;
}

int hp_probe_cpu(const hp_probe_site_t *site, int peer, double *us)
{
    int code = MPI_SUCCESS;
    uint64_t word;

    *us = 0;
    for (int burst = 0; burst < BURSTS && code == MPI_SUCCESS; burst++) {
        code = send_word(site, peer, BURST);
        const double start = now_us();
        for (int i = 0; i < BURST_MESSAGES && code == MPI_SUCCESS; i++)
            code = send(site, site->a, BURST_BYTES, peer);
        const double each_us = (now_us() - start) / BURST_MESSAGES;
        if (burst == 0 || each_us < *us)
            *us = each_us;
        if (code == MPI_SUCCESS) /* before the next one, all have come */
            code = receive(site, &word, sizeof word, peer);
    }
    return code;
}

static int serve_burst(const hp_probe_site_t *site, int leader)
{
    int code = MPI_SUCCESS;
    for (int i = 0; i < BURST_MESSAGES && code == MPI_SUCCESS; i++)
        code = receive(site, site->b, BURST_BYTES, leader);
    return code == MPI_SUCCESS ? send_word(site, leader, BURST) : code;
}

/* ---- the stream ----
 *
 * The peer has UNDER_WAY pieces under way; for each of the others it waits for a word, whether to go on. */

static int take_piece(const hp_probe_site_t *site, int peer, int piece, MPI_Request *request)
{
    char *into = (char *)site->b + (size_t)(piece % UNDER_WAY) * PIECE_BYTES;
    return start_recv(site, into, PIECE_BYTES, peer, request);
}

/* Until the piece is there; copying meanwhile, if this is wanted. */
static int await_piece(const hp_probe_site_t *site, MPI_Request *request, bool copies, double *copied)
{
    const size_t places = HP_PROBE_BYTES / COPY_BYTES - UNDER_WAY * (PIECE_BYTES / COPY_BYTES);
    int complete = 0, code = P(Test)(request, &complete, MPI_STATUS_IGNORE);

    while (code == MPI_SUCCESS && !complete) {
        if (copies) { /* from one buffer to the part of the other that is not received into */
            const size_t place = (size_t)(*copied / COPY_BYTES) % places * COPY_BYTES;
            memcpy((char *)site->b + UNDER_WAY * PIECE_BYTES + place, (char *)site->a + place, COPY_BYTES);
            *copied += COPY_BYTES;
        } else {
            sched_yield();
        }
        code = P(Test)(request, &complete, MPI_STATUS_IGNORE);
    }
    return code;
}

int hp_probe_stream(const hp_probe_site_t *site, int peer, bool copies, double limit_us,
                    hp_probe_stream_t *out)
{
    MPI_Request requests[UNDER_WAY];
    double arrived_us[PIECES], copied_bytes[PIECES], copied = 0;
    int pieces = PIECES, code = MPI_SUCCESS;
    bool stopped = false;

    *out = (hp_probe_stream_t){0};
    for (int piece = 0; piece < UNDER_WAY && code == MPI_SUCCESS; piece++)
        code = take_piece(site, peer, piece, &requests[piece]);
    const double start = now_us();
    if (code == MPI_SUCCESS)
        code = send_word(site, peer, STREAM);
    for (int piece = 0; piece < pieces && code == MPI_SUCCESS; piece++) {
        code = await_piece(site, &requests[piece % UNDER_WAY], copies, &copied);
        arrived_us[piece] = now_us();
        copied_bytes[piece] = copied;
        if (code != MPI_SUCCESS || stopped || piece + UNDER_WAY >= PIECES)
            continue;
        stopped = arrived_us[piece] - start > limit_us;
        if (stopped)
            pieces = piece + UNDER_WAY; /* those that are under way */
        else
            code = take_piece(site, peer, piece + UNDER_WAY, &requests[piece % UNDER_WAY]);
        if (code == MPI_SUCCESS)
            code = send_word(site, peer, !stopped);
    }
    if (code != MPI_SUCCESS)
        return code;
    const int first = pieces / 2 - 1, last = pieces - 1;
    out->bytes = (double)(last - first) * PIECE_BYTES;
    out->us = arrived_us[last] - arrived_us[first];
    out->copied_bytes = copied_bytes[last] - copied_bytes[first];
    /* A receiver that got no core for a while finds everything there at once. */
    const double all_bytes = (double)pieces * PIECE_BYTES, all_us = arrived_us[last] - start;
    if (out->us > 0)
        out->rate = out->bytes * all_us < all_bytes * out->us ? out->bytes / out->us : all_bytes / all_us;
    return MPI_SUCCESS;
}

static int serve_stream(const hp_probe_site_t *site, int leader)
{
    MPI_Request requests[PIECES];
    int sent = 0, code = MPI_SUCCESS;
    uint64_t go_on = 1;

    while (sent < PIECES && code == MPI_SUCCESS) {
        if (sent >= UNDER_WAY)
            code = receive(site, &go_on, sizeof go_on, leader);
        if (code != MPI_SUCCESS || !go_on)
            break;
        code = start_send(site, (char *)site->a + (size_t)sent * PIECE_BYTES, PIECE_BYTES, leader,
                          &requests[sent]);
        sent += code == MPI_SUCCESS;
    }
    for (int i = 0; i < sent && code == MPI_SUCCESS; i++)
        code = P(Wait)(&requests[i], MPI_STATUS_IGNORE);
    return code;
}

/* ---- shared memory ----
 *
 * Each of the two stores into the first word of its first slot, which no step uses meanwhile: it sets it to 0, and when both
 * have, the leader counts up, the peer repeats it. Pairs: the leader's store (release) with the peer's load (acquire), and back. */

static const uint64_t over = UINT64_MAX;

static hp_counter_t *word_of(const hp_probe_site_t *site, int rank)
{
    const uint32_t member = hp_comm_node_member(site->state, (uint32_t)rank);
    return (hp_counter_t *)(void *)hp_node_slot(&site->state->node_memory, member, 0, HP_FAN_IN, 0);
}

/* The next value of the word; `over` when the time is. until_us 0: no limit. */
static uint64_t await_word(const hp_counter_t *word, uint64_t before, double until_us)
{
    enum { LOOKS = 200 }; /* some microseconds: longer than a core of the node takes to see a store */
    uint64_t value;

    for (uint32_t looks = 1; (value = atomic_load_explicit(word, memory_order_acquire)) == before; looks++) {
        hp_cpu_relax();
        if (looks % LOOKS == 0) {
            if (until_us > 0 && now_us() > until_us)
                return over;
            sched_yield();
        }
    }
    return value;
}

/* So many trips from value on; *us: one way. false: the time is over. */
static bool round_trips(const hp_probe_site_t *site, int peer, int trips, double until_us, uint64_t *value,
                        double *us)
{
    hp_counter_t *mine = word_of(site, (int)site->state->rank), *theirs = word_of(site, peer);
    const double start = now_us();

    for (int trip = 0; trip < trips; trip++) {
        atomic_store_explicit(mine, *value + 1, memory_order_release);
        if (await_word(theirs, *value, until_us) == over)
            return false;
        ++*value;
    }
    *us = (now_us() - start) / (2 * trips);
    return true;
}

/* The words of both are 0, and the peer waits for this rank's. */
static int begin_words(const hp_probe_site_t *site, int peer, order_t order)
{
    uint64_t ready;

    atomic_store_explicit(word_of(site, (int)site->state->rank), 0, memory_order_release);
    const int code = send_word(site, peer, order);
    return code == MPI_SUCCESS ? receive(site, &ready, sizeof ready, peer) : code;
}

/* The peer has seen the last word, so that another one may take its place. */
static int end_words(const hp_probe_site_t *site, int peer)
{
    uint64_t seen;

    atomic_store_explicit(word_of(site, (int)site->state->rank), over, memory_order_release);
    return receive(site, &seen, sizeof seen, peer);
}

int hp_probe_flag(const hp_probe_site_t *site, int peer, double *us)
{
    const double until = now_us() + 2 * flag_limit_us;
    double one_way;
    uint64_t value = 0;

    *us = 0;
    const int code = begin_words(site, peer, FLAG);
    if (code != MPI_SUCCESS)
        return code;
    if (round_trips(site, peer, 1, until, &value, &one_way)) { /* the peer is there */
        const double start = now_us();
        while (now_us() - start < flag_limit_us &&
               round_trips(site, peer, FLAG_TRIPS, until, &value, &one_way))
            if (*us == 0 || one_way < *us)
                *us = one_way;
    }
    return end_words(site, peer);
}

/* ---- through slots ---- */

static uint32_t slots_used(const hp_probe_site_t *site)
{
    const uint32_t slots = site->state->node_memory.shape.slots, enough = 4;
    return slots < enough ? slots : enough;
}

/* Behind the word, which is in the first slot. */
static char *payload_of(const hp_probe_site_t *site, int rank, uint64_t trip)
{
    const hp_node_memory_t *node = &site->state->node_memory;
    const uint32_t member = hp_comm_node_member(site->state, (uint32_t)rank);

    return hp_node_slot(node, member, 0, HP_FAN_IN, trip % slots_used(site)) + HP_NODE_LINE;
}

int hp_probe_hand_over(const hp_probe_site_t *site, int peer, bool streams, double *us)
{
    const double until = now_us() + 2 * hand_over_limit_us;
    hp_counter_t *mine = word_of(site, (int)site->state->rank), *theirs = word_of(site, peer);
    uint64_t value = 0;

    *us = 0;
    const int code = begin_words(site, peer, HAND_OVER);
    if (code != MPI_SUCCESS)
        return code;
    const double start = now_us();
    do {
        const double before = now_us();
        (streams ? hp_stream_copy : copy_cached)(payload_of(site, (int)site->state->rank, value), site->a,
                                                 HP_PROBE_HAND_OVER_BYTES);
        atomic_store_explicit(mine, value + 1, memory_order_release);
        if (await_word(theirs, value, until) == over)
            break;
        const double one = now_us() - before;
        if (value++ >= slots_used(site) && (*us == 0 || one < *us)) /* all lines have been read once */
            *us = one;
    } while (now_us() - start < hand_over_limit_us);
    return end_words(site, peer);
}

/* Answers each word of the leader with the same; bytes: first copies so many out of the leader's slots. */
static int serve_words(const hp_probe_site_t *site, int leader, order_t order, size_t bytes)
{
    const hp_counter_t *theirs = word_of(site, leader);
    hp_counter_t *mine = word_of(site, (int)site->state->rank);
    uint64_t value = 0, next;

    atomic_store_explicit(mine, 0, memory_order_release);
    const int code = send_word(site, leader, order);
    while (code == MPI_SUCCESS && (next = await_word(theirs, value, 0)) != over) {
        if (bytes > 0)
            memcpy(site->b, payload_of(site, leader, value), bytes);
        atomic_store_explicit(mine, value = next, memory_order_release);
    }
    return code == MPI_SUCCESS ? send_word(site, leader, order) : code;
}

/* ---- memory ---- */

double hp_probe_copy_rate(const hp_probe_site_t *site, double us, double *mean)
{
    const double start = now_us();
    double end = start, bytes = 0, best = 0;
    int copies = 0;

    do {
        const double before = end;
        memcpy(site->b, site->a, HP_PROBE_BYTES);
        __asm__ volatile("" : : "r"(site->b) : "memory"); /* or the compiler keeps the last copy only */
        end = now_us();
        bytes += HP_PROBE_BYTES;
        if (end > before && HP_PROBE_BYTES / (end - before) > best)
            best = HP_PROBE_BYTES / (end - before);
    } while (++copies < REPETITIONS_LEAST || end - start < us);
    *mean = end > start ? bytes / (end - start) : 0;
    return best;
}

int hp_probe_copies(const hp_probe_site_t *site, const int *peers, int count, double *rate)
{
    int code = MPI_SUCCESS;
    double theirs;

    for (int i = 0; i < count && code == MPI_SUCCESS; i++)
        code = send_word(site, peers[i], COPY);
    if (code != MPI_SUCCESS)
        return code;
    hp_probe_copy_rate(site, copies_us, rate);
    for (int i = 0; i < count && code == MPI_SUCCESS; i++) {
        code = receive(site, &theirs, sizeof theirs, peers[i]);
        if (code == MPI_SUCCESS)
            *rate += theirs;
    }
    return code;
}

static int serve_copy(const hp_probe_site_t *site, int leader)
{
    double rate;
    hp_probe_copy_rate(site, copies_us, &rate);
    return send(site, &rate, sizeof rate, leader);
}

/* ---- orders ---- */

int hp_probe_dismiss(const hp_probe_site_t *site, int peer)
{
    return send_word(site, peer, DISMISS);
}

static int take_order(const hp_probe_site_t *site, int leader, uint64_t *order)
{
    MPI_Request request;
    const int code = start_recv(site, order, sizeof *order, leader, &request);
    return code == MPI_SUCCESS ? hp_probe_wait(&request, HP_PROBE_NAP_US) : code;
}

int hp_probe_serve(const hp_probe_site_t *site, int leader)
{
    uint64_t order = ECHO;

    for (;;) {
        int code = take_order(site, leader, &order);
        if (code != MPI_SUCCESS)
            return code;
        switch ((order_t)order) {
        case ECHO:
            code = send_word(site, leader, ECHO);
            break;
        case BURST:
            code = serve_burst(site, leader);
            break;
        case STREAM:
            code = serve_stream(site, leader);
            break;
        case FLAG:
            code = serve_words(site, leader, FLAG, 0);
            break;
        case HAND_OVER:
            code = serve_words(site, leader, HAND_OVER, HP_PROBE_HAND_OVER_BYTES);
            break;
        case COPY:
            code = serve_copy(site, leader);
            break;
        case DISMISS:
            return MPI_SUCCESS;
        }
        if (code != MPI_SUCCESS)
            return code;
    }
}
