#include "topo_tree/network/picture.h"

#include <stdlib.h>
#include <string.h>
#include "base/least.h"
#include "topo_tree/network/rows.h"

enum { TEXT_BYTES = 96 };

/* ---- words ---- */

/* "10 Gbit/s". rate: in bytes per us. */
static void format_rate(double rate, char *text)
{
    static const char *const units[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
    double value = 8e6 * rate;
    unsigned unit = 0;

    for (; value >= 1000 && unit + 1 < sizeof units / sizeof *units; unit++)
        value /= 1000;
    snprintf(text, TEXT_BYTES, "%.4g %s", value, units[unit]);
}

static void format_bytes(double bytes, char *text)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    unsigned unit = 0;

    for (; bytes >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++)
        bytes /= 1024;
    snprintf(text, TEXT_BYTES, "%.4g %s", bytes, units[unit]);
}

static void format_time(double us, char *text)
{
    static const char *const units[] = {"us", "ms", "s"};
    unsigned unit = 0;

    for (; us >= 1000 && unit + 1 < sizeof units / sizeof *units; unit++)
        us /= 1000;
    snprintf(text, TEXT_BYTES, "%.4g %s", us, units[unit]);
}

/* "n0 to n7, 8 hosts of 4 ranks". */
static void format_name(const hp_network_t *network, const hp_network_row_t *row, char *text,
                        size_t text_bytes)
{
    const hp_network_node_t *first = &network->nodes[row->first], *last = &network->nodes[row->last];
    size_t used = (size_t)snprintf(text, text_bytes, "%.60s", first->name);

    if (row->hosts > 1)
        used +=
            (size_t)snprintf(text + used, text_bytes - used, " to %.60s, %u hosts", last->name, row->hosts);
    if (row->hosts > 0 && first->ranks > 1)
        snprintf(text + used, text_bytes - used, row->hosts > 1 ? " of %u ranks" : ", %u ranks",
                 first->ranks);
}

/* ---- loads ---- */

static double busy_us(const hp_network_rows_t *rows, uint32_t link)
{
    return rows->link_bytes ? rows->link_bytes[link] / hp_network_link(rows->network, link).speed.rate : 0;
}

/* Of all links between nodes; the insides of machines are not drawn. */
static double busiest_us(const hp_network_rows_t *rows)
{
    double most = 0;

    for (uint32_t link = 0; link < 2 * rows->network->node_count; link++)
        if (rows->network->nodes[link / 2].parent >= 0 && busy_us(rows, link) > most)
            most = busy_us(rows, link);
    return most;
}

/* "up 1.5 MiB, 12.6 ms, 100%"; "" where nothing crosses links. */
static void format_load(const hp_network_rows_t *rows, uint32_t link, double most_us, const char *way,
                        char *text)
{
    char bytes[TEXT_BYTES], time[TEXT_BYTES];

    text[0] = '\0';
    if (!rows->link_bytes)
        return;
    format_bytes(rows->link_bytes[link], bytes);
    format_time(busy_us(rows, link), time);
    snprintf(text, TEXT_BYTES, "%s %.24s, %.24s, %.0f%%", way, bytes, time,
             most_us > 0 ? 100 * busy_us(rows, link) / most_us : 0);
}

/* "10 Gbit/s", or "10 Gbit/s up, 1 Gbit/s down", and the latency. */
static void format_speed(const hp_network_node_t *node, char *text)
{
    char up[TEXT_BYTES], down[TEXT_BYTES];
    size_t used;

    format_rate(node->up.rate, up);
    format_rate(node->down.rate, down);
    if (node->up.rate == node->down.rate)
        used = (size_t)snprintf(text, TEXT_BYTES, "%.24s", up);
    else
        used = (size_t)snprintf(text, TEXT_BYTES, "%.24s up, %.24s down", up, down);
    if (node->up.latency_us > 0)
        snprintf(text + used, TEXT_BYTES - used, ", %.4g us", node->up.latency_us);
}

/* ---- as text ---- */

