/* tax: what a call that passes through costs more than the bare call of the MPI below.
 *
 * Calls MPI_Bcast (intercepted when the library is loaded) and the MPI's own PMPI_Bcast (looked up in its
 * library) in turns, in batches, with 8 bytes, and prints the medians of the batches and their difference in
 * nanoseconds. Run it on 1 and on 2 ranks:
 *
 *   LD_PRELOAD=libhanpmpi.so mpirun -np 1 tax [limit ns: exit code 1 above it]
 *
 * With 2 ranks rank 0 only sends: its time is that of the call; the difference of the medians of all ranks is
 * what is shown. */
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 400, CALLS = 1000 };

typedef int (*bcast_t)(void *, int, MPI_Datatype, int, MPI_Comm);

/* The first loaded libmpi that defines PMPI_Bcast. */
static int look(struct dl_phdr_info *object, size_t size, void *found)
{
    const char *base = strrchr(object->dlpi_name, '/');
    (void)size;
    if (!base || strncmp(base, "/libmpi", 7) != 0)
        return 0;
    void *handle = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    *(void **)found = handle ? dlsym(handle, "PMPI_Bcast") : NULL;
    return *(void **)found != NULL;
}

static double batch(bcast_t bcast, MPI_Comm comm)
{
    double data = 0;
    MPI_Barrier(comm);
    double start = MPI_Wtime();
    for (int i = 0; i < CALLS; i++)
        bcast(&data, 1, MPI_DOUBLE, 0, comm);
    return (MPI_Wtime() - start) / CALLS * 1e9;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static double ours[BATCHES], bare[BATCHES], differences[BATCHES];
    bcast_t host = NULL;
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    dl_iterate_phdr(look, &host);
    if (!host) {
        fprintf(stderr, "tax: no libmpi with PMPI_Bcast is loaded\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = -20; i < BATCHES; i++) {
        double first = i & 1 ? batch(host, MPI_COMM_WORLD) : batch(MPI_Bcast, MPI_COMM_WORLD);
        double second = i & 1 ? batch(MPI_Bcast, MPI_COMM_WORLD) : batch(host, MPI_COMM_WORLD);
        if (i < 0)
            continue;
        ours[i] = i & 1 ? second : first;
        bare[i] = i & 1 ? first : second;
        differences[i] = ours[i] - bare[i];
    }
    qsort(ours, BATCHES, sizeof *ours, by_value);
    qsort(bare, BATCHES, sizeof *bare, by_value);
    qsort(differences, BATCHES, sizeof *differences, by_value);
    double tax = differences[BATCHES / 2], worst;
    PMPI_Allreduce(&tax, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks: MPI_Bcast %.1f ns, bare PMPI_Bcast %.1f ns, tax %.1f ns (median of %d batches, "
               "maximum over ranks)\n",
               size, ours[BATCHES / 2], bare[BATCHES / 2], worst, BATCHES);
    MPI_Finalize();
    return argc > 1 && worst > atof(argv[1]) ? 1 : 0;
}
