#include "pmpi_wrappers/backend/comms/wisdom_setup.h"

#include <stdlib.h>
#include "hier/planning/explain.h"
#include "hier/planning/foresight.h"
#include "pmpi_wrappers/backend/glue/machine.h"
#include "pmpi_wrappers/backend/start/job.h"

enum { OFF = 2 }; /* hp_knob_word_wisdom */

bool hp_wisdom_is_used(void)
{
    return hp_job.knobs.guard && hp_job.knobs.wisdom != OFF;
}

hp_finding_t *hp_wisdom_introduce(hp_wisdom_introduction_t *out)
{
    hp_finding_t *list = malloc(HP_FINDINGS_MAX * sizeof *list); /* others may have more */

    if (list)
        out->count = hp_wisdom_copy(list, &out->hash);
    return list;
}

int hp_wisdom_setup(hp_comm_t *comm, MPI_Comm users, const hp_wisdom_introduction_t *all, size_t stride,
                    hp_finding_t *list)
{
    const hp_wisdom_place_t place = hp_wisdom_place(comm);
    const hp_wisdom_introduction_t *most = all;
    bool same = true;
    uint32_t root = 0;

    for (uint32_t rank = 1; rank < comm->size; rank++) {
        const hp_wisdom_introduction_t *one = (const void *)((const char *)all + rank * stride);
        same = same && one->count == all->count && one->hash == all->hash;
        if (one->count > most->count) {
            most = one;
            root = rank;
        }
    }
    if (!same) {
        const int code = P(Bcast)(list, (int)(most->count * sizeof *list), MPI_BYTE, (int)root, users);
        if (code != MPI_SUCCESS) {
            free(list);
            return code;
        }
        if (root != comm->rank)
            hp_wisdom_adopt(list, most->count);
    }
    comm->finding_count = hp_wisdom_at(list, most->count, &place);
    comm->findings = realloc(list, comm->finding_count * sizeof *list + 1);
    if (!comm->findings) /* it only becomes smaller */
        comm->findings = list;
    return MPI_SUCCESS;
}

static hp_finding_t finding_of(const hp_comm_t *comm, hp_collective_t collective, const hp_bin_t *bin)
{
    const hp_layout_t layout = hp_comm_layout(comm);
    char text[HP_FINDING_TEXT];

    hp_explain_candidate(&bin->candidates.slot[bin->guard.chosen], collective, &layout, text, sizeof text);
    return hp_select_finding(comm, collective, bin, text);
}

void hp_wisdom_keep_one(const hp_comm_t *comm, hp_collective_t collective, const hp_bin_t *bin)
{
    if (!hp_wisdom_is_used())
        return;
    const hp_finding_t finding = finding_of(comm, collective, bin);
    hp_wisdom_learn(&finding);
    if (comm->size == (uint32_t)hp_job.size && !hp_job.any_threads && !hp_ranks_take_turns)
        hp_foresight_learn(&finding);
}

static void keep(void *context, hp_collective_t collective, unsigned number, const hp_bin_t *bin)
{
    (void)number;
    if (bin->guard.offered & (bin->guard.offered - 1) && !bin->guard.open)
        hp_wisdom_keep_one(context, collective, bin);
}

void hp_wisdom_keep(hp_comm_t *comm)
{
    hp_select_each(comm, keep, comm);
}

static void keep_open(void *context, hp_collective_t collective, unsigned number, const hp_bin_t *bin)
{
    hp_bin_t ended = *bin;

    (void)number;
    if (!hp_guard_break_off(&ended.guard))
        return;
    const hp_finding_t finding = finding_of(context, collective, &ended);
    hp_wisdom_learn_rough(&finding);
}

void hp_wisdom_keep_open(hp_comm_t *comm)
{
    if (hp_wisdom_is_used())
        hp_select_each(comm, keep_open, comm);
}
