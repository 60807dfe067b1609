/* test_node_memory: where everything lies, and how processes come to share it and to read each other. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "check.h"
#include "event_engine/mem/node_memory.h"
#include "event_engine/mem/pages.h"
#include "event_engine/mem/shared_file.h"
#include "faults.h"
#include "hier/collectives/cells.h"

enum { LINE_BYTES = 64, LEVELS_MAX = 4, MEMBERS_MAX = 9, SLOTS_MAX = 9 };

/* ---- layout ---- */

typedef struct {
    const char *from, *to;
} range_t;

static int by_address(const void *a, const void *b)
{
    const range_t *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

static hp_node_shape_t random_shape(check_random_t *random)
{
    return (hp_node_shape_t){.members = 1 + check_random_below(random, MEMBERS_MAX),
                             .levels = 1 + check_random_below(random, LEVELS_MAX),
                             .slots = 1 + check_random_below(random, SLOTS_MAX),
                             .slot_bytes = LINE_BYTES * (1 + (size_t)check_random_below(random, 40))};
}

/* Everything a member owns, as ranges of bytes. Counters keep away from other members' and from each other:
 * each is given two lines. */
static size_t list_member(const hp_node_memory_t *memory, uint32_t member, range_t *ranges)
{
    const hp_node_shape_t *shape = &memory->shape;
    size_t count = 0;
    const char *at = (const char *)hp_node_done(memory, member);

    ranges[count++] = (range_t){at, at + 2 * LINE_BYTES};
    at = (const char *)hp_node_buffer(memory, member, HP_FAN_IN);
    ranges[count++] = (range_t){at, at + sizeof(hp_node_buffer_t)};
    at = (const char *)hp_node_buffer(memory, member, HP_FAN_OUT);
    ranges[count++] = (range_t){at, at + sizeof(hp_node_buffer_t)};
    for (unsigned fan = 0; fan < HP_FAN_COUNT; fan++) {
        for (uint32_t level = 0; level < shape->levels; level++) {
            at = (const char *)hp_node_counter(memory, member, level, (hp_fan_t)fan);
            ranges[count++] = (range_t){at, at + 2 * LINE_BYTES};
            for (uint32_t slot = 0; slot < shape->slots; slot++) {
                at = hp_node_slot(memory, member, level, (hp_fan_t)fan, slot);
                ranges[count++] = (range_t){at, at + shape->slot_bytes};
            }
        }
        for (uint64_t cell = 0; cell < HP_CELLS; cell++) {
            at = (const char *)hp_node_cell(memory, member, (hp_fan_t)fan, cell);
            ranges[count++] = (range_t){at, at + sizeof(hp_cell_t)};
        }
    }
    return count;
}

static void nothing_overlaps(void **state)
{
    (void)state;
    enum { A_MEMBER = 3 + HP_FAN_COUNT * (LEVELS_MAX * (1 + SLOTS_MAX) + HP_CELLS) };
    check_random_t random = check_random_start("nothing_overlaps");
    const pid_t pids[MEMBERS_MAX] = {0};
    range_t ranges[A_MEMBER * MEMBERS_MAX];

    for (unsigned run = 0; run < 300; run++) {
        const hp_node_shape_t shape = random_shape(&random);
        const size_t bytes = hp_node_memory_bytes(&shape);
        hp_node_memory_t memory;
        size_t count = 0;
        char *base =
            mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* nothing is written */

        assert_ptr_not_equal(base, MAP_FAILED);
        assert_int_equal(bytes % 4096, 0);
        assert_int_equal(hp_node_memory_init(&memory, &shape, 0, pids, -1, base), HP_OK);
        for (uint32_t member = 0; member < shape.members; member++)
            count += list_member(&memory, member, ranges + count);
        for (size_t i = 0; i < count; i++) {
            assert_true(ranges[i].from >= base + LINE_BYTES && ranges[i].to <= base + bytes);
            const size_t alignment =
                ranges[i].to - ranges[i].from == sizeof(hp_node_buffer_t) ? sizeof(void *) : LINE_BYTES;
            assert_int_equal((uintptr_t)ranges[i].from % alignment, 0);
        }
        qsort(ranges, count, sizeof *ranges, by_address);
        for (size_t i = 1; i < count; i++)
            assert_true(ranges[i].from >= ranges[i - 1].to);
        hp_node_memory_fini(&memory);
        munmap(base, bytes);
    }
}

static void counters_tell_their_owner(void **state)
{
    (void)state;
    check_random_t random = check_random_start("counters_tell_their_owner");
    const pid_t pids[MEMBERS_MAX] = {0};

    for (unsigned run = 0; run < 100; run++) {
        const hp_node_shape_t shape = random_shape(&random);
        hp_node_memory_t memory;
        assert_int_equal(hp_node_memory_init(&memory, &shape, 0, pids, -1, (void *)(uintptr_t)0x10000000),
                         HP_OK);
        for (uint32_t member = 0; member < shape.members; member++) {
            assert_int_equal(hp_node_owner(&memory, hp_node_done(&memory, member)), member);
            for (unsigned fan = 0; fan < HP_FAN_COUNT; fan++) {
                for (uint32_t level = 0; level < shape.levels; level++)
                    assert_int_equal(
                        hp_node_owner(&memory, hp_node_counter(&memory, member, level, (hp_fan_t)fan)),
                        member);
                for (uint64_t cell = 0; cell < HP_CELLS; cell++)
                    assert_int_equal(
                        hp_node_owner(&memory, &hp_node_cell(&memory, member, (hp_fan_t)fan, cell)->flag),
                        member);
            }
        }
        hp_node_memory_fini(&memory);
    }
}

static void rings_come_around(void **state)
{
    (void)state;
    const hp_node_shape_t shape = {.members = 2, .levels = 2, .slots = 3, .slot_bytes = 128};
    const pid_t pids[2] = {0};
    void *base = calloc(1, hp_node_memory_bytes(&shape));
    hp_node_memory_t memory;

    assert_non_null(base);
    assert_int_equal(hp_node_memory_init(&memory, &shape, 1, pids, -1, base), HP_OK);
    for (uint64_t step = 0; step < 20; step++) {
        assert_ptr_equal(hp_node_slot(&memory, 1, 1, HP_FAN_IN, step),
                         hp_node_slot(&memory, 1, 1, HP_FAN_IN, step + shape.slots));
        assert_ptr_equal(hp_node_cell(&memory, 1, HP_FAN_OUT, step),
                         hp_node_cell(&memory, 1, HP_FAN_OUT, step + HP_CELLS));
        assert_ptr_not_equal(hp_node_slot(&memory, 1, 1, HP_FAN_IN, step),
                             hp_node_slot(&memory, 1, 1, HP_FAN_IN, step + 1));
    }
    hp_node_memory_fini(&memory);
    free(base);
}

/* ---- between processes ---- */

static hp_node_shape_t small_shape(void)
{
    return (hp_node_shape_t){.members = 2, .levels = 1, .slots = 2, .slot_bytes = 64};
}

enum { CHILD_SAW_IT = 42, MARK = 4711 };

/* The child: opens the parent's file by its number, waits for the parent's counter, answers with its own. */
static int be_member(pid_t parent, int fd)
{
    const hp_node_shape_t shape = small_shape();
    const pid_t pids[2] = {parent, getpid()};
    hp_node_memory_t memory;
    int own_fd;

    if (hp_shared_file_open(parent, fd, MARK, &own_fd) != HP_OK ||
        hp_node_memory_init(&memory, &shape, 1, pids, own_fd, NULL) != HP_OK)
        return 1;
    close(own_fd);
    while (atomic_load_explicit(hp_node_counter(&memory, 0, 0, HP_FAN_OUT), memory_order_acquire) == 0)
        usleep(100);
    const bool right = strcmp(hp_node_slot(&memory, 0, 0, HP_FAN_OUT, 0), "from the parent") == 0;
    strcpy(hp_node_slot(&memory, 1, 0, HP_FAN_IN, 0), "from the child");
    atomic_store_explicit(hp_node_counter(&memory, 1, 0, HP_FAN_IN), 1, memory_order_release);
    hp_node_memory_fini(&memory);
    return right ? CHILD_SAW_IT : 2;
}

/* The file's number is not to be inherited: the child closes it, as another rank never had it. */
static void two_processes_share(void **state)
{
    (void)state;
    const hp_node_shape_t shape = small_shape();
    const pid_t pids[2] = {getpid(), 0};
    const pid_t parent = getpid();
    hp_node_memory_t memory;
    int fd, status;

    assert_int_equal(hp_shared_file_create(hp_node_memory_bytes(&shape), MARK, &fd), HP_OK);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    const pid_t child = fork();
    if (child == 0) {
        close(fd);
        _exit(be_member(parent, fd));
    }
    assert_true(child > 0);
    assert_int_equal(hp_node_memory_init(&memory, &shape, 0, pids, fd, NULL), HP_OK);
    const uint64_t mark = MARK;
    assert_memory_equal(memory.base, &mark, sizeof mark);
    for (size_t i = 64; i < memory.bytes; i += 64) /* a new file is zeroed */
        if (memory.base[i] && memory.base + i != hp_node_slot(&memory, 1, 0, HP_FAN_IN, 0))
            fail_msg("byte %zu is not 0", i);
    strcpy(hp_node_slot(&memory, 0, 0, HP_FAN_OUT, 0), "from the parent");
    atomic_store_explicit(hp_node_counter(&memory, 0, 0, HP_FAN_OUT), 1, memory_order_release);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == CHILD_SAW_IT);
    assert_int_equal(atomic_load(hp_node_counter(&memory, 1, 0, HP_FAN_IN)), 1);
    assert_string_equal(hp_node_slot(&memory, 1, 0, HP_FAN_IN, 0), "from the child");
    close(fd);
    hp_node_memory_fini(&memory);
}

