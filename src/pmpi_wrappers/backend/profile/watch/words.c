#include "pmpi_wrappers/backend/profile/watch/words.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NOT_OPEN = -1 };

/* As the kernel writes it: PERF_SAMPLE_TIME alone. */
typedef struct {
    struct perf_event_header header;
    uint64_t ns;
} sample_t;

static struct {
    int file[HP_WORDS_MAX];
    unsigned left[HP_WORDS_MAX];    /* hits until it switches itself off */
    uint64_t counted[HP_WORDS_MAX]; /* hits since it was opened */
    bool is_open, is_used[HP_WORDS_MAX];
    struct perf_event_mmap_page *ring; /* of all four, with a page of samples behind it */
    size_t page;
    int ring_file;
} words = {.file = {NOT_OPEN, NOT_OPEN, NOT_OPEN, NOT_OPEN}, .ring_file = NOT_OPEN};
static uint64_t nowhere; /* what they watch until they are told */

static struct perf_event_attr attributes(const void *address, bool writes_only)
{
    return (struct perf_event_attr){.type = PERF_TYPE_BREAKPOINT,
                                    .size = sizeof(struct perf_event_attr),
                                    .sample_period = 1,
                                    .sample_type = PERF_SAMPLE_TIME,
                                    .disabled = 1,
                                    .exclude_kernel = 1,
                                    .exclude_hv = 1,
                                    .use_clockid = 1,
                                    .clockid = CLOCK_MONOTONIC,
                                    .bp_type = writes_only ? HW_BREAKPOINT_W : HW_BREAKPOINT_RW,
                                    .bp_addr = (uintptr_t)address,
                                    .bp_len = HP_WORDS_BYTES};
}

static int open_event(struct perf_event_attr *attr)
{
    return (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Where the samples of all go: an event that never happens has it, so that a watchpoint can be opened anew. */
static bool open_ring(void)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_DUMMY,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1,
                                   .use_clockid = 1,
                                   .clockid = CLOCK_MONOTONIC};

    words.ring_file = open_event(&attr);
    if (words.ring_file < 0)
        return false;
    void *ring = mmap(NULL, 2 * words.page, PROT_READ | PROT_WRITE, MAP_SHARED, words.ring_file, 0);
    words.ring = ring == MAP_FAILED ? NULL : ring;
    return words.ring != NULL;
}

static void close_one(unsigned i)
{
    if (words.file[i] >= 0)
        close(words.file[i]);
    words.file[i] = NOT_OPEN;
    words.counted[i] = 0;
    words.left[i] = 0;
}

static bool open_one(unsigned i)
{
    struct perf_event_attr attr = attributes(&nowhere, true);

    close_one(i);
    words.file[i] = open_event(&attr);
    if (words.file[i] >= 0 && ioctl(words.file[i], PERF_EVENT_IOC_SET_OUTPUT, words.ring_file) == 0)
        return true;
    close_one(i);
    return false;
}

/* May they be moved? Linux 4.17 and later. */
static bool can_move(void)
{
    struct perf_event_attr attr = attributes(&nowhere, false);
    return ioctl(words.file[0], PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr) == 0;
}

bool hp_words_open(void)
{
    words.page = (size_t)sysconf(_SC_PAGESIZE);
    words.is_open = open_ring() && open_one(0) && can_move();
    for (unsigned i = 1; words.is_open && i < HP_WORDS_MAX; i++)
        if (!open_one(i)) /* a debugger has the rest: what there is will do */
            break;
    if (words.is_open)
        return true;
    const int error = errno;
    hp_words_fini();
    errno = error;
    return false;
}

void hp_words_fini(void)
{
    for (unsigned i = 0; i < HP_WORDS_MAX; i++)
        close_one(i);
    if (words.ring)
        munmap(words.ring, 2 * words.page);
    if (words.ring_file >= 0)
        close(words.ring_file);
    words.ring = NULL;
    words.ring_file = NOT_OPEN;
    words.is_open = false;
}

