#include "pmpi_wrappers/backend/observe/rank_messages.h"

#include "event_engine/wait.h"
#include "pmpi_wrappers/backend/glue/machine.h"
#include "pmpi_wrappers/backend/glue/mpi_glue.h"
#include "pmpi_wrappers/backend/start/job.h"

/* Exchanges by which two clocks are compared. On 16 ranks over 2 cores one in four or so is undisturbed. */
enum { EXCHANGES = 16 };
/* Of one message of the MPI, whose counts are ints. */
enum { PIECE_BYTES = 1 << 26 };

static size_t piece_of(size_t bytes)
{
    return bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
}

/* Ranks wait here until the ones before them are done. */
static bool receive_piece(void *message, size_t bytes, int from, int tag)
{
    const hp_wait_policy_t policy = hp_job_wait_policy();
    hp_wait_t wait = {0, 0};
    MPI_Request request;
    int complete = 0;

    if (P(Irecv)(message, (int)bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, &request) != MPI_SUCCESS)
        return false;
    if (hp_ranks_take_turns)
        return P(Wait)(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    while (P(Test)(&request, &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS && !complete)
        hp_wait_idle(&wait, &policy);
    return complete;
}

bool hp_rank_send(const void *message, size_t bytes, int to, int tag)
{
    const char *at = message;

    do {
        const size_t piece = piece_of(bytes);
        if (P(Send)(at, (int)piece, MPI_BYTE, to, tag, MPI_COMM_WORLD) != MPI_SUCCESS)
            return false;
        at += piece;
        bytes -= piece;
    } while (bytes > 0);
    return true;
}

bool hp_rank_receive(void *message, size_t bytes, int from, int tag)
{
    char *at = message;

    do {
        const size_t piece = piece_of(bytes);
        if (!receive_piece(at, piece, from, tag))
            return false;
        at += piece;
        bytes -= piece;
    } while (bytes > 0);
    return true;
}

bool hp_rank_ask_clock(int rank, int tag, bool go, hp_trace_clock_t *clock, unsigned when)
{
    uint64_t question = go, answer, best_ns = UINT64_MAX;

    for (int i = 0; i < (go ? EXCHANGES : 1); i++) {
        const uint64_t asked = hp_machine_clock_ns();
        if (!hp_rank_send(&question, sizeof question, rank, tag))
            return false;
        if (!go)
            return true;
        if (!hp_rank_receive(&answer, sizeof answer, rank, tag))
            return false;
        const uint64_t took = hp_machine_clock_ns() - asked;
        if (took >= best_ns)
            continue;
        best_ns = took;
        clock->at_ns[when] = answer;
        clock->ahead_ns[when] = (int64_t)(answer - (asked + took / 2));
        clock->error_ns[when] = took / 2;
    }
    return true;
}

bool hp_rank_answer_clock(int from, int tag, bool *go)
{
    uint64_t question, answer;

    for (int i = 0; i < EXCHANGES; i++) {
        if (!hp_rank_receive(&question, sizeof question, from, tag))
            return false;
        *go = question;
        if (!*go)
            return true;
        answer = hp_machine_clock_ns();
        if (!hp_rank_send(&answer, sizeof answer, from, tag))
            return false;
    }
    return true;
}
