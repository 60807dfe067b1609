/* test_fresh: memory that hanpmpi_replay uses for the first time again. */
#include <sys/mman.h>
#include <unistd.h>
#include "check.h"
#include "replay/fresh.h"

enum { PAGES = 256 };

typedef struct {
    char *received, *sent;
    size_t page, bytes;
} buffers_t;

static char *used_memory(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(memory != MAP_FAILED);
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    memset(memory, 1, bytes);
    return memory;
}

static buffers_t make_buffers(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = PAGES * page + page / 2;
    return (buffers_t){used_memory(bytes), used_memory(bytes), page, bytes};
}

static void free_buffers(const buffers_t *buffers)
{
    munmap(buffers->received, buffers->bytes);
    munmap(buffers->sent, buffers->bytes);
}

/* Page faults that writing to every page takes. */
static uint64_t faults_of_use(const buffers_t *buffers, char *memory)
{
    const uint64_t before = replay_fresh_faults();

    for (size_t at = 0; at < buffers->bytes; at += buffers->page)
        ((volatile char *)memory)[at] = 2;
    return replay_fresh_faults() - before;
}

static void what_is_received_is_fresh_first(void **state)
{
    (void)state;
    const buffers_t buffers = make_buffers();

    assert_int_equal(faults_of_use(&buffers, buffers.received), 0);
    assert_int_equal(replay_fresh_make(buffers.received, buffers.sent, buffers.bytes, 100), 100);
    assert_int_equal(buffers.received[0], 0);
    assert_int_equal(buffers.received[100 * buffers.page], 2);
    assert_in_range(faults_of_use(&buffers, buffers.received), 99, 100); /* reading one was its first use */
    assert_int_equal(faults_of_use(&buffers, buffers.sent), 0);
    free_buffers(&buffers);
}

/* Never the part of a page at the end, behind which another's memory may begin. */
static void no_more_than_there_is(void **state)
{
    (void)state;
    const buffers_t buffers = make_buffers();

    assert_int_equal(replay_fresh_make(buffers.received, buffers.sent, buffers.bytes, PAGES + 10),
                     PAGES + 10);
    assert_int_equal(faults_of_use(&buffers, buffers.received), PAGES);
    assert_int_equal(faults_of_use(&buffers, buffers.sent), 10);
    assert_int_equal(replay_fresh_make(buffers.received, buffers.sent, buffers.bytes, UINT64_MAX), 2 * PAGES);
    assert_int_equal(buffers.received[buffers.bytes - 1], 1);
    assert_int_equal(buffers.sent[buffers.bytes - 1], 1);
    assert_int_equal(replay_fresh_make(buffers.received, buffers.sent, buffers.page - 1, 5), 0);
    assert_int_equal(replay_fresh_make(buffers.received, buffers.sent, buffers.bytes, 0), 0);
    free_buffers(&buffers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_received_is_fresh_first),
                                       cmocka_unit_test(no_more_than_there_is)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
