#include "pmpi_wrappers/backend/profile/sites/python.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { PLACES_MAX = 32768, KEY_WORDS = 2 * HP_BOOK_FRAMES };

/* Objects are PyObject pointers. name, symbol, result, parameters */
#define FUNCTIONS(X)                                                                                         \
    X(thread_state, "PyGILState_GetThisThreadState", void *, (void))                                         \
    X(lock, "PyGILState_Ensure", int, (void))                                                                \
    X(unlock, "PyGILState_Release", void, (int before))                                                      \
    X(frame, "PyEval_GetFrame", void *, (void)) /* borrowed */                                               \
    X(caller, "PyFrame_GetBack", void *, (void *frame))                                                      \
    X(code, "PyFrame_GetCode", void *, (void *frame))                                                        \
    X(line, "PyFrame_GetLineNumber", int, (void *frame))                                                     \
    X(has, "PyObject_HasAttrString", int, (void *object, const char *name))                                  \
    X(attribute, "PyObject_GetAttrString", void *, (void *object, const char *name))                         \
    X(text, "PyUnicode_AsUTF8", const char *, (void *object))                                                \
    X(forget_error, "PyErr_Clear", void, (void))                                                             \
    X(take, "Py_IncRef", void, (void *object))                                                               \
    X(give_back, "Py_DecRef", void, (void *object))

static struct {
#define X(name, symbol, result, parameters) result(*name) parameters;
    FUNCTIONS(X)
#undef X
    int (*instruction)(void *frame); /* NULL before Python 3.11 */
} python;

/* Code objects and where each is: the line takes longer to find than the instruction. */
typedef struct {
    uint64_t key[KEY_WORDS]; /* the innermost frame first */
    uint64_t site;           /* behind the key; 0: not in the book yet */
} row_t;

/* A frame by name. */
typedef struct {
    char file[256], function[40];
    int line;
} name_t;

struct hp_python_place {
    uint32_t row;
    unsigned depth; /* names, of a place that is new; 0: it is known */
    name_t name[HP_BOOK_FRAMES];
};

bool hp_python_is_there;

static hp_book_t *book;
static unsigned frames_kept;
static hp_table_t places;

static bool find(void *function, const char *symbol)
{
    void *found = dlsym(RTLD_DEFAULT, symbol);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

void hp_python_open(hp_book_t *into, unsigned frames)
{
    book = into;
    frames_kept = frames;
    hp_table_init(&places, sizeof(row_t), KEY_WORDS * sizeof(uint64_t), PLACES_MAX);
    find(&python.instruction, "PyFrame_GetLasti");
#define X(name, symbol, result, parameters) &&find(&python.name, symbol)
    hp_python_is_there = true FUNCTIONS(X);
#undef X
}

void hp_python_fini(void)
{
    hp_python_is_there = false;
    hp_table_fini(&places);
}

/* The next frame out, in place of this one. */
static void *step_out(void *frame)
{
    void *caller = python.caller(frame);
    python.give_back(frame);
    return caller;
}

static void read_key(void *frame, uint64_t key[KEY_WORDS])
{
    python.take(frame);
    for (unsigned i = 0; frame && i < frames_kept; i++) {
        void *code = python.code(frame);
        key[2 * i] = (uintptr_t)code;
        key[2 * i + 1] = (uint64_t)(python.instruction ? python.instruction(frame) : python.line(frame));
        python.give_back(code); /* the frame has it */
        frame = step_out(frame);
    }
    if (frame)
        python.give_back(frame);
}

static void read_text(void *object, const char *name, char *text, size_t room)
{
    void *value = python.attribute(object, name);
    const char *found = value ? python.text(value) : NULL;

    snprintf(text, room, "%s", found ? found : "?");
    if (!found)
        python.forget_error();
    if (value)
        python.give_back(value);
}

/* Code objects are kept, so that no other one comes to lie where one of a key was. */
static void read_names(void *frame, hp_python_place_t *place)
{
    python.take(frame);
    for (; frame && place->depth < frames_kept; place->depth++) {
        name_t *name = &place->name[place->depth];
        void *code = python.code(frame);
        name->line = python.line(frame);
        read_text(code, "co_filename", name->file, sizeof name->file);
        read_text(code, python.has(code, "co_qualname") ? "co_qualname" : "co_name", name->function,
                  sizeof name->function);
        frame = step_out(frame);
    }
    if (frame)
        python.give_back(frame);
}

static hp_python_place_t *locate_locked(void)
{
    static hp_python_place_t place;
    void *frame = python.frame();
    uint64_t key[KEY_WORDS] = {0};

    if (!frame)
        return NULL;
    read_key(frame, key);
    place.row = hp_table_add(&places, key, KEY_WORDS);
    place.depth = 0;
    if (place.row == HP_TABLE_FULL)
        return NULL;
    if (!((const row_t *)hp_table_row(&places, place.row))->site)
        read_names(frame, &place);
    return &place;
}

hp_python_place_t *hp_python_locate(void)
{
    if (!python.thread_state()) /* a thread that Python does not know, before or behind the interpreter */
        return NULL;
    const int before = python.lock();
    hp_python_place_t *place = locate_locked();
    python.unlock(before);
    return place;
}

uint32_t hp_python_site(hp_python_place_t *place)
{
    row_t *row = hp_table_row(&places, place->row);
    hp_book_site_t site = {.frame = {[0 ... HP_BOOK_FRAMES - 1] = HP_BOOK_NO_FRAME}};

    for (unsigned i = 0; i < place->depth; i++)
        site.frame[i] = (uint64_t)hp_book_module(book, place->name[i].file, "", place->name[i].function)
                            << 48 |
                        (uint64_t)place->name[i].line;
    if (place->depth)
        row->site = hp_book_site(book, &site);
    book->lost[HP_LOST_sites] += row->site == 0;
    return (uint32_t)row->site;
}
