#include "pmpi_wrappers/backend/profile/sites.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>
#include "pmpi_wrappers/backend/glue/machine.h"

/* DEPTH: frames that are looked at, those of the MPI included. MEMORIES: walks that are remembered; 3.4 MB, of which
 * pages are used as sites come. */
enum { DEPTH = HP_BOOK_FRAMES + 4, MEMORIES = 16384, ADDRESSES_MAX = 65536 };

/* A return address. */
typedef struct {
    uint64_t address;
    uint64_t frame;   /* behind the key: as in hp_book_site_t; HP_BOOK_NO_FRAME: the MPI's */
    uint64_t is_libc; /* what is there below main, or a thread's first function */
} address_t;

/* A walk. */
typedef struct {
    uint32_t depth, site;
    uintptr_t address[DEPTH]; /* [0] is where it began, as is frame */
    const uintptr_t *word[DEPTH];
    uintptr_t frame;
} memory_t;

static hp_book_t *book;
static unsigned frames_kept;
static const char *host_path;
static memory_t *memories;
static hp_table_t addresses;

/* ---- modules ---- */

/* Where a module lies, and its build id, of the segment with an address. */
typedef struct {
    uintptr_t address, base;
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

static int look_at_object(struct dl_phdr_info *object, size_t size, void *context)
{
    module_t *module = context;
    bool holds = false;
    (void)size;

    for (unsigned i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        holds |= segment->p_type == PT_LOAD && module->address >= object->dlpi_addr + segment->p_vaddr &&
                 module->address < object->dlpi_addr + segment->p_vaddr + segment->p_memsz;
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

static void describe(address_t *address)
{
    module_t module = {.address = address->address - 1};
    char path[256] = "";
    Dl_info info;

    if (!dl_iterate_phdr(look_at_object, &module) || !dladdr((void *)module.address, &info)) {
        address->frame = (uint64_t)hp_book_module(book, "", "") << 48; /* made while the program runs */
        return;
    }
    if (is_of_mpi(info.dli_fname)) {
        address->frame = HP_BOOK_NO_FRAME;
        return;
    }
    address->is_libc = strstr(info.dli_fname, "/libc.so") != NULL;
    name_module(&module, info.dli_fname, path, sizeof path);
    address->frame = (uint64_t)hp_book_module(book, path, module.build_id) << 48 |
                     ((module.address - module.base) << 16 >> 16);
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
    memory_t *walk;
    bool begun;
} walker_t;

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *argument)
{
    walker_t *walker = argument;
    memory_t *walk = walker->walk;
    const uintptr_t address = _Unwind_GetIP(context), frame = _Unwind_GetCFA(context);

    walker->begun = walker->begun || (address == walk->address[0] && frame == walk->frame);
    if (!walker->begun)
        return _URC_NO_REASON; /* our own frames */
    if (!address)
        return _URC_END_OF_STACK;
    walk->address[walk->depth] = address;
    walk->word[walk->depth++] = (const uintptr_t *)frame - 1; /* the call has put it below the frame */
    return walk->depth < DEPTH ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/* Who called main, or a thread's first function, is the same everywhere. */
static void drop_beginning(memory_t *walk)
{
    if (walk->depth == DEPTH) /* the walk has not come there */
        return;
    if (walk->depth > 2 && look_up(walk->address[walk->depth - 2]).is_libc) /* _start of the program */
        walk->depth--;
    while (walk->depth > 1 && look_up(walk->address[walk->depth - 1]).is_libc)
        walk->depth--;
}

/* Of the addresses of a walk, of which as many are kept as that takes. */
static uint32_t site_of(memory_t *walk)
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

static void walk_stack(memory_t *walk)
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

/* Does the stack still hold what it held then? */
static bool is_same(const memory_t *memory, uintptr_t address, uintptr_t frame)
{
    if (memory->address[0] != address || memory->frame != frame)
        return false;
#if defined __x86_64__
    for (uint32_t i = 1; i < memory->depth; i++)
        if (*memory->word[i] != memory->address[i])
            return false;
    return true;
#else
    return memory->depth == 1;
#endif
}

uint32_t hp_sites_find(const void *return_address, const void *frame)
{
    const uintptr_t address = (uintptr_t)return_address;
    const uintptr_t where = frames_kept > 1 ? (uintptr_t)frame : 0;
    memory_t *memory = &memories[((address ^ where << 7) * 0x9e3779b97f4a7c15u) >> 50];

    if (__builtin_expect(is_same(memory, address, memory->depth > 1 ? (uintptr_t)frame : where), 1))
        return memory->site;
    *memory = (memory_t){.address = {address}, .frame = (uintptr_t)frame};
    walk_stack(memory);
    if (memory->depth == 1)
        memory->frame = where;
    if (memory->site == 0) {
        book->lost[HP_LOST_sites]++;
        memory->address[0] = 0; /* counted each time */
    }
    return memory->site;
}

bool hp_sites_init(hp_book_t *into, unsigned frames, const void *host)
{
    Dl_info info;

    book = into;
    frames_kept = frames;
    host_path = dladdr(host, &info) ? info.dli_fname : NULL;
    hp_table_init(&addresses, sizeof(address_t), sizeof(uint64_t), ADDRESSES_MAX);
    memories = calloc(MEMORIES, sizeof *memories);
    return memories != NULL;
}

void hp_sites_fini(void)
{
    hp_table_fini(&addresses);
    free(memories);
    memories = NULL;
}
