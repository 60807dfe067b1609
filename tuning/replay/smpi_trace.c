#include "smpi_trace.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What is written at the moment. */
typedef struct {
    const replay_plan_t *plan;
    const replay_call_t *call;
    const replay_comm_t *comm; /* the call's */
    FILE *file;
    int rank;                          /* of the file, in the world and */
    int self;                          /* in the communicator */
    int size;                          /* of the communicator */
    uint64_t as_messages, as_blocking; /* calls of all ranks that no action is for */
} writer_t;

/* One action of the rank. */
__attribute__((format(printf, 2, 3))) static void act(const writer_t *w, const char *format, ...)
{
    va_list values;

    fprintf(w->file, "%d ", w->rank);
    va_start(values, format);
    vfprintf(w->file, format, values);
    va_end(values);
    fputc('\n', w->file);
}

/* Bytes of the block from s to d; of the vector. */
static size_t block(const writer_t *w, int s, int d)
{
    return replay_length(w->plan, w->call, s, d) * w->call->type_bytes;
}

static size_t vector(const writer_t *w)
{
    return w->call->count * w->call->type_bytes;
}

/* ---- collectives of all ranks ---- */

static void write_barrier(const writer_t *w)
{
    act(w, "barrier");
}

static void write_bcast(const writer_t *w)
{
    act(w, "bcast %zu %d", vector(w), w->call->root);
}

static void write_reduce(const writer_t *w)
{
    act(w, "reduce %zu %zu %d", vector(w), w->call->count, w->call->root);
}

static void write_allreduce(const writer_t *w)
{
    act(w, "allreduce %zu %zu", vector(w), w->call->count);
}

static void write_allgather(const writer_t *w)
{
    act(w, "allgather %zu %zu", vector(w), vector(w));
}

static void write_alltoall(const writer_t *w)
{
    act(w, "alltoall %zu %zu", vector(w), vector(w));
}

static void write_gather(const writer_t *w)
{
    act(w, "gather %zu %zu %d", vector(w), vector(w), w->call->root);
}

static void write_scatter(const writer_t *w)
{
    act(w, "scatter %zu %zu %d", vector(w), vector(w), w->call->root);
}

/* " 1 2 3": what each rank has for `other`, or other for each rank. */
static void write_list(const writer_t *w, bool from_each, int other)
{
    for (int r = 0; r < w->size; r++)
        fprintf(w->file, " %zu", from_each ? block(w, r, other) : block(w, other, r));
}

static size_t sum(const writer_t *w, bool from_each, int other)
{
    size_t bytes = 0;
    for (int r = 0; r < w->size; r++)
        bytes += from_each ? block(w, r, other) : block(w, other, r);
    return bytes;
}

static void write_allgatherv(const writer_t *w)
{
    fprintf(w->file, "%d allgatherv %zu", w->rank, block(w, w->self, 0));
    write_list(w, true, 0);
    fputc('\n', w->file);
}

static void write_gatherv(const writer_t *w)
{
    fprintf(w->file, "%d gatherv %zu", w->rank, block(w, w->self, 0));
    write_list(w, true, 0);
    fprintf(w->file, " %d\n", w->call->root);
}

static void write_scatterv(const writer_t *w)
{
    fprintf(w->file, "%d scatterv", w->rank);
    write_list(w, false, 0);
    fprintf(w->file, " %zu %d\n", block(w, 0, w->self), w->call->root);
}

static void write_reduce_scatter(const writer_t *w)
{
    fprintf(w->file, "%d reducescatter", w->rank);
    write_list(w, false, 0);
    fprintf(w->file, " %zu\n", sum(w, false, 0) / (w->call->type_bytes ? w->call->type_bytes : 1));
}

static void write_alltoallv(const writer_t *w)
{
    fprintf(w->file, "%d alltoallv %zu", w->rank, sum(w, false, w->self));
    write_list(w, false, w->self);
    fprintf(w->file, " %zu", sum(w, true, w->self));
    write_list(w, true, w->self);
    fputc('\n', w->file);
}

/* ---- messages ---- */

static int world(const writer_t *w, int r)
{
    return w->comm->world_ranks[r];
}

/* One that cannot be taken for another communicator's. */
static int tag(const writer_t *w)
{
    return w->call->comm + 1;
}

static void send(const writer_t *w, const char *how, int to, size_t bytes)
{
    act(w, "%s %d %d %zu", how, world(w, to), tag(w), bytes);
}

/* Down from the root, or up to it. */
static void write_binomial(const writer_t *w, int root, bool up)
{
    const int place = (w->self - root + w->size) % w->size;
    int mask = 1;

    while (mask < w->size && !(place & mask))
        mask *= 2;
    const int parent = (place - mask + root + w->size) % w->size;
    if (!up && place > 0)
        send(w, "recv", parent, vector(w));
    for (int i = up ? 1 : mask / 2; up ? i < mask : i > 0; i = up ? 2 * i : i / 2) {
        if (place + i >= w->size)
            continue;
        send(w, up ? "recv" : "send", (place + i + root) % w->size, vector(w));
        if (up && w->call->count > 0)
            act(w, "compute %zu", w->call->count);
    }
    if (up && place > 0)
        send(w, "send", parent, vector(w));
}

static void send_bcast(const writer_t *w)
{
    if (vector(w) > 0)
        write_binomial(w, w->call->root, false);
}

static void send_reduce(const writer_t *w)
{
    if (vector(w) > 0)
        write_binomial(w, w->call->root, true);
}

static void send_allreduce(const writer_t *w)
{
    send_reduce(w);
    send_bcast(w);
}

