/* launcher: makes `LD_PRELOAD=libhanpmpi.so mpirun ...` reach the ranks on other hosts.
 *
 * Open MPI hands remote ranks only the environment it is told to; MPICH's launcher hands on everything by
 * itself. So when this library finds itself inside Open MPI's launcher it tells it about LD_PRELOAD and all
 * HANPMPI_* variables, in the way the user already uses (Open MPI 4 refuses to mix them):
 *
 *   -x on the command line                      more -x; the launcher is started again with them
 *   --mca mca_base_env_list on the command line longer list, put in its place
 *   neither                                     the list in the environment, behind what the user put there
 *
 * An -x among the program's words does no harm: with it the launcher is told by -x.
 *
 * Threads: a constructor, before main. Ownership: what is allocated lives as long as the process. */
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum { NAMES_MAX = 128 };
static const char list_variable[] = "OMPI_MCA_mca_base_env_list", list_parameter[] = "mca_base_env_list";

/* mpirun and mpiexec are other MPIs' launchers, too, which know neither -x nor the list. */
static int is_open_mpi_library(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    return strstr(info->dlpi_name, "libopen-rte.so") || strstr(info->dlpi_name, "libprrte.so");
}

static bool is_launcher(void)
{
    static const char *const names[] = {"mpirun", "mpiexec", "orterun", "prterun"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(program_invocation_short_name, names[i], length) == 0 &&
            (program_invocation_short_name[length] == '\0' || program_invocation_short_name[length] == '.'))
            return dl_iterate_phdr(is_open_mpi_library, NULL);
    }
    return false;
}

/* Is text NAME or NAME=value, up to its end or to a semicolon? */
static bool names_variable(const char *text, const char *name)
{
    size_t length = strlen(name);
    return strncmp(text, name, length) == 0 &&
           (text[length] == '\0' || text[length] == ';' || text[length] == '=');
}

static bool is_listed(const char *list, const char *name)
{
    for (const char *entry = list; entry; entry = strchr(entry, ';')) {
        entry += *entry == ';';
        if (names_variable(entry, name))
            return true;
    }
    return false;
}

/* The user's list with our names behind it; NULL when out of memory. */
static char *extend_list(const char *users, char *const names[], size_t count)
{
    size_t room = strlen(users) + 1;
    for (size_t i = 0; i < count; i++)
        room += strlen(names[i]) + 1;
    char *list = malloc(room);
    if (!list)
        return NULL;
    strcpy(list, users);
    for (size_t i = 0; i < count; i++)
        if (!is_listed(users, names[i])) {
            if (*list)
                strcat(list, ";");
            strcat(list, names[i]);
        }
    return list;
}

static bool is_x(const char *argument)
{
    return strcmp(argument, "-x") == 0 || strcmp(argument, "--x") == 0;
}

/* Starts the launcher again with -x for every name it does not have, in every application context (they are
 * separated by colons). Returns when there is nothing to add or the start fails. */
static void restart_with_x(int argc, char **argv, char *const names[], size_t count)
{
    char *missing[NAMES_MAX];
    size_t missing_count = 0, contexts = 1;

    for (size_t i = 0; i < count; i++) {
        bool given = false;
        for (int k = 1; k + 1 < argc; k++)
            given |= is_x(argv[k]) && names_variable(argv[k + 1], names[i]);
        if (!given)
            missing[missing_count++] = names[i];
    }
    for (int k = 1; k < argc; k++)
        contexts += strcmp(argv[k], ":") == 0;
    char **longer = malloc(((size_t)argc + 1 + 2 * contexts * missing_count) * sizeof *longer);
    if (missing_count == 0 || !longer) {
        free(longer);
        return;
    }
    size_t used = 0;
    for (int k = 0; k < argc; k++) {
        longer[used++] = argv[k];
        if (k > 0 && strcmp(argv[k], ":") != 0)
            continue;
        for (size_t i = 0; i < missing_count; i++) {
            longer[used++] = (char *)"-x";
            longer[used++] = missing[i];
        }
    }
    longer[used] = NULL;
    execv("/proc/self/exe", longer);
    free(longer);
}

/* Lengthens the list on the command line. false: there is none. */
static bool extend_argument(int argc, char **argv, char *const names[], size_t count)
{
    bool found = false;
    for (int k = 1; k + 2 < argc; k++)
        if (argv[k][0] == '-' && strstr(argv[k], "mca") && strcmp(argv[k + 1], list_parameter) == 0) {
            char *list = extend_list(argv[k + 2], names, count);
            if (list)
                argv[k + 2] = list;
            found = true;
        }
    return found;
}

/* glibc passes main's arguments to constructors; argv is the array that main will see. */
__attribute__((constructor)) static void forward_environment(int argc, char **argv)
{
    char *names[NAMES_MAX];
    size_t count = 0;

    if (!is_launcher() || !getenv("LD_PRELOAD"))
        return;
    names[count++] = (char *)"LD_PRELOAD";
    for (char **entry = environ; *entry && count < NAMES_MAX; entry++) {
        const char *equals = strchr(*entry, '=');
        if (strncmp(*entry, "HANPMPI_", 8) == 0 && equals) {
            names[count] = strndup(*entry, (size_t)(equals - *entry));
            count += names[count] != NULL;
        }
    }
    const char *users = getenv(list_variable);
    for (int k = 1; k < argc && !users; k++) /* beside a list an -x is the program's own */
        if (is_x(argv[k])) {
            restart_with_x(argc, argv, names, count);
            return;
        }
    if (extend_argument(argc, argv, names, count))
        return;
    char *list = extend_list(users ? users : "", names, count);
    if (list)
        setenv(list_variable, list, 1);
    free(list);
}
