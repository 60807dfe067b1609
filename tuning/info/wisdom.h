/* wisdom: what hanpmpi_info says of what earlier runs have found, and how it makes them forget.
 *
 * Threads: one. Ownership: nothing is kept. */
#ifndef HANPMPI_INFO_WISDOM_H
#define HANPMPI_INFO_WISDOM_H

/* Each returns the exit status. */
int info_print_wisdom(void);
int info_json_wisdom(void);
/* Removes the files of this machine, for all MPIs. 1: one could not be removed. */
int info_forget_wisdom(void);

#endif
