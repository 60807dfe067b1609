/* draw: schedules as an SVG picture.
 *
 * A column is a round: messages leave at its left side and come in at its right side, at most one of each a rank, so
 * arrows begin and end apart. What a message carries stands where it leaves, on the side that its arrow does not take.
 * Coordinates are whole numbers, so that a locale with decimal commas cannot spoil the output. */
#include "schedule/picture/draw.h"

#include <stdlib.h>
#include <string.h>
#include "schedule/picture/rounds.h"

/* Pixels. */
enum {
    MARGIN = 24,
    LINE_HEIGHT = 22,
    BASELINE = 5, /* of a text below the middle of its line */
    ROW_PITCH = 36,
    RANKS_WIDTH = 84, /* names of the rows */
    LOCAL_AT = 10,    /* of a local copy, from the left side of its column */
    LEAVES_AT = 22,
    ARRIVES_AT = 12, /* from the right side */
    COLUMN_MIN = 84,
    SLOPE = 5,         /* an arrow is at most so many times as high as it is wide, */
    SLOPE_WIDTH = 130, /* unless that made it wider than this */
    LABEL_CHARACTER = 7,
    MIN_WIDTH = 800, /* for the legend */
    LEGEND_LINES = 5,
    LABEL_BYTES = 14,
};

typedef struct {
    const hp_schedule_t *schedules;
    const hp_problem_t *problem;
    hp_rounds_t rounds;
    bool labels; /* do messages differ in what they carry? */
    int x[HP_DRAW_ROUNDS_MAX + 2];
    int top, width, height; /* top: the middle of the first row */
} picture_t;

/* ---- labels ---- */

/* Adds blocks first to last; changes: of another space than those before. False: they do not fit. */
static bool append(char *text, size_t text_bytes, size_t *used, hp_space_t space, bool changes,
                   uint32_t first, uint32_t last)
{
    static const char *const marks[] = {
        [HP_SPACE_SEND] = "s", [HP_SPACE_RECV] = "r", [HP_SPACE_SCRATCH] = "x"};
    const char *mark = changes ? marks[space] : "", *comma = *used ? "," : "";
    const size_t room = text_bytes - *used;

    *used += first == last ? (size_t)snprintf(text + *used, room, "%s%s%u", comma, mark, first)
                           : (size_t)snprintf(text + *used, room, "%s%s%u-%u", comma, mark, first, last);
    return *used < text_bytes;
}

const char *hp_draw_blocks(const hp_schedule_t *schedule, const hp_list_t *list, char *text,
                           size_t text_bytes)
{
    size_t used = 0;
    bool fits = true;
    hp_space_t space = HP_SPACE_COUNT, written = HP_SPACE_RECV;
    uint32_t first = 0, last = 0;

    text[0] = '\0';
    for (uint32_t r = 0; r < list->count && fits; r++) {
        const hp_range_t *range = &schedule->ranges[list->first + r];
        for (uint32_t i = 0; i < range->count && fits; i++) {
            const uint32_t block = hp_range_block(range, i);
            if (space == range->space && block == last + 1) {
                last = block;
                continue;
            }
            if (space != HP_SPACE_COUNT) {
                fits = append(text, text_bytes, &used, space, space != written, first, last);
                written = space;
            }
            space = range->space;
            first = last = block;
        }
    }
    if (fits && space != HP_SPACE_COUNT)
        fits = append(text, text_bytes, &used, space, space != written, first, last);
    if (!fits)
        snprintf(text, text_bytes, "%u blocks", hp_schedule_blocks(schedule, list));
    return text;
}

static const hp_step_t *sending(const picture_t *picture, const hp_message_t *message)
{
    return &picture->schedules[message->from].steps[message->from_step];
}

static const hp_step_t *receiving(const picture_t *picture, const hp_message_t *message)
{
    return &picture->schedules[message->to].steps[message->to_step];
}

static bool is_local(const hp_message_t *message)
{
    return message->from == message->to;
}

