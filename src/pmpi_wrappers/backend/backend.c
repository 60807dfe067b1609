/* backend: the description of this backend, and the wrapped functions that are no collectives.
 *
 * Threads: open, after_init and before_finalize inside MPI_Init and MPI_Finalize; the others any. Ownership:
 * static. */
#include <errno.h>
#include <stdio.h>
#include "base/clock.h"
#include "base/log.h"
#include "hier/planning/arrival.h"
#include "hier/planning/explain.h"
#include "hier/planning/kept.h"
#include "hier/call/inter_node_files.h"
#include "hier/call/stats.h"
#include "pmpi_wrappers/backend/calls/blocks.h"
#include "pmpi_wrappers/backend/calls/channel.h"
#include "pmpi_wrappers/backend/calls/collectives.h"
#include "pmpi_wrappers/backend/comms/comm_registry.h"
#include "pmpi_wrappers/backend/comms/comm_release.h"
#include "pmpi_wrappers/backend/calls/agreement.h"
#include "pmpi_wrappers/backend/start/handshake.h"
#include "pmpi_wrappers/backend/progress/helper_thread.h"
#include "pmpi_wrappers/backend/calls/hints.h"
#include "pmpi_wrappers/backend/comms/self_comm.h"
#include "pmpi_wrappers/backend/comms/shared_comm.h"
#include "pmpi_wrappers/backend/progress/host_calls.h"
#include "pmpi_wrappers/backend/glue/device.h"
#include "pmpi_wrappers/backend/observe/watchdog.h"
#include "pmpi_wrappers/backend/glue/host_request.h"
#include "pmpi_wrappers/backend/start/job.h"
#include "pmpi_wrappers/backend/start/job_rules.h"
#include "pmpi_wrappers/backend/start/job_schedules.h"
#include "pmpi_wrappers/backend/start/job_network.h"
#include "pmpi_wrappers/backend/observe/job_record.h"
#include "pmpi_wrappers/backend/observe/job_trace.h"
#include "pmpi_wrappers/backend/profile/job_profile.h"
#include "pmpi_wrappers/backend/glue/machine.h"
#include "pmpi_wrappers/backend/calls/nonblocking.h"
#include "pmpi_wrappers/backend/calls/persistent.h"
#include "pmpi_wrappers/backend/progress/progress.h"

/* A program without blocking collectives would never have its communicator set up. */
static void set_world_up(void)
{
    hp_comm_state_t *state = hp_comm_state_find(MPI_COMM_WORLD);
    if (state && state->always == HP_OUTCOME_TAKEN)
        hp_set_up(state, MPI_COMM_WORLD);
}

/* Does something move non-blocking collectives on while a rank is in the host MPI, on all ranks? */
static bool is_moved_on(void)
{
    if (hp_host_request_is_driven())
        return true;
    return !hp_job.any_alone && hp_job_all(hp_helper_thread_moves_on());
}

/* Lives on the helper thread. */
static const hp_helper_guest_t watchdog = {.start = hp_watchdog_start, .stop = hp_watchdog_stop};

static int after_init(void)
{
    hp_inter_node_ahead();
    hp_job_start(hp_job_rules_has_files);
    hp_job_record_start();
    if (hp_job.active) {
        hp_job_schedules_start();
        hp_job_network_start();
        hp_job_rules_start();
    }
    if (hp_job.active && !hp_comm_states_init(hp_progress_leave)) {
        hp_warn("the MPI gives no attribute key: the library is off for this run");
        hp_job.active = false;
    }
    if (hp_job.active && hp_job.any_threads && !hp_shared_comm_init()) {
        if (hp_job.rank == 0)
            hp_warn("the MPI gives no communicator: the library is off for this run");
        hp_job.active = false;
    }
    if (hp_job.is_whole && !hp_ranks_take_turns)
        hp_device_init(hp_job.has_threads);
    if (hp_job.active) {
        if (hp_shared_comm_exists())
            hp_self_comm(); /* later no communicator may be made */
        hp_progress_init();
        hp_watchdog_open(hp_job.has_threads);
        hp_helper_thread_start(hp_job.watches ? &watchdog : NULL);
        hp_agreement_init(is_moved_on());
        hp_job_trace_start();
        if (hp_job.knobs.setup_calls == 0 && hp_job.size > 1)
            set_world_up();
    }
    hp_job_profile_start(); /* the last: what comes before is not the program's */
    return hp_job.active;
}

