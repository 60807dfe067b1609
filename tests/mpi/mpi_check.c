#include "mpi_check.h"

#include <dlfcn.h>
#include <stdarg.h>

void hp_check_fail(const char *file, int line, const char *condition, const char *format, ...)
{
    char text[2048];
    int running = 0, finalized = 0, world_rank = -1;
    const char *name = strrchr(file, '/');

    MPI_Initialized(&running);
    MPI_Finalized(&finalized);
    running = running && !finalized;
    if (running)
        MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);

    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "rank %d: %s:%d: CHECK(%s) failed: %s\n", world_rank, name ? name + 1 : file, line,
            condition, text);
    fflush(NULL);
    if (running)
        MPI_Abort(MPI_COMM_WORLD, 1);
    _Exit(1);
}

void hp_mpi_init(int *argc, char ***argv)
{
    int level;

    if (*argc < 2 || strcmp((*argv)[1], "--thread-multiple") != 0) {
        CHECK_MPI(MPI_Init(argc, argv));
        return;
    }
    CHECK_MPI(MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level));
    if (level < MPI_THREAD_MULTIPLE) {
        printf("skipped: this MPI has no MPI_THREAD_MULTIPLE\n");
        MPI_Finalize();
        exit(HP_SKIP);
    }
    (*argc)--;
    memmove(*argv + 1, *argv + 2, (size_t)*argc * sizeof **argv); /* with the NULL behind the last */
}

const char *hp_error_text(int code)
{
    static _Thread_local char text[MPI_MAX_ERROR_STRING];
    int length;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        snprintf(text, sizeof text, "error %d", code);
    return text;
}

int hp_error_class(int code)
{
    int error_class = -1;
    MPI_Error_class(code, &error_class);
    return error_class;
}

int hp_comm_rank(MPI_Comm comm)
{
    int rank = -1;
    CHECK_MPI(MPI_Comm_rank(comm, &rank));
    return rank;
}

int hp_comm_size(MPI_Comm comm)
{
    int size = -1;
    CHECK_MPI(MPI_Comm_size(comm, &size));
    return size;
}

/* POSIX lets dlsym's pointer become a function's; ISO C does not say so, hence the copy. */
#define LOOK_UP(function, name)                                                                              \
    do {                                                                                                     \
        void *symbol_ = dlsym(RTLD_DEFAULT, name);                                                           \
        memcpy(&(function), &symbol_, sizeof symbol_);                                                       \
    } while (0)

bool hp_lib_loaded(void)
{
    return dlsym(RTLD_DEFAULT, "hanpmpi_version") != NULL;
}

const char *hp_lib_backend(void)
{
    const char *(*backend)(void);
    LOOK_UP(backend, "hanpmpi_backend");
    return backend ? backend() : "not loaded";
}

/* Returns 0; -1 where the library does not know the collective; 1 without the library. */
static int get_stats(const char *collective, hanpmpi_collective_stats_t *stats)
{
    int (*get)(const char *, hanpmpi_collective_stats_t *);
    LOOK_UP(get, "hanpmpi_get_stats");
    return get ? get(collective, stats) : 1;
}

bool hp_lib_knows(const char *collective)
{
    hanpmpi_collective_stats_t stats;
    return get_stats(collective, &stats) == 0;
}

hanpmpi_collective_stats_t hp_lib_stats(const char *collective)
{
    hanpmpi_collective_stats_t stats = {0};
    CHECK(get_stats(collective, &stats) >= 0, "the library does not count %s", collective);
    return stats;
}

hanpmpi_resources_t hp_lib_resources(void)
{
    hanpmpi_resources_t resources = {0};
    int (*get_resources)(hanpmpi_resources_t *);
    LOOK_UP(get_resources, "hanpmpi_get_resources");
    if (get_resources)
        CHECK_EQUAL(get_resources(&resources), 0, "hanpmpi_get_resources");
    return resources;
}

MPI_Info hp_info_create(const char *const *keys_and_values)
{
    MPI_Info info;
    CHECK_MPI(MPI_Info_create(&info));
    for (; *keys_and_values; keys_and_values += 2)
        CHECK_MPI(MPI_Info_set(info, keys_and_values[0], keys_and_values[1]));
    return info;
}

MPI_Comm hp_comm_dup_hinted(MPI_Comm comm, const char *const *keys_and_values)
{
    MPI_Info info = hp_info_create(keys_and_values);
    MPI_Comm hinted;
    CHECK_MPI(MPI_Comm_dup_with_info(comm, info, &hinted));
    CHECK_MPI(MPI_Info_free(&info));
    return hinted;
}

MPI_Comm hp_comm_dup_native(MPI_Comm comm)
{
    return hp_comm_dup_hinted(comm, (const char *const[]){HANPMPI_HINT_ENABLE, "off", NULL});
}

MPI_Comm hp_comm_dup_returning(MPI_Comm comm, bool native)
{
    MPI_Comm copy;

    if (native)
        copy = hp_comm_dup_native(comm);
    else
        CHECK_MPI(MPI_Comm_dup(comm, &copy));
    CHECK_MPI(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN));
    return copy;
}

void hp_spin_us(double microseconds)
{
    double until = MPI_Wtime() + microseconds * 1e-6;
    while (MPI_Wtime() < until)
        ;
}
