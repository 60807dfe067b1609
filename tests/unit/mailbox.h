/* mailbox: a transport between threads of one process: a rank is a thread, or several that lock its communicator.
 *
 * A message goes into the mailbox of the rank that it is for; a send is complete at the next poll. Only the mailbox is
 * guarded: what a rank has posted is not, so that the thread sanitizer sees two threads in one transport.
 * Operations: sums of uint64_t. Threads: as transport.h.
 * Ownership: init allocates, fini frees; the peers' mailboxes are borrowed. */
#ifndef HP_TESTS_UNIT_MAILBOX_H
#define HP_TESTS_UNIT_MAILBOX_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "event_engine/transport.h"

enum { MAILBOX_POSTED = 4096 };

typedef struct mailbox_message {
    struct mailbox_message *next;
    uint32_t source, tag;
    size_t bytes;
    char data[];
} mailbox_message_t;

typedef struct {
    char *buffer;
    size_t bytes;
    uint32_t peer, tag;
    void *cookie;
} mailbox_recv_t;

typedef struct mailbox {
    hp_transport_t transport;
    struct mailbox *all; /* by rank */
    uint32_t rank;
    pthread_mutex_t lock; /* of what has come: */
    mailbox_message_t *first, **end;
    mailbox_recv_t recvs[MAILBOX_POSTED]; /* in the order of posting */
    uint32_t recv_count;
    void *sent[MAILBOX_POSTED];
    uint32_t sent_count;
} mailbox_t;

static hp_status_t mailbox_isend(hp_transport_t *transport, const void *buffer, size_t count,
                                 const hp_type_t *type, uint32_t peer, uint32_t tag, void *cookie)
{
    mailbox_t *own = (mailbox_t *)transport, *to = &own->all[peer];
    const size_t bytes = count * type->bytes;
    mailbox_message_t *message = malloc(sizeof *message + bytes);

    if (!message || own->sent_count == MAILBOX_POSTED)
        abort();
    *message = (mailbox_message_t){.source = own->rank, .tag = tag, .bytes = bytes};
    if (bytes)
        memcpy(message->data, buffer, bytes);
    pthread_mutex_lock(&to->lock);
    *to->end = message;
    to->end = &message->next;
    pthread_mutex_unlock(&to->lock);
    own->sent[own->sent_count++] = cookie;
    return HP_OK;
}

static hp_status_t mailbox_irecv(hp_transport_t *transport, void *buffer, size_t count, const hp_type_t *type,
                                 uint32_t peer, uint32_t tag, void *cookie)
{
    mailbox_t *own = (mailbox_t *)transport;
    if (own->recv_count == MAILBOX_POSTED)
        abort();
    own->recvs[own->recv_count++] = (mailbox_recv_t){buffer, count * type->bytes, peer, tag, cookie};
    return HP_OK;
}

/* Takes the first message that the receive matches. The caller holds the lock. */
static mailbox_message_t *mailbox_take(mailbox_t *own, const mailbox_recv_t *recv)
{
    for (mailbox_message_t **place = &own->first; *place; place = &(*place)->next) {
        mailbox_message_t *message = *place;
        if (message->source != recv->peer || message->tag != recv->tag)
            continue;
        *place = message->next;
        if (own->end == &message->next)
            own->end = place;
        return message;
    }
    return NULL;
}

static hp_status_t mailbox_poll(hp_transport_t *transport, void **done, uint32_t capacity, uint32_t *count)
{
    mailbox_t *own = (mailbox_t *)transport;
    uint32_t kept = 0;

    for (*count = 0; *count < capacity && own->sent_count; ++*count)
        done[*count] = own->sent[--own->sent_count];
    pthread_mutex_lock(&own->lock);
    for (uint32_t i = 0; i < own->recv_count; i++) {
        const mailbox_recv_t recv = own->recvs[i];
        mailbox_message_t *message = *count < capacity ? mailbox_take(own, &recv) : NULL;
        if (!message) {
            own->recvs[kept++] = recv;
            continue;
        }
        if (message->bytes != recv.bytes)
            abort();
        if (recv.bytes)
            memcpy(recv.buffer, message->data, recv.bytes);
        free(message);
        done[(*count)++] = recv.cookie;
    }
    pthread_mutex_unlock(&own->lock);
    own->recv_count = kept;
    return HP_OK;
}

static void mailbox_cancel(hp_transport_t *transport)
{
    mailbox_t *own = (mailbox_t *)transport;
    own->recv_count = own->sent_count = 0;
}

static hp_status_t mailbox_reduce(hp_transport_t *transport, const void *in, void *inout, size_t count,
                                  const hp_type_t *type, hp_handle_t op)
{
    (void)transport, (void)type, (void)op;
    for (size_t i = 0; i < count; i++)
        ((uint64_t *)inout)[i] += ((const uint64_t *)in)[i];
    return HP_OK;
}

static hp_status_t mailbox_copy(hp_transport_t *transport, void *to, const void *from, size_t count,
                                const hp_type_t *type)
{
    (void)transport;
    memcpy(to, from, count * type->bytes);
    return HP_OK;
}

static const hp_transport_ops_t mailbox_ops = {.isend = mailbox_isend,
                                               .irecv = mailbox_irecv,
                                               .poll = mailbox_poll,
                                               .cancel = mailbox_cancel,
                                               .reduce = mailbox_reduce,
                                               .copy = mailbox_copy};

static inline void mailbox_init(mailbox_t *own, mailbox_t *all, uint32_t rank)
{
    *own = (mailbox_t){.transport = {.ops = &mailbox_ops}, .all = all, .rank = rank};
    own->end = &own->first;
    pthread_mutex_init(&own->lock, NULL);
}

/* Returns whether nothing was left. */
static inline bool mailbox_fini(mailbox_t *own)
{
    const bool empty = !own->first && !own->recv_count && !own->sent_count;
    for (mailbox_message_t *next; own->first; own->first = next) {
        next = own->first->next;
        free(own->first);
    }
    pthread_mutex_destroy(&own->lock);
    return empty;
}

#endif
