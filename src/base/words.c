#include "base/words.h"

#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What follows the digits: nothing, "B", "K", "KiB", ..., behind a space or not. Returns its factor, 0: it is none. */
static int64_t unit_of(const char *text)
{
    static const char units[] = "kKmMgG";

    text += *text == ' ';
    if (strcmp(text, "B") == 0)
        return 1;
    const char *unit = *text ? strchr(units, *text) : NULL;
    if (!unit || (text[1] && strcmp(text + 1, "iB") != 0))
        return 0;
    return INT64_C(1) << (10 * ((unit - units) / 2 + 1));
}

bool hp_word_integer(const char *text, int64_t *out)
{
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (end == text || errno == ERANGE)
        return false;
    const int64_t unit = *end ? unit_of(end) : 1;
    int64_t scaled;
    if (unit == 0 || __builtin_mul_overflow((int64_t)value, unit, &scaled))
        return false;
    *out = scaled;
    return true;
}

bool hp_word_boolean(const char *text, bool *out)
{
    static const char *const words[] = {"0", "1", "no", "yes", "off", "on", "false", "true"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i]) == 0) {
            *out = i % 2;
            return true;
        }
    return false;
}

static bool find_equal(const char *text, hp_word_fn_t word, int (*compare)(const char *, const char *),
                       unsigned *out)
{
    for (unsigned i = 0; word(i); i++)
        if (compare(text, word(i)) == 0) {
            *out = i;
            return true;
        }
    return false;
}

bool hp_word_find(const char *text, hp_word_fn_t word, unsigned *out)
{
    bool truth;

    /* As it is written first: a file of HANPMPI_SCHEDULES may have another word's name in capitals. */
    return find_equal(text, word, strcmp, out) || find_equal(text, word, strcasecmp, out) ||
           (hp_word_boolean(text, &truth) && find_equal(truth ? "on" : "off", word, strcmp, out));
}

static unsigned edit_distance(const char *a, const char *b)
{
    enum { LONGEST = 64 };
    size_t a_length = strnlen(a, LONGEST - 1), b_length = strnlen(b, LONGEST - 1);
    unsigned row[LONGEST];

    for (size_t j = 0; j <= b_length; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[b_length];
}

const char *hp_word_nearest(const char *text, hp_word_fn_t word)
{
    const char *nearest = word(0);
    unsigned least = ~0u;

    for (unsigned i = 0; word(i); i++) {
        const unsigned distance = edit_distance(text, word(i));
        if (distance < least) {
            least = distance;
            nearest = word(i);
        }
    }
    return nearest;
}

const char *hp_word_size(uint64_t bytes, char *text, unsigned room)
{
    static const char units[] = "BKMGTPE";
    unsigned unit = 0;

    while (bytes >= 1024 && bytes % 1024 == 0 && unit + 2 < sizeof units) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, room, "%llu %c%s", (unsigned long long)bytes, units[unit], unit ? "iB" : "");
    return text;
}

int hp_word_signal(const char *text)
{
    static const struct {
        const char *word;
        int number;
    } signals[] = {{"", 0},         {"off", 0},          {"0", 0},          {"on", SIGUSR2},
                   {"1", SIGUSR2},  {"HUP", SIGHUP},     {"USR1", SIGUSR1}, {"USR2", SIGUSR2},
                   {"URG", SIGURG}, {"WINCH", SIGWINCH}, {"PWR", SIGPWR}};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (strcmp(text, signals[i].word) == 0)
            return signals[i].number;
    return -1;
}

double hp_word_number(const char *text, char **end)
{
    const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    const double number = plain ? strtod_l(text, end, plain) : strtod(text, end);

    if (plain)
        freelocale(plain);
    return number;
}
