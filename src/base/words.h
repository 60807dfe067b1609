/* words: what people write, in the environment, in hints and in files: whole numbers, and names that are
 * nearly right.
 *
 * Threads: pure. Ownership: nothing is allocated. */
#ifndef HP_BASE_WORDS_H
#define HP_BASE_WORDS_H

#include <stdbool.h>
#include <stdint.h>

/* The i-th word of a list, NULL past the last. */
typedef const char *(*hp_word_fn_t)(unsigned i);

/* A whole number with an optional unit: B; K, M, G or KiB, MiB, GiB (powers of 1024), as hp_word_size writes them.
 * false: it is none, or too large. */
bool hp_word_integer(const char *text, int64_t *out);

/* 0, no, off, false; 1, yes, on, true; also in capitals. false: it is none of them. */
bool hp_word_boolean(const char *text, bool *out);
#define HP_WORD_BOOLEANS "0 or 1 (no or yes, off or on, false or true)"

/* The index of the word of the list that text is, also in capitals; where "on" or "off" is in the list, another word for it
 * that hp_word_boolean takes does, too. false: it is none of them. */
bool hp_word_find(const char *text, hp_word_fn_t word, unsigned *out);

/* The number of a signal that a library may use by its name, such as "USR2". "on" and "1" are USR2. 0 for "off", "0" and "";
 * -1: it is none of them. */
int hp_word_signal(const char *text);

/* A number of bytes in the largest unit that holds a whole number of it: "64 KiB". Returns text. */
const char *hp_word_size(uint64_t bytes, char *text, unsigned room);

/* The word of the list (of at least one) that is fewest changed letters away from text. */
const char *hp_word_nearest(const char *text, hp_word_fn_t word);

/* As strtod, with a point, whatever the program's locale has there. */
double hp_word_number(const char *text, char **end);

#endif
