/* datatypes: what the library needs to know of an MPI datatype and operation.
 *
 * Threads: any. Ownership: nothing kept. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_GLUE_DATATYPES_H
#define HP_PMPI_WRAPPERS_BACKEND_GLUE_DATATYPES_H

#include <stdbool.h>
#include "event_engine/op/op.h"
#include "pmpi_wrappers/backend/glue/mpi_glue.h"

/* Sizes and bounds, whatever they are: elements may overlap or run backwards (the extent then is a negative number's
 * bits). For what only hands elements to the MPI. false when the MPI reports an error. */
bool hp_datatype_measure(MPI_Datatype datatype, hp_type_t *out);

/* The same for what cuts data into pieces or walks through it: also false where elements overlap or run backwards. */
bool hp_datatype_describe(MPI_Datatype datatype, hp_type_t *out);

/* Another handle of the datatype, committed, for after the program has freed its own. Not a duplicate, which would have the
 * program's attributes, and run its callbacks. Returns an MPI code. */
int hp_datatype_keep(MPI_Datatype datatype, MPI_Datatype *own);

/* A named datatype: it is committed, and what it is like never changes. */
typedef struct {
    hp_handle_t key;
    hp_type_t type;
    bool contiguous;
} hp_named_type_t;

/* What is known of the datatype, if it is a named one; asks the MPI at the first call only. NULL: it is not,
 * or it cannot be described. Any thread. */
const hp_named_type_t *hp_datatype_named(MPI_Datatype datatype);

/* Is it one of the MPI's complex numbers? */
bool hp_datatype_is_complex(MPI_Datatype datatype);

/* Does the data of count elements lie in memory without gaps and in the order of the type signature? Then it
 * can be sent as bytes. May say no for a type that does: the caller then packs. */
bool hp_datatype_is_contiguous(MPI_Datatype datatype, const hp_type_t *type);

/* Is the datatype committed? comm: any communicator whose error handler returns. Costs a call of the MPI: for
 * derived types before the first message, because afterwards its error could not be the one of the collective
 * any more. */
bool hp_datatype_is_committed(MPI_Datatype datatype, MPI_Comm comm);

/* The loops that reductions use from now on; NULL: all are left to MPI_Reduce_local. Inside MPI_Init. */
void hp_reductions_init(const hp_kernel_set_t *kernels);

/* Is (op, datatype) a reduction that the MPI standard defines, or a user-defined operation? Anything else is
 * left to the host MPI, which reports the error or knows an extension. type: of datatype. When true is
 * returned, *commutative is set, and *kernel is the library's own loop for it, or NULL where MPI_Reduce_local
 * must do it. */
bool hp_reduction_describe(MPI_Op op, MPI_Datatype datatype, const hp_type_t *type, bool *commutative,
                           hp_kernel_fn_t *kernel);

/* Is the operation one of the host MPI's, which nobody can free? */
bool hp_op_is_predefined(MPI_Op op);

#endif
