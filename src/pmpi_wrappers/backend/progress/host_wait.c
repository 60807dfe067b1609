#include "pmpi_wrappers/backend/progress/host_wait.h"

#include "pmpi_wrappers/backend/progress/progress.h"
#include "pmpi_wrappers/backend/start/job.h"

void hp_host_idle(hp_wait_t *wait)
{
    const hp_wait_policy_t policy = hp_job_wait_policy();

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
