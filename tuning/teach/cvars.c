#include "cvars.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/job.h"

enum { TEXT_BYTES = 4096 };

typedef struct {
    char name[TEACH_CVAR_BYTES], help[TEXT_BYTES];
    MPI_Datatype type;
    MPI_T_enum words;
    int bind, scope;
} description_t;

void teach_cvars_init(void)
{
    int provided;
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        bench_abort("MPI_T_init_thread failed: this MPI has no tools interface");
}

void teach_cvars_fini(void)
{
    MPI_T_finalize();
}

static bool describe(int index, description_t *what)
{
    int name_bytes = sizeof what->name, help_bytes = sizeof what->help, verbosity;

    what->words = MPI_T_ENUM_NULL;
    return MPI_T_cvar_get_info(index, what->name, &name_bytes, &verbosity, &what->type, &what->words,
                               what->help, &help_bytes, &what->bind, &what->scope) == MPI_SUCCESS;
}

static bool can_change(const description_t *what)
{
    return what->type == MPI_INT && what->bind == MPI_T_BIND_NO_OBJECT &&
           what->scope != MPI_T_SCOPE_CONSTANT && what->scope != MPI_T_SCOPE_READONLY;
}

/* {"ring": 4, ...}; NULL: the MPI does not list the values. */
static json_t *words_of(MPI_T_enum words)
{
    int count, name_bytes = 0;

    if (words == MPI_T_ENUM_NULL || MPI_T_enum_get_info(words, &count, NULL, &name_bytes) != MPI_SUCCESS)
        return NULL;
    json_t *list = json_object();
    for (int i = 0; i < count; i++) {
        char word[TEACH_CVAR_BYTES];
        int value, bytes = sizeof word;
        if (MPI_T_enum_get_item(words, i, &value, word, &bytes) == MPI_SUCCESS)
            json_object_set_new(list, word, json_integer(value));
    }
    return list;
}

/* NULL: of another kind, or it cannot be read. */
static json_t *value_of(int index, const description_t *what)
{
    MPI_T_cvar_handle handle;
    char *text = NULL;
    json_t *value = NULL;
    int count, number;

    if ((what->type != MPI_INT && what->type != MPI_CHAR) || what->bind != MPI_T_BIND_NO_OBJECT ||
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
        return NULL;
    if (what->type == MPI_CHAR) {
        text = calloc(1, (size_t)count + 1);
        if (text && MPI_T_cvar_read(handle, text) == MPI_SUCCESS)
            value = json_string(text);
        free(text);
    } else if (count == 1 && MPI_T_cvar_read(handle, &number) == MPI_SUCCESS) {
        value = json_integer(number);
    }
    MPI_T_cvar_handle_free(&handle);
    return value;
}

static bool begins_with_one(const char *name, char *const *prefixes, int count)
{
    for (int i = 0; i < count; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

json_t *teach_cvars_list(char *const *prefixes, int count)
{
    static description_t what;
    json_t *list = json_array();
    int cvars;

    if (MPI_T_cvar_get_num(&cvars) != MPI_SUCCESS)
        bench_abort("MPI_T_cvar_get_num failed");
    for (int index = 0; index < cvars; index++)
        if (describe(index, &what) && begins_with_one(what.name, prefixes, count))
            json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:o*, s:o*}", "name", what.name, "help",
                                                  what.help, "changes", can_change(&what), "value",
                                                  value_of(index, &what), "words", words_of(what.words)));
    return list;
}

const char *teach_cvar_open(const char *name, teach_cvar_t *cvar)
{
    static description_t what;
    int index, count;

    snprintf(cvar->name, sizeof cvar->name, "%s", name);
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS || !describe(index, &what))
        return "this MPI has no such variable";
    if (!can_change(&what))
        return "it cannot be changed in a running job, or is no int";
    if (MPI_T_cvar_handle_alloc(index, NULL, &cvar->handle, &count) != MPI_SUCCESS ||
        MPI_T_cvar_read(cvar->handle, &cvar->original) != MPI_SUCCESS)
        return "it cannot be read";
    cvar->value = cvar->original;
    return NULL;
}

void teach_cvar_close(teach_cvar_t *cvar)
{
    MPI_T_cvar_handle_free(&cvar->handle);
}

bool teach_cvar_set(teach_cvar_t *cvar, int value)
{
    if (value != cvar->value && MPI_T_cvar_write(cvar->handle, &value) != MPI_SUCCESS)
        return false;
    cvar->value = value;
    return true;
}
