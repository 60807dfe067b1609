/* command_line: what the command lines of hanpmpi_bench and hanpmpi_tune have in common: --help, --version, how an error
 * ends the reading, and that only one rank speaks. Threads: one. Ownership: nothing is kept. */
#ifndef HP_BENCH_COMMAND_LINE_H
#define HP_BENCH_COMMAND_LINE_H

#include <argp.h>
#include <errno.h>
#include <stdbool.h>

/* Keys of the two options; a program's own begin behind them. */
enum { BENCH_KEY_HELP = 256, BENCH_KEY_VERSION, BENCH_KEY_OWN };

/* An error by which the reading ends: argp_error does not return from the program here. */
#define BAD(state, ...) (argp_error(state, __VA_ARGS__), EINVAL)

/* The two options, and words that are none. *done: the program has nothing more to do. ARGP_ERR_UNKNOWN: something
 * else. */
error_t bench_common_option(int key, const char *argument, struct argp_state *state, const char *program,
                            bool *done);

/* Reads the command line. speak: this rank says what is wrong. */
error_t bench_parse(const struct argp *argp, int argc, char **argv, bool speak, void *input);

#endif
