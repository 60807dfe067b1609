/* test_node_slots: which slots have pages, and who has the rings of the pool. */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"
#include "event_engine/mem/node_memory.h"
#include "event_engine/mem/pages.h"
#include "event_engine/mem/shared_file.h"
#include "faults.h"

/* ---- pages of the slots ---- */

enum { BIG_SLOT_BYTES = 1 << 20, IDLE_MEMORIES = 3, MARK = 4711 };

static size_t pages_of(int fd)
{
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    return (size_t)status.st_blocks / 8;
}

/* As a collective does: its owner fills all slots with the value. */
static void use_all_slots(hp_node_memory_t *memory, char value)
{
    const hp_node_shape_t *shape = &memory->shape;

    hp_node_use_slots(memory, shape->slot_bytes, shape->slot_bytes, ++memory->step);
    for (unsigned fan = 0; fan < HP_FAN_COUNT; fan++) {
        hp_node_back_slots(memory, 0, (hp_fan_t)fan);
        for (uint32_t slot = 0; slot < shape->slots; slot++)
            memset(hp_node_slot(memory, 0, 0, (hp_fan_t)fan, slot), value, shape->slot_bytes);
    }
}

/* As if it had been used so long ago. */
static void age(hp_node_memory_t *memory, uint64_t ns)
{
    memory->slots.used_ns -= ns;
}

/* 16 MiB of own slots, more than all may keep together. */
static const hp_node_shape_t big_shape = {
    .members = 2, .levels = 1, .slots = 8, .slot_bytes = BIG_SLOT_BYTES};

/* One process's part of each of IDLE_MEMORIES. */
static void make_memories(hp_node_memory_t *memories, int *fds)
{
    for (unsigned i = 0; i < IDLE_MEMORIES; i++) {
        assert_int_equal(hp_shared_file_create(hp_node_memory_bytes(&big_shape), MARK, &fds[i]), HP_OK);
        assert_int_equal(hp_node_memory_init(&memories[i], &big_shape, 0, NULL, fds[i], NULL), HP_OK);
    }
}

static void idle_slots_give_their_pages_back(void **state)
{
    (void)state;
    const size_t slot_pages = (size_t)HP_FAN_COUNT * big_shape.slots * BIG_SLOT_BYTES / 4096;
    hp_node_memory_t memories[IDLE_MEMORIES];
    int fds[IDLE_MEMORIES];

    make_memories(memories, fds);
    assert_int_equal(hp_node_usage().memories, IDLE_MEMORIES);
    assert_int_equal(hp_node_usage().bytes, IDLE_MEMORIES * hp_node_member_bytes(&big_shape));
    strcpy(hp_node_slot(&memories[0], 1, 0, HP_FAN_IN, 0), "the other member's");

    use_all_slots(&memories[0], 1);
    hp_node_set(&memories[0], hp_node_done(&memories[0], 0), 1);
    age(&memories[0], HP_SLOTS_IDLE_NS);
    use_all_slots(&memories[1], 2);
    assert_true(pages_of(fds[0]) >= slot_pages); /* the other member may still read them */
    hp_node_set(&memories[0], hp_node_done(&memories[0], 1), 1);
    use_all_slots(&memories[2], 3);
    assert_true(pages_of(fds[0]) < 16);
    assert_true(pages_of(fds[1]) >= slot_pages && pages_of(fds[2]) >= slot_pages); /* in use */
    assert_int_equal(hp_node_usage().slot_bytes, 2 * slot_pages * 4096);
    assert_string_equal(hp_node_slot(&memories[0], 1, 0, HP_FAN_IN, 0), "the other member's");
    assert_int_equal(atomic_load(hp_node_done(&memories[0], 0)), 1);
    assert_int_equal(*hp_node_slot(&memories[1], 0, 0, HP_FAN_OUT, 7), 2);

    for (unsigned i = 1; i < IDLE_MEMORIES; i++)
        for (uint32_t member = 0; member < 2; member++)
            hp_node_set(&memories[i], hp_node_done(&memories[i], member), 1);
    age(&memories[1], HP_SLOTS_IDLE_NS);
    age(&memories[2], HP_SLOTS_IDLE_NS);
    use_all_slots(&memories[0], 4);
    assert_int_equal(*hp_node_slot(&memories[0], 0, 0, HP_FAN_OUT, 7), 4);
    assert_true(pages_of(fds[1]) < 16 && pages_of(fds[2]) < 16);
    for (unsigned i = 0; i < IDLE_MEMORIES; i++) {
        close(fds[i]);
        hp_node_memory_fini(&memories[i]);
    }
    assert_int_equal(hp_node_usage().memories, 0);
    assert_int_equal(hp_node_usage().slot_bytes, 0);
}

