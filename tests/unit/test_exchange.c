/* test_exchange: the steps of all positions fit together, and all positions end with everybody's data once.
 *
 * The exchange is run on made-up values: a block of a position is the list of the contributions that have
 * been folded into it, in their order. Messages between two positions are in order within a half
 * (exchange.h). */
#include <stdio.h>
#include <string.h>
#include "check.h"
#include "hier/modules/exchange.h"

enum { COUNT_MAX = 40 };

typedef struct {
    uint32_t count;
    uint8_t folded[COUNT_MAX];
} value_t;

typedef struct {
    value_t blocks[COUNT_MAX];
} data_t;

typedef struct {
    const hp_exchange_t *exchange;
    uint32_t count, block_count;
    data_t data[COUNT_MAX];
    uint32_t next[COUNT_MAX]; /* step of each position */
    bool sent[COUNT_MAX];     /* of that step */
    data_t *mail;             /* [from][to][half]: the message on its way */
    hp_blocks_t mail_blocks[COUNT_MAX][COUNT_MAX][2];
    uint32_t sends[COUNT_MAX]; /* blocks that a position has sent */
} run_t;

static void fold(value_t *left, const value_t *right, value_t *result)
{
    value_t made = *left;
    assert_true(left->count + right->count <= COUNT_MAX); /* nothing twice */
    memcpy(made.folded + made.count, right->folded, right->count);
    made.count += right->count;
    *result = made;
}

static data_t *mail_of(run_t *run, uint32_t from, uint32_t to, bool finished)
{
    return &run->mail[(from * COUNT_MAX + to) * 2 + finished];
}

/* Posts the send of the step a position is at; a message may be on its way already. False: nothing moved. */
static bool send(run_t *run, uint32_t position, const hp_exchange_step_t *step)
{
    hp_blocks_t *blocks =
        step->to == HP_NOBODY ? NULL : &run->mail_blocks[position][step->to][step->finished];
    if (run->sent[position])
        return false;
    if (blocks) {
        assert_true((uint32_t)step->to < run->count && (uint32_t)step->to != position);
        assert_true(step->send.count > 0 && step->send.first + step->send.count <= run->block_count);
        if (blocks->count > 0)
            return false;
        *blocks = step->send;
        *mail_of(run, position, (uint32_t)step->to, step->finished) = run->data[position];
        run->sends[position] += step->send.count;
    }
    return run->sent[position] = true;
}

static bool receive(run_t *run, uint32_t position, const hp_exchange_step_t *step)
{
    if (step->from == HP_NOBODY)
        return true;
    assert_true((uint32_t)step->from < run->count && (uint32_t)step->from != position);
    hp_blocks_t *blocks = &run->mail_blocks[step->from][position][step->finished];
    if (blocks->count == 0)
        return false;
    assert_int_equal(blocks->first, step->recv.first);
    assert_int_equal(blocks->count, step->recv.count);
    data_t *came = mail_of(run, (uint32_t)step->from, position, step->finished);
    for (uint32_t b = blocks->first; b < blocks->first + blocks->count; b++) {
        value_t *mine = &run->data[position].blocks[b], *theirs = &came->blocks[b];
        if (step->take == HP_TAKE_STORE)
            *mine = *theirs;
        else if (step->take == HP_TAKE_REDUCE_LEFT)
            fold(theirs, mine, mine);
        else
            fold(mine, theirs, mine);
    }
    blocks->count = 0;
    return true;
}

/* Runs until nothing moves; every position must then be through. */
static void run_all(run_t *run)
{
    bool moved = true;
    hp_exchange_step_t step;

    while (moved) {
        moved = false;
        for (uint32_t position = 0; position < run->count; position++) {
            if (!run->exchange->step(run->count, position, run->next[position], &step))
                continue;
            moved |= send(run, position, &step);
            if (run->sent[position] && receive(run, position, &step)) {
                run->next[position]++;
                run->sent[position] = false;
                moved = true;
            }
        }
    }
    for (uint32_t position = 0; position < run->count; position++) {
        assert_false(run->exchange->step(run->count, position, run->next[position], &step));
        assert_true(run->next[position] <= run->exchange->steps(run->count));
    }
    for (uint32_t i = 0; i < COUNT_MAX * COUNT_MAX * 2; i++)
        assert_int_equal((&run->mail_blocks[0][0][0])[i].count, 0); /* no message is left */
}

static void check_result(const run_t *run)
{
    for (uint32_t position = 0; position < run->count; position++)
        for (uint32_t b = 0; b < run->block_count; b++) {
            const value_t *value = &run->data[position].blocks[b];
            bool seen[COUNT_MAX] = {false};
            assert_int_equal(value->count, run->count);
            for (uint32_t i = 0; i < value->count; i++) {
                assert_false(seen[value->folded[i]]);
                seen[value->folded[i]] = true;
                if (run->exchange->keeps_order)
                    assert_int_equal(value->folded[i], i);
                /* All positions compute the same expression. */
                assert_int_equal(value->folded[i], run->data[0].blocks[b].folded[i]);
            }
        }
}

static void check_exchange(const hp_exchange_t *exchange)
{
    run_t *run = malloc(sizeof *run);
    data_t *mail = malloc(COUNT_MAX * COUNT_MAX * 2 * sizeof *mail);
    assert_true(run && mail);
    for (uint32_t count = 1; count <= COUNT_MAX; count++) {
        *run = (run_t){
            .exchange = exchange, .count = count, .block_count = exchange->blocks(count), .mail = mail};
        assert_true(run->block_count >= 1 && run->block_count <= count);
        for (uint32_t position = 0; position < count; position++)
            for (uint32_t b = 0; b < run->block_count; b++)
                run->data[position].blocks[b] = (value_t){.count = 1, .folded = {(uint8_t)position}};
        run_all(run);
        check_result(run);
        if (exchange == &hp_exchange_ring) /* 2 (n - 1)/n of the segment */
            for (uint32_t position = 0; position < count; position++)
                assert_int_equal(run->sends[position], 2 * (count - 1));
    }
    free(mail);
    free(run);
}

static void ring(void **state)
{
    (void)state;
    check_exchange(&hp_exchange_ring);
}

static void recursive_doubling(void **state)
{
    (void)state;
    check_exchange(&hp_exchange_recursive_doubling);
}

static void rabenseifner(void **state)
{
    (void)state;
    check_exchange(&hp_exchange_rabenseifner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring),
        cmocka_unit_test(recursive_doubling),
        cmocka_unit_test(rabenseifner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
