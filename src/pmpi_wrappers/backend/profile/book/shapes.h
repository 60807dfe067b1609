/* shapes: what a recorded call's arguments are, from the rows of recorded.def.
 *
 * Threads: any, after hp_call_shapes_open inside MPI_Init. Ownership: static. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_BOOK_SHAPES_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_BOOK_SHAPES_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    HP_KIND_NONE,
    HP_KIND_COLLECTIVE,
    HP_KIND_SEND,
    HP_KIND_RECEIVE,
    HP_KIND_WAIT,
    HP_KIND_TEST,
    HP_KIND_SYNC,
    HP_KIND_IO
} hp_kind_t;

typedef enum {
    HP_DO_CALL,
    HP_DO_POST,
    HP_DO_INIT,
    HP_DO_START,
    HP_DO_WAIT,
    HP_DO_WAIT_ALL,
    HP_DO_WAIT_ANY,
    HP_DO_WAIT_SOME,
    HP_DO_TEST,
    HP_DO_TEST_ALL,
    HP_DO_TEST_ANY,
    HP_DO_FREE_REQUEST,
    HP_DO_FREE_COMM,
    HP_DO_FREE_TYPE,
    HP_DO_NAME_COMM,
    HP_DO_NAME_TYPE,
    HP_DO_SWITCH,
    HP_DO_ABORT
} hp_do_t;

/* Who waits for whom in a collective. What the last two are like nobody can say from the times of two ranks: they
 * are not sampled (arrival.h). */
typedef enum { HP_ALL_WAIT, HP_ROOT_GIVES, HP_ROOT_TAKES, HP_LOWER_GIVE, HP_NEIGHBORS } hp_waiting_t;

typedef enum {
#define HP_RECORDED(kind, action, name, arguments, shape) HP_ROW_##name,
#include "pmpi_wrappers/recorded.def"
    HP_ROW_COUNT
} hp_row_t;

/* Numbers of arguments; -1: the call has none. */
typedef struct {
    const char *name; /* "MPI_Bcast" */
    uint8_t kind, action, waiting;
    bool is_large;     /* numbers are of the types of name_c */
    bool is_ours;      /* the library may run it itself */
    bool makes_window; /* whose memory other processes may reach at any time */
    bool is_simple; /* one number of one type is all there is to know of its size: these two; -1: no size */
    int8_t only_count, only_type;
    uint16_t given; /* the arguments that say what the call moves, a bit each; 0: they do not */
    int8_t send, send_count, send_type, send_types; /* the buffer that is contributed */
    int8_t recv, recv_count, recv_type, recv_types;
    char send_letter, recv_letter; /* of the counts; '\0': none */
    int8_t op, root, comm, new_comm, destination, source, status, request, flag, requests;
} __attribute__((aligned(64))) hp_call_shape_t;
_Static_assert(sizeof(hp_call_shape_t) == 64, "in one line of the cache");

extern hp_call_shape_t hp_call_shapes[HP_ROW_COUNT];

void hp_call_shapes_open(void);
const char *hp_kind_word(hp_kind_t kind);

#endif