/* A program that uses more communicators in turn than may keep pages while they are idle must not pay for them in each
 * call. */
static void slots_that_are_used_again_and_again_keep_their_pages(void **state)
{
    (void)state;
    const size_t slot_pages = (size_t)HP_FAN_COUNT * big_shape.slots * BIG_SLOT_BYTES / 4096;
    hp_node_memory_t memories[IDLE_MEMORIES];
    int fds[IDLE_MEMORIES];

    make_memories(memories, fds);
    for (unsigned turn = 0; turn < 2; turn++)
        for (unsigned i = 0; i < IDLE_MEMORIES; i++) {
            use_all_slots(&memories[i], 1);
            for (uint32_t member = 0; member < 2; member++)
                hp_node_set(&memories[i], hp_node_done(&memories[i], member), memories[i].step);
        }
    for (unsigned i = 0; i < IDLE_MEMORIES; i++) {
        assert_true(pages_of(fds[i]) >= slot_pages);
        close(fds[i]);
        hp_node_memory_fini(&memories[i]);
    }
}

/* What a rank does not write is not there: of four levels most ranks write one ring. */
static void only_rings_that_are_filled_get_pages(void **state)
{
    (void)state;
    const hp_node_shape_t shape = {.members = 2, .levels = 4, .slots = 8, .slot_bytes = BIG_SLOT_BYTES};
    const size_t used = 32768;
    hp_node_memory_t memory;
    int fd;

    assert_int_equal(hp_shared_file_create(hp_node_memory_bytes(&shape), MARK, &fd), HP_OK);
    assert_int_equal(hp_node_memory_init(&memory, &shape, 0, NULL, fd, NULL), HP_OK);
    hp_node_use_slots(&memory, used, used, 1);
    assert_int_equal(hp_node_usage().slot_bytes, 0);
    for (unsigned again = 0; again < 2; again++) {
        hp_node_back_slots(&memory, 3, HP_FAN_IN);
        assert_int_equal(hp_node_usage().slot_bytes, shape.slots * used);
        assert_in_range(pages_of(fd), 0, 1 + shape.slots * (used / 4096 + 1)); /* counters; slots may begin amid a page */
    }
    hp_node_use_slots(&memory, 2 * BIG_SLOT_BYTES, 2 * BIG_SLOT_BYTES, 2); /* no more than a slot has */
    hp_node_back_slots(&memory, 3, HP_FAN_IN);
    assert_int_equal(hp_node_usage().slot_bytes, shape.slots * BIG_SLOT_BYTES);
    hp_node_use_slots(&memory, 0, BIG_SLOT_BYTES, 3);
    hp_node_back_slots(&memory, 0, HP_FAN_OUT);
    assert_int_equal(hp_node_usage().slot_bytes, shape.slots * BIG_SLOT_BYTES);
    close(fd);
    hp_node_memory_fini(&memory);
    assert_int_equal(hp_node_usage().slot_bytes, 0);
}

/* ---- the pool ---- */

enum { RINGS = 3, SLOTS = 2, SLOT_BYTES = 8192, MOST = RINGS + 1 };

/* This process's pool is made for this shape, once. */
static const hp_node_shape_t pool_shape = {
    .members = 2, .levels = 1, .slots = SLOTS, .slot_bytes = SLOT_BYTES, .pool_rings = RINGS};

/* A communicator of two ranks: who fills slots, and who reads them. */
typedef struct {
    int fd;
    hp_node_memory_t owner, reader;
} pair_t;

static void borrow(hp_node_memory_t *memory)
{
    const hp_slot_pool_t own = {.pid = getpid(), .fd = hp_node_pool_file(&pool_shape, MARK), .mark = MARK};
    const hp_slot_pool_t pools[2] = {own, own};

    assert_int_equal(hp_node_borrow(memory, pools), HP_OK);
}

/* Each maps the memory, as in processes of their own. */
static void make(pair_t *pair)
{
    assert_int_equal(hp_shared_file_create(hp_node_memory_bytes(&pool_shape), MARK, &pair->fd), HP_OK);
    assert_int_equal(hp_node_memory_init(&pair->owner, &pool_shape, 0, NULL, pair->fd, NULL), HP_OK);
    assert_int_equal(hp_node_memory_init(&pair->reader, &pool_shape, 1, NULL, pair->fd, NULL), HP_OK);
    borrow(&pair->owner);
    borrow(&pair->reader);
}

