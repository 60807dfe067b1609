/* status: the one type by which every function of the library says how it went.
 *
 * Purpose: internal result codes. MPI error codes exist only in src/pmpi_wrappers, which converts.
 * Threads: pure; callable from anywhere. Ownership: nothing is allocated. */
#ifndef HP_BASE_STATUS_H
#define HP_BASE_STATUS_H

#define HP_STATUS_TABLE(X)                                                                                   \
    X(HP_OK, "success")                                                                                      \
    X(HP_ERR_NO_MEM, "out of memory")                                                                        \
    X(HP_ERR_ARG, "invalid argument")                                                                        \
    X(HP_ERR_TRANSPORT, "the host MPI reported an error")                                                    \
    X(HP_ERR_TOPOLOGY, "hwloc could not read the topology")                                                  \
    X(HP_ERR_NOT_FOUND, "not found")                                                                         \
    X(HP_ERR_PEER, "the memory of another process on this node could not be read")                           \
    X(HP_ERR_EARLIER, "an earlier collective on this communicator failed")                                   \
    X(HP_ERR_TRUNCATED, "another rank of the node sent more than this one has room for")

typedef enum {
#define X(code, text) code,
    HP_STATUS_TABLE(X)
#undef X
} hp_status_t;

/* The English text of a status, without a trailing full stop. Never NULL. */
const char *hp_status_text(hp_status_t status);

#endif
