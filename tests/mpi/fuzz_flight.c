#include "fuzz.h"

#include "host_bugs.h"

/* The family that completes requests: who waits first, then who only looks. */
typedef enum {
    WAIT,
    WAITALL,
    WAITANY,
    WAITSOME,
    TEST,
    TESTALL,
    TESTANY,
    TESTSOME,
    GET_STATUS,
    METHODS
} method_t;
static const char *const names[METHODS] = {"Wait",    "Waitall", "Waitany",  "Waitsome",          "Test",
                                           "Testall", "Testany", "Testsome", "Request_get_status"};

/* An array for MPI_Waitall and its like: some pending requests in any order, with null ones and inactive ones
 * between them. */
enum { MOST_PICKED = 2 * HP_FUZZ_MOST_IN_FLIGHT };
typedef struct {
    MPI_Request request[MOST_PICKED], before[MOST_PICKED];
    hp_fuzz_slot_t *slot[MOST_PICKED]; /* NULL: nothing that can complete */
    bool reported[MOST_PICKED];
    int count, active;
} picked_t;

static hp_fuzz_slot_t *add(hp_fuzz_flight_t *flight)
{
    CHECK(flight->count < HP_FUZZ_MOST_IN_FLIGHT, "more than %d requests in flight", HP_FUZZ_MOST_IN_FLIGHT);
    hp_fuzz_slot_t *slot = &flight->slot[flight->count++];
    *slot = (hp_fuzz_slot_t){.request = MPI_REQUEST_NULL, .peer = -1, .pending = true};
    return slot;
}

void hp_fuzz_flight_add_run(hp_fuzz_flight_t *flight, hp_fuzz_run_t *run)
{
    hp_fuzz_slot_t *slot = add(flight);
    slot->run = run;
    slot->request = *hp_fuzz_run_request(run);
}

static hp_fuzz_slot_t *add_message(hp_fuzz_flight_t *flight, int tag, int bytes, uint64_t salt)
{
    hp_fuzz_slot_t *slot = add(flight);
    slot->tag = tag;
    slot->bytes = bytes;
    slot->salt = salt;
    slot->message = calloc(1, (size_t)bytes + 1);
    CHECK(slot->message, "out of memory");
    return slot;
}

void hp_fuzz_flight_send(hp_fuzz_flight_t *flight, MPI_Comm comm, int to, int tag, int bytes, uint64_t salt)
{
    hp_fuzz_slot_t *slot = add_message(flight, tag, bytes, salt);
    hp_fuzz_message_fill(slot->message, bytes, salt);
    CHECK_MPI(MPI_Isend(slot->message, bytes, MPI_BYTE, to, tag, comm, &slot->request));
}

void hp_fuzz_flight_receive(hp_fuzz_flight_t *flight, MPI_Comm comm, int from, int tag, int bytes,
                            uint64_t salt)
{
    hp_fuzz_slot_t *slot = add_message(flight, tag, bytes, salt);
    slot->peer = from;
    CHECK_MPI(MPI_Irecv(slot->message, bytes, MPI_BYTE, from, tag, comm, &slot->request));
}

void hp_fuzz_message_fill(unsigned char *message, int bytes, uint64_t salt)
{
    for (int i = 0; i < bytes; i++)
        message[i] = (unsigned char)(salt >> i % 57 ^ (unsigned)i);
}

void hp_fuzz_message_check(const unsigned char *message, int bytes, uint64_t salt)
{
    for (int i = 0; i < bytes; i++)
        CHECK_EQUAL(message[i], (unsigned char)(salt >> i % 57 ^ (unsigned)i), "a byte of a message");
}

int hp_fuzz_flight_pending(const hp_fuzz_flight_t *flight)
{
    int pending = 0;
    for (int i = 0; i < flight->count; i++)
        pending += flight->slot[i].pending;
    return pending;
}

