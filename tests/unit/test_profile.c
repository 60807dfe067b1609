/* test_profile: the recorder's parts without an MPI: tables and their limits, books put together, requests, samples
 * of arrival. */
#include "check.h"
#include "pmpi_wrappers/backend/profile/book/arrival.h"
#include "pmpi_wrappers/backend/profile/book/book.h"
#include "pmpi_wrappers/backend/profile/book/last_call.h"
#include "pmpi_wrappers/backend/profile/book/meeting.h"
#include "pmpi_wrappers/backend/profile/book/polls.h"
#include "pmpi_wrappers/backend/profile/book/recent.h"
#include "pmpi_wrappers/backend/profile/book/requests.h"
#include "pmpi_wrappers/backend/profile/book/shapes.h"

typedef struct {
    uint64_t key[2], value;
} row_t;

static void test_table(void **state)
{
    (void)state;
    enum { LIMIT = 1000 };
    hp_table_t table;

    hp_table_init(&table, sizeof(row_t), 2 * sizeof(uint64_t), LIMIT);
    for (unsigned pass = 0; pass < 2; pass++)
        for (uint64_t i = 0; i < LIMIT; i++) {
            const uint64_t key[2] = {i % 10, i};
            const uint32_t number = hp_table_add(&table, key, 2);
            assert_true(number == i);
            ((row_t *)hp_table_row(&table, number))->value += i;
        }
    const uint64_t further[2] = {1, LIMIT};
    assert_true(hp_table_add(&table, further, 2) == HP_TABLE_FULL);
    assert_true(table.count == LIMIT);
    for (uint32_t i = 0; i < LIMIT; i++)
        assert_true(((row_t *)hp_table_row(&table, i))->value == 2 * i);
    hp_table_fini(&table);
    assert_true(table.count == 0);
}

/* More keys than places: what stands there is the key's own, or nothing. */
static void test_recent(void **state)
{
    enum { KEYS = 10 << HP_RECENT_BITS };
    static hp_recent_t recent;
    unsigned known = 0;

    (void)state;
    for (uint32_t pass = 0; pass < 3; pass++)
        for (uint32_t i = 0; i < KEYS; i++) {
            const uint32_t key = pass < 2 ? i : i % 4;
            uint32_t *next = hp_recent_row(&recent, key % 7, key / 7);
            assert_true(*next == 0 || *next == key + 1);
            known += pass == 2 && *next != 0;
            *next = key + 1;
        }
    assert_true(known >= KEYS - 4);
}

static void test_bins(void **state)
{
    (void)state;
    assert_true(hp_book_bin(0) == 0);
    assert_true(hp_book_bin(1) == 0);
    assert_true(hp_book_bin(2) == 1);
    assert_true(hp_book_bin(3) == 2);
    assert_true(hp_book_bin(4) == 2);
    assert_true(hp_book_bin(5) == 3);
    assert_true(hp_book_bin(1ull << 40) == 40);
    assert_true(hp_book_bin((1ull << 40) + 1) == 41);
}

/* What a rank may have recorded: the order in which it meets things is its own. */
static void fill(hp_book_t *book, unsigned rank)
{
    static const char *const types[] = {"MPI_INT", "MPI_DOUBLE"};
    hp_book_site_t site = {.frame = {[0 ... HP_BOOK_FRAMES - 1] = HP_BOOK_NO_FRAME}};

    assert_true(hp_book_init(book));
    for (unsigned k = 0; k < 2; k++) {
        const unsigned i = (k + rank) % 2;
        const uint64_t module = hp_book_module(book, i ? "/lib/b.so" : "/bin/a", "", "");
        site.frame[0] = module << 48 | (0x1000 + i);
        const hp_book_record_t key = {.call = 7,
                                      .site = hp_book_site(book, &site),
                                      .type = (uint16_t)hp_book_name(&book->types, types[i]),
                                      .comm = (uint16_t)hp_book_comm(book, "world", 4),
                                      .bin = 3};
        hp_book_record_t *record = hp_book_record(book, &key);
        assert_true(record);
        hp_book_record_add(record, 1, 8, 100 * (rank + 1) + i);
        hp_book_record_add(record, 1, 8, 1000);
        hp_book_wait_add(
            book,
            &(hp_book_wait_t){
                .post_call = 1, .wait_call = 2, .post_site = key.site, .wait_site = key.site, .count = 1});
    }
    hp_book_peer_add(book, rank, (rank + 1) % 4, 2, 16);
    const hp_book_rank_t row = {.rank = rank, .node = hp_book_name(&book->nodes, rank < 2 ? "one" : "two")};
    *(hp_book_rank_t *)hp_table_row(&book->ranks, hp_table_add(&book->ranks, &row, book->ranks.key_words)) =
        row;
    book->simultaneous[rank]++;
    hp_book_close(book);
}