static void end(pair_t *pair)
{
    hp_node_memory_fini(&pair->owner);
    hp_node_memory_fini(&pair->reader);
    close(pair->fd);
}

/* A collective of one step, in which the owner fills so many bytes, and which it leaves. */
static void fill_bytes(hp_node_memory_t *owner, char value, size_t bytes)
{
    const uint64_t step = owner->step++;

    hp_node_use_slots(owner, bytes, bytes, owner->step);
    hp_node_back_slots(owner, 0, HP_FAN_OUT);
    memset(hp_node_slot(owner, 0, 0, HP_FAN_OUT, step), value, bytes);
    hp_node_set(owner, hp_node_counter(owner, 0, 0, HP_FAN_OUT), step + 1);
    hp_node_set(owner, hp_node_done(owner, 0), step + 1);
}

static void fill(pair_t *pair, char value)
{
    fill_bytes(&pair->owner, value, SLOT_BYTES);
}

/* What the reader finds in the slot of its next step, from end to end; it has not finished the step yet. */
static char read_slot(hp_node_memory_t *reader)
{
    const hp_counter_t *counter = hp_node_counter(reader, 0, 0, HP_FAN_OUT);

    assert_true(atomic_load_explicit(counter, memory_order_acquire) > reader->step);
    const char *slot = hp_node_find_slot(reader, counter, reader->step);
    assert_ptr_equal(slot, hp_node_slot(reader, 0, 0, HP_FAN_OUT, reader->step));
    for (size_t i = 1; i < SLOT_BYTES; i++)
        assert_int_equal(slot[i], slot[0]);
    return slot[0];
}

static void finish(hp_node_memory_t *reader)
{
    hp_node_set(reader, hp_node_done(reader, 1), ++reader->step);
}

static void read_and_finish(pair_t *pair, char value)
{
    assert_int_equal(read_slot(&pair->reader), value);
    finish(&pair->reader);
}

/* Is the owner's slot in the pool? */
static bool borrows(const hp_node_memory_t *memory)
{
    const char *slot = hp_node_slot(memory, memory->own, 0, HP_FAN_OUT, 0);
    const char *pool = memory->pools[memory->own]->base;

    return slot > pool && slot < pool + hp_node_pool_bytes(&pool_shape);
}

static void rings_are_lent_in_turn(void **state)
{
    (void)state;
    pair_t pairs[MOST];

    for (unsigned i = 0; i < MOST; i++)
        make(&pairs[i]);
    for (char turn = 1; turn <= 3; turn++)
        for (unsigned i = 0; i < MOST; i++) {
            fill(&pairs[i], (char)(10 * turn + (char)i));
            assert_true(borrows(&pairs[i].owner));
            read_and_finish(&pairs[i], (char)(10 * turn + (char)i));
        }
    hp_node_usage_t usage = hp_node_usage();
    assert_int_equal(usage.rings_lent, RINGS);
    assert_int_equal(usage.pool_bytes, RINGS * SLOTS * SLOT_BYTES);
    assert_int_equal(usage.slot_bytes, 0);
    for (unsigned i = 0; i < MOST; i++)
        assert_in_range(pages_of(pairs[i].fd), 1, 8); /* counters: no slots */

    /* 1, 2 and 3 have them, 1 was the first of these. It is used again: 2 is the least recent. */
    fill(&pairs[1], 77);
    read_and_finish(&pairs[1], 77);
    fill(&pairs[0], 78);
    read_and_finish(&pairs[0], 78);
    assert_true(borrows(&pairs[0].owner) && borrows(&pairs[1].owner) && borrows(&pairs[3].owner));
    assert_false(borrows(&pairs[2].owner));
    for (unsigned i = 0; i < MOST; i++)
        end(&pairs[i]);
    usage = hp_node_usage();
    assert_int_equal(usage.rings_lent, 0);
    assert_int_equal(usage.rings_lent_peak, RINGS);
}

