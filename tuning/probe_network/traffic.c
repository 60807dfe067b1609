#include "traffic.h"

#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "rounds.h"

enum { TAG_DATA = 1, TAG_END, CHUNK_LEAST = 4096, CHUNK_FIRST = 16384, CHUNK_MOST = 1 << 20 };

/* What passes before a window's first bytes count, of the window: shapers let a burst through, and TCP finds its
 * rate. */
#define SETTLING 0.35
/* Chunks that a flow alone sends in a window, so that one that has an eighth of its link is counted well enough. */
#define CHUNKS_PER_WINDOW 64

/* A round as it goes on. requests: first those of what is sent, then those of what is received. */
typedef struct {
    traffic_t *traffic;
    MPI_Request requests[2 * TRAFFIC_IN_FLIGHT];
    int to, sources; /* sources: that have not ended yet */
    int sending;     /* requests of what is sent that are not done */
    bool sent_end;
    double start, end;
} round_t;

void traffic_init(traffic_t *traffic, MPI_Comm comm, double window_us)
{
    *traffic = (traffic_t){.comm = comm, .window_us = window_us, .chunk_bytes = CHUNK_FIRST};
    MPI_Comm_rank(comm, &traffic->rank);
    MPI_Comm_size(comm, &traffic->hosts);
    traffic->sent = probe_memory(NULL, TRAFFIC_IN_FLIGHT, CHUNK_MOST);
    traffic->received = probe_memory(NULL, TRAFFIC_IN_FLIGHT, CHUNK_MOST);
    traffic->arrived = probe_memory(NULL, (uint64_t)traffic->hosts, sizeof *traffic->arrived);
    memset(traffic->sent, 1, (size_t)TRAFFIC_IN_FLIGHT * CHUNK_MOST);
    memset(traffic->received, 1, (size_t)TRAFFIC_IN_FLIGHT * CHUNK_MOST);
}

void traffic_fini(traffic_t *traffic)
{
    free(traffic->sent);
    free(traffic->received);
    free(traffic->arrived);
}

static void send_next(round_t *round, int i)
{
    const traffic_t *traffic = round->traffic;

    MPI_Isend(traffic->sent + (size_t)i * CHUNK_MOST, traffic->chunk_bytes, MPI_BYTE, round->to, TAG_DATA,
              traffic->comm, &round->requests[i]);
    round->sending++;
}

static void receive_next(round_t *round, int i)
{
    const traffic_t *traffic = round->traffic;

    MPI_Irecv(traffic->received + (size_t)i * CHUNK_MOST, traffic->chunk_bytes, MPI_BYTE, MPI_ANY_SOURCE,
              MPI_ANY_TAG, traffic->comm, &round->requests[TRAFFIC_IN_FLIGHT + i]);
}

static void take_received(round_t *round, int i, MPI_Status *status, double now)
{
    const double counts_from = round->start + SETTLING * (round->end - round->start);
    int bytes = 0;

    MPI_Get_count(status, MPI_BYTE, &bytes);
    if (status->MPI_TAG == TAG_END)
        round->sources--;
    else if (now >= counts_from && now < round->end)
        round->traffic->arrived[status->MPI_SOURCE] += bytes;
    receive_next(round, i);
}

/* One call of the MPI for all requests: each looks at the network. */
static void move_on(round_t *round)
{
    MPI_Status statuses[2 * TRAFFIC_IN_FLIGHT];
    int done[2 * TRAFFIC_IN_FLIGHT], count = 0;

    MPI_Testsome(2 * TRAFFIC_IN_FLIGHT, round->requests, &count, done, statuses);
    const double now = MPI_Wtime();
    for (int k = 0; k < count; k++) {
        if (done[k] >= TRAFFIC_IN_FLIGHT) {
            take_received(round, done[k] - TRAFFIC_IN_FLIGHT, &statuses[k], now);
            continue;
        }
        round->sending--;
        if (now < round->end)
            send_next(round, done[k]);
    }
    if (!round->sent_end && round->sending == 0) {
        MPI_Send(round->traffic->sent, 0, MPI_BYTE, round->to, TAG_END, round->traffic->comm);
        round->sent_end = true;
    }
    if (count == 0)
        sched_yield();
}

static void take_back(round_t *round)
{
    for (int i = 0; i < TRAFFIC_IN_FLIGHT; i++) {
        MPI_Cancel(&round->requests[TRAFFIC_IN_FLIGHT + i]);
        MPI_Wait(&round->requests[TRAFFIC_IN_FLIGHT + i], MPI_STATUS_IGNORE);
    }
}

static void exchange(traffic_t *traffic, const int32_t *to)
{
    round_t round = {.traffic = traffic, .to = to[traffic->rank], .sent_end = to[traffic->rank] < 0};

    for (int h = 0; h < traffic->hosts; h++) {
        traffic->arrived[h] = 0;
        round.sources += to[h] == traffic->rank;
    }
    for (int i = 0; i < TRAFFIC_IN_FLIGHT; i++) {
        round.requests[i] = MPI_REQUEST_NULL;
        receive_next(&round, i);
    }
    MPI_Barrier(traffic->comm);
    round.start = MPI_Wtime();
    round.end = round.start + traffic->window_us * 1e-6;
    for (int i = 0; i < TRAFFIC_IN_FLIGHT && round.to >= 0; i++)
        send_next(&round, i);
    while (!round.sent_end || round.sources > 0)
        move_on(&round);
    take_back(&round);
    MPI_Barrier(traffic->comm); /* all have taken back what they posted: nothing of the next round meets it */
}

void traffic_run(traffic_t *traffic, const int32_t *to, double *rates)
{
    double *mine = probe_memory(NULL, (uint64_t)traffic->hosts, sizeof *mine);

    exchange(traffic, to);
    /* A flow is known where it arrives. */
    for (int h = 0; h < traffic->hosts; h++)
        mine[h] = to[h] == traffic->rank ? traffic->arrived[h] / (traffic->window_us * (1 - SETTLING)) : 0;
    MPI_Reduce(mine, rates, traffic->hosts, MPI_DOUBLE, MPI_SUM, 0, traffic->comm);
    free(mine);
}

static int compare_rates(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

void traffic_choose_chunk(traffic_t *traffic)
{
    int32_t *to = probe_memory(NULL, (uint64_t)traffic->hosts, sizeof *to);
    double *rates = probe_memory(NULL, (uint64_t)traffic->hosts, sizeof *rates), usual = 0;

    for (int h = 0; h < traffic->hosts; h++)
        to[h] = (h + 1) % traffic->hosts;
    for (unsigned round = 0; round < 3; round++) { /* the first one connects */
        traffic_run(traffic, to, rates);
        if (traffic->rank != 0)
            continue;
        qsort(rates, (size_t)traffic->hosts, sizeof *rates, compare_rates);
        const double median = rates[traffic->hosts / 2];
        usual = round < 2 || median < usual ? median : usual;
    }
    MPI_Bcast(&usual, 1, MPI_DOUBLE, 0, traffic->comm);
    const double wanted = usual * traffic->window_us / CHUNKS_PER_WINDOW;
    while (traffic->chunk_bytes < CHUNK_MOST && traffic->chunk_bytes < wanted / 2)
        traffic->chunk_bytes *= 2;
    while (traffic->chunk_bytes > CHUNK_LEAST && traffic->chunk_bytes > wanted)
        traffic->chunk_bytes /= 2;
    free(to);
    free(rates);
}
