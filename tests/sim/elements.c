#include "sim/elements.h"

#include <string.h>

typedef struct {
    uint32_t words;
    ptrdiff_t place[ELEMENTS_WORDS_MAX];
    size_t extent;
} layout_t;

static const layout_t layouts[] = {
#define X(id, words, first, second, extent) [id] = {words, {first, second}, extent},
    ELEMENTS_TABLE(X)
#undef X
        [ELEMENTS_BYTES] = {0, {0, 0}, 1},
};

hp_type_t elements_type(elements_t kind)
{
    const layout_t *layout = &layouts[kind];
    hp_type_t type = {.handle = kind, .bytes = 1, .extent = layout->extent, .true_lb = 0, .true_extent = 1};
    if (layout->words) {
        ptrdiff_t low = layout->place[0], high = layout->place[0];
        for (uint32_t w = 1; w < layout->words; w++) {
            low = layout->place[w] < low ? layout->place[w] : low;
            high = layout->place[w] > high ? layout->place[w] : high;
        }
        type.bytes = layout->words * sizeof(uint64_t);
        type.true_lb = low;
        type.true_extent = (size_t)(high - low) + sizeof(uint64_t);
    }
    return type;
}

uint32_t elements_words(const hp_type_t *type)
{
    return layouts[type->handle].words;
}

ptrdiff_t elements_place(const hp_type_t *type, size_t i, uint32_t w)
{
    return (ptrdiff_t)(i * type->extent) + layouts[type->handle].place[w];
}

void elements_pack(char *packed, const void *buffer, size_t count, const hp_type_t *type)
{
    if (count == 0) /* a barrier: there may be no buffers */
        return;
    if (hp_type_is_dense(type)) {
        memcpy(packed, buffer, count * type->bytes);
        return;
    }
    for (size_t i = 0; i < count; i++)
        for (uint32_t w = 0; w < layouts[type->handle].words; w++, packed += sizeof(uint64_t))
            memcpy(packed, (const char *)buffer + elements_place(type, i, w), sizeof(uint64_t));
}

void elements_unpack(void *buffer, const char *packed, size_t count, const hp_type_t *type)
{
    if (count == 0)
        return;
    if (hp_type_is_dense(type)) {
        memcpy(buffer, packed, count * type->bytes);
        return;
    }
    for (size_t i = 0; i < count; i++)
        for (uint32_t w = 0; w < layouts[type->handle].words; w++, packed += sizeof(uint64_t))
            memcpy((char *)buffer + elements_place(type, i, w), packed, sizeof(uint64_t));
}

static void load(uint64_t *words, const void *buffer, size_t i, const hp_type_t *type)
{
    for (uint32_t w = 0; w < layouts[type->handle].words; w++)
        memcpy(&words[w], (const char *)buffer + elements_place(type, i, w), sizeof words[w]);
}

static void sum_doubles(uint64_t *right, const uint64_t *left, uint32_t words)
{
    for (uint32_t w = 0; w < words; w++) {
        double a, b;
        memcpy(&a, &left[w], sizeof a);
        memcpy(&b, &right[w], sizeof b);
        b = a + b;
        memcpy(&right[w], &b, sizeof b);
    }
}

bool elements_reduce(const void *in, void *inout, size_t count, const hp_type_t *type, hp_handle_t op)
{
    const uint32_t words = layouts[type->handle].words;
    if (words == 0 || (op == ELEMENTS_AFFINE && words != 2))
        return false;
    for (size_t i = 0; i < count; i++) {
        uint64_t left[ELEMENTS_WORDS_MAX], right[ELEMENTS_WORDS_MAX];
        load(left, in, i, type);
        load(right, inout, i, type);
        switch (op) {
        case ELEMENTS_SUM_INT64:
            for (uint32_t w = 0; w < words; w++)
                right[w] += left[w];
            break;
        case ELEMENTS_SUM_DOUBLE:
            sum_doubles(right, left, words);
            break;
        case ELEMENTS_AFFINE:
            right[1] += right[0] * left[1];
            right[0] *= left[0];
            break;
        default:
            return false;
        }
        for (uint32_t w = 0; w < words; w++)
            memcpy((char *)inout + elements_place(type, i, w), &right[w], sizeof right[w]);
    }
    return true;
}
