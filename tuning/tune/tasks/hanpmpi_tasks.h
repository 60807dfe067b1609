/* hanpmpi_tasks: the tasks of a collective in lock-step, the network that is known, and algorithms that are made while a
 * job runs, for hanpmpi_tune.
 *
 * The library that programs run with has none of this. A program that wants it exports hanpmpi_backend_kind
 * (find_tasks.c does, linked with -rdynamic); in MPI_Init the front then loads hanpmpi/tasks-<abi>.so instead of
 * libhanpmpi-<abi>.so: the same backend, with these functions in it.
 *
 * Threads: one a communicator, as a collective. Ownership: the caller's buffers are borrowed until it
 * returns. */
#ifndef HANPMPI_TUNE_TASKS_HANPMPI_TASKS_H
#define HANPMPI_TUNE_TASKS_HANPMPI_TASKS_H

#include <stddef.h>
#include <stdint.h>

/* Runs one collective of the algorithm "han" in lock-step and times each iteration: "bcast", "reduce" or
 * "allreduce" of count doubles (MPI_DOUBLE, MPI_SUM, root 0), with the settings that an MPI call of that size
 * would have: hints, variables, rules. Collective over *comm, an MPI_Comm; sets the communicator up if need be.
 *
 * The message is cut into u segments, and each segment's tasks are sr (intra-node reduce), ir (inter-node
 * reduce), ib (inter-node bcast) and sb (intra-node bcast). Iteration k has
 *      bcast        u + 1 iterations    ib(k) sb(k-1)
 *      reduce       u + 1               sr(k) ir(k-1)
 *      allreduce    u + 3               sr(k) ir(k-1) ib(k-2) sb(k-3)
 * as far as there are such segments. Its tasks are in flight together; this rank begins the next iteration as
 * soon as its own tasks are complete, without a barrier. Where nodes are joined by an exchange (ring,
 * recursive_doubling, rabenseifner, native), ir does all of it and ib nothing. iteration_us[k]: microseconds
 * that this rank spent in iteration k.
 *
 * send: this rank's contribution; not looked at in a bcast. recv: another buffer, of count doubles, on all
 * ranks: the result where the collective gives one (on the other ranks of a reduce it is overwritten); in a
 * bcast the buffer of MPI_Bcast.
 *
 * Returns 0 and sets *iterations, or -1: no such collective, count is 0, the library is not active or leaves
 * such calls on this communicator to the host MPI, another algorithm would run, more than iterations_max
 * iterations, operands are kept in order (HANPMPI_REPRODUCIBLE); then nothing was done, on no rank. Also -1
 * after an error of the host MPI, which the communicator's error handler was given. */
int hanpmpi_run_tasks(const void *comm, const char *collective, const void *send, void *recv, uint64_t count,
                      unsigned iterations_max, double *iteration_us, unsigned *iterations);

typedef int (*hanpmpi_run_tasks_fn_t)(const void *comm, const char *collective, const void *send, void *recv,
                                      uint64_t count, unsigned iterations_max, double *iteration_us,
                                      unsigned *iterations);

/* In the program (find_tasks.c): hanpmpi_run_tasks of the backend that is loaded. NULL outside of MPI_Init and
 * MPI_Finalize, and where the library is not active. */
hanpmpi_run_tasks_fn_t hanpmpi_find_run_tasks(void);

/* The fingerprint of the network that HANPMPI_NETWORK has made known to the job, as rules ask for it. Returns 0, or -1:
 * none is known; the same on all ranks. */
int hanpmpi_network_fingerprint(char *text, size_t text_bytes);

typedef int (*hanpmpi_network_fingerprint_fn_t)(char *text, size_t text_bytes);

/* The same of the backend that is loaded; as above. */
hanpmpi_network_fingerprint_fn_t hanpmpi_find_network_fingerprint(void);

/* Makes an algorithm for a collective on *comm, an MPI_Comm, of words such as "bruck radix=4" or "contention_free +
 * depth_first_ring" (routine.h): among all ranks where the collective moves blocks, among the nodes' leaders for "bcast" and
 * "allreduce". file NULL: it becomes the word `name` of HANPMPI_BETWEEN_NODES, of hints and of rules, in this process, until
 * that ends; all ranks of *comm do the same, in the same order. Else it is written into that file, in the form of
 * HANPMPI_SCHEDULES, by this rank alone (which needs the communicator to be set up).
 *
 * Returns 0, or -1: the library is not active on *comm, there is no such algorithm, or it does not serve so many positions
 * or whole segments, no memory, no room for another word, or the file cannot be written (errno). The first call on a
 * communicator is collective: it sets it up. */
int hanpmpi_make_routine(const void *comm, const char *collective, const char *words, const char *name,
                         const char *file);

typedef int (*hanpmpi_make_routine_fn_t)(const void *comm, const char *collective, const char *words,
                                         const char *name, const char *file);

/* The same of the backend that is loaded; as above. */
hanpmpi_make_routine_fn_t hanpmpi_find_make_routine(void);

#endif
