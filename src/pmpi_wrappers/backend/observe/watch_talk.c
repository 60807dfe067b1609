#include "pmpi_wrappers/backend/observe/watch_talk.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/log.h"
#include "event_engine/wait.h"
#include "pmpi_wrappers/backend/comms/private_comm.h"
#include "pmpi_wrappers/backend/start/job.h"

enum { QUESTION_TAG = 1, ANSWER_TAG = 2 };
/* Messages that the MPI has not sent yet: beyond so many a question is not asked, an answer not given. */
enum { SENDS = 256 };

/* What each rank says of itself at the start. */
typedef struct {
    char host[HP_HOST_BYTES];
    uint64_t answers;
} member_t;

typedef struct {
    uint32_t number;
    hp_talk_what_t what;
} question_t;

typedef struct {
    MPI_Request request;
    union {
        question_t question;
        hp_talk_answer_t answer;
    } message;
} send_t;

static MPI_Comm talk = MPI_COMM_NULL;
static member_t *members; /* of MPI_COMM_WORLD */
static bool may_ask;
static send_t sends[SENDS];
static uint32_t send_count, questions_asked, answers_taken;

static void introduce(member_t *mine, bool answers)
{
    memset(mine, 0, sizeof *mine);
    if (gethostname(mine->host, sizeof mine->host - 1) != 0)
        strcpy(mine->host, "unknown");
    mine->host[strcspn(mine->host, ".")] = '\0';
    mine->answers = answers;
}

void hp_talk_open(bool answers)
{
    const size_t size = (size_t)hp_job.size;
    member_t mine;
    int ready, all_ready = 0;

    members = malloc(size * sizeof *members);
    ready = members != NULL;
    if (P(Allreduce)(&ready, &all_ready, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) != MPI_SUCCESS || !all_ready) {
        free(members);
        members = NULL;
        return;
    }
    introduce(&mine, answers);
    if (P(Allgather)(&mine, sizeof mine, MPI_BYTE, members, sizeof mine, MPI_BYTE, MPI_COMM_WORLD) !=
            MPI_SUCCESS ||
        !hp_comm_twin(MPI_COMM_WORLD, &talk)) {
        free(members);
        members = NULL;
        return;
    }
    may_ask = answers;
}

const char *hp_talk_host(int rank)
{
    return members && rank >= 0 && rank < hp_job.size ? members[rank].host : NULL;
}

bool hp_talk_is_open(void)
{
    return may_ask;
}

/* Room for one more message; NULL: there is none. */
static send_t *new_send(void)
{
    for (uint32_t i = 0; i < send_count;) {
        int complete = 0;
        P(Test)(&sends[i].request, &complete, MPI_STATUS_IGNORE);
        if (!complete) {
            i++;
            continue;
        }
        /* The MPI has the address of an open one's buffer: they stay where they are. */
        sends[i].request = MPI_REQUEST_NULL;
        if (i + 1 < send_count)
            return &sends[i];
        send_count--;
    }
    return send_count < SENDS ? &sends[send_count++] : NULL;
}

static bool post(send_t *send, const void *message, size_t bytes, int rank, int tag)
{
    if (P(Isend)(message, (int)bytes, MPI_BYTE, rank, tag, talk, &send->request) == MPI_SUCCESS)
        return true;
    send->request = MPI_REQUEST_NULL;
    return false;
}

uint32_t hp_talk_ask(int rank, const hp_talk_what_t *what)
{
    if (!may_ask || !members[rank].answers)
        return 0;
    send_t *send = new_send();
    if (!send)
        return 0;
    send->message.question = (question_t){.number = questions_asked + 1, .what = *what};
    if (!post(send, &send->message.question, sizeof send->message.question, rank, QUESTION_TAG))
        return 0;
    return ++questions_asked;
}

static bool take(int tag, void *message, size_t bytes, int *from)
{
    MPI_Status status;
    int found = 0;

    if (talk == MPI_COMM_NULL || P(Iprobe)(MPI_ANY_SOURCE, tag, talk, &found, &status) != MPI_SUCCESS ||
        !found)
        return false;
    *from = status.MPI_SOURCE;
    return P(Recv)(message, (int)bytes, MPI_BYTE, *from, tag, talk, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

bool hp_talk_take_answer(hp_talk_answer_t *out, int *from)
{
    if (answers_taken == questions_asked || !take(ANSWER_TAG, out, sizeof *out, from))
        return false;
    answers_taken++;
    return true;
}

bool hp_talk_take_question(hp_talk_question_t *out)
{
    question_t question;

    if (!take(QUESTION_TAG, &question, sizeof question, &out->from))
        return false;
    out->number = question.number;
    out->what = question.what;
    return true;
}

void hp_talk_answer(const hp_talk_question_t *question, hp_talk_answer_t *answer)
{
    send_t *send;

    answer->question = question->number;
    /* Whoever asked waits for it before it ends. */
    while (!(send = new_send()))
        usleep(1000);
    send->message.answer = *answer;
    post(send, &send->message.answer, sizeof send->message.answer, question->from, ANSWER_TAG);
}

void hp_talk_close(void (*answer)(const hp_talk_what_t *what, hp_talk_answer_t *out))
{
    const hp_wait_policy_t policy = hp_job_wait_policy();
    MPI_Request barrier = MPI_REQUEST_NULL;
    hp_wait_t wait = {0, 0};
    bool is_last = false;
    int over = 0, from;

    if (talk == MPI_COMM_NULL)
        return;
    may_ask = false;
    while (!over) {
        hp_talk_question_t question;
        hp_talk_answer_t told;
        while (hp_talk_take_answer(&told, &from))
            ;
        while (hp_talk_take_question(&question)) {
            answer(&question.what, &told);
            hp_talk_answer(&question, &told);
        }
        if (!is_last && answers_taken == questions_asked) { /* from now on this rank only answers */
            is_last = true;
            over = P(Ibarrier)(talk, &barrier) != MPI_SUCCESS;
        }
        if (is_last && !over)
            P(Test)(&barrier, &over, MPI_STATUS_IGNORE);
        if (!over)
            hp_wait_idle(&wait, &policy);
    }
    while (send_count > 0) /* all were received: the barrier is behind the answers */
        P(Wait)(&sends[--send_count].request, MPI_STATUS_IGNORE);
    P(Comm_free)(&talk);
    free(members);
    members = NULL;
}
