#include "settings.h"

#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/words.h"

static const char accepted_amounts[] =
    "off, 5%, uniform:MAX, constant:MS, exponential:MEAN or exponential:MEAN:CAP in "
    "milliseconds";
static const char accepted_ranks[] = "all, every N, N%, or a list such as 0,3,8-11";

static bool refuse(char *error, size_t room, const char *name, const char *text, const char *accepted)
{
    snprintf(error, room, "%s=%.100s is not accepted; accepted: %s", name, text, accepted);
    return false;
}

/* The whole text is a number of that range. */
static bool number(const char *text, double least, double most, double *out)
{
    char *end;
    if (!isdigit((unsigned char)text[0]))
        return false;
    *out = strtod(text, &end);
    return *end == '\0' && *out >= least && *out <= most;
}

static bool starts(const char *text, const char *word, const char **rest)
{
    const size_t length = strlen(word);
    *rest = text + length;
    return strncmp(text, word, length) == 0;
}

static double longest(const noise_amount_t *amount, double hz)
{
    switch (amount->kind) {
    case NOISE_SHARE:
        return 2 * amount->size / hz;
    case NOISE_EXPONENTIAL:
        return amount->cap > 0 ? amount->cap : 0.9 / hz;
    default:
        return amount->size;
    }
}

static bool parse_share(const char *text, double *out)
{
    char digits[32];
    const size_t length = strlen(text);
    if (length < 2 || length >= sizeof digits || text[length - 1] != '%')
        return false;
    memcpy(digits, text, length - 1);
    digits[length - 1] = '\0';
    if (!number(digits, 0, 100, out))
        return false;
    *out /= 100;
    return true;
}

static bool parse_amount(const char *text, noise_amount_t *out)
{
    const double most_ms = 1e6;
    const char *rest;

    *out = (noise_amount_t){.kind = NOISE_SHARE};
    if (strcmp(text, "off") == 0 || strcmp(text, "0") == 0) {
        out->kind = NOISE_OFF;
        return true;
    }
    if (parse_share(text, &out->size))
        return true;
    if (starts(text, "exponential:", &rest)) {
        char mean[32];
        const char *colon = strchr(rest, ':');
        const size_t length = colon ? (size_t)(colon - rest) : strlen(rest);
        out->kind = NOISE_EXPONENTIAL;
        if (length >= sizeof mean)
            return false;
        memcpy(mean, rest, length);
        mean[length] = '\0';
        if (!number(mean, 0, most_ms, &out->size) || (colon && !number(colon + 1, 0, most_ms, &out->cap)))
            return false;
    } else if (starts(text, "uniform:", &rest) || starts(text, "constant:", &rest)) {
        out->kind = text[0] == 'u' ? NOISE_UNIFORM : NOISE_CONSTANT;
        if (!number(rest, 0, most_ms, &out->size))
            return false;
    } else {
        return false;
    }
    out->size /= 1000;
    out->cap /= 1000;
    return true;
}

bool noise_amount_parse(const char *text, double hz, noise_amount_t *out, char *error, size_t error_bytes)
{
    if (!parse_amount(text, out))
        return refuse(error, error_bytes, "HANPMPI_NOISE", text, accepted_amounts);
    if (longest(out, hz) < 1 / hz)
        return true;
    snprintf(
        error, error_bytes,
        "HANPMPI_NOISE=%.100s is not accepted: interruptions of up to %g ms do not fit %g times into a "
        "second; "
        "accepted: less than %g ms (a share is the mean of 0 to twice as much), or a lower HANPMPI_NOISE_HZ",
        text, 1000 * longest(out, hz), hz, 1000 / hz);
    return false;
}

/* The next range of a list, "3" or "8-11". */
static bool next_range(const char **at, unsigned long *from, unsigned long *to)
{
    char *end;
    if (!isdigit((unsigned char)**at))
        return false;
    *from = *to = strtoul(*at, &end, 10);
    if (*end == '-') {
        if (!isdigit((unsigned char)end[1]))
            return false;
        *to = strtoul(end + 1, &end, 10);
    }
    if (*to < *from || (*end != ',' && *end != '\0') || (*end == ',' && end[1] == '\0'))
        return false;
    *at = *end == ',' ? end + 1 : end;
    return true;
}

static bool ranks_are_good(const char *text)
{
    const char *at = text;
    unsigned long from, to;
    double value;

    if (strcmp(text, "all") == 0 || parse_share(text, &value))
        return true;
    if (starts(text, "every ", &at))
        return strspn(at, "0123456789") == strlen(at) && number(at, 1, 1e9, &value);
    at = text;
    do {
        if (!next_range(&at, &from, &to))
            return false;
    } while (*at);
    return true;
}

bool noise_is_chosen(const char *text, uint32_t rank)
{
    const char *at = text;
    unsigned long from, to;
    double share;

    if (strcmp(text, "all") == 0)
        return true;
    if (parse_share(text, &share)) /* spread evenly, exact, whatever the number of ranks */
        return floor((rank + 1) * share + 1e-9) > floor(rank * share + 1e-9);
    if (starts(text, "every ", &at))
        return rank % strtoul(at, NULL, 10) == 0;
    at = text;
    while (*at && next_range(&at, &from, &to))
        if (rank >= from && rank <= to)
            return true;
    return false;
}

