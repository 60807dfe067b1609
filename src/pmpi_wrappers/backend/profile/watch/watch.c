#include "pmpi_wrappers/backend/profile/watch/watch.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include "base/log.h"
#include "pmpi_wrappers/backend/profile/book/ticks.h"
#include "pmpi_wrappers/backend/profile/watch/pages.h"
#include "pmpi_wrappers/backend/profile/watch/words.h"

/* SHARE_OF_RUN: watching takes 0.8% of the run at most, and in the beginning what BEGINNING has room for: a program
 * loses two to three times that, as other ranks wait for this one, and huge pages are split (LAMMPS, 0.34 s on 2 ranks:
 * 20 ms of each rank were 14% of the run, 4 ms 4%). A watch costs 10 to 90 us, and before Linux 6.11 what it takes to
 * read the process's mappings. FIRST_CALLS: more would leave nothing of the beginning for the sites behind. ONCE: what
 * is called once, as most is while a program sets itself up, has a quarter of the beginning. PLACES: 64 bytes each. */
enum {
    SHARE_OF_RUN = 128,
    BEGINNING_NS = 3000000,
    PLACES = 1024,
    ONCE = 4,
    FIRST_CALLS = 4,
    ONE_IN = 8,
    NO_PLACE = PLACES
};

typedef enum { NOTHING, AFTER, BEFORE } what_t;

/* A call site. */
typedef struct {
    hp_watch_call_t call; /* the last one */
    uint32_t calls, next; /* next: the place of the call that came behind it last time */
    uint32_t samples[2];  /* AFTER, BEFORE */
} place_t;

static struct {
    hp_book_t *book;
    hp_watch_mode_t mode;
    bool has_words, has_pages;
    unsigned threads;
    uint64_t opened; /* ticks */
    hp_watch_cost_t cost;
    place_t places[PLACES];
    uint32_t last; /* the place of the call before */
    /* The watch that is chosen, or runs. */
    what_t what;
    bool is_chosen; /* and is to start */
    hp_watch_call_t call;
    uint32_t place;
    bool by_words, by_pages, covers; /* covers: no touch can be missed */
    uint64_t began, began_ns, stopped;
    hp_words_hits_t words;
    hp_pages_hits_t pages;
} watch;

bool hp_watch_is_open, hp_watch_is_running;

/* CLOCK_MONOTONIC: that of the words. CLOCK_THREAD_CPUTIME_ID: what watching takes, without what comes in between. */
static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void hp_watch_open(hp_book_t *book, hp_watch_mode_t mode)
{
    memset(&watch, 0, sizeof watch);
    watch.book = book;
    watch.mode = mode;
    watch.last = NO_PLACE;
    watch.threads = hp_memory_threads();
    watch.opened = hp_ticks();
    hp_watch_is_open = mode != HP_WATCH_OFF;
    watch.has_words = (mode == HP_WATCH_WORDS || mode == HP_WATCH_ALL) && hp_words_open();
    if (!watch.has_words && (mode == HP_WATCH_WORDS || mode == HP_WATCH_ALL))
        hp_info("HANPMPI_PROFILE_WATCH: the kernel gives no watchpoints (%s; kernel.perf_event_paranoid): of "
                "small "
                "buffers the recording has the time to the next MPI call, an upper bound of the slack",
                strerror(errno));
    watch.has_pages = (mode == HP_WATCH_PAGES || mode == HP_WATCH_ALL) && hp_pages_open();
    if (!watch.has_pages && (mode == HP_WATCH_PAGES || mode == HP_WATCH_ALL))
        hp_info(
            "HANPMPI_PROFILE_WATCH: the pages of buffers are not watched: that takes an x86-64 processor and "
            "Linux 5.11 or later (syscall user dispatch: %s)",
            strerror(errno));
}

void hp_watch_fini(void)
{
    if (!hp_watch_is_open)
        return;
    hp_watch_stop();
    if (watch.has_pages)
        hp_pages_fini();
    if (watch.has_words)
        hp_words_fini();
    hp_watch_is_open = watch.has_words = watch.has_pages = false;
}

hp_watch_cost_t hp_watch_cost(void)
{
    return watch.cost;
}

void hp_watch_forbid_pages(void)
{
    if (watch.has_pages)
        hp_pages_fini();
    watch.has_pages = false;
}

/* ---- what to watch ---- */

static uint32_t place_of(const hp_watch_call_t *call)
{
    return (call->site * 0x9e3779b9u ^ call->row * 0x85ebca6bu) >> 22;
}

