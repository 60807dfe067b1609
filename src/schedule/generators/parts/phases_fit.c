#include <stdlib.h>
#include <string.h>
#include "schedule/generators/parts/phases.h"

/* ---- a table of what each link carries in each phase ---- */

typedef struct {
    uint16_t *used;      /* [phase] messages */
    uint64_t *full;      /* bit of a phase: there is no room */
    uint32_t phase_room; /* phases that there is memory for, a multiple of 64; beyond them all is free */
} link_t;

typedef struct {
    const hp_paths_t *paths;
    link_t *links;
    uint32_t *path, path_count; /* of the message that is placed */
    uint32_t phases;            /* that are in use */
} table_t;

static bool table_init(table_t *table, const hp_paths_t *paths)
{
    *table = (table_t){.paths = paths,
                       .links = calloc(paths->links, sizeof *table->links),
                       .path = malloc(paths->path_most * sizeof *table->path)};
    return table->links && table->path;
}

static void table_fini(table_t *table)
{
    for (uint32_t l = 0; table->links && l < table->paths->links; l++) {
        free(table->links[l].used);
        free(table->links[l].full);
    }
    free(table->links);
    free(table->path);
}

/* The links inside machines are not crossed. */
static bool is_inside(const table_t *table, uint32_t link)
{
    const uint32_t cables = 2 * table->paths->problem->placement->network->node_count;
    return link >= cables && link < table->paths->links - 2 * table->paths->count;
}

/* The first phase, from `from` on, with room on all links of the path. */
static uint32_t first_free(const table_t *table, uint32_t from)
{
    for (uint32_t word = from / 64;; word++) {
        uint64_t full = word == from / 64 ? (UINT64_C(1) << from % 64) - 1 : 0;
        for (uint32_t i = 0; i < table->path_count; i++) {
            const link_t *link = &table->links[table->path[i]];
            if (!is_inside(table, table->path[i]) && 64 * word < link->phase_room)
                full |= link->full[word];
        }
        if (~full)
            return 64 * word + (uint32_t)__builtin_ctzll(~full);
    }
}

static bool grow(link_t *link, uint32_t phase)
{
    const uint32_t room = (phase / 64 + 1) * 128;

    if (phase < link->phase_room)
        return true;
    uint16_t *used = realloc(link->used, room * sizeof *used);
    link->used = used ? used : link->used;
    uint64_t *full = used ? realloc(link->full, room / 64 * sizeof *full) : NULL;
    link->full = full ? full : link->full;
    if (!full)
        return false;
    memset(used + link->phase_room, 0, (room - link->phase_room) * sizeof *used);
    memset(full + link->phase_room / 64, 0, (room - link->phase_room) / 64 * sizeof *full);
    link->phase_room = room;
    return true;
}

/* The path takes its links in the phase. */
static bool take(table_t *table, uint32_t phase)
{
    for (uint32_t i = 0; i < table->path_count; i++) {
        const uint32_t l = table->path[i];
        link_t *link = &table->links[l];
        if (is_inside(table, l))
            continue;
        if (!grow(link, phase))
            return false;
        if (++link->used[phase] >= table->paths->capacity[l])
            link->full[phase / 64] |= UINT64_C(1) << phase % 64;
    }
    table->phases = phase >= table->phases ? phase + 1 : table->phases;
    return true;
}

static void find_path(table_t *table, uint32_t from, uint32_t to)
{
    table->path_count = hp_paths_links(table->paths, from, to, table->path);
}

/* ---- messages, placed one by one ---- */

typedef struct {
    uint64_t key; /* the larger the sooner; then the smaller shift, then the smaller from */
    uint32_t from, to, shift;
} message_t;

