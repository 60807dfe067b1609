/* link_check: says so when the library is loaded but cannot intercept anything (docs/pitfalls.md 4).
 *
 * Two ways to lose silently: the MPI stands before us in the search order (-lmpi -lhanpmpi), or it is linked
 * statically into the program. Both are looked for at load time; a program without an MPI sees nothing of it.
 * Threads: a constructor. Ownership: nothing kept. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/log.h"
#include "pmpi_wrappers/front/start.h"

/* Does the symbol table of this ELF image define name? */
static bool image_defines(const char *image, size_t bytes, const char *name)
{
    const ElfW(Ehdr) *header = (const void *)image;
    if (bytes < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_shoff == 0 ||
        header->e_shoff + (size_t)header->e_shnum * sizeof(ElfW(Shdr)) > bytes)
        return false;
    const ElfW(Shdr) *sections = (const void *)(image + header->e_shoff);
    for (unsigned s = 0; s < header->e_shnum; s++) {
        if (sections[s].sh_type != SHT_SYMTAB || sections[s].sh_link >= header->e_shnum)
            continue;
        const ElfW(Shdr) *strings = &sections[sections[s].sh_link];
        if (sections[s].sh_offset + sections[s].sh_size > bytes ||
            strings->sh_offset + strings->sh_size > bytes)
            return false;
        const ElfW(Sym) *symbols = (const void *)(image + sections[s].sh_offset);
        const size_t length = strlen(name) + 1;
        for (size_t i = 0; i < sections[s].sh_size / sizeof *symbols; i++)
            if (symbols[i].st_shndx != SHN_UNDEF && symbols[i].st_name + length <= strings->sh_size &&
                memcmp(image + strings->sh_offset + symbols[i].st_name, name, length) == 0)
                return true;
    }
    return false;
}

static bool program_defines(const char *name)
{
    struct stat facts;
    bool defines = false;
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    if (file < 0)
        return false;
    if (fstat(file, &facts) == 0 && facts.st_size > 0) {
        void *image = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (image != MAP_FAILED) {
            defines = image_defines(image, (size_t)facts.st_size, name);
            munmap(image, (size_t)facts.st_size);
        }
    }
    close(file);
    return defines;
}

/* Is the PMPI_Bcast that the program gets ours? Asked by object: our own name for it would go through the
 * same search order and always agree. */
static bool intercepts(void)
{
    Dl_info found, own;
    void *first = dlsym(RTLD_DEFAULT, "PMPI_Bcast");
    return first && dladdr(first, &found) && dladdr((void *)(uintptr_t)hp_start_is_enabled, &own) &&
           found.dli_fbase == own.dli_fbase;
}

__attribute__((constructor)) static void check_link(void)
{
    if (!hp_start_is_enabled())
        return;
    if (!intercepts()) {
        if (hp_start_speaks_for_job())
            hp_warn("loaded behind the MPI library, so nothing is intercepted: put -lhanpmpi before -lmpi, "
                    "or use LD_PRELOAD");
    } else if (hp_start_is_rank() && program_defines("PMPI_Bcast")) {
        if (hp_start_speaks_for_job())
            hp_warn("this program has its MPI linked in statically, so nothing is intercepted: link it with "
                    "the MPI's shared library");
    }
}
