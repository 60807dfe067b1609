/* reproducible: prints a number that stands for the bits of floating-point reductions, for every size and
 * root: <hints> <bytes> <collective> <root> <hash> reproducible.py runs it on other placements, segment sizes and
 * modules, and compares.
 *
 * usage: reproducible [KEY=VALUE[,KEY=VALUE]...]... ; after MPI_COMM_WORLD, whose <hints> are 0, come duplicates of it: the
 * first with the hints of the first argument, and so on. */
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

static void print_results(int hints, MPI_Comm comm)
{
    static const int counts[] = {1, 3, 100, 5000, 20000, 200000};
    const int rank = hp_comm_rank(comm), size = hp_comm_size(comm);

    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        const int count = counts[c];
        const size_t bytes = (size_t)count * sizeof(double);
        double *send = malloc(bytes), *recv = malloc(bytes);
        CHECK(send && recv, "out of memory");
        for (int root = -1; root<size; root += size> 3 ? 2 : 1) {
            for (int i = 0; i < count; i++)
                send[i] = value(rank, i);
            if (root < 0)
                CHECK_MPI(MPI_Allreduce(send, recv, count, MPI_DOUBLE, MPI_SUM, comm));
            else
                CHECK_MPI(MPI_Reduce(send, recv, count, MPI_DOUBLE, MPI_SUM, root, comm));
            if (rank == (root < 0 ? size - 1 : root)) {
                printf("%d %zu %s %d %016" PRIx64 "\n", hints, bytes, root < 0 ? "allreduce" : "reduce", root,
                       hash_of(recv, count));
                fflush(stdout);
            }
        }
        free(send);
        free(recv);
    }
}

/* Collective over MPI_COMM_WORLD. text: as on the command line; cut up. */
static MPI_Comm dup_with_hints(char *text)
{
    enum { MOST = 8 };
    const char *keys_and_values[2 * MOST + 1] = {NULL};
    int words = 0;

    for (char *word = strtok(text, "=,"); word; word = strtok(NULL, "=,")) {
        CHECK(words < 2 * MOST, "more than %d hints", MOST);
        keys_and_values[words++] = word;
    }
    CHECK(words % 2 == 0, "hint %s has no value", keys_and_values[words - 1]);
    return hp_comm_dup_hinted(MPI_COMM_WORLD, keys_and_values);
}

int main(int argc, char **argv)
{
    CHECK_MPI(MPI_Init(&argc, &argv));
    print_results(0, MPI_COMM_WORLD);
    for (int i = 1; i < argc; i++) {
        MPI_Comm comm = dup_with_hints(argv[i]);
        print_results(i, comm);
        CHECK_MPI(MPI_Comm_free(&comm));
    }
    CHECK_MPI(MPI_Finalize());
    return 0;
}
