#include "base/cores.h"

#include <ctype.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool hp_cores_are_crowded(const hp_cores_t *cores)
{
    return cores->count > 0 && (cores->sharers > cores->count || cores->beside > cores->limit);
}

/* ---- control groups ---- */

enum { TEXT_BYTES = 4096 }; /* a list of processors is short, a path of a group at most PATH_MAX */

static bool read_text(const char *folder, const char *name, char text[TEXT_BYTES])
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return false;
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    const bool read = fgets(text, TEXT_BYTES, file) != NULL;
    fclose(file);
    return read;
}

/* Part of a core is rounded up: a container of 1.5 cores does run two threads at a time. */
static uint32_t cores_of_quota(long long quota_us, long long period_us)
{
    if (quota_us <= 0 || period_us <= 0)
        return UINT32_MAX;
    const long long cores = (quota_us - 1) / period_us + 1;
    return cores < UINT32_MAX ? (uint32_t)cores : UINT32_MAX;
}

/* cpu.max: "200000 100000", or "max 100000". */
static uint32_t quota_of_v2(const char *folder)
{
    char text[TEXT_BYTES];
    long long quota_us, period_us;

    if (!read_text(folder, "cpu.max", text) || sscanf(text, "%lld %lld", &quota_us, &period_us) != 2)
        return UINT32_MAX;
    return cores_of_quota(quota_us, period_us);
}

/* -1 is no quota. */
static uint32_t quota_of_v1(const char *folder)
{
    char quota[TEXT_BYTES], period[TEXT_BYTES];

    if (!read_text(folder, "cpu.cfs_quota_us", quota) || !read_text(folder, "cpu.cfs_period_us", period))
        return UINT32_MAX;
    return cores_of_quota(atoll(quota), atoll(period));
}

/* How many processors "0-3,8" names; UINT32_MAX: it names none. */
static uint32_t cores_of_list(const char *text)
{
    uint32_t count = 0;

    while (isdigit((unsigned char)*text)) {
        char *end;
        const unsigned long first = strtoul(text, &end, 10);
        const unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
        count += last >= first ? (uint32_t)(last - first + 1) : 0;
        text = *end == ',' ? end + 1 : end;
    }
    return count ? count : UINT32_MAX;
}

static uint32_t cpuset_of_v2(const char *folder)
{
    char text[TEXT_BYTES];
    return read_text(folder, "cpuset.cpus.effective", text) ? cores_of_list(text) : UINT32_MAX;
}

static uint32_t cpuset_of_v1(const char *folder)
{
    char text[TEXT_BYTES];
    return read_text(folder, "cpuset.effective_cpus", text) ? cores_of_list(text) : UINT32_MAX;
}

/* The smallest limit of the group and those around it. Inside a container the path may be the host's while the
 * container's own group is mounted as the outermost one: folders that do not exist are passed over. */
static uint32_t smallest(const char *mount, const char *group, uint32_t (*limit_of)(const char *folder))
{
    char folder[PATH_MAX];
    uint32_t least = UINT32_MAX;
    const size_t mount_length = strlen(mount);

    if (snprintf(folder, sizeof folder, "%s%s", mount, group) >= (int)sizeof folder)
        return least;
    for (;;) {
        const uint32_t limit = limit_of(folder);
        least = limit < least ? limit : least;
        char *slash = strrchr(folder, '/');
        if (strlen(folder) <= mount_length || !slash)
            return least;
        *slash = '\0';
    }
}

static bool has_word(const char *list, const char *word)
{
    const size_t length = strlen(word);

    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

/* A line of /proc/self/cgroup, "NUMBER:CONTROLLERS:/GROUP"; version 2 is number 0 without controllers. */
static uint32_t limit_of_line(const char *root, char *line)
{
    char mount[PATH_MAX];
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    uint32_t limit = UINT32_MAX, other = UINT32_MAX;

    if (!group)
        return limit;
    controllers++;
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (*controllers == '\0') {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
        limit = smallest(mount, group, quota_of_v2);
        other = smallest(mount, group, cpuset_of_v2);
    }
    if (has_word(controllers, "cpu")) {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/cpu", root);
        limit = smallest(mount, group, quota_of_v1);
    }
    if (has_word(controllers, "cpuset")) {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/cpuset", root);
        other = smallest(mount, group, cpuset_of_v1);
    }
    return limit < other ? limit : other;
}

uint32_t hp_cores_of_cgroups(const char *root)
{
    char path[PATH_MAX], line[TEXT_BYTES];
    uint32_t least = UINT32_MAX;

    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    if (!file)
        return least;
    while (fgets(line, sizeof line, file)) {
        const uint32_t limit = limit_of_line(root, line);
        least = limit < least ? limit : least;
    }
    fclose(file);
    return least;
}

/* ---- affinity ---- */

/* The mask of a process, of any size: a machine may have more processors than cpu_set_t holds. NULL: unknown. */
static cpu_set_t *read_mask(pid_t process, size_t *bytes)
{
    enum { PROCESSORS_MAX = 1 << 20 };

    for (int processors = CPU_SETSIZE; processors <= PROCESSORS_MAX; processors *= 2) {
        cpu_set_t *mask = CPU_ALLOC(processors);
        if (!mask)
            return NULL;
        *bytes = CPU_ALLOC_SIZE(processors);
        CPU_ZERO_S(*bytes, mask);
        if (sched_getaffinity(process, *bytes, mask) == 0)
            return mask;
        CPU_FREE(mask);
    }
    return NULL;
}

/* FNV-1a of the numbers of the mask's processors, whatever size the mask was read with. */
static uint64_t id_of(const cpu_set_t *mask, size_t bytes)
{
    uint64_t id = UINT64_C(0xcbf29ce484222325);

    for (size_t processor = 0; processor < 8 * bytes; processor++)
        if (CPU_ISSET_S(processor, bytes, mask))
            id = (id ^ processor) * UINT64_C(0x100000001b3);
    return id;
}

static uint32_t online(void)
{
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (uint32_t)count : 1;
}

static uint32_t own_limit(void)
{
    const uint32_t granted = hp_cores_of_cgroups(""), present = online();
    return granted < present ? granted : present;
}

void hp_cores_read(hp_cores_t *out)
{
    size_t bytes;
    cpu_set_t *mask = read_mask(getpid(), &bytes);

    *out = (hp_cores_t){.count = online(), .limit = own_limit()};
    if (mask) {
        out->mask_id = id_of(mask, bytes);
        out->count = (uint32_t)CPU_COUNT_S(bytes, mask);
        CPU_FREE(mask);
    }
}

uint32_t hp_cores_number(uint32_t i)
{
    size_t bytes, processor = 0;
    cpu_set_t *mask = read_mask(getpid(), &bytes);

    if (!mask)
        return i % online();
    for (uint32_t before = i % (uint32_t)CPU_COUNT_S(bytes, mask);; processor++) {
        if (CPU_ISSET_S(processor, bytes, mask) && before-- == 0)
            break;
    }
    CPU_FREE(mask);
    return (uint32_t)processor;
}

uint32_t hp_cores_of_parent(void)
{
    const pid_t parent = getppid(); /* 0: in another PID namespace, and 0 would mean ourselves */
    const uint32_t limit = own_limit();
    size_t bytes;
    cpu_set_t *mask = parent > 0 ? read_mask(parent, &bytes) : NULL;

    if (!mask)
        return 0;
    const uint32_t count = (uint32_t)CPU_COUNT_S(bytes, mask);
    CPU_FREE(mask);
    return count < limit ? count : limit;
}
