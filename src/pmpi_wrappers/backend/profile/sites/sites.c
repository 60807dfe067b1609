#include "pmpi_wrappers/backend/profile/sites/sites.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>
#include "pmpi_wrappers/backend/glue/machine.h"

/* SETS, WAYS, STEPS: 0.8 and 1.6 MB, of which pages are used as sites come. NEAR: places in which a step may be. KNOWN_SEGMENTS: of the
 * modules that call. ONE_IN: of the ways found by their steps, that are kept instead of others. */
enum { SETS_BITS = 10, WAYS = 4, STEPS = 65536, NEAR = 8, ADDRESSES_MAX = 65536 };
enum { KNOWN_SEGMENTS = 64, CACHE_LINE = 64, ONE_IN = 16 };
#define MIX 0x9e3779b97f4a7c15u
#if defined __x86_64__
enum { KNOWS_WORDS = true }; /* where return addresses stand */
#else
enum { KNOWS_WORDS = false };
#endif

/* A return address. */
typedef struct {
    uint64_t address;
    uint64_t frame;   /* behind the key: as in hp_book_site_t; HP_BOOK_NO_FRAME: the MPI's */
    uint64_t is_libc; /* what is there below main, or a thread's first function */
} address_t;

/* A walk up the stack. */
typedef struct {
    uint32_t depth, site;
    uintptr_t address[HP_SITES_DEPTH]; /* [0] is where it began, as is frame */
    const uintptr_t *word[HP_SITES_DEPTH];
    uintptr_t frame;
} walk_t;

/* Those that begin at one address, in a frame at one place, and others of the same hash. */
typedef struct {
    hp_site_way_t way[WAYS];
} set_t;

/* A step of any walk that was made. */
typedef struct {
    uint64_t key; /* of the frame where the walk began and all return addresses so far; 0: there is no step */
    const uintptr_t *word; /* where the next one stands; NULL: this is the last, and the site is known */
    uint32_t site;
} step_t;

static hp_book_t *book;
static unsigned frames_kept;
static const char *host_path;
static void *sets_memory;
static set_t *sets; /* in it, at the beginning of a line */
static unsigned next_victim;
static step_t *steps;
static hp_table_t addresses;

/* ---- modules ---- */

/* Of a module, what is to be known of the addresses in one of its segments. */
typedef struct {
    uintptr_t begin, end, base;
    uint64_t frame; /* without the offset; HP_BOOK_NO_FRAME: the MPI's */
    bool is_libc, is_nowhere;
} segment_t;

static segment_t segments[KNOWN_SEGMENTS];
static unsigned segment_count;

/* Where a module lies, and its build id, of the segment with an address. */
typedef struct {
    uintptr_t address, base, begin, end;
    bool is_program; /* and no library */
    char build_id[48];
} module_t;

static void read_build_id(const struct dl_phdr_info *object, const ElfW(Phdr) * segment, module_t *module)
{
    const char *at = (const char *)(object->dlpi_addr + segment->p_vaddr), *end = at + segment->p_memsz;

    while (at + sizeof(ElfW(Nhdr)) < end) {
        const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
        const char *name = at + sizeof *note;
        const unsigned char *text = (const unsigned char *)name + (note->n_namesz + 3u) / 4 * 4;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
            for (unsigned i = 0; i < note->n_descsz && 2 * i + 2 < sizeof module->build_id; i++)
                snprintf(module->build_id + 2 * i, 3, "%02x", text[i]);
            return;
        }
        at = (const char *)text + (note->n_descsz + 3u) / 4 * 4;
    }
}

static int find_module(struct dl_phdr_info *object, size_t size, void *context)
{
    module_t *module = context;
    bool holds = false;
    (void)size;

    for (unsigned i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        const uintptr_t begin = object->dlpi_addr + segment->p_vaddr, end = begin + segment->p_memsz;
        if (segment->p_type != PT_LOAD || module->address < begin || module->address >= end)
            continue;
        holds = true;
        module->begin = begin;
        module->end = end;
    }
    if (!holds)
        return 0;
    module->base = object->dlpi_addr;
    module->is_program = object->dlpi_name[0] == '\0';
    for (unsigned i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_NOTE)
            read_build_id(object, &object->dlpi_phdr[i], module);
    return 1;
}

