/* launcher: makes `LD_PRELOAD=libhanpmpi.so mpirun ...` reach the ranks on other hosts.
 *
 * Open MPI hands remote ranks only the environment it is told to. So when this library finds itself inside
 * Open MPI's launcher it adds LD_PRELOAD and all HANPMPI_* to the list the launcher forwards: to the MCA
 * parameter mca_base_env_list, or, when the user gave -x on the command line (Open MPI refuses both
 * together), nothing can be added and the user is told. MPICH's launcher forwards the whole environment by
 * itself. Threads: a constructor, before main. Ownership: the environment. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static const char list_variable[] = "OMPI_MCA_mca_base_env_list";

static bool is_launcher(void)
{
    static const char *const names[] = {"mpirun", "mpiexec", "orterun", "prterun", "oshrun"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(program_invocation_short_name, names[i], length) == 0 &&
            (program_invocation_short_name[length] == '\0' || program_invocation_short_name[length] == '.'))
            return true;
    }
    return false;
}

/* Is name already an entry of the semicolon-separated list, as NAME or NAME=value? */
static bool listed(const char *list, const char *name, size_t length)
{
    for (const char *entry = list; entry; entry = strchr(entry, ';')) {
        entry += *entry == ';';
        if (strncmp(entry, name, length) == 0 &&
            (entry[length] == '\0' || entry[length] == ';' || entry[length] == '='))
            return true;
    }
    return false;
}

static void append(char *list, size_t room, const char *name, size_t length)
{
    size_t used = strlen(list);
    if (!listed(list, name, length) && used + length + 2 < room)
        snprintf(list + used, room - used, "%s%.*s", used ? ";" : "", (int)length, name);
}

__attribute__((constructor)) static void forward_environment(void)
{
    char list[8192];

    if (!is_launcher() || !getenv("LD_PRELOAD"))
        return;
    const char *users = getenv(list_variable);
    if (users && strlen(users) >= sizeof list / 2)
        return;
    snprintf(list, sizeof list, "%s", users ? users : "");
    append(list, sizeof list, "LD_PRELOAD", strlen("LD_PRELOAD"));
    for (char **entry = environ; *entry; entry++)
        if (strncmp(*entry, "HANPMPI_", 8) == 0 && strchr(*entry, '='))
            append(list, sizeof list, *entry, (size_t)(strchr(*entry, '=') - *entry));
    setenv(list_variable, list, 1);
}
