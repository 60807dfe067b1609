#include "pmpi_wrappers/backend/progress/host_wait.h"

#include "pmpi_wrappers/backend/progress/progress.h"
#include "pmpi_wrappers/backend/start/job.h"

void hp_host_idle(hp_wait_t *wait)
{
    const hp_knobs_t *knobs = &hp_job.knobs;
    const uint64_t roomy_us = 10000; /* as for collectives on a node that is not crowded (hier/comm/comm.c) */
    const hp_wait_policy_t policy = {
        .spin_polls = (uint64_t)knobs->spin_polls,
        .sleep_after_ns = (knobs->sleep_after_us ? (uint64_t)knobs->sleep_after_us : roomy_us) * 1000,
        .sleep_ns = (uint64_t)knobs->sleep_us * 1000};

    if (hp_progress_poll())
        hp_wait_reset(wait);
    else
        hp_wait_idle(wait, &policy);
}

int hp_host_wait(MPI_Request *request, MPI_Status *status)
{
    hp_wait_t wait = {0};

    while (hp_progress_is_due()) {
        int flag = HP_UNSEEN;
        const int code = P(Test)(request, &flag, status);
        if (code != MPI_SUCCESS || flag)
            return code;
        hp_host_idle(&wait);
    }
    return P(Wait)(request, status);
}
