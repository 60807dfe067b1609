/* exports: the functions of hanpmpi.h.
 *
 * Threads: any. Ownership: static. */
#include "pmpi_wrappers/front/exports.h"

#include <string.h>

hp_front_t hp_front;

EXPORT const char *hanpmpi_version(void)
{
    return HANPMPI_VERSION;
}

EXPORT const char *hanpmpi_backend(void)
{
    return hp_front.active ? hp_front.backend->abi : "none";
}

EXPORT int hanpmpi_get_stats(const char *collective, hanpmpi_collective_stats_t *out)
{
    static const char *const known[] = {
        "bcast",
        "reduce",
        "allreduce",
        "barrier",
#define HP_FORMS(name, ...) #name,
#include "pmpi_wrappers/block_forms.def"
#undef HP_FORMS
    };
    memset(out, 0, sizeof *out);
    if (hp_front.backend)
        return hp_front.backend->get_stats(collective, out);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(collective, known[i]) == 0)
            return 0;
    return -1;
}

EXPORT int hanpmpi_get_outcome(const char *collective, unsigned outcome, const char **word, uint64_t *calls)
{
    return hp_front.backend ? hp_front.backend->get_outcome(collective, outcome, word, calls) : -1;
}

EXPORT int hanpmpi_get_resources(hanpmpi_resources_t *out)
{
    memset(out, 0, sizeof *out);
    if (hp_front.backend)
        hp_front.backend->get_resources(out);
    return 0;
}
