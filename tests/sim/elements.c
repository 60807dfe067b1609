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
    const layout_t layout = layouts[type->handle];
    const char *from = buffer;
    for (size_t i = 0; i < count; i++, from += type->extent)
        for (uint32_t w = 0; w < layout.words; w++, packed += sizeof(uint64_t))
            memcpy(packed, from + layout.place[w], sizeof(uint64_t));
}

void elements_unpack(void *buffer, const char *packed, size_t count, const hp_type_t *type)
{
    if (count == 0)
        return;
    if (hp_type_is_dense(type)) {
        memcpy(buffer, packed, count * type->bytes);
        return;
    }
    const layout_t layout = layouts[type->handle];
    char *to = buffer;
    for (size_t i = 0; i < count; i++, to += type->extent)
        for (uint32_t w = 0; w < layout.words; w++, packed += sizeof(uint64_t))
            memcpy(to + layout.place[w], packed, sizeof(uint64_t));
}

bool elements_equal(const void *buffer, const char *packed, size_t count, const hp_type_t *type)
{
    if (count == 0)
        return true;
    if (hp_type_is_dense(type))
        return memcmp(buffer, packed, count * type->bytes) == 0;
    const layout_t layout = layouts[type->handle];
    const char *at = buffer;
    for (size_t i = 0; i < count; i++, at += type->extent)
        for (uint32_t w = 0; w < layout.words; w++, packed += sizeof(uint64_t))
            if (memcmp(at + layout.place[w], packed, sizeof(uint64_t)) != 0)
                return false;
    return true;
}

void elements_fill(void *buffer, int byte, size_t count, const hp_type_t *type)
{
    if (count == 0)
        return;
    if (hp_type_is_dense(type)) {
        memset(buffer, byte, count * type->bytes);
        return;
    }
    const layout_t layout = layouts[type->handle];
    char *to = buffer;
    for (size_t i = 0; i < count; i++, to += type->extent)
        for (uint32_t w = 0; w < layout.words; w++)
            memset(to + layout.place[w], byte, sizeof(uint64_t));
}

static uint64_t sum_of_doubles(uint64_t left, uint64_t right)
{
    double a, b;
    memcpy(&a, &left, sizeof a);
    memcpy(&b, &right, sizeof b);
    b = a + b;
    memcpy(&right, &b, sizeof b);
    return right;
}

/* Where op and the layout are constants, the compiler makes a loop of a few instructions of it. */
static inline void reduce(const char *in, char *inout, size_t count, layout_t layout, hp_handle_t op)
{
    for (size_t i = 0; i < count; i++, in += layout.extent, inout += layout.extent) {
        uint64_t left[ELEMENTS_WORDS_MAX], right[ELEMENTS_WORDS_MAX];
        for (uint32_t w = 0; w < layout.words; w++) {
            memcpy(&left[w], in + layout.place[w], sizeof left[w]);
            memcpy(&right[w], inout + layout.place[w], sizeof right[w]);
        }
        if (op == ELEMENTS_AFFINE) {
            right[1] += right[0] * left[1];
            right[0] *= left[0];
        }
        for (uint32_t w = 0; w < layout.words; w++) {
            if (op != ELEMENTS_AFFINE)
                right[w] = op == ELEMENTS_SUM_INT64 ? left[w] + right[w] : sum_of_doubles(left[w], right[w]);
            memcpy(inout + layout.place[w], &right[w], sizeof right[w]);
        }
    }
}

bool elements_reduce(const void *in, void *inout, size_t count, const hp_type_t *type, hp_handle_t op)
{
    layout_t layout = layouts[type->handle];
    if (layout.words == 0 || (op == ELEMENTS_AFFINE && layout.words != 2))
        return false;
    layout.extent = type->extent;
    if (op == ELEMENTS_SUM_INT64 && hp_type_is_dense(type))
        reduce(in, inout, count * layout.words, (layout_t){1, {0, 0}, sizeof(uint64_t)}, ELEMENTS_SUM_INT64);
    else if (op == ELEMENTS_AFFINE && hp_type_is_dense(type))
        reduce(in, inout, count, (layout_t){2, {0, sizeof(uint64_t)}, 2 * sizeof(uint64_t)}, ELEMENTS_AFFINE);
    else if (op == ELEMENTS_SUM_INT64 || op == ELEMENTS_SUM_DOUBLE || op == ELEMENTS_AFFINE)
        reduce(in, inout, count, layout, op);
    else
        return false;
    return true;
}
