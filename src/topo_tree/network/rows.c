#include "topo_tree/network/rows.h"

#include <math.h>
#include <stdlib.h>

/* The nodes on each switch: chains of the next one, hosts before switches. */
typedef struct {
    uint32_t *first, *next, top; /* a node + 1; 0: none */
} chains_t;

static bool chains_init(chains_t *chains, const hp_network_t *network)
{
    *chains = (chains_t){.first = calloc(network->node_count, sizeof *chains->first),
                         .next = calloc(network->node_count, sizeof *chains->next)};
    if (!chains->first || !chains->next)
        return false;
    for (unsigned hosts = 0; hosts < 2; hosts++)
        for (uint32_t i = network->node_count; i-- > 0;) {
            const int32_t parent = network->nodes[i].parent;
            if (parent < 0)
                chains->top = i;
            if (parent < 0 || (network->nodes[i].machine >= 0) != (hosts == 1))
                continue;
            chains->next[i] = chains->first[parent];
            chains->first[parent] = i + 1;
        }
    return true;
}

static void chains_fini(chains_t *chains)
{
    free(chains->first);
    free(chains->next);
}

static bool is_load(const hp_network_rows_t *rows, uint32_t a, uint32_t b)
{
    const double *bytes = rows->link_bytes;
    return !bytes || fabs(bytes[a] - bytes[b]) <= 1e-9 * bytes[a];
}

static bool is_speed(hp_network_speed_t a, hp_network_speed_t b)
{
    return a.rate == b.rate && a.latency_us == b.latency_us;
}

static bool are_equal(const hp_network_rows_t *rows, uint32_t a, uint32_t b)
{
    const hp_network_node_t *one = &rows->network->nodes[a], *other = &rows->network->nodes[b];

    return one->ranks == other->ranks && is_speed(one->up, other->up) && is_speed(one->down, other->down) &&
           is_load(rows, 2 * a, 2 * b) && is_load(rows, 2 * a + 1, 2 * b + 1);
}

/* The row that begins at this node; returns the node behind it on the same switch, + 1, or 0. */
static uint32_t fill_row(const hp_network_rows_t *rows, const chains_t *chains, uint32_t node, uint32_t above,
                         hp_network_row_t *row)
{
    const bool is_host = rows->network->nodes[node].machine >= 0;
    uint32_t next = chains->next[node];

    *row = (hp_network_row_t){.first = node, .last = node, .hosts = is_host, .above = above};
    while (is_host && next && rows->network->nodes[next - 1].machine >= 0 &&
           are_equal(rows, node, next - 1)) {
        row->last = next - 1;
        row->hosts++;
        next = chains->next[next - 1];
    }
    row->depth = above == UINT32_MAX ? 0 : rows->rows[above].depth + 1;
    row->is_last = next == 0;
    return next;
}

/* From the top down. left: for each row, the node that follows it on its switch, + 1. */
static hp_status_t fill_rows(hp_network_rows_t *rows, const chains_t *chains, uint32_t *left,
                             uint32_t rows_max)
{
    uint32_t node = chains->top, above = UINT32_MAX;

    for (;;) {
        if (rows->count == rows_max)
            return HP_ERR_ARG;
        const uint32_t row = rows->count++;
        left[row] = fill_row(rows, chains, node, above, &rows->rows[row]);
        uint32_t next = rows->rows[row].hosts ? 0 : chains->first[node];
        if (next) {
            above = row;
        } else {
            uint32_t at = row;
            while (!(next = left[at]) && rows->rows[at].above != UINT32_MAX)
                at = rows->rows[at].above;
            above = rows->rows[at].above;
        }
        if (!next)
            return HP_OK;
        node = next - 1;
    }
}

/* A switch stands amidst the first and the last of its rows. low: for each row, scratch. */
static void place_rows(hp_network_rows_t *rows, double *low)
{
    double place = 0;

    for (uint32_t i = 0; i < rows->count; i++) {
        rows->rows[i].place = -1;
        low[i] = -1;
    }
    for (uint32_t i = 0; i < rows->count; i++)
        if (i + 1 == rows->count || rows->rows[i + 1].above != i)
            rows->rows[i].place = place++;
    for (uint32_t i = rows->count;
         i-- > 1;) { /* from the last on, so that all on a switch are placed before it */
        const hp_network_row_t *row = &rows->rows[i];
        hp_network_row_t *above = &rows->rows[row->above];
        if (low[row->above] < 0)
            low[row->above] = row->place;
        above->place = (low[row->above] + row->place) / 2;
    }
}

hp_status_t hp_network_rows_init(hp_network_rows_t *rows, const hp_network_t *network,
                                 const double *link_bytes, uint32_t rows_max)
{
    chains_t chains;
    uint32_t *left = calloc(rows_max, sizeof *left);
    double *low = calloc(rows_max, sizeof *low);
    hp_status_t status = HP_ERR_NO_MEM;

    *rows = (hp_network_rows_t){
        .network = network, .link_bytes = link_bytes, .rows = calloc(rows_max, sizeof *rows->rows)};
    if (chains_init(&chains, network) && left && low && rows->rows)
        status = fill_rows(rows, &chains, left, rows_max);
    if (status == HP_OK)
        place_rows(rows, low);
    chains_fini(&chains);
    free(left);
    free(low);
    return status;
}

void hp_network_rows_fini(hp_network_rows_t *rows)
{
    free(rows->rows);
}