static bool set_one(unsigned i, const void *address, bool writes_only)
{
    struct perf_event_attr attr = attributes(address, writes_only);

    if (ioctl(words.file[i], PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr) != 0)
        return false;
    const unsigned more = HP_WORDS_HITS - words.left[i]; /* 0 would mean: no limit */
    if (more ? ioctl(words.file[i], PERF_EVENT_IOC_REFRESH, more) != 0
             : ioctl(words.file[i], PERF_EVENT_IOC_ENABLE, 0) != 0)
        return false;
    words.left[i] = HP_WORDS_HITS;
    words.is_used[i] = true;
    return true;
}

static bool arm_range(const hp_words_range_t *its, unsigned *next, unsigned share)
{
    const uintptr_t start = (uintptr_t)its->range.start, first = start / HP_WORDS_BYTES;
    const uintptr_t count = (start + its->range.bytes - 1) / HP_WORDS_BYTES - first + 1;
    const unsigned sets = count < share ? (unsigned)count : share;
    bool is_set = true;

    for (unsigned i = 0; i < sets && is_set; i++) {
        const uintptr_t word = sets == 1 ? first : first + (count - 1) * i / (sets - 1);
        is_set = set_one((*next)++, (const void *)(word * HP_WORDS_BYTES), its->writes_only);
    }
    return is_set && sets == count;
}

bool hp_words_arm(const hp_words_range_t *ranges, unsigned count, bool *covers)
{
    unsigned have = 0, next = 0;

    while (words.is_open && have < HP_WORDS_MAX && words.file[have] >= 0)
        have++;
    *covers = have >= count;
    for (unsigned i = 0; i < count && next < have; i++) {
        const unsigned share = (have - next) / (count - i);
        *covers = arm_range(&ranges[i], &next, share ? share : 1) && *covers;
    }
    return next > 0;
}

/* What the kernel has written since the last time. */
static void read_ring(hp_words_hits_t *hits)
{
    const char *data = (const char *)words.ring + words.page;
    _Atomic uint64_t *head = (_Atomic uint64_t *)&words.ring->data_head;
    _Atomic uint64_t *tail = (_Atomic uint64_t *)&words.ring->data_tail;
    const uint64_t end = atomic_load_explicit(head, memory_order_acquire); /* the kernel's store of it */
    uint64_t at = atomic_load_explicit(tail, memory_order_relaxed);

    while (at <
           end) { /* samples have 16 bytes, and so have no ends of the page inside; what is lost has 24 */
        const struct perf_event_header *header = (const struct perf_event_header *)(data + at % words.page);
        if (header->size == 0)
            break;
        if (header->type == PERF_RECORD_SAMPLE) {
            const uint64_t ns = ((const sample_t *)header)->ns;
            hits->first_ns = !hits->first_ns || ns < hits->first_ns ? ns : hits->first_ns;
            hits->last_ns = ns > hits->last_ns ? ns : hits->last_ns;
        } else if (header->type == PERF_RECORD_LOST) {
            hits->is_full = true;
        }
        at += header->size;
    }
    atomic_store_explicit(tail, end, memory_order_release); /* the kernel may write there again */
}

hp_words_hits_t hp_words_disarm(void)
{
    hp_words_hits_t hits = {.count = 0};

    for (unsigned i = 0; i < HP_WORDS_MAX; i++)
        if (words.is_used[i])
            ioctl(words.file[i], PERF_EVENT_IOC_DISABLE, 0);
    for (unsigned i = 0; i < HP_WORDS_MAX; i++) {
        uint64_t counted = 0;
        if (!words.is_used[i])
            continue;
        words.is_used[i] = false;
        if (read(words.file[i], &counted, sizeof counted) == (ssize_t)sizeof counted) {
            const uint64_t new = counted - words.counted[i];
            words.counted[i] = counted;
            hits.count += new;
            words.left[i] = new < words.left[i] ? words.left[i] - (unsigned)new : 0;
        }
        if (words.left[i] == 0) { /* Linux 6.15 and later leave it stopped for good */
            hits.is_full = true;
            open_one(i);
        }
    }
    if (words.ring)
        read_ring(&hits);
    return hits;
}
