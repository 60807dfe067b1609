/* rules: what hanpmpi_info does with rules: the built-in ones as a file, and a file that somebody wrote.
 *
 * Threads: one. Ownership: nothing is kept. */
#ifndef HANPMPI_INFO_RULES_H
#define HANPMPI_INFO_RULES_H

#include "base/knobs.h"

/* Writes the built-in rules in the format of HANPMPI_RULES. Returns the exit status. */
int info_write_rules(void);

/* Rules of HANPMPI_RULES go before the built-in ones until hp_candidates_set_rules(NULL, 0). */
void info_use_rules(const hp_knobs_t *knobs);

/* Prints what each rule of the file means, and all that is wrong with it. Returns the exit status: 1 where
 * something is. */
int info_check_rules(const char *file);

#endif
