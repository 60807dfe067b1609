#include "pmpi_wrappers/backend/glue/datatypes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

bool hp_datatype_measure(MPI_Datatype datatype, hp_type_t *out)
{
    MPI_Count bytes, lb, extent, true_lb, true_extent;
    if (P(Type_size_x)(datatype, &bytes) != MPI_SUCCESS ||
        P(Type_get_extent_x)(datatype, &lb, &extent) != MPI_SUCCESS ||
        P(Type_get_true_extent_x)(datatype, &true_lb, &true_extent) != MPI_SUCCESS || bytes < 0 ||
        true_extent < 0)
        return false;
    *out = (hp_type_t){.handle = HP_HANDLE(datatype),
                       .bytes = (size_t)bytes,
                       .extent = (size_t)extent,
                       .true_lb = (ptrdiff_t)true_lb,
                       .true_extent = (size_t)true_extent};
    return true;
}

bool hp_datatype_describe(MPI_Datatype datatype, hp_type_t *out)
{
    return hp_datatype_measure(datatype, out) && (int64_t)out->extent >= (int64_t)out->true_extent;
}

int hp_datatype_keep(MPI_Datatype datatype, MPI_Datatype *own)
{
    const int code = P(Type_contiguous)(1, datatype, own);
    return code == MPI_SUCCESS ? P(Type_commit)(own) : code;
}

/* How a type was made, as far as it matters here. */
typedef struct {
    int combiner;
    bool small; /* its arguments fit the arrays that hp_datatype_is_contiguous has for them */
    int integers, addresses;
} envelope_t;

enum { INTEGERS_MAX = 3, ADDRESSES_MAX = 2 };

static bool read_envelope(MPI_Datatype datatype, envelope_t *out)
{
    int integers, addresses, datatypes;
#if HP_HAS_LARGE_COUNT
    /* A type made with large counts may only be asked about with them: the plain call is an error, which
     * would reach the program's error handler. */
    if (P_EXISTS(Type_get_envelope_c)) {
        MPI_Count integers_c, addresses_c, large_c, datatypes_c;
        if (P(Type_get_envelope_c)(datatype, &integers_c, &addresses_c, &large_c, &datatypes_c,
                                   &out->combiner) != MPI_SUCCESS)
            return false;
        out->small =
            integers_c <= INTEGERS_MAX && addresses_c <= ADDRESSES_MAX && large_c == 0 && datatypes_c == 1;
        out->integers = (int)integers_c;
        out->addresses = (int)addresses_c;
        return true;
    }
#endif
    if (P(Type_get_envelope)(datatype, &integers, &addresses, &datatypes, &out->combiner) != MPI_SUCCESS)
        return false;
    out->small = integers <= INTEGERS_MAX && addresses <= ADDRESSES_MAX && datatypes == 1;
    out->integers = integers;
    out->addresses = addresses;
    return true;
}

/* Follows the constructors that keep the order of their base type; every other one is taken as not
 * contiguous. Sizes alone do not tell: an indexed type may list its blocks backwards. */
static bool keeps_order(MPI_Datatype datatype, int depth)
{
    enum { DEPTH_MAX = 16 };
    envelope_t envelope, base_envelope;
    int integers[INTEGERS_MAX];
    MPI_Aint addresses[ADDRESSES_MAX];
    MPI_Datatype base;

    if (!read_envelope(datatype, &envelope))
        return false;
    if (envelope.combiner == MPI_COMBINER_NAMED)
        return true;
    if (depth == DEPTH_MAX || !envelope.small ||
        (envelope.combiner != MPI_COMBINER_CONTIGUOUS && envelope.combiner != MPI_COMBINER_DUP))
        return false;
    if (P(Type_get_contents)(datatype, envelope.integers, envelope.addresses, 1, integers, addresses,
                             &base) != MPI_SUCCESS)
        return false;
    bool order = keeps_order(base, depth + 1);
    /* The base handles that MPI hands out for derived types are the caller's to free; named ones must not be.
     */
    if (read_envelope(base, &base_envelope) && base_envelope.combiner != MPI_COMBINER_NAMED)
        P(Type_free)(&base);
    return order;
}

