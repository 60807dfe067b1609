/* sites: where in the program a call stands: the return addresses on the stack, as module and offset.
 *
 * The stack is walked by the unwinder of the compiler's runtime library, which needs no frame pointers and takes a
 * microsecond or two. So what was found is remembered by the innermost return address and the position of its frame,
 * with the words of the stack in which the further return addresses stand: as long as these hold the same, the call
 * is at the same site. Four such ways are kept of each address and frame, or of what shares their place. Where they hold something else, a table has the steps of all walks so far: for each return address
 * and those before it, where the next one stands. (On other processors than x86-64 nobody knows where these words are:
 * there the stack is walked each time, unless one frame is enough.)
 *
 * Frames of the MPI itself (its Fortran bindings) are left out.
 *
 * Threads: one at a time. Ownership: kept until fini. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_SITES_SITES_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_SITES_SITES_H

#include "pmpi_wrappers/backend/profile/book/book.h"
#include "pmpi_wrappers/backend/profile/book/last_call.h"

/* Frames that are looked at, those of the MPI included. */
enum { HP_SITES_DEPTH = HP_BOOK_FRAMES + 4 };

/* host: a function of the MPI. frames: how many are kept of each site. False: no memory. */
bool hp_sites_init(hp_book_t *book, unsigned frames, const void *host);
void hp_sites_fini(void);

/* A way to a call. */
typedef struct hp_site_way {
    uintptr_t address, frame;          /* the innermost return address, and its frame */
    uint64_t mix;                      /* of the further return addresses */
    uint32_t site;                     /* its row; 0: not known, and counted as lost */
    uint16_t depth;                    /* 0: the way is not kept */
    uint16_t word[HP_SITES_DEPTH - 1]; /* where the further return addresses stand: words from the frame */
    /* The caller's: zero until it sets it, and whenever the way was forgotten. */
    hp_last_call_t last __attribute__((aligned(64)));
} hp_site_way_t;
_Static_assert(
    sizeof(hp_site_way_t) == 64 + sizeof(hp_last_call_t),
    "the way in one line of the cache: where many ranks share a core, little of what they look at is near");

/* That of the call that returns to this address, and whose frame ends here (__builtin_dwarf_cfa of the function
 * called). It is there until the next call. */
hp_site_way_t *hp_sites_find(const void *return_address, const void *frame);
/* The words of the stack, up from the frame, that have the further return addresses of a way. Returns how many; -1: the way is not
 * kept, or has more than there is room for. */
int hp_sites_words(const hp_site_way_t *place, const void *frame, const uintptr_t **words, int room);
/* That is asked for soon. */
void hp_sites_expect(const void *return_address, const void *frame);

#endif
