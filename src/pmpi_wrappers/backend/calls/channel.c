#include "pmpi_wrappers/backend/calls/channel.h"

#include <pthread.h>
#include <stdlib.h>
#include "pmpi_wrappers/backend/calls/agreement.h"
#include "pmpi_wrappers/backend/comms/comm_registry.h"
#include "pmpi_wrappers/backend/comms/comm_release.h"
#include "pmpi_wrappers/backend/comms/private_comm.h"
#include "pmpi_wrappers/backend/comms/shared_comm.h"
#include "pmpi_wrappers/backend/progress/host_collectives.h"
#include "pmpi_wrappers/backend/start/job.h"

/* Of one communicator: as many as there are bits to say which of them are free, but one. */
enum { CHANNELS_MAX = 63 };
static const uint64_t ready_bit = 1ull << CHANNELS_MAX;

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* guards what follows, and whether channels are used */
static hp_channel_t *channels; /* all, oldest first */

/* channel: memory for it. Its state, and its communicator where each has one. */
static bool open_state(hp_channel_t *channel, const hp_comm_state_t *state, MPI_Comm comm)
{
    channel->comm = MPI_COMM_NULL;
    if (hp_shared_comm_exists())
        return (channel->state = hp_comm_registry_add(comm)) != NULL;
    if (P(Comm_dup_with_info)(state->private_comm, MPI_INFO_NULL, &channel->comm) != MPI_SUCCESS)
        return false;
    channel->state = hp_comm_state_find(channel->comm);
    return true;
}

/* Returns whether there is one now; all ranks come here. */
static bool open_channel(hp_channel_t *channel, hp_comm_state_t *state, MPI_Comm comm)
{
    hp_channel_t **end = &state->channels, **end_of_all = &channels;

    if (!open_state(channel, state, comm))
        return false;
    channel->is_used = true;
    channel->id = state->id;
    for (; *end; end = &(*end)->next)
        channel->number++;
    *end = channel;
    pthread_mutex_lock(&lock);
    while (*end_of_all)
        end_of_all = &(*end_of_all)->next_of_all;
    *end_of_all = channel;
    pthread_mutex_unlock(&lock);
    return true;
}

/* All ranks of the channel are here, and it has left its communicator's list; its state may have gone. */
static void free_channel(hp_channel_t *channel)
{
    pthread_mutex_lock(&lock);
    hp_channel_t **place = &channels;
    while (*place != channel)
        place = &(*place)->next_of_all;
    *place = channel->next_of_all;
    pthread_mutex_unlock(&lock);
    if (channel->comm != MPI_COMM_NULL)
        hp_comm_state_free(&channel->comm, P(Comm_free));
    free(channel);
}

/* comm: the program's, which the ranks use where communicators share one. */
static int all_of(const hp_comm_state_t *state, MPI_Comm comm, uint64_t mine, uint64_t *all)
{
    *all = 0;
    return P(Allreduce)(&mine, all, 1, MPI_UINT64_T, MPI_BAND,
                        hp_shared_comm_exists() ? comm : state->private_comm);
}

static uint64_t unused_channels(const hp_comm_state_t *state)
{
    uint64_t mask = 0, bit = 1;

    pthread_mutex_lock(&lock);
    for (const hp_channel_t *channel = state->channels; channel; channel = channel->next, bit <<= 1)
        mask |= channel->is_used ? 0 : bit;
    pthread_mutex_unlock(&lock);
    return mask;
}

static uint32_t channel_count(const hp_comm_state_t *state)
{
    uint32_t count = 0;
    for (const hp_channel_t *channel = state->channels; channel; channel = channel->next)
        count++;
    return count;
}

/* The hints of the program's communicator hold on the channel, too. */
static bool may_be_set_up(const hp_comm_state_t *state, const hp_channel_t *channel)
{
    return channel->state && channel->state->always == HP_OUTCOME_TAKEN &&
           (!state->hinted || hp_comm_state_set_hints(channel->state, state->hinted) == HP_OK);
}

/* *out stays NULL where the library cannot have one more: on all ranks. *spare: memory for it, NULL once it is used. */
static int make_channel(hp_comm_state_t *state, MPI_Comm comm, hp_channel_t **spare, hp_channel_t **out)
{
    hp_channel_t *channel = *spare;
    uint64_t all;

    if (state->has_all_channels || channel_count(state) == CHANNELS_MAX)
        return MPI_SUCCESS;
    const bool is_open = open_channel(channel, state, comm);
    int code = all_of(state, comm, is_open && may_be_set_up(state, channel), &all);
    if (code == MPI_SUCCESS && all)
        code = hp_set_up(channel->state, channel->comm == MPI_COMM_NULL ? comm : channel->comm);
    if (code == MPI_SUCCESS && all && channel->state->is_set_up)
        *out = channel;
    else {
        state->has_all_channels = true; /* the last one stays unused, and goes with the others */
        channel->is_used = false;
    }
    if (is_open)
        *spare = NULL;
    return code;
}

int hp_channel_get(hp_comm_state_t *state, MPI_Comm comm, bool is_ready, hp_channel_t **out)
{
    hp_channel_t *spare =
        calloc(1, sizeof *spare); /* what may fail on one rank does so before the ranks agree */
    uint64_t all;

    int code = all_of(state, comm, (is_ready && spare ? ready_bit : 0) | unused_channels(state), &all);
    const bool are_ready = code == MPI_SUCCESS && all & ready_bit;
    for (hp_channel_t *channel = state->channels; channel && are_ready && !*out;
         channel = channel->next, all >>= 1)
        if (all & 1 && channel->state->is_set_up)
            *out = channel;
    if (*out) {
        pthread_mutex_lock(&lock);
        (*out)->is_used = true;
        pthread_mutex_unlock(&lock);
    } else if (are_ready) {
        code = make_channel(state, comm, &spare, out);
    }
    free(spare);
    return code;
}

/* All ranks are about to free comm. */
static void leave(hp_comm_state_t *state, MPI_Comm comm)
{
    uint64_t all;

    if (hp_host_collective_begin(comm) != MPI_SUCCESS)
        return;
    const int code = all_of(state, comm, unused_channels(state), &all);
    for (hp_channel_t *channel = state->channels; channel && code == MPI_SUCCESS; all >>= 1) {
        hp_channel_t *next = channel->next;
        if (all & 1) {
            if (channel->comm == MPI_COMM_NULL)
                hp_comm_state_end(channel->state);
            free_channel(channel);
        }
        channel = next;
    }
    state->channels = NULL; /* what is left goes at the end: its collective may be started again */
}

void hp_channels_leave(MPI_Comm comm)
{
    pthread_mutex_lock(&lock);
    const bool any = channels != NULL;
    pthread_mutex_unlock(&lock);
    if (!any || comm == MPI_COMM_NULL || !hp_job.active)
        return;
    hp_comm_state_t *state = hp_comm_state_find(comm);
    if (state && state->channels)
        leave(state, comm);
}

/* Freeing is collective, so it has an order that all ranks agree on, as hp_comm_states_fini has. */
static hp_channel_t *first_channel(void)
{
    hp_channel_t *first = channels;
    for (hp_channel_t *channel = channels; channel; channel = channel->next_of_all)
        if (channel->id < first->id || (channel->id == first->id && channel->number < first->number))
            first = channel;
    return first;
}

void hp_channel_put(hp_channel_t *channel)
{
    pthread_mutex_lock(&lock);
    channel->is_used = false;
    pthread_mutex_unlock(&lock);
}

void hp_channels_fini(void)
{
    while (channels)
        free_channel(first_channel());
}