bool hp_datatype_is_contiguous(MPI_Datatype datatype, const hp_type_t *type)
{
    return hp_type_is_dense(type) && keeps_order(datatype, 0);
}

/* Tables of what never changes, filled as it is asked for: open addressing, entries are never removed. A full
 * neighbourhood means that the MPI is asked every time. */
enum { NAMED_SLOTS = 1024, REDUCTION_SLOTS = 1024, PROBES = 8 };

static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned hash(hp_handle_t key)
{
    return (unsigned)((key * 0x9e3779b97f4a7c15u) >> 40);
}

const hp_named_type_t *hp_datatype_named(MPI_Datatype datatype)
{
    static struct {
        _Atomic bool valid;
        hp_named_type_t named;
    } slots[NAMED_SLOTS];
    const hp_handle_t key = HP_HANDLE(datatype);
    envelope_t envelope;
    unsigned i, first = hash(key);

    /* Wherever they lie: what is taken hangs on it that all ranks find those that an MPI has. */
    for (i = 0; i < NAMED_SLOTS; i++) {
        const unsigned slot = (first + i) % NAMED_SLOTS;
        if (!atomic_load_explicit(&slots[slot].valid, memory_order_acquire))
            break;
        if (slots[slot].named.key == key)
            return &slots[slot].named;
    }
    hp_named_type_t named = {.key = key};
    if (i == NAMED_SLOTS || datatype == MPI_DATATYPE_NULL || !read_envelope(datatype, &envelope) ||
        envelope.combiner != MPI_COMBINER_NAMED || !hp_datatype_describe(datatype, &named.type))
        return NULL;
    named.contiguous = hp_type_is_dense(&named.type);
    const hp_named_type_t *found = NULL;
    pthread_mutex_lock(&known_lock);
    for (; i < NAMED_SLOTS && !found; i++) {
        const unsigned slot = (first + i) % NAMED_SLOTS;
        if (!atomic_load_explicit(&slots[slot].valid, memory_order_relaxed)) {
            slots[slot].named = named;
            atomic_store_explicit(&slots[slot].valid, true, memory_order_release);
        }
        if (slots[slot].named.key == key)
            found = &slots[slot].named;
    }
    pthread_mutex_unlock(&known_lock);
    return found;
}

bool hp_datatype_is_committed(MPI_Datatype datatype, MPI_Comm comm)
{
    envelope_t envelope;
    char nothing = 0;

    if (!read_envelope(datatype, &envelope))
        return false;
    /* A send to nobody checks its arguments and does nothing. */
    return envelope.combiner == MPI_COMBINER_NAMED ||
           P(Send)(&nothing, 1, datatype, MPI_PROC_NULL, 0, comm) == MPI_SUCCESS;
}

/* Classes of predefined types, MPI 4.1 section 6.9.2. */
enum {
    C_INTEGER = 1,
    FORTRAN_INTEGER = 2,
    FLOATING = 4,
    LOGICAL = 8,
    COMPLEX = 16,
    BYTE = 32,
    MULTI_LANGUAGE = 64,
    PAIR = 128,
    ANY_INTEGER = C_INTEGER | FORTRAN_INTEGER | MULTI_LANGUAGE,
};

/* How its elements are represented: with their size this names the kernels' number. Fortran's logicals are
 * the MPI's business. */
typedef enum { SIGNED, UNSIGNED, REAL, PARTS, TRUTH, FOREIGN, PAIR_OF } family_t;

typedef struct {
    MPI_Datatype datatype;
    unsigned class;
    family_t family;
    hp_number_t pair; /* family PAIR_OF only */
} predefined_t;