static bool is_place(const place_t *place, const hp_watch_call_t *call)
{
    return place->calls && place->call.site == call->site && place->call.row == call->row;
}

/* is_first: a call of a site that has made no other. */
static bool is_affordable(bool is_first)
{
    return watch.cost.ns < (is_first ? BEGINNING_NS / ONCE : BEGINNING_NS) ||
           watch.cost.ns * SHARE_OF_RUN < hp_ticks_ns(hp_ticks() - watch.opened);
}

static bool is_due(const place_t *place)
{
    return place->calls < FIRST_CALLS || place->calls % ONE_IN == 0;
}

bool hp_watch_wants(const hp_watch_call_t *call)
{
    const place_t *place = &watch.places[place_of(call)];
    const bool is_first = !is_place(place, call);
    const bool is_sampled = call->is_blocking && (is_first || is_due(place));

    return watch.what != NOTHING || (is_sampled && is_affordable(is_first));
}

/* Before the call that will come, or after the one that ends here, whose place is at: is_sampled. */
static void choose(const hp_watch_call_t *call, uint32_t at, bool is_sampled)
{
    const uint32_t next = watch.places[at].next;
    const place_t *coming = next < PLACES ? &watch.places[next] : NULL;
    const bool comes_sampled = coming && coming->call.has_buffers && coming->call.is_blocking &&
                               coming->samples[1] < coming->samples[0] && is_due(coming);

    watch.what = NOTHING;
    if (comes_sampled && is_affordable(false))
        watch.what = BEFORE;
    else if (is_sampled && call->has_buffers && is_affordable(watch.places[at].calls == 1))
        watch.what = AFTER;
    watch.cost.left_out += (comes_sampled || is_sampled) && watch.what == NOTHING;
    watch.place = watch.what == BEFORE ? next : at;
    watch.is_chosen = watch.what != NOTHING;
    if (watch.is_chosen)
        watch.call = watch.places[watch.place].call;
}

/* ---- while it runs ---- */

/* What of a buffer goes by its pages: as much as is whole, if that is most of it. */
static hp_memory_range_t pages_of(hp_memory_range_t buffer)
{
    const hp_memory_range_t whole = hp_memory_pages(buffer), none = {NULL, 0};
    return watch.has_pages && 2 * whole.bytes > buffer.bytes && hp_memory_is_private(whole) ? whole : none;
}

/* The rest by words: a buffer, or what lies before and behind its pages. */
static unsigned words_of(hp_memory_range_t buffer, hp_memory_range_t whole, hp_words_range_t *words,
                         bool writes_only)
{
    const hp_memory_range_t head = {buffer.start,
                                    whole.bytes ? (size_t)(whole.start - buffer.start) : buffer.bytes};
    const hp_memory_range_t tail = {whole.start + whole.bytes,
                                    whole.bytes ? buffer.bytes - head.bytes - whole.bytes : 0};
    unsigned count = 0;

    if (head.bytes)
        words[count++] = (hp_words_range_t){head, writes_only};
    if (tail.bytes)
        words[count++] = (hp_words_range_t){tail, writes_only};
    return count;
}

/* The words first: they take system calls. */
static void arm(void)
{
    const hp_memory_range_t buffers[HP_PAGES_RANGES] = {watch.call.send, watch.call.recv};
    hp_memory_range_t pages[HP_PAGES_RANGES];
    hp_words_range_t words[HP_WORDS_MAX];
    unsigned count = 0;
    bool needs_words = false, covers = true;

    for (unsigned i = 0; i < HP_PAGES_RANGES; i++) {
        pages[i] = pages_of(buffers[i]);
        needs_words |= buffers[i].bytes && !pages[i].bytes;
        count += words_of(buffers[i], pages[i], words + count, i == 0 && watch.what == AFTER);
    }
    watch.by_words = count && watch.has_words && hp_words_arm(words, count, &covers);
    watch.by_pages =
        (pages[0].bytes || pages[1].bytes) && hp_pages_arm(pages, watch.what == AFTER, watch.what == AFTER);
    watch.covers = ((!pages[0].bytes && !pages[1].bytes) || watch.by_pages) &&
                   (!needs_words || (watch.by_words && covers)) && (watch.by_pages || watch.by_words);
}

