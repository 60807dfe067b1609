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
 * each is given a line. */
static size_t list_member(const hp_node_memory_t *memory, uint32_t member, range_t *ranges)
{
    const hp_node_shape_t *shape = &memory->shape;
    size_t count = 0;
    const char *at = (const char *)hp_node_done(memory, member);

    ranges[count++] = (range_t){at, at + LINE_BYTES};
    at = (const char *)hp_node_buffer(memory, member, HP_FAN_IN);
    ranges[count++] = (range_t){at, at + sizeof(hp_node_buffer_t)};
    at = (const char *)hp_node_buffer(memory, member, HP_FAN_OUT);
    ranges[count++] = (range_t){at, at + sizeof(hp_node_buffer_t)};
    for (unsigned fan = 0; fan < HP_FAN_COUNT; fan++) {
        for (uint32_t level = 0; level < shape->levels; level++) {
            at = (const char *)hp_node_counter(memory, member, level, (hp_fan_t)fan);
            ranges[count++] = (range_t){at, at + LINE_BYTES};
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
        char *base = (char *)(uintptr_t)0x10000000; /* addresses only: nothing is touched */

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
    hp_node_memory_t memory;

    assert_int_equal(hp_node_memory_init(&memory, &shape, 1, pids, -1, (void *)(uintptr_t)0x10000), HP_OK);
    for (uint64_t step = 0; step < 20; step++) {
        assert_ptr_equal(hp_node_slot(&memory, 1, 1, HP_FAN_IN, step),
                         hp_node_slot(&memory, 1, 1, HP_FAN_IN, step + shape.slots));
        assert_ptr_equal(hp_node_cell(&memory, 1, HP_FAN_OUT, step),
                         hp_node_cell(&memory, 1, HP_FAN_OUT, step + HP_CELLS));
        assert_ptr_not_equal(hp_node_slot(&memory, 1, 1, HP_FAN_IN, step),
                             hp_node_slot(&memory, 1, 1, HP_FAN_IN, step + 1));
    }
    hp_node_memory_fini(&memory);
}

/* ---- between processes ---- */

static hp_node_shape_t small_shape(void)
{
    return (hp_node_shape_t){.members = 2, .levels = 1, .slots = 2, .slot_bytes = 64};
}

enum { CHILD_SAW_IT = 42 };

/* The child: opens the parent's file by its number, waits for the parent's counter, answers with its own. */
static int be_member(pid_t parent, int fd)
{
    const hp_node_shape_t shape = small_shape();
    const pid_t pids[2] = {parent, getpid()};
    hp_node_memory_t memory;
    int own_fd;

    if (hp_node_memory_open(parent, fd, &own_fd) != HP_OK ||
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

    assert_int_equal(hp_node_memory_file(hp_node_memory_bytes(&shape), &fd), HP_OK);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    const pid_t child = fork();
    if (child == 0) {
        close(fd);
        _exit(be_member(parent, fd));
    }
    assert_true(child > 0);
    assert_int_equal(hp_node_memory_init(&memory, &shape, 0, pids, fd, NULL), HP_OK);
    for (size_t i = 0; i < memory.bytes; i += 64) /* a new file is zeroed */
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

static void what_cannot_be_opened(void **state)
{
    (void)state;
    int fd = -1;
    assert_int_equal(hp_node_memory_open(getpid(), 1000000, &fd), HP_ERR_NOT_FOUND);
    assert_int_equal(hp_node_memory_open(0x7ffffff0, 0, &fd), HP_ERR_NOT_FOUND);
    assert_int_equal(hp_node_memory_file(SIZE_MAX, &fd), HP_ERR_NO_MEM);
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
    assert_int_equal(hp_node_memory_file(8192, &fd), HP_OK);
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

/* ---- pages of the slots ---- */

enum { BIG_SLOT_BYTES = 1 << 20, IDLE_MEMORIES = 3 };

static size_t pages_of(int fd)
{
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    return (size_t)status.st_blocks / 8;
}

/* As a collective does: its owner fills all slots with the value. */
static void use_all_slots(hp_node_memory_t *memory, char value)
{
    const hp_node_shape_t *shape = &memory->shape;

    hp_node_use_slots(memory, shape->slot_bytes, ++memory->step);
    for (unsigned fan = 0; fan < HP_FAN_COUNT; fan++) {
        hp_node_back_slots(memory, 0, (hp_fan_t)fan);
        for (uint32_t slot = 0; slot < shape->slots; slot++)
            memset(hp_node_slot(memory, 0, 0, (hp_fan_t)fan, slot), value, shape->slot_bytes);
    }
}

/* As if it had been used so long ago. */
static void age(hp_node_memory_t *memory, uint64_t ns)
{
    memory->slots.used_ns -= ns;
}

/* Each has 16 MiB of own slots, more than all may keep together. */
static void idle_slots_give_their_pages_back(void **state)
{
    (void)state;
    const hp_node_shape_t shape = {.members = 2, .levels = 1, .slots = 8, .slot_bytes = BIG_SLOT_BYTES};
    const size_t slot_pages = (size_t)HP_FAN_COUNT * shape.slots * BIG_SLOT_BYTES / 4096;
    hp_node_memory_t memories[IDLE_MEMORIES];
    int fds[IDLE_MEMORIES];

    for (unsigned i = 0; i < IDLE_MEMORIES; i++) {
        assert_int_equal(hp_node_memory_file(hp_node_memory_bytes(&shape), &fds[i]), HP_OK);
        assert_int_equal(hp_node_memory_init(&memories[i], &shape, 0, NULL, fds[i], NULL), HP_OK);
    }
    assert_int_equal(hp_node_usage().memories, IDLE_MEMORIES);
    assert_int_equal(hp_node_usage().bytes, IDLE_MEMORIES * hp_node_member_bytes(&shape));
    strcpy(hp_node_slot(&memories[0], 1, 0, HP_FAN_IN, 0), "the other member's");

    use_all_slots(&memories[0], 1);
    hp_node_set(&memories[0], hp_node_done(&memories[0], 0), 1);
    age(&memories[0], HP_SLOTS_IDLE_NS);
    use_all_slots(&memories[1], 2);
    assert_true(pages_of(fds[0]) >= slot_pages); /* the other member may still read them */
    hp_node_set(&memories[0], hp_node_done(&memories[0], 1), 1);
    use_all_slots(&memories[2], 3);
    assert_true(pages_of(fds[0]) < 16);
    assert_true(pages_of(fds[1]) >= slot_pages && pages_of(fds[2]) >= slot_pages); /* in use */
    assert_int_equal(hp_node_usage().slot_bytes, 2 * slot_pages * 4096);
    assert_string_equal(hp_node_slot(&memories[0], 1, 0, HP_FAN_IN, 0), "the other member's");
    assert_int_equal(atomic_load(hp_node_done(&memories[0], 0)), 1);
    assert_int_equal(*hp_node_slot(&memories[1], 0, 0, HP_FAN_OUT, 7), 2);

    for (unsigned i = 1; i < IDLE_MEMORIES; i++)
        for (uint32_t member = 0; member < 2; member++)
            hp_node_set(&memories[i], hp_node_done(&memories[i], member), 1);
    age(&memories[1], HP_SLOTS_IDLE_NS);
    age(&memories[2], HP_SLOTS_IDLE_NS);
    use_all_slots(&memories[0], 4);
    assert_int_equal(*hp_node_slot(&memories[0], 0, 0, HP_FAN_OUT, 7), 4);
    assert_true(pages_of(fds[1]) < 16 && pages_of(fds[2]) < 16);
    for (unsigned i = 0; i < IDLE_MEMORIES; i++) {
        close(fds[i]);
        hp_node_memory_fini(&memories[i]);
    }
    assert_int_equal(hp_node_usage().memories, 0);
    assert_int_equal(hp_node_usage().slot_bytes, 0);
}

/* A program that uses more communicators in turn than may keep pages while they are idle must not pay for them in each
 * call. */
static void slots_that_are_used_again_and_again_keep_their_pages(void **state)
{
    (void)state;
    const hp_node_shape_t shape = {.members = 2, .levels = 1, .slots = 8, .slot_bytes = BIG_SLOT_BYTES};
    const size_t slot_pages = (size_t)HP_FAN_COUNT * shape.slots * BIG_SLOT_BYTES / 4096;
    hp_node_memory_t memories[IDLE_MEMORIES];
    int fds[IDLE_MEMORIES];

    for (unsigned i = 0; i < IDLE_MEMORIES; i++) {
        assert_int_equal(hp_node_memory_file(hp_node_memory_bytes(&shape), &fds[i]), HP_OK);
        assert_int_equal(hp_node_memory_init(&memories[i], &shape, 0, NULL, fds[i], NULL), HP_OK);
    }
    for (unsigned turn = 0; turn < 2; turn++)
        for (unsigned i = 0; i < IDLE_MEMORIES; i++) {
            use_all_slots(&memories[i], 1);
            for (uint32_t member = 0; member < 2; member++)
                hp_node_set(&memories[i], hp_node_done(&memories[i], member), memories[i].step);
        }
    for (unsigned i = 0; i < IDLE_MEMORIES; i++) {
        assert_true(pages_of(fds[i]) >= slot_pages);
        close(fds[i]);
        hp_node_memory_fini(&memories[i]);
    }
}

/* What a rank does not write is not there: of four levels most ranks write one ring. */
static void only_rings_that_are_filled_get_pages(void **state)
{
    (void)state;
    const hp_node_shape_t shape = {.members = 2, .levels = 4, .slots = 8, .slot_bytes = BIG_SLOT_BYTES};
    const size_t used = 32768;
    hp_node_memory_t memory;
    int fd;

    assert_int_equal(hp_node_memory_file(hp_node_memory_bytes(&shape), &fd), HP_OK);
    assert_int_equal(hp_node_memory_init(&memory, &shape, 0, NULL, fd, NULL), HP_OK);
    hp_node_use_slots(&memory, used, 1);
    assert_int_equal(hp_node_usage().slot_bytes, 0);
    for (unsigned again = 0; again < 2; again++) {
        hp_node_back_slots(&memory, 3, HP_FAN_IN);
        assert_int_equal(hp_node_usage().slot_bytes, shape.slots * used);
        assert_in_range(pages_of(fd), 0, shape.slots * (used / 4096 + 1)); /* slots may begin amid a page */
    }
    hp_node_use_slots(&memory, 2 * BIG_SLOT_BYTES, 2); /* no more than a slot has */
    hp_node_back_slots(&memory, 3, HP_FAN_IN);
    assert_int_equal(hp_node_usage().slot_bytes, shape.slots * BIG_SLOT_BYTES);
    hp_node_use_slots(&memory, 0, 3);
    hp_node_back_slots(&memory, 0, HP_FAN_OUT);
    assert_int_equal(hp_node_usage().slot_bytes, shape.slots * BIG_SLOT_BYTES);
    close(fd);
    hp_node_memory_fini(&memory);
    assert_int_equal(hp_node_usage().slot_bytes, 0);
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
        assert_int_equal(hp_node_memory_file(hp_node_memory_bytes(&shape), &fd), HP_OK);
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

    assert_int_equal(hp_node_memory_file(hp_node_memory_bytes(&shape), &fd), HP_OK);
    assert_int_equal(hp_node_memory_init(&memory, &shape, 0, pids, fd, NULL), HP_OK);
    const uint64_t start = now_ns();
    const uint32_t rings = hp_node_sleep_begin(&memory, NULL);
    hp_node_sleep_wait(&memory, rings, nap_ns);
    assert_true(now_ns() - start >= nap_ns);
    close(fd);
    hp_node_memory_fini(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_overlaps),
        cmocka_unit_test(counters_tell_their_owner),
        cmocka_unit_test(rings_come_around),
        cmocka_unit_test(two_processes_share),
        cmocka_unit_test(what_cannot_be_opened),
        cmocka_unit_test(pulls_from_and_pushes_to_another_process),
        cmocka_unit_test(pulls_inside_the_process),
        cmocka_unit_test(numbers_of_the_dead_are_not_used),
        cmocka_unit_test(nobody_changes_the_size_of_the_file),
        cmocka_unit_test(clear_is_what_all_have_read),
        cmocka_unit_test(idle_slots_give_their_pages_back),
        cmocka_unit_test(slots_that_are_used_again_and_again_keep_their_pages),
        cmocka_unit_test(only_rings_that_are_filled_get_pages),
        cmocka_unit_test(who_sets_a_counter_wakes_who_sleeps_for_it),
        cmocka_unit_test(a_sleep_ends_when_its_time_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
