#include "pmpi_wrappers/backend/profile/handles.h"

#include <stdio.h>
#include <stdlib.h>
#include "pmpi_wrappers/backend/glue/machine.h"
#include "pmpi_wrappers/backend/profile/book/arrival.h"
#include "pmpi_wrappers/backend/start/job.h"

/* Buckets of communicators. Slots of datatypes; where more than that many derived types are alive the oldest are
 * asked for again. */
enum { BUCKETS = 1024, TYPES = 1024, OPS = 16 };
/* Ranks of all communicators, 4 bytes each: of those beyond it is not known who they are. */
enum { WORLD_RANKS_MAX = 16 * 1024 * 1024 };
/* Of different groups of ranks. */
enum { GROUPS_MAX = 65536 };

typedef struct {
    uint64_t hash;
    uint64_t communicators; /* behind the key: how many were seen of these ranks */
} group_t;

static hp_book_t *book;
static hp_seen_comm_t *buckets[BUCKETS], *last_comm, *forgotten;
static uint64_t comms_known;
static hp_seen_type_t types[TYPES];
static struct {
    hp_handle_t handle;
    uint16_t row;
} ops[OPS];
static unsigned op_count;
static uint16_t user_op;
static hp_table_t groups;
static MPI_Group world;
static uint64_t world_ranks_kept;
uint32_t hp_types_changed[2];

/* ---- operations ---- */

#define OP_TABLE(X)                                                                                          \
    X(MPI_MAX)                                                                                               \
    X(MPI_MIN)                                                                                               \
    X(MPI_SUM)                                                                                               \
    X(MPI_PROD)                                                                                              \
    X(MPI_LAND)                                                                                              \
    X(MPI_BAND)                                                                                              \
    X(MPI_LOR)                                                                                               \
    X(MPI_BOR) X(MPI_LXOR) X(MPI_BXOR) X(MPI_MINLOC) X(MPI_MAXLOC) X(MPI_REPLACE) X(MPI_NO_OP)

static void enter_op(MPI_Op op, const char *name)
{
    ops[op_count].handle = HP_HANDLE(op);
    ops[op_count++].row = (uint16_t)hp_book_name(&book->ops, name);
}

uint16_t hp_handles_op(hp_handle_t handle)
{
    for (unsigned i = 0; i < op_count; i++)
        if (ops[i].handle == handle)
            return ops[i].row;
    return user_op;
}

/* ---- datatypes ---- */

static hp_seen_type_t *type_place(hp_handle_t handle)
{
    return &types[(handle * 0x9e3779b97f4a7c15u) >> 54];
}

/* A derived type is called what the program calls it. */
static hp_seen_type_t describe_type(hp_handle_t handle)
{
    const MPI_Datatype datatype = HP_UNHANDLE(MPI_Datatype, handle);
    hp_seen_type_t type = {.handle = handle, .is_used = true};
    int integers, addresses, datatypes, combiner = MPI_COMBINER_NAMED, length = 0;
    char name[MPI_MAX_OBJECT_NAME + 1] = "";
    MPI_Count bytes = 0;

    if (datatype == MPI_DATATYPE_NULL || P(Type_size_x)(datatype, &bytes) != MPI_SUCCESS)
        return (hp_seen_type_t){.handle = handle};
    type.bytes = bytes > 0 ? (uint64_t)bytes : 0;
    P(Type_get_envelope)(datatype, &integers, &addresses, &datatypes, &combiner);
    P(Type_get_name)(datatype, name, &length);
    type.is_derived = combiner != MPI_COMBINER_NAMED;
    const bool has_name = combiner == MPI_COMBINER_NAMED || (name[0] && strncmp(name, "MPI_", 4) != 0);
    type.row = (uint16_t)hp_book_name(&book->types, has_name ? name : "derived");
    return type;
}

hp_seen_type_t hp_handles_type(hp_handle_t handle)
{
    hp_seen_type_t *place = type_place(handle);

    if (__builtin_expect(place->handle == handle && place->is_used, 1))
        return *place;
    const hp_seen_type_t type = describe_type(handle);
    if (type.is_used)
        *place = type;
    return type;
}

