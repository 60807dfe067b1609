/* algorithm: the table of all algorithms, and what others may know of them.
 *
 * An algorithm is a function that lays a collective out on a request: it makes its plan and its lanes and starts
 * the pipeline. It does not wait, so that the same function serves blocking and non-blocking calls. The table
 * algorithms.def gives the dispatch, the words of HANPMPI_BCAST and its siblings, the hints, the listing of
 * hanpmpi_info and the tests. CONTRIBUTING.md says how to add one.
 * Threads: as comm.h. Ownership: plans live in the request. */
#ifndef HP_HIER_COLLECTIVES_ALGORITHM_H
#define HP_HIER_COLLECTIVES_ALGORITHM_H

#include "hier/call/setting.h"
#include "hier/comm/start.h"

/* Starts call. HP_OK, or an error with nothing in flight. start is borrowed during the call, the others likewise. */
typedef hp_status_t (*hp_algorithm_start_fn_t)(const hp_start_t *start, const hp_call_t *call,
                                               const hp_setting_t *setting);

/* Would the call use what is used in the order of the collectives: the memory of the node, communicators of the host
 * MPI? Then nothing else of the communicator runs meanwhile. The same answer on all ranks. */
typedef bool (*hp_algorithm_alone_fn_t)(hp_comm_t *comm, const hp_call_t *call, const hp_setting_t *setting);

/* What others ask about an algorithm, so that nobody has to know its name. */
enum {
    HP_TRAIT_PIPELINED =
        1 << 0, /* the hierarchical pipeline: modules, segments and leaders are the setting's */
    HP_TRAIT_REPRODUCES = 1 << 1, /* keeps the operands in order where HANPMPI_REPRODUCIBLE asks for it */
    HP_TRAIT_FLAGS =
        1 << 2, /* short messages of one node go through flags (flags.h), others as the pipeline */
    HP_TRAIT_ROWS = 1 << 3,  /* blocks whose sizes each rank knows for itself may come in rows (exchange.h) */
    HP_TRAIT_NODES = 1 << 4, /* blocks go through the nodes (exchange.h) */
    HP_TRAIT_SCHEDULE = 1 << 5, /* blocks go as a schedule says (exchange.h) */
    HP_TRAIT_CELLS =
        1 << 6, /* short blocks of one node go through cells (block_flags.h), others as a schedule says */
    HP_TRAIT_COPIES =
        1 << 7, /* blocks of one node are read from the peers' memory (block_copies.h), likewise */
};

typedef struct {
    hp_collective_t collective;
    const char *name;
    hp_algorithm_start_fn_t start;
    hp_algorithm_alone_fn_t runs_alone;
    uint32_t traits;
    uint64_t nodes_max; /* on more nodes it is another algorithm under its name: rules may not ask for that */
    const char *description;
} hp_algorithm_t;

/* The i-th algorithm of the collective, NULL past the last. The words of the collective's knob are "auto",
 * "native", then these in this order: word i + HP_FIRST_ALGORITHM_WORD. */
const hp_algorithm_t *hp_algorithm(hp_collective_t collective, unsigned i);
const hp_algorithm_t *hp_algorithm_find(hp_collective_t collective, const char *name);
/* The first one with the trait, NULL: none has it. */
const hp_algorithm_t *hp_algorithm_with(hp_collective_t collective, uint32_t trait);
/* The pipelined one around the late ranks that the communicator has (pipeline.h); not in the table, nor for a barrier. */
const hp_algorithm_t *hp_algorithm_around(hp_collective_t collective);
enum { HP_WORD_AUTO, HP_WORD_NATIVE, HP_FIRST_ALGORITHM_WORD };

/* Every algorithm of every collective by a number, and the host MPI: what plain data can carry. */
typedef enum {
    HP_ALGORITHM_NATIVE,
#define HP_ALGORITHM(id, collective, name, ...) HP_ALGORITHM_##id##_##name,
#include "hier/collectives/algorithms.def"
#undef HP_ALGORITHM
    HP_ALGORITHM_COUNT
} hp_algorithm_id_t;

/* NULL for HP_ALGORITHM_NATIVE. */
const hp_algorithm_t *hp_algorithm_of(hp_algorithm_id_t id);
/* HP_ALGORITHM_NATIVE for NULL. */
hp_algorithm_id_t hp_algorithm_id(const hp_algorithm_t *algorithm);

#endif
