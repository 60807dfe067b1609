#include "pmpi_wrappers/backend/profile/watch/pages.h"

#include <errno.h>

#if defined __x86_64__

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include "pmpi_wrappers/backend/profile/book/ticks.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_OFF          0
#define PR_SYS_DISPATCH_ON           1
#endif
#ifndef SYS_USER_DISPATCH
#define SYS_USER_DISPATCH 2 /* a si_code */
#endif

/* PIECES: of a range, which the program gets back one by one. FAULTS: of one watch, 4 us each. RETRIES: a fault that is
 * none of ours is tried again, once: another thread may have ended the watch meanwhile. SIGNAL_NS: a signal, what
 * its handler does, and the way back (Xeon of 2023, virtual: 2.4 us and 1.3 us). */
enum { PIECES = 16, FAULTS = 128, RETRIES = 64, RESTORER_BYTES = 16, SYSCALL_BYTES = 2, SIGNAL_NS = 4000 };
/* Of a stack for signals: beside what the kernel puts there, which with AVX-512 and AMX is 11 KiB. */
enum { STACK_BYTES = 4096 };
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
enum { ALLOW = 0, BLOCK = 1 };
#define HEAP_BYTES ((uintptr_t)1 << 36) /* what brk gives is less, and nothing else is so near behind it */

/* As the kernel has it. */
typedef struct {
    void *handler;
    unsigned long flags;
    void *restorer;
    uint64_t mask;
} kernel_action_t;

/* A signal of ours, and whose it is otherwise. */
typedef struct {
    int number;
    void (*handler)(int, siginfo_t *, void *);
    struct sigaction theirs;  /* that our handler has replaced */
    struct sigaction first;   /* that it has replaced the first time: never ours itself */
    bool is_taken, is_passed; /* is_passed: theirs was put back since the last watch began */
} taken_t;

static void on_segv(int number, siginfo_t *info, void *context);
static void on_sys(int number, siginfo_t *info, void *context);

/* The kernel reads it at each system call of the thread that armed. */
static volatile char selector = ALLOW;
static taken_t segv = {.number = SIGSEGV, .handler = on_segv}, sys = {.number = SIGSYS, .handler = on_sys};
static struct {
    hp_memory_range_t range[HP_PAGES_RANGES];
    uint32_t given_back[HP_PAGES_RANGES]; /* pieces: bits */
    bool reads_allowed, until_first;
    unsigned faults, signals; /* signals: to the owner */
    hp_pages_hits_t hits;
    char *restorer; /* returns from handlers */
    size_t page_bytes;
    pthread_t owner;
} pages;
static atomic_bool is_armed;
static atomic_int changes; /* under way: of the rights of these pages, by arm or end_watch */
static atomic_uint retries;
static const void *_Atomic retried; /* address */

static int rights_of(unsigned range)
{
    return range == 0 && pages.reads_allowed ? PROT_READ : PROT_NONE;
}

static void give_back(void)
{
    for (unsigned i = 0; i < HP_PAGES_RANGES; i++)
        if (pages.range[i].bytes)
            mprotect(pages.range[i].start, pages.range[i].bytes, PROT_READ | PROT_WRITE);
}

static bool is_owner(void)
{
    return pthread_equal(pthread_self(), pages.owner);
}

/* Any thread, any number of times. Another thread than the owner gives the pages back before the owner's system calls
 * are let through. */
static void end_watch(bool is_cut)
{
    if (is_owner())
        selector = ALLOW;
    atomic_fetch_add(&changes, 1);
    if (atomic_exchange(&is_armed, false)) { /* once: what lies there later has rights of its own */
        pages.hits.is_cut |= is_cut;
        give_back();
    }
    atomic_fetch_sub(&changes, 1);
    selector = ALLOW;
}

static hp_memory_range_t piece_of(hp_memory_range_t range, const char *address, unsigned *number)
{
    const size_t each = (range.bytes / pages.page_bytes + PIECES - 1) / PIECES * pages.page_bytes;

    *number = (unsigned)((size_t)(address - range.start) / each);
    const size_t from = *number * each, bytes = range.bytes - from;
    return (hp_memory_range_t){range.start + from, bytes < each ? bytes : each};
}

/* One piece is given back; once all are, the others are taken away again: the program goes over them once more. */
static void follow(unsigned i, const char *address)
{
    const hp_memory_range_t range = pages.range[i];
    unsigned number, last;
    const hp_memory_range_t piece = piece_of(range, address, &number);

    piece_of(range, range.start + range.bytes - 1, &last);
    pages.given_back[i] |= 1u << number;
    if (pages.given_back[i] == (2u << last) - 1 && last > 0) {
        mprotect(range.start, range.bytes, rights_of(i));
        pages.given_back[i] = 1u << number;
    }
    mprotect(piece.start, piece.bytes, PROT_READ | PROT_WRITE);
}

