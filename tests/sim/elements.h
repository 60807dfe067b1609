/* elements: the datatypes and operations of the simulated world: words of 8 bytes, placed with gaps.
 *
 * Threads: pure. Ownership: types are static; buffers are the caller's. */
#ifndef HP_TESTS_SIM_ELEMENTS_H
#define HP_TESTS_SIM_ELEMENTS_H

#include "event_engine/transport.h"

/* id, words, their places in an element (bytes), extent. The first two can be copied as one piece. The data
 * of the last two lies far behind and far in front of the address: whoever forgets true_lb writes outside of
 * any buffer. */
#define ELEMENTS_TABLE(X)                                                                                    \
    X(ELEMENTS_ONE, 1, 0, 0, 8)                                                                              \
    X(ELEMENTS_PAIR, 2, 0, 8, 16)                                                                            \
    X(ELEMENTS_GAP_BEHIND, 2, 0, 8, 24)                                                                      \
    X(ELEMENTS_BEHIND_ADDRESS, 2, 224, 208, 40)                                                              \
    X(ELEMENTS_BEFORE_ADDRESS, 2, -216, -192, 32)

typedef enum {
#define X(id, ...) id,
    ELEMENTS_TABLE(X)
#undef X
        ELEMENTS_BYTES, /* what a bcast is made of */
    ELEMENTS_COUNT
} elements_t;

enum { ELEMENTS_WORDS_MAX = 2 };

/* The type as the engine sees it. */
hp_type_t elements_type(elements_t kind);
uint32_t elements_words(const hp_type_t *type); /* 0: bytes */
/* Where word w of element i lies, from the address of the buffer. */
ptrdiff_t elements_place(const hp_type_t *type, size_t i, uint32_t w);

/* Data of count elements, without gaps: count * type->bytes. */
void elements_pack(char *packed, const void *buffer, size_t count, const hp_type_t *type);
void elements_unpack(void *buffer, const char *packed, size_t count, const hp_type_t *type);
/* Is that what the buffer holds? */
bool elements_equal(const void *buffer, const char *packed, size_t count, const hp_type_t *type);
/* The data, not the gaps, becomes this byte. */
void elements_fill(void *buffer, int byte, size_t count, const hp_type_t *type);

/* Operations. AFFINE takes pairs: (a, b) is the map x -> a x + b modulo 2^64, the operation is "first the
 * left one, then the right one": associative, not commutative. */
typedef enum { ELEMENTS_SUM_INT64 = 1, ELEMENTS_SUM_DOUBLE, ELEMENTS_AFFINE } elements_op_t;

/* inout = in (op) inout. False: the operation does not take this type. */
bool elements_reduce(const void *in, void *inout, size_t count, const hp_type_t *type, hp_handle_t op);

#endif