static int by_key(const void *a, const void *b)
{
    const message_t *x = a, *y = b;

    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    if (x->shift != y->shift)
        return x->shift < y->shift ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

typedef uint64_t (*key_fn_t)(const hp_paths_t *paths, uint32_t from, uint32_t to);

/* All messages but those from a position to itself, sorted; NULL: no memory. */
static message_t *list_messages(const hp_paths_t *paths, key_fn_t key)
{
    const uint32_t count = paths->count;
    message_t *messages = malloc((size_t)count * count * sizeof *messages), *next = messages;

    for (uint32_t from = 0; from < count && messages; from++)
        for (uint32_t to = 0; to < count; to++)
            if (from != to)
                *next++ = (message_t){key(paths, from, to), from, to, (to + count - from) % count};
    if (messages)
        qsort(messages, (size_t)count * (count - 1), sizeof *messages, by_key);
    return messages;
}

static uint64_t alike(const hp_paths_t *paths, uint32_t from, uint32_t to)
{
    (void)paths;
    (void)from;
    (void)to;
    return 0;
}

static uint64_t bytes_of(const hp_paths_t *paths, uint32_t from, uint32_t to)
{
    const uint64_t *sizes = paths->problem->sizes;
    return sizes ? sizes[(size_t)from * paths->count + to] : 1;
}

/* Messages without bytes come last, each position's one behind the other: nothing has to be free for them. */
static void place_empty(hp_phases_t *phases, const hp_paths_t *paths)
{
    uint32_t most = 0;

    for (uint32_t from = 0; from < paths->count; from++)
        for (uint32_t to = 0; to < paths->count; to++) {
            const uint32_t shift = (to + paths->count - from) % paths->count;
            if (from == to || bytes_of(paths, from, to) > 0)
                continue;
            phases->phase[(size_t)from * paths->count + to] = phases->phases + shift - 1;
            most = shift > most ? shift : most;
        }
    phases->phases += most;
}

static hp_status_t place(hp_phases_t *phases, const hp_paths_t *paths, key_fn_t key)
{
    const size_t messages = (size_t)paths->count * (paths->count - 1);
    message_t *list = list_messages(paths, key);
    table_t table;
    bool placed = table_init(&table, paths) && list;

    for (size_t i = 0; i < messages && placed; i++) {
        const message_t *message = &list[i];
        if (bytes_of(paths, message->from, message->to) == 0)
            continue;
        find_path(&table, message->from, message->to);
        const uint32_t phase = first_free(&table, 0);
        phases->phase[(size_t)message->from * paths->count + message->to] = phase;
        placed = take(&table, phase);
    }
    phases->phases = table.phases;
    table_fini(&table);
    free(list);
    return placed ? HP_OK : HP_ERR_NO_MEM;
}

hp_status_t hp_phases_greedy(hp_phases_t *phases, const hp_paths_t *paths)
{
    const hp_status_t status = place(phases, paths, bytes_of);

    if (status == HP_OK)
        place_empty(phases, paths);
    return status;
}

/* ---- packed: phase after phase ---- */

/* How the messages are sorted before a phase is filled: first those whose links, the busiest of them or all together,
 * have most left. */
typedef enum { BY_BUSIEST, BY_ALL, WAYS } way_t;

typedef struct {
    table_t table;
    uint32_t *left;     /* [link] messages that are not placed yet */
    message_t *waiting; /* those */
    uint32_t waiting_count;
} packing_t;

static uint64_t urgency(const packing_t *packing, way_t way)
{
    const hp_paths_t *paths = packing->table.paths;
    uint64_t most = 0, sum = 0;

    for (uint32_t i = 0; i < packing->table.path_count; i++) {
        const uint32_t link = packing->table.path[i];
        if (is_inside(&packing->table, link))
            continue;
        const uint64_t phases = ((uint64_t)packing->left[link] << 16) / paths->capacity[link];
        most = phases > most ? phases : most;
        sum += phases;
    }
    return way == BY_BUSIEST ? most : sum;
}

static bool fill(packing_t *packing, hp_phases_t *phases, uint32_t phase, way_t way)
{
    table_t *table = &packing->table;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < packing->waiting_count; i++) {
        message_t *message = &packing->waiting[i];
        find_path(table, message->from, message->to);
        message->key = urgency(packing, way);
        message->shift =
            (message->to + 2 * phases->count - message->from - phase % phases->count) % phases->count;
    }
    qsort(packing->waiting, packing->waiting_count, sizeof *packing->waiting, by_key);
    for (uint32_t i = 0; i < packing->waiting_count; i++) {
        const message_t message = packing->waiting[i];
        find_path(table, message.from, message.to);
        if (first_free(table, phase) != phase) {
            packing->waiting[kept++] = message;
            continue;
        }
        phases->phase[(size_t)message.from * phases->count + message.to] = phase;
        if (!take(table, phase))
            return false;
        for (uint32_t k = 0; k < table->path_count; k++)
            packing->left[table->path[k]]--;
    }
    packing->waiting_count = kept;
    return true;
}

static hp_status_t pack(hp_phases_t *phases, const hp_paths_t *paths, way_t way)
{
    packing_t packing = {.left = malloc(paths->links * sizeof *packing.left),
                         .waiting = list_messages(paths, alike),
                         .waiting_count = paths->count * (paths->count - 1)};
    bool packed = table_init(&packing.table, paths) && packing.left && packing.waiting;

    if (packed)
        memcpy(packing.left, paths->load, paths->links * sizeof *packing.left);
    for (uint32_t phase = 0; packed && packing.waiting_count > 0; phase++)
        packed = fill(&packing, phases, phase, way);
    phases->phases = packing.table.phases;
    table_fini(&packing.table);
    free(packing.left);
    free(packing.waiting);
    return packed ? HP_OK : HP_ERR_NO_MEM;
}

/* ---- the fewest ---- */

typedef hp_status_t (*try_fn_t)(hp_phases_t *phases, const hp_paths_t *paths);

static hp_status_t pack_by_busiest(hp_phases_t *phases, const hp_paths_t *paths)
{
    return pack(phases, paths, BY_BUSIEST);
}

