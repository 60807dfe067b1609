/* shape: one function a shape, which says both ways of a link: who is above a position and who is below.
 *
 * Each is handed a sink and reports into it, so that counting, listing and asking for the parent are the same
 * arithmetic and cannot disagree.
 * Threads: pure. Ownership: the caller's buffers. */
#include "topo_tree/shape.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

typedef struct {
    uint32_t parent; /* unused for position 0 */
    uint32_t child_count;
    uint32_t *children;
    uint32_t capacity;
} links_t;

static void add_child(links_t *links, uint32_t child)
{
    if (links->child_count < links->capacity)
        links->children[links->child_count] = child;
    links->child_count++;
}

static void linear_links(links_t *links, uint32_t count, uint32_t position)
{
    links->parent = 0;
    if (position != 0)
        return;
    for (uint32_t child = 1; child < count; child++)
        add_child(links, child);
}

static void chain_links(links_t *links, uint32_t count, uint32_t position)
{
    links->parent = position - 1;
    if (position + 1 < count)
        add_child(links, position + 1);
}

/* What remains below a position is cut in two halves, the larger one first; each half is led by its first
 * position. Halving on the way down from position 0 finds any position in log2 count steps. */
static void binary_links(links_t *links, uint32_t count, uint32_t position)
{
    uint32_t top = 0, size = count; /* the subtree that holds position: [top, top + size) */
    for (;;) {
        uint32_t below = size - 1;
        uint32_t left = (below + 1) / 2, right = below / 2;
        if (top == position) {
            if (left != 0)
                add_child(links, top + 1);
            if (right != 0)
                add_child(links, top + 1 + left);
            return;
        }
        links->parent = top;
        if (position <= top + left) {
            top = top + 1;
            size = left;
        } else {
            top = top + 1 + left;
            size = right;
        }
    }
}

/* Positions as numbers in base k. The parent has the lowest non-zero digit cleared; the children have one of
 * the zeros below that digit set. So the subtree of a position is itself and every setting of its low zeros:
 * a range. */
static void knomial_links(links_t *links, uint32_t count, uint32_t position, uint32_t k)
{
    for (uint64_t weight = 1; position + weight < count || position != 0; weight *= k) {
        uint32_t digit = (uint32_t)(position / weight % k);
        if (digit != 0) {
            links->parent = (uint32_t)(position - digit * weight);
            return;
        }
        for (uint64_t child = position + weight; child < position + k * weight && child < count;
             child += weight)
            add_child(links, (uint32_t)child);
    }
}

static void binomial_links(links_t *links, uint32_t count, uint32_t position)
{
    knomial_links(links, count, position, 2);
}

static void knomial4_links(links_t *links, uint32_t count, uint32_t position)
{
    knomial_links(links, count, position, 4);
}

static void knomial8_links(links_t *links, uint32_t count, uint32_t position)
{
    knomial_links(links, count, position, 8);
}

/* The postal model's tree (A. Bar-Noy, S. Kipnis, Designing Broadcasting Algorithms in the Postal Model for
 * Message-Passing Systems, 1992): who has the message sends it on in every round, and it is there POSTAL_LATENCY rounds
 * later. It has reached count(t) = count(t - 1) + count(t - POSTAL_LATENCY) positions in round t. So a child is
 * handed that many positions, fewer each round: the first child sits last, with the largest subtree. */
enum { POSTAL_LATENCY = 4, POSTAL_ROUNDS_MAX = 80 }; /* 71 rounds reach INT32_MAX positions */

typedef struct {
    uint64_t reached[POSTAL_ROUNDS_MAX];
    uint32_t rounds; /* that reach all positions */
} postal_t;

static postal_t postal_rounds(uint32_t count)
{
    postal_t p = {.reached = {1}};
    while (p.reached[p.rounds] < count) {
        p.rounds++;
        p.reached[p.rounds] =
            p.reached[p.rounds - 1] + (p.rounds >= POSTAL_LATENCY ? p.reached[p.rounds - POSTAL_LATENCY] : 0);
    }
    return p;
}

/* Positions that a position hands to its next child, of its own size ones: 0, when there is none. *rounds: that are left. */
static uint32_t postal_share(const postal_t *p, uint32_t size, uint32_t *rounds)
{
    while (*rounds > 0 && p->reached[*rounds - 1] >= size)
        (*rounds)--;
    return *rounds >= POSTAL_LATENCY ? (uint32_t)p->reached[*rounds - POSTAL_LATENCY] : 0;
}

static void postal_links(links_t *links, uint32_t count, uint32_t position)
{
    const postal_t p = postal_rounds(count);
    uint32_t top = 0, size = count, rounds = p.rounds, share; /* the subtree that holds position */
    uint32_t children[POSTAL_ROUNDS_MAX], child_count = 0;

    while ((share = postal_share(&p, size, &rounds)) > 0) {
        const uint32_t child = top + size - share;
        if (position >= child) {
            links->parent = top;
            top = child;
            size = share;
            rounds -= POSTAL_LATENCY;
            continue;
        }
        size -= share;
        rounds--;
        if (position == top)
            children[child_count++] = child;
    }
    while (child_count > 0)
        add_child(links, children[--child_count]);
}

typedef void (*links_fn_t)(links_t *links, uint32_t count, uint32_t position);

static const links_fn_t shape_links[] = {
#define X(id, name, text) [HP_SHAPE_##id] = name##_links,
    HP_SHAPE_TABLE(X)
#undef X
};

static const hp_shape_info_t shape_infos[] = {
#define X(id, name, text) [HP_SHAPE_##id] = {#name, text},
    HP_SHAPE_TABLE(X)
#undef X
};

const hp_shape_info_t *hp_shape_info(hp_shape_t shape)
{
    assert((unsigned)shape < HP_SHAPE_COUNT);
    return &shape_infos[shape];
}

hp_shape_t hp_shape_find(const char *name)
{
    unsigned shape = 0;
    while (shape < HP_SHAPE_COUNT && strcmp(name, shape_infos[shape].name) != 0)
        shape++;
    return (hp_shape_t)shape;
}

int32_t hp_shape_parent(hp_shape_t shape, uint32_t count, uint32_t position)
{
    assert((unsigned)shape < HP_SHAPE_COUNT && position < count && count <= INT32_MAX);
    if (position == 0)
        return -1;
    links_t links = {.capacity = 0};
    shape_links[shape](&links, count, position);
    return (int32_t)links.parent;
}

uint32_t hp_shape_children(hp_shape_t shape, uint32_t count, uint32_t position, uint32_t *children,
                           uint32_t capacity)
{
    assert((unsigned)shape < HP_SHAPE_COUNT && position < count && count <= INT32_MAX);
    links_t links = {.children = children, .capacity = capacity};
    shape_links[shape](&links, count, position);
    return links.child_count;
}