/* The number of a file is told before its size is known. Each process completes it, whoever comes first. */
static void a_file_completed_by_each(void **state)
{
    (void)state;
    enum { PROCESSES = 4, BYTES = 1 << 20, STARTED = 10 };
    const pid_t parent = getpid();
    pid_t children[PROCESSES];
    int fd, status;

    assert_int_equal(hp_shared_file_begin(MARK, &fd), HP_OK);
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] != 0)
            continue;
        int own_fd;
        if (hp_shared_file_open(parent, fd, MARK, &own_fd) != HP_OK ||
            hp_shared_file_complete(own_fd, BYTES) != HP_OK || lseek(own_fd, 0, SEEK_END) != BYTES)
            _exit(1);
        char *base = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, own_fd, 0);
        if (base == MAP_FAILED)
            _exit(2);
        base[BYTES - 1 - i] = (char)(STARTED + i); /* stays, whoever completes it after this */
        _exit(0);
    }
    assert_int_equal(hp_shared_file_complete(fd, BYTES), HP_OK);
    for (int i = 0; i < PROCESSES; i++) {
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        char byte = 0;
        assert_int_equal(pread(fd, &byte, 1, BYTES - 1 - i), 1);
        assert_int_equal(byte, STARTED + i);
    }
    assert_int_equal(hp_shared_file_complete(fd, BYTES), HP_OK);
    assert_int_equal(hp_shared_file_complete(fd, 2 * BYTES), HP_ERR_NO_MEM); /* it is sealed */
    assert_int_equal(hp_shared_file_complete(fd, BYTES / 2), HP_ERR_NO_MEM);
    close(fd);
}