/* false for a type that is none of the standard's types for reductions. */
static bool find_predefined(MPI_Datatype datatype, predefined_t *out)
{
    /* Not static: Open MPI's handles are addresses of another library, no constants. */
    const predefined_t rows[] = {
        {MPI_DOUBLE, FLOATING, REAL, 0},
        {MPI_FLOAT, FLOATING, REAL, 0},
        {MPI_INT, C_INTEGER, SIGNED, 0},
        {MPI_LONG, C_INTEGER, SIGNED, 0},
        {MPI_LONG_LONG_INT, C_INTEGER, SIGNED, 0},
        {MPI_UNSIGNED, C_INTEGER, UNSIGNED, 0},
        {MPI_UNSIGNED_LONG, C_INTEGER, UNSIGNED, 0},
        {MPI_UNSIGNED_LONG_LONG, C_INTEGER, UNSIGNED, 0},
        {MPI_SHORT, C_INTEGER, SIGNED, 0},
        {MPI_UNSIGNED_SHORT, C_INTEGER, UNSIGNED, 0},
        {MPI_SIGNED_CHAR, C_INTEGER, SIGNED, 0},
        {MPI_UNSIGNED_CHAR, C_INTEGER, UNSIGNED, 0},
        {MPI_INT8_T, C_INTEGER, SIGNED, 0},
        {MPI_INT16_T, C_INTEGER, SIGNED, 0},
        {MPI_INT32_T, C_INTEGER, SIGNED, 0},
        {MPI_INT64_T, C_INTEGER, SIGNED, 0},
        {MPI_UINT8_T, C_INTEGER, UNSIGNED, 0},
        {MPI_UINT16_T, C_INTEGER, UNSIGNED, 0},
        {MPI_UINT32_T, C_INTEGER, UNSIGNED, 0},
        {MPI_UINT64_T, C_INTEGER, UNSIGNED, 0},
        {MPI_LONG_DOUBLE, FLOATING, REAL, 0},
        {MPI_DOUBLE_PRECISION, FLOATING, REAL, 0},
        {MPI_REAL, FLOATING, REAL, 0},
        {MPI_REAL4, FLOATING, REAL, 0},
        {MPI_REAL8, FLOATING, REAL, 0},
        {MPI_INTEGER, FORTRAN_INTEGER, SIGNED, 0},
        {MPI_INTEGER1, FORTRAN_INTEGER, SIGNED, 0},
        {MPI_INTEGER2, FORTRAN_INTEGER, SIGNED, 0},
        {MPI_INTEGER4, FORTRAN_INTEGER, SIGNED, 0},
        {MPI_INTEGER8, FORTRAN_INTEGER, SIGNED, 0},
        {MPI_LOGICAL, LOGICAL, FOREIGN, 0},
        {MPI_C_BOOL, LOGICAL, TRUTH, 0},
        {MPI_CXX_BOOL, LOGICAL, TRUTH, 0},
        {MPI_COMPLEX, COMPLEX, PARTS, 0},
        {MPI_DOUBLE_COMPLEX, COMPLEX, PARTS, 0},
        {MPI_COMPLEX8, COMPLEX, PARTS, 0},
        {MPI_COMPLEX16, COMPLEX, PARTS, 0},
        {MPI_C_FLOAT_COMPLEX, COMPLEX, PARTS, 0},
        {MPI_C_DOUBLE_COMPLEX, COMPLEX, PARTS, 0},
        {MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX, PARTS, 0},
        {MPI_CXX_FLOAT_COMPLEX, COMPLEX, PARTS, 0},
        {MPI_CXX_DOUBLE_COMPLEX, COMPLEX, PARTS, 0},
        {MPI_CXX_LONG_DOUBLE_COMPLEX, COMPLEX, PARTS, 0},
        {MPI_BYTE, BYTE, UNSIGNED, 0},
        {MPI_AINT, MULTI_LANGUAGE, SIGNED, 0},
        {MPI_OFFSET, MULTI_LANGUAGE, SIGNED, 0},
        {MPI_COUNT, MULTI_LANGUAGE, SIGNED, 0},
        {MPI_FLOAT_INT, PAIR, PAIR_OF, HP_NUMBER_FLOAT_INT},
        {MPI_DOUBLE_INT, PAIR, PAIR_OF, HP_NUMBER_DOUBLE_INT},
        {MPI_LONG_INT, PAIR, PAIR_OF, HP_NUMBER_LONG_INT},
        {MPI_2INT, PAIR, PAIR_OF, HP_NUMBER_INT_INT},
        {MPI_SHORT_INT, PAIR, PAIR_OF, HP_NUMBER_SHORT_INT},
        {MPI_LONG_DOUBLE_INT, PAIR, PAIR_OF, HP_NUMBER_LONG_DOUBLE_INT},
        {MPI_2REAL, PAIR, PAIR_OF, HP_NUMBER_FLOAT_FLOAT},
        {MPI_2DOUBLE_PRECISION, PAIR, PAIR_OF, HP_NUMBER_DOUBLE_DOUBLE},
        {MPI_2INTEGER, PAIR, PAIR_OF, HP_NUMBER_INT_INT},
    };
    if (datatype == MPI_DATATYPE_NULL) /* also what an MPI calls a type it lacks */
        return false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].datatype == datatype) {
            *out = rows[i];
            return true;
        }
    return false;
}

