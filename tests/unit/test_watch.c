/* test_watch: what a recording does to memory while it waits for a touch, and that the program sees nothing of it. */
#include "check.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "pmpi_wrappers/backend/profile/book/ticks.h"
#include "pmpi_wrappers/backend/profile/watch/pages.h"
#include "pmpi_wrappers/backend/profile/watch/watch.h"
#include "pmpi_wrappers/backend/profile/watch/words.h"

enum { PAGE = 4096, PAGES = 64 };

const bool hp_ranks_take_turns = false;
uint64_t hp_machine_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static volatile char *buffer; /* PAGES of them */

static volatile char *map_pages(int flags)
{
    void *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    memset(memory, 7, PAGES * PAGE);
    return memory;
}

static int open_pages(void **state)
{
    (void)state;
    buffer = map_pages(MAP_PRIVATE);
    return 0;
}

static int close_pages(void **state)
{
    (void)state;
    munmap((void *)buffer, PAGES * PAGE);
    return 0;
}

static hp_memory_range_t whole(void)
{
    return (hp_memory_range_t){(char *)buffer, PAGES * PAGE};
}

static void arm(bool reads_allowed, bool until_first)
{
    const hp_memory_range_t ranges[HP_PAGES_RANGES] = {whole()};
    assert_true(hp_pages_arm(ranges, reads_allowed, until_first));
}

/* What a time is held against is the least of so many: other processes come in between, as often as they like. */
enum { TRIES = 20 };

static void compute(uint64_t ns)
{
    const uint64_t end = hp_machine_clock_ns() + ns;
    while (hp_machine_clock_ns() < end)
        ;
}

/* ---- memory ---- */

/* Of the kernel: questions about a mapping that it has answered, or that it is not to know. */
static unsigned answered;
static bool is_old_kernel;

int __real_ioctl(int file, unsigned long request, void *argument);
int __wrap_ioctl(int file, unsigned long request, void *argument);
int __wrap_ioctl(int file, unsigned long request, void *argument)
{
    const bool is_question = _IOC_TYPE(request) == 'f' && _IOC_NR(request) == 17;

    if (is_question && is_old_kernel) {
        errno = ENOTTY;
        return -1;
    }
    const int code = __real_ioctl(file, request, argument);
    answered += is_question && code == 0;
    return code;
}

/* Linux 6.11 and later. */
static bool kernel_answers(void)
{
    struct utsname kernel;
    unsigned major = 0, minor = 0;

    assert_int_equal(uname(&kernel), 0);
    assert_int_equal(sscanf(kernel.release, "%u.%u", &major, &minor), 2);
    return major > 6 || (major == 6 && minor >= 11);
}

static void check_memory(void)
{
    char here[4 * PAGE];
    volatile char *shared = map_pages(MAP_SHARED);
    hp_memory_range_t pages;

    pages = hp_memory_pages((hp_memory_range_t){(char *)buffer + 1, 3 * PAGE});
    assert_ptr_equal(pages.start, buffer + PAGE);
    assert_int_equal(pages.bytes, 2 * PAGE);
    assert_int_equal(hp_memory_pages((hp_memory_range_t){(char *)buffer + 1, PAGE}).bytes, 0);
    assert_true(hp_memory_is_private(whole()));
    assert_false(hp_memory_is_private((hp_memory_range_t){(char *)shared, PAGE}));
    assert_false(hp_memory_is_private(hp_memory_pages((hp_memory_range_t){here, sizeof here})));
    assert_int_equal(mprotect((char *)buffer + 5 * PAGE, PAGE, PROT_READ), 0);
    assert_false(hp_memory_is_private(whole()));
    assert_true(hp_memory_is_private((hp_memory_range_t){(char *)buffer, 5 * PAGE}));
    assert_int_equal(munmap((char *)buffer + 5 * PAGE, PAGE), 0);
    assert_false(hp_memory_is_private(whole()));
    munmap((void *)shared, PAGES * PAGE);
}

