/* probes: the probes of the machine on a real MPI, without the rest of the backend: linked with probe.c,
 * probe_link.c, node_setup.c and the core.
 *
 *      mpirun -np N probes MACHINE        MACHINE: a synthetic one, "node:2 core:2"
 *
 * All ranks come to the same figures; what the layout needs is there; what is known already is not
 * measured again; without memory for buffers nothing is measured, and nobody waits. Prints the figures and
 * how long it took. Threads: one. Ownership: freed at exit. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"
#include "pmpi_wrappers/backend/start/job.h"
#include "pmpi_wrappers/backend/glue/machine.h"
#include "pmpi_wrappers/backend/comms/node_setup.h"
#include "pmpi_wrappers/backend/start/probe.h"

/* What the backend has elsewhere. */
hp_function_t hp_mpi_calls[HP_MPI_CALL_COUNT];
hp_job_t hp_job;
const bool hp_ranks_take_turns = false;

static int rank, size;
static hp_route_t route;
static const hp_transport_ops_t no_operations;
static hp_transport_t idle = {.ops = &no_operations}; /* the probes' messages are the host MPI's */
static bool no_memory;                                /* on this rank, for large buffers */

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
    return no_memory && bytes >= 1 << 20 ? NULL : __real_malloc(bytes);
}

