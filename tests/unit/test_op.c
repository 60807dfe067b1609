/* The reduction kernels: every set that this machine runs, every number and operation, against an evaluation
 * of one element at a time in the widest types; odd counts and addresses, results in a third buffer and over
 * either operand. */
#include "event_engine/op/op.h"

#include "unit/check.h"

static check_random_t numbers;

enum { COUNT_MAX = 200, GUARD = 64, FILLER = 0x5a };

/* The structures of the pair types. */
#define X(id, value_type, index_type)                                                                        \
    typedef struct {                                                                                         \
        value_type value;                                                                                    \
        index_type index;                                                                                    \
    } id##_t;
HP_NUMBER_PAIRS(X)
#undef X

/* ---- the oracle ---- */

static bool is_pair(hp_number_t number)
{
    return number >= HP_NUMBER_FLOAT_INT && number <= HP_NUMBER_DOUBLE_DOUBLE;
}

static bool is_complex(hp_number_t number)
{
    return number >= HP_NUMBER_FLOAT_COMPLEX && number <= HP_NUMBER_LONG_DOUBLE_COMPLEX;
}

static bool is_float(hp_number_t number)
{
    return number >= HP_NUMBER_FLOAT && number <= HP_NUMBER_LONG_DOUBLE;
}

/* MPI 4.1, section 6.9.2. */
static bool is_defined(hp_number_t number, hp_op_t op)
{
    if (is_pair(number))
        return op == HP_OP_MINLOC || op == HP_OP_MAXLOC;
    if (number == HP_NUMBER_BOOL)
        return op == HP_OP_LAND || op == HP_OP_LOR || op == HP_OP_LXOR;
    if (is_complex(number))
        return op == HP_OP_SUM || op == HP_OP_PROD;
    if (is_float(number))
        return op <= HP_OP_MAX;
    return op != HP_OP_MINLOC && op != HP_OP_MAXLOC;
}

static __int128 integer_combine(hp_op_t op, __int128 a, __int128 b)
{
    switch (op) {
    case HP_OP_SUM:
        return a + b;
    case HP_OP_PROD:
        return (__int128)((unsigned __int128)a * (unsigned __int128)b);
    case HP_OP_MIN:
        return a < b ? a : b;
    case HP_OP_MAX:
        return a > b ? a : b;
    case HP_OP_LAND:
        return a && b;
    case HP_OP_LOR:
        return a || b;
    case HP_OP_LXOR:
        return !a != !b;
    case HP_OP_BAND:
        return a & b;
    case HP_OP_BOR:
        return a | b;
    case HP_OP_BXOR:
        return a ^ b;
    default:
        fail_msg("no integer operation");
        return 0;
    }
}

static long double float_combine(hp_op_t op, long double a, long double b)
{
    switch (op) {
    case HP_OP_SUM:
        return a + b;
    case HP_OP_PROD:
        return a * b;
    case HP_OP_MIN:
        return a < b ? a : b;
    case HP_OP_MAX:
        return a > b ? a : b;
    default:
        fail_msg("no floating-point operation");
        return 0;
    }
}