void hp_handles_forget_type(hp_handle_t handle)
{
    hp_seen_type_t *place = type_place(handle);

    hp_types_changed[1]++;
    if (place->handle == handle)
        place->is_used = false;
}

void hp_handles_rename_type(hp_handle_t handle)
{
    hp_handles_forget_type(handle);
    hp_types_changed[0]++;
}

/* ---- communicators ---- */

static hp_seen_comm_t **bucket_of(hp_handle_t handle)
{
    return &buckets[(handle * 0x9e3779b97f4a7c15u) >> 54];
}

static uint16_t name_comm(MPI_Comm comm, int size)
{
    char name[MPI_MAX_OBJECT_NAME + 1] = "";
    int length = 0;

    P(Comm_get_name)(comm, name, &length);
    const uint32_t row = hp_book_comm(book, name, (uint64_t)size);
    if (row)
        ((hp_book_comm_t *)hp_table_row(&book->comms, row))->made++;
    else
        book->lost[HP_LOST_comms]++;
    return (uint16_t)row;
}

/* SMPI has no collectives among neighbors, and ends the job when it is asked for a topology. */
static void find_topology(hp_seen_comm_t *seen, MPI_Comm comm)
{
    int topology = MPI_UNDEFINED, dimensions = 0, weighted = 0;

    if (seen->is_inter || hp_ranks_take_turns || P(Topo_test)(comm, &topology) != MPI_SUCCESS)
        return;
    if (topology == MPI_CART && P(Cartdim_get)(comm, &dimensions) == MPI_SUCCESS)
        seen->sources = seen->destinations = 2 * dimensions;
    else if (topology == MPI_GRAPH &&
             P(Graph_neighbors_count)(comm, seen->rank, &seen->sources) == MPI_SUCCESS)
        seen->destinations = seen->sources;
    else if (topology == MPI_DIST_GRAPH)
        P(Dist_graph_neighbors_count)(comm, &seen->sources, &seen->destinations, &weighted);
}

/* Their ranks in MPI_COMM_WORLD. false: not known. */
static bool translate(MPI_Group group, int size, uint32_t *world_ranks)
{
    int *ranks = malloc((size_t)size * sizeof *ranks);
    bool done = ranks != NULL;

    for (int i = 0; done && i < size; i++)
        ranks[i] = i;
    done = done && P(Group_translate_ranks)(group, size, ranks, world, (int *)world_ranks) == MPI_SUCCESS;
    for (int i = 0; done && i < size; i++)
        if ((int)world_ranks[i] == MPI_UNDEFINED) /* of another job */
            done = false;
    free(ranks);
    return done;
}

/* What its ranks give it for a name: all of them make their communicators in the same order, and see them there first (but for those of
 * MPI_Comm_idup, which are seen when they are used). */
static void identify(hp_seen_comm_t *seen)
{
    group_t key = {.hash = 0x9e3779b97f4a7c15u * (uint64_t)seen->size};

    for (int i = 0; i < seen->size; i++)
        key.hash = (key.hash ^ seen->world_ranks[i] ^ (key.hash >> 31)) * 0x9e3779b97f4a7c15u;
    const uint32_t number = hp_table_add(&groups, &key, 1);
    if (number == HP_TABLE_FULL)
        return;
    group_t *group = hp_table_row(&groups, number);
    const uint64_t id = (key.hash ^ ++group->communicators) * 0xbf58476d1ce4e5b9u;
    seen->id = id ? id : 1;
    seen->sampled_first = group->communicators <= HP_ARRIVALS_COMMS ? HP_ARRIVALS_FIRST : 0;
}

static void find_ranks(hp_seen_comm_t *seen, MPI_Comm comm)
{
    MPI_Group group = MPI_GROUP_NULL;
    const size_t count = (size_t)seen->remote_size;

    if (world_ranks_kept + count > WORLD_RANKS_MAX || !(seen->world_ranks = malloc(count * sizeof(uint32_t))))
        return;
    if ((seen->is_inter ? P(Comm_remote_group)(comm, &group) : P(Comm_group)(comm, &group)) == MPI_SUCCESS &&
        translate(group, seen->remote_size, seen->world_ranks)) {
        world_ranks_kept += count;
        if (!seen->is_inter)
            identify(seen);
    } else {
        free(seen->world_ranks);
        seen->world_ranks = NULL;
    }
    if (group != MPI_GROUP_NULL)
        P(Group_free)(&group);
}

