/* intercept_check: every call of the program is intercepted, once, whatever language it came from.
 *
 * Options of the programs that use this, in C and in Fortran:
 *   --loaded        the library must be in the process and have found a backend
 *   --taken LIST    of "bcast,reduce,allreduce,barrier": every call of these on more than one rank must be
 * taken
 *   --untaken       no call may have been taken
 * The functions end in an underscore and take pointers: Fortran calls them, through bind(C) or as external
 * ones.
 *
 * Threads: one. */
#ifndef HP_TESTS_MPI_INTERCEPT_CHECK_H
#define HP_TESTS_MPI_INTERCEPT_CHECK_H

#include "mpi_check.h"

/* Compares the library's figures with the calls that the program made since MPI_Init, on communicators with
 * more than one rank or not at all. blocks: of each collective of blocks, and of each scan. Before MPI_Finalize. */
void hp_intercept_verify_(const int *bcasts, const int *reduces, const int *allreduces, const int *barriers,
                          const int *blocks);

/* Fails the program when condition (an integer) is 0; place is the number that the message shows. */
void hp_intercept_require_(const int *condition, const int *place);

#ifndef MPI_ABI_VERSION /* the standard ABI's header has no Fortran handles */
/* Two calls from C on a Fortran communicator: Bcast of integers from root, Allreduce of their sum. */
void hp_intercept_from_c_(const MPI_Fint *comm, int *values, const int *count, const int *root, int *sums);
#endif

#endif
