/* traffic: one host's part of a round: it sends to one other, if to any, receives from whoever sends to it, and
 * counts what arrives.
 *
 * Threads: one. Ownership: init and fini. */
#ifndef HANPMPI_PROBE_NETWORK_TRAFFIC_H
#define HANPMPI_PROBE_NETWORK_TRAFFIC_H

#include <mpi.h>
#include <stdint.h>

enum { TRAFFIC_IN_FLIGHT = 8 };

typedef struct {
    MPI_Comm comm; /* a rank a host */
    int rank, hosts;
    double window_us; /* that a round sends */
    int chunk_bytes;
    char *sent, *received; /* a chunk for each message in flight */
    double *arrived;       /* of each host: bytes that came from it in this round */
} traffic_t;

void traffic_init(traffic_t *traffic, MPI_Comm comm, double window_us);
void traffic_fini(traffic_t *traffic);

/* Chunks small enough for many of them in a window, and large enough for the network to be the limit. Collective. */
void traffic_choose_chunk(traffic_t *traffic);
/* to: of each host, to whom it sends, or -1. rates: MB/s of each host's flow, on rank 0. Collective. */
void traffic_run(traffic_t *traffic, const int32_t *to, double *rates);

#endif
