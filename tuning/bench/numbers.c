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
    const char *unit = *end ? strchr("KMG", toupper((unsigned char)*end)) : NULL;
    if (unit) {
        shift = 10 * (unsigned)(4 - strlen(unit)); /* "KMG" from the unit on has 3, 2, 1 letters */
        end += strcmp(end + 1, "iB") == 0 ? 3 : 1;
    } else if (strcmp(end, "B") == 0) {
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
