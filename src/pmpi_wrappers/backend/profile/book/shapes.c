#include "pmpi_wrappers/backend/profile/book/shapes.h"

#include <ctype.h>
#include <string.h>
#include "pmpi_wrappers/backend/profile/book/last_call.h"

typedef struct {
    const char *name, *letters;
    uint8_t kind, action;
} row_t;

static const row_t rows[HP_ROW_COUNT] = {
#define HP_RECORDED(kind, action, name, arguments, shape)                                                    \
    [HP_ROW_##name] = {"MPI_" #name, shape, HP_KIND_##kind, HP_DO_##action},
#include "pmpi_wrappers/recorded.def"
};
#define HP_RECORDED(kind, action, name, arguments, shape)                                                    \
    _Static_assert(sizeof shape == arguments + 1, "a letter for each argument");
#include "pmpi_wrappers/recorded.def"

hp_call_shape_t hp_call_shapes[HP_ROW_COUNT];

const char *hp_kind_word(hp_kind_t kind)
{
    static const char *const words[] = {"none", "collective", "send", "receive",
                                        "wait", "test",       "sync", "io"};
    return words[kind];
}

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static int8_t place_of(const char *letters, char letter)
{
    const char *at = strchr(letters, letter);
    return at ? (int8_t)(at - letters) : -1;
}

/* The first number behind the buffer; the second of two alike is of displacements. */
static int8_t count_behind(const char *letters, int8_t buffer, int8_t end)
{
    for (int8_t i = (int8_t)(buffer + 1); i < end; i++)
        if (islower((unsigned char)letters[i]) && letters[i] != 'c')
            return i;
    return -1;
}

static hp_waiting_t waiting_of(const char *letters)
{
    const bool is_rooted = strchr(letters, 'R');
    const char recv = strchr(letters, 'B') ? strchr(letters, 'B')[1] : '\0';

    if (strpbrk(letters, "iods"))
        return HP_NEIGHBORS;
    if (!is_rooted)
        return HP_ALL_WAIT;
    return recv == '\0' || recv == 'm' ? HP_ROOT_GIVES : HP_ROOT_TAKES;
}

static void read_shape(hp_call_shape_t *shape, const row_t *row)
{
    const char *l = row->letters;
    const int8_t end = (int8_t)strlen(l);

    *shape = (hp_call_shape_t){.name = row->name,
                               .kind = row->kind,
                               .action = row->action,
                               .is_large = ends_with(row->name, "_c"),
                               .send = place_of(l, 'A'),
                               .send_type = place_of(l, 'T'),
                               .send_types = place_of(l, 'W'),
                               .recv = place_of(l, 'B'),
                               .recv_type = place_of(l, 'U'),
                               .recv_types = place_of(l, 'Y'),
                               .op = place_of(l, 'O'),
                               .root = place_of(l, 'R'),
                               .comm = place_of(l, 'c'),
                               .new_comm = place_of(l, 'N'),
                               .destination = place_of(l, 'D'),
                               .source = place_of(l, 'S'),
                               .status = place_of(l, 'X'),
                               .request = place_of(l, 'Q'),
                               .flag = place_of(l, 'F'),
                               .requests = place_of(l, 'K')};
    shape->send_count =
        shape->send < 0 ? -1 : count_behind(l, shape->send, shape->recv > shape->send ? shape->recv : end);
    shape->recv_count = shape->recv < 0 ? -1 : count_behind(l, shape->recv, end);
    if (shape->recv >= 0 && shape->recv_type < 0 && shape->recv_types < 0) /* one type for both */
        shape->recv_type = shape->send_type;
    if (shape->send_count < 0 && shape->recv_count >= 0 && shape->send == 0 && shape->recv == 1)
        shape->send_type = -1; /* and one number, behind both buffers */
    shape->send_letter = shape->send_count < 0 ? '\0' : l[shape->send_count];
    shape->recv_letter = shape->recv_count < 0 ? '\0' : l[shape->recv_count];
    shape->waiting = (uint8_t)waiting_of(l);
    shape->makes_window =
        strncmp(row->name, "MPI_Win_create", 14) == 0 || strncmp(row->name, "MPI_Win_allocate", 16) == 0;
    shape->is_ours = row->kind == HP_KIND_COLLECTIVE && shape->waiting != HP_NEIGHBORS;
    if (strstr(row->name, "scan") ||
        strstr(row->name, "Scan")) /* Scan and Exscan have the arguments of Allreduce */
        shape->waiting = HP_LOWER_GIVE;
}

/* Most calls. */
static void find_simple(hp_call_shape_t *shape)
{
    const bool sends = shape->send_count >= 0, receives = shape->recv_count >= 0;

    shape->only_count = sends ? shape->send_count : shape->recv_count;
    shape->only_type = sends ? shape->send_type : shape->recv_type;
    shape->is_simple = (!sends && !receives) || (sends != receives && shape->only_type >= 0 &&
                                                 (sends ? shape->send_letter : shape->recv_letter) == 'n');
}

/* Lists may hold something else in the next call. Buffers matter where one may be MPI_IN_PLACE and there are two sides. */
static uint16_t given_of(const hp_call_shape_t *shape, const char *letters)
{
    uint16_t given = 0;

    if (strpbrk(letters, "uvrldsWY"))
        return 0;
    for (unsigned i = 0; letters[i]; i++)
        if (strchr(shape->is_simple ? "nTUDORc" : "ABnmpoiTUDORc", letters[i]))
            given |= (uint16_t)(1u << i);
    return __builtin_popcount(given) <= HP_LAST_ARGUMENTS ? given : 0;
}

void hp_call_shapes_open(void)
{
    for (unsigned i = 0; i < HP_ROW_COUNT; i++) {
        read_shape(&hp_call_shapes[i], &rows[i]);
        find_simple(&hp_call_shapes[i]);
        hp_call_shapes[i].given = given_of(&hp_call_shapes[i], rows[i].letters);
    }
}
