/* pack: the data of derived datatypes to and from bytes without gaps.
 *
 * Threads: any. Ownership: init to fini of a packer; the program's datatype is borrowed. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_GLUE_PACK_H
#define HP_PMPI_WRAPPERS_BACKEND_GLUE_PACK_H

#include "pmpi_wrappers/backend/glue/datatypes.h"
#include "pmpi_wrappers/backend/glue/route.h"

/* What packs elements of a datatype, several times. */
typedef struct {
    hp_type_t type;       /* its handle: the program's datatype, or what stands in for it (stand_in.h), */
    hp_handle_t stand_in; /* which is the packer's; 0: there is none */
} hp_packer_t;

/* Returns an MPI error code; then, and where all is zero, fini has nothing to do. */
int hp_packer_init(hp_packer_t *packer, const hp_type_t *type);
void hp_packer_fini(hp_packer_t *packer);

/* Packs count elements from buffer into packed (pack = true) or unpacks them: packed holds the data in the
 * order of the type signature without gaps, count * type.bytes of it. route: that of the collective. Returns an MPI error
 * code. */
int hp_packer_move(const hp_packer_t *packer, bool pack, void *buffer, int64_t count, char *packed,
                   const hp_route_t *route);
/* Does it so by a call that sends no messages? */
bool hp_packer_moves_in_place(const hp_packer_t *packer, const void *buffer);

/* All of it, for who packs once. */
int hp_datatype_pack(bool pack, void *buffer, int64_t count, const hp_type_t *type, char *packed,
                     const hp_route_t *route);

#endif
