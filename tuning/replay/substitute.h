/* substitute: the datatype and operation that stand for those of a recording.
 *
 * A datatype of MPI is itself, where the benchmark has it, or one of the same size and class (MPI_DOUBLE for
 * MPI_DOUBLE_PRECISION). A derived type becomes as many bytes in elements of the longest type that divides it: what
 * the MPI packs is then not packed. An operation that cannot be had (the program's own) becomes one that is defined on
 * the type.
 *
 * Threads: one. Ownership: static tables. */
#ifndef HP_REPLAY_SUBSTITUTE_H
#define HP_REPLAY_SUBSTITUTE_H

#include "bench/values.h"

typedef struct {
    const bench_type_t *type;
    const bench_op_t *op;          /* NULL: nothing is reduced */
    size_t factor;                 /* elements of `type` in one of the recording's */
    bool is_like_type, is_like_op; /* they stand for another one, of which nothing but the size is known */
} replay_substitute_t;

/* op "": nothing is reduced. */
replay_substitute_t replay_substitute(const char *type, size_t type_bytes, const char *op);

#endif
