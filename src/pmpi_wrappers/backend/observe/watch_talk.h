/* watch_talk: how the watchdogs of the ranks talk: "have you entered collective NUMBER of communicator ID?"
 *
 * Messages of one size on a communicator of their own, which all ranks make in MPI_Init. Every rank answers, whatever its program
 * does, but for those whose MPI did not give MPI_THREAD_MULTIPLE: these make the communicator with the others and are not asked.
 * At MPI_Finalize each rank waits for the answers it has asked for, and answers until all are that far: no message
 * is left.
 *
 * Threads: open and close inside MPI_Init and MPI_Finalize; the others by the library's thread, in between.
 * Ownership: static; the table of hosts lives from open to close. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_OBSERVE_WATCH_TALK_H
#define HP_PMPI_WRAPPERS_BACKEND_OBSERVE_WATCH_TALK_H

#include <stdbool.h>
#include <stdint.h>

enum { HP_TALK_WAITS = 8, HP_HOST_BYTES = 56 };

/* Which collective. */
typedef struct {
    uint64_t comm_id, number;
} hp_talk_what_t;

typedef enum {
    HP_STAND_NO_ANSWER, /* none came */
    HP_STAND_SILENT,    /* the rank is not asked */
    HP_STAND_NOT_THERE, /* it has not entered */
    HP_STAND_UNKNOWN,   /* it has no such communicator: not set up yet, or freed already */
    HP_STAND_IN,        /* it has entered and is not done */
    HP_STAND_THROUGH    /* it has entered, and is done */
} hp_stand_t;

/* What a rank says of itself. */
typedef struct {
    uint32_t question; /* which one this answers */
    uint32_t stand;    /* hp_stand_t */
    /* What it is in instead, or in: a collective that is not finished there; collective < 0: none of the library's. */
    int32_t collective;
    uint32_t blocking;
    hp_talk_what_t in;
    uint64_t bytes, since_us;
    uint64_t unattended_us; /* so long nothing has moved it on: the program makes no MPI calls; blocking: 0 */
    uint32_t wait_count;
    int32_t waits[HP_TALK_WAITS]; /* ranks of MPI_COMM_WORLD that it waits for */
} hp_talk_answer_t;

/* Collective over MPI_COMM_WORLD. answers: this rank's thread may call the MPI. */
void hp_talk_open(bool answers);
/* The same. answer: for questions that come yet. */
void hp_talk_close(void (*answer)(const hp_talk_what_t *what, hp_talk_answer_t *out));

/* The short name of the host of a rank of MPI_COMM_WORLD; NULL: unknown. */
const char *hp_talk_host(int rank);

/* May this rank ask? */
bool hp_talk_is_open(void);
/* Sends a question; the answer bears the number that is returned, never 0. 0: the rank cannot be asked. */
uint32_t hp_talk_ask(int rank, const hp_talk_what_t *what);
/* Takes an answer that has come; *from is who it is from. */
bool hp_talk_take_answer(hp_talk_answer_t *out, int *from);

/* Takes a question that has come, to be answered some time. */
typedef struct {
    int from;
    uint32_t number;
    hp_talk_what_t what;
} hp_talk_question_t;
bool hp_talk_take_question(hp_talk_question_t *out);
void hp_talk_answer(const hp_talk_question_t *question, hp_talk_answer_t *answer);

#endif