/* Columns that a text takes on a terminal: bytes that continue a character take none. */
static uint32_t columns_of(const char *text)
{
    uint32_t columns = 0;

    for (; *text; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

/* Where the speeds begin, and the loads behind them. */
typedef struct {
    uint32_t speed, load;
} columns_t;

static columns_t find_columns(const hp_network_rows_t *rows)
{
    char text[160];
    columns_t most = {0};

    for (uint32_t i = 0; i < rows->count; i++) {
        format_name(rows->network, &rows->rows[i], text, sizeof text);
        const uint32_t name = 3 * rows->rows[i].depth + columns_of(text);
        format_speed(&rows->network->nodes[rows->rows[i].first], text);
        most.speed = name > most.speed ? name : most.speed;
        most.load = rows->rows[i].depth > 0 && columns_of(text) > most.load ? columns_of(text) : most.load;
    }
    return (columns_t){most.speed + 2, most.load + 2};
}

/* The lines of the levels above that go on, and the row's own. */
static void print_branches(FILE *out, const hp_network_row_t *row, bool *goes_on)
{
    for (uint32_t depth = 1; depth < row->depth; depth++)
        fputs(goes_on[depth] ? "│  " : "   ", out);
    if (row->depth > 0) {
        fputs(row->is_last ? "└─ " : "├─ ", out);
        goes_on[row->depth] = !row->is_last;
    }
}

static void print_row(FILE *out, const hp_network_rows_t *rows, const hp_network_row_t *row,
                      columns_t columns, double most_us)
{
    const hp_network_node_t *node = &rows->network->nodes[row->first];
    char name[160], speed[TEXT_BYTES], up[TEXT_BYTES], down[TEXT_BYTES];

    format_name(rows->network, row, name, sizeof name);
    fputs(name, out);
    if (row->depth > 0) {
        format_speed(node, speed);
        format_load(rows, 2 * row->first, most_us, "up", up);
        format_load(rows, 2 * row->first + 1, most_us, "down", down);
        fprintf(out, "%*s%s", (int)(columns.speed - 3 * row->depth - columns_of(name)), "", speed);
        if (*up)
            fprintf(out, "%*s%-28s  %s", (int)(columns.load - columns_of(speed)), "", up, down);
    }
    fputc('\n', out);
}

hp_status_t hp_network_print(FILE *out, const hp_network_t *network, const double *link_bytes)
{
    hp_network_rows_t rows;
    const hp_status_t status = hp_network_rows_init(&rows, network, link_bytes, HP_NETWORK_ROWS_MAX);
    bool *goes_on = calloc(HP_NETWORK_ROWS_MAX + 1, sizeof *goes_on);

    if (status == HP_OK && goes_on) {
        const columns_t columns = find_columns(&rows);
        const double most_us = busiest_us(&rows);
        for (uint32_t i = 0; i < rows.count; i++) {
            print_branches(out, &rows.rows[i], goes_on);
            print_row(out, &rows, &rows.rows[i], columns, most_us);
        }
    }
    free(goes_on);
    hp_network_rows_fini(&rows);
    return status == HP_OK && !goes_on ? HP_ERR_NO_MEM : status;
}

/* ---- as SVG ---- */

/* In pixels, for texts of 12 and 10. LABEL: what is straight of a link, before a box, for the texts on it. */
enum {
    ROW = 40,
    BOX = 150,
    BOX_HEIGHT = 22,
    CURVE = 70,
    LABEL = 220,
    MARGIN = 24,
    HEAD = 76,
    BOX_LETTERS = 24
};

static double x_of(const hp_network_row_t *row)
{
    return MARGIN + row->depth * (double)(BOX + CURVE + LABEL);
}

static double y_of(const hp_network_row_t *row)
{
    return HEAD + row->place * ROW;
}

static void print_escaped(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '<')
            fputs("&lt;", out);
        else
            fputc(*text, out);
    }
}

/* From light grey to dark red: how busy a link is, of the busiest. */
static void format_colour(double share, char *text)
{
    static const int idle[] = {200, 205, 212}, busy[] = {190, 20, 30};
    int mixed[3];

    for (unsigned i = 0; i < 3; i++)
        mixed[i] = (int)(idle[i] + share * (busy[i] - idle[i]));
    snprintf(text, TEXT_BYTES, "#%02x%02x%02x", mixed[0], mixed[1], mixed[2]);
}

/* One direction of a cable: above the middle what goes up, below it what goes down. */
static void draw_direction(FILE *out, const hp_network_rows_t *rows, const hp_network_row_t *row, bool up,
                           double most_us)
{
    const hp_network_row_t *above = &rows->rows[row->above];
    const uint32_t link = 2 * row->first + !up;
    const double shift = up ? -2.5 : 2.5, x0 = x_of(above) + BOX, y0 = y_of(above) + shift;
    const double x2 = x_of(row), x1 = x2 - LABEL, y1 = y_of(row) + shift;
    const double share = most_us > 0 ? busy_us(rows, link) / most_us : 0;
    char colour[TEXT_BYTES];

    format_colour(share, colour);
    fprintf(out,
            "<path d=\"M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f L%.1f %.1f\" fill=\"none\" stroke=\"%s\" "
            "stroke-width=\"%.1f\"/>\n",
            x0, y0, x0 + CURVE / 2.0, y0, x1 - CURVE / 2.0, y1, x1, y1, x2, y1, colour, 2 + 2 * share);
}

