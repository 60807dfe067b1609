#include "numbers.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool bench_read_size(const char *text, size_t *bytes)
{
    char *end;
    unsigned shift = 0;

    errno = 0;
    if (!isdigit((unsigned char)*text))
        return false;
    const unsigned long long value = strtoull(text, &end, 10);
    if (*end) {
        const char *unit = strchr("KMG", toupper((unsigned char)*end));
        if (!unit)
            return false;
        shift = 10 * (unsigned)(unit - (const char *)strchr("KMG", 'K') + 1);
        end++;
    }
    *bytes = (size_t)value << shift;
    return !*end && !errno && value <= (SIZE_MAX >> 4) >> shift;
}

bool bench_read_real(const char *text, double least, double most, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && !*end && *value >= least && *value <= most;
}

bool bench_read_whole(const char *text, long long least, long long most, long long *value)
{
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return end != text && !*end && !errno && *value >= least && *value <= most;
}