static bool is_of_mpi(const char *path)
{
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    return (host_path && strcmp(path, host_path) == 0) || strncmp(name, "libmpi", 6) == 0 ||
           strncmp(name, "libhanpmpi", 10) == 0;
}

/* SimGrid loads a copy of the program for each rank, under a name of its own: it is the second word of smpimain's
 * command. */
static bool simulated_program(const char *path, char *name, size_t room)
{
    char words[4096];
    Dl_info own;

    if (!hp_ranks_take_turns || !dladdr((void *)(uintptr_t)hp_sites_init, &own) ||
        strcmp(own.dli_fname, path) != 0)
        return false;
    FILE *file = fopen("/proc/self/cmdline", "re");
    const size_t length = file ? fread(words, 1, sizeof words - 1, file) : 0;
    if (file)
        fclose(file);
    words[length] = '\0';
    const size_t first = strlen(words) + 1;
    char *resolved = first < length ? realpath(words + first, NULL) : NULL;
    if (resolved)
        snprintf(name, room, "%s", resolved);
    free(resolved);
    return resolved != NULL;
}

/* The program's path is asked of the kernel: the loader has it as it was typed. */
static void name_module(const module_t *module, const char *path, char *name, size_t room)
{
    if (simulated_program(path, name, room))
        return;
    char *resolved = realpath(module->is_program ? "/proc/self/exe" : path, NULL);
    snprintf(name, room, "%s", resolved ? resolved : path);
    free(resolved);
}

static segment_t describe_segment(uintptr_t at)
{
    module_t module = {.address = at};
    segment_t segment = {.frame = HP_BOOK_NO_FRAME};
    char path[256] = "";
    Dl_info info;

    if (!dl_iterate_phdr(find_module, &module) || !dladdr((void *)at, &info)) {
        segment.frame = (uint64_t)hp_book_module(book, "", "", "") << 48; /* made while the program runs */
        segment.is_nowhere = true;
        return segment;
    }
    segment.begin = module.begin;
    segment.end = module.end;
    segment.base = module.base;
    if (is_of_mpi(info.dli_fname))
        return segment;
    segment.is_libc = strstr(info.dli_fname, "/libc.so") != NULL;
    name_module(&module, info.dli_fname, path, sizeof path);
    segment.frame = (uint64_t)hp_book_module(book, path, module.build_id, "") << 48;
    return segment;
}

static segment_t segment_of(uintptr_t at)
{
    for (unsigned i = 0; i < segment_count; i++)
        if (at >= segments[i].begin && at < segments[i].end)
            return segments[i];
    const segment_t segment = describe_segment(at);
    if (!segment.is_nowhere && segment_count < KNOWN_SEGMENTS)
        segments[segment_count++] = segment;
    return segment;
}

static void describe(address_t *address)
{
    const uintptr_t at = address->address - 1;
    const segment_t segment = segment_of(at);

    address->is_libc = segment.is_libc;
    address->frame = segment.frame;
    if (segment.frame != HP_BOOK_NO_FRAME && !segment.is_nowhere)
        address->frame |= (at - segment.base) << 16 >> 16;
}

static address_t look_up(uintptr_t address)
{
    const uint64_t key = address;
    const uint32_t known = addresses.count, number = hp_table_add(&addresses, &key, 1);

    if (number == HP_TABLE_FULL)
        return (address_t){.frame = HP_BOOK_NO_FRAME};
    address_t *row = hp_table_row(&addresses, number);
    if (addresses.count != known)
        describe(row);
    return *row;
}

/* ---- walks ---- */

typedef struct {
    walk_t *walk;
    bool begun, after_libc;
    unsigned kept; /* frames that a site has */
} walker_t;