bool hp_datatype_is_complex(MPI_Datatype datatype)
{
    predefined_t row;
    return find_predefined(datatype, &row) && row.class == COMPLEX;
}

/* The number whose elements lie in memory as those of the type do; false when no kernel has such elements. */
static bool find_number(const predefined_t *row, const hp_type_t *type, hp_number_t *out)
{
    static const hp_number_t candidates[][4] = {
        [SIGNED] = {HP_NUMBER_INT8, HP_NUMBER_INT16, HP_NUMBER_INT32, HP_NUMBER_INT64},
        [UNSIGNED] = {HP_NUMBER_UINT8, HP_NUMBER_UINT16, HP_NUMBER_UINT32, HP_NUMBER_UINT64},
        [REAL] = {HP_NUMBER_FLOAT, HP_NUMBER_DOUBLE, HP_NUMBER_LONG_DOUBLE, HP_NUMBER_LONG_DOUBLE},
        [PARTS] = {HP_NUMBER_FLOAT_COMPLEX, HP_NUMBER_DOUBLE_COMPLEX, HP_NUMBER_LONG_DOUBLE_COMPLEX,
                   HP_NUMBER_LONG_DOUBLE_COMPLEX},
        [TRUTH] = {HP_NUMBER_BOOL, HP_NUMBER_BOOL, HP_NUMBER_BOOL, HP_NUMBER_BOOL},
    };
    if (row->family == FOREIGN || type->true_lb != 0)
        return false;
    for (size_t i = 0; i < 4; i++) {
        *out = row->family == PAIR_OF ? row->pair : candidates[row->family][i];
        if (hp_number_bytes(*out) == type->extent)
            return true;
    }
    return false;
}

/* The operations of the standard: the classes of types they are defined for, and their kernels' name. */
static unsigned accepted_classes(MPI_Op op, hp_op_t *kernel_op)
{
    const struct {
        MPI_Op op;
        hp_op_t kernel_op;
        unsigned accepted;
    } rows[] = {
        {MPI_SUM, HP_OP_SUM, ANY_INTEGER | FLOATING | COMPLEX},
        {MPI_PROD, HP_OP_PROD, ANY_INTEGER | FLOATING | COMPLEX},
        {MPI_MAX, HP_OP_MAX, ANY_INTEGER | FLOATING},
        {MPI_MIN, HP_OP_MIN, ANY_INTEGER | FLOATING},
        {MPI_LAND, HP_OP_LAND, C_INTEGER | LOGICAL},
        {MPI_LOR, HP_OP_LOR, C_INTEGER | LOGICAL},
        {MPI_LXOR, HP_OP_LXOR, C_INTEGER | LOGICAL},
        {MPI_BAND, HP_OP_BAND, ANY_INTEGER | BYTE},
        {MPI_BOR, HP_OP_BOR, ANY_INTEGER | BYTE},
        {MPI_BXOR, HP_OP_BXOR, ANY_INTEGER | BYTE},
        {MPI_MAXLOC, HP_OP_MAXLOC, PAIR},
        {MPI_MINLOC, HP_OP_MINLOC, PAIR},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == op) {
            *kernel_op = rows[i].kernel_op;
            return rows[i].accepted;
        }
    return 0;
}

