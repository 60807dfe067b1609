/* options: what hanpmpi_replay is asked to do. Every rank reads the same command line; one speaks.
 *
 * Threads: one. Ownership: the texts are the command line's; replay_options_fini frees the list of hints. */
#ifndef HP_REPLAY_OPTIONS_H
#define HP_REPLAY_OPTIONS_H

#include <stdbool.h>

/* What happens between two collectives: nothing; the processor sleeps, or computes, as long as in the recording. */
#define REPLAY_GAPS_TABLE(X) X(NONE, none) X(RECORDED, recorded)
#define REPLAY_FILL_TABLE(X) X(SLEEP, sleep) X(COMPUTE, compute)

#define X(id, name) REPLAY_GAPS_##id,
typedef enum { REPLAY_GAPS_TABLE(X) REPLAY_GAPS } replay_gaps_t;
#undef X
#define X(id, name) REPLAY_FILL_##id,
typedef enum { REPLAY_FILL_TABLE(X) REPLAY_FILLS } replay_fill_t;
#undef X

typedef struct {
    const char *recording; /* file names; NULL: not given */
    const char *json, *smpi;
    replay_gaps_t gaps;
    replay_fill_t fill;
    double flops; /* of a host of --smpi, a second */
    int repeat, warmup;
    char **hints;
    int hint_count;
} replay_options_t;

typedef enum { REPLAY_OPTIONS_RUN, REPLAY_OPTIONS_DONE, REPLAY_OPTIONS_BAD } replay_options_result_t;

replay_options_result_t replay_options_read(replay_options_t *options, int argc, char **argv, bool speak);
void replay_options_fini(replay_options_t *options);

const char *replay_gaps_name(replay_gaps_t gaps);
const char *replay_fill_name(replay_fill_t fill);

#endif