/* Has the walk what a site needs? Behind frames of the C library it may be at the beginning of the program, which is dropped. */
static bool is_enough(walker_t *walker, uintptr_t address)
{
    const address_t known = look_up(address);
    const bool after_libc = walker->after_libc;

    walker->kept += known.frame != HP_BOOK_NO_FRAME;
    walker->after_libc = known.is_libc;
    return walker->kept >= frames_kept && !known.is_libc && !after_libc;
}

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *argument)
{
    walker_t *walker = argument;
    walk_t *walk = walker->walk;
    const uintptr_t address = _Unwind_GetIP(context), frame = _Unwind_GetCFA(context);

    walker->begun = walker->begun || (address == walk->address[0] && frame == walk->frame);
    if (!walker->begun)
        return _URC_NO_REASON; /* our own frames */
    if (!address)
        return _URC_END_OF_STACK;
    walk->address[walk->depth] = address;
    walk->word[walk->depth++] = (const uintptr_t *)frame - 1; /* the call has put it below the frame */
    return walk->depth < HP_SITES_DEPTH && !is_enough(walker, address) ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/* Who called main, or a thread's first function, is the same everywhere. */
static void drop_beginning(walk_t *walk)
{
    if (walk->depth == HP_SITES_DEPTH) /* the walk has not come there */
        return;
    if (walk->depth > 2 && look_up(walk->address[walk->depth - 2]).is_libc) /* _start of the program */
        walk->depth--;
    while (walk->depth > 1 && look_up(walk->address[walk->depth - 1]).is_libc)
        walk->depth--;
}

/* Of the addresses of a walk, of which as many are kept as that takes. */
static uint32_t site_of(walk_t *walk)
{
    hp_book_site_t site = {.frame = {[0 ... HP_BOOK_FRAMES - 1] = HP_BOOK_NO_FRAME}};
    unsigned kept = 0, needed = 0;

    drop_beginning(walk);
    for (; needed < walk->depth && kept < frames_kept; needed++) {
        const uint64_t frame = look_up(walk->address[needed]).frame;
        if (frame != HP_BOOK_NO_FRAME)
            site.frame[kept++] = frame;
    }
    walk->depth = needed;
    return kept ? hp_book_site(book, &site) : 0;
}

static void walk_stack(walk_t *walk)
{
    walker_t walker = {.walk = walk};

    if (frames_kept > 1 || look_up(walk->address[0]).frame == HP_BOOK_NO_FRAME)
        _Unwind_Backtrace(step, &walker);
    if (walk->depth == 0) { /* one frame is enough, or the unwinder knows nothing */
        walk->depth = 1;
        walk->word[0] = NULL;
    }
    walk->site = site_of(walk);
}

/* ---- what is remembered of them ---- */

static uint64_t key_of(uint64_t key_before, uintptr_t word)
{
    const uint64_t key = (key_before ^ word) * MIX;
    return key ^ key >> 32;
}

/* Mixed before an address comes to it: frames lie as near to each other as addresses do, and what two frames differ by may well be
 * what two addresses differ by. */
static uint64_t key_of_frame(uintptr_t frame)
{
    return key_of(0, frame);
}

/* The step of that key, or the place for it. */
static step_t *step_of(uint64_t key)
{
    for (uint64_t i = 0; i < NEAR; i++) {
        step_t *here = &steps[(key + i) % STEPS];
        if (here->key == key || here->key == 0)
            return here;
    }
    return &steps[key % STEPS];
}

/* By the steps of other walks: what one has found as the next word says which step comes next. False: not known. */
static bool follow_steps(walk_t *walk)
{
    uint64_t key = key_of(key_of_frame(walk->frame), walk->address[0]);

    for (walk->depth = 1; walk->depth <= HP_SITES_DEPTH; walk->depth++) {
        const step_t *step = step_of(key);
        if (step->key != key)
            break;
        if (!step->word) {
            walk->site = step->site;
            return true;
        }
        if (walk->depth == HP_SITES_DEPTH)
            break;
        walk->word[walk->depth] = step->word;
        walk->address[walk->depth] = *step->word;
        key = key_of(key, *step->word);
    }
    walk->depth = 0;
    return false;
}

static void keep_steps(const walk_t *walk)
{
    uint64_t key = key_of_frame(walk->frame);

    for (uint32_t i = 0; i < walk->depth; i++) {
        const bool is_last = i + 1 == walk->depth;
        key = key_of(key, walk->address[i]);
        *step_of(key) = (step_t){key, is_last ? NULL : walk->word[i + 1], is_last ? walk->site : 0};
    }
}

/* Does the stack hold what it held then? where: the frame, or 0, of a walk of one step. */
static inline bool is_same(const hp_site_way_t *place, uintptr_t address, uintptr_t frame, uintptr_t where)
{
    const uintptr_t *words = (const uintptr_t *)frame;
    const unsigned further = place->depth - 1u;

    if (place->address != address || place->depth == 0 || place->frame != (further ? frame : where))
        return false;
    if (!further)
        return true;
    uint64_t mix = 0;
    for (unsigned i = 0; i < further; i++)
        mix = mix * MIX + words[place->word[i]];
    return mix == place->mix;
}

/* False: it does not fit. */
static bool make_place(hp_site_way_t *place, const walk_t *walk, uintptr_t where)
{
    uint64_t mix = 0;

    for (uint32_t i = 1; i < walk->depth; i++) {
        const intptr_t words = walk->word[i] - (const uintptr_t *)walk->frame;
        if (!KNOWS_WORDS || words < 0 || words > UINT16_MAX)
            return false;
        place->word[i - 1] = (uint16_t)words;
        mix = mix * MIX + walk->address[i];
    }
    place->address = walk->address[0];
    place->frame = walk->depth > 1 ? walk->frame : where;
    place->mix = mix;
    place->site = walk->site;
    place->depth = (uint16_t)walk->depth;
    return true;
}

/* What is not kept. */
static hp_site_way_t *for_now(uint32_t site)
{
    static hp_site_way_t place;

    place.site = site;
    return &place;
}

/* In place of another one, if need be. */
static hp_site_way_t *remember(set_t *set, const walk_t *walk, uintptr_t where)
{
    hp_site_way_t made = {.address = 0};
    unsigned way = 0;

    if (!make_place(&made, walk, where))
        return for_now(walk->site);
    while (way < WAYS && set->way[way].depth)
        way++;
    hp_site_way_t *place = &set->way[way < WAYS ? way : next_victim++ % WAYS];
    *place = made;
    return place;
}

/* Where calls come on more ways than there is room for, each would drive out the one that is needed next. */
static bool is_worth_it(const set_t *set)
{
    static unsigned followed;

    return !set->way[WAYS - 1].depth || ++followed % ONE_IN == 0;
}

static __attribute__((noinline)) hp_site_way_t *find_slowly(set_t *set, uintptr_t address, uintptr_t frame,
                                                            uintptr_t where)
{
    walk_t walk;

    walk.address[0] = address;
    walk.frame = frame;
    if (KNOWS_WORDS && follow_steps(&walk))
        return is_worth_it(set) ? remember(set, &walk, where) : for_now(walk.site);
    walk.depth = 0;
    walk_stack(&walk);
    if (walk.site == 0) { /* counted each time */
        book->lost[HP_LOST_sites]++;
        return for_now(0);
    }
    keep_steps(&walk);
    return remember(set, &walk, where);
}

static set_t *set_of(uintptr_t address, uintptr_t where)
{
    return &sets[((address ^ where << 7) * MIX) >> (64 - SETS_BITS)];
}

static uintptr_t where_of(uintptr_t frame)
{
    return frames_kept > 1 ? frame : 0;
}

void hp_sites_expect(const void *return_address, const void *frame)
{
    __builtin_prefetch(set_of((uintptr_t)return_address, where_of((uintptr_t)frame)));
}

hp_site_way_t *hp_sites_find(const void *return_address, const void *call_frame)
{
    const uintptr_t address = (uintptr_t)return_address, frame = (uintptr_t)call_frame;
    const uintptr_t where = where_of(frame);
    set_t *set = set_of(address, where);

    for (unsigned i = 0; i < WAYS; i++)
        if (__builtin_expect(is_same(&set->way[i], address, frame, where), 1))
            return &set->way[i];
    return find_slowly(set, address, frame, where);
}

int hp_sites_words(const hp_site_way_t *place, const void *frame, const uintptr_t **words, int room)
{
    const int further = place->depth - 1;

    for (int i = 0; i < further && further <= room; i++)
        words[i] = (const uintptr_t *)frame + place->word[i];
    return further <= room ? further : -1;
}

bool hp_sites_init(hp_book_t *into, unsigned frames, const void *host)
{
    Dl_info info;

    book = into;
    frames_kept = frames;
    host_path = dladdr(host, &info) ? info.dli_fname : NULL;
    hp_table_init(&addresses, sizeof(address_t), sizeof(uint64_t), ADDRESSES_MAX);
    segment_count = 0;
    sets_memory = calloc((1u << SETS_BITS) + 1, sizeof *sets);
    sets = (set_t *)(((uintptr_t)sets_memory + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
    steps = calloc(STEPS, sizeof *steps);
    return sets_memory && steps;
}

void hp_sites_fini(void)
{
    hp_table_fini(&addresses);
    free(sets_memory);
    free(steps);
    sets_memory = NULL;
    sets = NULL;
    steps = NULL;
}
