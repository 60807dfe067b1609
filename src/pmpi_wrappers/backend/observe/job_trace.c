#include "pmpi_wrappers/backend/observe/job_trace.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/log.h"
#include "event_engine/trace_json.h"
#include "pmpi_wrappers/backend/observe/rank_messages.h"
#include "pmpi_wrappers/backend/start/job.h"
#include "pmpi_wrappers/backend/glue/machine.h"

/* Tag on MPI_COMM_WORLD; beside that of the handshake. Every message is received before MPI_Init or
 * MPI_Finalize goes on. */
enum { TRACE_TAG = 32012 };
/* Events or calls of one message: 48 KiB of events, 80 KiB of calls. */
enum { EVENTS_PER_MESSAGE = 1024, CALLS_PER_MESSAGE = 256 };

hp_trace_t *hp_job_trace;

static hp_trace_t trace;
static uint64_t origin_ns;

/* On rank 0 only: */
static char *file_path;
static hp_trace_clock_t *clocks; /* of every rank */
static uint64_t *node_ids;       /* of the nodes that were met, room for one a rank */
static uint32_t node_count;

/* What a rank says before its events. */
typedef struct {
    uint64_t node_id;
    uint64_t dropped;
    uint32_t event_count, call_count;
    char node_name[MPI_MAX_PROCESSOR_NAME + 32];
} header_t;

static uint64_t now_ns(void *context)
{
    (void)context;
    return hp_machine_clock_ns();
}

/* ---- start ---- */

static void warn_file(const char *path)
{
    hp_warn("HANPMPI_TRACE=\"%s\": %s; accepted is the name of a file that rank 0 can write. There is no "
            "trace of "
            "this run",
            path, strerror(errno));
}

/* The file as it is now is not kept: what stands there afterwards is of this run. By its full name, since the
 * program may change its folder. */
static bool prepare_file(void)
{
    FILE *file = fopen(hp_job.knobs.trace, "we");
    if (!file) {
        warn_file(hp_job.knobs.trace);
        return false;
    }
    fclose(file);
    file_path = realpath(hp_job.knobs.trace, NULL);
    clocks = calloc((size_t)hp_job.size, sizeof *clocks);
    node_ids = calloc((size_t)hp_job.size, sizeof *node_ids);
    const bool ready = file_path && clocks && node_ids;
    if (!ready)
        warn_file(hp_job.knobs.trace);
    return ready;
}

void hp_job_trace_start(void)
{
    bool go = true;

    if (!hp_job.knobs.trace[0])
        return;
    origin_ns = hp_machine_clock_ns();
    if (hp_job.rank == 0) {
        go = prepare_file();
        for (int rank = 1; rank < hp_job.size; rank++)
            if (!hp_rank_ask_clock(rank, TRACE_TAG, go, &clocks[rank], HP_CLOCK_AT_START))
                return;
    } else if (!hp_rank_answer_clock(0, TRACE_TAG, &go)) {
        return;
    }
    if (!go) {
        hp_job.knobs.trace[0] = '\0';
        return;
    }
    if (hp_trace_init(&trace, (uint32_t)hp_job.knobs.trace_events, now_ns, NULL) == HP_OK)
        hp_job_trace = &trace;
    else
        hp_warn("HANPMPI_TRACE_EVENTS=%lld: no memory for so many; this rank records nothing",
                (long long)hp_job.knobs.trace_events);
}

/* ---- calls ---- */

void hp_job_trace_begin(hp_comm_t *comm, hp_execution_t *execution, const hp_call_t *call,
                        const hp_setting_t *setting)
{
    const hp_comm_state_t *state = comm->owner;
    hp_trace_call_t *out = hp_trace_begin_call(hp_job_trace);

    out->bytes = call->count * call->type.bytes;
    out->segment_bytes = setting->segment_bytes;
    out->comm = state->id;
    out->sequence = comm->sequence;
    out->root = call->root;
    out->rank = (uint32_t)state->rank;
    out->size = (uint32_t)state->size;
    snprintf(out->collective, sizeof out->collective, "%s", hp_collective_name(call->collective));
    snprintf(out->algorithm, sizeof out->algorithm, "%s", execution->algorithm->name);
    out->start_ns = hp_trace_now(hp_job_trace);
    execution->traced = out;
    hp_request_record(execution->request, hp_job_trace, out);
}

void hp_job_trace_end(hp_execution_t *execution)
{
    if (execution->traced)
        execution->traced->end_ns = hp_trace_now(hp_job_trace);
}

/* ---- finish ---- */

static void fill_header(header_t *header, const hp_trace_snapshot_t *snapshot)
{
    char host[MPI_MAX_PROCESSOR_NAME + 1] = "";
    int length = 0;
    hp_locality_t locality;

    hp_job_locality(&locality);
    P(Get_processor_name)(host, &length);
    *header = (header_t){.node_id = locality.id[HP_LEVEL_NODE],
                         .dropped = snapshot->dropped,
                         .event_count = snapshot->event_count,
                         .call_count = snapshot->call_count};
    if (hp_job.knobs.topology[0])
        snprintf(header->node_name, sizeof header->node_name, "node %llu on %s",
                 (unsigned long long)header->node_id, host);
    else
        snprintf(header->node_name, sizeof header->node_name, "%s", host);
}

static uint32_t piece(uint32_t count, uint32_t from, uint32_t most)
{
    return count - from < most ? count - from : most;
}

