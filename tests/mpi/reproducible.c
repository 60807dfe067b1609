/* reproducible: prints a number that stands for the bits of floating-point reductions, for every size and
 * root: <bytes> <collective> <root> <hash> reproducible.py runs it on other placements, segment sizes and
 * modules, and compares. */
#include "mpi_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t mix(uint64_t a)
{
    a ^= a >> 31;
    a *= 0x7fb5d329728ea185u;
    a ^= a >> 27;
    return a * 0x81dadef4bc2dd44du;
}

static uint64_t hash_of(const double *values, int count)
{
    uint64_t hash = 1;
    for (int i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        hash = mix(hash ^ bits);
    }
    return hash;
}

/* Magnitudes far apart: any other order of a sum gives other bits. */
static double value(int rank, int i)
{
    const uint64_t draw = mix((uint64_t)rank * 1000003u + (uint64_t)i + 12345u);
    return ((double)(draw >> 11) * 0x1p-53 - 0.5) * (double)(1ull << (draw % 40));
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 3, 100, 5000, 20000, 200000};
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        const int count = counts[c];
        const size_t bytes = (size_t)count * sizeof(double);
        double *send = malloc(bytes), *recv = malloc(bytes);
        CHECK(send && recv, "out of memory");
        for (int root = -1; root<size; root += size> 3 ? 2 : 1) {
            for (int i = 0; i < count; i++)
                send[i] = value(rank, i);
            if (root < 0)
                CHECK_MPI(MPI_Allreduce(send, recv, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
            else
                CHECK_MPI(MPI_Reduce(send, recv, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD));
            if (rank == (root < 0 ? size - 1 : root)) {
                printf("%zu %s %d %016" PRIx64 "\n", bytes, root < 0 ? "allreduce" : "reduce", root,
                       hash_of(recv, count));
                fflush(stdout);
            }
        }
        free(send);
        free(recv);
    }
    MPI_Finalize();
    return 0;
}
