/* huge: messages of more than 2^31 bytes and of more than 2^31 elements (pitfall 16). Two ranks, about 10 GiB
 * of memory in all; skipped where there is less.
 *
 * usage: huge GROUP... ; the groups are in the table below. */
#include <sys/mman.h>
#include <unistd.h>

#include "groups.h"

enum { MIB = 1 << 20 };
static const size_t doubles = (1u << 28) + 4099;                           /* more than 2^31 bytes */
static const size_t buffer_bytes = ((size_t)1 << 31) + ((size_t)64 << 20); /* of the largest group */

static size_t held; /* bytes of the buffer that have been in use */

/* The same pages for every group: the kernel takes longer to hand out and clear some GiB than the messages
 * take. What an earlier group left is cleared, so that none of it can be taken for a result. */
static unsigned char *buffer(size_t bytes, int value)
{
    static unsigned char *data;

    CHECK(bytes <= buffer_bytes, "%zu bytes are more than the buffer has", bytes);
    if (!data) {
        data = aligned_alloc((size_t)2 * MIB, buffer_bytes);
        CHECK(data, "out of memory");
        madvise(data, buffer_bytes, MADV_HUGEPAGE); /* a hint: a fault for 2 MiB instead of 512 */
    }
    memset(data, value, bytes);
    held = bytes > held ? bytes : held;
    return data;
}

static bool enough_memory(size_t bytes_per_rank)
{
    double available = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double wanted = ((double)bytes_per_rank - (double)held) * hp_comm_size(MPI_COMM_WORLD);
    int enough = available > wanted * 1.2, all;
    CHECK_MPI(MPI_Allreduce(&enough, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    return all;
}

/* Marks and checks one byte in every page, and the last one. */
static unsigned char mark(size_t at)
{
    return (unsigned char)(at >> 12) ^ (unsigned char)(at >> 20) ^ 0x5a;
}

static void fill(unsigned char *data, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += 4096)
        data[at] = mark(at);
    data[bytes - 1] = 77;
}

static void check(const unsigned char *data, size_t bytes)
{
    for (size_t at = 0; at < bytes - 1; at += 4096)
        CHECK(data[at] == mark(at), "byte %zu of %zu is wrong", at, bytes);
    CHECK_EQUAL(data[bytes - 1], 77, "last byte");
}

/* A count that fits an int, of a datatype of 1 MiB: 2 GiB and 5 MiB. */
static void group_bytes(void)
{
    const size_t bytes = (size_t)2053 * MIB;
    MPI_Datatype block;
    if (!enough_memory(bytes)) {
        hp_group_skip("too little memory");
        return;
    }
    unsigned char *data = buffer(bytes, 0);
    if (hp_comm_rank(MPI_COMM_WORLD) == 0)
        fill(data, bytes);
    CHECK_MPI(MPI_Type_contiguous(MIB, MPI_BYTE, &block));
    CHECK_MPI(MPI_Type_commit(&block));
    CHECK_MPI(MPI_Bcast(data, 2053, block, 0, MPI_COMM_WORLD));
    check(data, bytes);
    CHECK_MPI(MPI_Type_free(&block));
}

/* Each rank gives 1027 MiB, in place: together more than 2^31 bytes on two ranks. */
static void group_allgather(void)
{
    enum { BLOCKS = 1027 };
    const size_t share = (size_t)BLOCKS * MIB;
    int rank = hp_comm_rank(MPI_COMM_WORLD), size = hp_comm_size(MPI_COMM_WORLD);
    MPI_Datatype block;
    if (share * (size_t)size > buffer_bytes || !enough_memory(share * (size_t)size)) {
        hp_group_skip("too little memory, or too many ranks");
        return;
    }
    unsigned char *data = buffer(share * (size_t)size, 0);
    fill(data + share * (size_t)rank, share);
    data[share * (size_t)rank + 1] = (unsigned char)(rank + 1); /* whose it is */
    CHECK_MPI(MPI_Type_contiguous(MIB, MPI_BYTE, &block));
    CHECK_MPI(MPI_Type_commit(&block));
    CHECK_MPI(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, BLOCKS, block, MPI_COMM_WORLD));
    for (int i = 0; i < size; i++) {
        check(data + share * (size_t)i, share);
        CHECK_EQUAL(data[share * (size_t)i + 1], i + 1, "the rank of a block");
    }
    CHECK_MPI(MPI_Type_free(&block));
}

