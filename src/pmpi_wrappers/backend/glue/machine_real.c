/* machine_real: the machine that the process runs on, as the kernel and hwloc tell it.
 *
 * Threads, ownership: see machine.h. */
#include "pmpi_wrappers/backend/glue/machine.h"

#include <unistd.h>
#include "base/clock.h"

const bool hp_ranks_take_turns = false;

uint64_t hp_machine_node_id(void)
{
    return hp_locality_node_id();
}

const char *hp_machine_host(char *text, size_t text_bytes)
{
    if (gethostname(text, text_bytes) != 0)
        text[0] = '\0';
    text[text_bytes - 1] = '\0';
    return text;
}

uint64_t hp_machine_clock_ns(void)
{
    return hp_clock_ns();
}

hp_status_t hp_machine_locality(hp_locality_t *out)
{
    return hp_locality_read(NULL, NULL, out);
}

void hp_machine_cores(hp_cores_t *out)
{
    hp_cores_read(out);
}