/* Who runs ahead of its readers has its own slots where no ring is left, and what was written before stays as it is. */
static void without_a_ring_the_own_slots_are_used(void **state)
{
    (void)state;
    pair_t pairs[MOST];
    pair_t *last = &pairs[MOST - 1];

    for (unsigned i = 0; i < MOST; i++) {
        make(&pairs[i]);
        fill(&pairs[i], (char)(1 + i));
    }
    assert_false(borrows(&last->owner));
    assert_int_equal(hp_node_usage().slot_bytes, SLOTS * SLOT_BYTES);
    for (unsigned i = 0; i < MOST - 1; i++) {
        assert_true(borrows(&pairs[i].owner));
        read_and_finish(&pairs[i], (char)(1 + i));
    }
    /* There are rings again, but the last one's slots are still to be read where they are. */
    fill(last, 50);
    assert_false(borrows(&last->owner));
    read_and_finish(last, MOST);
    read_and_finish(last, 50);
    fill(last, 51);
    assert_true(borrows(&last->owner));
    read_and_finish(last, 51);
    for (unsigned i = 0; i < MOST; i++)
        end(&pairs[i]);
    assert_int_equal(hp_node_usage().slot_bytes, 0);
}

/* Small messages stay in the communicator's own slots, whatever is lent to it, and all its members know that. */
static void small_messages_borrow_nothing(void **state)
{
    (void)state;
    const size_t small = SLOT_BYTES / 128;
    pair_t pair;

    make(&pair);
    fill_bytes(&pair.owner, 1, small);
    assert_int_equal(hp_node_usage().rings_lent, 0);
    assert_int_equal(hp_node_usage().slot_bytes, SLOTS * small);
    hp_node_use_slots(&pair.reader, 0, small, 1); /* a member that fills none itself */
    assert_false(hp_node_borrows(&pair.reader));
    assert_int_equal(*hp_node_slot(&pair.reader, 0, 0, HP_FAN_OUT, 0), 1);
    finish(&pair.reader);

    fill(&pair, 2);
    assert_true(borrows(&pair.owner));
    hp_node_use_slots(&pair.reader, 0, SLOT_BYTES, 2);
    read_and_finish(&pair, 2);

    fill_bytes(&pair.owner, 3, small); /* the ring is still lent */
    assert_int_equal(hp_node_usage().rings_lent, 1);
    hp_node_use_slots(&pair.reader, 0, small, 3);
    assert_int_equal(*hp_node_find_slot(&pair.reader, hp_node_counter(&pair.reader, 0, 0, HP_FAN_OUT), 2), 3);
    assert_false(borrows(&pair.owner));
    finish(&pair.reader);

    fill_bytes(&pair.owner, 4, small + 1); /* the first that is not small */
    assert_true(borrows(&pair.owner));
    hp_node_use_slots(&pair.reader, 0, small + 1, 4);
    assert_int_equal(*hp_node_find_slot(&pair.reader, hp_node_counter(&pair.reader, 0, 0, HP_FAN_OUT), 3), 4);
    finish(&pair.reader);
    end(&pair);
    assert_int_equal(hp_node_usage().slot_bytes, 0);
}

/* A communicator may be freed where its slots have been filled and elsewhere not yet been read. */
static void what_is_left_behind_can_be_read(void **state)
{
    (void)state;
    pair_t freed, pairs[RINGS];

    make(&freed);
    fill(&freed, 9);
    hp_node_memory_fini(&freed.owner);
    assert_int_equal(hp_node_usage().rings_lent, 1);
    for (unsigned i = 0; i < RINGS; i++) {
        make(&pairs[i]);
        fill(&pairs[i], (char)(1 + i));
    }
    assert_false(borrows(&pairs[RINGS - 1].owner));
    assert_int_equal(read_slot(&freed.reader), 9);
    finish(&freed.reader);
    hp_node_memory_fini(&freed.reader);
    close(freed.fd);
    for (unsigned i = 0; i < RINGS; i++)
        read_and_finish(&pairs[i], (char)(1 + i));
    fill(&pairs[RINGS - 1], 20);
    assert_true(borrows(&pairs[RINGS - 1].owner)); /* the ring that was left */
    assert_true(borrows(&pairs[0].owner));
    read_and_finish(&pairs[RINGS - 1], 20);
    for (unsigned i = 0; i < RINGS; i++)
        end(&pairs[i]);
    assert_int_equal(hp_node_usage().rings_lent, 0);
}

