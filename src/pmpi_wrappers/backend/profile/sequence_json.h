/* sequence_json: the sequences of all ranks as the key "sequence" of the file: rank after rank sends its own when
 * rank 0 asks, so that no rank needs memory for what the others recorded.
 *
 * Threads: one, inside MPI_Finalize. Ownership: nothing is kept. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_SEQUENCE_JSON_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_SEQUENCE_JSON_H

#include <stdio.h>
#include "pmpi_wrappers/backend/profile/book/book.h"

/* Keeps this rank's slacks until forget: before those of others come into its book, whose rows keep their numbers. */
void hp_sequence_keep_slacks(const hp_book_t *book);
void hp_sequence_forget_slacks(void);

/* On rank 0; book: of all ranks. False: something cannot be written. */
bool hp_sequence_write(FILE *out, hp_book_t *book);
/* Instead, where there is no file. */
void hp_sequence_refuse(void);
/* On the other ranks; book: their own, whose numbers the sequence has. */
void hp_sequence_send(const hp_book_t *book);

#endif