static void test_merge(void **state)
{
    (void)state;
    hp_book_t whole, part, copy;

    fill(&whole, 0);
    for (unsigned rank = 1; rank < 4; rank++) {
        size_t bytes;
        fill(&part, rank);
        void *packed = hp_book_pack(&part, &bytes);
        assert_true(packed && hp_book_unpack(&copy, packed, bytes));
        for (size_t less = 1; less < bytes; less += 97) { /* a message that is too short */
            hp_book_t none;
            assert_true(!hp_book_unpack(&none, packed, bytes - less));
        }
        hp_book_merge(&whole, &copy);
        hp_book_fini(&copy);
        hp_book_fini(&part);
        free(packed);
    }
    assert_true(whole.records.count == 2 && whole.sites.count == 3 && whole.modules.count == 3 &&
                whole.comms.count == 2);
    assert_true(whole.peers.count == 4 && whole.ranks.count == 4 && whole.nodes.count == 2 &&
                whole.waits.count == 2);
    for (uint32_t i = 0; i < 2; i++) {
        const hp_book_record_t *record = hp_table_row(&whole.records, i);
        const hp_book_site_t *site = hp_table_row(&whole.sites, record->site);
        const hp_book_module_t *module = hp_table_row(&whole.modules, (uint32_t)(site->frame[0] >> 48));
        const hp_book_name_t *type = hp_table_row(&whole.types, record->type);
        const bool second = strcmp(type->text, "MPI_DOUBLE") == 0;
        assert_true(strcmp(module->path, second ? "/lib/b.so" : "/bin/a") == 0);
        assert_true((site->frame[0] << 16 >> 16) == 0x1000u + second);
        assert_true(record->count == 8 && record->bytes == 64 && record->ranks == 4);
        assert_true(record->least_ns == 100u + second && record->most_ns == 1000);
        assert_true(record->ns == 5000u + 4u * second);
        assert_true(record->rank_least_ns == 1100u + second && record->rank_most_ns == 1400u + second);
        assert_true(record->histogram[10] == 4);
    }
    hp_book_fini(&whole);
}

/* What does not fit is counted, and its calls are in a record of the call alone. */
static void test_limits(void **state)
{
    (void)state;
    hp_book_t book;
    uint64_t count = 0;

    assert_true(hp_book_init(&book));
    const uint32_t limit = book.records.limit;
    for (uint32_t i = 0; i < limit + 500; i++) {
        const hp_book_record_t key = {.call = 3, .site = i + 1, .bin = 2};
        hp_book_record_t *record = hp_book_record(&book, &key);
        assert_true(record);
        hp_book_record_add(record, 1, 4, 1);
    }
    for (uint32_t i = 0; i < book.records.count; i++)
        count += ((hp_book_record_t *)hp_table_row(&book.records, i))->count;
    assert_true(book.records.count == limit + 1 && count == limit + 500);
    assert_true(book.lost[HP_LOST_records] == 500);
    for (uint32_t i = 0; i < 20000; i++)
        hp_book_wait_add(&book, &(hp_book_wait_t){.post_site = i, .count = 1});
    assert_true(book.waits.count + book.lost[HP_LOST_waits] == 20000 && book.lost[HP_LOST_waits] > 0);
    hp_book_fini(&book);
}

/* Where functions do not fit, what is known of a frame is that it is one of Python, also in a book that has no room for those of
 * another. */
static void test_functions_that_do_not_fit(void **state)
{
    (void)state;
    hp_book_t books[2];

    for (unsigned b = 0; b < 2; b++) {
        assert_true(hp_book_init(&books[b]));
        for (uint32_t i = 0; books[b].modules.count < books[b].modules.limit; i++) {
            char name[32];
            snprintf(name, sizeof name, "f%u of %u", i, b);
            hp_book_module(&books[b], "a.py", "", name);
        }
    }
    const uint64_t module = hp_book_module(&books[0], "a.py", "", "g");
    assert_true(module && hp_book_module(&books[0], "a.py", "", "h") == module);
    assert_true(hp_book_module(&books[0], "/lib/c.so", "", "") == 0);
    const hp_book_site_t site = {.frame = {module << 48 | 7, 5ull << 48 | 8, HP_BOOK_NO_FRAME}};
    const uint32_t number = hp_book_copy_site(&books[1], &books[0], hp_book_site(&books[0], &site));
    const hp_book_site_t *copy = hp_table_row(&books[1].sites, number);
    for (unsigned f = 0; f < 2; f++) {
        const hp_book_module_t *its = hp_table_row(&books[1].modules, (uint32_t)(copy->frame[f] >> 48));
        assert_true(strcmp(its->function, "?") == 0 && (copy->frame[f] & 15) == 7 + f);
    }
    for (unsigned b = 0; b < 2; b++)
        hp_book_fini(&books[b]);
}

