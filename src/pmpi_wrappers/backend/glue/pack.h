/* pack: the data of derived datatypes to and from bytes without gaps.
 *
 * Threads: any. Ownership: nothing kept. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_GLUE_PACK_H
#define HP_PMPI_WRAPPERS_BACKEND_GLUE_PACK_H

#include "pmpi_wrappers/backend/glue/datatypes.h"
#include "pmpi_wrappers/backend/glue/route.h"

/* Packs count elements from buffer into packed (pack = true) or unpacks them: packed holds the data in the
 * order of the type signature without gaps, count * type->bytes of it. route: that of the collective. Returns an MPI error
 * code. */
int hp_datatype_pack(bool pack, void *buffer, int64_t count, const hp_type_t *type, char *packed,
                     const hp_route_t *route);

/* Does hp_datatype_pack pack by a call that sends no messages? */
bool hp_datatype_packs_in_place(const void *buffer, const hp_type_t *type);

#endif
