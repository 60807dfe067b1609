/* progress: correct programs that only finish when whoever waits in MPI, wherever it waits, helps the
 * collectives in flight along (pitfall 25). Rank 0 is the root of an Ibcast; rank 1 gets the rest of its
 * broadcast only while rank 0 is in some other call, or is in that other call itself.
 *
 * usage: progress [--thread-multiple] GROUP... ; the groups are in the table below. Each is collective over MPI_COMM_WORLD and runs
 * with short and long messages, on a communicator that the library has set up and on one that it has not.
 *
 * Why each must finish: MPI-3.1, 3.5 (progress of messages) and 5.12 (a collective that does not block
 * completes whatever the others wait for, once all have called it). */
#include "groups.h"

enum { SECONDS = 20, LONG_BYTES = 4 << 20, OTHER_TAG = 9 };

static const char *where = "nothing";

/* What a scenario has: the broadcast of this round in flight on comm, and room for a message. */
typedef struct {
    MPI_Comm comm;  /* of the Ibcast */
    MPI_Comm other; /* where the host MPI's collectives run */
    int rank, size, bytes, round;
    unsigned char *data, *message;
    MPI_Request request;
} scene_t;

static void begin(scene_t *scene)
{
    memset(scene->data, scene->rank == 0 ? scene->round + 1 : 0, (size_t)scene->bytes);
    CHECK_MPI(MPI_Ibcast(scene->data, scene->bytes, MPI_BYTE, 0, scene->comm, &scene->request));
}

static void end(scene_t *scene)
{
    CHECK_MPI(MPI_Wait(&scene->request, MPI_STATUS_IGNORE));
    CHECK(scene->data[0] == scene->round + 1 && scene->data[scene->bytes - 1] == scene->round + 1,
          "the broadcast of round %d in %s", scene->round, where);
}

static void fill(scene_t *scene)
{
    memset(scene->message, scene->round + 2, (size_t)scene->bytes);
}

static void check(const scene_t *scene)
{
    CHECK(scene->message[0] == scene->round + 2 && scene->message[scene->bytes - 1] == scene->round + 2,
          "the message of round %d in %s", scene->round, where);
}

static void receive(scene_t *scene, int from)
{
    memset(scene->message, 0, (size_t)scene->bytes);
    CHECK_MPI(
        MPI_Recv(scene->message, scene->bytes, MPI_BYTE, from, OTHER_TAG, scene->comm, MPI_STATUS_IGNORE));
    check(scene);
}

/* The last rank sends to the root. */
static void last_sends(scene_t *scene)
{
    if (scene->rank == scene->size - 1) {
        fill(scene);
        CHECK_MPI(MPI_Send(scene->message, scene->bytes, MPI_BYTE, 0, OTHER_TAG, scene->comm));
    }
}

/* Rank 0: Ibcast, Send. Rank 1: Recv, Ibcast. */
static void ibcast_send(scene_t *scene)
{
    if (scene->rank == 1)
        receive(scene, 0);
    begin(scene);
    if (scene->rank == 0) {
        fill(scene);
        CHECK_MPI(MPI_Send(scene->message, scene->bytes, MPI_BYTE, 1, OTHER_TAG, scene->comm));
    }
    end(scene);
}

/* The root receives before it waits; the last rank sends when it has the broadcast. In between they pass it on
 * out of whatever call they are in. */
static void root_receives(scene_t *scene)
{
    begin(scene);
    if (scene->rank == 0)
        receive(scene, scene->size - 1);
    end(scene);
    last_sends(scene);
}

/* As before, but all others than the last are in a call, too: a chain of receives from the right. */
static void all_receive(scene_t *scene)
{
    begin(scene);
    if (scene->rank < scene->size - 1)
        receive(scene, scene->rank + 1);
    else
        end(scene); /* the others' help is all it has */
    if (scene->rank > 0) {
        fill(scene);
        CHECK_MPI(MPI_Send(scene->message, scene->bytes, MPI_BYTE, scene->rank - 1, OTHER_TAG, scene->comm));
    }
    if (scene->rank < scene->size - 1)
        end(scene);
}

