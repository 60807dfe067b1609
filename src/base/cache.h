/* cache: where files lie that a run leaves for the next one, and how they are read and written.
 *
 * A file belongs to one kind of machine and one MPI: DIRECTORY/MACHINE-MPI.KIND. Nobody ever sees a part of one: it is
 * written beside its place and renamed. Nothing here ends a run.
 * Threads: each call is self-contained; several processes may write the same file. Ownership: nothing kept. */
#ifndef HP_BASE_CACHE_H
#define HP_BASE_CACHE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct {
    char directory[PATH_MAX]; /* "": nowhere */
    char machine[64], mpi[64];
    bool is_named; /* the user named the directory: one that cannot be used is worth a warning */
} hp_cache_t;

/* Room for a path with all names. */
enum { HP_CACHE_PATH_BYTES = PATH_MAX + 160 };

/* knob: the value of HANPMPI_CACHE. machine: the fingerprint. mpi: names the host MPI; of both only letters that are
 * fit for a file's name are kept. */
void hp_cache_init(hp_cache_t *out, const char *knob, const char *machine, const char *mpi);

/* Could there be files in the directory that the knob means? For a moment: other processes may make it. */
bool hp_cache_may_exist(const char *knob);

/* kind: the end of the name, "json". */
void hp_cache_path(const hp_cache_t *cache, const char *kind, char path[HP_CACHE_PATH_BYTES]);

/* The whole of a plain file of at most `most` bytes, terminated, to be freed. NULL: why not is in errno, 0 for something
 * that is no such file. */
char *hp_cache_read(const char *path, size_t most, size_t *bytes);

/* Makes the cache's directory if need be. */
bool hp_cache_make_directory(const hp_cache_t *cache);

/* Puts the text in the place of the file at once, readable by everybody. false: why not is in errno. */
bool hp_cache_replace(const char *path, const char *text);

/* Reports that a file could not be written, for the reason in errno: a warning if the user named the directory. kept: what is
 * lost, and "is" or "are". */
void hp_cache_report(const hp_cache_t *cache, const char *kept);

/* Calls `each` for every MPI of the cache's machine that has a file of this kind in the directory, in the order of their
 * names: *of_mpi is the cache with this MPI. Returns how many; -1: the directory cannot be read. */
typedef void (*hp_cache_fn_t)(void *context, const hp_cache_t *of_mpi);
int hp_cache_each(const hp_cache_t *cache, const char *kind, hp_cache_fn_t each, void *context);

#endif