/* When the communicators have gone, and told what they know. */
static void report(void)
{
    const char *name = hp_job.knobs.explain_json;
    const unsigned rank = (unsigned)hp_job.rank;
    const hp_savings_t savings = hp_savings((double)(hp_clock_ns() - hp_job.start_ns) / 1e9);

    hp_job_record_finish(&savings);
    if (hp_job.rank != 0)
        return;
    if (hp_job.knobs.explain)
        hp_explain_print(stderr, rank);
    if (hp_job.knobs.explain || hp_job.knobs.stats)
        hp_savings_print(stderr, &savings, rank);
    if (hp_job.knobs.explain)
        hp_arrival_print(stderr);
    if (name[0]) {
        FILE *out = fopen(name, "w");
        const bool written = out && hp_explain_write(out, rank, &savings);
        if (!out || fclose(out) != 0 || !written)
            hp_warn("HANPMPI_EXPLAIN_JSON=%s cannot be written: %s", name, strerror(errno));
    }
}

static void before_finalize(void)
{
    if (!hp_job.active) {
        if (!hp_job.is_whole)
            hp_handshake_drain();
        hp_job_profile_finish();
        hp_device_fini();
        hp_job_record_finish(NULL);
        return;
    }
    /* From here on every collective passes through, on all ranks: also those of the program's own attribute
     * callbacks that MPI_Finalize runs (docs/pitfalls.md 7). */
    hp_job.active = false;
    hp_job_profile_finish();
    hp_agreement_close();
    hp_job_trace_finish();
    if (hp_job.knobs.stats && hp_job.rank == 0)
        hp_stats_print(stderr, (unsigned)hp_job.rank);
    hp_comm_states_fini();
    hp_persistent_fini();
    hp_self_comm_free();
    hp_shared_comm_fini();
    hp_helper_thread_stop();
    hp_watchdog_close();
    hp_host_request_close();
    hp_device_fini();
    if (hp_job.is_timed)
        report();
    hp_kept_fini();
    hp_arrival_fini();
    hp_job_rules_finish();
    hp_job_schedules_finish();
    hp_job_network_finish();
}

static int comm_free(MPI_Comm *comm)
{
    hp_channels_leave(comm ? *comm : MPI_COMM_NULL);
    return hp_comm_state_free(comm, P(Comm_free));
}

static int comm_disconnect(MPI_Comm *comm)
{
    hp_channels_leave(comm ? *comm : MPI_COMM_NULL);
    return hp_comm_state_free(comm, P(Comm_disconnect));
}

static int get_stats(const char *collective, hanpmpi_collective_stats_t *out)
{
    for (unsigned c = 0; c < HP_COLLECTIVE_COUNT; c++)
        if (strcmp(collective, hp_collective_name((hp_collective_t)c)) == 0) {
            hp_stats_totals((hp_collective_t)c, &out->calls, &out->taken, &out->bytes);
            return 0;
        }
    return -1;
}

static int get_outcome(const char *collective, unsigned outcome, const char **word, uint64_t *calls)
{
    for (unsigned c = 0; c < HP_COLLECTIVE_COUNT && outcome < HP_OUTCOME_COUNT; c++)
        if (strcmp(collective, hp_collective_name((hp_collective_t)c)) == 0) {
            *word = hp_outcome_word((hp_outcome_t)outcome);
            *calls = hp_stats_outcome((hp_collective_t)c, (hp_outcome_t)outcome);
            return 0;
        }
    return -1;
}