/* One element: *to = *a (op) *b. The addresses are aligned. */
static void combine(hp_number_t number, hp_op_t op, const void *a, const void *b, void *to)
{
    switch (number) {
#define X(id, type, wide)                                                                                    \
    case HP_NUMBER_##id:                                                                                     \
        *(type *)to = (type)integer_combine(op, *(const type *)a, *(const type *)b);                         \
        break;
        HP_NUMBER_INTEGERS(X)
#undef X
#define X(id, type)                                                                                          \
    case HP_NUMBER_##id:                                                                                     \
        *(type *)to = (type)float_combine(op, *(const type *)a, *(const type *)b);                           \
        break;
        HP_NUMBER_FLOATS(X)
#undef X
#define X(id, part)                                                                                          \
    case HP_NUMBER_##id: {                                                                                   \
        const _Complex part x = *(const _Complex part *)a, y = *(const _Complex part *)b;                    \
        *(_Complex part *)to = op == HP_OP_SUM ? x + y : x * y;                                              \
        break;                                                                                               \
    }
        HP_NUMBER_COMPLEX(X)
#undef X
#define X(id, ...)                                                                                           \
    case HP_NUMBER_##id: {                                                                                   \
        const id##_t *x = a, *y = b;                                                                         \
        const bool x_better = op == HP_OP_MINLOC ? x->value < y->value : x->value > y->value;                \
        const id##_t *better = x_better || (x->value == y->value && x->index < y->index) ? x : y;            \
        ((id##_t *)to)->value = better->value;                                                               \
        ((id##_t *)to)->index = better->index;                                                               \
        break;                                                                                               \
    }
        HP_NUMBER_PAIRS(X)
#undef X
    case HP_NUMBER_BOOL:
        *(bool *)to = integer_combine(op, *(const bool *)a, *(const bool *)b);
        break;
    case HP_NUMBER_COUNT:
        fail();
    }
}

/* Integers of all bits; floating-point values that are small whole numbers, so that every result is exact;
 * few values in pairs, so that some are equal. */
static void fill(hp_number_t number, char *buffer, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *at = buffer + i * hp_number_bytes(number);
        const int value = (int)check_random_below(&numbers, 1u << 30) % 41 - 20,
                  index = (int)check_random_below(&numbers, 1u << 30) % 10;
        switch (number) {
#define X(id, type, wide)                                                                                    \
    case HP_NUMBER_##id:                                                                                     \
        *(type *)at = (type)((int)check_random_below(&numbers, 1u << 30) % 4                                 \
                                 ? ((uint64_t)check_random_below(&numbers, 1u << 31) << 33) ^                \
                                       (uint64_t)check_random_below(&numbers, 1u << 30)                      \
                                 : 0);                                                                       \
        break;
            HP_NUMBER_INTEGERS(X)
#undef X
#define X(id, type)                                                                                          \
    case HP_NUMBER_##id:                                                                                     \
        *(type *)at = (type)value;                                                                           \
        break;
            HP_NUMBER_FLOATS(X)
#undef X
#define X(id, part)                                                                                          \
    case HP_NUMBER_##id:                                                                                     \
        ((part *)at)[0] = (part)value;                                                                       \
        ((part *)at)[1] = (part)index;                                                                       \
        break;
            HP_NUMBER_COMPLEX(X)
#undef X
#define X(id, value_type, index_type)                                                                        \
    case HP_NUMBER_##id:                                                                                     \
        ((id##_t *)at)->value = (value_type)(value / 8);                                                     \
        ((id##_t *)at)->index = (index_type)index;                                                           \
        break;
            HP_NUMBER_PAIRS(X)
#undef X
        case HP_NUMBER_BOOL:
            *(bool *)at = value > 0;
            break;
        case HP_NUMBER_COUNT:
            fail();
        }
    }
}

/* Value by value: gaps may hold anything, and 0 equals -0. */
static bool is_equal(hp_number_t number, const void *a, const void *b)
{
    switch (number) {
#define X(id, type, ...)                                                                                     \
    case HP_NUMBER_##id:                                                                                     \
        return *(const type *)a == *(const type *)b;
        HP_NUMBER_INTEGERS(X)
        HP_NUMBER_FLOATS(X)
        X(BOOL, bool)
#undef X
#define X(id, part)                                                                                          \
    case HP_NUMBER_##id:                                                                                     \
        return *(const _Complex part *)a == *(const _Complex part *)b;
        HP_NUMBER_COMPLEX(X)
#undef X
#define X(id, ...)                                                                                           \
    case HP_NUMBER_##id:                                                                                     \
        return ((const id##_t *)a)->value == ((const id##_t *)b)->value &&                                   \
               ((const id##_t *)a)->index == ((const id##_t *)b)->index;
        HP_NUMBER_PAIRS(X)
#undef X
    case HP_NUMBER_COUNT:
        break;
    }
    return false;
}

/* ---- the test ---- */

typedef enum { THIRD_BUFFER, OVER_RIGHT, OVER_LEFT, FORM_COUNT } form_t;

static void check_kernel(const hp_kernel_set_t *set, hp_number_t number, hp_op_t op, size_t count,
                         size_t offset, form_t form)
{
    static _Alignas(64) char left[COUNT_MAX * 32], right[COUNT_MAX * 32], expected[COUNT_MAX * 32];
    static _Alignas(64) char buffers[3][COUNT_MAX * 32 + 2 * GUARD];
    const size_t bytes = count * hp_number_bytes(number);
    char *l = buffers[0] + GUARD + offset, *r = buffers[1] + GUARD + 2 * offset,
         *third = buffers[2] + GUARD + 3 * offset;
    char *to = form == THIRD_BUFFER ? third : form == OVER_RIGHT ? r : l;

    memset(buffers, FILLER, sizeof buffers);
    memset(left, FILLER, sizeof left); /* gaps of pairs and long doubles */
    memset(right, FILLER, sizeof right);
    memset(expected, FILLER, sizeof expected);
    fill(number, left, count);
    fill(number, right, count);
    for (size_t i = 0; i < count; i++) {
        const size_t at = i * hp_number_bytes(number);
        combine(number, op, left + at, right + at, expected + at);
    }
    memcpy(l, left, bytes);
    memcpy(r, right, bytes);
    set->kernels[number][op](l, r, to, count);

    bool equal = true;
    for (size_t i = 0; i < count; i++) {
        const size_t element = hp_number_bytes(number);
        _Alignas(32) char got[32], want[32];
        memcpy(got, to + i * element, element);
        memcpy(want, expected + i * element, element);
        equal = equal && is_equal(number, got, want);
    }
    for (size_t i = 0; i < GUARD / 2; i++) /* nothing before it, nothing behind it */
        equal = equal && *(to - 1 - i) == FILLER && to[bytes + i] == FILLER;
    if (!equal)
        fail_msg("%s %s %s: %zu elements, offset %zu, form %d", set->name, hp_op_name(op),
                 hp_number_name(number), count, offset, (int)form);
}

static void every_kernel(void **unused)
{
    (void)unused;
    static const size_t counts[] = {0, 1, 2, 3, 7, 16, 31, 64, 65, 199};
    for (unsigned s = 0; hp_kernel_set(s); s++) {
        const hp_kernel_set_t *set = hp_kernel_set(s);
        if (!hp_kernel_set_runs(set)) {
            print_message("%s: not on this machine\n", set->name);
            continue;
        }
        for (hp_number_t number = 0; number < HP_NUMBER_COUNT; number++)
            for (hp_op_t op = 0; op < HP_OP_COUNT; op++) {
                assert_int_equal(set->kernels[number][op] != NULL, is_defined(number, op));
                for (size_t c = 0; is_defined(number, op) && c < sizeof counts / sizeof *counts; c++)
                    for (size_t offset = 0; offset < 4; offset++)
                        for (form_t form = 0; form < FORM_COUNT; form++)
                            check_kernel(set, number, op, counts[c], offset, form);
            }
    }
}

static void the_best_set_runs(void **unused)
{
    (void)unused;
    assert_true(hp_kernel_set_runs(hp_kernels()));
    for (unsigned s = 0; hp_kernel_set(s) != hp_kernels(); s++)
        assert_false(hp_kernel_set_runs(hp_kernel_set(s)));
}

static void words_name_sets(void **unused)
{
    (void)unused;
    const char *hp_knob_word_kernels(unsigned i);
    for (unsigned word = 0; hp_knob_word_kernels(word); word++) {
        const char *name = hp_knob_word_kernels(word);
        const hp_kernel_set_t *set = hp_kernels_of_word(word), *named = NULL;
        for (unsigned s = 0; hp_kernel_set(s); s++)
            if (strcmp(hp_kernel_set(s)->name, name) == 0 && hp_kernel_set_runs(hp_kernel_set(s)))
                named = hp_kernel_set(s);
        assert_ptr_equal(set, strcmp(name, "native") == 0 ? NULL : named ? named : hp_kernels());
    }
}

int main(void)
{
    numbers = check_random_start("test_op");
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kernel), cmocka_unit_test(the_best_set_runs),
                                       cmocka_unit_test(words_name_sets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