static void what_cannot_be_opened(void **state)
{
    (void)state;
    int fd, own_fd;

    assert_int_equal(hp_shared_file_open(getpid(), 1000000, MARK, &fd), HP_ERR_NOT_FOUND);
    assert_int_equal(hp_shared_file_open(0x7ffffff0, 0, MARK, &fd), HP_ERR_NOT_FOUND);
    assert_int_equal(fd, -1);
    assert_int_equal(hp_shared_file_create(SIZE_MAX, MARK, &fd), HP_ERR_NO_MEM);
    assert_int_equal(fd, -1);
    assert_int_equal(hp_shared_file_create(8192, MARK, &fd), HP_OK);
    assert_int_equal(hp_shared_file_open(getpid(), fd, MARK + 1, &own_fd),
                     HP_ERR_NOT_FOUND); /* another one's */
    assert_int_equal(own_fd, -1);
    assert_int_equal(hp_shared_file_open(getpid(), fd, MARK, &own_fd), HP_OK);
    close(own_fd);
    close(fd);
}

/* A child that has the word, with another value than ours, and stands still until it is killed. */
static pid_t fork_holder(uint64_t *word, uint64_t value)
{
    int ready[2];
    char byte;

    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        *word = value;
        hp_peer_permit_access();
        if (write(ready[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_true(child > 0);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void end(pid_t child)
{
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void pulls_from_and_pushes_to_another_process(void **state)
{
    (void)state;
    enum { WORDS = 100000 };
    const hp_node_shape_t shape = small_shape();
    uint64_t *words = calloc(WORDS, sizeof *words), *got = calloc(WORDS, sizeof *got);
    hp_node_memory_t memory;

    assert_true(words && got);
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = i;
    const pid_t child = fork_holder(&words[WORDS - 1], 4711);
    hp_peer_t *peer = hp_peer_open(child);
    assert_non_null(peer);
    if (!hp_peer_is_reachable(peer, &words[WORDS - 1], 4711)) {
        hp_peer_close(peer);
        end(child);
        free(words);
        free(got);
        skip(); /* not allowed here: a container without SYS_PTRACE */
    }
    assert_false(hp_peer_is_reachable(peer, &words[WORDS - 1], 4712)); /* another process than expected */
    assert_false(hp_peer_is_reachable(peer, NULL, 0));
    const pid_t pids[2] = {getpid(), child};
    assert_int_equal(hp_node_memory_init(&memory, &shape, 0, pids, -1, (void *)(uintptr_t)0x10000), HP_OK);
    assert_int_equal(hp_node_pull(&memory, 1, words, got, WORDS * sizeof *words), HP_OK);
    for (unsigned i = 0; i < WORDS; i++)
        assert_int_equal(got[i], i + 1 == WORDS ? 4711 : i);
    /* A few bytes in the middle, and an address that is none. */
    memset(got, 0, 16);
    assert_int_equal(hp_node_pull(&memory, 1, (char *)words + 13, got, 3), HP_OK);
    assert_memory_equal(got, (char *)words + 13, 3);
    assert_int_equal(((char *)got)[3], 0);
    assert_int_equal(hp_node_pull(&memory, 1, NULL, got, 8), HP_ERR_PEER);
    /* The other way. */
    assert_int_equal(hp_node_push(&memory, 1, "pushed", (char *)words + 100, 7), HP_OK);
    assert_int_equal(hp_node_pull(&memory, 1, (char *)words + 100, got, 7), HP_OK);
    assert_string_equal((char *)got, "pushed");
    assert_string_not_equal((char *)words + 100, "pushed"); /* its memory, not ours */
    assert_int_equal(hp_node_push(&memory, 1, got, NULL, 8), HP_ERR_PEER);
    end(child);
    assert_int_equal(hp_node_pull(&memory, 1, words, got, 8), HP_ERR_PEER);
    assert_false(hp_peer_is_reachable(peer, &words[WORDS - 1], 4711));
    hp_peer_close(peer);
    hp_node_memory_fini(&memory);
    free(words);
    free(got);
}

/* What the kernel is asked: no pidfds where it has none, and how often memory of a process number was read. */
static bool has_no_pidfds;
static unsigned reads_of_a_number;

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (has_no_pidfds && number == SYS_pidfd_open) {
        errno = ENOSYS;
        return -1;
    }
    return __real_syscall(number, a, b, c, d, e, f);
}

ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
                                const struct iovec *remote, unsigned long remote_count, unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
                                const struct iovec *remote, unsigned long remote_count, unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
                                const struct iovec *remote, unsigned long remote_count, unsigned long flags)
{
    reads_of_a_number++;
    return __real_process_vm_readv(pid, local, local_count, remote, remote_count, flags);
}

/* The number of a process that has ended may be another's by now: it is not used any more. */
static void check_numbers_of_the_dead(void)
{
    uint64_t word = 0, got;
    const pid_t child = fork_holder(&word, 4711);
    hp_peer_t *peer = hp_peer_open(child), *again = hp_peer_open(child);

    assert_non_null(peer);
    assert_ptr_equal(again, peer); /* one descriptor, whoever uses it */
    hp_peer_close(again);
    reads_of_a_number = 0;
    const bool allowed = hp_peer_read(peer, &word, &got, sizeof got) == HP_OK;
    assert_int_equal(reads_of_a_number, 1);
    assert_true(!allowed || got == 4711);
    end(child);
    reads_of_a_number = 0;
    assert_int_equal(hp_peer_read(peer, &word, &got, sizeof got), HP_ERR_PEER);
    assert_int_equal(reads_of_a_number, 0);
    assert_null(hp_peer_open(child));
    hp_peer_close(peer);
}

static void numbers_of_the_dead_are_not_used(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        has_no_pidfds = i;
        check_numbers_of_the_dead();
    }
    has_no_pidfds = false;
}

/* A peer that made it shorter would end the others with a SIGBUS. */
static void nobody_changes_the_size_of_the_file(void **state)
{
    (void)state;
    int fd;
    assert_int_equal(hp_shared_file_create(8192, MARK, &fd), HP_OK);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(ftruncate(fd, 16384), -1);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
    close(fd);
}

static void pulls_inside_the_process(void **state)
{
    (void)state;
    const hp_node_shape_t shape = small_shape();
    const pid_t pids[2] = {0};
    const char from[] = "the other member";
    char to[sizeof from] = "";
    hp_node_memory_t memory;

    assert_int_equal(hp_node_memory_init(&memory, &shape, 0, pids, -1, (void *)(uintptr_t)0x10000), HP_OK);
    assert_int_equal(hp_node_pull(&memory, 1, from, to, sizeof from), HP_OK);
    assert_string_equal(to, from);
    hp_node_memory_fini(&memory);
}

static void clear_is_what_all_have_read(void **state)
{
    (void)state;
    const hp_node_shape_t shape = {.members = 3, .levels = 1, .slots = 2, .slot_bytes = 64};
    const pid_t pids[3] = {0};
    const size_t bytes = hp_node_memory_bytes(&shape);
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    hp_node_memory_t memory;

    assert_ptr_not_equal(base, MAP_FAILED);
    assert_int_equal(hp_node_memory_init(&memory, &shape, 1, pids, -1, base), HP_OK);
    assert_true(hp_node_is_clear(&memory, 0));
    assert_false(hp_node_is_clear(&memory, 1));
    atomic_store(hp_node_done(&memory, 0), 5);
    atomic_store(hp_node_done(&memory, 1), 7);
    assert_false(hp_node_is_clear(&memory, 1));
    atomic_store(hp_node_done(&memory, 2), 3);
    assert_true(hp_node_is_clear(&memory, 1));
    assert_true(hp_node_is_clear(&memory, 3));
    assert_false(hp_node_is_clear(&memory, 4));
    atomic_store(hp_node_done(&memory, 2), 6);
    assert_true(hp_node_is_clear(&memory, 5)); /* it looked again */
    assert_false(hp_node_is_clear(&memory, 6));
    hp_node_memory_fini(&memory); /* not ours to unmap */
    assert_int_equal(atomic_load(hp_node_done(&memory, 0)), 5);
    munmap(base, bytes);
}

/* ---- sleeping ---- */

enum { LONG_NS = 2000000000, WOKEN = 43, SLEPT_THROUGH = 44 };
enum { CROWD = 70, SLEEPER = 69 }; /* more members than bits in a word */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Sleeps until the counter has the value, saying on the way that it is about to. */
static int sleep_until(const hp_node_memory_t *memory, const hp_counter_t *counter, bool any, uint64_t value)
{
    const uint64_t start = now_ns();
    bool slept = false;

    while (atomic_load_explicit(counter, memory_order_acquire) < value) {
        const uint32_t rings = hp_node_sleep_begin(memory, any ? NULL : counter);
        if (atomic_load_explicit(counter, memory_order_acquire) >= value) {
            hp_node_sleep_cancel(memory);
            break;
        }
        atomic_fetch_add(hp_node_done(memory, memory->own), 1);
        hp_node_sleep_wait(memory, rings, LONG_NS);
        slept = true;
        if (now_ns() - start >= LONG_NS)
            return SLEPT_THROUGH;
    }
    return slept ? WOKEN : 0;
}

/* The child has said that it is about to sleep so many times, and has not given up. */
static void await_sleeper(const hp_node_memory_t *memory, pid_t child, uint64_t times)
{
    while (atomic_load(hp_node_done(memory, SLEEPER)) < times) {
        assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
        usleep(100);
    }
}

/* Long before its time is over: a member that sleeps is woken by who sets its counter, or any if it waits for
 * any. */
static void who_sets_a_counter_wakes_who_sleeps_for_it(void **state)
{
    (void)state;
    const hp_node_shape_t shape = {.members = CROWD, .levels = 1, .slots = 2, .slot_bytes = 64};
    const pid_t pids[CROWD] = {0};
    int fd, status;

    for (int any = 0; any < 2; any++) {
        hp_node_memory_t memory;
        assert_int_equal(hp_shared_file_create(hp_node_memory_bytes(&shape), MARK, &fd), HP_OK);
        assert_int_equal(hp_node_memory_init(&memory, &shape, 0, pids, fd, NULL), HP_OK);
        memory.wakes = true;
        hp_counter_t *counter = hp_node_counter(&memory, 0, 0, HP_FAN_OUT);
        hp_counter_t *other = hp_node_counter(&memory, 0, 0, HP_FAN_IN);
        const pid_t child = fork();
        if (child == 0) {
            memory.own = SLEEPER;
            _exit(sleep_until(&memory, counter, any, 3));
        }
        for (uint64_t value = 1; value <= 3; value++) {
            await_sleeper(&memory, child, any ? 2 * value - 1 : value);
            if (any) {
                hp_node_set(&memory, other, value); /* wakes it too, in vain */
                await_sleeper(&memory, child, 2 * value);
            }
            hp_node_set(&memory, counter, value);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), WOKEN);
        close(fd);
        hp_node_memory_fini(&memory);
    }
}

static void a_sleep_ends_when_its_time_is_over(void **state)
{
    (void)state;
    const hp_node_shape_t shape = small_shape();
    const pid_t pids[2] = {0};
    const uint64_t nap_ns = 20000000;
    hp_node_memory_t memory;
    int fd;

    assert_int_equal(hp_shared_file_create(hp_node_memory_bytes(&shape), MARK, &fd), HP_OK);
    assert_int_equal(hp_node_memory_init(&memory, &shape, 0, pids, fd, NULL), HP_OK);
    const uint64_t start = now_ns();
    const uint32_t rings = hp_node_sleep_begin(&memory, NULL);
    hp_node_sleep_wait(&memory, rings, nap_ns);
    assert_true(now_ns() - start >= nap_ns);
    close(fd);
    hp_node_memory_fini(&memory);
}

/* ---- pages ---- */

/* Of all cells, so many bytes of the payload. */
static unsigned touch(const hp_node_memory_t *memory, uint32_t member, bool writes, size_t bytes)
{
    unsigned sum = 0;

    for (uint64_t step = 0; step < HP_CELLS; step++) {
        volatile char *payload = hp_node_cell(memory, member, HP_FAN_OUT, step)->payload;
        for (size_t i = 0; i < bytes; i++)
            if (writes)
                payload[i] = 3;
            else
                sum += (unsigned)payload[i];
    }
    return sum;
}

/* Who writes has pages for its cells after its first call of a length, who reads after its second: what follows meets none that is
 * not there. */
static void cells_that_are_warm_have_pages(void **state)
{
    (void)state;
    enum { BYTES = 5000 };
    const hp_node_shape_t shape = small_shape();
    const pid_t pids[2] = {0};
    hp_node_memory_t writer, reader;
    int fd;

    if (!hp_pages_make(NULL, 0, true))
        skip();
    assert_int_equal(hp_shared_file_create(hp_node_memory_bytes(&shape), MARK, &fd), HP_OK);
    assert_int_equal(hp_node_memory_init(&writer, &shape, 0, pids, fd, NULL), HP_OK);
    assert_int_equal(hp_node_memory_init(&reader, &shape, 1, pids, fd, NULL), HP_OK);
    strcpy(hp_node_cell(&writer, 0, HP_FAN_OUT, 0)->payload, "kept");
    const uint32_t read[] = {0};
    for (unsigned longer = 0; longer < 2; longer++) {
        const size_t bytes = BYTES * (1 + longer);
        assert_false(hp_cells_warm(&writer, HP_FAN_OUT, bytes, true, NULL, 0));
        assert_false(hp_cells_warm(&reader, HP_FAN_OUT, bytes, false, read, 1));
        assert_memory_equal(hp_node_cell(&writer, 0, HP_FAN_OUT, 0)->payload, longer ? "\3\3\3\3" : "kept",
                            4);
        long before = faults();
        touch(&writer, 0, true, bytes);
        assert_int_equal(faults(), before);
        assert_true(hp_cells_warm(&writer, HP_FAN_OUT, bytes, true, NULL, 0));
        assert_true(hp_cells_warm(&reader, HP_FAN_OUT, bytes, false, read, 1));
        before = faults();
        assert_int_equal(touch(&reader, 0, false, bytes), 3 * HP_CELLS * bytes);
        assert_int_equal(faults(), before);
        assert_true(hp_cells_warm(&reader, HP_FAN_OUT, 1, false, read, 1));
    }
    assert_false(
        hp_cells_warm(&reader, HP_FAN_OUT, BYTES, true, read, 1)); /* who has read so far writes, too */
    const long before = faults();
    touch(&reader, 1, true, BYTES);
    assert_int_equal(faults(), before);
    assert_true(hp_cells_warm(&reader, HP_FAN_OUT, BYTES, true, read, 1));
    close(fd);
    hp_node_memory_fini(&reader);
    hp_node_memory_fini(&writer);
}

/* Every start in a line, at either end, and lengths around whole lines. */
static void what_goes_past_the_caches_is_there(void **state)
{
    enum { LINE = 64, MOST = 5 * LINE, ROOM = MOST + 4 * LINE };
    static _Alignas(64) unsigned char to[ROOM], from[ROOM];

    (void)state;
    for (size_t i = 0; i < ROOM; i++)
        from[i] = (unsigned char)(i * 37 + 11);
    for (size_t out = 0; out <= LINE; out++)
        for (size_t in = 0; in <= 17; in++)
            for (size_t bytes = 0; bytes <= MOST; bytes += bytes % LINE < 2 || bytes % LINE > 60 ? 1 : 7) {
                memset(to, 0xee, sizeof to);
                hp_stream_copy(to + LINE + out, from + in, bytes);
                assert_memory_equal(to + LINE + out, from + in, bytes);
                assert_int_equal(to[LINE + out - 1], 0xee);
                assert_int_equal(to[LINE + out + bytes], 0xee);
            }
}

static void writes_go_past_the_caches_from_so_many_bytes_on(void **state)
{
    char to[200], from[200];

    (void)state;
    memset(from, 'a', sizeof from);
    for (size_t streams_from = 0; streams_from <= 200; streams_from += 100) {
        const hp_node_memory_t memory = {.streams_from = streams_from};
        memset(to, 'b', sizeof to);
        hp_node_write(&memory, to, from, 150);
        assert_memory_equal(to, from, 150);
        assert_int_equal(to[150], 'b');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_overlaps),
        cmocka_unit_test(counters_tell_their_owner),
        cmocka_unit_test(rings_come_around),
        cmocka_unit_test(two_processes_share),
        cmocka_unit_test(a_file_completed_by_each),
        cmocka_unit_test(what_cannot_be_opened),
        cmocka_unit_test(pulls_from_and_pushes_to_another_process),
        cmocka_unit_test(pulls_inside_the_process),
        cmocka_unit_test(numbers_of_the_dead_are_not_used),
        cmocka_unit_test(nobody_changes_the_size_of_the_file),
        cmocka_unit_test(clear_is_what_all_have_read),
        cmocka_unit_test(who_sets_a_counter_wakes_who_sleeps_for_it),
        cmocka_unit_test(a_sleep_ends_when_its_time_is_over),
        cmocka_unit_test(cells_that_are_warm_have_pages),
        cmocka_unit_test(what_goes_past_the_caches_is_there),
        cmocka_unit_test(writes_go_past_the_caches_from_so_many_bytes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