void hp_fuzz_flight_clear(hp_fuzz_flight_t *flight)
{
    CHECK_EQUAL(hp_fuzz_flight_pending(flight), 0, "requests in flight at the end");
    for (int i = 0; i < flight->count; i++)
        free(flight->slot[i].message);
    flight->count = 0;
}

static void pick(hp_fuzz_flight_t *flight, hp_random_t *own, picked_t *picked)
{
    uint32_t share = 1 + hp_random_below(own, 4), fillers = hp_random_below(own, 3);

    *picked = (picked_t){.count = 0};
    for (int i = 0; i < flight->count; i++) {
        hp_fuzz_slot_t *slot = &flight->slot[i];
        bool takes = hp_random_below(own, 4) < share;
        if (!slot->pending && (hp_random_below(own, 6) >= fillers ||
                               (slot->request != MPI_REQUEST_NULL && hp_host_breaks_persistent())))
            continue;
        if (slot->pending && !takes)
            continue;
        picked->slot[picked->count] = slot->pending ? slot : NULL;
        picked->active += slot->pending;
        picked->request[picked->count++] = slot->request; /* completed: null, or inactive */
    }
    for (int i = 0; i < flight->count && !picked->active; i++) {
        hp_fuzz_slot_t *slot = &flight->slot[i];
        if (!slot->pending)
            continue;
        picked->slot[picked->count] = slot;
        picked->request[picked->count++] = slot->request;
        picked->active++;
    }
    for (int i = picked->count - 1; i > 0; i--) {
        uint32_t other = hp_random_below(own, (uint32_t)i + 1);
        hp_fuzz_slot_t *slot = picked->slot[i];
        MPI_Request request = picked->request[i];
        picked->slot[i] = picked->slot[other];
        picked->request[i] = picked->request[other];
        picked->slot[other] = slot;
        picked->request[other] = request;
    }
    memcpy(picked->before, picked->request, sizeof picked->before);
}

static void complete(picked_t *picked, int i, const MPI_Status *status)
{
    hp_fuzz_slot_t *slot = picked->slot[i];
    int cancelled, count;

    CHECK(slot, "entry %d, which is null or inactive, was reported", i);
    CHECK(!picked->reported[i], "entry %d was reported twice", i);
    picked->reported[i] = true;
    slot->pending = false;
    slot->request = picked->request[i];
    if (status) {
        CHECK_MPI(MPI_Test_cancelled(status, &cancelled));
        CHECK(!cancelled, "a completed request was cancelled");
    }
    if (slot->run) {
        *hp_fuzz_run_request(slot->run) = slot->request;
        hp_fuzz_run_complete(slot->run);
        return;
    }
    CHECK(slot->request == MPI_REQUEST_NULL, "a request is not MPI_REQUEST_NULL after its completion");
    if (slot->peer < 0)
        return;
    hp_fuzz_message_check(slot->message, slot->bytes, slot->salt);
    if (!status)
        return;
    CHECK_EQUAL(status->MPI_SOURCE, slot->peer, "the source of a message");
    CHECK_EQUAL(status->MPI_TAG, slot->tag, "the tag of a message");
    CHECK_MPI(MPI_Get_count(status, MPI_BYTE, &count));
    CHECK_EQUAL(count, slot->bytes, "the bytes of a message");
}

/* What was not reported is as it was. */
static void check_others(const picked_t *picked)
{
    for (int i = 0; i < picked->count; i++)
        if (!picked->reported[i])
            CHECK(picked->request[i] == picked->before[i], "entry %d changed and was not reported", i);
}

/* One request; returns whether it was completed. */
static bool call_one(method_t method, picked_t *picked, bool with_status)
{
    MPI_Status one, *status = with_status ? &one : MPI_STATUS_IGNORE;
    int at = 0, flag = 1;

    while (!picked->slot[at])
        at++;
    MPI_Request *request = &picked->request[at];
    if (method == WAIT) {
        CHECK_MPI(MPI_Wait(request, status));
    } else if (method == TEST) {
        CHECK_MPI(MPI_Test(request, &flag, status));
    } else {
        CHECK_MPI(MPI_Request_get_status(*request, &flag, status));
        CHECK(*request == picked->before[at], "MPI_Request_get_status changed the request");
        if (flag)
            CHECK_MPI(MPI_Wait(request, status));
    }
    if (flag)
        complete(picked, at, with_status ? status : NULL);
    return flag;
}