static void draw_label(FILE *out, double x, double y, const char *text)
{
    if (!*text)
        return;
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"10\" fill=\"#444\" text-anchor=\"end\">", x, y);
    print_escaped(out, text);
    fputs("</text>\n", out);
}

static void draw_link(FILE *out, const hp_network_rows_t *rows, const hp_network_row_t *row, double most_us)
{
    const hp_network_node_t *node = &rows->network->nodes[row->first];
    char speed[TEXT_BYTES], load[TEXT_BYTES], both[2 * TEXT_BYTES + 4];

    draw_direction(out, rows, row, true, most_us);
    draw_direction(out, rows, row, false, most_us);
    format_rate(node->up.rate, speed);
    format_load(rows, 2 * row->first, most_us, "up", load);
    if (node->up.latency_us > 0)
        snprintf(speed + strlen(speed), sizeof speed - strlen(speed), ", %.4g us", node->up.latency_us);
    snprintf(both, sizeof both, "%s%s%s", speed, *load ? ": " : "", load);
    draw_label(out, x_of(row) - 6, y_of(row) - 7, both);
    format_load(rows, 2 * row->first + 1, most_us, "down", load);
    format_rate(node->down.rate, speed);
    if (node->down.rate != node->up.rate)
        snprintf(both, sizeof both, "%s%s%s", speed, *load ? ": " : " down", load);
    else
        snprintf(both, sizeof both, "%s", load);
    draw_label(out, x_of(row) - 6, y_of(row) + 15, both);
}

static void draw_box(FILE *out, const hp_network_rows_t *rows, const hp_network_row_t *row)
{
    const bool is_switch = row->hosts == 0;
    char name[160];

    format_name(rows->network, row, name, sizeof name);
    const uint32_t letters = columns_of(name);
    fprintf(
        out,
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"%d\" fill=\"%s\" stroke=\"#555\"/>\n",
        x_of(row), y_of(row) - BOX_HEIGHT / 2.0, BOX, BOX_HEIGHT, is_switch ? 11 : 3,
        is_switch ? "#dfe8f6" : "#ffffff");
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.1f\" text-anchor=\"middle\">",
            x_of(row) + BOX / 2.0, y_of(row) + 4,
            letters > BOX_LETTERS ? 12.0 * BOX_LETTERS / letters : 12.0);
    print_escaped(out, name);
    fputs("</text>\n", out);
}

static void draw_legend(FILE *out, const hp_network_rows_t *rows, const char *title, double most_us)
{
    char colour[TEXT_BYTES], time[TEXT_BYTES];

    fprintf(out, "<text x=\"%d\" y=\"24\" font-size=\"14\" font-weight=\"bold\">", MARGIN);
    print_escaped(out, title);
    fputs("</text>\n", out);
    if (!rows->link_bytes)
        return;
    for (unsigned i = 0; i < 20; i++) {
        format_colour((i + 0.5) / 20, colour);
        fprintf(out, "<rect x=\"%d\" y=\"36\" width=\"6\" height=\"10\" fill=\"%s\"/>\n", MARGIN + 6 * (int)i,
                colour);
    }
    format_time(most_us, time);
    fprintf(out,
            "<text x=\"%d\" y=\"45\" font-size=\"10\" fill=\"#444\">time that a link is busy, of the "
            "busiest, which "
            "is %s</text>\n",
            MARGIN + 128, time);
}

hp_status_t hp_network_draw(FILE *out, const hp_network_t *network, const char *title,
                            const double *link_bytes)
{
    hp_network_rows_t rows;
    const hp_status_t status = hp_network_rows_init(&rows, network, link_bytes, HP_NETWORK_ROWS_MAX);

    if (status == HP_OK) {
        const double most_us = busiest_us(&rows);
        double width = MARGIN + 8.0 * columns_of(title), height = 0;
        for (uint32_t i = 0; i < rows.count; i++) {
            width = hp_most_double(width, x_of(&rows.rows[i]) + BOX);
            height = hp_most_double(height, y_of(&rows.rows[i]) + ROW / 2.0);
        }
        fprintf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                "font-family=\"sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                width + MARGIN, height + MARGIN);
        draw_legend(out, &rows, title, most_us);
        for (uint32_t i = 0; i < rows.count; i++)
            if (rows.rows[i].depth > 0)
                draw_link(out, &rows, &rows.rows[i], most_us);
        for (uint32_t i = 0; i < rows.count; i++)
            draw_box(out, &rows, &rows.rows[i]);
        fputs("</svg>\n", out);
    }
    hp_network_rows_fini(&rows);
    return status;
}