static void ssend(scene_t *scene)
{
    begin(scene);
    if (scene->rank == 0) {
        fill(scene);
        CHECK_MPI(MPI_Ssend(scene->message, scene->bytes, MPI_BYTE, scene->size - 1, OTHER_TAG, scene->comm));
    }
    end(scene);
    if (scene->rank == scene->size - 1)
        receive(scene, 0);
}

static void sendrecv(scene_t *scene)
{
    unsigned char one = 1, got = 0;
    int last = scene->size - 1, peer = scene->rank == 0 ? last : 0;

    begin(scene);
    if (scene->rank == last)
        end(scene);
    if (scene->rank == 0 || scene->rank == last)
        CHECK_MPI(MPI_Sendrecv(&one, 1, MPI_BYTE, peer, OTHER_TAG, &got, 1, MPI_BYTE, peer, OTHER_TAG,
                               scene->comm, MPI_STATUS_IGNORE));
    if (scene->rank != last)
        end(scene);
}

static void probe(scene_t *scene)
{
    begin(scene);
    if (scene->rank == 0) {
        CHECK_MPI(MPI_Probe(scene->size - 1, OTHER_TAG, scene->comm, MPI_STATUS_IGNORE));
        receive(scene, scene->size - 1);
    }
    end(scene);
    last_sends(scene);
}

static void iprobe(scene_t *scene)
{
    int there = 0;

    begin(scene);
    while (scene->rank == 0 && !there)
        CHECK_MPI(MPI_Iprobe(scene->size - 1, OTHER_TAG, scene->comm, &there, MPI_STATUS_IGNORE));
    if (scene->rank == 0)
        receive(scene, scene->size - 1);
    end(scene);
    last_sends(scene);
}

/* The root looks only at the request of a message, by each of the calls that do. */
static void message_request(scene_t *scene)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int index, done = 0;

    if (scene->rank == 0)
        CHECK_MPI(MPI_Irecv(scene->message, scene->bytes, MPI_BYTE, scene->size - 1, OTHER_TAG, scene->comm,
                            &request));
    begin(scene);
    if (scene->rank == 0)
        switch (scene->round % 6) {
        case 0:
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            break;
        case 1:
            CHECK_MPI(MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE));
            break;
        case 2:
            while (!done)
                CHECK_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
            break;
        case 3:
            CHECK_MPI(MPI_Waitall(1, &request, MPI_STATUSES_IGNORE));
            break;
        case 4:
            CHECK_MPI(MPI_Waitsome(1, &request, &done, &index, MPI_STATUSES_IGNORE));
            break;
        default:
            while (!done)
                CHECK_MPI(MPI_Testall(1, &request, &done, MPI_STATUSES_IGNORE));
            break;
        }
    if (scene->rank == 0)
        check(scene);
    end(scene);
    last_sends(scene);
}

/* Another collective on another communicator: the root is in it already, the last rank comes when it has the
 * broadcast. */
static void other_collective(scene_t *scene)
{
    int size = scene->size, *out = calloc((size_t)size, sizeof *out), *in = calloc((size_t)size, sizeof *in);

    CHECK(out && in, "out of memory");
    begin(scene);
    if (scene->rank == size - 1)
        end(scene);
    switch (scene->round % 5) {
    case 0:
        CHECK_MPI(MPI_Barrier(scene->other));
        break;
    case 1:
        CHECK_MPI(MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, scene->other));
        break;
    case 2:
        CHECK_MPI(MPI_Gather(out, 1, MPI_INT, in, 1, MPI_INT, 0, scene->other));
        break;
    case 3:
        CHECK_MPI(MPI_Allgather(out, 1, MPI_INT, in, 1, MPI_INT, scene->other));
        break;
    default:
        CHECK_MPI(MPI_Allreduce(out, in, size, MPI_INT, MPI_SUM, scene->other));
        break;
    }
    if (scene->rank != size - 1)
        end(scene);
    free(out);
    free(in);
}

/* A request of the host MPI's collective, which others help along only while they are in a call of the
 * library's: the last rank waits for it before it comes to the blocking collective. */