static const hp_kernel_set_t *kernels;

void hp_reductions_init(const hp_kernel_set_t *set)
{
    kernels = set;
}

/* An operation of the standard on one of the standard's types, as MPI 4.1 section 6.9.2 has it. */
static bool describe_predefined(unsigned accepted, hp_op_t kernel_op, MPI_Datatype datatype,
                                const hp_type_t *type, hp_kernel_fn_t *kernel)
{
    predefined_t row;
    hp_number_t number;

    if (!find_predefined(datatype, &row) || !(row.class & accepted))
        return false;
    if (kernels && find_number(&row, type, &number))
        *kernel = kernels->kernels[number][kernel_op];
    return true;
}

typedef struct {
    _Atomic bool valid;
    hp_handle_t op, datatype;
    hp_kernel_fn_t kernel;
} reduction_t;

static reduction_t reductions[REDUCTION_SLOTS];

static const reduction_t *find_reduction(hp_handle_t op, hp_handle_t datatype, unsigned first)
{
    for (unsigned i = 0; i < PROBES; i++) {
        const reduction_t *entry = &reductions[(first + i) % REDUCTION_SLOTS];
        if (!atomic_load_explicit(&entry->valid, memory_order_acquire))
            return NULL;
        if (entry->op == op && entry->datatype == datatype)
            return entry;
    }
    return NULL;
}

static void remember_reduction(hp_handle_t op, hp_handle_t datatype, unsigned first, hp_kernel_fn_t kernel)
{
    pthread_mutex_lock(&known_lock);
    for (unsigned i = 0; i < PROBES && !find_reduction(op, datatype, first); i++) {
        reduction_t *entry = &reductions[(first + i) % REDUCTION_SLOTS];
        if (atomic_load_explicit(&entry->valid, memory_order_relaxed))
            continue;
        entry->op = op;
        entry->datatype = datatype;
        entry->kernel = kernel;
        atomic_store_explicit(&entry->valid, true, memory_order_release);
    }
    pthread_mutex_unlock(&known_lock);
}

bool hp_reduction_describe(MPI_Op op, MPI_Datatype datatype, const hp_type_t *type, bool *commutative,
                           hp_kernel_fn_t *kernel)
{
    const hp_handle_t op_key = HP_HANDLE(op), datatype_key = HP_HANDLE(datatype);
    const unsigned first = hash(op_key ^ (datatype_key * 31));
    hp_op_t kernel_op;
    int answer;

    const reduction_t *known = find_reduction(op_key, datatype_key, first);
    *commutative = true;
    *kernel = known ? known->kernel : NULL;
    if (known)
        return true;
    if (op == MPI_OP_NULL || op == MPI_REPLACE || op == MPI_NO_OP)
        return false;
    const unsigned accepted = accepted_classes(op, &kernel_op);
    if (accepted) {
        if (!describe_predefined(accepted, kernel_op, datatype, type, kernel))
            return false;
        remember_reduction(op_key, datatype_key, first, *kernel);
        return true;
    }
    if (P(Op_commutative)(op, &answer) != MPI_SUCCESS) /* user-defined: any type */
        return false;
    *commutative = answer != 0;
    return true;
}

bool hp_op_is_predefined(MPI_Op op)
{
    hp_op_t kernel_op;
    return op != MPI_OP_NULL && accepted_classes(op, &kernel_op) != 0;
}