/* More than 2^31 bytes of doubles, in place. */
static void group_reduce(void)
{
    const size_t count = doubles;
    if (!enough_memory(2 * count * sizeof(double))) {
        hp_group_skip("too little memory");
        return;
    }
    int size = hp_comm_size(MPI_COMM_WORLD), rank = hp_comm_rank(MPI_COMM_WORLD);
    double *data = (double *)(void *)buffer(count * sizeof *data, 0xff);
    for (size_t i = 0; i < count; i++)
        data[i] = (double)(i % 1000) + rank;
    CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, data, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    for (size_t i = 0; i < count; i += 509)
        CHECK(data[i] == (double)(i % 1000) * size + size * (size - 1) / 2.0, "element %zu: %g", i, data[i]);
}

/* One element with holes whose data is more than 2 GiB: it cannot be packed by MPI_Pack, which counts in int.
 */
static void group_element(void)
{
    enum { BLOCKS = 2053, HOLE = 512 };
    const size_t stride = MIB + HOLE, bytes = BLOCKS * stride;
    MPI_Datatype block, element;
    if (!enough_memory(2 * bytes)) {
        hp_group_skip("too little memory");
        return;
    }
    int root = hp_comm_size(MPI_COMM_WORLD) - 1, rank = hp_comm_rank(MPI_COMM_WORLD);
    unsigned char *data = buffer(bytes, rank == root ? 1 : 9);
    for (size_t i = 0; rank == root && i < BLOCKS; i++)
        data[i * stride] = (unsigned char)i;
    CHECK_MPI(MPI_Type_contiguous(MIB, MPI_BYTE, &block));
    CHECK_MPI(MPI_Type_create_hvector(BLOCKS, 1, stride, block, &element));
    CHECK_MPI(MPI_Type_commit(&element));
    CHECK_MPI(MPI_Bcast(data, 1, element, root, MPI_COMM_WORLD));
    for (size_t i = 0; i < BLOCKS; i++) {
        CHECK_EQUAL(data[i * stride], (unsigned char)i, "first byte of a block");
        CHECK_EQUAL(data[i * stride + MIB - 1], 1, "last byte of a block");
        CHECK(i == BLOCKS - 1 || data[i * stride + MIB] == (rank == root ? 1 : 9), "hole %zu was written", i);
    }
    CHECK_MPI(MPI_Type_free(&element));
    CHECK_MPI(MPI_Type_free(&block));
}

/* More than 2^31 elements: only MPI_X_c can say so. */
static void group_elements(void)
{
#if MPI_VERSION >= 4
    const size_t bytes = ((size_t)1 << 31) + 4097;
    if (!enough_memory(bytes)) {
        hp_group_skip("too little memory");
        return;
    }
    unsigned char *data = buffer(bytes, 0);
    if (hp_comm_rank(MPI_COMM_WORLD) == 0)
        fill(data, bytes);
    CHECK_MPI(MPI_Bcast_c(data, (MPI_Count)bytes, MPI_BYTE, 0, MPI_COMM_WORLD));
    check(data, bytes);
#else
    hp_group_skip("needs MPI 4");
#endif
}

static const hp_group_t groups[] = {
    {"bytes", group_bytes},       {"allgather", group_allgather}, {"reduce", group_reduce},
    {"elements", group_elements}, {"element", group_element},
};

int main(int argc, char **argv)
{
    CHECK_MPI(MPI_Init(&argc, &argv));
    int code = hp_groups_run(argc, argv, groups, sizeof groups / sizeof *groups);
    CHECK_MPI(MPI_Finalize());
    return code;
}
