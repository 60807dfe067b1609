#include "host_bugs.h"

#include <ctype.h>

bool hp_host_breaks_reduce(const hp_typemap_t *map, int64_t count, int root, bool in_place)
{
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
    int64_t bytes = count * map->basics * (int64_t)hp_basic_info(map->basic)->bytes;
    return in_place && root != 0 && bytes > 2048;
#else
    (void)map, (void)count, (void)root, (void)in_place;
    return false;
#endif
}

bool hp_host_breaks_allreduce(const hp_typemap_t *map)
{
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
    return map->true_lb != 0;
#else
    (void)map;
    return false;
#endif
}

bool hp_lib_forced(const char *collective)
{
    char variable[64] = "HANPMPI_";
    size_t used = strlen(variable);
    for (; *collective && used < sizeof variable - 1; collective++)
        variable[used++] = (char)toupper((unsigned char)*collective);
    variable[used] = '\0';
    const char *algorithm = getenv(variable);
    return hp_lib_loaded() && algorithm && strcmp(algorithm, "auto") != 0 && strcmp(algorithm, "native") != 0;
}
