#include "pmpi_wrappers/backend/start/job_network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/log.h"
#include "pmpi_wrappers/backend/glue/machine.h"
#include "pmpi_wrappers/backend/start/job.h"
#include "topo_tree/network/file.h"

enum { HOST_BYTES = 256 };

static hp_network_t network;
static bool is_known;
static int32_t own_machine = -1;
static uint64_t hash; /* of its text */

/* ---- rank 0 ---- */

/* Reads the network, and returns the file's text; NULL: what is wrong has been said. */
static char *read_file(uint64_t *length)
{
    char why[HP_NETWORK_WHY_BYTES];
    char *text;
    size_t bytes;

    if (hp_network_read_text(&network, hp_job.knobs.network, &text, &bytes, why, sizeof why) != HP_OK) {
        hp_warn("HANPMPI_NETWORK: %s; no network is known", why);
        return NULL;
    }
    *length = bytes;
    return text;
}

/* ---- all ranks ---- */

/* Of the machine that the settings make up where they do. */
static const char *host_of_rank(char *text, size_t text_bytes)
{
    hp_locality_t here;

    if (!hp_job.knobs.topology[0])
        return hp_machine_host(text, text_bytes);
    hp_job_locality(&here);
    snprintf(text, text_bytes, "n%llu", (unsigned long long)here.id[HP_LEVEL_NODE]);
    return text;
}

/* The first rank whose host is not there says so; true: all are. */
static bool find_hosts(void)
{
    char host[HOST_BYTES];
    int mine = 0, first = 0;

    own_machine = hp_network_machine(&network, host_of_rank(host, sizeof host));
    mine = own_machine >= 0 ? hp_job.size : hp_job.rank;
    if (P(Allreduce)(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) != MPI_SUCCESS)
        return false;
    if (first == hp_job.rank)
        hp_warn("HANPMPI_NETWORK: %s: there is no host \"%s\", which this rank is on: expected all hosts of "
                "the job; no "
                "network is known",
                hp_job.knobs.network, host);
    return first == hp_job.size;
}

/* Rank 0 has read it already. */
static bool share(char **text, uint64_t length)
{
    char why[HP_NETWORK_WHY_BYTES];

    if (hp_job.rank != 0)
        *text = malloc((size_t)length + 1);
    if (!hp_job_all(*text != NULL) || !hp_job_share(*text, (size_t)length))
        return false;
    const bool parsed = hp_job.rank == 0 || hp_network_parse(&network, hp_job.knobs.network, *text,
                                                             (size_t)length, why, sizeof why) == HP_OK;
    hash = hp_hash_add(HP_HASH_BASIS, *text, (size_t)length) | 1; /* not 0 */
    if (hp_job_all(parsed))
        return true;
    if (hp_job.rank == 0)
        hp_warn("HANPMPI_NETWORK: %s: a rank has no memory for it; no network is known",
                hp_job.knobs.network);
    return false;
}

void hp_job_network_start(void)
{
    char *text = NULL;
    uint64_t length = 0;

    hp_network_init(&network);
    if (!hp_job.knobs.network[0])
        return;
    if (hp_job.rank == 0)
        text = read_file(&length);
    if (hp_job_share(&length, sizeof length) && length > 0)
        is_known = share(&text, length) && find_hosts();
    free(text);
    if (!is_known) {
        hp_network_fini(&network);
        own_machine = -1;
    } else if (hp_job.rank == 0) {
        hp_info("HANPMPI_NETWORK=%s: %u hosts", hp_job.knobs.network, network.machine_count);
    }
}

void hp_job_network_finish(void)
{
    hp_network_fini(&network);
    is_known = false;
    own_machine = -1;
}

uint64_t hp_job_network_hash(void)
{
    return is_known ? hash : 0;
}

const hp_network_t *hp_job_network(void)
{
    return is_known ? &network : NULL;
}

int32_t hp_job_network_machine(void)
{
    return own_machine;
}
