#include "event_engine/trace_json.h"

#include <inttypes.h>
#include <string.h>
#include "event_engine/label.h"

enum { THREADS_PER_RANK = HP_TRACE_CLASS_COUNT * HP_TRACE_ROWS };

void hp_trace_clock_settle(hp_trace_clock_t *clock)
{
    const int64_t apart = clock->ahead_ns[1] - clock->ahead_ns[0];
    const unsigned better = clock->error_ns[1] < clock->error_ns[0];

    if ((uint64_t)(apart < 0 ? -apart : apart) <= clock->error_ns[0] + clock->error_ns[1])
        clock->ahead_ns[!better] = clock->ahead_ns[better];
}

uint64_t hp_trace_clock_correct(const hp_trace_clock_t *clock, uint64_t ns)
{
    double ahead = (double)clock->ahead_ns[0];

    if (clock->at_ns[1] > clock->at_ns[0])
        ahead += (double)(clock->ahead_ns[1] - clock->ahead_ns[0]) *
                 ((double)(int64_t)(ns - clock->at_ns[0]) / (double)(clock->at_ns[1] - clock->at_ns[0]));
    return ns - (uint64_t)(int64_t)ahead;
}

/* ---- words of JSON ---- */

static void write_text(FILE *out, const char *text)
{
    putc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c < 0x20 || *c >= 0x7f) /* names of hosts and the like: no file need be UTF-8 */
            fprintf(out, "\\u%04x", *c);
        else
            putc(*c, out);
    }
    putc('"', out);
}

/* Microseconds, three decimals, without a floating-point number on the way. */
static void write_us(FILE *out, int64_t ns)
{
    const uint64_t size = (uint64_t)(ns < 0 ? -ns : ns);
    fprintf(out, "%s%" PRIu64 ".%03" PRIu64, ns < 0 ? "-" : "", size / 1000, size % 1000);
}

static void next(hp_trace_json_t *json)
{
    fputs(json->some ? ",\n" : "\n", json->out);
    json->some = true;
}

static void write_metadata(hp_trace_json_t *json, const char *what, uint32_t pid, int64_t tid,
                           const char *name)
{
    next(json);
    fprintf(json->out, "{\"ph\":\"M\",\"name\":\"%s_name\",\"pid\":%u,", what, pid);
    if (tid >= 0)
        fprintf(json->out, "\"tid\":%" PRId64 ",", tid);
    fputs("\"args\":{\"name\":", json->out);
    write_text(json->out, name);
    fputs("}}", json->out);
}

static void write_sort_index(hp_trace_json_t *json, const char *what, uint32_t pid, int64_t tid,
                             int64_t index)
{
    next(json);
    fprintf(json->out, "{\"ph\":\"M\",\"name\":\"%s_sort_index\",\"pid\":%u,", what, pid);
    if (tid >= 0)
        fprintf(json->out, "\"tid\":%" PRId64 ",", tid);
    fprintf(json->out, "\"args\":{\"sort_index\":%" PRId64 "}}", index);
}

/* ---- where an event is drawn ---- */

static bool is_primitive(unsigned row)
{
    return row / HP_TRACE_ROWS > HP_TRACE_CLASS_TASK_LAST;
}

static uint32_t pid_of(const hp_trace_json_t *json, unsigned row)
{
    return 2 * json->node + is_primitive(row);
}

static int64_t tid_of(const hp_trace_json_t *json, unsigned row)
{
    return (int64_t)json->rank * THREADS_PER_RANK + row;
}

static const char *class_name(unsigned class)
{
    static const char *const names[] = {
#define X(id, name) [HP_TRACE_CLASS_##id - HP_TRACE_CLASS_SEND] = name,
        HP_TRACE_CLASS_TABLE(X)
#undef X
    };
    if (class == HP_TRACE_CLASS_CALL)
        return "";
    return class <= HP_TRACE_CLASS_TASK_LAST ? hp_label_name((hp_label_t)(class - HP_TRACE_CLASS_TASK))
                                             : names[class - HP_TRACE_CLASS_SEND];
}

/* The labels in the order in which a segment meets them; what belongs to none comes last. */
static int64_t sort_index(const hp_trace_json_t *json, unsigned row)
{
    const unsigned other = HP_TRACE_CLASS_TASK + HP_LABEL_OTHER;
    if (row / HP_TRACE_ROWS == other)
        row += (HP_TRACE_CLASS_TASK_LAST - other) * HP_TRACE_ROWS;
    return tid_of(json, row);
}

static void name_row(hp_trace_json_t *json, unsigned row)
{
    char name[64], number[16] = "";

    if (json->named[row])
        return;
    json->named[row] = true;
    const char *class = class_name(row / HP_TRACE_ROWS);
    if (row % HP_TRACE_ROWS)
        snprintf(number, sizeof number, " (%u)", row % HP_TRACE_ROWS + 1);
    snprintf(name, sizeof name, "rank %u%s%s%s", json->rank, *class ? " " : "", class, number);
    write_metadata(json, "thread", pid_of(json, row), tid_of(json, row), name);
    write_sort_index(json, "thread", pid_of(json, row), tid_of(json, row), sort_index(json, row));
}