static const char *label_of(const picture_t *picture, const hp_message_t *message, char *text)
{
    const hp_schedule_t *schedule = &picture->schedules[message->from];
    return hp_draw_blocks(schedule, &sending(picture, message)->send, text, LABEL_BYTES);
}

/* ---- layout ---- */

/* Of the column of a message: as much again for its slope as for what stands beside it. */
static int width_of(const picture_t *picture, const hp_message_t *message)
{
    const int rows = abs((int)message->to - (int)message->from), high = rows * ROW_PITCH / SLOPE;
    char label[LABEL_BYTES];
    const int wide =
        picture->labels ? 2 * LABEL_CHARACTER * (int)strlen(label_of(picture, message, label)) : 0;
    const int slope = high < SLOPE_WIDTH ? high : SLOPE_WIDTH;

    return LEAVES_AT + ARRIVES_AT + (wide > slope ? wide : slope);
}

static void lay_out(picture_t *picture)
{
    const hp_rounds_t *rounds = &picture->rounds;
    int widths[HP_DRAW_ROUNDS_MAX + 1];

    picture->labels =
        !hp_pattern_is(picture->problem->pattern, HP_PATTERN_CUT) || picture->schedules[0].cut > 1;
    for (uint32_t i = 0; i <= rounds->rounds; i++)
        widths[i] = i < rounds->rounds ? COLUMN_MIN : 0;
    for (uint32_t i = 0; i < rounds->message_count; i++) {
        const hp_message_t *message = &rounds->messages[i];
        const int wanted = is_local(message) ? 2 * LOCAL_AT : width_of(picture, message);
        if (widths[message->round] < wanted)
            widths[message->round] = wanted;
    }
    picture->x[0] = MARGIN + RANKS_WIDTH;
    for (uint32_t i = 0; i <= rounds->rounds; i++)
        picture->x[i + 1] = picture->x[i] + widths[i];
    picture->width = picture->x[rounds->rounds + 1] + MARGIN;
    if (picture->width < MIN_WIDTH)
        picture->width = MIN_WIDTH;
    picture->top = MARGIN + LINE_HEIGHT * (LEGEND_LINES + 2) + ROW_PITCH;
    picture->height = picture->top + ROW_PITCH * (int)picture->problem->count - ROW_PITCH / 2 + MARGIN;
}

static int row(const picture_t *picture, uint32_t rank)
{
    return picture->top + ROW_PITCH * (int)rank;
}

/* ---- pieces ---- */

/* A title or a line of a legend may have anything in it. */
static void print_text(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        default:
            fputc(*text, out);
        }
}

static void print_arrow(FILE *out, const char *kind, int x, int y, int to_x, int to_y)
{
    fprintf(out, "<path class=\"%s\" marker-end=\"url(#%s)\" d=\"M%d %dL%d %d\"/>\n", kind, kind, x, y, to_x,
            to_y);
}

static void print_local(FILE *out, bool reduces, int x, int y)
{
    fprintf(out, "<rect class=\"local%s\" x=\"%d\" y=\"%d\" width=\"9\" height=\"9\"/>\n",
            reduces ? " reduces" : "", x - 4, y - 4);
}

/* A plus in a circle, where what comes in is reduced. */
static void print_reduction(FILE *out, int x, int y)
{
    fprintf(out, "<circle cx=\"%d\" cy=\"%d\" r=\"6\"/><path class=\"plus\" d=\"M%d %dh7m-3.5 -3.5v7\"/>\n",
            x, y, x - 4, y);
}

static void print_legend_text(FILE *out, int x, int y, const char *text)
{
    fprintf(out, "<text x=\"%d\" y=\"%d\">", x, y + BASELINE);
    print_text(out, text);
    fputs("</text>\n", out);
}