void hp_watch_start(void)
{
    if (!watch.is_chosen)
        return;
    watch.is_chosen = false;
    const uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    watch.by_words = watch.by_pages = watch.covers = false;
    watch.words = (hp_words_hits_t){.count = 0};
    watch.pages = (hp_pages_hits_t){.first = 0};
    if (hp_memory_threads() <= watch.threads)
        arm();
    hp_watch_is_running = true;
    watch.cost.ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
    watch.began_ns = clock_ns(CLOCK_MONOTONIC);
    watch.began = hp_ticks();
}

void hp_watch_stop(void)
{
    if (!hp_watch_is_running)
        return;
    watch.stopped = hp_ticks();
    const uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    hp_watch_is_running = false;
    if (watch.by_pages)
        watch.pages = hp_pages_disarm();
    if (watch.by_words)
        watch.words = hp_words_disarm();
    watch.cost.ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
    watch.cost.ns += watch.pages.ns + watch.words.count * HP_WORDS_HIT_NS;
}

/* ---- what it has found ---- */

static uint64_t since(uint64_t at, uint64_t from)
{
    return at > from ? at - from : 0;
}

/* Seconds from the beginning of the watch, for the first and the last touch. False: none was seen. */
static bool touches(uint64_t *first_ns, uint64_t *last_ns)
{
    *first_ns = UINT64_MAX;
    *last_ns = 0;
    if (watch.pages.first) {
        *first_ns = hp_ticks_ns(since(watch.pages.first, watch.began));
        *last_ns = hp_ticks_ns(since(watch.pages.last, watch.began));
    }
    if (watch.words.first_ns) {
        const uint64_t first = since(watch.words.first_ns, watch.began_ns);
        const uint64_t last = since(watch.words.last_ns, watch.began_ns);
        *first_ns = first < *first_ns ? first : *first_ns;
        *last_ns = last > *last_ns ? last : *last_ns;
    }
    return watch.pages.first || watch.words.first_ns;
}

static void enter(hp_book_how_t how, uint64_t ns)
{
    const bool is_after = watch.what == AFTER;
    place_t *place = &watch.places[watch.place];

    hp_book_slack_add(watch.book, &(hp_book_slack_t){.call = watch.call.row,
                                                     .site = watch.call.site,
                                                     .bin = watch.call.bin,
                                                     .how = (uint8_t)how,
                                                     .after = is_after,
                                                     .before = !is_after,
                                                     .after_ns = is_after ? ns : 0,
                                                     .before_ns = is_after ? 0 : ns});
    if (is_place(place, &watch.call))
        place->samples[is_after ? 0 : 1]++;
}

/* The call that ends here stopped the watch. */
static void settle(const hp_watch_call_t *call)
{
    const uint64_t gap = hp_ticks_ns(since(watch.stopped, watch.began));
    const hp_memory_range_t mine[] = {watch.call.send, watch.call.recv}, its[] = {call->send, call->recv};
    const bool was_cut = watch.pages.is_cut;
    uint64_t first, last;
    const bool touched = touches(&first, &last);

    if (watch.what == AFTER) {
        const bool uses = hp_memory_overlaps(mine[0], its[1]) || hp_memory_overlaps(mine[1], its[0]) ||
                          hp_memory_overlaps(mine[1], its[1]);
        if (touched && first <= gap)
            enter(HP_SLACK_TOUCH, first);
        else
            enter(!watch.covers || was_cut ? HP_SLACK_NEXT_CALL
                  : uses                   ? HP_SLACK_TOUCH
                                           : HP_SLACK_UNTOUCHED,
                  gap);
    } else if (call->site == watch.call.site && call->row == watch.call.row &&
               memcmp(mine, its, sizeof mine) == 0) {
        const bool is_whole = watch.covers && !was_cut && !watch.words.is_full;
        enter(!is_whole ? HP_SLACK_NEXT_CALL
              : touched ? HP_SLACK_TOUCH
                        : HP_SLACK_UNTOUCHED,
              touched ? since(gap, last) : gap);
    }
}

void hp_watch_end_call(const hp_watch_call_t *call)
{
    const uint32_t at = place_of(call);
    place_t *place = &watch.places[at];

    if (watch.what != NOTHING)
        settle(call);
    if (!is_place(place, call))
        *place = (place_t){.next = NO_PLACE};
    const bool is_sampled = call->is_blocking && is_due(place);
    if (call->has_buffers || !place->call.has_buffers)
        place->call = *call;
    place->calls++;
    if (watch.last != NO_PLACE)
        watch.places[watch.last].next = at;
    watch.last = at;
    choose(call, at, is_sampled);
}
