/* own_pack: packs what the host MPI packs wrongly.
 *
 * Open MPI 5.0.11 packs complex numbers and long doubles wrongly that lie one and a half times or twice their bytes apart: it rounds
 * the distance down to a multiple of what it copies at a time. So do its messages. Which basic types a host MPI gets wrong like that
 * is probed once; derived types that have one of them are packed here, from how the type was made.
 *
 * Threads: any. Ownership: nothing kept. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_GLUE_OWN_PACK_H
#define HP_PMPI_WRAPPERS_BACKEND_GLUE_OWN_PACK_H

#include "pmpi_wrappers/backend/glue/datatypes.h"

/* As hp_datatype_pack (pack.h). False: the host MPI packs the type rightly, or nobody can tell how it was made (a
 * distributed array, a type with pairs that have gaps); nothing has happened. Else *code is MPI_SUCCESS, or what went wrong. */
bool hp_own_pack(bool pack, void *buffer, int64_t count, const hp_type_t *type, char *packed, int *code);

#endif
