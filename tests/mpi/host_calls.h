/* host_calls: what the parts of the program host_calls share.
 *
 * Threads: one. Ownership: static. */
#ifndef HP_TESTS_MPI_HOST_CALLS_H
#define HP_TESTS_MPI_HOST_CALLS_H

#include "groups.h"

enum { BYTES = 100000, TAG = 7, MANY = 100, FEW = 10 };

/* flight: what is in flight is on this one; talk: the calls are on this one, where the library stands aside. */
extern MPI_Comm hp_flight, hp_talk;
extern int hp_me; /* rank, in these and in MPI_COMM_WORLD */
/* MPI_STATUSES_IGNORE, which MPICH's header lets the compiler take for an array of no bytes. */
extern MPI_Status *hp_ignored;

extern unsigned char hp_data[BYTES];
/* A broadcast of hp_data on hp_flight. */
void hp_flight_start(MPI_Request *request, int root);
void hp_flight_finish(MPI_Request *request); /* and checks it */
/* So many broadcasts have been taken since. */
void hp_check_taken(uint64_t before, uint64_t calls);

/* Rank 1 starts to send rank 0 that many messages of that many integers, with tags TAG, TAG + 1, ... */
void hp_feed(int messages, int count);
void hp_feed_finish(void);

void hp_group_same(void);  /* host_calls_same.c */
void hp_group_large(void); /* host_calls_large.c */

#endif
