/* tax: what a call that passes through costs more than the bare call of the host MPI.
 *
 * Calls MPI_X (intercepted when the library is loaded) and the MPI's own PMPI_X (looked up in its library) in
 * turns, in batches, and prints the medians of the batches and their difference in nanoseconds: MPI_Bcast with
 * 8 bytes, and calls that are intercepted on some MPIs for non-blocking collectives, here with none in flight.
 * Those have nothing to do (MPI_PROC_NULL, a null request), so that the difference can be seen. Run it on 1 and
 * on 2 ranks:
 *
 *   LD_PRELOAD=libhanpmpi.so mpirun -np 1 tax [limit ns: exit code 1 if a call is above it]
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

typedef void (*function_t)(void);
typedef int (*bcast_t)(void *, int, MPI_Datatype, int, MPI_Comm);
typedef int (*send_t)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int (*recv_t)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
typedef int (*wait_t)(MPI_Request *, MPI_Status *);
typedef int (*test_t)(MPI_Request *, int *, MPI_Status *);

static double data;
static MPI_Request none = MPI_REQUEST_NULL;

static void call_bcast(function_t bcast)
{
    ((bcast_t)bcast)(&data, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void call_send(function_t send)
{
    ((send_t)send)(&data, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
}

static void call_recv(function_t recv)
{
    ((recv_t)recv)(&data, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void call_wait(function_t wait)
{
    ((wait_t)wait)(&none, MPI_STATUS_IGNORE);
}

static void call_test(function_t test)
{
    int flag;
    ((test_t)test)(&none, &flag, MPI_STATUS_IGNORE);
}

typedef struct {
    const char *name; /* of the MPI's own */
    function_t ours;
    void (*call)(function_t function);
} call_t;

/* The first loaded libmpi that defines PMPI_Bcast. */
static int look(struct dl_phdr_info *object, size_t size, void *found)
{
    const char *base = strrchr(object->dlpi_name, '/');
    (void)size;
    if (!base || strncmp(base, "/libmpi", 7) != 0)
        return 0;
    void *handle = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle || !dlsym(handle, "PMPI_Bcast"))
        return 0;
    *(void **)found = handle;
    return 1;
}

static double batch(const call_t *call, function_t function)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < CALLS; i++)
        call->call(function);
    return (MPI_Wtime() - start) / CALLS * 1e9;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double tax_of(const call_t *call, void *library)
{
    static double ours[BATCHES], bare[BATCHES], differences[BATCHES];
    int rank, size;
    function_t host = (function_t)dlsym(library, call->name);

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = -20; i < BATCHES; i++) {
        double first = batch(call, i & 1 ? host : call->ours);
        double second = batch(call, i & 1 ? call->ours : host);
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
        printf("%d ranks: %s %.1f ns, bare %s %.1f ns, tax %.1f ns (median of %d batches, "
               "maximum over ranks)\n",
               size, call->name + 1, ours[BATCHES / 2], call->name, bare[BATCHES / 2], worst, BATCHES);
    return worst;
}

int main(int argc, char **argv)
{
    static const call_t calls[] = {{"PMPI_Bcast", (function_t)MPI_Bcast, call_bcast},
                                   {"PMPI_Send", (function_t)MPI_Send, call_send},
                                   {"PMPI_Recv", (function_t)MPI_Recv, call_recv},
                                   {"PMPI_Wait", (function_t)MPI_Wait, call_wait},
                                   {"PMPI_Test", (function_t)MPI_Test, call_test}};
    void *library = NULL;
    double worst = 0;

    MPI_Init(&argc, &argv);
    dl_iterate_phdr(look, &library);
    if (!library) {
        fprintf(stderr, "tax: no libmpi with PMPI_Bcast is loaded\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const double tax = tax_of(&calls[i], library);
        worst = tax > worst ? tax : worst;
    }
    MPI_Finalize();
    return argc > 1 && worst > atof(argv[1]) ? 1 : 0;
}