static bool send_all(const header_t *header, const hp_trace_snapshot_t *snapshot)
{
    bool sent = hp_rank_send(header, sizeof *header, 0, TRACE_TAG);

    for (uint32_t i = 0; sent && i < header->call_count; i += CALLS_PER_MESSAGE)
        sent = hp_rank_send(&snapshot->calls[i],
                            piece(header->call_count, i, CALLS_PER_MESSAGE) * sizeof *snapshot->calls, 0,
                            TRACE_TAG);
    for (uint32_t i = 0; sent && i < header->event_count; i += EVENTS_PER_MESSAGE)
        sent = hp_rank_send(&snapshot->events[i],
                            piece(header->event_count, i, EVENTS_PER_MESSAGE) * sizeof *snapshot->events, 0,
                            TRACE_TAG);
    return sent;
}

/* Nodes are numbered in the order of their first ranks. */
static uint32_t node_of(hp_trace_json_t *json, const header_t *header)
{
    uint32_t node = 0;

    while (node < node_count && node_ids[node] != header->node_id)
        node++;
    if (node == node_count) {
        node_ids[node_count++] = header->node_id;
        hp_trace_json_node(json, node, header->node_name);
    }
    return node;
}

/* Receives what send_all sends, and writes it. */
static bool write_rank(hp_trace_json_t *json, int rank, const header_t *header)
{
    static hp_trace_event_t events[EVENTS_PER_MESSAGE];
    static hp_trace_call_t calls[CALLS_PER_MESSAGE];
    bool received = true;
    uint32_t count;

    for (uint32_t i = 0; received && i < header->call_count; i += count) {
        count = piece(header->call_count, i, CALLS_PER_MESSAGE);
        received = hp_rank_receive(calls, count * sizeof *calls, rank, TRACE_TAG);
        if (received)
            hp_trace_json_calls(json, calls, count);
    }
    for (uint32_t i = 0; received && i < header->event_count; i += count) {
        count = piece(header->event_count, i, EVENTS_PER_MESSAGE);
        received = hp_rank_receive(events, count * sizeof *events, rank, TRACE_TAG);
        if (received)
            hp_trace_json_events(json, events, count);
    }
    return received;
}

static void write_ranks(hp_trace_json_t *json, const header_t *own, const hp_trace_snapshot_t *snapshot,
                        uint64_t *dropped)
{
    header_t header = *own;

    *dropped = own->dropped;
    hp_trace_json_rank(json, node_of(json, own), 0, &clocks[0]);
    hp_trace_json_calls(json, snapshot->calls, snapshot->call_count);
    hp_trace_json_events(json, snapshot->events, snapshot->event_count);
    for (int rank = 1; rank < hp_job.size; rank++) {
        if (!hp_rank_ask_clock(rank, TRACE_TAG, true, &clocks[rank], HP_CLOCK_AT_FINISH) ||
            !hp_rank_receive(&header, sizeof header, rank, TRACE_TAG))
            return;
        hp_trace_clock_settle(&clocks[rank]);
        hp_trace_json_rank(json, node_of(json, &header), (uint32_t)rank, &clocks[rank]);
        if (!write_rank(json, rank, &header))
            return;
        *dropped += header.dropped;
    }
}

static void write_file(const header_t *own, const hp_trace_snapshot_t *snapshot)
{
    static hp_trace_json_t json;
    char dropped_text[24], ranks_text[24];
    const char *about[] = {"writer",   "hanpmpi " HANPMPI_VERSION, "mpi",        HP_ABI_NAME, "ranks",
                           ranks_text, "dropped_events",           dropped_text, NULL};
    uint64_t dropped = 0;

    FILE *file = fopen(file_path, "we");
    if (!file) {
        warn_file(file_path);
        for (int rank = 1; rank < hp_job.size; rank++)
            hp_rank_ask_clock(rank, TRACE_TAG, false, &clocks[rank], HP_CLOCK_AT_FINISH);
        return;
    }
    hp_trace_json_begin(&json, file, origin_ns);
    write_ranks(&json, own, snapshot, &dropped);
    snprintf(ranks_text, sizeof ranks_text, "%d", hp_job.size);
    snprintf(dropped_text, sizeof dropped_text, "%llu", (unsigned long long)dropped);
    const bool written = hp_trace_json_end(&json, about);
    if (fclose(file) != 0 || !written) {
        warn_file(file_path);
        return;
    }
    hp_info("HANPMPI_TRACE: %llu events of %d ranks are in %s", (unsigned long long)json.events, hp_job.size,
            file_path);
    if (dropped)
        hp_warn("HANPMPI_TRACE: %llu older events are not in %s: each rank keeps its newest %lld "
                "(HANPMPI_TRACE_EVENTS)",
                (unsigned long long)dropped, file_path, (long long)hp_job.knobs.trace_events);
}

void hp_job_trace_finish(void)
{
    hp_trace_snapshot_t snapshot = {.events = NULL};
    header_t header;
    bool go;

    if (!hp_job.knobs.trace[0])
        return;
    if (hp_job_trace && hp_trace_snapshot(hp_job_trace, &snapshot) != HP_OK)
        hp_warn("HANPMPI_TRACE: no memory for what this rank recorded: it is left out");
    fill_header(&header, &snapshot);
    if (hp_job.rank == 0)
        write_file(&header, &snapshot);
    else if (hp_rank_answer_clock(0, TRACE_TAG, &go) && go)
        send_all(&header, &snapshot);
    hp_trace_snapshot_fini(&snapshot);
    hp_job_trace = NULL;
    hp_trace_fini(&trace);
    free(file_path);
    free(clocks);
    free(node_ids);
}
