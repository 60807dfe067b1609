/* machine_simulated: the hosts of a SimGrid platform.
 *
 * hwloc and the host name would tell of the machine that the simulator runs on, the same for all ranks. A
 * simulated host has a name and nothing inside: its ranks are one node. Threads, ownership: see machine.h. */
#include "pmpi_wrappers/backend/glue/machine.h"
#include "pmpi_wrappers/backend/glue/mpi_glue.h"

#include <stdio.h>

const bool hp_ranks_take_turns = true;

uint64_t hp_machine_node_id(void)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    int length = 0;

    if (P(Get_processor_name)(name, &length) != MPI_SUCCESS)
        length = 0;
    return hp_locality_id_of(name, (size_t)length);
}

const char *hp_machine_host(char *text, size_t text_bytes)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    int length = 0;

    if (P(Get_processor_name)(name, &length) != MPI_SUCCESS)
        length = 0;
    snprintf(text, text_bytes, "%.*s", length, name);
    return text;
}

uint64_t hp_machine_clock_ns(void)
{
    return (uint64_t)(P(Wtime)() * 1e9);
}

hp_status_t hp_machine_locality(hp_locality_t *out)
{
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        out->id[level] = HP_ID_UNKNOWN;
    out->id[HP_LEVEL_NODE] = hp_machine_node_id();
    hp_machine_cores(&out->cores);
    return HP_OK;
}

void hp_machine_cores(hp_cores_t *out)
{
    *out = (hp_cores_t){0};
}