/* Up to the bracket of the arguments. */
static void write_bar(hp_trace_json_t *json, const char *category, unsigned row, uint64_t start_ns,
                      uint64_t end_ns)
{
    const uint64_t start = hp_trace_clock_correct(&json->clock, start_ns);
    const uint64_t end = hp_trace_clock_correct(&json->clock, end_ns);

    fprintf(json->out, "\"ph\":\"X\",\"cat\":\"%s\",\"pid\":%u,\"tid\":%" PRId64 ",\"ts\":", category,
            pid_of(json, row), tid_of(json, row));
    write_us(json->out, (int64_t)(start - json->origin_ns));
    fputs(",\"dur\":", json->out);
    write_us(json->out, (int64_t)(end - start));
    fputs(",\"args\":{", json->out);
}

/* ---- the file ---- */

void hp_trace_json_begin(hp_trace_json_t *json, FILE *out, uint64_t origin_ns)
{
    *json = (hp_trace_json_t){.out = out, .origin_ns = origin_ns};
    fputs("{\"traceEvents\":[", out);
}

void hp_trace_json_node(hp_trace_json_t *json, uint32_t node, const char *name)
{
    enum { PRIMITIVES_FROM = 1 << 20 };
    char primitives[512];

    snprintf(primitives, sizeof primitives, "%s: primitives", name);
    write_metadata(json, "process", 2 * node, -1, name);
    write_sort_index(json, "process", 2 * node, -1, node);
    write_metadata(json, "process", 2 * node + 1, -1, primitives);
    write_sort_index(json, "process", 2 * node + 1, -1, PRIMITIVES_FROM + (int64_t)node);
}

void hp_trace_json_rank(hp_trace_json_t *json, uint32_t node, uint32_t rank, const hp_trace_clock_t *clock)
{
    json->node = node;
    json->rank = rank;
    json->clock = *clock;
    memset(json->named, 0, sizeof json->named);
    name_row(json, 0);
}

void hp_trace_json_calls(hp_trace_json_t *json, const hp_trace_call_t *calls, uint32_t count)
{
    FILE *out = json->out;

    for (const hp_trace_call_t *call = calls; call < calls + count; call++) {
        next(json);
        fputs("{\"name\":", out);
        write_text(out, call->collective);
        putc(',', out);
        write_bar(json, "collective", 0, call->start_ns, call->end_ns);
        fprintf(out,
                "\"call\":%u,\"comm\":\"%" PRIx64 "\",\"sequence\":%u,\"size\":%u,\"rank\":%u,\"root\":%u,"
                "\"bytes\":%" PRIu64 ",\"segments\":%" PRIu64 ",\"segment_bytes\":%" PRIu64 ",\"algorithm\":",
                call->number, call->comm, call->sequence, call->size, call->rank, call->root, call->bytes,
                call->segments, call->segment_bytes);
        write_text(out, call->algorithm);
        if (call->modules[0]) {
            fputs(",\"modules\":", out);
            write_text(out, call->modules);
        }
        fputs("}}", out);
    }
}

void hp_trace_json_events(hp_trace_json_t *json, const hp_trace_event_t *events, uint32_t count)
{
    FILE *out = json->out;

    for (const hp_trace_event_t *event = events; event < events + count; event++) {
        const char *label = hp_label_name((hp_label_t)event->label);
        const bool task = event->kind == HP_TRACE_TASK;

        name_row(json, event->row);
        next(json);
        fprintf(out, "{\"name\":\"%s %u\",", task ? label : hp_trace_kind_name((hp_trace_kind_t)event->kind),
                event->segment);
        write_bar(json, task ? "task" : "primitive", event->row, event->turn_ns, event->end_ns);
        fprintf(out, "\"call\":%u,\"segment\":%u,\"label\":\"%s\",\"bytes\":%" PRIu64, event->call,
                event->segment, label, event->bytes);
        if (event->peer >= 0)
            fprintf(out, ",\"peer\":%d", event->peer);
        if (!task && event->turn_ns > event->start_ns) {
            fputs(",\"posted_us\":", out);
            write_us(out, (int64_t)(event->turn_ns - event->start_ns));
        }
        fputs("}}", out);
    }
    json->events += count;
}

bool hp_trace_json_end(hp_trace_json_t *json, const char *const *about)
{
    FILE *out = json->out;

    fputs("\n],\n\"displayTimeUnit\":\"ns\",\n\"otherData\":{", out);
    for (unsigned i = 0; about[i]; i += 2) {
        fputs(i ? "," : "", out);
        write_text(out, about[i]);
        putc(':', out);
        write_text(out, about[i + 1]);
    }
    fputs("}}\n", out);
    return fflush(out) == 0 && !ferror(out);
}