static void test_memory(void **state)
{
    (void)state;
    answered = 0;
    check_memory();
    if (kernel_answers())
        assert_true(answered >= 7);
}

static void test_memory_on_old_kernel(void **state)
{
    (void)state;
    answered = 0;
    is_old_kernel = true;
    check_memory();
    is_old_kernel = false;
    assert_int_equal(answered, 0);
}

/* ---- touches ---- */

static void test_first_read(void **state)
{
    uint64_t least_ns = UINT64_MAX;

    (void)state;
    for (int i = 0; i < TRIES; i++) {
        arm(false, true);
        compute(1000000);
        const uint64_t before = hp_ticks();
        const char read = buffer[9 * PAGE + 5];
        const uint64_t after = hp_ticks();
        const hp_pages_hits_t hits = hp_pages_disarm();
        assert_int_equal(read, 7);
        assert_true(hits.first >= before && hits.first <= after && !hits.is_cut);
        assert_true(hits.ns > 0);
        least_ns = hits.ns < least_ns ? hits.ns : least_ns;
    }
    assert_true(least_ns < 10000); /* one fault */
}

static void test_first_write(void **state)
{
    (void)state;
    arm(true, true);
    assert_int_equal(buffer[3], 7); /* reads of what was sent are none */
    const uint64_t before = hp_ticks();
    buffer[PAGES * PAGE - 1] = 8;
    const hp_pages_hits_t hits = hp_pages_disarm();
    assert_true(hits.first >= before);
    assert_int_equal(buffer[PAGES * PAGE - 1], 8);
}

static void test_none(void **state)
{
    (void)state;
    arm(false, true);
    assert_int_equal(hp_pages_disarm().first, 0);
    buffer[0] = 1;
    assert_int_equal(buffer[0], 1);
}

/* Twice over all pages: the end of the second time is found. Returns how far from the truth, in ns. */
static uint64_t error_of_last(void)
{
    uint64_t ends[2];

    arm(false, false);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < PAGES; i++) {
            buffer[i * PAGE] = 2;
            compute(20000);
        }
        ends[round] = hp_ticks();
        compute(1000000);
    }
    const hp_pages_hits_t hits = hp_pages_disarm();
    assert_true(hits.last > ends[0] && hits.last < ends[1] && !hits.is_cut);
    return hp_ticks_ns(ends[1] - hits.last);
}

static void test_last(void **state)
{
    uint64_t least_ns = UINT64_MAX;

    (void)state;
    for (int i = 0; i < TRIES; i++) {
        const uint64_t ns = error_of_last();
        least_ns = ns < least_ns ? ns : least_ns;
    }
    assert_true(least_ns < 8 * PAGES * 20000 / 16);
}

/* ---- system calls ---- */

static void test_read_into_it(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "hello", 5), 5);
    arm(false, true);
    assert_int_equal(read(ends[0], (char *)buffer + PAGE, 5), 5);
    assert_true(hp_pages_disarm().first > 0);
    assert_memory_equal((char *)buffer + PAGE, "hello", 5);
    arm(false, true);
    assert_int_equal(write(ends[1], (char *)buffer + PAGE, 5), 5);
    assert_true(hp_pages_disarm().first > 0);
    arm(false, true);
    assert_int_equal(readv(ends[0], &(struct iovec){(char *)buffer + 2 * PAGE, 5}, 1), 5);
    const hp_pages_hits_t hits = hp_pages_disarm();
    assert_true(hits.is_cut && !hits.first); /* nobody has looked into its list */
    assert_memory_equal((char *)buffer + 2 * PAGE, "hello", 5);
    close(ends[0]);
    close(ends[1]);
}

static void test_harmless_calls(void **state)
{
    (void)state;
    arm(false, true);
    void *more = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(more != MAP_FAILED);
    *(char *)more = 1;
    assert_int_equal(munmap(more, PAGE), 0);
    assert_int_equal(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? errno : 0,
                     EINVAL);
    sched_yield();
    const uint64_t before = hp_ticks();
    buffer[PAGE] = 1;
    const hp_pages_hits_t hits = hp_pages_disarm();
    assert_true(hits.first >= before && !hits.is_cut);
}