/* wrapped: once it is known what the MPI offers, host_calls adds to it. */
static hp_backend_t backend = {
    .version = HANPMPI_VERSION,
    .abi = HP_ABI_NAME,
    .wrapped =
        {
#define HP_COLLECTIVE(name, host, parameters, arguments)                                                     \
    [HP_WRAPPED_##host] = (hp_function_t)hp_mpi_##name,                                                      \
    [HP_WRAPPED_I##name] = (hp_function_t)hp_mpi_i##name,                                                    \
    [HP_WRAPPED_##host##_init] = (hp_function_t)hp_mpi_##name##_init,                                        \
    [HP_WRAPPED_##host##_init_c] = (hp_function_t)hp_mpi_##name##_init_c,
#include "pmpi_wrappers/backend/calls/collectives.def"
#undef HP_COLLECTIVE
#if HP_HAS_LARGE_COUNT
#define HP_COLLECTIVE(name, host, parameters, arguments)                                                     \
    [HP_WRAPPED_##host##_c] = (hp_function_t)hp_mpi_##name##_c,                                              \
    [HP_WRAPPED_I##name##_c] = (hp_function_t)hp_mpi_i##name##_c,
#include "pmpi_wrappers/backend/calls/collectives.def"
#undef HP_COLLECTIVE
#endif
#define HP_BLOCKS(id, name, host, ...)                                                                       \
    [HP_WRAPPED_##host] = (hp_function_t)hp_mpi_##name,                                                      \
    [HP_WRAPPED_I##name] = (hp_function_t)hp_mpi_i##name,                                                    \
    [HP_WRAPPED_##host##_init] = (hp_function_t)hp_mpi_##name##_init,                                        \
    [HP_WRAPPED_##host##_init_c] = (hp_function_t)hp_mpi_##name##_init_c,
#include "pmpi_wrappers/backend/calls/block_collectives.def"
#undef HP_BLOCKS
#define HP_BLOCKS(id, name, host, ...)                                                                       \
    [HP_WRAPPED_##host##_c] = (hp_function_t)hp_mpi_##name##_c,                                              \
    [HP_WRAPPED_I##name##_c] = (hp_function_t)hp_mpi_i##name##_c,
#include "pmpi_wrappers/backend/calls/block_collectives.def"
#undef HP_BLOCKS
            [HP_WRAPPED_Barrier] = (hp_function_t)hp_mpi_barrier,
            [HP_WRAPPED_Ibarrier] = (hp_function_t)hp_mpi_ibarrier,
            [HP_WRAPPED_Barrier_init] = (hp_function_t)hp_mpi_barrier_init,
            [HP_WRAPPED_Start] = (hp_function_t)hp_mpi_start,
            [HP_WRAPPED_Startall] = (hp_function_t)hp_mpi_startall,
            [HP_WRAPPED_Request_free] = (hp_function_t)hp_mpi_request_free,
            [HP_WRAPPED_Comm_free] = (hp_function_t)comm_free,
            [HP_WRAPPED_Comm_disconnect] = (hp_function_t)comm_disconnect,
            [HP_WRAPPED_Comm_set_info] = (hp_function_t)hp_mpi_comm_set_info,
            [HP_WRAPPED_Comm_dup_with_info] = (hp_function_t)hp_mpi_comm_dup_with_info},
    .after_init = after_init,
    .record = hp_job_profile_record,
    .before_finalize = before_finalize,
    .get_stats = get_stats,
    .get_outcome = get_outcome,
    .get_resources = hp_comm_state_resources,
};

__attribute__((visibility("default"))) const hp_backend_t *
hanpmpi_backend_open(const hp_function_t *mpi_calls, hp_find_fn_t find);
__attribute__((visibility("default"))) const hp_backend_t *
hanpmpi_backend_open(const hp_function_t *mpi_calls, hp_find_fn_t find)
{
    static const struct {
        const char *name;
        bool is_new;
    } rows[] = {
#define HP_MPI_CALL(name)     {#name, false},
#define HP_MPI_CALL_NEW(name) {#name, true},
#include "pmpi_wrappers/mpi_calls.def"
#undef HP_MPI_CALL
    };
    for (unsigned i = 0; i < HP_MPI_CALL_COUNT; i++) {
        if (!mpi_calls[i] && !rows[i].is_new) {
            hp_warn("this MPI lacks PMPI_%s, which the library needs", rows[i].name);
            return NULL;
        }
    }
    memcpy(hp_mpi_calls, mpi_calls, sizeof hp_mpi_calls);
    hp_host_waiting_open(find);
    hp_host_request_open(find, hp_progress_poll);
    if (!hp_host_request_is_driven() && !hp_ranks_take_turns)
        hp_host_calls_open(find, backend.wrapped);
    return &backend;
}
