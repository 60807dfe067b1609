/* draw: a hierarchy and a tree as text, as DOT and as SVG.
 *
 * All three drawings walk the same plan: the neighbours of every rank, the ranks in preorder, and how deep
 * each is. Nothing recurses over ranks: a chain may be as deep as there are ranks. Coordinates are whole
 * numbers, so that a locale with decimal commas cannot spoil the output. Threads and ownership: see draw.h.
 */
#include "topo_tree/draw.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LISTED 16

/* One colour a level, dark enough for lines on white; the wider the farther apart. */
static const struct {
    const char *colour;
    int width;
} level_pens[HP_LEVEL_COUNT] = {
    [HP_LEVEL_NODE] = {"#c62828", 4}, [HP_LEVEL_PACKAGE] = {"#ef6c00", 3}, [HP_LEVEL_NUMA] = {"#6a1b9a", 3},
    [HP_LEVEL_L3] = {"#1565c0", 2},   [HP_LEVEL_CORE] = {"#78909c", 2},
};

/* Light enough for black text; nodes beyond these start again with the first. */
static const char *const node_colours[] = {
    "#bbdefb", "#ffe0b2", "#c8e6c9", "#f8bbd0", "#fff59d", "#d1c4e9",
    "#b2dfdb", "#ffccbc", "#dcedc8", "#cfd8dc", "#e1bee7", "#d7ccc8",
};
#define NODE_COLOURS ((uint32_t)(sizeof node_colours / sizeof *node_colours))

static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

/* --- levels --- */

