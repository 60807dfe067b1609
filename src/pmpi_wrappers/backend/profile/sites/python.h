/* python: where a Python program makes an MPI call: file, line and function of the interpreter's frames, which the
 * stack of C functions (sites) does not tell. The interpreter's interface, as far as it is used, is declared here:
 * nothing of Python need be installed, and a program without it never comes here.
 *
 * Frames can be read with the interpreter's lock only, which bindings such as mpi4py have given up before they call MPI. So it is
 * taken again, after the call, and never while the recorder's own lock is held.
 *
 * Threads: one, the first that comes; for a program in which another one calls MPI, too, the caller does not ask any
 * more. Ownership: kept until fini, and the interpreter's code objects until the process ends. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_SITES_PYTHON_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_SITES_PYTHON_H

#include "pmpi_wrappers/backend/profile/book/book.h"

typedef struct hp_python_place hp_python_place_t;

extern bool hp_python_is_there;

/* Looks for an interpreter of Python 3.9 or newer in this process. frames: how many are kept of each site. */
void hp_python_open(hp_book_t *book, unsigned frames);
void hp_python_fini(void);

/* Where this thread is in Python; valid until the next call. NULL: not in Python. */
hp_python_place_t *hp_python_locate(void);

/* The row of a place in the book, under the recorder's lock. 0: no room. */
uint32_t hp_python_site(hp_python_place_t *place);

#endif
