/* journal: every measurement as a line of JSON in a file, the moment it was made, so that a run that is
 * ended can go on. The first line says for what the figures hold. Threads: one, rank 0's. Ownership:
 * tune_journal_close closes. */
#ifndef HP_TUNE_JOURNAL_H
#define HP_TUNE_JOURNAL_H

#include <stdio.h>

#include "book.h"

typedef struct {
    FILE *file;
    const char *name;
    const tune_list_t *lists;
} tune_journal_t;

typedef enum { TUNE_JOURNAL_OPEN, TUNE_JOURNAL_OTHER, TUNE_JOURNAL_FAILED } tune_journal_result_t;

/* Reads what is there into the book, if its first line says `holds_for`, and opens it for more. restart:
 * what is there is thrown away. A last line that was cut off is left out. _OTHER: it is of another machine
 * or other options; _FAILED: it cannot be written. Both have said so. */
tune_journal_result_t tune_journal_open(tune_journal_t *journal, const char *name, const char *holds_for,
                                        bool restart, const tune_list_t *lists, tune_book_t *book);
void tune_journal_add(tune_journal_t *journal, const tune_record_t *record);
/* remove_it: nothing is left to go on with. */
void tune_journal_close(tune_journal_t *journal, bool remove_it);

#endif
