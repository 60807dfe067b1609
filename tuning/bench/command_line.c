#include "command_line.h"

#include <stdio.h>

error_t bench_common_option(int key, const char *argument, struct argp_state *state, const char *program,
                            bool *done)
{
    switch (key) {
    case BENCH_KEY_HELP:
        *done = true;
        argp_state_help(state, stdout,
                        ARGP_HELP_LONG | ARGP_HELP_LONG_ONLY | ARGP_HELP_USAGE | ARGP_HELP_DOC);
        return ECANCELED;
    case BENCH_KEY_VERSION:
        *done = true;
        if (!(state->flags & ARGP_NO_ERRS))
            printf("%s %s\n", program, HANPMPI_VERSION);
        return ECANCELED;
    case ARGP_KEY_ARG:
        return BAD(state, "%s: accepted are options only; --help lists them", argument);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

error_t bench_parse(const struct argp *argp, int argc, char **argv, bool speak, void *input)
{
    return argp_parse(argp, argc, argv, ARGP_NO_EXIT | ARGP_NO_HELP | (speak ? 0 : ARGP_NO_ERRS), NULL,
                      input);
}