static void send_barrier(const writer_t *w)
{
    for (int distance = 1; distance < w->size; distance *= 2) {
        send(w, "irecv", (w->self - distance + w->size) % w->size, 1);
        send(w, "isend", (w->self + distance) % w->size, 1);
        act(w, "waitall");
    }
}

static void send_blocks(const writer_t *w)
{
    const bench_blocks_t *blocks = &w->call->collective->blocks;
    bool any = false;

    for (int i = 1; i < w->size; i++) {
        const int from = (w->self - i + w->size) % w->size, to = (w->self + i) % w->size;
        if (bench_block_exists(blocks, from, w->self, w->call->root) && block(w, from, w->self) > 0) {
            send(w, "irecv", from, block(w, from, w->self));
            any = true;
        }
        if (bench_block_exists(blocks, w->self, to, w->call->root) && block(w, w->self, to) > 0) {
            send(w, "isend", to, block(w, w->self, to));
            any = true;
        }
    }
    if (any)
        act(w, "waitall");
}

/* ---- all ---- */

static const struct {
    const char *collective;
    void (*world)(const writer_t *w); /* NULL: there is no such action */
    void (*messages)(const writer_t *w);
} ways[] = {
    {"barrier", write_barrier, send_barrier},
    {"bcast", write_bcast, send_bcast},
    {"reduce", write_reduce, send_reduce},
    {"allreduce", write_allreduce, send_allreduce},
    {"allgather", write_allgather, send_blocks},
    {"allgatherv", write_allgatherv, send_blocks},
    {"alltoall", write_alltoall, send_blocks},
    {"alltoallv", write_alltoallv, send_blocks},
    {"alltoallw", write_alltoallv, send_blocks},
    {"reduce_scatter", write_reduce_scatter, send_blocks},
    {"reduce_scatter_block", write_reduce_scatter, send_blocks},
    {"gather", write_gather, send_blocks},
    {"gatherv", write_gatherv, send_blocks},
    {"scatter", write_scatter, send_blocks},
    {"scatterv", write_scatterv, send_blocks},
    {"scan", NULL, send_blocks},
    {"exscan", NULL, send_blocks},
};

static bool is_world(const writer_t *w)
{
    int r = 0;
    while (r < w->size && w->comm->world_ranks[r] == r)
        r++;
    return r == w->size && w->size == w->plan->recording->ranks;
}

static bool write_call(writer_t *w, const replay_call_t *call)
{
    int way = 0;

    w->call = call;
    w->comm = &w->plan->recording->comms[call->comm];
    w->size = w->comm->size;
    w->self = 0;
    while (w->comm->world_ranks[w->self] != w->rank)
        w->self++;
    if (sum(w, true, w->self) > INT_MAX || sum(w, false, w->self) > INT_MAX) {
        fprintf(stderr,
                "hanpmpi_replay: --smpi: a call of %s of more than %d bytes: SimGrid's counts are ints\n",
                w->plan->names[call->name], INT_MAX);
        return false;
    }
    while (strcmp(ways[way].collective, call->collective->name) != 0)
        way++;
    const bool has_action = ways[way].world && is_world(w);
    (has_action ? ways[way].world : ways[way].messages)(w);
    w->as_messages += !has_action;
    w->as_blocking += call->nonblocking;
    return true;
}

static bool write_rank(writer_t *w, double flops)
{
    const replay_track_t *track = &w->plan->tracks[w->rank];
    bool good = true;

    act(w, "init");
    for (int i = 0; i < track->count && good; i++) {
        const replay_step_t *step = &track->steps[i];
        if (step->gap_s > 0)
            act(w, "compute %.0f", step->gap_s * flops);
        if (step->started == REPLAY_NO_START)
            good = write_call(w, &w->plan->calls[step->call]);
    }
    act(w, "finalize");
    return good;
}

static bool cannot(const char *name)
{
    fprintf(stderr, "hanpmpi_replay: --smpi: cannot write %s: %s\n", name, strerror(errno));
    return false;
}

static bool close_file(FILE *file, const char *name)
{
    const bool failed = ferror(file);
    return fclose(file) == 0 && !failed ? true : cannot(name);
}

/* index: the files' paths, whole, for smpirun takes them from where it is started. */
static bool write_files(writer_t *w, const char *folder, double flops)
{
    char path[PATH_MAX + 32], name[PATH_MAX + 32];
    bool good = true;

    if (!realpath(folder, path))
        return cannot(folder);
    const size_t length = strlen(path);
    strcpy(path + length, "/index");
    FILE *index = fopen(path, "w");
    if (!index)
        return cannot(path);
    for (w->rank = 0; w->rank < w->plan->recording->ranks && good; w->rank++) {
        snprintf(name, sizeof name, "%.*s/rank-%d.txt", (int)length, path, w->rank);
        fprintf(index, "%s\n", name);
        if (!(w->file = fopen(name, "w"))) {
            good = cannot(name);
            break;
        }
        good = write_rank(w, flops);
        good = close_file(w->file, name) && good;
    }
    return close_file(index, path) && good;
}

bool replay_smpi_write(const replay_plan_t *plan, const char *folder, double flops)
{
    writer_t w = {.plan = plan};

    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return cannot(folder);
    if (!write_files(&w, folder, flops))
        return false;
    printf("%d ranks: smpirun -np %d -platform PLATFORM.xml -hostfile HOSTS -replay %s/index\n",
           plan->recording->ranks, plan->recording->ranks, folder);
    if (w.as_messages > 0)
        printf("# %llu calls, on other communicators than MPI_COMM_WORLD or scans, are written as messages\n",
               (unsigned long long)w.as_messages);
    if (w.as_blocking > 0)
        printf("# %llu non-blocking calls are written as blocking ones\n", (unsigned long long)w.as_blocking);
    return true;
}
