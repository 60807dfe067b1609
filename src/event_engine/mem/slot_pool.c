#include "event_engine/mem/slot_pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "event_engine/mem/shared_file.h"

typedef struct mapping mapping_t;
struct mapping {
    mapping_t *next;
    hp_slot_pool_t pool;
    size_t bytes;
    hp_slot_pool_view_t view;
    uint32_t users;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static mapping_t *mappings;
static int own_fd = -1;
static bool own_tried;

int hp_slot_pool_own(size_t bytes, uint64_t mark)
{
    pthread_mutex_lock(&lock);
    if (!own_tried)
        hp_shared_file_create(bytes, mark, &own_fd);
    own_tried = true;
    const int fd = own_fd;
    pthread_mutex_unlock(&lock);
    return fd;
}

/* A file of another size would end who touches what lies behind its end. */
static bool has_bytes(int fd, size_t bytes)
{
    struct stat found;
    return fstat(fd, &found) == 0 && found.st_size == (off_t)bytes;
}

static char *map(const hp_slot_pool_t *pool, size_t bytes)
{
    void *base = MAP_FAILED;
    int fd;

    if (pool->fd < 0 || hp_shared_file_open(pool->pid, pool->fd, pool->mark, &fd) != HP_OK)
        return NULL;
    if (has_bytes(fd, bytes))
        base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return base == MAP_FAILED ? NULL : base;
}

static mapping_t *create(const hp_slot_pool_t *pool, size_t bytes)
{
    mapping_t *made = malloc(sizeof *made);

    if (!made)
        return NULL;
    *made = (mapping_t){.next = mappings, .pool = *pool, .bytes = bytes, .view = {.base = map(pool, bytes)}};
    if (made->view.base)
        return mappings = made;
    free(made);
    return NULL;
}

static bool is_of(const mapping_t *mapping, const hp_slot_pool_t *pool, size_t bytes)
{
    return mapping->pool.pid == pool->pid && mapping->pool.fd == pool->fd && mapping->pool.mark == pool->mark &&
           mapping->bytes == bytes;
}

hp_slot_pool_view_t *hp_slot_pool_map(const hp_slot_pool_t *pool, size_t bytes)
{
    pthread_mutex_lock(&lock);
    mapping_t *mapping = mappings;
    while (mapping && !is_of(mapping, pool, bytes))
        mapping = mapping->next;
    if (!mapping)
        mapping = create(pool, bytes);
    if (mapping)
        mapping->users++;
    pthread_mutex_unlock(&lock);
    return mapping ? &mapping->view : NULL;
}

void hp_slot_pool_unmap(hp_slot_pool_view_t *view)
{
    pthread_mutex_lock(&lock);
    mapping_t **place = &mappings;
    while (*place && &(*place)->view != view)
        place = &(*place)->next;
    mapping_t *mapping = *place;
    if (mapping && --mapping->users == 0) {
        *place = mapping->next;
        munmap(mapping->view.base, mapping->bytes);
        free(mapping);
    }
    pthread_mutex_unlock(&lock);
}