static void print_head(FILE *out, const picture_t *picture, const char *title)
{
    const hp_rounds_t *rounds = &picture->rounds;
    int y = MARGIN + LINE_HEIGHT / 2;

    fprintf(out, "<text x=\"%d\" y=\"%d\" class=\"title\">", MARGIN, y + BASELINE);
    print_text(out, title);
    y += LINE_HEIGHT;
    fprintf(out, "</text>\n<text x=\"%d\" y=\"%d\">%u round%s, %u message%s</text>\n", MARGIN, y + BASELINE,
            rounds->rounds, rounds->rounds == 1 ? "" : "s", rounds->message_count - rounds->local_count,
            rounds->message_count - rounds->local_count == 1 ? "" : "s");
    y += LINE_HEIGHT;
    print_arrow(out, "store", MARGIN, y, MARGIN + 44, y);
    print_legend_text(out, MARGIN + 60, y, "stored");
    print_arrow(out, "reduce", MARGIN + 150, y, MARGIN + 190, y);
    print_reduction(out, MARGIN + 194, y);
    print_legend_text(out, MARGIN + 210, y, "reduced with what is there");
    print_arrow(out, "sync", MARGIN + 430, y, MARGIN + 474, y);
    print_legend_text(out, MARGIN + 490, y, "no data: waits for all before it");
    y += LINE_HEIGHT;
    print_local(out, false, MARGIN + 22, y);
    print_legend_text(out, MARGIN + 60, y, "copied locally");
    print_local(out, true, MARGIN + 190, y);
    print_legend_text(out, MARGIN + 210, y, "reduced locally");
    y += LINE_HEIGHT;
    print_legend_text(
        out, MARGIN, y,
        !picture->labels ? "Each message carries the whole vector."
        : picture->problem->pattern == HP_PATTERN_BARRIER
            ? "No message carries data."
            : "Numbers beside arrows: the blocks that are sent, of the result (r); s: of what the rank "
              "brings; x: of scratch.");
}

static void print_grid(FILE *out, const picture_t *picture)
{
    const hp_problem_t *problem = picture->problem;
    const uint32_t rounds = picture->rounds.rounds;
    const int above = picture->top - ROW_PITCH, bottom = picture->height - MARGIN;
    const bool rooted = hp_pattern_is(problem->pattern, HP_PATTERN_ROOTED);

    if (rounds > 0)
        print_legend_text(out, MARGIN, above + 8, "round");
    for (uint32_t i = 0; i < rounds; i++) {
        if (i % 2 == 0)
            fprintf(out, "<rect class=\"column\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
                    picture->x[i], above - 4, picture->x[i + 1] - picture->x[i], bottom - above + 4);
        fprintf(out, "<text class=\"round\" x=\"%d\" y=\"%d\">%u</text>\n",
                (picture->x[i] + picture->x[i + 1]) / 2, above + 8 + BASELINE, i + 1);
    }
    for (uint32_t rank = 0; rank < problem->count; rank++) {
        const bool is_root = rooted && rank == problem->root;
        fprintf(out, "<path class=\"row\" d=\"M%d %dH%d\"/>\n", picture->x[0] - 4, row(picture, rank),
                picture->x[rounds + 1]);
        fprintf(out, "<text x=\"%d\" y=\"%d\"%s>%u%s</text>\n", MARGIN, row(picture, rank) + BASELINE,
                is_root ? " class=\"root\"" : "", rank, is_root ? " (root)" : "");
    }
}

static void print_message(FILE *out, const picture_t *picture, const hp_message_t *message)
{
    const hp_step_t *step = receiving(picture, message);
    const bool reduces = step->action != HP_ACTION_STORE;
    const int x = picture->x[message->round], right = picture->x[message->round + 1];
    const int y = row(picture, message->from), to_y = row(picture, message->to);

    if (is_local(message)) {
        print_local(out, reduces, x + LOCAL_AT, y);
        return;
    }
    print_arrow(out,
                step->sync ? "sync"
                : reduces  ? "reduce"
                           : "store",
                x + LEAVES_AT, y, right - ARRIVES_AT, to_y);
    if (reduces)
        print_reduction(out, right - ARRIVES_AT, to_y);
}

