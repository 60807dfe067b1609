/* source: a message whose bytes do not lie in its buffer from the start to the end of the collective: the buffer is
 * filled while the first segments are under way already, or emptied while others come.
 *
 * Threads: as the request (request.h): whoever moves the collective on. Ownership: borrowed until it is done. */
#ifndef HP_EVENT_ENGINE_SOURCE_H
#define HP_EVENT_ENGINE_SOURCE_H

#include <stdint.h>
#include "base/status.h"

typedef struct hp_source hp_source_t;
struct hp_source {
    /* On the rank that sends: the first `bytes` bytes of the buffer are to be there; an error ends the collective there, so
     * that nobody gets what is not. On others: they have come; HP_OK always: other ranks may wait for this one's messages, so
     * these go on, and what fails the source keeps to itself. bytes grows, and is all of the message in the end. */
    hp_status_t (*advance)(hp_source_t *source, uint64_t bytes);
};

#endif
