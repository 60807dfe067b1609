#include "pmpi_wrappers/backend/profile/unexpected.h"

#include <stdlib.h>
#include "pmpi_wrappers/backend/glue/machine.h"
#include "pmpi_wrappers/backend/glue/mpi_glue.h"

bool hp_unexpected_is_open;

#ifdef HP_NO_TOOL_INTERFACE

bool hp_unexpected_open(void)
{
    return false;
}

void hp_unexpected_fini(void)
{
}

void hp_unexpected_sample(hp_book_unexpected_t *found, hp_handle_t comm)
{
    (void)found;
    (void)comm;
}

#else

/* A sample every millisecond, or as many as take 1/SHARE_OF_RUN of the run. */
enum { INTERVAL_NS = 1000000, SHARE_OF_RUN = 256 };

/* What MPIs call it: of all peers of a communicator; of the process. */
static const struct {
    const char *name;
    int class;
} names[] = {{"pml_ob1_unexpected_msgq_length", MPI_T_PVAR_CLASS_SIZE},
             {"unexpected_recvq_length", MPI_T_PVAR_CLASS_LEVEL}};

static MPI_T_pvar_session session;
static int variable, number_bytes; /* of each of its numbers */
static bool is_of_comm, is_continuous;
static uint64_t next_ns;

static bool exists(void)
{
    return P_EXISTS(T_init_thread) && P_EXISTS(T_finalize) && P_EXISTS(T_pvar_get_index) &&
           P_EXISTS(T_pvar_get_info) && P_EXISTS(T_pvar_session_create) && P_EXISTS(T_pvar_session_free) &&
           P_EXISTS(T_pvar_handle_alloc) && P_EXISTS(T_pvar_handle_free) && P_EXISTS(T_pvar_start) &&
           P_EXISTS(T_pvar_read);
}

/* Can the variable be read, and how? */
static bool describe(void)
{
    int verbosity, class, bind = MPI_T_BIND_NO_OBJECT, is_constant, continuous = 0, is_atomic, no_name = 0,
                          no_text = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;

    if (P(T_pvar_get_info)(variable, NULL, &no_name, &verbosity, &class, &type, NULL, NULL, &no_text, &bind,
                           &is_constant, &continuous, &is_atomic) != MPI_SUCCESS)
        return false;
    if (type != MPI_UNSIGNED && type != MPI_INT && type != MPI_UNSIGNED_LONG &&
        type != MPI_UNSIGNED_LONG_LONG)
        return false;
    number_bytes = type == MPI_UNSIGNED || type == MPI_INT ? (int)sizeof(uint32_t) : (int)sizeof(uint64_t);
    is_of_comm = bind == MPI_T_BIND_MPI_COMM;
    is_continuous = continuous;
    return is_of_comm || bind == MPI_T_BIND_NO_OBJECT;
}

static bool find_variable(void)
{
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (P(T_pvar_get_index)(names[i].name, names[i].class, &variable) == MPI_SUCCESS)
            return describe();
    return false;
}

bool hp_unexpected_open(void)
{
    int provided;

    if (!exists() || P(T_init_thread)(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return false;
    hp_unexpected_is_open = find_variable() && P(T_pvar_session_create)(&session) == MPI_SUCCESS;
    if (!hp_unexpected_is_open)
        P(T_finalize)();
    next_ns = 0;
    return hp_unexpected_is_open;
}

void hp_unexpected_fini(void)
{
    if (!hp_unexpected_is_open)
        return;
    hp_unexpected_is_open = false;
    P(T_pvar_session_free)(&session);
    P(T_finalize)();
}

static uint64_t sum_of(const void *numbers, int count)
{
    uint64_t sum = 0;

    for (int i = 0; i < count; i++)
        sum += number_bytes == sizeof(uint32_t) ? ((const uint32_t *)numbers)[i]
                                                : ((const uint64_t *)numbers)[i];
    return sum;
}

/* False: it cannot be read now. */
static bool read_variable(MPI_T_pvar_handle handle, int count, uint64_t *messages)
{
    void *numbers = malloc((size_t)count * sizeof(uint64_t));
    const bool is_read = numbers && (is_continuous || P(T_pvar_start)(session, handle) == MPI_SUCCESS) &&
                         P(T_pvar_read)(session, handle, numbers) == MPI_SUCCESS;

    if (is_read)
        *messages = sum_of(numbers, count);
    free(numbers);
    return is_read;
}

static void sample(hp_book_unexpected_t *found, MPI_Comm comm)
{
    MPI_T_pvar_handle handle;
    uint64_t messages = 0;
    int count = 0;

    if (P(T_pvar_handle_alloc)(session, variable, is_of_comm ? &comm : NULL, &handle, &count) != MPI_SUCCESS)
        return;
    if (count > 0 && read_variable(handle, count, &messages)) {
        found->samples++;
        found->with_any += messages > 0;
        found->messages += messages;
        found->most = messages > found->most ? messages : found->most;
    }
    P(T_pvar_handle_free)(session, &handle); /* the program may free the communicator */
}

void hp_unexpected_sample(hp_book_unexpected_t *found, hp_handle_t comm)
{
    const uint64_t begin = hp_machine_clock_ns();

    if (begin < next_ns)
        return;
    sample(found, HP_UNHANDLE(MPI_Comm, comm));
    const uint64_t end = hp_machine_clock_ns(), pause = (end - begin) * SHARE_OF_RUN;
    next_ns = end + (pause > INTERVAL_NS ? pause : INTERVAL_NS);
}

#endif
