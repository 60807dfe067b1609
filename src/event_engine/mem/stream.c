#include "event_engine/mem/stream.h"

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

enum { LINE = 64 };

/* A line that is not written as a whole would be fetched all the same. */
void hp_stream_copy(void *to, const void *from, size_t bytes)
{
    char *out = to;
    const char *in = from;
    const size_t head = -(uintptr_t)out % LINE;

    if (bytes < head + LINE) {
        memcpy(out, in, bytes);
        return;
    }
    memcpy(out, in, head);
    for (out += head, in += head, bytes -= head; bytes >= LINE; out += LINE, in += LINE, bytes -= LINE)
        for (size_t i = 0; i < LINE; i += sizeof(__m128i)) {
            const __m128i part = _mm_loadu_si128((const __m128i *)(const void *)(in + i));
            _mm_stream_si128((__m128i *)(void *)(out + i), part);
        }
    memcpy(out, in, bytes);
    _mm_sfence();
}
#else
void hp_stream_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}
#endif
