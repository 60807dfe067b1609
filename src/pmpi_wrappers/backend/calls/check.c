#include "pmpi_wrappers/backend/calls/check.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/log.h"
#include "pmpi_wrappers/backend/comms/comm_registry.h"
#include "pmpi_wrappers/backend/comms/self_comm.h"
#include "pmpi_wrappers/backend/glue/datatypes.h"
#include "pmpi_wrappers/backend/glue/signature.h"
#include "pmpi_wrappers/backend/progress/host_wait.h"
#include "pmpi_wrappers/backend/start/job.h"

/* What is compared: a difference in an earlier row is told rather than one in a later row. id, MPI's class of the error, what
 * the message calls it. */
#define FIELD_TABLE(X)                                                                                       \
    X(NONBLOCKING, MPI_ERR_OTHER, "the non-blocking collectives before")                                     \
    X(COLLECTIVE, MPI_ERR_OTHER, "the collective")                                                           \
    X(ROOT, MPI_ERR_ROOT, "the root")                                                                        \
    X(BYTES, MPI_ERR_COUNT, "the size")                                                                      \
    X(SIGNATURE, MPI_ERR_TYPE, "the type signature")                                                         \
    X(OP, MPI_ERR_OP, "the operation")

typedef enum {
#define X(id, class, text) FIELD_##id,
    FIELD_TABLE(X)
#undef X
        FIELDS
} field_t;

typedef struct {
    uint64_t fields[FIELDS];
    int64_t count;
    int32_t world_rank, collective, form, root;
    char type[24], op[16], host[32];
} record_t;

static const char *const form_prefixes[] = {"", "I", ""}, *const form_suffixes[] = {"", "", "_init"};

/* Predefined operations are the same on all ranks; a program's own have handles that may differ. */
static uint64_t op_number(MPI_Op op, char *name, size_t room)
{
    const struct {
        MPI_Op op;
        const char *name;
    } rows[] = {{MPI_OP_NULL, ""},         {MPI_SUM, "MPI_SUM"},   {MPI_PROD, "MPI_PROD"},
                {MPI_MIN, "MPI_MIN"},      {MPI_MAX, "MPI_MAX"},   {MPI_LAND, "MPI_LAND"},
                {MPI_LOR, "MPI_LOR"},      {MPI_LXOR, "MPI_LXOR"}, {MPI_BAND, "MPI_BAND"},
                {MPI_BOR, "MPI_BOR"},      {MPI_BXOR, "MPI_BXOR"}, {MPI_MINLOC, "MPI_MINLOC"},
                {MPI_MAXLOC, "MPI_MAXLOC"}};
    const size_t count = sizeof rows / sizeof *rows;
    size_t i = 0;

    while (i < count && rows[i].op != op)
        i++;
    snprintf(name, room, "%s", i < count ? rows[i].name : "its own");
    return i;
}

static void fill_in(record_t *record, const hp_check_t *check, const hp_comm_state_t *state, uint64_t bytes)
{
    char host[MPI_MAX_PROCESSOR_NAME] = "";
    int length;

    *record = (record_t){.count = check->count,
                         .world_rank = hp_job.rank,
                         .collective = (int32_t)check->collective,
                         .form = (int32_t)check->form,
                         .root = check->root};
    P(Get_processor_name)(host, &length);
    snprintf(record->host, sizeof record->host, "%.31s", host);
    record->fields[FIELD_NONBLOCKING] = state->unchecked;
    record->fields[FIELD_COLLECTIVE] = (uint64_t)check->collective << 2 | check->form;
    record->fields[FIELD_ROOT] = (uint64_t)check->root;
    record->fields[FIELD_BYTES] = bytes;
    record->fields[FIELD_OP] = op_number(check->op, record->op, sizeof record->op);
    if (check->datatype == MPI_DATATYPE_NULL)
        return;
    record->fields[FIELD_SIGNATURE] = hp_signature(check->datatype, (uint64_t)check->count);
    char name[MPI_MAX_OBJECT_NAME];
    if (!hp_datatype_named(check->datatype) ||
        P(Type_get_name)(check->datatype, name, &length) != MPI_SUCCESS)
        snprintf(name, sizeof name, "a derived type");
    snprintf(record->type, sizeof record->type, "%.23s", name);
}

/* ---- comparing ---- */

static bool is_same(const record_t *a, const record_t *b, field_t field)
{
    const uint64_t x = a->fields[field], y = b->fields[field];
    return x == y || (field == FIELD_SIGNATURE && (!x || !y));
}

static int count_like(const record_t *records, int size, const record_t *record, field_t field)
{
    int count = 0;
    for (int i = 0; i < size; i++)
        count += is_same(&records[i], record, field);
    return count;
}

/* FIELDS: nothing differs. *usual: what most ranks do; *odd: another one. The same on all ranks. */
static field_t compare(const record_t *records, int size, const record_t **usual, const record_t **odd)
{
    for (field_t field = 0; field < FIELDS; field++) {
        const record_t *first = NULL;
        for (int i = 0; i < size && !first; i++)
            if (!is_same(&records[i], &records[0], field))
                first = &records[i];
        if (!first)
            continue;
        const bool is_first_odd =
            count_like(records, size, first, field) > count_like(records, size, records, field);
        *usual = is_first_odd ? first : records;
        *odd = is_first_odd ? records : first;
        return field;
    }
    return FIELDS;
}

