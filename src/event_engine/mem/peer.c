#include "event_engine/mem/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434 /* of Linux 5.3; the same on all architectures */
#endif

struct hp_peer {
    hp_peer_t *next;
    pid_t pid;
    unsigned users;
    int fd;
    bool is_pidfd; /* else the process's folder in /proc */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards peers, and their users */
static hp_peer_t *peers;

static int open_folder(pid_t pid)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%ld", (long)pid);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* A pidfd can be read from when the process has ended; a folder has nothing in it any more. */
static bool is_alive(const hp_peer_t *peer)
{
    struct pollfd ended = {.fd = peer->fd, .events = POLLIN};
    int count;

    if (!peer->is_pidfd)
        return faccessat(peer->fd, "stat", F_OK, 0) == 0;
    do
        count = poll(&ended, 1, 0);
    while (count < 0 && errno == EINTR);
    return count == 0;
}

static hp_peer_t *create(pid_t pid)
{
    hp_peer_t *peer = malloc(sizeof *peer);
    if (!peer)
        return NULL;
    *peer = (hp_peer_t){.pid = pid, .fd = (int)syscall(SYS_pidfd_open, pid, 0), .is_pidfd = true};
    if (peer->fd < 0) {
        peer->fd = open_folder(pid);
        peer->is_pidfd = false;
    }
    if (peer->fd >= 0)
        return peer;
    free(peer);
    return NULL;
}

hp_peer_t *hp_peer_open(pid_t pid)
{
    pthread_mutex_lock(&lock);
    hp_peer_t *peer = peers;
    while (peer && (peer->pid != pid || !is_alive(peer))) /* of the dead one the users remain */
        peer = peer->next;
    if (!peer && (peer = create(pid))) {
        peer->next = peers;
        peers = peer;
    }
    if (peer)
        peer->users++;
    pthread_mutex_unlock(&lock);
    return peer;
}

void hp_peer_close(hp_peer_t *peer)
{
    if (!peer)
        return;
    pthread_mutex_lock(&lock);
    if (--peer->users == 0) {
        hp_peer_t **place = &peers;
        while (*place != peer)
            place = &(*place)->next;
        *place = peer->next;
        close(peer->fd);
        free(peer);
    }
    pthread_mutex_unlock(&lock);
}

typedef ssize_t (*move_fn_t)(pid_t, const struct iovec *, unsigned long, const struct iovec *, unsigned long,
                             unsigned long);

static hp_status_t move(move_fn_t move_some, const hp_peer_t *peer, char *own, char *others, size_t bytes)
{
    while (bytes) {
        const struct iovec local = {.iov_base = own, .iov_len = bytes},
                           remote = {.iov_base = others, .iov_len = bytes};
        if (!is_alive(peer))
            return HP_ERR_PEER;
        const ssize_t moved = move_some(peer->pid, &local, 1, &remote, 1, 0);
        if (moved <= 0) {
            if (moved < 0 && errno == EINTR)
                continue;
            return HP_ERR_PEER;
        }
        bytes -= (size_t)moved;
        own += moved;
        others += moved;
    }
    return HP_OK;
}

hp_status_t hp_peer_read(const hp_peer_t *peer, const void *from, void *to, size_t bytes)
{
    return move(process_vm_readv, peer, to, (char *)from, bytes);
}

hp_status_t hp_peer_write(const hp_peer_t *peer, const void *from, void *to, size_t bytes)
{
    return move(process_vm_writev, peer, (char *)from, to, bytes);
}

bool hp_peer_is_reachable(const hp_peer_t *peer, const uint64_t *address, uint64_t expected)
{
    uint64_t found = ~expected;
    return hp_peer_read(peer, address, &found, sizeof found) == HP_OK && found == expected &&
           hp_peer_write(peer, &found, (void *)address, sizeof found) == HP_OK;
}

void hp_peer_permit_access(void)
{
#ifdef PR_SET_PTRACER
    char scope = '0';
    const int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (read(fd, &scope, 1) == 1 && scope == '1')
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    close(fd);
#endif
}