static void host_request(scene_t *scene)
{
    int size = scene->size, *out = calloc((size_t)size, sizeof *out), *in = calloc((size_t)size, sizeof *in);
    MPI_Request request;

    CHECK(out && in, "out of memory");
    begin(scene);
    CHECK_MPI(MPI_Ialltoall(out, 1, MPI_INT, in, 1, MPI_INT, scene->other, &request));
    if (scene->rank == size - 1)
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_MPI(scene->round % 2 ? MPI_Barrier(scene->comm)
                               : MPI_Bcast(scene->message, 1, MPI_BYTE, size - 1, scene->comm));
    if (scene->rank != size - 1)
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    end(scene);
    free(out);
    free(in);
}

/* Another broadcast in flight, waited for first. */
static void crossed(scene_t *scene)
{
    int value = scene->rank == scene->size - 1 ? scene->round : -1;
    MPI_Request second;

    begin(scene);
    CHECK_MPI(MPI_Ibcast(&value, 1, MPI_INT, scene->size - 1, scene->other, &second));
    if (scene->rank % 2)
        end(scene);
    CHECK_MPI(MPI_Wait(&second, MPI_STATUS_IGNORE));
    if (scene->rank % 2 == 0)
        end(scene);
    CHECK_EQUAL(value, scene->round, "the second broadcast");
}

static void play(void (*scenario)(scene_t *), const char *name, bool with_hint)
{
    const int sizes[] = {1, 3000, LONG_BYTES};
    scene_t scene = {.rank = hp_comm_rank(MPI_COMM_WORLD), .size = hp_comm_size(MPI_COMM_WORLD)};

    if (scene.size == 1) {
        hp_group_skip("needs 2 ranks");
        return;
    }
    scene.data = malloc(LONG_BYTES);
    scene.message = malloc(LONG_BYTES);
    CHECK(scene.data && scene.message, "out of memory");
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &scene.comm));
    if (with_hint)
        scene.other = hp_comm_dup_native(MPI_COMM_WORLD);
    else
        CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &scene.other));
    where = name;
    for (int used = 0; used < 2; used++) { /* after the first round blocking collectives let the library in */
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (scene.round = 0; scene.round < (i == 2 ? 6 : 12); scene.round++) {
                scene.bytes = sizes[i];
                hp_group_step(SECONDS, where, scene.bytes);
                scenario(&scene);
            }
        hp_group_step(SECONDS, "blocking collectives", 0);
        for (int i = 0; i < 5; i++) {
            CHECK_MPI(MPI_Barrier(scene.comm));
            CHECK_MPI(MPI_Barrier(scene.other));
            CHECK_MPI(MPI_Bcast(scene.data, LONG_BYTES / 4, MPI_BYTE, 0, scene.comm));
        }
    }
    CHECK_MPI(MPI_Comm_free(&scene.comm));
    CHECK_MPI(MPI_Comm_free(&scene.other));
    free(scene.data);
    free(scene.message);
}

#define SCENARIOS(X)                                                                                         \
    X(ibcast_send)                                                                                           \
    X(root_receives)                                                                                         \
    X(all_receive)                                                                                           \
    X(ssend)                                                                                                 \
    X(sendrecv)                                                                                              \
    X(probe)                                                                                                 \
    X(iprobe)                                                                                                \
    X(message_request)                                                                                       \
    X(other_collective)                                                                                      \
    X(host_request)                                                                                          \
    X(crossed)

/* The other communicator is the host MPI's, then one that the library works on, too. */
#define X(name)                                                                                              \
    static void group_##name(void)                                                                           \
    {                                                                                                        \
        play(name, #name ", the host MPI's beside it", true);                                                \
        play(name, #name ", two of the library's", false);                                                   \
    }
SCENARIOS(X)
#undef X

static const hp_group_t groups[] = {
#define X(name) {#name, group_##name},
    SCENARIOS(X)
#undef X
};

int main(int argc, char **argv)
{
    hp_mpi_init(&argc, &argv);
    int code = hp_groups_run(argc, argv, groups, sizeof groups / sizeof *groups);
    CHECK_MPI(MPI_Finalize());
    return code;
}
