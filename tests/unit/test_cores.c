/* test_cores: the cores that a job may use, by affinity mask, cpuset and quota: docs/pitfalls.md 41. */
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cores.h"
#include "check.h"
#include "hier/comm/comm.h"

/* ---- control groups, of files made up ---- */

typedef struct {
    const char *name, *text; /* a file below the root */
} file_t;

static void make_file(const char *root, const file_t *file)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", root, file->name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        mkdir(path, 0700);
    }
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(file->text, out);
    assert_int_equal(fclose(out), 0);
}

static void assert_granted(const file_t *files, uint32_t expected)
{
    char root[] = "/tmp/hanpmpi-test-cores-XXXXXX", command[128];

    assert_non_null(mkdtemp(root));
    for (const file_t *file = files; file->name; file++)
        make_file(root, file);
    const uint32_t granted = hp_cores_of_cgroups(root);
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
    if (granted != expected)
        fail_msg("%s: %u cores granted, expected %u", files[0].text, granted, expected);
}

#define FILES(...) ((const file_t[]){__VA_ARGS__, {NULL, NULL}})
#define GROUP      "proc/self/cgroup"
#define V2         "sys/fs/cgroup/"

static void control_groups(void **state)
{
    (void)state;
    assert_granted(FILES({"nothing", ""}), UINT32_MAX);
    assert_granted(FILES({GROUP, "0::/job\n"}), UINT32_MAX);
    assert_granted(FILES({GROUP, "0::/job\n"}, {V2 "job/cpu.max", "max 100000\n"}), UINT32_MAX);
    assert_granted(FILES({GROUP, "0::/job\n"}, {V2 "job/cpu.max", "200000 100000\n"}), 2);
    /* Part of a core counts as one. */
    assert_granted(FILES({GROUP, "0::/job\n"}, {V2 "job/cpu.max", "150000 100000\n"}), 2);
    assert_granted(FILES({GROUP, "0::/job\n"}, {V2 "job/cpu.max", "1000 100000\n"}), 1);
    /* The tightest of the groups around the process, whichever it is. */
    assert_granted(FILES({GROUP, "0::/user/job/step\n"}, {V2 "user/job/step/cpu.max", "max 100000\n"},
                         {V2 "user/job/cpu.max", "300000 100000\n"}, {V2 "user/cpu.max", "800000 100000\n"}),
                   3);
    /* The path is the host's, and what is mounted is the container's own group. */
    assert_granted(FILES({GROUP, "0::/docker/0123\n"}, {V2 "cpu.max", "400000 100000\n"}), 4);
    assert_granted(FILES({GROUP, "0::/\n"}, {V2 "cpu.max", "400000 100000\n"}), 4);
    assert_granted(FILES({GROUP, "0::/job\n"}, {V2 "job/cpuset.cpus.effective", "0-3,8,10-11\n"}), 7);
    assert_granted(FILES({GROUP, "0::/job\n"}, {V2 "job/cpuset.cpus.effective", "0-3\n"},
                         {V2 "job/cpu.max", "250000 100000\n"}),
                   3);
    assert_granted(FILES({GROUP, "0::/job\n"}, {V2 "job/cpuset.cpus.effective", "\n"}), UINT32_MAX);
    assert_granted(FILES({GROUP, "0::/job\n"}, {V2 "job/cpu.max", "nonsense\n"}), UINT32_MAX);
}

static void control_groups_of_version_1(void **state)
{
    (void)state;
    const char *both = "5:cpuset:/job\n3:cpuacct,cpu:/job\n0::/\n";
    assert_granted(FILES({GROUP, both}), UINT32_MAX);
    assert_granted(FILES({GROUP, both}, {V2 "cpu/job/cpu.cfs_quota_us", "-1\n"},
                         {V2 "cpu/job/cpu.cfs_period_us", "100000\n"}),
                   UINT32_MAX);
    assert_granted(FILES({GROUP, both}, {V2 "cpu/job/cpu.cfs_quota_us", "250000\n"},
                         {V2 "cpu/job/cpu.cfs_period_us", "100000\n"}),
                   3);
    assert_granted(FILES({GROUP, both}, {V2 "cpuset/job/cpuset.effective_cpus", "4-5\n"},
                         {V2 "cpu/cpu.cfs_quota_us", "900000\n"}, {V2 "cpu/cpu.cfs_period_us", "100000\n"}),
                   2);
    /* cpuacct has nothing to say. */
    assert_granted(FILES({GROUP, "3:cpuacct:/job\n"}, {V2 "cpu/job/cpu.cfs_quota_us", "250000\n"},
                         {V2 "cpu/job/cpu.cfs_period_us", "100000\n"}),
                   UINT32_MAX);
}

/* ---- affinity ---- */

static void own_mask(void **state)
{
    (void)state;
    cpu_set_t all, one;
    hp_cores_t cores, bound;
    int first = 0;

    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    hp_cores_read(&cores);
    assert_int_equal(cores.count, CPU_COUNT(&all));
    assert_true(cores.limit >= 1 && cores.limit <= sysconf(_SC_NPROCESSORS_ONLN));
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    hp_cores_read(&bound);
    assert_int_equal(hp_cores_number(0), first);
    assert_int_equal(hp_cores_number(7), first);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(bound.count, 1);
    assert_true(CPU_COUNT(&all) == 1 || bound.mask_id != cores.mask_id);
    hp_cores_read(&bound);
    assert_true(bound.mask_id == cores.mask_id && bound.count == cores.count);
    assert_true(hp_cores_of_parent() <= cores.limit);
    for (uint32_t i = 0, last = UINT32_MAX; i < cores.count; last = hp_cores_number(i++))
        assert_true(CPU_ISSET(hp_cores_number(i), &all) && (i == 0 || hp_cores_number(i) > last));
    assert_int_equal(hp_cores_number(cores.count), hp_cores_number(0));
}