static hp_status_t pack_by_all(hp_phases_t *phases, const hp_paths_t *paths)
{
    return pack(phases, paths, BY_ALL);
}

static hp_status_t place_alike(hp_phases_t *phases, const hp_paths_t *paths)
{
    return place(phases, paths, alike);
}

hp_status_t hp_phases_fit(hp_phases_t *phases, const hp_paths_t *paths)
{
    static const struct {
        try_fn_t try;
        uint32_t most; /* positions */
    } ways[] = {{hp_phases_exact, UINT32_MAX},
                {place_alike, HP_PHASES_PLACED_MAX},
                {pack_by_busiest, HP_PHASES_PACKED_MAX},
                {pack_by_all, HP_PHASES_PACKED_MAX}};
    hp_phases_t tried;
    hp_status_t status = HP_OK;

    phases->phases = UINT32_MAX;
    for (unsigned i = 0; i < sizeof ways / sizeof *ways && status == HP_OK && phases->phases > paths->bound;
         i++) {
        if (paths->count > ways[i].most)
            continue;
        status = hp_phases_init(&tried, paths);
        if (status == HP_OK)
            status = ways[i].try(&tried, paths);
        if (status == HP_OK && tried.phases < phases->phases) {
            const hp_phases_t worse = *phases;
            *phases = tried;
            tried = worse;
        }
        hp_phases_fini(&tried);
    }
    return status;
}

/* ---- cut down to a pattern ---- */

/* Of a phase. */
typedef struct {
    uint64_t bytes; /* its largest message */
    uint32_t phase, first, messages;
} cut_t;

static int by_bytes(const void *a, const void *b)
{
    const cut_t *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->phase < y->phase ? -1 : x->phase > y->phase;
}

/* Messages with bytes, by phase: those of old[i] from old[i].first on in order. */
static void list_cuts(const hp_phases_t *phases, const hp_paths_t *paths, cut_t *old, uint32_t *order)
{
    const size_t all = (size_t)paths->count * paths->count;
    uint32_t first = 0;

    for (uint32_t i = 0; i < phases->phases; i++)
        old[i] = (cut_t){.phase = i};
    for (size_t m = 0; m < all; m++) {
        const uint64_t bytes = bytes_of(paths, (uint32_t)(m / paths->count), (uint32_t)(m % paths->count));
        cut_t *cut = &old[phases->phase[m]];
        if (bytes == 0 || m / paths->count == m % paths->count)
            continue;
        cut->messages++;
        cut->bytes = bytes > cut->bytes ? bytes : cut->bytes;
    }
    for (uint32_t i = 0; i < phases->phases; i++) {
        old[i].first = first;
        first += old[i].messages;
        old[i].messages = 0;
    }
    for (size_t m = 0; m < all; m++) {
        cut_t *cut = &old[phases->phase[m]];
        if (bytes_of(paths, (uint32_t)(m / paths->count), (uint32_t)(m % paths->count)) > 0 &&
            m / paths->count != m % paths->count)
            order[cut->first + cut->messages++] = (uint32_t)m;
    }
}

/* The first new phase, of those whose largest message is alike or larger, in which all messages have room. */
static uint32_t phase_for(table_t *table, const cut_t *cut, const uint32_t *order)
{
    const uint32_t count = table->paths->count;
    uint32_t phase = 0;

    for (uint32_t i = 0; i < cut->messages;) {
        const uint32_t m = order[cut->first + i];
        find_path(table, m / count, m % count);
        const uint32_t found = first_free(table, phase);
        i = found == phase ? i + 1 : 0;
        phase = found;
    }
    return phase;
}

static bool cut_down(hp_phases_t *phases, const cut_t *old, const uint32_t *order, table_t *table)
{
    for (uint32_t i = 0; i < phases->phases && old[i].messages > 0; i++) {
        const uint32_t phase = phase_for(table, &old[i], order);
        for (uint32_t k = 0; k < old[i].messages; k++) {
            const uint32_t m = order[old[i].first + k];
            find_path(table, m / phases->count, m % phases->count);
            phases->phase[m] = phase;
            if (!take(table, phase))
                return false;
        }
    }
    return true;
}

hp_status_t hp_phases_cut_down(hp_phases_t *phases, const hp_paths_t *paths)
{
    cut_t *old = calloc((size_t)phases->phases + 1, sizeof *old);
    uint32_t *order = calloc((size_t)paths->count * paths->count, sizeof *order);
    table_t table;
    bool done = table_init(&table, paths) && old && order;

    if (done) {
        list_cuts(phases, paths, old, order);
        qsort(old, phases->phases, sizeof *old, by_bytes);
        done = cut_down(phases, old, order, &table);
        phases->phases = table.phases;
        place_empty(phases, paths);
    }
    table_fini(&table);
    free(old);
    free(order);
    return done ? HP_OK : HP_ERR_NO_MEM;
}