static hp_seen_comm_t *new_comm(void)
{
    hp_seen_comm_t *seen = forgotten;

    if (!seen)
        return calloc(1, sizeof *seen);
    forgotten = seen->next;
    *seen = (hp_seen_comm_t){.known = 0};
    return seen;
}

/* Somebody may still ask what became of it. */
static void drop(hp_seen_comm_t *seen)
{
    if (seen->world_ranks)
        world_ranks_kept -= (uint64_t)seen->remote_size;
    free(seen->world_ranks);
    *seen = (hp_seen_comm_t){.next = forgotten};
    forgotten = seen;
}

static hp_seen_comm_t *describe_comm(hp_handle_t handle)
{
    const MPI_Comm comm = HP_UNHANDLE(MPI_Comm, handle);
    hp_seen_comm_t *seen = comm == MPI_COMM_NULL ? NULL : new_comm();
    int is_inter = 0;

    if (!seen)
        return NULL;
    seen->handle = handle;
    seen->known = ++comms_known;
    if (P(Comm_size)(comm, &seen->size) != MPI_SUCCESS || P(Comm_rank)(comm, &seen->rank) != MPI_SUCCESS ||
        P(Comm_test_inter)(comm, &is_inter) != MPI_SUCCESS) {
        drop(seen);
        return NULL;
    }
    seen->is_inter = is_inter;
    seen->remote_size = seen->size;
    if (is_inter)
        P(Comm_remote_size)(comm, &seen->remote_size);
    seen->row = name_comm(comm, seen->size);
    find_topology(seen, comm);
    find_ranks(seen, comm);
    hp_seen_comm_t **bucket = bucket_of(handle);
    seen->next = *bucket;
    return *bucket = seen;
}

hp_seen_comm_t *hp_handles_comm(hp_handle_t handle)
{
    if (__builtin_expect(last_comm && last_comm->handle == handle, 1))
        return last_comm;
    hp_seen_comm_t *seen = *bucket_of(handle);
    while (seen && seen->handle != handle)
        seen = seen->next;
    if (!seen)
        seen = describe_comm(handle);
    return last_comm = seen;
}

void hp_handles_forget_comm(hp_handle_t handle)
{
    hp_seen_comm_t **place = bucket_of(handle);

    while (*place && (*place)->handle != handle)
        place = &(*place)->next;
    hp_seen_comm_t *seen = *place;
    if (!seen)
        return;
    *place = seen->next;
    last_comm = NULL;
    drop(seen);
}

void hp_handles_rename_comm(hp_handle_t handle)
{
    hp_seen_comm_t *seen = hp_handles_comm(handle);

    if (!seen)
        return;
    seen->known = ++comms_known;
    if (seen->row)
        ((hp_book_comm_t *)hp_table_row(&book->comms, seen->row))->made--;
    seen->row = name_comm(HP_UNHANDLE(MPI_Comm, handle), seen->size);
}

bool hp_handles_init(hp_book_t *into)
{
    book = into;
    hp_table_init(&groups, sizeof(group_t), sizeof(uint64_t), GROUPS_MAX);
#define X(op) enter_op(op, #op);
    OP_TABLE(X)
#undef X
    user_op = (uint16_t)hp_book_name(&book->ops, "user");
    return P(Comm_group)(MPI_COMM_WORLD, &world) == MPI_SUCCESS;
}

void hp_handles_fini(void)
{
    for (unsigned i = 0; i < BUCKETS; i++)
        while (buckets[i])
            hp_handles_forget_comm(buckets[i]->handle);
    while (forgotten) {
        hp_seen_comm_t *seen = forgotten;
        forgotten = seen->next;
        free(seen);
    }
    hp_table_fini(&groups);
    P(Group_free)(&world);
}
