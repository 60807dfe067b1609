#include "pmpi_wrappers/backend/observe/survey.h"

#include <pthread.h>
#include "hier/executions/execution.h"
#include "pmpi_wrappers/backend/comms/comm_registry.h"
#include "pmpi_wrappers/backend/progress/progress.h"

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* of the three below; nobody waits for anything with it */
static hp_survey_t survey;
static bool is_open;
static uint32_t outstanding;

/* What the engine tells of one request goes into one item. */
typedef struct {
    const hp_comm_state_t *state;
    hp_survey_item_t *item;
} telling_t;

static int waited_for(const hp_comm_state_t *state, const hp_pending_t *pending)
{
    const hp_comm_t *comm = state->comm;
    uint32_t rank = pending->peer, count;

    if (pending->what == HP_PENDING_NATIVE)
        return -1;
    if (pending->what == HP_PENDING_FLAG) {
        const uint32_t *ranks = hp_comm_node_ranks(comm, &count);
        const uint32_t member = hp_node_owner(&comm->node_memory, pending->counter);
        if (member >= count)
            return -1;
        rank = ranks[member];
    }
    return state->world_ranks[rank];
}

static void add_wait(void *context, const hp_pending_t *pending)
{
    const telling_t *telling = context;
    hp_survey_item_t *item = telling->item;

    if (pending->what == HP_PENDING_FLAG && (!pending->counter || !telling->state->comm->has_node_memory))
        return;
    const int rank = waited_for(telling->state, pending);
    for (uint32_t i = 0; i < item->wait_count; i++) {
        hp_survey_wait_t *wait = &item->waits[i];
        if (wait->what != pending->what || wait->rank != rank)
            continue;
        if (pending->segment < wait->first)
            wait->first = pending->segment;
        if (pending->segment > wait->last)
            wait->last = pending->segment;
        return;
    }
    if (item->wait_count == HP_SURVEY_WAITS)
        item->more_waits = true;
    else
        item->waits[item->wait_count++] = (hp_survey_wait_t){
            .what = pending->what, .rank = rank, .first = pending->segment, .last = pending->segment};
}

static void add_item(const hp_comm_state_t *state, const hp_execution_t *execution, bool queued)
{
    if (survey.count == HP_SURVEY_ITEMS) {
        survey.left_out++;
        return;
    }
    hp_survey_item_t *item = &survey.items[survey.count++];
    const hp_call_t *call = &execution->call;
    *item = (hp_survey_item_t){.comm_id = state->id,
                               .comm_size = state->size,
                               .comm_rank = state->rank,
                               .collective = call->collective,
                               .algorithm = execution->algorithm->name,
                               .number = execution->number,
                               .bytes = call->collective == HP_BARRIER ? 0 : call->count * call->type.bytes,
                               .since_ns = execution->since_ns,
                               .blocking = execution->owner == NULL,
                               .queued = queued};
    if (!queued)
        hp_request_pending(execution->request, add_wait, &(telling_t){state, item});
}

/* The caller has both locks. */
static void add_items(const hp_comm_state_t *state)
{
    const hp_executions_t *all = state->comm->executions;

    for (const hp_execution_t *execution = all->running; execution; execution = execution->next)
        add_item(state, execution, false);
    for (const hp_execution_t *execution = all->queued; execution; execution = execution->next)
        add_item(state, execution, true);
}

static bool survey_if_free(hp_comm_state_t *state)
{
    if (!hp_comm_state_try_lock(state))
        return false;
    add_items(state);
    hp_comm_state_unlock(state);
    return true;
}

static void survey_or_ask(hp_comm_state_t *state, void *unused)
{
    (void)unused;
    if (survey_if_free(state))
        return;
    atomic_store_explicit(&state->is_asked, true, memory_order_relaxed);
    outstanding++;
}

static void survey_again(hp_comm_state_t *state, void *unused)
{
    (void)unused;
    if (!atomic_load_explicit(&state->is_asked, memory_order_relaxed) || !survey_if_free(state))
        return;
    atomic_store_explicit(&state->is_asked, false, memory_order_relaxed);
    outstanding--;
}

static void withdraw_question(hp_comm_state_t *state, void *unused)
{
    (void)unused;
    atomic_store_explicit(&state->is_asked, false, memory_order_relaxed);
}

void hp_survey_begin(void)
{
    pthread_mutex_lock(&lock);
    survey.count = survey.left_out = survey.held = 0;
    outstanding = 0;
    is_open = true;
    hp_comm_state_each(survey_or_ask, NULL);
    pthread_mutex_unlock(&lock);
}

bool hp_survey_is_complete(void)
{
    pthread_mutex_lock(&lock);
    if (outstanding > 0)
        hp_comm_state_each(survey_again, NULL);
    const bool complete = outstanding == 0;
    pthread_mutex_unlock(&lock);
    return complete;
}

const hp_survey_t *hp_survey_end(void)
{
    pthread_mutex_lock(&lock);
    is_open = false;
    if (outstanding > 0)
        hp_comm_state_each(withdraw_question, NULL);
    survey.held = outstanding;
    pthread_mutex_unlock(&lock);
    return &survey;
}

/* For who has locked the state and waits. */
static void answer(hp_comm_state_t *state)
{
    if (pthread_mutex_trylock(&lock) != 0)
        return;
    if (is_open && atomic_exchange_explicit(&state->is_asked, false, memory_order_relaxed)) {
        add_items(state);
        outstanding--;
    }
    pthread_mutex_unlock(&lock);
}

void hp_survey_init(void)
{
    hp_progress_answer = answer;
}

typedef struct {
    uint64_t comm_id, number;
    hp_entered_t entered;
} question_t;

static void compare(hp_comm_state_t *state, void *context)
{
    question_t *question = context;

    if (state->id != question->comm_id)
        return;
    const uint64_t submitted =
        atomic_load_explicit(&state->comm->executions->submitted, memory_order_relaxed);
    question->entered = submitted >= question->number ? HP_ENTERED : HP_ENTERED_NOT;
}

hp_entered_t hp_survey_has_entered(uint64_t comm_id, uint64_t number)
{
    question_t question = {.comm_id = comm_id, .number = number, .entered = HP_ENTERED_UNKNOWN};
    hp_comm_state_each(compare, &question);
    return question.entered;
}
