/* nonblocking_overlap: how much of a non-blocking collective's time was hidden behind a computation, by the two formulas
 * of the field. (hanpmpi_overlap is about something else: tasks of one collective that hide each other.)
 *
 * pure: the collective, from its start to the end of an MPI_Wait that follows at once. compute: the computation alone.
 * both: start, computation, wait. Any unit, all the same one.
 *
 * Threads: any. Ownership: nothing is kept. */
#ifndef HP_BENCH_NONBLOCKING_OVERLAP_H
#define HP_BENCH_NONBLOCKING_OVERLAP_H

/* Intel MPI Benchmarks (IMB-NBC): 100 (pure + compute - both) / min(pure, compute), from 0 to 100. What was saved,
 * of what could be saved at most. */
double bench_overlap_imb(double pure, double compute, double both);

/* OSU Micro-Benchmarks (osu_ibcast and its siblings): 100 max(0, 1 - (both - compute) / pure), from 0 to 100. What the
 * computation did not see, of the collective. The same as IMB's where compute >= pure; a computation that is shorter
 * cannot reach 100. */
double bench_overlap_osu(double pure, double compute, double both);

#endif
