/* cvars: the control variables of the host MPI, by MPI's tools interface (MPI_T): what there is, and the change of
 * one.
 *
 * Threads: one. Ownership: teach_cvar_close gives a handle back. */
#ifndef HP_TEACH_CVARS_H
#define HP_TEACH_CVARS_H

#include <jansson.h>
#include <mpi.h>
#include <stdbool.h>

enum { TEACH_CVAR_BYTES = 256 };

/* One that is an int and can be changed: algorithms, and the sizes of segments, are. */
typedef struct {
    char name[TEACH_CVAR_BYTES];
    MPI_T_cvar_handle handle;
    int original, value;
} teach_cvar_t;

void teach_cvars_init(void);
void teach_cvars_fini(void);

/* Those whose names start with one of the prefixes: [{"name", "help", "changes": can it be changed?, "value", "words":
 * {"ring": 4, ...} where the MPI lists its values}, ...] */
json_t *teach_cvars_list(char *const *prefixes, int count);

/* NULL, or why it cannot be changed. */
const char *teach_cvar_open(const char *name, teach_cvar_t *cvar);
void teach_cvar_close(teach_cvar_t *cvar);
/* Whether the MPI took it. */
bool teach_cvar_set(teach_cvar_t *cvar, int value);

#endif