static void describe(const record_t *record, char *text, size_t room)
{
    const char *name = hp_collective_name((hp_collective_t)record->collective),
               *prefix = form_prefixes[record->form];
    int used = snprintf(text, room, "world rank %d on %s calls MPI_%s%c%s%s", record->world_rank,
                        record->host, prefix, *prefix ? name[0] : toupper((unsigned char)name[0]), name + 1,
                        form_suffixes[record->form]);

    if (*record->type)
        used +=
            snprintf(text + used, room - (size_t)used, " of %llu bytes (%lld of %s)",
                     (unsigned long long)record->fields[FIELD_BYTES], (long long)record->count, record->type);
    if (*record->op)
        used += snprintf(text + used, room - (size_t)used, ", %s", record->op);
    if (hp_pattern_is(hp_collective_pattern((hp_collective_t)record->collective), HP_PATTERN_ROOTED))
        snprintf(text + used, room - (size_t)used, ", root %d", record->root);
}

static void report(const record_t *records, int size, field_t field, const record_t *usual,
                   const record_t *odd, const hp_check_t *check, uint64_t number)
{
    static const char *const texts[] = {
#define X(id, class, text) text,
        FIELD_TABLE(X)
#undef X
    };
    char name[MPI_MAX_OBJECT_NAME] = "", odd_text[200], usual_text[200];
    int length;

    P(Comm_get_name)(check->comm, name, &length);
    describe(odd, odd_text, sizeof odd_text);
    describe(usual, usual_text, sizeof usual_text);
    hp_error("HANPMPI_CHECK: call %llu on the communicator %s of %d ranks: %s is not the same everywhere: "
             "%s; %s, as do "
             "%d others",
             (unsigned long long)number, *name ? name : "without a name", size, texts[field], odd_text,
             usual_text, count_like(records, size, usual, field) - 1);
}

static int error_class(field_t field)
{
    const int classes[] = {
#define X(id, class, text) class,
        FIELD_TABLE(X)
#undef X
    };
    return classes[field];
}

/* ---- the exchange ---- */

/* Waits for the other ranks, while ours move on. */
static int exchange(const hp_check_t *check, const hp_comm_state_t *state, uint64_t bytes)
{
    const record_t *usual, *odd;
    record_t mine;
    MPI_Request request = MPI_REQUEST_NULL;
    record_t *all = malloc((size_t)state->size * sizeof *all);

    if (!all) {
        P(Comm_call_errhandler)(check->comm, MPI_ERR_NO_MEM);
        return MPI_ERR_NO_MEM;
    }
    fill_in(&mine, check, state, bytes);
    int code = P(Iallgather)(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, check->comm, &request);
    if (code == MPI_SUCCESS)
        code = hp_host_wait(&request, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS) {
        const field_t field = compare(all, state->size, &usual, &odd);
        if (field != FIELDS && state->rank == 0)
            report(all, state->size, field, usual, odd, check, state->checked_calls);
        if (field != FIELDS)
            P(Comm_call_errhandler)(check->comm, code = error_class(field));
    }
    free(all);
    return code;
}

/* A non-blocking one, for the next comparison. Not its signature, which may be unknown on one rank alone. */
static void remember(const hp_check_t *check, hp_comm_state_t *state, uint64_t bytes)
{
    record_t mine;

    fill_in(&mine, check, state, bytes);
    mine.fields[FIELD_SIGNATURE] = 0;
    mine.fields[FIELD_NONBLOCKING] = 0;
    for (int field = 0; field < FIELDS; field++)
        state->unchecked = (state->unchecked ^ mine.fields[field]) * 0x100000001b3u + 1;
}

static bool has_result(const hp_check_t *check, const hp_comm_state_t *state)
{
    return check->collective != HP_REDUCE || check->root == state->rank;
}

/* Such as the datatype needs. */
static bool has_memory(const hp_check_t *check, const hp_comm_state_t *state)
{
    const hp_named_type_t *named = hp_datatype_named(check->datatype);

    if (named && check->count == 0)
        return true;
    return (check->collective == HP_BCAST || hp_self_is_usable(named, check->send, check->datatype)) &&
           (!has_result(check, state) || hp_self_is_usable(named, check->recv, check->datatype));
}

/* false: the host MPI reports it, on this rank. Of blocks the caller knows that. */
static bool is_valid(const hp_check_t *check, const hp_comm_state_t *state, uint64_t *bytes)
{
    MPI_Count type_bytes = 0;

    *bytes = check->block_bytes;
    if (check->collective == HP_BARRIER)
        return true;
    if (hp_collective_is(check->collective, HP_OF_BLOCKS))
        return true;
    return check->count >= 0 && check->root >= 0 && check->root < state->size &&
           check->datatype != MPI_DATATYPE_NULL &&
           P(Type_size_x)(check->datatype, &type_bytes) == MPI_SUCCESS && type_bytes >= 0 &&
           !__builtin_mul_overflow((uint64_t)check->count, (uint64_t)type_bytes, bytes) &&
           (check->collective == HP_BCAST ||
            (check->op != MPI_OP_NULL &&
             hp_self_reduces_there(check->send, check->recv, has_result(check, state)))) &&
           has_memory(check, state);
}

int hp_check(const hp_check_t *check)
{
    hp_comm_state_t *state = hp_job.active ? hp_comm_state_find(check->comm) : NULL;
    bool within;
    uint64_t bytes;

    if (!state || state->always == HP_OUTCOME_FAILED || state->always == HP_OUTCOME_INTERCOMM ||
        state->always == HP_OUTCOME_ONE_RANK || state->always == HP_OUTCOME_INACTIVE ||
        !is_valid(check, state, &bytes))
        return MPI_SUCCESS;
    int code = hp_comm_state_is_within_world(state, check->comm, &within);
    if (code != MPI_SUCCESS || !within)
        return code;
    state->checked_calls++;
    if (check->form == HP_CHECK_NONBLOCKING) {
        remember(check, state, bytes);
        return MPI_SUCCESS;
    }
    code = exchange(check, state, bytes);
    state->unchecked = 0;
    return code;
}
