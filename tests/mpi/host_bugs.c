#include "host_bugs.h"

#include <ctype.h>

#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
#define MPICH_4_0 1
#else
#define MPICH_4_0 0
#endif
#ifdef OMPI_MAJOR_VERSION
#define OPEN_MPI_ANY 1
#else
#define OPEN_MPI_ANY 0
#endif

bool hp_host_breaks_reduce(const hp_typemap_t *map, int64_t count, int root, bool in_place)
{
    int64_t bytes = count * map->basics * (int64_t)hp_basic_info(map->basic)->bytes;
    if (MPICH_4_0)
        return in_place && root != 0 && bytes > 2048;
    return !OPEN_MPI_ANY && map->true_lb != 0;
}

bool hp_host_breaks_allreduce(const hp_typemap_t *map)
{
    return !MPICH_4_0 && map->true_lb != 0;
}

bool hp_host_breaks_ireduce(const hp_typemap_t *map)
{
    return hp_host_breaks_allreduce(map);
}

static bool has_gaps(const hp_typemap_t *map)
{
    const hp_basic_info_t *info = hp_basic_info(map->basic);
    bool gaps = info->pieces > 1 || map->extent != map->basics * (MPI_Aint)info->bytes;
    for (int i = 0; i < map->basics; i++)
        gaps = gaps || map->offset[i] != i * (MPI_Aint)info->bytes;
    return gaps;
}

bool hp_host_breaks_gaps(const hp_typemap_t *map, int64_t bytes)
{
    enum { EAGER_BYTES = 4096 }; /* and a bit more */
    size_t value_bytes = 0;

    for (int i = 0; i < hp_basic_info(map->basic)->pieces; i++)
        value_bytes += hp_basic_info(map->basic)->piece[i].bytes;
    return !OPEN_MPI_ANY && bytes > EAGER_BYTES && has_gaps(map) &&
           (value_bytes > 8 || (value_bytes & (value_bytes - 1)));
}

static bool is_open_mpi_5(void)
{
    static char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    if (!version[0])
        MPI_Get_library_version(version, &length);
    return strncmp(version, "Open MPI v5", 11) == 0;
}

bool hp_host_breaks_complex(const hp_typemap_t *map)
{
    const hp_basic_info_t *info = hp_basic_info(map->basic);

    if (!is_open_mpi_5() || info->class != HP_CLASS_COMPLEX)
        return false;
    MPI_Aint last = map->offset[map->basics - 1] - map->extent; /* of the element before */
    for (int i = 0; i < map->basics; i++) {
        if ((map->offset[i] - last) % (MPI_Aint)info->bytes != 0)
            return true;
        last = map->offset[i];
    }
    return false;
}

bool hp_host_breaks_gather(const hp_typemap_t *map, int64_t bytes)
{
    enum { BINOMIAL_BYTES = 8192 };
    return !OPEN_MPI_ANY && !MPICH_4_0 && bytes > BINOMIAL_BYTES && has_gaps(map);
}

bool hp_host_breaks_displacement(int comm_size)
{
    return comm_size == 1;
}

bool hp_host_breaks_overlap(void)
{
    return !OPEN_MPI_ANY;
}

bool hp_host_breaks_unlike_allgatherv(int64_t bytes)
{
    enum { PIPELINE_BYTES = 32768 };
    return OPEN_MPI_ANY || bytes > PIPELINE_BYTES;
}

bool hp_host_breaks_ordered_scatter(hp_operation_t operation)
{
    return !OPEN_MPI_ANY && !hp_operation_info(operation)->commutative;
}

bool hp_host_breaks_iblocks(bool in_place)
{
    return OPEN_MPI_ANY ? in_place : MPICH_4_0;
}

bool hp_host_refuses_null_reduce(void)
{
#if OPEN_MPI_ANY
    return OMPI_MAJOR_VERSION >= 5;
#else
    return false;
#endif
}

bool hp_host_breaks_comm_free(void)
{
    return OPEN_MPI_ANY;
}

bool hp_host_breaks_persistent(void)
{
    return !OPEN_MPI_ANY;
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
