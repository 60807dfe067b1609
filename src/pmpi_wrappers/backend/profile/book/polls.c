#include "pmpi_wrappers/backend/profile/book/polls.h"

/* MANY: timed at a place before any are not. SHORT_NS: after a longer one the next is timed: there the clock costs little. LEAST: of
 * those that are not timed one after the other; up to SPREAD more, so as not to fall into step with the program. */
enum { MANY = 64, SHORT_NS = 10000, LEAST = 8, SPREAD = 16 };

hp_poll_t hp_polls[1 << HP_POLLS_BITS];
bool hp_polls_any;

/* ns: each. */
static hp_polls_sum_t enter(hp_book_t *book, hp_poll_t *poll, uint64_t ns)
{
    const hp_polls_sum_t sum = {.calls = poll->untimed, .ns = poll->untimed * ns};

    if (sum.calls > 0)
        hp_book_record_add(hp_table_row(&book->records, poll->number - 1), sum.calls, 0, ns);
    poll->untimed = 0;
    return sum;
}

static hp_polls_sum_t leave(hp_book_t *book, hp_poll_t *poll)
{
    const hp_book_record_t *record = poll->untimed ? hp_table_row(&book->records, poll->number - 1) : NULL;
    const hp_polls_sum_t sum = enter(book, poll, record && record->count ? record->ns / record->count : 0);

    *poll = (hp_poll_t){.number = 0};
    return sum;
}

hp_polls_sum_t hp_polls_timed(hp_book_t *book, uint32_t number, uint64_t ticks, uint64_t ns, uint64_t random)
{
    hp_poll_t *poll = &hp_polls[number & ((1u << HP_POLLS_BITS) - 1)];
    hp_polls_sum_t sum;

    if (poll->number == number) {
        sum = enter(book, poll, ns);
    } else { /* another place's */
        sum = leave(book, poll);
        poll->number = number;
    }
    poll->ticks = ticks;
    if (++poll->timed >= MANY && ns < SHORT_NS) {
        poll->left = LEAST + (uint32_t)(random % SPREAD);
        hp_polls_any = true;
    }
    return sum;
}

hp_polls_sum_t hp_polls_close(hp_book_t *book)
{
    hp_polls_sum_t all = {.calls = 0};

    for (unsigned i = 0; i < 1u << HP_POLLS_BITS; i++) {
        const hp_polls_sum_t sum = leave(book, &hp_polls[i]);
        all.calls += sum.calls;
        all.ns += sum.ns;
    }
    hp_polls_any = false;
    return all;
}
