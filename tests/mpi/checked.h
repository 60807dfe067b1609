/* checked: one collective call, its result compared with what it must be.
 *
 * The expected values are computed on each rank, without MPI; guards and holes are searched for stray writes;
 * a send buffer must come back unchanged. Values are such that every order of evaluation is exact. A call
 * blocks, or is one of MPI_IX or MPI_X_init that is completed at once.
 *
 * Threads: any. The functions are collective over the case's communicator; all ranks pass the same case. */
#ifndef HP_TESTS_MPI_CHECKED_H
#define HP_TESTS_MPI_CHECKED_H

#include "typemap.h"

/* MPI_X, MPI_X_c, or both in one collective: odd ranks call MPI_X_c. Below MPI 4 all are MPI_X. */
typedef enum { HP_CALL_PLAIN, HP_CALL_COUNT, HP_CALL_MIXED } hp_call_t;

/* MPI_X; MPI_IX and MPI_Wait; MPI_IX and MPI_Test until it is complete; MPI_X_init, MPI_Start, MPI_Wait,
 * MPI_Request_free. HP_WAY_DEFAULT is what the program was told. */
typedef enum { HP_WAY_DEFAULT, HP_WAY_BLOCKING, HP_WAY_WAIT, HP_WAY_TEST, HP_WAY_PERSISTENT } hp_way_t;

/* The most elements with which hp_check_all takes every root: with more, what follows from the root is the same for
 * each segment, and the segments are what takes the time. */
enum { HP_COUNT_OF_ALL_ROOTS = 600 };

typedef struct {
    MPI_Comm comm;
    const hp_typemap_t *map;
    int64_t count;
    int root;
    hp_operation_t operation; /* Reduce, Allreduce */
    bool in_place;            /* Reduce: at the root */
    hp_call_t call;
    hp_way_t way;
    uint64_t salt; /* which values */
} hp_case_t;

/* Takes "--way WORD" off the front of the arguments: blocking (the default), wait, test, persistent. Returns
 * false when this MPI has no such calls. */
bool hp_check_way(int *argc, char **argv);

/* MPI_Bcast in the default way, unchecked. */
void hp_way_bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm);

void hp_check_bcast(const hp_case_t *test);
void hp_check_reduce(const hp_case_t *test);
void hp_check_allreduce(const hp_case_t *test);

/* All three, without what the host is known to get wrong (host_bugs.h). When root is negative: with every root; with
 * more than HP_COUNT_OF_ALL_ROOTS elements, with one that the salt draws.
 * Before calls that do not block comes a barrier that does: in it the library may set the communicator up. */
void hp_check_all(const hp_case_t *test);

/* Compares every basic of buffer with the value hp_hash(salt, comm_rank, i); what is for the message. */
void hp_check_values(const hp_buffer_t *buffer, hp_operation_t operation, uint64_t salt, int comm_rank,
                     const char *what);
/* The same with the operation over the values of ranks 0 .. comm_size-1. */
void hp_check_reduced(const hp_buffer_t *buffer, hp_operation_t operation, uint64_t salt, int comm_size,
                      const char *what);
/* No byte outside of the basics has changed. */
void hp_check_guards(const hp_buffer_t *buffer, const char *what);

#endif
