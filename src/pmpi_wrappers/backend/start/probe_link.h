/* probe_link: what two ranks measure of the way between them: one leads, the other serves it.
 *
 * The one that leads sends orders; the other carries each out and waits for the next, spinning first and
 * sleeping soon, until it is dismissed. The leader alone looks at the clock and decides when there is
 * enough, so the two always agree on what comes next. All functions return an MPI error code. Threads: one
 * a communicator. Ownership: nothing kept. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_START_PROBE_LINK_H
#define HP_PMPI_WRAPPERS_BACKEND_START_PROBE_LINK_H

#include "hier/comm/comm.h"
#include "pmpi_wrappers/backend/glue/route.h"

/* Each rank that takes part has two buffers of so many bytes: more than a core's caches hold together, as the
 * messages are for which rates matter. */
enum { HP_PROBE_BYTES = 1 << 20 };

typedef struct {
    const hp_route_t *route;
    hp_comm_t *state;
    double *a, *b; /* HP_PROBE_BYTES each */
} hp_probe_site_t;

/* ---- the rank that leads; peer: a rank that serves ---- */

/* Half a round trip of 8 bytes, the median. */
int hp_probe_latency(const hp_probe_site_t *site, int peer, double *us);
/* What sending a message of 4 KiB takes of the processor: the time in MPI_Send while nothing has to be waited for.
 * It is not the gap between such messages when they come together: then an MPI reads many at a time, which the
 * segments of a pipeline do not let it do. */
int hp_probe_cpu(const hp_probe_site_t *site, int peer, double *us);
/* A stream from the peer, for limit_us at most; what comes out is of its second half: links that are
 * shaped let their first bytes through at once. copies: meanwhile this rank copies as much as it can. */
typedef struct {
    double rate;         /* 0: not known */
    double us, bytes;    /* of the second half */
    double copied_bytes; /* meanwhile, by this rank */
} hp_probe_stream_t;
int hp_probe_stream(const hp_probe_site_t *site, int peer, bool copies, double limit_us,
                    hp_probe_stream_t *out);
/* The peer sees what this rank has stored in the node's memory: half a round trip. Both share it. */
int hp_probe_flag(const hp_probe_site_t *site, int peer, double *us);
/* This rank writes so many bytes into the node's memory, the peer copies them out and says so; the best of many. streams: past
 * the caches. Both share it, and its slots have that room and a line. */
enum { HP_PROBE_HAND_OVER_BYTES = 16384 };
int hp_probe_hand_over(const hp_probe_site_t *site, int peer, bool streams, double *us);
/* This rank and the peers copy at the same time; *rate: of all together. */
int hp_probe_copies(const hp_probe_site_t *site, const int *peers, int count, double *rate);
/* The peer is no longer needed. */
int hp_probe_dismiss(const hp_probe_site_t *site, int peer);

/* This rank's own memcpy for so many us: the best of the copies, and their mean. */
double hp_probe_copy_rate(const hp_probe_site_t *site, double us, double *mean);

/* ---- the others ---- */

/* Serves the rank that leads until it is dismissed. */
int hp_probe_serve(const hp_probe_site_t *site, int leader);

/* Waits for a request, leaving the core to others soon, for so many microseconds at a time: usually so many. */
enum { HP_PROBE_NAP_US = 100 };
int hp_probe_wait(MPI_Request *request, unsigned nap_us);

#endif