static bool call_all(method_t method, picked_t *picked, bool with_status)
{
    static MPI_Status all[MOST_PICKED];
    MPI_Status *statuses = with_status ? all : MPI_STATUSES_IGNORE;
    int flag = 1;

    if (method == WAITALL)
        CHECK_MPI(MPI_Waitall(picked->count, picked->request, statuses));
    else
        CHECK_MPI(MPI_Testall(picked->count, picked->request, &flag, statuses));
    for (int i = 0; i < picked->count && flag; i++)
        if (picked->slot[i])
            complete(picked, i, with_status ? &all[i] : NULL);
    return flag;
}

static bool call_any(method_t method, picked_t *picked, bool with_status)
{
    MPI_Status one, *status = with_status ? &one : MPI_STATUS_IGNORE;
    int index = -1, flag = 1;

    if (method == WAITANY)
        CHECK_MPI(MPI_Waitany(picked->count, picked->request, &index, status));
    else
        CHECK_MPI(MPI_Testany(picked->count, picked->request, &index, &flag, status));
    if (!flag)
        return false;
    CHECK(index >= 0 && index < picked->count, "index %d of %d requests", index, picked->count);
    complete(picked, index, with_status ? status : NULL);
    return true;
}

static bool call_some(method_t method, picked_t *picked, bool with_status)
{
    static MPI_Status all[MOST_PICKED];
    MPI_Status *statuses = with_status ? all : MPI_STATUSES_IGNORE;
    int indices[MOST_PICKED], done = -1;

    if (method == WAITSOME)
        CHECK_MPI(MPI_Waitsome(picked->count, picked->request, &done, indices, statuses));
    else
        CHECK_MPI(MPI_Testsome(picked->count, picked->request, &done, indices, statuses));
    CHECK(done >= (method == WAITSOME) && done <= picked->active, "%d of %d active requests completed", done,
          picked->active);
    for (int i = 0; i < done; i++) {
        CHECK(indices[i] >= 0 && indices[i] < picked->count, "index %d of %d requests", indices[i],
              picked->count);
        complete(picked, indices[i], with_status ? &all[i] : NULL);
    }
    return done > 0;
}

static bool holds_persistent(const picked_t *picked)
{
    for (int i = 0; i < picked->count; i++)
        if (picked->slot[i] && picked->slot[i]->run && hp_fuzz_run_is_persistent(picked->slot[i]->run))
            return true;
    return false;
}

void hp_fuzz_flight_poke(hp_fuzz_flight_t *flight, hp_random_t *own, bool to_completion)
{
    method_t method = (method_t)(to_completion ? hp_random_below(own, METHODS)
                                               : TEST + hp_random_below(own, METHODS - TEST));
    bool with_status = hp_random_below(own, 2), done;
    picked_t picked;

    if (hp_fuzz_flight_pending(flight) == 0)
        return;
    pick(flight, own, &picked);
    if (method == TESTALL && hp_host_breaks_persistent() && holds_persistent(&picked))
        method = TESTANY;
    flight->method = names[method];
    do {
        switch (method) {
        case WAITALL:
        case TESTALL:
            done = call_all(method, &picked, with_status);
            break;
        case WAITANY:
        case TESTANY:
            done = call_any(method, &picked, with_status);
            break;
        case WAITSOME:
        case TESTSOME:
            done = call_some(method, &picked, with_status);
            break;
        default:
            done = call_one(method, &picked, with_status);
            break;
        }
        check_others(&picked);
    } while (to_completion && !done);
    flight->method = NULL;
}