/* A member whose pool is out of reach, and one that is another's or of another shape: nothing is borrowed, all works. */
static void pools_that_cannot_be_mapped(void **state)
{
    (void)state;
    const int fd = hp_node_pool_file(&pool_shape, MARK);
    const hp_slot_pool_t own = {.pid = getpid(), .fd = fd, .mark = MARK};
    const hp_slot_pool_t others[] = {{.pid = getpid(), .fd = -1, .mark = MARK},
                                     {.pid = getpid(), .fd = fd, .mark = MARK + 1},
                                     {.pid = 0x7fffffff, .fd = fd, .mark = MARK}};
    pair_t pair;

    make(&pair);
    for (unsigned i = 0; i < ARRAY_LENGTH(others); i++) {
        const hp_slot_pool_t pools[2] = {own, others[i]};
        hp_node_borrow_none(&pair.owner);
        assert_int_equal(hp_node_borrow(&pair.owner, pools), HP_ERR_NOT_FOUND);
        assert_null(pair.owner.pools);
        fill(&pair, (char)(1 + i));
        read_and_finish(&pair, (char)(1 + i));
    }
    const hp_slot_pool_t pools[2] = {own, own};
    pair.owner.shape.pool_rings++; /* the file is shorter */
    assert_int_equal(hp_node_borrow(&pair.owner, pools), HP_ERR_NOT_FOUND);
    pair.owner.shape.pool_rings = 0;
    assert_int_equal(hp_node_borrow(&pair.owner, pools), HP_ERR_NOT_FOUND);
    assert_int_equal(hp_node_pool_file(&pair.owner.shape, MARK), -1);
    end(&pair);
}

/* In a process that has mapped all and touched nothing yet: does it meet a page that is not there in any slot behind the first one
 * found, up to so many bytes? */
static bool meets_faults(hp_node_memory_t *reader, size_t most, size_t bytes)
{
    const hp_counter_t *counter = hp_node_counter(reader, 0, 0, HP_FAN_OUT);
    unsigned wrong = 0;

    hp_node_use_slots(reader, 0, most, 1);
    (void)atomic_load_explicit(counter, memory_order_acquire);
    (void)hp_node_find_slot(reader, counter, 0);
    const long before = faults();
    for (uint64_t step = 0; step < SLOTS; step++) {
        const volatile char *slot = hp_node_slot_behind(reader, counter, step);
        for (size_t i = 0; i < bytes; i += 64)
            wrong += slot[i] != 9;
    }
    return faults() != before || wrong;
}

/* Asked in a child process. */
static bool a_child_meets_faults(pair_t *pair, size_t most, size_t bytes)
{
    int status;
    const pid_t child = fork();

    if (child == 0)
        _exit(meets_faults(&pair->reader, most, bytes));
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void who_reads_finds_pages(void **state)
{
    (void)state;
    pair_t pair;

    if (!faults_count || !hp_pages_make(NULL, 0, true))
        skip();
    make(&pair);
    for (unsigned slot = 0; slot < SLOTS; slot++)
        fill(&pair, 9);
    assert_true(a_child_meets_faults(&pair, 0, SLOT_BYTES)); /* nothing was to be used */
    assert_false(a_child_meets_faults(&pair, SLOT_BYTES, SLOT_BYTES));
    assert_false(a_child_meets_faults(&pair, 3 * SLOT_BYTES, SLOT_BYTES)); /* no more than a slot has */
    for (unsigned slot = 0; slot < SLOTS; slot++)
        read_and_finish(&pair, 9);
    end(&pair);
}

/* ---- several threads ---- */

enum { THREADS = 2, ROUNDS = 3000 };

/* The communicators that a thread uses in turn. */
typedef struct {
    pair_t pairs[RINGS];
    unsigned lent, own; /* steps that were filled in the pool, and not */
} turns_t;

static char value_of(uint64_t step, unsigned i)
{
    return (char)(1 + (step * RINGS + i) % 100);
}

/* Ahead of its readers by as much as slots allow. */
static void *fill_in_turn(void *argument)
{
    turns_t *turns_of = argument;

    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned i = 0; i < RINGS; i++) {
            hp_node_memory_t *owner = &turns_of->pairs[i].owner;
            while (owner->step >= SLOTS && !hp_node_is_clear(owner, owner->step - SLOTS + 1))
                sched_yield();
            fill(&turns_of->pairs[i], value_of(owner->step, i));
            const bool is_lent = borrows(owner); /* another thread may take the ring back at any time */
            turns_of->lent += is_lent;
            turns_of->own += !is_lent;
        }
    return NULL;
}