/* ---- what ranks of a node may use together ---- */

static bool is_crowded(const hp_cores_t *cores, uint32_t count, uint32_t expected_cores)
{
    hp_locality_t table[8];
    hp_transport_t transport = {0};
    hp_knobs_t knobs;
    hp_comm_t *comm;

    hp_knobs_defaults(&knobs);
    for (uint32_t rank = 0; rank < count; rank++)
        table[rank] = (hp_locality_t){.id = {7, 0, 0, 0, rank}, .cores = cores[rank]};
    assert_int_equal(hp_comm_create(count - 1, count, table, &knobs, &transport, &comm), HP_OK);
    const bool crowded = comm->crowded;
    assert_int_equal(comm->cores, expected_cores);
    hp_comm_destroy(comm);
    return crowded;
}

static void crowds(void **state)
{
    (void)state;
    /* mpirun --bind-to core: each rank has one of its own, of a machine with many more. */
    const hp_cores_t bound[] = {{1, 1, 64, 0, 0}, {2, 1, 64, 0, 0}, {3, 1, 64, 0, 0}, {4, 1, 64, 0, 0}};
    assert_false(is_crowded(bound, 4, 4));
    /* taskset -c 0 mpirun --bind-to none, on the same machine. */
    const hp_cores_t tasked[] = {{1, 1, 64, 0, 0}, {1, 1, 64, 0, 0}, {1, 1, 64, 0, 0}, {1, 1, 64, 0, 0}};
    assert_true(is_crowded(tasked, 4, 1));
    /* A container with a quota of two cores. */
    const hp_cores_t quota[] = {{9, 64, 2, 0, 0}, {9, 64, 2, 0, 0}, {9, 64, 2, 0, 0}};
    assert_true(is_crowded(quota, 3, 2));
    assert_false(is_crowded(quota, 2, 2));
    /* Two cores each, for threads. */
    const hp_cores_t pairs[] = {{1, 2, 64, 0, 0}, {2, 2, 64, 0, 0}, {3, 2, 64, 0, 0}, {4, 2, 64, 0, 0}};
    assert_false(is_crowded(pairs, 4, 8));
    /* Bound to two packages of two cores, three ranks each. */
    const hp_cores_t packages[] = {{1, 2, 4, 0, 0}, {1, 2, 4, 0, 0}, {1, 2, 4, 0, 0}, {2, 2, 4, 0, 0}, {2, 2, 4, 0, 0}, {2, 2, 4, 0, 0}};
    assert_true(is_crowded(packages, 6, 4));
    /* Unbound. */
    const hp_cores_t unbound[] = {{9, 4, 4, 0, 0}, {9, 4, 4, 0, 0}, {9, 4, 4, 0, 0}, {9, 4, 4, 0, 0}};
    assert_false(is_crowded(unbound, 4, 4));
    /* Two of the four ranks of a job: unbound on two cores, on four, all bound to one core each of a container of two. */
    const hp_cores_t some[] = {{9, 2, 2, 4, 4}, {9, 2, 2, 4, 4}};
    assert_true(is_crowded(some, 2, 2));
    const hp_cores_t roomy[] = {{9, 4, 4, 4, 4}, {9, 4, 4, 4, 4}};
    assert_false(is_crowded(roomy, 2, 4));
    const hp_cores_t contained[] = {{1, 1, 2, 1, 4}, {2, 1, 2, 1, 4}};
    assert_true(is_crowded(contained, 2, 2));
    /* One of them shares its core with a rank of another communicator. */
    const hp_cores_t shared[] = {{1, 1, 64, 1, 4}, {2, 1, 64, 2, 4}};
    assert_true(is_crowded(shared, 2, 2));
    /* Simulated ranks have no cores. */
    const hp_cores_t unknown[] = {{0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}};
    assert_false(is_crowded(unknown, 2, 0));
}

/* Every rank finds the cores of the same node for the model, whichever node it is on itself. */
static void cores_of_the_fullest_node(void **state)
{
    (void)state;
    const hp_locality_t table[] = {
        {.id = {1}, .cores = {1, 1, 8, 0, 0}}, {.id = {2}, .cores = {2, 2, 8, 0, 0}}, {.id = {2}, .cores = {3, 3, 8, 0, 0}}};
    hp_transport_t transport = {0};
    hp_knobs_t knobs;

    hp_knobs_defaults(&knobs);
    for (uint32_t rank = 0; rank < ARRAY_LENGTH(table); rank++) {
        hp_comm_t *comm;
        assert_int_equal(hp_comm_create(rank, ARRAY_LENGTH(table), table, &knobs, &transport, &comm), HP_OK);
        assert_int_equal(comm->cores, 5);
        hp_comm_destroy(comm);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_groups),
        cmocka_unit_test(control_groups_of_version_1),
        cmocka_unit_test(own_mask),
        cmocka_unit_test(crowds),
        cmocka_unit_test(cores_of_the_fullest_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