static void test_given_back(void **state)
{
    (void)state;
    arm(false, true);
    assert_int_equal(munmap((char *)buffer, PAGES * PAGE), 0);
    void *again =
        mmap((char *)buffer, PAGES * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    assert_ptr_equal(again, buffer);
    assert_true(hp_pages_disarm().is_cut);
    assert_false(hp_memory_is_private(whole())); /* the new pages have kept their rights */
    char *block = malloc(1 << 20);
    assert_non_null(block);
    const hp_memory_range_t ranges[HP_PAGES_RANGES] = {hp_memory_pages((hp_memory_range_t){block, 1 << 20})};
    assert_true(hp_pages_arm(ranges, false, true));
    free(block);
    block = malloc(1 << 20);
    assert_non_null(block);
    memset(block, 1, 1 << 20);
    hp_pages_disarm();
    free(block);
}

static void test_fork(void **state)
{
    int status;

    (void)state;
    arm(false, true);
    const pid_t child = fork();
    if (child == 0)
        _exit(buffer[PAGE] == 7 ? 3 : 4);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    hp_pages_disarm();
}

/* ---- signals ---- */

static volatile char *volatile nobodys = (volatile char *)8;

static volatile sig_atomic_t faults;
static void *volatile fault_address;

static void on_real_fault(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    faults++;
    fault_address = info->si_addr;
    mprotect(info->si_addr, PAGE, PROT_READ | PROT_WRITE);
}

/* The program's own handler has its faults, whether it was there before or came later; and what is sent. */
static void test_chained_handler(void **state)
{
    struct sigaction before, now, own = {.sa_sigaction = on_real_fault, .sa_flags = SA_SIGINFO};
    volatile char *guarded = map_pages(MAP_PRIVATE);

    (void)state;
    sigaction(SIGSEGV, NULL, &before);
    faults = 0;
    for (int later = 0; later < 2; later++) {
        if (!later)
            sigaction(SIGSEGV, &own, NULL);
        mprotect((char *)guarded, PAGE, PROT_NONE);
        arm(false, true);
        if (later)
            sigaction(SIGSEGV, &own, NULL); /* ends the watch */
        guarded[0] = 5;
        assert_int_equal(faults, 2 * later + 1);
        assert_ptr_equal(fault_address, guarded);
        hp_pages_disarm();
        arm(false, true);
        guarded[0]++; /* no fault */
        buffer[0] = 1;
        assert_true(hp_pages_disarm().first > 0);
        assert_int_equal(guarded[0], 6);
        mprotect((char *)guarded, PAGE, PROT_NONE);
        arm(false, true);
        guarded[0] = 5;
        hp_pages_disarm();
        assert_int_equal(faults, 2 * later + 2);
        sigaction(SIGSEGV, NULL, &now);
        assert_ptr_equal(now.sa_sigaction, on_real_fault);
    }
    sigaction(SIGSEGV, &before, NULL);
    munmap((void *)guarded, PAGES * PAGE);
}

static struct sigaction found_action; /* by a handler, when it was installed: ours */

static void on_fault_put_back(int number)
{
    sigaction(number, &found_action, NULL);
}

/* A handler that gives way to what it has found, as those of interpreters do, which then is us: the process ends. */
static void test_handler_that_puts_back(void **state)
{
    struct sigaction own = {.sa_handler = on_fault_put_back};
    int status;

    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        hp_pages_fini();
        signal(SIGSEGV, SIG_DFL);
        if (!hp_pages_open())
            _exit(1);
        sigaction(SIGSEGV, &own, &found_action);
        arm(false, true);
        *nobodys = 1;
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static void test_default_action(void **state)
{
    int status;

    (void)state;
    for (int sent = 0; sent < 2; sent++) {
        const pid_t child = fork();
        if (child == 0) {
            signal(SIGSEGV, SIG_DFL);
            arm(false, true);
            if (sent)
                raise(SIGSEGV);
            else
                *nobodys = 1;
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    }
}

static void ignore(int number)
{
    (void)number;
}

static void test_blocked_signals(void **state)
{
    const hp_memory_range_t ranges[HP_PAGES_RANGES] = {whole()};
    struct sigaction all = {.sa_handler = ignore};
    sigset_t mask, old;

    (void)state;
    sigemptyset(&mask);
    sigaddset(&mask, SIGSEGV);
    sigprocmask(SIG_BLOCK, &mask, &old);
    assert_false(hp_pages_arm(ranges, false, true));
    sigprocmask(SIG_SETMASK, &old, NULL);
    sigfillset(&all.sa_mask);
    sigaction(SIGUSR1, &all, NULL);
    assert_false(hp_pages_arm(ranges, false, true));
    signal(SIGUSR1, SIG_DFL);
    arm(false, true);
    hp_pages_disarm();
}

static atomic_int go;

static void *touch_it(void *argument)
{
    (void)argument;
    while (!atomic_load(&go))
        ;
    buffer[3 * PAGE] = 9;
    atomic_store(&go, 2);
    return NULL;
}

static void test_other_thread(void **state)
{
    pthread_t thread;

    (void)state;
    atomic_store(&go, 0);
    assert_int_equal(pthread_create(&thread, NULL, touch_it, NULL), 0);
    for (int i = 0; i < 2; i++) { /* following ends with it, too */
        arm(false, i == 0);
        atomic_store(&go, 1);
        while (atomic_load(&go) != 2)
            ;
        assert_int_equal(buffer[3 * PAGE], 9);
        buffer[4 * PAGE] = 1; /* while the thread is gone, or going */
        const hp_pages_hits_t hits = hp_pages_disarm();
        assert_true(hits.first > 0 && hits.is_cut == (i == 1));
        pthread_join(thread, NULL);
        atomic_store(&go, 0);
        if (i == 0)
            assert_int_equal(pthread_create(&thread, NULL, touch_it, NULL), 0);
    }
}

/* ---- words ---- */

static void test_words(void **state)
{
    static uint64_t small[32];
    const hp_words_range_t two[] = {{{(char *)small, 8}, true}, {{(char *)&small[8], 64}, false}};
    volatile uint64_t *its = small;
    bool covers;

    (void)state;
    assert_true(hp_words_arm(two, 1, &covers));
    assert_true(covers);
    const uint64_t nothing = its[0]; /* a read */
    assert_int_equal(hp_words_disarm().first_ns, 0);
    assert_true(hp_words_arm(two, 2, &covers));
    assert_false(covers); /* 1 + 8 words */
    const uint64_t before = hp_machine_clock_ns();
    its[15] = its[0] + nothing; /* the end of the second */
    const uint64_t between = hp_machine_clock_ns();
    its[0] = 1;
    const uint64_t after = hp_machine_clock_ns();
    hp_words_hits_t hits = hp_words_disarm();
    assert_true(hits.first_ns > before && hits.first_ns < between && hits.last_ns > between &&
                hits.last_ns < after && hits.count == 2 && !hits.is_full);
    assert_true(hp_words_arm(two, 1, &covers));
    for (int i = 0; i < 2 * HP_WORDS_HITS; i++)
        its[0]++;
    hits = hp_words_disarm();
    assert_true(hits.is_full && hits.first_ns);
    assert_true(hp_words_arm(two, 1, &covers)); /* and it is as new */
    its[0]++;
    hits = hp_words_disarm();
    assert_true(hits.first_ns && !hits.is_full);
}

/* ---- as a recording does it ---- */

static struct {
    hp_book_t book;
    hp_book_slack_t seen;        /* the sums of all rows so far */
    uint64_t began, first, last; /* of the time since the call before: touches, 0: none */
    unsigned wrong;
} loop;

static hp_book_slack_t sums_of_rows(void)
{
    hp_book_slack_t sums = {.after = 0};
    for (uint32_t i = 0; i < loop.book.slacks.count; i++) {
        const hp_book_slack_t *row = hp_table_row(&loop.book.slacks, i);
        sums.after += row->after;
        sums.before += row->before;
        sums.after_ns += row->after_ns;
        sums.before_ns += row->before_ns;
    }
    return sums;
}

static void touch(char *address)
{
    ++*(volatile char *)address;
    loop.last = hp_ticks();
    loop.first = loop.first ? loop.first : loop.last;
}

/* What was entered is what the loop knows, within 20 us or a tenth: other processes may come in between. */
static void check_entry(uint64_t end)
{
    const hp_book_slack_t now = sums_of_rows();
    const uint64_t after = hp_ticks_ns((loop.first ? loop.first : end) - loop.began);
    const uint64_t before = hp_ticks_ns(end - (loop.last ? loop.last : loop.began));
    const double found = (double)(now.after_ns - loop.seen.after_ns + now.before_ns - loop.seen.before_ns);
    const double known = now.after > loop.seen.after ? (double)after : (double)before;

    if (now.after + now.before > loop.seen.after + loop.seen.before &&
        fabs(found - known) > 20000 + 0.1 * known)
        loop.wrong++;
    loop.seen = now;
}

/* The call of a loop: the program touches what it will send, computes, calls, computes, touches what came. */
static void one_call(const hp_watch_call_t *its, uint64_t before_ns, uint64_t after_ns, bool touches)
{
    hp_watch_call_t call = *its;

    if (touches)
        touch(call.send.start + call.send.bytes / 2);
    compute(before_ns);
    const uint64_t end = hp_ticks();
    hp_watch_stop();
    call.has_buffers = hp_watch_wants(&call);
    hp_watch_end_call(&call);
    if (loop.began)
        check_entry(end);
    loop.first = loop.last = 0;
    hp_watch_start();
    loop.began = hp_ticks();
    compute(after_ns);
    if (touches)
        touch(call.recv.start);
}

static void check_row(uint32_t number, uint32_t site, hp_book_how_t how, bool has_after, bool has_before)
{
    const hp_book_slack_t *row = hp_table_row(&loop.book.slacks, number);
    assert_true(row->site == site && row->how == how && row->call == 2 && row->bin == 3);
    assert_true(has_after ? row->after >= 3 : row->after == 0);
    assert_true(has_before ? row->before >= 3 : row->before == 0);
}

static void test_watch(void **state)
{
    static uint64_t small[2];
    const hp_watch_call_t large = {.site = 1,
                                   .row = 2,
                                   .bin = 3,
                                   .is_blocking = true,
                                   .send = {(char *)buffer, 16 * PAGE},
                                   .recv = {(char *)buffer + 32 * PAGE, 16 * PAGE}};
    hp_watch_call_t words = large, bare = large, still = large;

    (void)state;
    words.site = 4;
    words.send = (hp_memory_range_t){(char *)small, 8};
    words.recv = (hp_memory_range_t){(char *)&small[1], 8};
    still.site = 6;
    bare.site = 5;
    bare.send = bare.recv = (hp_memory_range_t){NULL, 0};
    hp_pages_fini();
    hp_words_fini();
    memset(&loop, 0, sizeof loop);
    assert_true(hp_book_init(&loop.book));
    hp_watch_open(&loop.book, HP_WATCH_ALL);
    for (int i = 0; i < 30; i++)
        one_call(&large, 1000000, 2000000, true);
    for (int i = 0; i < 30; i++)
        one_call(&words, 2000000, 1000000, true);
    for (int i = 0; i < 30; i++)
        one_call(&still, 500000, 500000, false);
    for (int i = 0; i < 30; i++)
        one_call(&bare, 500000, 500000, false);
    hp_watch_stop();
    hp_watch_fini();
    assert_false(hp_watch_is_running);
    if (hp_watch_cost().left_out) { /* the machine is so busy that watching took its share of the run */
        hp_book_fini(&loop.book);
        skip();
    }
    assert_true(loop.wrong <= 3);
    assert_int_equal(loop.book.slacks.count, 5);
    check_row(0, 1, HP_SLACK_TOUCH, true, true);
    check_row(1, 4, HP_SLACK_TOUCH, true, true);
    check_row(2, 6, HP_SLACK_TOUCH, true, false); /* the next call uses the buffer */
    check_row(3, 6, HP_SLACK_UNTOUCHED, false, true);
    check_row(4, 5, HP_SLACK_NEXT_CALL, true, true); /* without buffers: the time between two calls */
    hp_book_fini(&loop.book);
}

/* Calls as fast as they come, from two sites in turns: most are not watched, and are counted, once between two calls:
 * behind the first 4 calls of a site and one in eight after these, and before such a one of the first site. */
static void test_cost_of_watching(void **state)
{
    enum { CALLS = 40000, MOST_NS = 8000000, SAMPLED = 2 * 4 + CALLS * 3 / 16 };
    hp_watch_call_t call = {.row = 2,
                            .is_blocking = true,
                            .send = {(char *)buffer, 16 * PAGE},
                            .recv = {(char *)buffer + 32 * PAGE, 16 * PAGE}};

    (void)state;
    memset(&loop, 0, sizeof loop);
    assert_true(hp_book_init(&loop.book));
    hp_watch_open(&loop.book, HP_WATCH_ALL);
    const uint64_t began = hp_ticks();
    for (int i = 0; i < CALLS; i++) {
        call.site = 1 + (unsigned)i % 2;
        one_call(&call, 0, 0, true);
    }
    hp_watch_stop();
    const uint64_t run_ns = hp_ticks_ns(hp_ticks() - began);
    const hp_watch_cost_t cost = hp_watch_cost();
    const hp_book_slack_t sums = sums_of_rows();
    assert_true(cost.ns > 0 && cost.ns < MOST_NS + run_ns / 128);
    assert_true(cost.left_out > CALLS / 32);
    assert_true(sums.after + sums.before > 0 && sums.after + sums.before < CALLS / 8);
    assert_true(sums.after + sums.before + cost.left_out <= SAMPLED);
    hp_watch_fini();
    hp_book_fini(&loop.book);
}

#define PAGES_TEST(name) cmocka_unit_test_setup_teardown(name, open_pages, close_pages)

int main(void)
{
    const struct CMUnitTest of_pages[] = {
        PAGES_TEST(test_first_read),
        PAGES_TEST(test_first_write),
        PAGES_TEST(test_none),
        PAGES_TEST(test_last),
        PAGES_TEST(test_read_into_it),
        PAGES_TEST(test_harmless_calls),
        PAGES_TEST(test_given_back),
        PAGES_TEST(test_fork),
        PAGES_TEST(test_chained_handler),
        PAGES_TEST(test_default_action),
        PAGES_TEST(test_handler_that_puts_back),
        PAGES_TEST(test_blocked_signals),
        PAGES_TEST(test_other_thread),
    };
    const struct CMUnitTest of_words[] = {cmocka_unit_test(test_words)};
    const struct CMUnitTest of_all[] = {PAGES_TEST(test_watch), PAGES_TEST(test_cost_of_watching)};
    const struct CMUnitTest of_any[] = {PAGES_TEST(test_memory), PAGES_TEST(test_memory_on_old_kernel)};
    int failed = cmocka_run_group_tests(of_any, NULL, NULL);

    hp_ticks_open();
    const bool has_pages = hp_pages_open();
    const bool has_words = hp_words_open();
    printf("pages %s, words %s\n", has_pages ? "can be watched" : "cannot be watched here",
           has_words ? "can be watched" : "cannot be watched here");
    if (has_pages)
        failed += cmocka_run_group_tests(of_pages, NULL, NULL);
    if (has_words)
        failed += cmocka_run_group_tests(of_words, NULL, NULL);
    if (has_pages && has_words)
        failed += cmocka_run_group_tests(of_all, NULL, NULL);
    return failed ? 1 : has_pages && has_words ? 0 : 77;
}