static void *read_in_turn(void *argument)
{
    turns_t *turns_of = argument;
    uintptr_t wrong = 0;

    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned i = 0; i < RINGS; i++) {
            hp_node_memory_t *reader = &turns_of->pairs[i].reader;
            const hp_counter_t *counter = hp_node_counter(reader, 0, 0, HP_FAN_OUT);
            while (atomic_load_explicit(counter, memory_order_acquire) <= reader->step)
                sched_yield();
            const char *slot = hp_node_find_slot(reader, counter, reader->step);
            for (size_t k = 0; k < SLOT_BYTES; k += 64)
                wrong += slot[k] != value_of(reader->step, i);
            finish(reader);
        }
    return (void *)wrong;
}

/* Twice as many communicators as rings, in two threads, whose readers are two others. */
static void threads_borrow_at_the_same_time(void **state)
{
    (void)state;
    static turns_t all[THREADS];
    pthread_t owners[THREADS], readers[THREADS];
    unsigned lent = 0;

    memset(all, 0, sizeof all);
    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned i = 0; i < RINGS; i++) {
            pair_t *pair = &all[t].pairs[i];
            make(pair);
            hp_node_memory_fini(&pair->reader); /* one mapping: who looks for races knows addresses alone */
            assert_int_equal(
                hp_node_memory_init(&pair->reader, &pool_shape, 1, NULL, -1, pair->owner.base), HP_OK);
            borrow(&pair->reader);
        }
    for (unsigned t = 0; t < THREADS; t++) {
        assert_int_equal(pthread_create(&owners[t], NULL, fill_in_turn, &all[t]), 0);
        assert_int_equal(pthread_create(&readers[t], NULL, read_in_turn, &all[t]), 0);
    }
    for (unsigned t = 0; t < THREADS; t++) {
        void *wrong;
        pthread_join(owners[t], NULL);
        pthread_join(readers[t], &wrong);
        assert_int_equal((uintptr_t)wrong, 0);
        lent += all[t].lent;
        assert_int_equal(all[t].lent + all[t].own, ROUNDS * RINGS);
    }
    assert_true(lent > 0);
    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned i = 0; i < RINGS; i++) {
            hp_node_memory_fini(&all[t].pairs[i].reader);
            hp_node_memory_fini(&all[t].pairs[i].owner);
            close(all[t].pairs[i].fd);
        }
    assert_int_equal(hp_node_usage().rings_lent, 0);
}

/* An operation that was given up may still use the ring, so nobody gets it; the others are lent on. */
static void what_may_still_be_used_stays_lent(void **state)
{
    (void)state;
    pair_t given_up, without, pairs[RINGS];

    make(&without); /* the one that was used last, and has nothing to leave */
    make(&given_up);
    fill(&given_up, 30);
    const char *slot = hp_node_slot(&given_up.owner, 0, 0, HP_FAN_OUT, 0);
    read_and_finish(&given_up, 30);
    hp_node_use_slots(&without.owner, 0, SLOT_BYTES, 1);
    hp_node_memory_abandon(&given_up.owner);
    hp_node_memory_abandon(&without.owner);
    memset(&given_up.owner, 0xa5, sizeof given_up.owner);
    memset(&without.owner, 0xa5, sizeof without.owner);
    for (unsigned i = 0; i < RINGS; i++)
        make(&pairs[i]);
    for (char turn = 1; turn <= 2; turn++)
        for (unsigned i = 0; i < RINGS; i++) {
            fill(&pairs[i], turn);
            assert_true(borrows(&pairs[i].owner));
            read_and_finish(&pairs[i], turn);
        }
    assert_int_equal(slot[0], 30);
    assert_int_equal(slot[SLOT_BYTES - 1], 30);
    for (unsigned i = 0; i < RINGS; i++)
        end(&pairs[i]);
    assert_int_equal(hp_node_usage().rings_lent, 1);
    hp_node_memory_fini(&given_up.reader);
    hp_node_memory_fini(&without.reader);
    close(given_up.fd);
    close(without.fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_slots_give_their_pages_back),
        cmocka_unit_test(slots_that_are_used_again_and_again_keep_their_pages),
        cmocka_unit_test(only_rings_that_are_filled_get_pages),
        cmocka_unit_test(rings_are_lent_in_turn),
        cmocka_unit_test(without_a_ring_the_own_slots_are_used),
        cmocka_unit_test(small_messages_borrow_nothing),
        cmocka_unit_test(what_is_left_behind_can_be_read),
        cmocka_unit_test(pools_that_cannot_be_mapped),
        cmocka_unit_test(who_reads_finds_pages),
        cmocka_unit_test(threads_borrow_at_the_same_time),
        cmocka_unit_test(what_may_still_be_used_stays_lent), /* the last: a ring is lost */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
