#include "intercept_check.h"

static int saved_argc;
static char **saved_argv;

/* glibc hands main's arguments to constructors: a Fortran main program has no other way to pass them on. */
__attribute__((constructor)) static void save_arguments(int argc, char **argv)
{
    saved_argc = argc;
    saved_argv = argv;
}

/* The word after an option, "" for an option without one, NULL when it is not there. */
static const char *option(const char *name)
{
    for (int i = 1; i < saved_argc; i++)
        if (strcmp(saved_argv[i], name) == 0)
            return i + 1 < saved_argc ? saved_argv[i + 1] : "";
    return NULL;
}

static bool listed(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

static void verify_one(const char *collective, int calls)
{
    hanpmpi_collective_stats_t stats = hp_lib_stats(collective);
    CHECK_EQUAL(stats.calls, calls, collective);
    CHECK(stats.taken <= stats.calls, "%s: more calls taken than made", collective);
    if (option("--untaken"))
        CHECK_EQUAL(stats.taken, 0, collective);
    if (listed(option("--taken"), collective) && hp_comm_size(MPI_COMM_WORLD) > 1)
        CHECK_EQUAL(stats.taken, calls, collective);
}

/* The collectives of blocks and the scans: every program calls each as often. */
static const char *const collectives_of_blocks[] = {
    "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw",      "gather",
    "gatherv",   "scatter",    "scatterv", "scan",      "reduce_scatter", "reduce_scatter_block",
    "exscan"};

void hp_intercept_verify_(const int *bcasts, const int *reduces, const int *allreduces, const int *barriers,
                          const int *blocks)
{
    if (!hp_lib_loaded()) {
        CHECK(!option("--loaded"), "the library is not in this process");
        return;
    }
    CHECK(!option("--loaded") || strcmp(hp_lib_backend(), "none") != 0,
          "the library has no backend for this MPI");
    verify_one("bcast", *bcasts);
    verify_one("reduce", *reduces);
    verify_one("allreduce", *allreduces);
    verify_one("barrier", *barriers);
    for (size_t i = 0; i < sizeof collectives_of_blocks / sizeof *collectives_of_blocks; i++)
        verify_one(collectives_of_blocks[i], *blocks);
    if (hp_comm_rank(MPI_COMM_WORLD) == 0)
        printf("backend %s: %d + %d + %d + %d + 13 * %d calls made, as many intercepted\n", hp_lib_backend(),
               *bcasts, *reduces, *allreduces, *barriers, *blocks);
}

void hp_intercept_require_(const int *condition, const int *place)
{
    CHECK(*condition, "wrong result at place %d of the Fortran program", *place);
}

#ifndef MPI_ABI_VERSION /* the standard ABI's header has no Fortran handles */
void hp_intercept_from_c_(const MPI_Fint *comm, int *values, const int *count, const int *root, int *sums)
{
    MPI_Comm c_comm = MPI_Comm_f2c(*comm);
    CHECK_MPI(MPI_Bcast(values, *count, MPI_INT, *root, c_comm));
    CHECK_MPI(MPI_Allreduce(values, sums, *count, MPI_INT, MPI_SUM, c_comm));
}
#endif