/* False: it is none of ours. */
static bool touch(const char *address, uint64_t now)
{
    for (unsigned i = 0; i < HP_PAGES_RANGES; i++) {
        const hp_memory_range_t range = pages.range[i];
        if (address < range.start || address >= range.start + range.bytes)
            continue;
        if (!atomic_load(&is_armed)) {
            /* Who gives them back is not done, and may be what this handler interrupts. */
            const bool changing = atomic_load(&changes) > 0;
            if (changing)
                give_back();
            return changing;
        }
        pages.hits.first = pages.hits.first ? pages.hits.first : now;
        pages.hits.last = now;
        if (pages.until_first || ++pages.faults >= FAULTS || !is_owner())
            end_watch(!pages.until_first);
        else
            follow(i, address);
        return true;
    }
    return false;
}

/* The handler of the program may call the one that it found, or put it back: ours. */
static void pass_on(taken_t *taken, siginfo_t *info)
{
    end_watch(true);
    sigaction(taken->number, taken->is_passed ? &taken->first : &taken->theirs, NULL);
    taken->is_passed = true;
    if (taken->number == SIGSYS || info->si_code <= 0) /* it does not come again by itself */
        syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)syscall(SYS_gettid), taken->number, info);
}

static void on_segv(int number, siginfo_t *info, void *context)
{
    const int error = errno;
    const uint64_t now = hp_ticks();

    (void)number;
    (void)context;
    if (is_owner()) {
        selector = ALLOW;
        pages.signals++;
    }
    if (info->si_code == SEGV_ACCERR && touch(info->si_addr, now)) {
        if (atomic_load(&is_armed) && is_owner())
            selector = BLOCK;
    } else if (info->si_code > 0 && atomic_exchange(&retried, info->si_addr) != info->si_addr &&
               atomic_fetch_add(&retries, 1) < RETRIES) {
        end_watch(true);
    } else {
        pass_on(&segv, info);
    }
    errno = error;
}

static bool is_inside(uintptr_t address, uintptr_t bytes)
{
    const hp_memory_range_t given = {(char *)address, bytes};
    return hp_memory_overlaps(given, pages.range[0]) || hp_memory_overlaps(given, pages.range[1]);
}

/* May it be made while pages are watched? It touches none of them, and neither waits nor runs anything. */
static bool is_harmless(long number, const greg_t *r)
{
    const uintptr_t first = (uintptr_t)r[REG_RDI], second = (uintptr_t)r[REG_RSI];

    switch (number) {
    case SYS_mmap:
        return !(r[REG_R10] & MAP_FIXED);
    case SYS_munmap:
    case SYS_madvise:
        return !is_inside(first, second + pages.page_bytes);
    case SYS_brk:
        return !is_inside(first, HEAP_BYTES); /* what lies above goes */
    case SYS_clock_gettime:
        return !is_inside(second, sizeof(struct timespec));
    case SYS_gettimeofday:
        return !is_inside(first, sizeof(struct timespec)) && !is_inside(second, sizeof(struct timespec));
    case SYS_sched_yield:
    case SYS_getpid:
    case SYS_gettid:
        return true;
    default:
        return false;
    }
}

/* Does the call read or write these pages? */
static bool is_touch(long number, const greg_t *r)
{
    switch (number) {
    case SYS_read:
    case SYS_write:
    case SYS_pread64:
    case SYS_pwrite64:
    case SYS_recvfrom:
    case SYS_sendto:
        return is_inside((uintptr_t)r[REG_RSI], (uintptr_t)r[REG_RDX]);
    default:
        return false;
    }
}

static long make_call(long number, const greg_t *r)
{
    register long fourth __asm__("r10") = r[REG_R10], fifth __asm__("r8") = r[REG_R8],
                         sixth __asm__("r9") = r[REG_R9];
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(r[REG_RDI]), "S"(r[REG_RSI]), "d"(r[REG_RDX]), "r"(fourth),
                       "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return result;
}

static void on_sys(int number, siginfo_t *info, void *context)
{
    const int error = errno;
    const uint64_t now = hp_ticks();
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

    (void)number;
    selector = ALLOW;
    pages.signals++;
    if (info->si_code != SYS_USER_DISPATCH) {
        pass_on(&sys, info);
    } else if (atomic_load(&is_armed) && is_harmless(info->si_syscall, r)) {
        r[REG_RAX] = make_call(info->si_syscall, r);
        selector = BLOCK;
    } else {
        const bool touches = atomic_load(&is_armed) && is_touch(info->si_syscall, r);
        if (touches) {
            pages.hits.first = pages.hits.first ? pages.hits.first : now;
            pages.hits.last = now;
        }
        end_watch(!touches || !pages.until_first);
        r[REG_RIP] -= SYSCALL_BYTES; /* the program makes it now */
        r[REG_RAX] = info->si_syscall;
    }
    errno = error;
}

