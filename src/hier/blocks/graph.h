/* graph: operations of a block program while it is made (program.h), and what each of them waits for: an operation may
 * not read a block before it was last written, nor write it before it was last read and written.
 *
 * Threads: pure. Ownership: init is all zeroes; fini gives the memory back. */
#ifndef HP_HIER_BLOCKS_GRAPH_H
#define HP_HIER_BLOCKS_GRAPH_H

#include <stddef.h>
#include <stdint.h>
#include "base/status.h"

/* Where data is: in a buffer of the call, or in the collective's own memory. */
typedef enum { HP_IN_SEND, HP_IN_RECV, HP_IN_WORK } hp_memory_t;
typedef struct {
    hp_memory_t memory;
    size_t offset; /* bytes */
} hp_block_spot_t;

typedef enum {
    HP_BLOCK_SEND,       /* in, to peer */
    HP_BLOCK_RECV,       /* out, from peer */
    HP_BLOCK_COPY,       /* out = in */
    HP_BLOCK_REDUCE,     /* out = in (op) out */
    HP_BLOCK_REDUCE_ONTO /* out = out (op) in */
} hp_block_do_t;

typedef struct {
    uint8_t what; /* hp_block_do_t */
    uint8_t stream;
    uint32_t peer; /* rank */
    int32_t lane;  /* the program's user fills that in */
    hp_block_spot_t in, out;
    size_t count;                      /* elements */
    uint32_t first_after, after_count; /* in program->after */
} hp_block_operation_t;

enum { HP_GRAPH_NOTHING = -1 };

/* What has been done with a block. */
typedef struct {
    int32_t writer;        /* the last operation that writes it, */
    uint32_t first_reader; /* and those that have read it since: index + 1 into readers */
} hp_block_state_t;

typedef struct {
    uint32_t operation;
    uint32_t next; /* index + 1 */
} hp_block_reader_t;

/* A list that grows. */
typedef struct {
    void *entries;
    uint32_t count, room;
} hp_growing_t;

typedef struct {
    hp_growing_t operations, after, readers;
    uint32_t *
        awaited_by; /* [operation] the last one that waits for it, counted from 1; as many as there is room for */
    uint32_t awaited_room;
    hp_status_t status;
} hp_block_graph_t;

/* A new entry at the end of a list, zeroed; where there is no memory one that may be written to all the same, and the graph's
 * status says so. */
void *hp_block_graph_append(hp_block_graph_t *graph, hp_growing_t *list, size_t bytes);

/* A new operation. Valid until the next one. */
hp_block_operation_t *hp_block_graph_add(hp_block_graph_t *graph, hp_block_do_t what, size_t count);
/* The newest operation waits for that one (HP_GRAPH_NOTHING: for none), */
void hp_block_graph_wait(hp_block_graph_t *graph, int32_t before);
/* reads the block, */
void hp_block_graph_read(hp_block_graph_t *graph, hp_block_state_t *state);
/* writes it. */
void hp_block_graph_write(hp_block_graph_t *graph, hp_block_state_t *state);

void hp_block_graph_fini(hp_block_graph_t *graph);

#endif