/* More calls than a place of the histogram can count: it stays at the most. */
static void test_full_histogram(void **state)
{
    (void)state;
    hp_book_t books[2];

    for (unsigned b = 0; b < 2; b++) {
        assert_true(hp_book_init(&books[b]));
        hp_book_record_add(hp_book_record(&books[b], &(hp_book_record_t){.call = 1}), UINT32_MAX - 1, 0, 4);
    }
    hp_book_merge(&books[0], &books[1]);
    hp_book_record_t *record = hp_book_record(&books[0], &(hp_book_record_t){.call = 1});
    assert_true(record->count == 2ull * UINT32_MAX - 2 && record->histogram[2] == UINT32_MAX);
    hp_book_record_add(record, 3, 0, 4);
    assert_true(record->histogram[2] == UINT32_MAX);
    for (unsigned b = 0; b < 2; b++)
        hp_book_fini(&books[b]);
}

/* Many in and out, several with one handle. */
static void test_requests(void **state)
{
    (void)state;
    enum { LIMIT = 5000 };
    unsigned seed = 1, found = 0;

    hp_requests_init(LIMIT);
    assert_true(!hp_requests_find(1));
    for (uint64_t i = 0; i < LIMIT; i++)
        assert_true(hp_requests_add(&(hp_seen_request_t){.handle = i / 2, .is_active = true, .bytes = i}));
    assert_true(!hp_requests_add(&(hp_seen_request_t){.handle = 1}));
    assert_true(hp_requests_active == LIMIT);
    while (found < LIMIT) {
        seed = seed * 1103515245u + 12345u;
        hp_seen_request_t *request = hp_requests_find((seed >> 8) % (LIMIT / 2));
        if (!request)
            continue;
        assert_true(request->handle == request->bytes / 2);
        hp_requests_remove(request);
        found++;
    }
    assert_true(hp_requests_active == 0);
    for (uint64_t i = 0; i < LIMIT; i++)
        assert_true(!hp_requests_find(i));
    hp_requests_fini();
}

/* Calls of several records, more than there are places for, with times of their own: as the recorder does it. All are counted, few are
 * timed, and their sums are right. */
static void test_polls(void **state)
{
    (void)state;
    enum { PLACES = 3, OTHERS = 64, CALLS = 400000 };
    hp_book_t book;
    unsigned seed = 1, timed = 0;
    uint64_t real_ns[PLACES] = {0}, count[PLACES] = {0}, calls = 0, ns = 0;

    assert_true(hp_book_init(&book));
    for (uint32_t i = 0; i < 64 + OTHERS; i++)
        hp_book_record(&book, &(hp_book_record_t){.call = 3, .site = i + 1});
    for (unsigned i = 0; i < CALLS; i++) {
        seed = seed * 1103515245u + 12345u;
        const bool is_other = seed >> 24 == 7; /* now and then: it takes the place of one of those */
        const uint32_t number = is_other ? 64 + (seed >> 16) % OTHERS : (seed >> 16) % PLACES;
        const uint64_t took = (seed >> 20) % 8 == 0 ? 2000 : 50 + 100 * number + (seed >> 12) % 64;
        hp_poll_t *poll = &hp_polls[number % 64];
        if (number < PLACES) {
            real_ns[number] += took;
            count[number]++;
        }
        if (poll->number == number + 1 && poll->left > 0) {
            poll->left--;
            poll->untimed++;
            continue;
        }
        timed++;
        hp_book_record_add(hp_table_row(&book.records, number), 1, 0, took);
        hp_polls_sum_t sum = {.calls = 0};
        if (poll->number != number + 1) {
            sum = hp_polls_leave(&book, poll);
            poll->number = number + 1;
        } else {
            sum = hp_polls_timed(&book, poll, took, took, seed >> 16);
        }
        calls += sum.calls;
        ns += sum.ns;
    }
    const hp_polls_sum_t rest = hp_polls_leave_all(&book);
    assert_true(timed < CALLS / 5 && timed + calls + rest.calls == CALLS && ns > 0);
    for (uint32_t i = 0; i < PLACES; i++) {
        const hp_book_record_t *record = hp_table_row(&book.records, i);
        assert_true(record->count == count[i]);
        assert_true(record->ns > 0.9 * (double)real_ns[i] && record->ns < 1.1 * (double)real_ns[i]);
    }
    assert_true(hp_polls[0].number == 0);
    hp_book_fini(&book);
}