/* value stays as it is where the variable is not set. */
static bool read_number(const char *name, double least, double most, double *value, const char *accepted,
                        char *error, size_t room)
{
    const char *text = getenv(name);
    return !text || number(text, least, most, value) || refuse(error, room, name, text, accepted);
}

static bool read_choice(const char *name, const char *no, const char *yes, bool *value, char *error,
                        size_t room)
{
    char accepted[64];
    const char *text = getenv(name);
    if (!text)
        return true;
    *value = strcmp(text, yes) == 0;
    snprintf(accepted, sizeof accepted, "%s, %s", no, yes);
    return *value || strcmp(text, no) == 0 || refuse(error, room, name, text, accepted);
}

static bool read_boolean(const char *name, bool *value, char *error, size_t room)
{
    const char *text = getenv(name);
    return !text || hp_word_boolean(text, value) || refuse(error, room, name, text, HP_WORD_BOOLEANS);
}

static bool read_ranks(char *ranks, size_t ranks_bytes, char *error, size_t room)
{
    const char *text = getenv("HANPMPI_NOISE_RANKS");
    if (!text)
        text = "all";
    if (strlen(text) >= ranks_bytes || !ranks_are_good(text))
        return refuse(error, room, "HANPMPI_NOISE_RANKS", text, accepted_ranks);
    strcpy(ranks, text);
    return true;
}

extern char **environ;

/* A misspelt variable would leave the noise other than what was asked for. */
static bool names_are_known(char *error, size_t room)
{
    static const char prefix[] = "HANPMPI_NOISE";
    static const char *const known[] = {
#define HP_NOISE_VARIABLE(name) name,
#include "base/noise_variables.def"
#undef HP_NOISE_VARIABLE
    };
    for (char **entry = environ; entry && *entry; entry++) {
        bool found = strncmp(*entry, prefix, sizeof prefix - 1) != 0;
        const size_t length = strcspn(*entry, "=");
        for (size_t i = 0; i < sizeof known / sizeof *known && !found; i++)
            found = strlen(known[i]) == length && strncmp(*entry, known[i], length) == 0;
        if (found)
            continue;
        int used =
            snprintf(error, room, "unknown variable %.*s; accepted:", length < 64 ? (int)length : 64, *entry);
        for (size_t i = 0; i < sizeof known / sizeof *known && used >= 0 && (size_t)used < room; i++)
            used += snprintf(error + used, room - (size_t)used, " %s", known[i]);
        return false;
    }
    return true;
}

bool noise_settings_read(noise_settings_t *out, char *error, size_t room)
{
    char signals[32];
    const char *amount = getenv("HANPMPI_NOISE");
    double seed = 1, signal_number = SIGRTMAX;

    *out = (noise_settings_t){.hz = 10};
    snprintf(signals, sizeof signals, "%d to %d", SIGRTMIN, SIGRTMAX);
    if (!names_are_known(error, room) ||
        !read_number("HANPMPI_NOISE_HZ", 0.001, 1e6, &out->hz, "0.001 to 1000000", error, room) ||
        !read_number("HANPMPI_NOISE_SEED", 0, 9e15, &seed, "0 to 9e15", error, room) ||
        !read_number("HANPMPI_NOISE_DELAY_SECONDS", 0, 1e6, &out->delay_seconds, "0 to 1000000", error,
                     room) ||
        !read_number("HANPMPI_NOISE_SIGNAL", SIGRTMIN, SIGRTMAX, &signal_number, signals, error, room) ||
        !read_choice("HANPMPI_NOISE_HOW", "sleep", "burn", &out->burns, error, room) ||
        !read_boolean("HANPMPI_NOISE_REPORT", &out->reports, error, room) ||
        !read_ranks(out->ranks, sizeof out->ranks, error, room) ||
        !noise_amount_parse(amount ? amount : "off", out->hz, &out->amount, error, room))
        return false;
    out->seed = (uint64_t)seed;
    out->signal = (int)signal_number;
    return true;
}

static uint64_t next(noise_random_t *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

noise_random_t noise_random_start(uint64_t seed, uint32_t rank, uint64_t stream)
{
    noise_random_t random = {seed};
    random.state = next(&random) ^ rank;
    random.state = next(&random) ^ stream;
    random.state = next(&random);
    return random;
}

double noise_random_unit(noise_random_t *random)
{
    return (double)(next(random) >> 11) * 0x1p-53;
}

double noise_draw(const noise_amount_t *amount, double hz, noise_random_t *random)
{
    const double unit = noise_random_unit(random);
    switch (amount->kind) {
    case NOISE_OFF:
        return 0;
    case NOISE_SHARE:
        return unit * 2 * amount->size / hz;
    case NOISE_UNIFORM:
        return unit * amount->size;
    case NOISE_CONSTANT:
        return amount->size;
    case NOISE_EXPONENTIAL:
        return fmin(-amount->size * log1p(-unit), longest(amount, hz));
    }
    return 0;
}
