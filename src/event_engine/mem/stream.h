/* stream: copies into memory that another core reads next, past this core's caches (non-temporal stores).
 *
 * An ordinary store to a line that the reader of the last time still has in its cache must first take it away from there,
 * line after line: 26 ns each, 2.4 GB/s, between two cores of an AMD EPYC; past the caches the same copy of 32 KiB takes 0.9 us in
 * place of 13.5, and the reader no longer. Between threads of one core, and on other processors, it is not so; therefore it is
 * measured (hp_probes_t: cached_us, streamed_us) which of them is used. Threads: any. Ownership: nothing. */
#ifndef HP_EVENT_ENGINE_MEM_STREAM_H
#define HP_EVENT_ENGINE_MEM_STREAM_H

#include <stddef.h>

/* As memcpy; what was written is there before any store that follows. Processors without such stores: is memcpy. */
void hp_stream_copy(void *to, const void *from, size_t bytes);

#endif