static hp_book_arrival_t arrive(uint8_t waiting, unsigned rank, unsigned root, const uint64_t *enter,
                                const uint64_t *leave, hp_meeting_t *meeting)
{
    hp_arrivals_sample_t samples[4];
    hp_book_arrival_t arrival = {.samples = 0};

    *meeting = (hp_meeting_t){.ranks = 0};
    for (unsigned i = 0; i < 4; i++) {
        samples[i] = (hp_arrivals_sample_t){.enter_ns = enter[i],
                                            .leave_ns = leave[i],
                                            .size = 4,
                                            .rank = i,
                                            .waiting = waiting,
                                            .is_root = i == root};
        const hp_meeting_t one = hp_meeting_of(&samples[i], 10 + i);
        assert_true(i == 0 || !hp_meeting_arrival(meeting, &samples[i], &arrival)); /* not all of them yet */
        hp_meeting_merge(meeting, &one);
    }
    assert_true(hp_meeting_arrival(meeting, &samples[rank], &arrival));
    return arrival;
}

static void test_meeting(void **state)
{
    (void)state;
    static const uint64_t enter[4] = {100, 400, 200, 150}, leave[4] = {500, 520, 480, 300};
    hp_meeting_t meeting;

    hp_book_arrival_t arrival = arrive(HP_ALL_WAIT, 0, 9, enter, leave, &meeting);
    assert_true(arrival.samples == 1 && arrival.skew_ns == 300 && arrival.waited_ns == 300 &&
                arrival.transfer_ns == 100);
    assert_true(arrival.late[0].rank == 11 && arrival.late[0].times == 1 && arrival.late[0].ns == 200);
    arrival = arrive(HP_ALL_WAIT, 1, 9, enter, leave, &meeting); /* the last one */
    assert_true(arrival.samples == 0 && arrival.waited_ns == 0 && arrival.transfer_ns == 120);
    arrival = arrive(HP_ALL_WAIT, 3, 9, enter, leave, &meeting); /* left before the last came */
    assert_true(arrival.waited_ns == 150 && arrival.transfer_ns == 0);
    arrival = arrive(HP_ROOT_GIVES, 0, 2, enter, leave, &meeting);
    assert_true(arrival.waited_ns == 100 && arrival.transfer_ns == 300 && arrival.late[0].times == 0);
    arrival = arrive(HP_ROOT_GIVES, 2, 2, enter, leave, &meeting);
    assert_true(arrival.waited_ns == 0 && arrival.transfer_ns == 280);
    arrival = arrive(HP_ROOT_GIVES, 0, 1, enter, leave, &meeting);
    assert_true(arrival.late[0].times == 1 && arrival.late[0].rank == 11);
    arrival = arrive(HP_ROOT_TAKES, 0, 0, enter, leave, &meeting);
    assert_true(arrival.waited_ns == 300);
    arrival = arrive(HP_ROOT_TAKES, 2, 0, enter, leave, &meeting);
    assert_true(arrival.waited_ns == 0 && arrival.transfer_ns == 280);
}

/* Memory is bounded, and what stays is the same as in a rank that had less to keep. */
static void test_samples(void **state)
{
    (void)state;
    enum { CALLS = 1000000 };
    static uint64_t kept[1 << 16];
    uint32_t count = 0, sampled = 0;

    assert_true(hp_arrivals_init());
    for (uint64_t i = 0; i < CALLS; i++)
        if (hp_arrivals_is_sampled(0, i, HP_ARRIVALS_FIRST)) {
            hp_arrivals_add(&(hp_arrivals_sample_t){.number = i});
            sampled++;
        }
    assert_true(sampled > CALLS / 9 && sampled < CALLS / 7);
    assert_true(hp_arrivals.level > 0 && hp_arrivals.count > 4096 && hp_arrivals.count <= 16384);
    for (; count < hp_arrivals.count; count++)
        kept[count] = hp_arrivals.samples[count].number;
    const unsigned level = hp_arrivals.level;
    hp_arrivals_fini();
    assert_true(hp_arrivals_init());
    const uint64_t end = kept[4000] + 1;
    for (uint64_t i = kept[0]; i < end && hp_arrivals.count < 16384; i++)
        if (hp_arrivals_is_sampled(0, i, HP_ARRIVALS_FIRST))
            hp_arrivals_add(&(hp_arrivals_sample_t){.number = i});
    hp_arrivals_thin(level);
    for (uint32_t i = 0; i < hp_arrivals.count; i++)
        assert_true(hp_arrivals.samples[i].number == kept[i]);
    hp_arrivals_fini();
    /* Of communicators of a few calls each, too, one in eight: not those with the same numbers in each. */
    sampled = 0;
    for (uint64_t comm = 1; comm <= CALLS / 4; comm++)
        for (uint64_t i = 0; i < 4; i++)
            sampled += hp_arrivals_is_sampled(comm * 0xbf58476d1ce4e5b9u, i, 0);
    assert_true(sampled > CALLS / 9 && sampled < CALLS / 7);
}

