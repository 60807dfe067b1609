/* large_counts: by one word per function in wrapped.def, with a letter for each argument:
 *   -  as it is
 *   n  a count
 *   m  a count that some ranks may leave to chance (MPI_IN_PLACE, not the root)
 *   v  an array of counts or displacements, one per rank of the group that is talked to;  u: unless in place;
 *   r  likewise, at the root only;  l: one per rank of the own group
 *   d  one per destination of the topology;  s: one per source
 *   p o i  as m (recorded.def)
 *   c  the communicator, unless it is the last argument; before it the root of a rooted collective
 *   capital letters: as they are (recorded.def) */
#include "pmpi_wrappers/front/large_counts.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "pmpi_wrappers/arguments.h"

enum { ARGUMENTS_MAX = 12 };

static const hp_host_mpi_t *host_mpi;

#define HP_WRAPPED(name, arguments)
#define HP_WRAPPED_LARGE(name, arguments, counts) int PMPI_##name(PARAMETERS_##arguments);
#include "pmpi_wrappers/wrapped.def"
#undef HP_WRAPPED

/* Asks the host MPI about a communicator. */
static int ask(const char *function, uintptr_t comm)
{
    int answer = 0;
    int (*query)(uintptr_t, int *) = (int (*)(uintptr_t, int *))hp_host_mpi_function(host_mpi, function);
    if (query)
        query(comm, &answer);
    return answer;
}

static int neighbors(uintptr_t comm, bool sources)
{
    const bool is_openmpi = strcmp(host_mpi->abi ? host_mpi->abi : "", "openmpi") == 0;
    const int cart = is_openmpi ? 1 : 2,
              graph = is_openmpi ? 2 : 1; /* MPI_CART, MPI_GRAPH of the two mpi.h */
    const int topology = ask("PMPI_Topo_test", comm);
    int in = 0, out = 0, weighted;

    if (topology == cart)
        return 2 * ask("PMPI_Cartdim_get", comm);
    if (topology == graph) {
        int (*count)(uintptr_t, int, int *) =
            (int (*)(uintptr_t, int, int *))hp_host_mpi_function(host_mpi, "PMPI_Graph_neighbors_count");
        if (count)
            count(comm, ask("PMPI_Comm_rank", comm), &in);
        return in;
    }
    int (*count)(uintptr_t, int *, int *, int *) =
        (int (*)(uintptr_t, int *, int *, int *))hp_host_mpi_function(host_mpi,
                                                                      "PMPI_Dist_graph_neighbors_count");
    if (count)
        count(comm, &in, &out, &weighted);
    return sources ? in : out;
}

/* Is this rank the root of a rooted collective, whose last arguments are root and comm? Between two groups the
 * root says MPI_ROOT, which is -3 or -4; the others of its group say MPI_PROC_NULL, -1 or -2. */
static bool is_root(uintptr_t root, uintptr_t comm)
{
    if (ask("PMPI_Comm_test_inter", comm))
        return (int)root <= -3;
    return (int)root == ask("PMPI_Comm_rank", comm);
}

/* Elements of an array. last: the number of the communicator. */
static int length_of(char letter, const uintptr_t *arguments, unsigned last)
{
    const uintptr_t comm = arguments[last];
    const intptr_t send = (intptr_t)arguments[0];

    switch (letter) {
    case 'd':
    case 's':
        return neighbors(comm, letter == 's');
    case 'u':
        if (send == 1 || send == -1) /* MPI_IN_PLACE of all mpi.h; no buffer is there */
            return 0;
        break;
    case 'r':
        if (!is_root(arguments[last - 1], comm))
            return 0;
        break;
    case 'l':
        return ask("PMPI_Comm_size", comm);
    default:
        break;
    }
    return ask(ask("PMPI_Comm_test_inter", comm) ? "PMPI_Comm_remote_size" : "PMPI_Comm_size", comm);
}

static int narrow(const char *name, int64_t value)
{
    if (value > INT_MAX || value < INT_MIN) {
        hp_error("MPI_%s_c with %lld elements: %s has no large counts", name, (long long)value,
                 host_mpi->path);
        abort();
    }
    return (int)value;
}

static int *narrow_all(const char *name, const int64_t *values, int count)
{
    int *all = malloc((size_t)count * sizeof *all);
    if (!all) {
        hp_error("MPI_%s_c: no memory", name);
        abort();
    }
    for (int i = 0; i < count; i++)
        all[i] = narrow(name, values[i]);
    return all;
}

static int call(const char *name, hp_function_t small, const char *letters, uintptr_t *arguments)
{
    const unsigned count = (unsigned)strlen(letters);
    const char *comm = strchr(letters, 'c');
    const unsigned last = comm ? (unsigned)(comm - letters) : count - 1;
    const uintptr_t *given = arguments;
    uintptr_t x[ARGUMENTS_MAX] = {0};
    int *arrays[ARGUMENTS_MAX] = {NULL};

    for (unsigned i = 0; i < count; i++) {
        const int64_t value = (int64_t)given[i];
        x[i] = given[i];
        if (letters[i] == 'n')
            x[i] = (uintptr_t)(intptr_t)narrow(name, value);
        else if (strchr("mpoi", letters[i])) /* what does not fit is an error if it is looked at */
            x[i] = (uintptr_t)(intptr_t)(value > INT_MAX || value < INT_MIN ? -1 : (int)value);
        else if (islower((unsigned char)letters[i]) && letters[i] != 'c') {
            const int length = length_of(letters[i], given, last);
            if (length > 0)
                x[i] = (uintptr_t)(arrays[i] = narrow_all(name, (const int64_t *)given[i], length));
        }
    }
    /* On these ABIs arguments that a function does not have do no harm. */
    const int code = ((int (*)(PARAMETERS_12))small)(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8],
                                                     x[9], x[10], x[11]);
    for (unsigned i = 0; i < count; i++)
        free(arrays[i]);
    return code;
}

#define HP_WRAPPED(name, arguments)
#define HP_WRAPPED_LARGE(name, arguments, counts)                                                            \
    static int small_##name(PARAMETERS_##arguments)                                                          \
    {                                                                                                        \
        uintptr_t all[] = {ARGUMENTS_##arguments};                                                           \
        _Static_assert(sizeof counts == arguments + 1, "a letter for each argument");                        \
        return call(#name, (hp_function_t)PMPI_##name, counts, all);                                         \
    }
#include "pmpi_wrappers/wrapped.def"
#undef HP_WRAPPED

hp_function_t hp_large_counts_function(hp_wrapped_t which, const hp_host_mpi_t *host)
{
    static const hp_function_t functions[HP_WRAPPED_COUNT] = {
#define HP_WRAPPED(name, arguments)
#define HP_WRAPPED_LARGE(name, arguments, counts) [HP_WRAPPED_##name##_c] = (hp_function_t)small_##name,
#include "pmpi_wrappers/wrapped.def"
#undef HP_WRAPPED
    };
    host_mpi = host;
    return functions[which];
}
