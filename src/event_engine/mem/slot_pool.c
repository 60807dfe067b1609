#include "event_engine/mem/slot_pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "event_engine/mem/node_memory.h"

typedef struct pool pool_t;
struct pool {
    pool_t *next;
    pid_t pid;
    uint64_t mark;
    size_t bytes;
    char *base;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static pool_t *pools;
static int own_fd = -1;
static bool own_tried;

static int make(size_t bytes, uint64_t mark)
{
    int fd;

    if (hp_node_memory_file(bytes, &fd) != HP_OK)
        return -1;
    if (hp_node_memory_mark(fd, mark))
        return fd;
    close(fd);
    return -1;
}

int hp_slot_pool_own(size_t bytes, uint64_t mark)
{
    pthread_mutex_lock(&lock);
    if (!own_tried)
        own_fd = make(bytes, mark);
    own_tried = true;
    const int fd = own_fd;
    pthread_mutex_unlock(&lock);
    return fd;
}

static char *map(pid_t pid, int fd, size_t bytes, uint64_t mark)
{
    int own;

    if (fd < 0 || hp_node_memory_open(pid, fd, &own) != HP_OK)
        return NULL;
    void *base = MAP_FAILED;
    if (hp_node_memory_has_mark(own, mark))
        base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
    close(own);
    return base == MAP_FAILED ? NULL : base;
}

static pool_t *create(pid_t pid, int fd, size_t bytes, uint64_t mark)
{
    pool_t *pool = malloc(sizeof *pool);

    if (!pool)
        return NULL;
    *pool = (pool_t){.next = pools, .pid = pid, .mark = mark, .bytes = bytes, .base = map(pid, fd, bytes, mark)};
    if (pool->base)
        return pools = pool;
    free(pool);
    return NULL;
}

char *hp_slot_pool_map(pid_t pid, int fd, size_t bytes, uint64_t mark)
{
    pthread_mutex_lock(&lock);
    pool_t *pool = pools;
    while (pool && (pool->pid != pid || pool->mark != mark || pool->bytes != bytes))
        pool = pool->next;
    if (!pool)
        pool = create(pid, fd, bytes, mark);
    char *base = pool ? pool->base : NULL;
    pthread_mutex_unlock(&lock);
    return base;
}