static void test_shapes(void **state)
{
    (void)state;
    hp_call_shapes_open();
    const hp_call_shape_t *gather = &hp_call_shapes[HP_ROW_Gather], *reduce = &hp_call_shapes[HP_ROW_Ireduce];
    assert_true(strcmp(gather->name, "MPI_Gather") == 0 && gather->send_count == 1 &&
                gather->recv_count == 4 && gather->recv_type == 5 && gather->root == 6 && gather->comm == 7 &&
                gather->waiting == HP_ROOT_TAKES && !gather->is_simple);
    assert_true(reduce->recv_count == 2 && reduce->send_count < 0 && reduce->recv_type == 3 &&
                reduce->op == 4 && reduce->request == 7 && reduce->action == HP_DO_POST && reduce->is_simple);
    assert_true(hp_call_shapes[HP_ROW_Scatterv].waiting == HP_ROOT_GIVES &&
                hp_call_shapes[HP_ROW_Bcast].waiting == HP_ROOT_GIVES);
    assert_true(hp_call_shapes[HP_ROW_Iexscan].waiting == HP_LOWER_GIVE &&
                hp_call_shapes[HP_ROW_Scan].waiting == HP_LOWER_GIVE);
    assert_true(hp_call_shapes[HP_ROW_Neighbor_alltoallv].waiting == HP_NEIGHBORS &&
                !hp_call_shapes[HP_ROW_Ineighbor_allgather].is_ours);
    assert_true(hp_call_shapes[HP_ROW_Bcast_init_c].is_large && !hp_call_shapes[HP_ROW_Bcast_init].is_large);
    assert_true(hp_call_shapes[HP_ROW_Allgatherv].recv_letter == 'v' &&
                hp_call_shapes[HP_ROW_Barrier].is_simple);
}

static void test_last_call(void **state)
{
    hp_last_call_t last = {.record = 0};
    uintptr_t x[] = {100, 1, 2, 3, 4, 5};

    (void)state;
    assert_false(hp_last_call_is(&last, 0, x)); /* there was none */
    hp_last_call_keep(&last, 7, 0, x);
    assert_false(hp_last_call_is(&last, 7, x)); /* its arguments do not say what it moves */
    hp_last_call_keep(&last, 7, 0x2a, x);       /* the second, the fourth, the sixth */
    assert_true(hp_last_call_is(&last, 7, x));
    assert_false(hp_last_call_is(&last, 8, x));
    for (unsigned i = 0; i < 6; i++) {
        x[i]++;
        assert_true(hp_last_call_is(&last, 7, x) == (i % 2 == 0));
        x[i]--;
    }
    const hp_call_shape_t *shapes = hp_call_shapes;
    hp_call_shapes_open();
    assert_int_equal(shapes[HP_ROW_Bcast].given, 0x1e);     /* all but the buffer */
    assert_int_equal(shapes[HP_ROW_Send].given, 0x2e);      /* and the tag */
    assert_int_equal(shapes[HP_ROW_Allreduce].given, 0x3c); /* both buffers */
    assert_int_equal(shapes[HP_ROW_Gather].given, 0xff);    /* one may be MPI_IN_PLACE */
    assert_int_equal(shapes[HP_ROW_Gatherv].given, 0);
    assert_int_equal(shapes[HP_ROW_Reduce_scatter].given, 0);
    assert_int_equal(shapes[HP_ROW_Wait].given, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),          cmocka_unit_test(test_recent),
        cmocka_unit_test(test_bins),           cmocka_unit_test(test_merge),
        cmocka_unit_test(test_limits),         cmocka_unit_test(test_functions_that_do_not_fit),
        cmocka_unit_test(test_full_histogram), cmocka_unit_test(test_requests),
        cmocka_unit_test(test_meeting),        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_shapes),         cmocka_unit_test(test_polls),
        cmocka_unit_test(test_last_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
