/* profile_json: a book as the file of docs/hanpmpi-profile.5.
 *
 * Threads: one at a time. Ownership: nothing is kept. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_PROFILE_JSON_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_PROFILE_JSON_H

#include <stdio.h>
#include "pmpi_wrappers/backend/profile/book/book.h"

typedef struct {
    const char *started, *job; /* the same on all ranks of a job; job: of no other job */
    const char *incomplete;    /* NULL: it is the whole job */
    bool is_part;              /* the book is one rank's */
    /* Writes the value of "sequence"; false: it could not be written. NULL: there is none. */
    bool (*write_sequence)(FILE *out, hp_book_t *book);
} hp_profile_text_t;

/* The book is closed. False: it could not be written, or no memory. */
bool hp_profile_write(FILE *out, hp_book_t *book, const hp_profile_text_t *text);

#endif
