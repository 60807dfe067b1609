/* kernels: the loops, compiled once per instruction set (src/CMakeLists.txt): HP_KERNEL_SET is the name of
 * the set. The compiler makes the vectors; the loops are written so that it can:
 *  - elements may lie at any address (a packed structure of the program), so the types are declared with
 * alignment 1;
 *  - the result may be one of the operands. Then element i still depends on element i only, which `ivdep`
 * tells the compiler. */
#include "event_engine/op/op.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define TEXT_(x)    #x
#define TEXT(x)     TEXT_(x)
#define ANYWHERE    __attribute__((aligned(1), may_alias))
#define FOR_EACH(i) _Pragma("GCC ivdep") for (size_t i = 0; i < count; i++)

/* A kernel named op_NUMBER; a and b are the operands' elements. */
#define KERNEL(op, id, type, expression)                                                                     \
    static void op##_##id(const void *left, const void *right, void *result, size_t count)                   \
    {                                                                                                        \
        typedef type element_t ANYWHERE;                                                                     \
        const element_t *l = left, *r = right;                                                               \
        element_t *to = result;                                                                              \
        FOR_EACH(i)                                                                                          \
        {                                                                                                    \
            const type a = l[i], b = r[i];                                                                   \
            to[i] = (type)(expression);                                                                      \
        }                                                                                                    \
    }

#define INTEGER(id, type, wide)                                                                              \
    KERNEL(SUM, id, type, (wide)a + (wide)b)                                                                 \
    KERNEL(PROD, id, type, (wide)a *(wide)b)                                                                 \
    KERNEL(MIN, id, type, a < b ? a : b)                                                                     \
    KERNEL(MAX, id, type, a > b ? a : b)                                                                     \
    KERNEL(LAND, id, type, (a != 0) & (b != 0))                                                              \
    KERNEL(LOR, id, type, (a != 0) | (b != 0))                                                               \
    KERNEL(LXOR, id, type, (a != 0) ^ (b != 0))                                                              \
    KERNEL(BAND, id, type, a &b)                                                                             \
    KERNEL(BOR, id, type, a | b)                                                                             \
    KERNEL(BXOR, id, type, a ^ b)
HP_NUMBER_INTEGERS(INTEGER)

#define FLOAT(id, type)                                                                                      \
    KERNEL(SUM, id, type, a + b)                                                                             \
    KERNEL(PROD, id, type, a *b)                                                                             \
    KERNEL(MIN, id, type, a < b ? a : b)                                                                     \
    KERNEL(MAX, id, type, a > b ? a : b)
HP_NUMBER_FLOATS(FLOAT)

/* The product by its definition. C's own operator looks for infinities in between, by a library call for each
 * element. */
#define COMPLEX(id, part)                                                                                    \
    static void SUM_##id(const void *left, const void *right, void *result, size_t count)                    \
    {                                                                                                        \
        typedef part part_t ANYWHERE;                                                                        \
        const part_t *l = left, *r = right;                                                                  \
        part_t *to = result;                                                                                 \
        count *= 2;                                                                                          \
        FOR_EACH(i) to[i] = l[i] + r[i];                                                                     \
    }                                                                                                        \
    static void PROD_##id(const void *left, const void *right, void *result, size_t count)                   \
    {                                                                                                        \
        typedef part part_t ANYWHERE;                                                                        \
        const part_t *l = left, *r = right;                                                                  \
        part_t *to = result;                                                                                 \
        FOR_EACH(i)                                                                                          \
        {                                                                                                    \
            const part a = l[2 * i], b = l[2 * i + 1], c = r[2 * i], d = r[2 * i + 1];                       \
            to[2 * i] = a * c - b * d;                                                                       \
            to[2 * i + 1] = a * d + b * c;                                                                   \
        }                                                                                                    \
    }
HP_NUMBER_COMPLEX(COMPLEX)

/* The better value with its index; of equal values the lower index (MPI 4.1, section 6.9.4). Field by field:
 * gaps keep what they hold. */
#define PAIR_KERNEL(op, id, value_type, index_type, better)                                                  \
    static void op##_##id(const void *left, const void *right, void *result, size_t count)                   \
    {                                                                                                        \
        typedef struct {                                                                                     \
            value_type value;                                                                                \
            index_type index;                                                                                \
        } __attribute__((may_alias)) pair_t;                                                                 \
        typedef pair_t element_t __attribute__((aligned(1)));                                                \
        const element_t *l = left, *r = right;                                                               \
        element_t *to = result;                                                                              \
        FOR_EACH(i)                                                                                          \
        {                                                                                                    \
            const value_type a = l[i].value, b = r[i].value;                                                 \
            const index_type ai = l[i].index, bi = r[i].index;                                               \
            to[i].value = a better b ? a : b;                                                                \
            to[i].index = a better b ? ai : a == b ? (ai < bi ? ai : bi) : bi;                               \
        }                                                                                                    \
    }
#define PAIR(id, value_type, index_type)                                                                     \
    PAIR_KERNEL(MINLOC, id, value_type, index_type, <)                                                       \
    PAIR_KERNEL(MAXLOC, id, value_type, index_type, >)
HP_NUMBER_PAIRS(PAIR)

KERNEL(LAND, BOOL, uint8_t, (a != 0) & (b != 0))
KERNEL(LOR, BOOL, uint8_t, (a != 0) | (b != 0))
KERNEL(LXOR, BOOL, uint8_t, (a != 0) ^ (b != 0))

extern const hp_kernel_set_t JOIN(hp_kernel_set_, HP_KERNEL_SET);
const hp_kernel_set_t JOIN(hp_kernel_set_, HP_KERNEL_SET) = {
    .name = TEXT(HP_KERNEL_SET),
    .kernels = {
#define ENTRY(op, id) [HP_OP_##op] = op##_##id
#define X(id, ...)                                                                                           \
    [HP_NUMBER_##id] = {ENTRY(SUM, id), ENTRY(PROD, id), ENTRY(MIN, id),  ENTRY(MAX, id), ENTRY(LAND, id),   \
                        ENTRY(LOR, id), ENTRY(LXOR, id), ENTRY(BAND, id), ENTRY(BOR, id), ENTRY(BXOR, id)},
        HP_NUMBER_INTEGERS(X)
#undef X
#define X(id, ...) [HP_NUMBER_##id] = {ENTRY(SUM, id), ENTRY(PROD, id), ENTRY(MIN, id), ENTRY(MAX, id)},
            HP_NUMBER_FLOATS(X)
#undef X
#define X(id, ...) [HP_NUMBER_##id] = {ENTRY(SUM, id), ENTRY(PROD, id)},
                HP_NUMBER_COMPLEX(X)
#undef X
#define X(id, ...) [HP_NUMBER_##id] = {ENTRY(MINLOC, id), ENTRY(MAXLOC, id)},
                    HP_NUMBER_PAIRS(X)
#undef X
                        [HP_NUMBER_BOOL] = {ENTRY(LAND, BOOL), ENTRY(LOR, BOOL), ENTRY(LXOR, BOOL)},
    }};