/* Above the row where the arrow goes down, and the other way around. */
static void print_label(FILE *out, const picture_t *picture, const hp_message_t *message)
{
    const bool goes_down = message->to > message->from;
    const int x = picture->x[message->round] + LEAVES_AT + 2;
    const int y = row(picture, message->from) + (goes_down ? -9 : 10);
    char text[LABEL_BYTES];

    if (is_local(message) || !*label_of(picture, message, text))
        return;
    fprintf(out, "<rect class=\"under\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"13\"/>", x - 1, y - 7,
            LABEL_CHARACTER * (int)strlen(text) + 2);
    fprintf(out, "<text class=\"blocks\" x=\"%d\" y=\"%d\">%s</text>\n", x, y + 4, text);
}

static void print_style(FILE *out, const picture_t *picture)
{
    static const struct {
        const char *kind, *colour;
        int tip; /* of the head, in tenths of it from its end: outside the circle */
    } kinds[] = {{"store", "#1565c0", 10}, {"reduce", "#c62828", 17}, {"sync", "#546e7a", 10}};

    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n",
            picture->width, picture->height, picture->width, picture->height);
    fputs("<style>text{font:14px sans-serif;fill:#212121}.title{font-size:17px;font-weight:bold}"
          ".round{text-anchor:middle;fill:#607d8b}.root{font-weight:bold}.blocks{font-size:12px}"
          "path{fill:none;stroke-width:1.5}.row{stroke:#cfd8dc;stroke-width:1}.column{fill:#f4f6f8}"
          ".under{fill:#ffffff;fill-opacity:0.8}.local{fill:#ffffff;stroke:#1565c0;stroke-width:1.5}"
          ".reduces{fill:#c62828;stroke:#c62828}circle{fill:#c62828}.plus{stroke:#ffffff}"
          ".sync{stroke-dasharray:2 3}",
          out);
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        fprintf(out, ".%s{stroke:%s}", kinds[i].kind, kinds[i].colour);
    fputs("</style>\n<defs>", out);
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        fprintf(
            out,
            "<marker id=\"%s\" viewBox=\"0 0 10 10\" refX=\"%d\" refY=\"5\" markerWidth=\"9\" "
            "markerHeight=\"9\" "
            "markerUnits=\"userSpaceOnUse\" orient=\"auto\"><polygon points=\"0,1 10,5 0,9\" fill=\"%s\"/>"
            "</marker>",
            kinds[i].kind, kinds[i].tip, kinds[i].colour);
    fputs("</defs>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n", out);
}

/* ---- all of it ---- */

static bool can_be_drawn(const hp_problem_t *problem, const hp_rounds_t *rounds, char *why, size_t why_bytes)
{
    if (problem->count <= HP_DRAW_RANKS_MAX && rounds->rounds <= HP_DRAW_ROUNDS_MAX)
        return true;
    snprintf(why, why_bytes,
             "%u ranks and %u rounds are too many for a picture: at most %d ranks and %d rounds are drawn",
             problem->count, rounds->rounds, HP_DRAW_RANKS_MAX, HP_DRAW_ROUNDS_MAX);
    return false;
}

hp_status_t hp_draw_schedules(FILE *out, const hp_schedule_t *schedules, const hp_problem_t *problem,
                              const char *title, char *why, size_t why_bytes)
{
    picture_t picture = {.schedules = schedules, .problem = problem};
    const hp_status_t status = hp_rounds_init(&picture.rounds, schedules, problem);

    if (status != HP_OK) {
        snprintf(why, why_bytes, "%s",
                 status == HP_ERR_ARG ? "the schedules do not get through" : hp_status_text(status));
        return status;
    }
    if (!can_be_drawn(problem, &picture.rounds, why, why_bytes)) {
        hp_rounds_fini(&picture.rounds);
        return HP_ERR_ARG;
    }
    lay_out(&picture);
    print_style(out, &picture);
    print_head(out, &picture, title);
    print_grid(out, &picture);
    for (uint32_t i = 0; i < picture.rounds.message_count; i++)
        print_message(out, &picture, &picture.rounds.messages[i]);
    for (uint32_t i = 0; picture.labels && i < picture.rounds.message_count; i++)
        print_label(out, &picture, &picture.rounds.messages[i]);
    fputs("</svg>\n", out);
    hp_rounds_fini(&picture.rounds);
    return HP_OK;
}
