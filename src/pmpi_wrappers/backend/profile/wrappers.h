/* wrappers: the functions that record, one for each row of recorded.def. They call what was called before.
 *
 * Threads: open inside MPI_Init, the functions any. Ownership: static. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_WRAPPERS_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_WRAPPERS_H

#include "pmpi_wrappers/backend_api.h"

/* What records the call and calls target; target itself: no recording knows the function. */
hp_function_t hp_wrapper_of(hp_wrapped_t which, hp_function_t target);

#endif
