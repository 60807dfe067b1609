#include "event_engine/op/op.h"

#include <string.h>

/* The sets of this architecture, the best first; src/event_engine/op/CMakeLists.txt compiles them. */
#if defined __x86_64__
#define HP_KERNEL_SETS(X) X(avx512) X(avx2) X(sse2) X(scalar)
#elif defined __aarch64__
#define HP_KERNEL_SETS(X) X(neon) X(scalar)
#else
#define HP_KERNEL_SETS(X) X(scalar)
#endif

#define X(set) extern const hp_kernel_set_t hp_kernel_set_##set;
HP_KERNEL_SETS(X)
#undef X

static const hp_kernel_set_t *const sets[] = {
#define X(set) &hp_kernel_set_##set,
    HP_KERNEL_SETS(X)
#undef X
};

const hp_kernel_set_t *hp_kernel_set(unsigned i)
{
    return i < sizeof sets / sizeof *sets ? sets[i] : NULL;
}

bool hp_kernel_set_runs(const hp_kernel_set_t *set)
{
#ifdef __x86_64__
    /* The compiler's functions ask both CPUID and, for the state that the operating system must save, XGETBV.
     */
    __builtin_cpu_init();
    if (strcmp(set->name, "avx512") == 0)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (strcmp(set->name, "avx2") == 0)
        return __builtin_cpu_supports("avx2");
#endif
    (void)set; /* the others are what the architecture guarantees */
    return true;
}

const hp_kernel_set_t *hp_kernels(void)
{
    unsigned i = 0;
    while (!hp_kernel_set_runs(sets[i])) /* the last one always runs */
        i++;
    return sets[i];
}

/* The words of HANPMPI_KERNELS: those of all architectures, so that one job script serves all. */
static const char *const words[] = {"auto", "native", "avx512", "avx2", "sse2", "neon", "scalar"};

const char *hp_knob_word_kernels(unsigned i);
const char *hp_knob_word_kernels(unsigned i)
{
    return i < sizeof words / sizeof *words ? words[i] : NULL;
}

const hp_kernel_set_t *hp_kernels_of_word(unsigned word)
{
    if (strcmp(words[word], "native") == 0)
        return NULL;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (strcmp(words[word], sets[i]->name) == 0 && hp_kernel_set_runs(sets[i]))
            return sets[i];
    return hp_kernels();
}

size_t hp_number_bytes(hp_number_t number)
{
    static const size_t bytes[HP_NUMBER_COUNT] = {
#define X(id, type, ...) [HP_NUMBER_##id] = sizeof(type),
        HP_NUMBER_INTEGERS(X) HP_NUMBER_FLOATS(X)
#undef X
#define X(id, part) [HP_NUMBER_##id] = 2 * sizeof(part),
            HP_NUMBER_COMPLEX(X)
#undef X
#define X(id, value_type, index_type)                                                                        \
    [HP_NUMBER_##id] = sizeof(struct {                                                                       \
        value_type value;                                                                                    \
        index_type index;                                                                                    \
    }),
                HP_NUMBER_PAIRS(X)
#undef X
                    [HP_NUMBER_BOOL] = sizeof(bool),
    };
    return bytes[number];
}

const char *hp_number_name(hp_number_t number)
{
    static const char *const names[HP_NUMBER_COUNT] = {
#define X(id, ...) [HP_NUMBER_##id] = #id,
        HP_NUMBER_INTEGERS(X) HP_NUMBER_FLOATS(X) HP_NUMBER_COMPLEX(X) HP_NUMBER_PAIRS(X)
#undef X
            [HP_NUMBER_BOOL] = "BOOL",
    };
    return names[number];
}

const char *hp_op_name(hp_op_t op)
{
    static const char *const names[HP_OP_COUNT] = {
#define X(id) [HP_OP_##id] = #id,
        HP_OP_TABLE(X)
#undef X
    };
    return names[op];
}
