/* rules: what hanpmpi_info does with rules: the built-in ones as a file, and a file that somebody wrote.
 *
 * Threads: one. Ownership: nothing is kept. */
#ifndef HANPMPI_INFO_RULES_H
#define HANPMPI_INFO_RULES_H

/* Writes the built-in rules in the format of HANPMPI_RULES. Returns the exit status. */
int info_write_rules(void);

/* Says what each rule of the file means, and all that is wrong with it. Returns the exit status: 1 where
 * something is. */
int info_check_rules(const char *file);

#endif