static void fail(const char *what, int line)
{
    fprintf(stderr, "probes, rank %d, line %d: %s\n", rank, line, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            fail(#condition, __LINE__);                                                                      \
    } while (0)

static void find_mpi(void)
{
    static const char *const names[] = {
#define HP_MPI_CALL(name) "PMPI_" #name,
#include "pmpi_wrappers/mpi_calls.def"
#undef HP_MPI_CALL
    };
    for (size_t i = 0; i < HP_MPI_CALL_COUNT; i++) {
        void *found = dlsym(RTLD_DEFAULT, names[i]);
        memcpy(&hp_mpi_calls[i], &found, sizeof found);
    }
}

static hp_comm_t *make_comm(const char *machine)
{
    char error[256];
    hp_synthetic_t synthetic;
    hp_process_t own, *all = calloc((size_t)size, sizeof *all);
    hp_locality_t *table = calloc((size_t)size, sizeof *table);
    hp_comm_t *comm = NULL;
    int file, common;

    CHECK(all && table);
    CHECK(hp_synthetic_parse(machine, &synthetic, error, sizeof error) == HP_OK);
    for (int i = 0; i < size; i++) {
        hp_synthetic_locate(&synthetic, (uint32_t)i, &table[i]);
        hp_cores_read(&table[i].cores);
    }
    CHECK(hp_comm_create((uint32_t)rank, (uint32_t)size, table, &hp_job.knobs, &idle, &comm) == HP_OK);
    hp_node_setup_introduce(&own, &file);
    CHECK(MPI_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    const int mine = hp_node_setup_map(comm, all, sizeof *all, file);
    CHECK(MPI_Allreduce(&mine, &common, 1, MPI_INT, MPI_BAND, MPI_COMM_WORLD) == MPI_SUCCESS);
    hp_node_setup_settle(comm, common);
    close(file);
    free(all);
    free(table);
    return comm;
}

/* Returns how long the slowest rank took, in ms. */
static double probe(hp_comm_t *comm, bool checks, hp_probes_t *probes)
{
    double ms, slowest;
    hp_probes_t first;

    MPI_Barrier(MPI_COMM_WORLD);
    const uint64_t start = hp_clock_ns();
    CHECK(hp_probe(MPI_COMM_WORLD, &route, comm, checks, probes) == MPI_SUCCESS);
    ms = (double)(hp_clock_ns() - start) / 1e6;
    first = *probes;
    MPI_Bcast(&first, sizeof first, MPI_BYTE, 0, MPI_COMM_WORLD);
    CHECK(memcmp(&first, probes, sizeof first) == 0);
    MPI_Allreduce(&ms, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

/* What a communicator needs from its first call on: little, in little time, once. */
static void stores_measured(hp_comm_t *comm)
{
    const hp_layout_t layout = hp_comm_layout(comm);
    const bool shares = layout.most_ranks > 1 && layout.shares_memory;
    hp_probes_t probes = {0}, first;

    for (int round = 0; round < 2; round++) {
        CHECK(hp_probe_stores(MPI_COMM_WORLD, &route, comm, &probes) == MPI_SUCCESS);
        CHECK((probes.cached_us > 0) == shares && (probes.streamed_us > 0) == shares);
        CHECK(probes.flag_us == 0 && probes.inside_us == 0 && probes.between_us == 0 &&
              hp_probes_are_sane(&probes));
        first = round ? first : probes; /* the second has nothing to find out */
        CHECK(memcmp(&first, &probes, sizeof first) == 0);
        MPI_Bcast(&first, sizeof first, MPI_BYTE, 0, MPI_COMM_WORLD);
        CHECK(memcmp(&first, &probes, sizeof first) == 0);
    }
    comm->probes = probes;
    hp_comm_choose_stores(comm);
    CHECK((comm->node_memory.streams_from > 0) == (shares && probes.streamed_us < 0.6 * probes.cached_us));
    comm->knobs.stream_bytes = 77;
    hp_comm_choose_stores(comm);
    CHECK(comm->node_memory.streams_from == 77);
    comm->knobs.stream_bytes = 0;
    hp_comm_choose_stores(comm);
    CHECK(comm->node_memory.streams_from == 0);
    comm->knobs.stream_bytes = -1;
    comm->probes = (hp_probes_t){0};
}

static void measured(hp_comm_t *comm)
{
    const hp_layout_t layout = hp_comm_layout(comm);
    hp_probes_t probes = {0};

    const double ms = probe(comm, false, &probes);
    CHECK(hp_probes_cover(&probes, &layout));
    CHECK(hp_probes_are_sane(&probes));
    CHECK(layout.nodes > 1 || probes.between_us == 0);
    CHECK(layout.nodes == 1 || (probes.between_rate > 0 && probes.overlap >= 0));
    CHECK(layout.most_ranks < 2 || (probes.node_copy_rate > 0 && probes.inside_us > 0));
    CHECK(layout.most_ranks < 2 || !layout.shares_memory || probes.flag_us > 0);
    CHECK(ms < 1000); /* 30 ms are meant; other programs may run beside the test */
    if (rank == 0) {
        printf("%u nodes of up to %u ranks: %.1f ms\n", layout.nodes, layout.most_ranks, ms);
#define X(field, unit, most, text) printf("  %-16s %10.4g %s\n", #field, probes.field, unit);
        HP_PROBE_TABLE(X)
#undef X
    }
    /* Then the node's memory is as good as new for collectives: no counter has moved. */
    for (uint32_t member = 0; comm->has_node_memory && member < comm->node_memory.shape.members; member++) {
        CHECK(*hp_node_done(&comm->node_memory, member) == 0);
        CHECK(*hp_node_counter(&comm->node_memory, member, 0, HP_FAN_IN) == 0);
    }
}

/* What rank 0 knows, who leads here, stays as it is. */
static void half_known(hp_comm_t *comm)
{
    const hp_layout_t layout = hp_comm_layout(comm);
    hp_probes_t probes = {.copy_rate = 123, .reduce_rate = 45, .cores = 6};

    probe(comm, false, &probes);
    CHECK(probes.copy_rate == 123 && probes.reduce_rate == 45 && probes.cores == 6);
    CHECK(hp_probes_cover(&probes, &layout));
}

/* What an earlier run has left is of another network. */
static void of_another_network(hp_comm_t *comm)
{
    const hp_layout_t layout = hp_comm_layout(comm);
    hp_probes_t probes = {0};

    probe(comm, false, &probes);
    const hp_probes_t right = probes;
    probes.between_rate = 1e-3;
    probe(comm, false, &probes);
    CHECK(layout.nodes == 1 || probes.between_rate == 1e-3);
    probe(comm, true, &probes);
    CHECK(layout.nodes == 1 || probes.between_rate > 1e-2);
    CHECK(probes.copy_rate == right.copy_rate && probes.flag_us == right.flag_us);
}

static void without_memory(hp_comm_t *comm)
{
    hp_probes_t probes = {.flag_us = 7};

    no_memory = rank == size - 1 || rank == 1; /* one of them takes part on any machine */
    probe(comm, false, &probes);
    no_memory = false;
    CHECK(probes.flag_us == 7 && probes.copy_rate == 0);
}

static void remembered(bool several_nodes)
{
    bool is_fresh;
    hp_probes_t probes = {.flag_us = 1}, found;

    CHECK(!hp_probe_is_news());
    hp_probe_learn(&probes, true);
    CHECK(!hp_probe_is_news());
    probes.copy_rate = 2;
    hp_probe_learn(&probes, false);
    CHECK(hp_probe_is_news());
    hp_probe_known(&found, &is_fresh);
    CHECK(is_fresh == several_nodes && found.flag_us == 1 && found.copy_rate == 2 && found.inside_us == 0);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 2);
    route = hp_route_direct(MPI_COMM_WORLD, rank);
    find_mpi();
    hp_knobs_defaults(&hp_job.knobs);

    hp_comm_t *comm = make_comm(argv[1]);
    stores_measured(comm);
    measured(comm);
    hp_comm_destroy(comm);
    comm = make_comm(argv[1]);
    half_known(comm);
    hp_comm_destroy(comm);
    comm = make_comm(argv[1]);
    of_another_network(comm);
    hp_comm_destroy(comm);
    comm = make_comm(argv[1]);
    without_memory(comm);
    const bool several_nodes = hp_comm_layout(comm).nodes > 1;
    hp_comm_destroy(comm);
    remembered(several_nodes);
    MPI_Finalize();
    return 0;
}
