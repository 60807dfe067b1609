/* collectives: the table of what can be measured: one row a collective, with how it is called, what its
 * buffers hold before, what they must hold after, and what bounds its time.
 *
 * Threads: one. Ownership: calls borrow the buffers and the values. */
#ifndef HP_BENCH_COLLECTIVES_H
#define HP_BENCH_COLLECTIVES_H

#include "blocks.h"
#include "values.h"

/* One call on one rank. */
typedef struct {
    void *send, *recv; /* send: not of bcast */
    size_t count;      /* elements; of a block */
    const bench_values_t *values;
    const bench_op_t *op;
    size_t shift; /* where in the values the call starts (bench_shift) */
    int root, rank;
    MPI_Comm comm;
    bool is_direct; /* to PMPI_X: what a call costs that the library passes on is not the host MPI's */
    const bench_blocks_t *blocks; /* NULL: one message */
    const bench_layout_t *layout; /* of blocks */
    int ranks;
} bench_call_t;

typedef struct {
    const char *name;
    const char *hint;   /* the info key that names the library's algorithm; NULL: none yet */
    const char *forced; /* an algorithm that takes every call: what --force asks for */
    bool has_root, reduces;
    bool no_data; /* one row, of 0 bytes */
    int (*run)(const bench_call_t *call);
    int (*start)(const bench_call_t *call, MPI_Request *request); /* the non-blocking one */
    int (*make)(const bench_call_t *call, MPI_Request *request);  /* the persistent one, if there are any */
    void (*fill)(const bench_call_t *call);
    /* NULL, or what is wrong; *element: where. */
    const char *(*validate)(const bench_call_t *call, size_t *element);
    /* Without blocks (bench_blocks_traffic): */
    double (*link_bytes)(double bytes, int nodes);   /* through the busiest link, in one direction */
    double (*memory_bytes)(double bytes, int ranks); /* read and written on a node of so many ranks */
    double (*bus_factor)(int ranks);                 /* of NCCL-tests' bus bandwidth */
    bench_blocks_t blocks;
    bool has_blocks; /* its size is a block's; measured when asked for only */
} bench_collective_t;

/* NULL behind the last one. */
const bench_collective_t *bench_collective(int index);
const bench_collective_t *bench_collective_find(const char *name);
/* "bcast, reduce, ...". Static text. */
const char *bench_collective_names(void);

/* Has the MPI of this binary persistent collectives? They came with MPI 4. */
bool bench_has_persistent(void);
/* The largest count that the MPI of this binary takes. */
size_t bench_count_max(void);

#endif
