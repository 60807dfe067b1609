/* fuzz_blocks: the collectives that move or reduce a block for each rank, and the scans: what each of them has on
 * which rank, as a table, and one way to run them all.
 *
 * A case says how many elements of one datatype go from whom to whom; each side of each rank then has a datatype of its own
 * with the same signature, and places of its own.
 *
 * Threads: one. */
#ifndef HP_TESTS_MPI_FUZZ_BLOCKS_H
#define HP_TESTS_MPI_FUZZ_BLOCKS_H

#include "fuzz.h"

bool hp_fuzz_is_blocks(hp_fuzz_collective_t collective);
bool hp_fuzz_blocks_reduce(hp_fuzz_collective_t collective);

/* Completes a case that hp_fuzz_case_draw has drawn so far, and whose collective is one of these. */
void hp_fuzz_blocks_draw(hp_fuzz_case_t *test, hp_random_t *own, const hp_fuzz_options_t *options);
/* How blocks of different sizes may differ: case.spread. */
enum { HP_FUZZ_SPREADS = 8 };
bool hp_fuzz_blocks_rooted(hp_fuzz_collective_t collective);
bool hp_fuzz_blocks_differ(hp_fuzz_collective_t collective);
/* Leaves out of the case what is not allowed, and what the host gets wrong (host_bugs.h). */
void hp_fuzz_blocks_settle(hp_fuzz_case_t *test);
/* What the case says of the blocks. Returns the characters that it takes, as snprintf does. */
int hp_fuzz_blocks_format(const hp_fuzz_case_t *test, char *buffer, size_t buffer_bytes);

/* The buffers and arrays of a case. free_early: datatypes of the library's side that hp_fuzz_blocks_free_types frees. */
typedef struct hp_fuzz_blocks hp_fuzz_blocks_t;

hp_fuzz_blocks_t *hp_fuzz_blocks_create(const hp_fuzz_case_t *test, bool free_early);
void hp_fuzz_blocks_free_types(hp_fuzz_blocks_t *blocks);
void hp_fuzz_blocks_free(hp_fuzz_blocks_t *blocks);
/* Other values, of the salt. */
void hp_fuzz_blocks_renew(hp_fuzz_blocks_t *blocks, uint64_t salt);

/* What this rank contributes or what it receives, whichever is more. */
uint64_t hp_fuzz_blocks_bytes(const hp_fuzz_blocks_t *blocks);

/* Returns MPI's error code. type: of reductions. */
int hp_fuzz_blocks_call(hp_fuzz_blocks_t *blocks, MPI_Comm comm, hp_fuzz_way_t way, MPI_Datatype type,
                        MPI_Op op, MPI_Request *request);
/* Instead of the host's side: its result, computed without MPI, of a case without overlap. */
void hp_fuzz_blocks_expect(hp_fuzz_blocks_t *blocks);
/* After both sides. Returns true, or false with the first difference. */
bool hp_fuzz_blocks_check(const hp_fuzz_blocks_t *blocks, char *difference, size_t difference_bytes);

#endif