static int compare_ranks(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* "0-3,8,10-11". Members of outer groups stand in nesting order, so they are sorted here; without memory for
 * that the number of ranks must do. */
static void print_ranks(FILE *out, const uint32_t *members, uint32_t count)
{
    uint32_t *ranks = malloc(count * sizeof *ranks);
    if (ranks == NULL) {
        fprintf(out, "%" PRIu32 " ranks", count);
        return;
    }
    memcpy(ranks, members, count * sizeof *ranks);
    qsort(ranks, count, sizeof *ranks, compare_ranks);
    uint32_t range_count = 0;
    for (uint32_t begin = 0, end; begin < count; begin = end) {
        if (range_count++ == MAX_LISTED) {
            fprintf(out, ",... (%" PRIu32 " ranks)", count);
            break;
        }
        end = begin + 1;
        while (end < count && ranks[end] == ranks[end - 1] + 1)
            end++;
        fprintf(out, "%s%" PRIu32, begin ? "," : "", ranks[begin]);
        if (end > begin + 1)
            fprintf(out, "-%" PRIu32, ranks[end - 1]);
    }
    free(ranks);
}

/* The recursion is over levels: at most HP_LEVEL_COUNT deep. */
static void print_groups(FILE *out, const hp_hierarchy_t *h, uint32_t depth, uint32_t group)
{
    uint32_t count;
    const uint32_t *members = hp_hierarchy_members(h, depth, group, &count);
    if (depth == 0)
        fputs("all ranks: ", out);
    else
        fprintf(out, "%*s%s %" PRIu32 ": ", (int)(2 * depth), "",
                hp_level_name(hp_hierarchy_level(h, depth - 1)), group);
    print_ranks(out, members, count);
    fputc('\n', out);
    if (depth + 1 >= hp_hierarchy_level_count(h))
        return; /* what is inside are single ranks, listed already */

    uint32_t first = hp_hierarchy_subgroups(h, depth, group, &count);
    uint32_t listed = 0;
    for (; listed < count && first + listed < MAX_LISTED; listed++)
        print_groups(out, h, depth + 1, first + listed);
    if (listed < count)
        fprintf(out, "%*s... %" PRIu32 " more\n", (int)(2 * depth + 2), "", count - listed);
}

static void print_span(FILE *out, uint32_t low, uint32_t high)
{
    char text[32];
    snprintf(text, sizeof text, low == high ? "%" PRIu32 : "%" PRIu32 "..%" PRIu32, low, high);
    fprintf(out, "  %-14s", text);
}

void hp_draw_levels(FILE *out, const hp_hierarchy_t *h, const hp_shapes_t *shapes)
{
    uint32_t low, high;
    hp_hierarchy_node_sizes(h, &low, &high);
    uint32_t ranks = hp_hierarchy_rank_count(h), nodes = hp_hierarchy_node_count(h);
    fprintf(out, "%" PRIu32 " rank%s on %" PRIu32 " node%s", ranks, plural(ranks), nodes, plural(nodes));
    fprintf(out, low == high ? ", %" PRIu32 " a node\n\n" : ", %" PRIu32 " to %" PRIu32 " a node\n\n", low,
            high);
    fprintf(out, "%-8s  %10s  %-14s  %-14s  %s\n", "level", "groups", "ranks in each", "joined by", "shape");
    for (uint32_t i = 0; i < hp_hierarchy_level_count(h); i++) {
        hp_level_t level = hp_hierarchy_level(h, i);
        uint32_t groups = hp_hierarchy_group_count(h, i + 1), size;
        fprintf(out, "%-8s  %10" PRIu32, hp_level_name(level), groups);

        low = UINT32_MAX;
        high = 0;
        for (uint32_t group = 0; group < groups; group++) {
            hp_hierarchy_members(h, i + 1, group, &size);
            low = size < low ? size : low;
            high = size > high ? size : high;
        }
        print_span(out, low, high);

        low = UINT32_MAX;
        high = 0;
        for (uint32_t outer = 0; outer < hp_hierarchy_group_count(h, i); outer++) {
            hp_hierarchy_subgroups(h, i, outer, &size);
            low = size < low ? size : low;
            high = size > high ? size : high;
        }
        print_span(out, low, high);
        fprintf(out, "  %s\n", hp_shape_info(shapes->shape[level])->name);
    }
    fputc('\n', out);
    print_groups(out, h, 0, 0);
}

/* --- the plan of a tree --- */

typedef struct {
    uint32_t rank_count;
    hp_neighbors_t *neighbors; /* [rank] */
    uint32_t *preorder;        /* ranks, each before its children */
    uint32_t *hops;            /* [rank] links between it and the root */
    uint32_t max_hops;
    uint32_t link_count[HP_LEVEL_COUNT];
} plan_t;

static void plan_fini(plan_t *plan)
{
    for (uint32_t rank = 0; plan->neighbors && rank < plan->rank_count; rank++)
        hp_neighbors_fini(&plan->neighbors[rank]);
    free(plan->neighbors);
    free(plan->preorder);
    free(plan->hops);
}

static hp_status_t plan_init(plan_t *plan, const hp_hierarchy_t *h, const hp_shapes_t *shapes, uint32_t root)
{
    uint32_t count = hp_hierarchy_rank_count(h);
    *plan = (plan_t){.rank_count = count,
                     .neighbors = calloc(count, sizeof *plan->neighbors),
                     .preorder = malloc(count * sizeof *plan->preorder),
                     .hops = malloc(count * sizeof *plan->hops)};
    uint32_t *stack = malloc(count * sizeof *stack);
    hp_status_t status = plan->neighbors && plan->preorder && plan->hops && stack ? HP_OK : HP_ERR_NO_MEM;
    for (uint32_t rank = 0; rank < count && status == HP_OK; rank++)
        status = hp_neighbors_init(&plan->neighbors[rank], h, shapes, root, rank);
    if (status != HP_OK) {
        free(stack);
        plan_fini(plan);
        return status;
    }

    uint32_t visited = 0, waiting = 0;
    stack[waiting++] = root;
    while (waiting > 0) {
        uint32_t rank = stack[--waiting];
        const hp_neighbors_t *links = &plan->neighbors[rank];
        plan->preorder[visited++] = rank;
        plan->hops[rank] = links->parent < 0 ? 0 : plan->hops[links->parent] + 1;
        plan->max_hops = plan->hops[rank] > plan->max_hops ? plan->hops[rank] : plan->max_hops;
        if (links->parent >= 0)
            plan->link_count[links->parent_level]++;
        for (uint32_t i = links->child_count; i > 0; i--)
            stack[waiting++] = links->children[i - 1];
    }
    free(stack);
    return HP_OK;
}

/* --- text --- */

static bool is_last_child(const plan_t *plan, uint32_t rank)
{
    int32_t parent = plan->neighbors[rank].parent;
    if (parent < 0)
        return true;
    const hp_neighbors_t *above = &plan->neighbors[parent];
    return above->children[above->child_count - 1] == rank;
}

hp_status_t hp_draw_tree_text(FILE *out, const hp_hierarchy_t *h, const hp_shapes_t *shapes, uint32_t root)
{
    plan_t plan;
    hp_status_t status = plan_init(&plan, h, shapes, root);
    if (status != HP_OK)
        return status;
    /* [hops] whether the rank last visited at that depth closes its parent's list: no line runs below it. */
    bool *closed = malloc((plan.max_hops + (size_t)1) * sizeof *closed);
    if (closed == NULL) {
        plan_fini(&plan);
        return HP_ERR_NO_MEM;
    }

    for (uint32_t i = 0; i < plan.rank_count; i++) {
        uint32_t rank = plan.preorder[i], hops = plan.hops[rank];
        closed[hops] = is_last_child(&plan, rank);
        for (uint32_t depth = 1; depth < hops; depth++)
            fputs(closed[depth] ? "   " : "│  ", out);
        if (hops > 0)
            fputs(closed[hops] ? "└─ " : "├─ ", out);
        fprintf(out, "%" PRIu32 " (%s)\n", rank,
                hops > 0 ? hp_level_name((hp_level_t)plan.neighbors[rank].parent_level) : "root");
    }
    fprintf(out, "\ndepth %" PRIu32 "; links:", plan.max_hops);
    for (uint32_t i = 0; i < hp_hierarchy_level_count(h); i++) {
        hp_level_t level = hp_hierarchy_level(h, i);
        fprintf(out, "%s %" PRIu32 " %s", i ? "," : "", plan.link_count[level], hp_level_name(level));
    }
    fputc('\n', out);
    free(closed);
    plan_fini(&plan);
    return HP_OK;
}

/* --- DOT --- */

static const char *node_colour(const hp_hierarchy_t *h, uint32_t rank)
{
    return node_colours[hp_hierarchy_node_of(h, rank) % NODE_COLOURS];
}

/* The recursion is over levels: at most HP_LEVEL_COUNT deep. */
static void print_cluster(FILE *out, const hp_hierarchy_t *h, uint32_t depth, uint32_t group)
{
    int indent = (int)(2 * depth + 2);
    uint32_t count;
    if (depth == hp_hierarchy_level_count(h)) {
        uint32_t rank = hp_hierarchy_members(h, depth, group, &count)[0];
        fprintf(out, "%*s%" PRIu32 " [fillcolor=\"%s\"];\n", indent - 2, "", rank, node_colour(h, rank));
        return;
    }
    if (depth > 0) {
        const char *name = hp_level_name(hp_hierarchy_level(h, depth - 1));
        fprintf(out, "%*ssubgraph cluster_%s_%" PRIu32 " {\n", indent - 2, "", name, group);
        fprintf(out, "%*slabel=\"%s %" PRIu32 "\";\n", indent, "", name, group);
    }
    uint32_t first = hp_hierarchy_subgroups(h, depth, group, &count);
    for (uint32_t i = 0; i < count; i++)
        print_cluster(out, h, depth + 1, first + i);
    if (depth > 0)
        fprintf(out, "%*s}\n", indent - 2, "");
}

hp_status_t hp_draw_tree_dot(FILE *out, const hp_hierarchy_t *h, const hp_shapes_t *shapes, uint32_t root)
{
    plan_t plan;
    hp_status_t status = plan_init(&plan, h, shapes, root);
    if (status != HP_OK)
        return status;
    fputs("digraph tree {\n"
          "  graph [fontname=\"sans-serif\", color=\"#9e9e9e\", style=\"rounded\"];\n"
          "  node [fontname=\"sans-serif\", shape=box, style=\"rounded,filled\", height=0.3, width=0.4];\n",
          out);
    print_cluster(out, h, 0, 0);
    fprintf(out, "  %" PRIu32 " [penwidth=3];\n", root);
    for (uint32_t i = 0; i < plan.rank_count; i++) {
        uint32_t rank = plan.preorder[i];
        const hp_neighbors_t *links = &plan.neighbors[rank];
        for (uint32_t c = 0; c < links->child_count; c++)
            fprintf(out, "  %" PRIu32 " -> %" PRIu32 " [color=\"%s\", penwidth=%d, tooltip=\"%s\"];\n", rank,
                    links->children[c], level_pens[links->child_level[c]].colour,
                    level_pens[links->child_level[c]].width,
                    hp_level_name((hp_level_t)links->child_level[c]));
    }
    fputs("}\n", out);
    plan_fini(&plan);
    return HP_OK;
}

/* --- SVG --- */

/* Pixels. */
enum {
    MARGIN = 24,
    BOX_WIDTH = 34,
    BOX_HEIGHT = 24,
    COLUMN_PITCH = 44, /* between the centres of neighbouring leaves */
    BASELINE = 5,      /* of a text below the middle of its line */
    ROW_PITCH = 72,    /* between the centres of a parent and its child */
    LINE_HEIGHT = 22,
    MIN_WIDTH = 560,     /* for the legend of a small tree */
    SWATCH_PITCH = 150,  /* between entries of the legend of nodes */
    CHARACTER_WIDTH = 8, /* of a rank in a box, for ranks too wide for BOX_WIDTH */
};

typedef struct {
    int64_t *x; /* [rank] centre of its box */
    int64_t column_pitch, box_width;
    int64_t width, height;
    int64_t legend_columns, node_entries;
    int64_t top; /* centre of the root's box */
} layout_t;

/* Leaves stand side by side in preorder and each parent above the middle of its children. A subtree then has
 * columns of its own, so boxes cannot overlap nor links of different subtrees cross. */
static void place_boxes(layout_t *layout, const plan_t *plan)
{
    int64_t leaves = 0;
    for (uint32_t i = 0; i < plan->rank_count; i++) {
        uint32_t rank = plan->preorder[i];
        if (plan->neighbors[rank].child_count == 0)
            layout->x[rank] = layout->column_pitch * leaves++;
    }
    for (uint32_t i = plan->rank_count; i > 0; i--) {
        const hp_neighbors_t *links = &plan->neighbors[plan->preorder[i - 1]];
        if (links->child_count != 0)
            layout->x[plan->preorder[i - 1]] =
                (layout->x[links->children[0]] + layout->x[links->children[links->child_count - 1]]) / 2;
    }

    int64_t tree_width = layout->column_pitch * (leaves - 1) + layout->box_width;
    int64_t inner_width = tree_width < MIN_WIDTH ? MIN_WIDTH : tree_width;
    int64_t left = MARGIN + (inner_width - tree_width + layout->box_width) / 2;
    for (uint32_t rank = 0; rank < plan->rank_count; rank++)
        layout->x[rank] += left;
    layout->width = inner_width + 2 * MARGIN;
}

static hp_status_t layout_init(layout_t *layout, const plan_t *plan, const hp_hierarchy_t *h)
{
    *layout = (layout_t){.x = malloc(plan->rank_count * sizeof *layout->x)};
    if (layout->x == NULL)
        return HP_ERR_NO_MEM;
    int label_width = CHARACTER_WIDTH * snprintf(NULL, 0, "%" PRIu32, plan->rank_count - 1) + 10;
    layout->box_width = label_width > BOX_WIDTH ? label_width : BOX_WIDTH;
    layout->column_pitch = layout->box_width + COLUMN_PITCH - BOX_WIDTH;
    place_boxes(layout, plan);

    uint32_t nodes = hp_hierarchy_node_count(h);
    layout->node_entries = nodes < NODE_COLOURS ? nodes : NODE_COLOURS;
    layout->legend_columns = (layout->width - 2 * MARGIN) / SWATCH_PITCH;
    int64_t node_lines = (layout->node_entries + layout->legend_columns - 1) / layout->legend_columns;
    int64_t legend_lines = 2 + hp_hierarchy_level_count(h) + node_lines;
    layout->top = MARGIN + LINE_HEIGHT * legend_lines + MARGIN + BOX_HEIGHT / 2;
    layout->height = layout->top + (int64_t)ROW_PITCH * plan->max_hops + BOX_HEIGHT / 2 + MARGIN;
    return HP_OK;
}

/* Title, a line for each level, a swatch for each node colour. */
static void print_legend(FILE *out, const layout_t *layout, const plan_t *plan, const hp_hierarchy_t *h,
                         const hp_shapes_t *shapes, uint32_t root)
{
    int64_t y = MARGIN + LINE_HEIGHT / 2;
    uint32_t ranks = hp_hierarchy_rank_count(h), nodes = hp_hierarchy_node_count(h);
    fprintf(out,
            "<text x=\"%d\" y=\"%" PRId64 "\" class=\"title\">Tree of root %" PRIu32 ": %" PRIu32
            " rank%s on %" PRIu32 " node%s, depth %" PRIu32 "</text>\n",
            MARGIN, y + BASELINE, root, ranks, plural(ranks), nodes, plural(nodes), plan->max_hops);
    y += LINE_HEIGHT / 2;
    for (uint32_t i = 0; i < hp_hierarchy_level_count(h); i++) {
        hp_level_t level = hp_hierarchy_level(h, i);
        y += LINE_HEIGHT;
        fprintf(out, "<path class=\"%s\" d=\"M%d %" PRId64 "h34\"/>\n", hp_level_name(level), MARGIN, y);
        fprintf(out, "<text x=\"%d\" y=\"%" PRId64 "\">%s: %" PRIu32 " link%s, %s</text>\n", MARGIN + 46,
                y + BASELINE, hp_level_name(level), plan->link_count[level], plural(plan->link_count[level]),
                hp_shape_info(shapes->shape[level])->name);
    }
    y += LINE_HEIGHT / 4;
    for (int64_t node = 0; node < layout->node_entries; node++) {
        int64_t x = MARGIN + SWATCH_PITCH * (node % layout->legend_columns);
        if (node % layout->legend_columns == 0)
            y += LINE_HEIGHT;
        fprintf(out,
                "<rect x=\"%" PRId64 "\" y=\"%" PRId64
                "\" width=\"34\" height=\"16\" rx=\"4\" fill=\"%s\"/>\n",
                x, y - 8, node_colours[node]);
        fprintf(out, "<text x=\"%" PRId64 "\" y=\"%" PRId64 "\">node %" PRId64 "%s</text>\n", x + 46,
                y + BASELINE, node, node + NODE_COLOURS < nodes ? ", ..." : "");
    }
}

static void print_link(FILE *out, int64_t x, int64_t y, int64_t child_x, int64_t child_y, const char *level)
{
    int64_t from = y + BOX_HEIGHT / 2, to = child_y - BOX_HEIGHT / 2 - 1, middle = (from + to) / 2;
    fprintf(out,
            "<path class=\"%s\" d=\"M%" PRId64 " %" PRId64 "C%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
            " %" PRId64 " %" PRId64 "\"/>\n",
            level, x, from, x, middle, child_x, middle, child_x, to);
}

hp_status_t hp_draw_tree_svg(FILE *out, const hp_hierarchy_t *h, const hp_shapes_t *shapes, uint32_t root)
{
    plan_t plan;
    layout_t layout;
    hp_status_t status = plan_init(&plan, h, shapes, root);
    if (status != HP_OK)
        return status;
    status = layout_init(&layout, &plan, h);
    if (status != HP_OK) {
        plan_fini(&plan);
        return status;
    }

    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%" PRId64 "\" height=\"%" PRId64
            "\" viewBox=\"0 0 %" PRId64 " %" PRId64 "\">\n",
            layout.width, layout.height, layout.width, layout.height);
    fputs("<style>text{font:14px sans-serif;fill:#212121}"
          ".title{font-size:17px;font-weight:bold}.rank{text-anchor:middle}"
          "path{fill:none}rect{stroke:#607d8b}.root{stroke:#212121;stroke-width:3}",
          out);
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        fprintf(out, ".%s{stroke:%s;stroke-width:%d}", hp_level_name((hp_level_t)level),
                level_pens[level].colour, level_pens[level].width);
    fputs("</style>\n<rect width=\"100%\" height=\"100%\" style=\"fill:#ffffff;stroke:none\"/>\n", out);
    print_legend(out, &layout, &plan, h, shapes, root);

    /* Links first, boxes lie above them; and backwards, since the outer levels' children, whose links shall
     * lie above the others, stand first in preorder. */
    for (uint32_t i = plan.rank_count - 1; i > 0; i--) {
        uint32_t rank = plan.preorder[i], parent = (uint32_t)plan.neighbors[rank].parent;
        int64_t y = layout.top + (int64_t)ROW_PITCH * plan.hops[rank];
        print_link(out, layout.x[parent], y - ROW_PITCH, layout.x[rank], y,
                   hp_level_name((hp_level_t)plan.neighbors[rank].parent_level));
    }
    for (uint32_t i = 0; i < plan.rank_count; i++) {
        uint32_t rank = plan.preorder[i];
        int64_t y = layout.top + (int64_t)ROW_PITCH * plan.hops[rank];
        fprintf(out,
                "<rect x=\"%" PRId64 "\" y=\"%" PRId64 "\" width=\"%" PRId64
                "\" height=\"%d\" rx=\"6\" fill=\"%s\"%s/>"
                "<text x=\"%" PRId64 "\" y=\"%" PRId64 "\" class=\"rank\">%" PRIu32 "</text>\n",
                layout.x[rank] - layout.box_width / 2, y - BOX_HEIGHT / 2, layout.box_width, BOX_HEIGHT,
                node_colour(h, rank), rank == root ? " class=\"root\"" : "", layout.x[rank], y + BASELINE,
                rank);
    }
    fputs("</svg>\n", out);
    free(layout.x);
    plan_fini(&plan);
    return HP_OK;
}