/* The handler is ours afterwards. */
static bool take_signal(taken_t *taken)
{
    struct sigaction now, ours = {.sa_sigaction = taken->handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    if (sigaction(taken->number, NULL, &now) != 0)
        return false;
    taken->is_passed = false;
    if (now.sa_sigaction == taken->handler)
        return true;
    taken->theirs = now;
    if (!taken->is_taken)
        taken->first = now;
    taken->is_taken = true;
    sigfillset(&ours.sa_mask);
    return sigaction(taken->number, &ours, NULL) == 0;
}

static void give_signal(taken_t *taken)
{
    struct sigaction now;

    if (taken->is_taken && sigaction(taken->number, NULL, &now) == 0 && now.sa_sigaction == taken->handler)
        sigaction(taken->number, &taken->theirs, NULL);
    taken->is_taken = false;
}

static bool blocks_ours(const sigset_t *mask)
{
    return sigismember(mask, SIGSEGV) == 1 || sigismember(mask, SIGSYS) == 1;
}

/* Is there a moment in which one of our signals cannot be handled? */
static bool may_be_blocked(void)
{
    stack_t stack;
    sigset_t mask;

    if (sigprocmask(SIG_BLOCK, NULL, &mask) != 0 || blocks_ours(&mask))
        return true;
    if (sigaltstack(NULL, &stack) != 0 ||
        (!(stack.ss_flags & SS_DISABLE) && stack.ss_size < getauxval(AT_MINSIGSTKSZ) + STACK_BYTES))
        return true;
    for (int number = 1; number <= SIGRTMAX; number++) {
        struct sigaction its;
        if (number != SIGSEGV && number != SIGSYS && sigaction(number, NULL, &its) == 0 &&
            its.sa_handler != SIG_DFL && its.sa_handler != SIG_IGN && blocks_ours(&its.sa_mask))
            return true;
    }
    return false;
}

static bool dispatch(bool on)
{
    return prctl(PR_SET_SYSCALL_USER_DISPATCH, on ? PR_SYS_DISPATCH_ON : PR_SYS_DISPATCH_OFF,
                 on ? pages.restorer : NULL, on ? RESTORER_BYTES : 0, on ? &selector : NULL) == 0;
}

bool hp_pages_open(void)
{
    kernel_action_t action = {.handler = NULL};

    if (!take_signal(&segv) || !take_signal(&sys) ||
        syscall(SYS_rt_sigaction, SIGSYS, NULL, &action, sizeof action.mask) != 0)
        return false;
    pages.restorer = action.restorer;
    pages.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    pages.owner = pthread_self();
    selector = ALLOW;
    const bool works = dispatch(true);
    const int error = errno;
    if (works)
        dispatch(false);
    else
        hp_pages_fini();
    errno = error;
    return works;
}

void hp_pages_fini(void)
{
    hp_pages_disarm();
    give_signal(&segv);
    give_signal(&sys);
}

bool hp_pages_arm(const hp_memory_range_t ranges[HP_PAGES_RANGES], bool reads_allowed, bool until_first)
{
    bool is_set = true;

    if (!pages.restorer || may_be_blocked() || !take_signal(&segv) || !take_signal(&sys) || !dispatch(true))
        return false;
    memcpy(pages.range, ranges, sizeof pages.range);
    memset(pages.given_back, 0, sizeof pages.given_back);
    pages.reads_allowed = reads_allowed;
    pages.until_first = until_first;
    pages.faults = pages.signals = 0;
    pages.hits = (hp_pages_hits_t){.first = 0};
    atomic_store(&retries, 0);
    atomic_store(&retried, NULL);
    pages.owner = pthread_self();
    atomic_store(&changes, 1); /* a handler of the program may touch pages between these lines */
    atomic_store(&is_armed, true);
    for (unsigned i = 0; i < HP_PAGES_RANGES && is_set; i++)
        is_set = !ranges[i].bytes || mprotect(ranges[i].start, ranges[i].bytes, rights_of(i)) == 0;
    if (!is_set)
        end_watch(true);
    if (!atomic_load(&is_armed))
        give_back();
    atomic_fetch_sub(&changes, 1);
    if (atomic_load(&is_armed))
        selector = BLOCK;
    if (!is_set)
        hp_pages_disarm();
    return is_set;
}

hp_pages_hits_t hp_pages_disarm(void)
{
    end_watch(false);
    while (atomic_load(&changes)) /* another thread has touched a page, and is not done */
        ;
    pages.hits.ns = (uint64_t)pages.signals * SIGNAL_NS;
    const hp_pages_hits_t hits = pages.hits;
    memset(pages.range, 0, sizeof pages.range);
    if (pages.restorer)
        dispatch(false);
    return hits;
}

#else /* no syscall user dispatch, or nobody has tried it there */

bool hp_pages_open(void)
{
    errno = ENOSYS;
    return false;
}

void hp_pages_fini(void)
{
}

bool hp_pages_arm(const hp_memory_range_t ranges[HP_PAGES_RANGES], bool reads_allowed, bool until_first)
{
    (void)ranges;
    (void)reads_allowed;
    (void)until_first;
    return false;
}

hp_pages_hits_t hp_pages_disarm(void)
{
    return (hp_pages_hits_t){.first = 0};
}

#endif
