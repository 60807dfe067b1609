/* cores: how many cores this process may use, which is often fewer than the machine has.
 *
 * A job sees a part of the machine in three ways: a CPU affinity mask (taskset, the binding of a launcher), a
 * cpuset of its control group (batch systems, containers), and a quota of processor time (containers). The kernel
 * applies the cpuset to the mask; the quota must be read from the control group and all groups around it.
 *
 * A rank's own mask is not what the job may use: `mpirun --bind-to core` gives each rank one core of its own, and
 * four such ranks on four cores are not crowded, while four ranks below `taskset -c 0` are. So ranks exchange
 * hp_cores_t with their localities, and hp_locality_cores (topo_tree/locality.h) adds up their masks. Nor is a
 * communicator all that runs: two ranks of four on two cores have two cores, and two others that want them. So the
 * ranks of the whole job are counted at its start.
 * "Core" means here what the kernel schedules on: a hardware thread.
 *
 * Threads: any; each call reads the system anew. Ownership: the caller's structures, nothing is kept. */
#ifndef HP_BASE_CORES_H
#define HP_BASE_CORES_H

#include <stdbool.h>
#include <stdint.h>

/* Plain data without padding: it travels between ranks as bytes. All zero: not known (simulated machines). */
typedef struct {
    uint64_t mask_id; /* equal for processes with the same affinity mask */
    uint32_t count;   /* cores in the mask */
    uint32_t limit;   /* cores that all processes of this control group may use together */
    /* Of the whole job, this process among them; 0: not known. */
    uint32_t sharers; /* ranks on this node with this mask */
    uint32_t beside;  /* ranks on this node */
} hp_cores_t;

/* Do more ranks of the job run here than there are cores for them? Not known: no. */
bool hp_cores_are_crowded(const hp_cores_t *cores);

/* Of the calling process's main thread. Of the job nothing is known then. */
void hp_cores_read(hp_cores_t *out);

/* The operating system's number of the i-th core in that mask; past the last it begins anew. */
uint32_t hp_cores_number(uint32_t i);

/* The cores that a process beside us may use, such as the launcher that started us and is bound to none of the
 * ranks' cores; at most the limit. For what must be known before the ranks have exchanged anything. 0: unknown. */
uint32_t hp_cores_of_parent(void);

/* The cores that the control groups of the calling process grant; UINT32_MAX: they set no limit. root: "", or a
 * folder in which a test has files proc/self/cgroup and sys/fs/cgroup. */
uint32_t hp_cores_of_cgroups(const char *root);

#endif
